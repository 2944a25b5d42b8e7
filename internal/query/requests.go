package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/exchange"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Bounds of view request.
const (
	defaultTrees = 5   // requests that are shown without a limit
	maxChildren  = 12  // of one request that are shown
	maxHopDepth  = 16  // that are shown of those that it led to
	maxSaid      = 120 // bytes of a path, a command, an answer
)

// requestWriter writes view request.
type requestWriter struct {
	f      *filters
	sets   []*SocketCalls // the first is the session that was asked
	joined *exchange.Result
	labels []string
	pids   []map[int32]bool
	shown  int // requests at most
	b      strings.Builder
}

// Requests is view request: requests as trees of hops across the processes of several sessions, the first of which was
// asked.
func Requests(req Request, sets []*SocketCalls) (*Result, error) {
	f, err := compile(req)
	if err != nil {
		return nil, err
	}
	w := &requestWriter{f: f, sets: sets, shown: cmp.Or(min(req.Limit, MaxLimit), defaultTrees)}
	var notes []string
	if w.sets, w.joined, notes = Together(sets); len(w.sets[0].Calls) == 0 && f.req.Under == 0 && w.calls() == 0 {
		return &Result{Events: []Event{}, Hint: strings.Join(append(notes, noSockets(w.sets[0])), " ")}, nil
	}
	w.name()
	roots, err := w.roots()
	if err != nil {
		return nil, err
	}
	res := &Result{Events: []Event{}, TotalCount: int64(len(roots))}
	a := &asker{filters: f}
	for n := 0; ; n++ {
		w.b.Reset()
		w.write(roots)
		all := append(slices.Clone(notes), a.paged(res, w.b.String(), a.budget())...)
		res.Hint = strings.Join(append(all, w.notes(roots)...), " ")
		over := a.over(res)
		if a.reserve += over + fitStep; over <= 0 || n == fits {
			return res, nil
		}
		res.HasMore = false
	}
}

func noSockets(s *SocketCalls) string {
	if s.Ended {
		return `No calls on sockets were recorded: launch it again with trace ["@sockets"].`
	}
	return `No calls on sockets were recorded: debug_trace {"add":["@sockets"]}.`
}

func (w *requestWriter) calls() (n int) {
	for _, s := range w.sets {
		n += len(s.Calls)
	}
	return n
}

// dated is the end of a session's id.
var dated = regexp.MustCompile(`-\d{4}-\d\d-\d\d-\d\dh\d\d(-\d+)?$`)

// name gives sessions short names.
func (w *requestWriter) name() {
	names := map[string]int{}
	for _, s := range w.sets {
		label := cmp.Or(s.Name, dated.ReplaceAllString(s.SessionID, ""), s.Service)
		w.labels = append(w.labels, label)
		names[label]++
		w.pids = append(w.pids, map[int32]bool{})
	}
	for i, s := range w.sets {
		if names[w.labels[i]] > 1 {
			w.labels[i] = s.SessionID
		}
	}
	for _, x := range w.joined.All {
		for _, c := range []*exchange.Call{x.Sent, x.Received} {
			if c != nil {
				w.pids[c.Session][c.PID] = true
			}
		}
	}
}

// roots are the requests that were asked for: of an event, or all that nothing here led to, failing ones first, then by
// how long they took.
func (w *requestWriter) roots() ([]*exchange.Exchange, error) {
	if w.f.req.Under != 0 {
		return w.ofEvent()
	}
	var roots []*exchange.Exchange
	for _, x := range w.joined.All {
		took := x.Took()
		if x.Cause == nil && took >= w.f.req.MinDurationNs && (w.f.req.MaxDurationNs == 0 || took <= w.f.req.MaxDurationNs) &&
			w.fits(x, 0) {
			roots = append(roots, x)
		}
	}
	sorting.By(roots, func(x, y *exchange.Exchange) int {
		if x.Failed() != y.Failed() {
			return map[bool]int{true: -1, false: 1}[x.Failed()]
		}
		return cmp.Compare(y.Took(), x.Took())
	})
	return roots, nil
}

// fits reports whether a request, or one that it led to, is one that message asks for.
func (w *requestWriter) fits(x *exchange.Exchange, depth int) bool {
	return w.matches(x) || depth < maxHopDepth && slices.ContainsFunc(x.Children, func(c *exchange.Exchange) bool {
		return w.fits(c, depth+1)
	})
}

func (w *requestWriter) matches(x *exchange.Exchange) bool {
	if len(w.f.message) == 0 {
		return true
	}
	b, err := json.Marshal(map[string]any{"proto": x.Proto, "method": x.Method, "path": x.Path, "status": x.Status,
		"command": x.Command, "answer": x.Answer, "error": x.Error, "trace": x.Trace, "bytes": x.GotBytes,
		"client": x.Client, "server": x.Server})
	var v any
	if err != nil || unmarshalNumbers(b, &v) != nil {
		return false
	}
	for i := range w.f.message {
		if !w.f.message[i].match(v) {
			return false
		}
	}
	return true
}

