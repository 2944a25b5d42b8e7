package export

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exchange"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Kinds of spans of a hop.
const (
	otlpServer = 2
	otlpClient = 3
)

// MaxRequestSpans bounds a trace: of more calls the longest are taken, and strobe.omitted says how many were not.
const MaxRequestSpans = 10_000

// maxRequestCalls bounds the calls of one hop that are looked at.
const maxRequestCalls = 200_000

// RequestSpans says what Requests wrote.
type RequestSpans struct {
	Requests int   `json:"requests"`
	Hops     int   `json:"hops"`
	Spans    int64 `json:"spans"`
	Omitted  int64 `json:"omitted"` // calls
}

// requestWriter writes a trace for each request: a span of kind client and one of kind server for each hop, and below
// the latter the calls that its thread made meanwhile. Ids are the same at each export, and those that a traceparent
// names where there is one.
type requestWriter struct {
	sessions []*otlpWriter
	sets     []*session
	clocks   *exchange.Result
	comes    map[laneOf][]int64 // when a thread received requests, in order
	done     RequestSpans
	trace    string
	named    map[string]bool // ids of the trace that a traceparent gave
	share    int             // calls of each server at most
}

type laneOf struct {
	session int
	thread  uint32
}

// Requests writes the requests of several sessions, whose Call.Session are places in stores, as OTLP/JSON lines.
func Requests(ctx context.Context, stores []*store.Store, joined *exchange.Result,
	out io.Writer) (*RequestSpans, error) {
	w := &requestWriter{clocks: joined, comes: map[laneOf][]int64{}}
	buf := bufio.NewWriter(out)
	for _, st := range stores {
		s, err := read(ctx, st)
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		defer s.close()
		first, clock := s.meta, joined.Clock(len(w.sets))
		if len(w.sets) > 0 {
			first = w.sets[0].meta
		}
		o := &otlpWriter{session: s, w: buf, clock: func(ts int64) int64 { // all by the first one's wall clock
			return first.StartedAt + clock.At(s.meta.StartMono+ts) - first.StartMono
		}}
		if err := o.resource(); err != nil {
			return nil, err
		}
		w.sets, w.sessions = append(w.sets, s), append(w.sessions, o)
	}
	for _, x := range joined.All {
		if c := x.Received; c != nil {
			k := laneOf{c.Session, c.Thread}
			w.comes[k] = append(w.comes[k], c.End)
		}
	}
	for _, all := range w.comes {
		slices.Sort(all)
	}
	for _, x := range joined.All {
		if x.Cause == nil {
			if err := w.request(ctx, x); err != nil {
				return nil, fmt.Errorf("export requests: %w", err)
			}
		}
	}
	for _, o := range w.sessions {
		if err := o.flush(); err != nil {
			return nil, err
		}
	}
	return &w.done, buf.Flush()
}

// parented is a traceparent: version, trace, parent, flags.
var parented = lazyregexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

func hexID(bytes int, parts ...any) string {
	sum := sha256.Sum256(fmt.Appendln(nil, parts...))
	sum[0] |= 0x80 // never nothing but zeros
	return hex.EncodeToString(sum[:bytes])
}

// key names an exchange's end at every export.
func (w *requestWriter) key(x *exchange.Exchange, c *exchange.Call, end string) string {
	return hexID(8, w.sets[c.Session].meta.SessionID, end, c.Connection, x.At(), c.ID)
}

// request writes one trace.
func (w *requestWriter) request(ctx context.Context, root *exchange.Exchange) error {
	w.done.Requests++
	w.trace, w.named = "", map[string]bool{}
	hops, servers := 0, 0
	var look func(x *exchange.Exchange, depth int)
	look = func(x *exchange.Exchange, depth int) {
		hops++
		if x.Received != nil {
			servers++
		}
		if m := parented.FindStringSubmatch(x.Trace); m != nil && w.trace == "" {
			w.trace = m[1]
		}
		for _, c := range x.Children {
			if depth < maxRequestDepth {
				look(c, depth+1)
			}
		}
	}
	look(root, 0)
	w.share = max(MaxRequestSpans-2*hops, 0) / max(servers, 1)
	if w.trace == "" {
		c := root.Sent
		if c == nil {
			c = root.Received
		}
		w.trace = hexID(16, w.sets[c.Session].meta.SessionID, c.Connection, root.At(), c.ID)
	}
	return w.hop(ctx, root, "", nil, 0)
}

// maxRequestDepth bounds how far hops are followed.
const maxRequestDepth = 100

