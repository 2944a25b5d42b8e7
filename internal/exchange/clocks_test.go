package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/wire"
)

// world is two services that a client's session speaks to in turn, and the clocks that their sessions have.
type world struct {
	rnd    *rand.Rand
	now    float64 // true nanoseconds
	calls  []*Call
	true   []int64 // when each ended
	clocks []func(float64) float64
}

func newWorld(clocks ...func(float64) float64) *world {
	return &world{rnd: rand.New(rand.NewPCG(1, 2)), now: 5e12, clocks: clocks}
}

func shifted(by, ppm float64) func(float64) float64 {
	return func(t float64) float64 { return t + by + (t-5e12)*ppm/1e6 }
}

func right(t float64) float64 { return t }

// call is one that took some microseconds.
func (w *world) call(session int, what string, conn int, local, peer string, m wire.Message) *Call {
	begin := w.now
	w.now += 2000 + w.rnd.ExpFloat64()*5000
	c := &Call{Session: session, ID: int64(len(w.calls) + 1), End: int64(w.clocks[session](w.now)), PID: int32(session),
		Thread: 1, What: what, Connection: conn, Transport: "tcp", Local: local, Peer: peer, Message: m}
	c.DurationNs = c.End - int64(w.clocks[session](begin))
	if m.Proto != "" {
		c.Bytes = 50
	}
	w.calls, w.true = append(w.calls, c), append(w.true, int64(w.now))
	return c
}

// ask is a request on a connection of its own, to a server's session.
func (w *world) ask(from, to, n int, host string, more float64) {
	n++
	local, peer := fmt.Sprintf("%s:%d", host, 10000+n), fmt.Sprintf("%s:8%d", host, to)
	path := get(fmt.Sprintf("/%d", n))
	pass := func(ns float64) { w.now += ns + w.rnd.ExpFloat64()*20000 }
	w.call(from, "connect", n, local, peer, wire.Message{})
	w.call(to, "accept", n, peer, local, wire.Message{})
	w.call(from, "send", n, local, peer, path)
	pass(10000 + more)
	w.call(to, "receive", n, peer, local, path)
	pass(50000)
	w.call(to, "send", n, peer, local, ok(200))
	pass(10000)
	w.call(from, "receive", n, local, peer, ok(200))
	pass(15e6)
}

// wrong is by how much the calls' times are wrong at most, as those of the first session have it.
func (w *world) wrong() (most int64) {
	for i, c := range w.calls {
		if w.true[i] == 0 { // it was moved
			continue
		}
		most = max(most, c.End-w.true[i], w.true[i]-c.End)
	}
	return most
}

const lan, loop = "10.0.0.7", "127.0.0.1"

// TestFit: a session's clock is 1.234 s and 50 ppm off, on another machine, or on this one; of a third session only the
// second knows. Requests meet as if all had one clock.
func TestFit(t *testing.T) {
	for name, c := range map[string]struct {
		hosts  []string
		host   string
		by     float64
		groups string
		n      int
	}{
		"another machine":         {[]string{"a", "b", "a"}, lan, 1.234e9, "[0 1 0]", 1000},
		"another boot, hours off": {[]string{"a", "b", "c"}, lan, -4e12, "[0 1 2]", 1000},
		"shifted on one machine":  {[]string{"a", "a", "a"}, loop, 1.234e9, "[0 1 0]", 1000},
		"a few requests":          {[]string{"a", "b", "a"}, lan, 1.234e9, "[0 1 0]", 6},
		"nothing is off":          {[]string{"a", "a", "a"}, loop, 0, "[0 0 0]", 100},
	} {
		t.Run(name, func(t *testing.T) {
			ppm := 50.0
			if c.by == 0 {
				ppm = 0
			}
			w := newWorld(right, shifted(c.by, ppm), right)
			for n := range c.n {
				w.ask(0, 1, 2*n, c.host, 0)
				w.ask(1, 2, 2*n+1, c.host, 0)
			}
			sorted := slices.Clone(w.calls)
			slices.SortStableFunc(sorted, func(a, b *Call) int { return a.Session - b.Session })
			clocks := Fit(sorted, c.hosts)
			groups := fmt.Sprint([]int{clocks[0].Group, clocks[1].Group, clocks[2].Group})
			x := clocks[1]
			t.Logf("%+v, wrong by %d ns", x, w.wrong())
			if groups != c.groups || w.wrong() > 40_000 || w.wrong() > clocks[1].Within+clocks[2].Within+2 || clocks[1].Fault != "" {
				t.Errorf("groups %s, want %s; wrong by %d ns: %+v", groups, c.groups, w.wrong(), clocks)
			}
			if c.by != 0 && c.n > 100 && math.Abs(x.Drift*1e6+50) > 3 {
				t.Errorf("drift %g, want 50 ppm less", x.Drift)
			}
			if c.by != 0 && (x.There < c.n || x.Back < c.n) {
				t.Errorf("%+v", x)
			}
			for i, call := range w.calls {
				if own := clocks[call.Session].Own(call.End); math.Abs(float64(own)-w.clocks[call.Session](float64(w.true[i]))) > 40_000 {
					t.Fatalf("its own time of %+v is %d", call, own)
				}
			}
			r := Join(sorted, clocks...)
			for _, x := range r.All {
				if x.Sent == nil || x.Received == nil || x.Status != 200 ||
					x.Received.End < x.Sent.Start() || x.Got.End < x.AnswerSent.Start() {
					t.Fatalf("%+v", x)
				}
			}
			if len(r.All) != 2*c.n {
				t.Errorf("%d requests, want %d", len(r.All), 2*c.n)
			}
		})
	}
}