// ofEvent are the requests that an event was part of: a call on a socket, or a function's call, below which there were
// some, or which was made for one.
func (w *requestWriter) ofEvent() (roots []*exchange.Exchange, err error) {
	s, id := w.sets[0], w.f.req.Under
	add := func(x *exchange.Exchange) {
		if x != nil && !slices.Contains(roots, x.Root()) {
			roots = append(roots, x.Root())
		}
	}
	for _, c := range s.Calls {
		if c.ID == id || c.Thread == s.UnderThread && c.End >= s.UnderFrom && c.End <= s.UnderUntil {
			add(w.joined.Of(c))
		}
	}
	if len(roots) == 0 { // what its thread worked at
		for _, x := range w.joined.All {
			from, to, _ := x.ServerSpan()
			if c := x.Received; c != nil && c.Session == 0 && c.Thread == s.UnderThread && from <= s.UnderFrom &&
				s.UnderFrom <= to {
				add(x)
			}
		}
	}
	if len(roots) == 0 {
		return nil, fault.New(fault.ValidationError, `Ask without under for the slowest, or for events: debug_query `+
			`{"eventType":"channel","channel":"sockets"}.`, "under: event %d is part of no request", id)
	}
	return roots, nil
}

// write writes the requests and all that they led to.
func (w *requestWriter) write(roots []*exchange.Exchange) {
	w.head(roots)
	n := w.shown
	if w.f.req.Under != 0 {
		n = len(roots)
	}
	for i, x := range roots {
		if i == n {
			fmt.Fprintf(&w.b, "…+%d requests: limit %d\n", len(roots)-n, min(len(roots), MaxLimit))
			break
		}
		w.tree(x, 0)
	}
}

// head says how many there are, and what the sessions are called here.
func (w *requestWriter) head(roots []*exchange.Exchange) {
	failed, guesses := 0, 0
	var took []int64
	for _, x := range roots {
		if x.Failed() {
			failed++
		}
		took = append(took, x.Took())
	}
	for _, x := range w.joined.All {
		if x.Guess != "" {
			guesses++
		}
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		fmt.Fprintf(&w.b, "%s, %d failed, p50 %s, p99 %s; in all %s on %s, %d guessed (~)\n", plural(int64(n), "request"),
			failed, duration(took[n/2]), duration(took[n*99/100]), plural(int64(len(w.joined.All)), "hop"),
			plural(int64(w.joined.Connections), "connection"), guesses)
	}
	for i, s := range w.sets {
		if w.labels[i] != s.SessionID {
			fmt.Fprintf(&w.b, "%s = %s\n", w.labels[i], s.SessionID)
		}
	}
}

// tree writes a request and those that it led to.
func (w *requestWriter) tree(x *exchange.Exchange, depth int) {
	w.line(x, depth)
	if depth == maxHopDepth {
		if n := len(x.Children); n > 0 {
			fmt.Fprintf(&w.b, "%s…+%d below\n", strings.Repeat("  ", depth+1), n)
		}
		return
	}
	for i, c := range x.Children {
		if i == maxChildren {
			rest := x.Children[i:]
			ns := int64(0)
			for _, r := range rest {
				ns += r.Took()
			}
			fmt.Fprintf(&w.b, "%s…+%d, %s\n", strings.Repeat("  ", depth+1), len(rest), duration(ns))
			break
		}
		w.tree(c, depth+1)
	}
}

// line is one hop.
func (w *requestWriter) line(x *exchange.Exchange, depth int) {
	b := &w.b
	b.WriteString(strings.Repeat("  ", depth))
	what := strings.TrimSpace(x.Method + " " + x.Path + x.Command)
	fmt.Fprintf(b, "%s → %s  %s", cut(cmp.Or(what, x.Proto), maxSaid), outcome(x), duration(x.Took()))
	if own, ok := x.Own(); ok && len(x.Children)+depth > 0 {
		fmt.Fprintf(b, ", in %s %s", w.label(x.Received), duration(own))
	}
	client, server := x.Ends()
	fmt.Fprintf(b, "  %s → %s", w.label(client), w.label(server))
	if x.Client != "" || x.Server != "" {
		fmt.Fprintf(b, "  %s→%s", x.Client, x.Server)
	}
	if x.SentBytes+x.GotBytes > 0 {
		fmt.Fprintf(b, "  %d→%d B", x.SentBytes, x.GotBytes)
	}
	fmt.Fprintf(b, "  %s→%s", w.event(x.Sent, false), w.event(x.Received, true))
	if x.Guess != "" {
		fmt.Fprintf(b, "  ~%s", x.Guess)
	}
	if x.Cause == nil && x.Open > 0 && x.Sent != nil {
		fmt.Fprintf(b, "  for one of %d requests", x.Open)
	}
	b.WriteByte('\n')
}