// hop writes a hop, the calls below it and those that it led to. calls are of the hop above, by their event.
func (w *requestWriter) hop(ctx context.Context, x *exchange.Exchange, parent string, calls map[event.ID]string,
	depth int) error {
	w.done.Hops++
	mine := ""
	if m := parented.FindStringSubmatch(x.Trace); m != nil && m[1] == w.trace && !w.named[m[2]] {
		mine = m[2] // the span of who asks
		w.named[mine] = true
	}
	if c := x.Sent; c != nil {
		if id := calls[c.Parent]; id != "" {
			parent = id
		}
		if mine == "" {
			mine = w.key(x, c, "client")
		}
		from, to, _ := x.ClientSpan()
		if err := w.put(x, c, otlpSpan{SpanID: mine, ParentID: parent, Kind: otlpClient}, from, to, 0); err != nil {
			return err
		}
		parent = mine
	} else if mine != "" {
		parent = mine
	}
	below := map[event.ID]string{}
	if c := x.Received; c != nil {
		id := w.key(x, c, "server")
		from, to, _ := x.ServerSpan()
		omitted, err := w.calls(ctx, c, id, from, to, below)
		if err != nil {
			return err
		}
		w.done.Omitted += omitted
		if err := w.put(x, c, otlpSpan{SpanID: id, ParentID: parent, Kind: otlpServer}, from, to, omitted); err != nil {
			return err
		}
		parent = id
	}
	if depth >= maxRequestDepth {
		return nil
	}
	for _, child := range x.Children {
		if err := w.hop(ctx, child, parent, below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// put writes one end of a hop.
func (w *requestWriter) put(x *exchange.Exchange, c *exchange.Call, s otlpSpan, from, to, omitted int64) error {
	o := w.sessions[c.Session]
	s.Name = valid(strings.TrimSpace(x.Method + " " + x.Path + x.Command))
	if s.Name == "" {
		s.Name = x.Proto
	}
	s.Start, s.End = w.wall(from), w.wall(max(to, from))
	s.Attrs = append(o.thread(event.ThreadID(c.Thread)), otlpAttribute{"strobe.event", otlpInt(c.ID)},
		otlpAttribute{"network.protocol.name", otlpText(x.Proto)}, otlpAttribute{"client.address", otlpText(x.Client)},
		otlpAttribute{"server.address", otlpText(x.Server)})
	if x.Method != "" {
		s.Attrs = append(s.Attrs, otlpAttribute{"http.request.method", otlpText(x.Method)},
			otlpAttribute{"url.path", otlpText(x.Path)})
	}
	if x.Status != 0 {
		s.Attrs = append(s.Attrs, otlpAttribute{"http.response.status_code", otlpInt(int64(x.Status))})
	}
	for _, a := range []struct{ name, text string }{{"db.query.text", x.Command}, {"strobe.answer", x.Answer},
		{"strobe.guess", x.Guess}} {
		if a.text != "" {
			s.Attrs = append(s.Attrs, otlpAttribute{a.name, otlpText(a.text)})
		}
	}
	if omitted > 0 {
		s.Attrs = append(s.Attrs, otlpAttribute{"strobe.omitted", otlpInt(omitted)})
	}
	if x.Failed() {
		s.Status = &otlpStatus{Code: otlpStatusError, Message: valid(x.Error)}
	}
	w.done.Spans++
	o.trace = w.trace
	return o.put(s)
}

// wall is a time on the clock that all have as OTLP has it.
func (w *requestWriter) wall(t int64) string {
	first := &w.sets[0].meta
	return strconv.FormatInt(first.StartedAt+t-first.StartMono, 10)
}

// own is a time on the clock that all have as a call's session has it.
func (w *requestWriter) own(c *exchange.Call, t int64) int64 {
	return w.clocks.Clock(c.Session).Own(t) - w.sets[c.Session].meta.StartMono
}

// calls writes those of functions that the thread made from when it had a request until it had answered it, or received
// the next one, with their spans in below. It returns how many it left out.
func (w *requestWriter) calls(ctx context.Context, c *exchange.Call, id string, from, to int64,
	below map[event.ID]string) (omitted int64, err error) {
	o := w.sessions[c.Session]
	comes := w.comes[laneOf{c.Session, c.Thread}]
	if i := sort.Search(len(comes), func(i int) bool { return comes[i] > from }); i < len(comes) {
		to = min(to, comes[i])
	}
	threads := &store.Bits{}
	threads.Set(c.Thread)
	var enters []store.Row
	err = o.scan(ctx, store.Filter{FromTS: w.own(c, from), ToTS: w.own(c, to), Threads: threads,
		Kinds: 1 << event.FunctionEnter}, func(r *store.Row) error {
		if len(enters) == maxRequestCalls {
			omitted++
			return nil
		}
		row := *r
		row.Payload = slices.Clone(r.Payload)
		enters = append(enters, row)
		return nil
	})
	if err != nil || len(enters) == 0 {
		return omitted, err
	}
	exits, err := o.calls.Exits(ctx, enters)
	if err != nil {
		return omitted, err
	}
	took := func(r *store.Row) int64 {
		if exit := exits[r.ID]; exit != nil {
			return exit.TS - r.TS
		}
		return o.lastTS - r.TS
	}
	sorting.By(enters, func(a, b store.Row) int {
		return cmp.Or(cmp.Compare(took(&b), took(&a)), cmp.Compare(a.ID, b.ID))
	})
	if len(enters) > w.share {
		omitted += int64(len(enters) - w.share)
		enters = enters[:w.share]
	}
	session := o.meta.SessionID
	for i := range enters {
		below[enters[i].ID] = hexID(8, session, "call", enters[i].ID)
	}
	o.trace, o.ids = w.trace, func(event event.ID) string {
		if span := below[event]; span != "" {
			return span
		}
		return id
	}
	defer func() { o.ids = nil }()
	for i := range enters {
		r := &enters[i]
		w.done.Spans++
		if err := o.call(o.begun(r), exits[r.ID], r.TS+took(r)); err != nil {
			return omitted, err
		}
	}
	return omitted, nil
}
