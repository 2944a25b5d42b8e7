package exchange

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// What causes are guessed by.
const (
	byOrder = "order on an event loop"
	byNext  = "what the event loop did next"
	byLate  = "after its cause's answer"
	byTime  = "the only request open"
)

// laneKey is a thread, or what a language runtime has as one.
type laneKey struct {
	session int
	thread  uint32
}

// process is one of a session's.
type process struct {
	session int
	pid     int32
}

// spans are times of requests, of a thread or a process.
type spans struct {
	starts, ends []int64 // each sorted
	all          []*Exchange
}

func (s *spans) add(x *Exchange) {
	from, to, ok := x.ServerSpan()
	if !ok {
		to = 1<<63 - 1
	}
	s.starts, s.ends, s.all = append(s.starts, from), append(s.ends, to), append(s.all, x)
}

func (s *spans) sort() {
	slices.Sort(s.starts)
	slices.Sort(s.ends)
	sorting.By(s.all, func(x, y *Exchange) int { return cmp.Compare(x.Received.End, y.Received.End) })
}

// at are those that were going on at a time.
func (s *spans) at(at int64) (open []*Exchange) {
	n := s.open(at)
	for i := sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > at }) - 1; i >= 0 && len(open) < n; i-- {
		open = append(open, openAt(s.all[i:i+1], at)...)
	}
	return open
}

// open is how many were going on at a time.
func (s *spans) open(at int64) int {
	return sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > at }) -
		sort.Search(len(s.ends), func(i int) bool { return s.ends[i] >= at })
}

// finder finds causes.
type finder struct {
	r         *Result
	lanes     map[laneKey][]*Call // in order
	place     map[*Call]int
	threads   map[laneKey]*spans
	processes map[process]*spans
	traces    map[process]map[string][]*Exchange
	before    map[*Exchange]*Exchange // by what was received last
	after     map[*Exchange]*Exchange // by what was sent next
}

// causes finds for which other each request was made.
func (b *joiner) causes(calls []*Call) {
	f := &finder{b.r, map[laneKey][]*Call{}, map[*Call]int{}, map[laneKey]*spans{}, map[process]*spans{},
		map[process]map[string][]*Exchange{}, map[*Exchange]*Exchange{}, map[*Exchange]*Exchange{}}
	for _, c := range calls {
		if s := b.byKey[sideKey{c.Session, c.Connection, c.TLS}]; s != nil && s.proto == "-" && c.What != "connect" {
			continue // the same, encrypted
		}
		k := laneKey{c.Session, c.Thread}
		f.place[c] = len(f.lanes[k])
		f.lanes[k] = append(f.lanes[k], c)
	}
	for _, x := range b.r.All {
		f.incoming(x)
	}
	for _, s := range f.threads {
		s.sort()
	}
	for _, s := range f.processes {
		s.sort()
	}
	for _, x := range b.r.All {
		if x.Sent != nil {
			f.decide(x)
		}
		if x.Cause != nil {
			x.Cause.Children = append(x.Cause.Children, x)
		}
	}
}

// incoming enters a request that came to a process.
func (f *finder) incoming(x *Exchange) {
	c := x.Received
	if c == nil {
		return
	}
	k, p := laneKey{c.Session, c.Thread}, process{c.Session, c.PID}
	if f.threads[k] == nil {
		f.threads[k] = &spans{}
	}
	if f.processes[p] == nil {
		f.processes[p] = &spans{}
		f.traces[p] = map[string][]*Exchange{}
	}
	f.threads[k].add(x)
	f.processes[p].add(x)
	if id := traceID(x.Trace); id != "" {
		f.traces[p][id] = append(f.traces[p][id], x)
	}
}

// traceID is what stays the same as a trace goes on.
func traceID(s string) string {
	if parts := strings.Split(s, "-"); len(parts) == 4 && len(parts[1]) == 32 {
		return parts[1]
	}
	return s
}