// outcome is how a request was answered.
func outcome(x *exchange.Exchange) string {
	switch {
	case x.Error != "":
		return x.Error
	case x.Status != 0:
		return strings.TrimSpace(fmt.Sprint(x.Status, " ", cut(x.Answer, maxSaid)))
	}
	return cmp.Or(cut(x.Answer, maxSaid), "?")
}

// label says whose call it was; one that was not recorded has none.
func (w *requestWriter) label(c *exchange.Call) string {
	if c == nil {
		return "?"
	}
	s := w.labels[c.Session]
	if len(w.pids[c.Session]) > 1 {
		s = fmt.Sprintf("%s(%d)", s, c.PID)
	}
	return s
}

// event names a call, and the function that it was made in, or that followed.
func (w *requestWriter) event(c *exchange.Call, server bool) string {
	if c == nil {
		return "?"
	}
	s, names := fmt.Sprintf("#%d", c.ID), w.sets[c.Session].Names
	if server && c.Below != 0 {
		return fmt.Sprintf("%s %s#%d", s, names[c.Below], c.Below)
	}
	if name := names[c.Parent]; name != "" {
		s += fmt.Sprintf(" in %s#%d", name, c.Parent)
	}
	return s
}

// notes say what is not there, and what to ask next.
func (w *requestWriter) notes(roots []*exchange.Exchange) (notes []string) {
	absent := map[string]int{}
	unknown, missing := 0, 0
	for _, x := range w.joined.All {
		client, server := x.Ends()
		if server == nil && x.Proto != "connect" {
			absent[x.Server]++
		}
		if client != x.Sent || server != x.Received {
			missing++
		}
		if x.Cause == nil && x.Open > 1 {
			unknown++
		}
	}
	if len(w.joined.All) == 0 {
		notes = append(notes, `No request yet; waitMs waits for one.`)
	} else if len(roots) == 0 {
		notes = append(notes, fmt.Sprintf("None of %s is asked for.", plural(int64(len(w.joined.All)), "hop")))
	}
	for _, s := range w.sets {
		if s.Older > 0 {
			notes = append(notes, fmt.Sprintf("Of %s the newest %d calls on sockets were read, not %d older ones.", s.SessionID,
				len(s.Calls), s.Older))
		}
		if s.Lost {
			notes = append(notes, s.SessionID+" lost events: hops may be missing or wrong.")
		}
	}
	if r := w.joined; r.Unread > 0 {
		notes = append(notes, fmt.Sprintf("%s not followed: %d TLS, %d HTTP/2, %d of unknown protocols.",
			plural(int64(r.Unread), "connection"), r.TLS, r.HTTP2, r.Unread-r.TLS-r.HTTP2))
	}
	if missing > 0 {
		notes = append(notes, fmt.Sprintf("Of %s one end's call is missing (?): made before that was recorded, "+
			"or as its program ended.", plural(int64(missing), "hop")))
	}
	if unknown > 0 {
		notes = append(notes, fmt.Sprintf("%s may be for several: pass traceparent or X-Request-Id on.",
			plural(int64(unknown), "request")))
	}
	if len(absent) > 0 {
		var all []string
		for addr, n := range absent {
			all = append(all, fmt.Sprintf("%s (%d)", addr, n))
		}
		slices.Sort(all)
		notes = append(notes, "Not recorded: "+cut(strings.Join(all, ", "), 200)+
			`; debug_launch attaches by pid, trace ["@sockets"].`)
	}
	return append(notes, w.next(roots)...)
}

// next is the call that shows what a service did in the hop that took it longest.
func (w *requestWriter) next(roots []*exchange.Exchange) []string {
	if len(roots) == 0 {
		return nil
	}
	x, longest := roots[0], int64(0)
	var look func(*exchange.Exchange, int)
	look = func(h *exchange.Exchange, depth int) {
		if own, ok := h.Own(); ok && own > longest {
			x, longest = h, own
		}
		for _, c := range h.Children {
			if depth < maxHopDepth {
				look(c, depth+1)
			}
		}
	}
	look(roots[0], 0)
	from, to, ok := x.ServerSpan()
	if !ok {
		return nil
	}
	s, clock := w.sets[x.Received.Session], w.joined.Clock(x.Received.Session)
	return []string{fmt.Sprintf(`What %s did in the first: debug_query {"sessionId":"%s","view":"tree","timeFrom":%d,`+
		`"timeTo":%d}.`, w.labels[x.Received.Session], s.SessionID, clock.Own(from)-s.StartMono, clock.Own(to)-s.StartMono)}
}
