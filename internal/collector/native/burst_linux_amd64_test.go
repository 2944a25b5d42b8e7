package native

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/spool"
)

// TestDiscard: of a program whose records nobody will read none is decoded any more, however many wait.
func TestDiscard(t *testing.T) {
	prog := build(t, "burst.c", burstProgram, "gcc", "-g", "-O2", "-pthread")
	sink := newSink(t)
	sink.keep, sink.block = false, true
	sink.stall = 20 * time.Millisecond
	s := startTracing(t, testRuntime(t), sink, prog,
		collector.Tracing{Probes: []collector.Probe{{Pattern: "hot", Depth: 3}}}, "1", "2000000000")
	waitFor(t, "backlog", func() bool { return s.mover.spool.Held() > 64<<20 })
	if w := strings.Join(s.Status().Warnings, "\n"); !strings.Contains(w, "MB of records are still to come") {
		t.Errorf("nobody is told: %s", w)
	}
	delivered := func() int64 {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		return sink.total
	}
	s.Discard()
	before := delivered()
	if err := s.Stop(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	// A million records and more had waited; the batch under way, and the one that was read ahead, may still come.
	if n := delivered() - before; n > 4*batchEvents || s.mover.spool.Held() != 0 {
		t.Errorf("%d events came after it, %d bytes are left", n, s.mover.spool.Held())
	}
}

// TestLimit: a thread that waits for room gets some before it gives up, however long the decoder is kept.
func TestLimit(t *testing.T) {
	const most = 64 << 20
	s := spool.New(spool.Options{BlockBytes: 1 << 20, MostBytes: most})
	defer s.Close()
	m := &mover{t: &target{cmd: &collector.Command{OnFull: collector.OnFullWait}}, most: most, spool: s}
	at := time.Now()
	if got := m.limit(at); got != 0 || !m.over.IsZero() {
		t.Errorf("%d may wait, since %v, where nothing does", got, m.over)
	}
	if s.Stream(0).Append(make([]byte, 2<<20)); s.Held() == 0 {
		t.Fatal("nothing waits")
	}
	var moved []time.Duration
	for after := time.Duration(0); after < waitMost; after += time.Millisecond {
		if m.limit(at.Add(after)) == most {
			moved = append(moved, after)
		}
	}
	if len(moved) != 4 || moved[0] != overMost || moved[3] != 4*overMost {
		t.Errorf("something is moved after %v", moved)
	}
	m.t.cmd.OnFull = collector.OnFullDrop
	if got := m.limit(at.Add(time.Hour)); got != 0 {
		t.Errorf("%d may wait of who drops", got)
	}
}

// TestBound: a burst may leave what is decoded in ten seconds; who goes on is slowed to what is decoded, and so is who
// is looked at closely; a program that waits next to nothing has all of it again.
func TestBound(t *testing.T) {
	const most, burst = 2 << 30, 1200 << 20
	held := int64(0)
	s := spool.New(spool.Options{BlockBytes: 1 << 20, MostBytes: most})
	defer s.Close()
	st := s.Stream(0)
	hold := func(n int64) {
		for b := make([]byte, 1<<20); held < n; held += int64(len(b)) {
			if st.Append(b) != len(b) {
				t.Fatal("no room")
			}
		}
		st.Release(st.Head() - uint64(n))
		held = n
	}
	m := &mover{t: &target{cmd: &collector.Command{OnFull: collector.OnFullWait}}, most: most, spool: s}
	m.pace.rate = 120 << 20
	at := time.Now()
	for _, step := range []struct {
		what          string
		held, decoded int64
		after         time.Duration
		near          bool
		want          int64
	}{
		{"at rest", 0, 0, 0, false, burst},
		{"in a burst", 1 << 30, 1 << 20, burstFor / 2, false, burst},
		{"looked at closely", 1 << 30, 4 << 20, burstFor / 2, true, 1<<30 + 1<<20},
		{"going on", 1 << 30, 4 << 20, burstFor + 1, false, 1<<30 + 1<<20},
		{"slowed", 900 << 20, 4 << 20, burstFor + time.Second, false, 901 << 20},
		{"lasting", 200 << 20, 4 << 20, burstFor + 2*time.Second, false, boundNear},
		{"at rest again", 100 << 20, 4 << 20, burstFor + 3*time.Second, false, burst},
	} {
		hold(step.held)
		m.near.Store(step.near)
		if got := m.allowed(step.decoded, at.Add(step.after)); got != step.want {
			t.Errorf("%s: %d MB may wait, want %d", step.what, got>>20, step.want>>20)
		}
	}
}
