package exchange

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/wire"
)

// tape makes calls: each is 10 ns later than the one before, and takes 4.
type tape struct {
	now   int64
	calls []*Call
}

func (p *tape) add(session int, thread uint32, what string, connection int, local, peer string, bytes int64,
	m wire.Message) *Call {
	p.now += 10
	c := &Call{Session: session, ID: int64(len(p.calls) + 1), End: p.now, DurationNs: 4, PID: int32(session + 1),
		Thread: thread, What: what, Connection: connection, Transport: "tcp", Local: local, Peer: peer, Bytes: bytes, Message: m}
	p.calls = append(p.calls, c)
	return c
}

func get(path string) wire.Message { return wire.Message{Proto: "HTTP/1.1", Method: "GET", Path: path} }

func ok(status int) wire.Message { return wire.Message{Proto: "HTTP/1.1", Status: status} }

// said is what was found, a request a line.
func said(r *Result) string {
	var b strings.Builder
	for _, x := range r.All {
		fmt.Fprintf(&b, "%s %d %v", x.Path+x.Command, x.Status, x.Received != nil && x.Sent != nil)
		if x.Cause != nil {
			fmt.Fprintf(&b, " for %s", x.Cause.Path)
		}
		if x.Guess != "" {
			b.WriteString(" guess")
		}
		b.WriteString(x.Error + x.Answer + ";")
	}
	return b.String()
}

const front, back, client, inner = "127.0.0.1:80", "127.0.0.1:90", "127.0.0.1:5000", "127.0.0.1:6000"

// TestPipelined: three requests in one call, which came in two and were answered in one and a half.
func TestPipelined(t *testing.T) {
	var p tape
	m := get("/a")
	m.More = []wire.Part{{At: 10, Method: "GET", Path: "/b"}, {At: 20, Method: "GET", Path: "/c"}}
	p.add(0, 1, "connect", 1, client, front, 0, wire.Message{})
	p.add(1, 1, "accept", 7, "[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:5000", 0, wire.Message{})
	p.add(0, 1, "send", 1, client, front, 30, m)
	p.add(1, 1, "receive", 7, front, client, 15, get("/a"))
	p.add(1, 1, "receive", 7, front, client, 15, wire.Message{})
	two := ok(200)
	two.More = []wire.Part{{At: 5, Status: 404}}
	p.add(1, 1, "send", 7, front, client, 12, two)
	p.add(0, 1, "receive", 1, client, front, 12, two)
	p.add(1, 1, "send", 7, front, client, 8, ok(500))
	p.add(0, 1, "receive", 1, client, front, 8, ok(500))
	r := Join(p.calls)
	if got, want := said(r), "/a 200 true;/b 404 true;/c 500 true;"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if b := r.All[1]; b.SentBytes != 10 || b.GotBytes != 7 || b.Received.ID != 4 || r.All[2].Received.ID != 5 {
		t.Errorf("the second: %+v", b)
	}
}

// TestAddressesUsedTwice: the same addresses at both ends are two connections, and the second was refused first.
func TestAddressesUsedTwice(t *testing.T) {
	var p tape
	p.add(0, 1, "connect", 0, client, front, 0, wire.Message{}).Error = "ECONNREFUSED"
	for i := range 2 {
		path := fmt.Sprintf("/%d", i)
		p.add(0, 1, "connect", 1+i, client, front, 0, wire.Message{})
		p.add(1, 1, "accept", 1+i, front, client, 0, wire.Message{})
		p.add(0, 1, "send", 1+i, client, front, 10, get(path))
		p.add(1, 1, "receive", 1+i, front, client, 10, get(path))
		if i == 1 {
			break // and no answer
		}
		p.add(1, 1, "send", 1+i, front, client, 10, ok(200))
		p.add(0, 1, "receive", 1+i, client, front, 10, ok(200))
		p.add(0, 1, "close", 1+i, client, front, 0, wire.Message{})
		p.add(1, 1, "close", 1+i, front, client, 0, wire.Message{})
	}
	r := Join(p.calls)
	if got, want := said(r), " 0 falseECONNREFUSED;/0 200 true;/1 0 trueno answer;"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !r.All[0].Failed() || r.All[1].Failed() || !r.All[2].Failed() {
		t.Error("the first and the last failed")
	}
}

