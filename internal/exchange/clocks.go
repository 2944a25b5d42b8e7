package exchange

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Faults of clocks. One that says more is less.
const (
	NoLine    = "no line"    // messages contradict each other: the clock was set, or did not run evenly
	TooLittle = "too little" // messages, one way or both
)

// Clock brings a session's times to the first session's. The zero value is that clock itself.
type Clock struct {
	Offset int64   // what is added, nanoseconds, at the first message to its sessions
	Drift  float64 // and more of it with each nanosecond
	Within int64   // by which a time may be wrong at most, between the first and the last message
	There  int     // messages to this clock's sessions by which it was fitted
	Back   int     // and from them
	Group  int     // sessions that have it have one clock; 0: the first session's
	Fault  string  // why its sessions cannot be followed together with the first; "": they can
	from   int64   // where Offset counts
	host   string
}

// At is a session's time on the first one's clock.
func (c *Clock) At(t int64) int64 { return t + c.Offset + int64(math.Round(c.Drift*float64(t-c.from))) }

// Own is the session's time of one on the first one's clock.
func (c *Clock) Own(t int64) int64 {
	since := t - c.Offset - c.from
	return c.from + int64(math.Round(float64(since)/(1+c.Drift)))
}

// through is the clock that a clock leads to by another one.
func (c Clock) through(next Clock) Clock {
	c.Offset += next.At(c.from+c.Offset) - (c.from + c.Offset)
	c.Drift = (1+c.Drift)*(1+next.Drift) - 1
	c.Within += next.Within
	return c
}

// MinMessages are needed each way for a fit: fewer may all have been under way for long.
const MinMessages = 4

// What fits are made of.
const (
	maxWrong = 10e6      // nanoseconds by which messages may come before they were sent: beyond it is no line
	maxDrift = 1e-3      // twice the 500 ppm by which NTP turns a clock at most
	apartBy  = 1_000_000 // nanoseconds by which sessions that say they have one clock may seem to be apart
	apartOf  = 4         // one in so many messages is enough
)

// Fit finds the clocks of sessions: those of one host (a machine since it booted) have one, but where a quarter of what
// they sent to each other came a millisecond and more before it was sent. Clocks are fitted to the first session's by
// messages both ends of which were recorded: none can have come before it was sent. Calls get their times by that
// clock; those of sessions that have a Fault stay as they were.
func Fit(calls []*Call, hosts []string) []Clock {
	f := &fitter{hosts: hosts, begun: map[*Call]int64{}, pairs: map[[2]int][]bounds{}, group: make([]int, len(hosts)),
		fits: map[[2]int]Clock{}}
	if len(hosts) > 1 {
		f.read(calls)
		f.groups()
	}
	clocks := f.place()
	for _, c := range calls {
		c.End = clocks[c.Session].At(c.End)
	}
	return clocks
}

// bound says what is added to one clock to have the other: at least, or at most.
type bound struct {
	at, by int64
	upper  bool
}

// bounds are those of one connection.
type bounds []bound

// fitter is one Fit.
type fitter struct {
	hosts []string
	begun map[*Call]int64     // or its thread's last call was over, where a call does not say when it began
	pairs map[[2]int][]bounds // connections of two sessions, the second of which is to have the first's clock
	group []int               // of each session
	n     int                 // groups
	fits  map[[2]int]Clock    // of groups
}

// read finds connections both of whose ends were recorded, without looking at times.
func (f *fitter) read(calls []*Call) {
	b := newJoiner(&Result{})
	for _, host := range f.hosts {
		b.r.Clocks = append(b.r.Clocks, Clock{host: host})
	}
	b.sides(calls)
	before := map[laneKey]int64{}
	for _, c := range calls {
		k := laneKey{c.Session, c.Thread}
		if at, ok := before[k]; c.DurationNs > 0 {
			f.begun[c] = c.Start()
		} else if ok {
			f.begun[c] = at
		}
		before[k] = c.End
	}
	uses := map[endsKey][]*side{}
	for _, s := range b.all {
		if s.transport != "unix" && s.local != "" && s.peer != "" {
			k := b.endsOf(s)
			uses[k] = append(uses[k], s)
		}
	}
	for k, all := range uses {
		others := uses[k.turned()]
		if k.local > k.peer || len(others) == 0 {
			continue
		}
		for _, s := range all {
			if o := only(s, others); o != nil && only(o, all) == s && o.key.session != s.key.session {
				f.enter(s, o)
			}
		}
	}
}

