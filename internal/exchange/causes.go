package exchange

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// What causes are guessed by.
const (
	byValue = "the same value in both"
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
	values    map[*Exchange][]string
}

// causes finds for which other each request was made.
func (b *joiner) causes(calls []*Call) {
	f := &finder{b.r, map[laneKey][]*Call{}, map[*Call]int{}, map[laneKey]*spans{}, map[process]*spans{},
		map[process]map[string][]*Exchange{}, map[*Exchange][]string{}}
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

// decide finds the cause of a request, and says where it is a guess. Those that were sent before it are decided.
func (f *finder) decide(x *Exchange) {
	p := process{x.Sent.Session, x.Sent.PID}
	if id := traceID(x.Trace); id != "" {
		named := openAt(f.traces[p][id], x.Sent.End)
		if len(named) != 1 {
			named = openAt(f.traces[p][id], x.sentAt()) // by others' clocks, which may be some microseconds apart
		}
		if len(named) == 1 {
			x.Cause = named[0]
			return
		}
	}
	open := f.open(x, p)
	before, one := f.receivedBefore(x)
	after, same, guess := f.sentAfter(x), f.alike(x, open), ""
	switch {
	case before != nil && before == f.alone(x),
		before != nil && one && before == after && (same == nil || same == before):
		x.Cause = before
	case same != nil:
		x.Cause, guess = same, byValue
	case after != nil:
		x.Cause, guess = after, byNext
	case before != nil:
		x.Cause, guess = before, byOrder
	case len(open) == 1:
		x.Cause, guess = open[0], byTime
	default:
		x.Open = len(open)
		return
	}
	for y := x.Cause; y != nil; y = y.Cause {
		if y == x { // by clocks that go wrong
			x.Cause = nil
			return
		}
	}
	if _, to, ok := x.Cause.ServerSpan(); ok && to < x.sentAt() {
		guess = byLate
	}
	if guess != "" && x.Guess == "" {
		x.Guess = guess
	}
}

// open are the requests that a process had open all the time that another took.
func (f *finder) open(x *Exchange, p process) (all []*Exchange) {
	s := f.processes[p]
	at, upTo, _ := x.ClientSpan()
	if s == nil || s.open(at) > maxOpen {
		return nil
	}
	for _, in := range s.at(at) {
		if _, to, ok := in.ServerSpan(); !ok || upTo <= to {
			all = append(all, in)
		}
	}
	return all
}

// maxOpen is how many open requests are looked through for the one that another was made for.
const maxOpen = 1000

// alike is the one of some requests that has values of another, numbers and names with digits, that the others do not
// have.
func (f *finder) alike(x *Exchange, open []*Exchange) (most *Exchange) {
	best := 0
	for _, in := range open {
		n := 0
		for _, v := range f.valuesOf(x) {
			if slices.Contains(f.valuesOf(in), v) {
				n += len(v)
			}
		}
		switch {
		case n > best:
			best, most = n, in
		case n == best && n > 0:
			most = nil
		}
	}
	return most
}

// valuesOf are the words of what is asked for that have a digit.
func (f *finder) valuesOf(x *Exchange) []string {
	all, done := f.values[x]
	if !done {
		for _, w := range strings.FieldsFunc(x.Path+" "+x.Command, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			if strings.ContainsAny(w, "0123456789") && !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
		f.values[x] = all
	}
	return all
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

// alone is the only request that was going on on the thread that sent another; nil: there were none or several.
func (f *finder) alone(x *Exchange) *Exchange {
	s := f.threads[laneKey{x.Sent.Session, x.Sent.Thread}]
	if s == nil || s.open(x.Sent.Start()) != 1 {
		return nil
	}
	for _, in := range s.at(x.Sent.Start()) {
		return in
	}
	return nil
}

// receivedBefore is the request that a thread worked at as it sent another: the one that it received last, or for which
// it had asked what it received last. On a new connection what counts is when it was begun. one: it received nothing
// else since it last sent. Of several the first sends are taken to be for those that came first.
func (f *finder) receivedBefore(x *Exchange) (cause *Exchange, one bool) {
	from := x.Sent
	if x.first && x.conn.client.opened.Thread == from.Thread && x.conn.client.opened.Session == from.Session {
		from = x.conn.client.opened
	}
	lane := f.lanes[laneKey{from.Session, from.Thread}]
	lane = lane[:f.place[from]]
	lane = lane[max(len(lane)-maxBack, 0):] // a thread that only sends is not looked through for each
	i, sent := len(lane)-1, 0               // requests since what was received
	last := x
	for ; i >= 0 && !receives(lane[i]); i-- {
		if of := f.r.Of(lane[i]); of != nil && of != last && lane[i].What == "send" {
			last, sent = of, sent+1
		}
	}
	var came, causes []*Exchange // newest first
	for ; i >= 0 && lane[i].What != "send"; i-- {
		if !receives(lane[i]) {
			continue
		}
		for _, of := range slices.Backward(f.r.calls[lane[i]]) {
			if n := len(came); n > 0 && came[n-1] == of {
				continue
			}
			came = append(came, of)
			if !isServers(of, lane[i]) {
				of = of.Cause
			}
			causes = append(causes, of)
		}
	}
	if len(came) == 0 {
		return nil, false
	}
	return causes[max(len(came)-1-sent, 0)], len(came) == 1
}

// maxBack bounds how many calls of a thread are looked at for the one that it received last.
const maxBack = 500

func receives(c *Call) bool { return c.What == "receive" && c.Bytes > 0 }

// sentAfter is the request that a thread answered next after it had the answer to another alone.
func (f *finder) sentAfter(x *Exchange) *Exchange {
	if x.Got == nil || !receives(x.Got) || len(f.r.calls[x.Got]) > 1 {
		return nil
	}
	for _, c := range f.lanes[laneKey{x.Got.Session, x.Got.Thread}][f.place[x.Got]+1:] {
		switch {
		case receives(c):
			return nil
		case c.What == "send" && c.Bytes > 0:
			if of := f.r.Of(c); of != nil && isServers(of, c) {
				return of
			}
			return nil
		}
	}
	return nil
}

// isServers reports whether a call on a socket was made by an exchange's server.
func isServers(x *Exchange, c *Call) bool {
	s := x.conn
	return s != nil && s.server != nil && s.server.key.session == c.Session && s.server.key.connection == c.Connection
}