// TestEventLoop: one thread has two requests and asks another service for each. What it asks for is known where it does
// one after the other; where it receives both first it is a guess, by the value that both have, or by their order.
func TestEventLoop(t *testing.T) {
	for _, c := range []struct {
		batch bool
		paths [2]string
		want  string
	}{
		{false, [2]string{"/x", "/x"}, "in1;in2;x for in1;x for in2;"},
		{true, [2]string{"/x", "/x"}, "in1;in2;x for in1 guess;x for in2 guess;"},
		{true, [2]string{"/x/2", "/x/1"}, "in1;in2;x2 for in2 guess;x1 for in1 guess;"},
	} {
		var p tape
		ends := [2]string{client, "127.0.0.1:5001"}
		for i, end := range ends { // connections that were there
			p.add(0, 1, "accept", 1+i, front, end, 0, wire.Message{})
			p.add(0, 1, "connect", 3+i, fmt.Sprintf("127.0.0.1:600%d", i), back, 0, wire.Message{})
			p.add(0, 1, "send", 3+i, "", back, 10, get("/first"))
			p.add(0, 1, "receive", 3+i, "", back, 10, ok(200))
		}
		p.add(0, 1, "send", 9, "", "127.0.0.1:99", 5, wire.Message{})
		come := func(i int) { p.add(0, 1, "receive", 1+i, front, ends[i], 10, get(fmt.Sprintf("/in/%d", i+1))) }
		ask := func(i int) { p.add(0, 1, "send", 3+i, "", back, 10, get(c.paths[i])) }
		if c.batch {
			come(0)
			come(1)
			ask(0)
			ask(1)
		} else {
			come(0)
			ask(0)
			come(1)
			ask(1)
		}
		for i := range 2 {
			p.add(0, 1, "receive", 3+i, "", back, 10, ok(200))
			to := i
			if c.paths[i] == "/x/2" {
				to = 1
			} else if c.paths[i] == "/x/1" {
				to = 0
			}
			p.add(0, 1, "send", 1+to, front, ends[to], 10, ok(200))
		}
		got := strings.NewReplacer("/", "", " 200 false", "").Replace(said(Join(p.calls)))
		got = strings.ReplaceAll(got, "first;", "")
		if !sameSet(got, c.want) {
			t.Errorf("batch %v %v: %s, want %s", c.batch, c.paths, got, c.want)
		}
	}
}

func sameSet(a, b string) bool {
	left := strings.Split(b, ";")
	for one := range strings.SplitSeq(a, ";") {
		found := false
		for i, o := range left {
			if o == one {
				left, found = append(left[:i:i], left[i+1:]...), true
				break
			}
		}
		if !found {
			return false
		}
	}
	return len(left) == 0
}