// only is the one of some ends that may be another's other one, of several the one that sent as many bytes as that
// received, and received as many; nil: none, or there are still several.
func only(s *side, others []*side) *side {
	var may, same []*side
	for _, o := range others {
		equal := s.out.total == o.in.total && s.in.total == o.out.total
		if s.known && o.known && s.client == o.client || !equal && (s.opened == nil || o.opened == nil) ||
			differ(s.out.first(), o.in.first()) || differ(s.in.first(), o.out.first()) {
			continue
		}
		if may = append(may, o); equal {
			same = append(same, o)
		}
	}
	switch {
	case len(may) == 1:
		return may[0]
	case len(same) == 1:
		return same[0]
	}
	return nil
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// enter notes what a connection's messages say of the clocks of its ends.
func (f *fitter) enter(a, b *side) {
	if a.key.session > b.key.session {
		a, b = b, a
	}
	var all bounds
	meet := func(sent, received *stream, bound func(sent, received int64) bound) {
		for _, p := range sent.pieces {
			at, known := f.begun[p.call]
			if c := received.covering(p.at); known && c != nil {
				all = append(all, bound(at, c.End))
			}
		}
	}
	meet(&a.out, &b.in, func(sent, received int64) bound { return bound{received, sent - received, false} })
	meet(&b.out, &a.in, func(sent, received int64) bound { return bound{sent, received - sent, true} })
	k := [2]int{a.key.session, b.key.session}
	if len(all) > 0 {
		f.pairs[k] = append(f.pairs[k], all)
	}
}

// groups finds which sessions have one clock: first those whose messages say so, then those of a host that nothing
// speaks against.
func (f *fitter) groups() {
	for i := range f.group {
		f.group[i] = i
	}
	apart := map[[2]int]bool{}
	merge := func(i, j int) {
		for k, g := range f.group {
			if g == max(i, j) {
				f.group[k] = min(i, j)
			}
		}
	}
	for k, all := range f.pairs {
		n, wrong := 0, 0
		for _, conn := range all {
			for _, b := range conn {
				if n++; b.upper && b.by < -apartBy || !b.upper && b.by > apartBy {
					wrong++
				}
			}
		}
		apart[k] = f.hosts[k[0]] != f.hosts[k[1]] || n >= MinMessages && wrong*apartOf >= n
	}
	for k, is := range apart {
		if !is {
			merge(f.group[k[0]], f.group[k[1]])
		}
	}
	against := func(g, h int) bool {
		for k, is := range apart {
			if x, y := f.group[k[0]], f.group[k[1]]; is && (x == g && y == h || x == h && y == g) {
				return true
			}
		}
		return false
	}
	for i := range f.group {
		for j := range i {
			g, h := f.group[i], f.group[j]
			if g != h && f.hosts[i] == f.hosts[j] && !against(g, h) {
				merge(g, h)
			}
		}
	}
	seen := map[int]int{}
	for i, g := range f.group {
		if _, ok := seen[g]; !ok {
			seen[g] = len(seen)
		}
		f.group[i] = seen[g]
	}
	f.n = len(seen)
}

// place gives each session its clock, by ways from the first one's, the surest of them first.
func (f *fitter) place() []Clock {
	clocks := make([]Clock, max(f.n, 1))
	placed := []int{0}
	for len(placed) < f.n {
		best, at := Clock{Within: math.MaxInt64}, -1
		for g := range f.n {
			if slices.Contains(placed, g) {
				continue
			}
			clocks[g].Fault = ""
			for _, to := range placed {
				c, done := f.fits[[2]int{to, g}]
				if !done {
					c = f.fit(to, g)
					f.fits[[2]int{to, g}] = c
				}
				clocks[g].There, clocks[g].Back = max(clocks[g].There, c.There), max(clocks[g].Back, c.Back)
				if c.Fault != "" {
					clocks[g].Fault = min(cmp.Or(clocks[g].Fault, c.Fault), c.Fault)
				} else if c = c.through(clocks[to]); c.Within < best.Within {
					best, at = c, g
				}
			}
		}
		if at < 0 {
			break
		}
		clocks[at] = best
		placed = append(placed, at)
	}
	out := make([]Clock, len(f.hosts))
	for i, g := range f.group {
		out[i] = clocks[g]
		out[i].Group, out[i].host = g, f.hosts[i]
	}
	return out
}

// fit is the clock of group g by that of group to.
func (f *fitter) fit(to, g int) Clock {
	var conns []bounds
	for k, all := range f.pairs {
		switch x, y := f.group[k[0]], f.group[k[1]]; {
		case x == to && y == g:
			conns = append(conns, all...)
		case x == g && y == to:
			for _, conn := range all {
				conns = append(conns, conn.turned())
			}
		}
	}
	var all bounds
	from, upTo := int64(math.MaxInt64), int64(0)
	for _, conn := range agreeing(conns) {
		all = append(all, conn...)
		for _, b := range conn {
			if !b.upper { // when this one's sessions received
				from, upTo = min(from, b.at), max(upTo, b.at)
			}
		}
	}
	l := newLine(all)
	c := Clock{There: len(l.lower), Back: len(l.upper), from: from}
	if c.There < MinMessages || c.Back < MinMessages {
		c.Fault = TooLittle
		return c
	}
	slope, wrong := l.solve()
	if wrong > maxWrong {
		c.Fault = NoLine
		return c
	}
	c.Drift, c.Offset, c.Within = slope, l.offset(slope, from), l.within(slope, from, upTo)
	return c
}

// turned are the same bounds of the other clock.
func (b bounds) turned() (all bounds) {
	for _, x := range b {
		all = append(all, bound{x.at + x.by, -x.by, !x.upper})
	}
	return all
}

// agreeing leaves out connections whose ends do not belong together: what most others say to be the difference of the
// clocks lies outside of what they allow.
func agreeing(conns []bounds) (most []bounds) {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	first, last := int64(math.MaxInt64), int64(0)
	spans := make([][2]int64, len(conns))
	for _, conn := range conns {
		for _, b := range conn {
			first, last = min(first, b.at), max(last, b.at)
		}
	}
	free := int64(float64(last-first)*maxDrift) + apartBy
	for i, conn := range conns {
		lo, hi := int64(math.MinInt64/2), int64(math.MaxInt64/2)
		for _, b := range conn {
			if b.upper {
				hi = min(hi, b.by+free)
			} else {
				lo = max(lo, b.by-free)
			}
		}
		spans[i] = [2]int64{lo, hi}
		if lo <= hi {
			edges = append(edges, edge{lo, 1}, edge{hi + 1, -1})
		}
	}
	sorting.By(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.step, y.step)) })
	n, best, at := 0, 0, int64(0)
	for _, e := range edges {
		if n += e.step; n > best {
			best, at = n, e.at
		}
	}
	if best == 0 {
		return conns
	}
	for i, conn := range conns {
		if spans[i][0] <= at && at <= spans[i][1] {
			most = append(most, conn)
		}
	}
	return most
}

// endsKey are the addresses of an end, and where they count.
type endsKey struct {
	local, peer, host string
	tls               bool
}

func (k endsKey) turned() endsKey { return endsKey{k.peer, k.local, k.host, k.tls} }

// endsOf are those of a side. What a machine calls itself is another place on each.
func (b *joiner) endsOf(s *side) endsKey {
	k := endsKey{local: s.local, peer: s.peer, tls: s.key.tls}
	p, err := netip.ParseAddrPort(s.peer)
	if s.transport == "unix" || err == nil && p.Addr().IsLoopback() {
		k.host = b.r.Clock(s.key.session).host
	}
	return k
}

// slack is by how much the times of a connection's ends may be wrong to each other.
func (b *joiner) slack(c *conn) int64 {
	if c.client == nil || c.server == nil {
		return 0
	}
	x, y := b.r.Clock(c.client.key.session), b.r.Clock(c.server.key.session)
	if x.Group == y.Group {
		return 0
	}
	return x.Within + y.Within
}