// decide finds the cause of a request, and says where it is a guess.
func (f *finder) decide(x *Exchange) {
	p := process{x.Sent.Session, x.Sent.PID}
	if id := traceID(x.Trace); id != "" {
		if named := openAt(f.traces[p][id], x.Sent.End); len(named) == 1 {
			x.Cause = named[0]
			return
		}
	}
	before, after := f.receivedBefore(x), f.sentAfter(x)
	guess := ""
	switch {
	case before != nil && (before == after || f.alone(x)):
		x.Cause = before
	case before != nil && after == nil:
		x.Cause, guess = before, byOrder
	case after != nil:
		x.Cause, guess = after, byNext
	default:
		x.Cause, guess = f.onlyOpen(x, p)
	}
	if x.Cause == nil {
		return
	}
	if _, to, ok := x.Cause.ServerSpan(); ok && to < x.Sent.Start() {
		guess = byLate
	}
	if guess != "" && x.Guess == "" {
		x.Guess = guess
	}
}

// openAt are those of some requests that were going on at a time.
func openAt(all []*Exchange, at int64) (open []*Exchange) {
	for _, x := range all {
		if from, to, ok := x.ServerSpan(); from <= at && (!ok || at <= to) {
			open = append(open, x)
		}
	}
	return open
}

// alone reports whether only one request was going on on the thread that sent another: what it sends is for that.
func (f *finder) alone(x *Exchange) bool {
	s := f.threads[laneKey{x.Sent.Session, x.Sent.Thread}]
	return s != nil && s.open(x.Sent.Start()) == 1
}

// receivedBefore is the request that a thread worked at as it sent another: the one that it received last, or for which
// it had asked what it received last. On a new connection what counts is when it was begun.
func (f *finder) receivedBefore(x *Exchange) *Exchange {
	if found, done := f.before[x]; done {
		return found
	}
	f.before[x] = nil // while it is looked for
	from := x.Sent
	if x.first && x.conn.client.opened.Thread == from.Thread && x.conn.client.opened.Session == from.Session {
		from = x.conn.client.opened
	}
	lane := f.lanes[laneKey{from.Session, from.Thread}]
	for i := f.place[from] - 1; i >= 0; i-- {
		c := lane[i]
		if c.What != "receive" || c.Bytes <= 0 {
			continue
		}
		of := f.r.calls[c]
		switch {
		case of == nil:
		case isServers(of, c):
			f.before[x] = of
		default:
			f.before[x] = f.receivedBefore(of)
		}
		break
	}
	return f.before[x]
}

// sentAfter is the request that a thread answered after it had the answer to another, if nothing came between.
func (f *finder) sentAfter(x *Exchange) *Exchange {
	for range maxDepth {
		if x.Got == nil || x.Got.What != "receive" {
			return nil
		}
		lane := f.lanes[laneKey{x.Got.Session, x.Got.Thread}]
		next := (*Exchange)(nil)
		for _, c := range lane[f.place[x.Got]+1:] {
			if c.What == "receive" && c.Bytes > 0 {
				return nil
			}
			if c.What != "send" || c.Bytes <= 0 {
				continue
			}
			of := f.r.calls[c]
			if of != nil && isServers(of, c) {
				return of
			}
			next = of
			break
		}
		if next == nil {
			return nil
		}
		x = next
	}
	return nil
}

// isServers reports whether a call on a socket was made by an exchange's server.
func isServers(x *Exchange, c *Call) bool {
	s := x.conn
	return s != nil && s.server != nil && s.server.key.session == c.Session && s.server.key.connection == c.Connection
}

// onlyOpen is the one request that a process had open all the time that another took.
func (f *finder) onlyOpen(x *Exchange, p process) (*Exchange, string) {
	s := f.processes[p]
	if s == nil {
		return nil, ""
	}
	at, upTo, _ := x.ClientSpan()
	if x.Open = s.open(at); x.Open == 0 || x.Open > maxOpen {
		return nil, ""
	}
	var only *Exchange
	x.Open = 0
	for _, in := range s.at(at) {
		if _, to, ok := in.ServerSpan(); !ok || upTo <= to {
			only = in
			x.Open++
		}
	}
	if x.Open != 1 {
		return nil, ""
	}
	x.Open = 0
	return only, byTime
}

// maxOpen is how many open requests are looked through for the one that another was made for.
const maxOpen = 1000