// TestMidstream: a server that was attached to in the midst of a connection.
func TestMidstream(t *testing.T) {
	var p tape
	p.add(0, 1, "connect", 1, client, front, 0, wire.Message{})
	for i := range 4 {
		path := fmt.Sprintf("/%d", i)
		p.add(0, 1, "send", 1, client, front, 10, get(path))
		if i > 1 {
			p.add(1, 1, "receive", 3, front, client, 10, get(path))
			p.add(1, 1, "send", 3, front, client, 9, ok(200))
		}
		p.add(0, 1, "receive", 1, client, front, 9, ok(200))
	}
	if got, want := said(Join(p.calls)), "/0 200 false;/1 200 false;/2 200 true;/3 200 true;"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnything: whatever calls say, there is an answer, and no request is its own cause.
func TestAnything(t *testing.T) {
	ends := []string{client, front, back, inner, "", "/s"}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var p tape
		for range 5 + rng.IntN(80) {
			m := []wire.Message{{}, get("/a/1"), get("/b/2"), ok(200), ok(100), ok(500), {Proto: "redis", Command: "GET 1"},
				{Proto: "redis", Answer: "$1 x"}, {Proto: "postgres"}, {Proto: "postgres", Command: "SELECT 1"},
				{Proto: "postgres", Answer: "error x"}, {Proto: "TLS"}, {Proto: "HTTP/2"},
				two(onStream(0, uint32(rng.IntN(4)), "GET", "/7", rng.IntN(2)*200, "?", rng.IntN(2) == 0))}[rng.IntN(14)]
			if rng.IntN(4) == 0 {
				m.More = []wire.Part{{At: rng.Int64N(20), Method: "GET"}, {At: 3, Status: 200, Answer: "+OK"}}
			}
			c := p.add(rng.IntN(3), uint32(rng.IntN(2)), []string{"connect", "accept", "send", "receive", "receive", "close",
				"send"}[rng.IntN(7)], rng.IntN(4), ends[rng.IntN(6)], ends[rng.IntN(6)], rng.Int64N(30), m)
			c.TLS, c.DurationNs = rng.IntN(9) == 0, rng.Int64N(200)
			c.Transport = []string{"tcp", "unix", "udp"}[rng.IntN(8)%3]
		}
		for _, x := range Join(p.calls).All {
			x.Took()
			x.Own()
			n := 0
			for y := x; y.Cause != nil; y = y.Cause {
				if n++; n > len(p.calls) {
					t.Fatalf("seed %d: a circle of causes", seed)
				}
			}
		}
	}
}

// TestLastCallMissing: a program ended before it was noted that it sent, so only the server knows of a request. Whose it
// was is known by the connection.
func TestLastCallMissing(t *testing.T) {
	var p tape
	p.add(0, 1, "connect", 1, client, front, 0, wire.Message{})
	p.add(1, 1, "accept", 7, front, client, 0, wire.Message{})
	p.add(0, 1, "send", 1, client, front, 15, get("/a"))
	p.add(1, 1, "receive", 7, front, client, 15, get("/a"))
	p.add(1, 1, "send", 7, front, client, 15, ok(200))
	p.add(0, 1, "receive", 1, client, front, 15, ok(200))
	p.add(1, 1, "receive", 7, front, client, 15, get("/b"))
	r := Join(p.calls)
	if len(r.All) != 2 || r.All[1].Sent != nil {
		t.Fatalf("%+v", r.All)
	}
	if from, to := r.All[1].Ends(); from != p.calls[0] || to != p.calls[6] {
		t.Errorf("ends %+v and %+v", from, to)
	}
}

// TestSentNotedLate: a thread lost the CPU between sending and noting when, and another had the answer meanwhile. What
// it sent for is what was open as the server got it.
func TestSentNotedLate(t *testing.T) {
	var p tape
	in, out := get("/in"), get("/a")
	in.Trace, out.Trace = "same", "same"
	p.add(0, 1, "connect", 1, client, front, 0, wire.Message{})
	p.add(1, 1, "accept", 7, front, client, 0, wire.Message{})
	p.add(0, 1, "receive", 3, back, inner, 20, in)
	p.add(1, 1, "receive", 7, front, client, 15, out)
	p.add(1, 1, "send", 7, front, client, 15, ok(200))
	p.add(0, 2, "receive", 1, client, front, 15, ok(200))
	p.add(0, 2, "send", 3, back, inner, 15, ok(200))
	p.add(0, 1, "send", 1, client, front, 15, out).DurationNs = 0
	r := Join(p.calls)
	if got, want := said(r), "/a 200 true for /in;/in 200 false;"; !sameSet(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, x := range r.All {
		if from, to, ok := x.ClientSpan(); x.Path == "/a" && (!ok || from != p.calls[3].End || to != p.calls[5].End) {
			t.Errorf("the client's: %d to %d, %v", from, to, ok)
		}
	}
}