// TestFitOutliers: addresses that were used before one session was recorded, and calls that were told late, say nothing.
func TestFitOutliers(t *testing.T) {
	w := newWorld(right, shifted(1.234e9, 50))
	for n := range 100 {
		w.ask(0, 1, n, lan, 0)
		if n%10 == 0 { // its server was recorded as another connection had the same addresses, much later
			from := len(w.calls)
			w.ask(0, 1, 1000+n, lan, 3e9)
			for i, c := range w.calls[from:] {
				if c.Session == 1 {
					c.End, w.true[from+i] = c.End-2e9, 0
				}
			}
			late := w.calls[from-2]
			late.End, late.DurationNs, w.true[from-2] = late.End+1e6, 0, 0
		}
	}
	clocks := Fit(w.calls, []string{"a", "b"})
	if t.Logf("%+v", clocks[1]); clocks[1].Fault != "" || w.wrong() > 40_000 {
		t.Errorf("wrong by %d: %+v", w.wrong(), clocks[1])
	}
}

// TestFitNot: too little is refused, and so is what no line can explain; a clock that nothing leads to, too.
func TestFitNot(t *testing.T) {
	set := func(t float64) float64 { // by hand, in the midst
		if t > 5.5e12 {
			return t + 3e9
		}
		return t + 1e9
	}
	w := newWorld(right, shifted(1e9, 0), set, right)
	for n := range 3 {
		w.ask(0, 1, n, lan, 0)
	}
	conn := []string{lan + ":5000", lan + ":82"}
	w.call(0, "connect", 5000, conn[0], conn[1], wire.Message{})
	w.call(2, "accept", 5000, conn[1], conn[0], wire.Message{})
	for range 100 {
		w.call(0, "send", 5000, conn[0], conn[1], get("/"))
		w.call(2, "receive", 5000, conn[1], conn[0], get("/"))
		w.call(2, "send", 5000, conn[1], conn[0], ok(200))
		w.call(0, "receive", 5000, conn[0], conn[1], ok(200))
		w.now += 10e9
	}
	before := w.calls[1].End
	clocks := Fit(w.calls, []string{"a", "b", "c", "d"})
	for i, want := range []string{"", TooLittle, NoLine, TooLittle} {
		if clocks[i].Fault != want {
			t.Errorf("session %d: %+v, want %q", i, clocks[i], want)
		}
	}
	if clocks[1].There != 3 || clocks[1].Back != 3 || w.calls[1].End != before {
		t.Errorf("%+v", clocks[1])
	}
}

// TestLoopbackOfTwoMachines: what a machine calls itself is not the other machine.
func TestLoopbackOfTwoMachines(t *testing.T) {
	w := newWorld(right, shifted(1.234e9, 50))
	for n := range 20 {
		w.ask(0, 1, n, loop, 0)
	}
	clocks := Fit(w.calls, []string{"a", "b"})
	if clocks[1].Fault != TooLittle || clocks[1].There != 0 {
		t.Errorf("%+v", clocks[1])
	}
	for _, x := range Join(w.calls, clocks...).All {
		if x.Sent != nil && x.Received != nil {
			t.Fatalf("%+v", x)
		}
	}
}
