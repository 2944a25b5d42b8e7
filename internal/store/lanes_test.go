package store

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

// TestLanes: the first call of a lane is below whoever runs it, and what says the thread alone is on the lane that the
// thread is on.
func TestLanes(t *testing.T) {
	s, _ := testStore(t, Options{})
	defer func() { must(t, s.Close()) }()
	f := s.Function(event.Function{Name: "f"})
	g := s.Function(event.Function{Name: "g"})
	own := s.Thread(event.Thread{PID: 1, TID: 1, Name: "m"})
	lane := s.Thread(event.Thread{PID: 1, TID: 1, Name: event.LaneName("m", 1)})
	other := s.Thread(event.Thread{PID: 1, TID: 1, Name: event.LaneName("m", 2)})
	enter := func(ts int64, fn event.FuncID, th, under event.ThreadID) event.Event {
		return event.Event{TS: ts, Kind: event.FunctionEnter, Func: fn, Thread: th, Under: under}
	}
	exit := func(ts, left int64, fn event.FuncID, th event.ThreadID) event.Event {
		return event.Event{TS: ts, Kind: event.FunctionExit, Func: fn, Thread: th, Ret: left}
	}
	out := func(ts int64) event.Event {
		return event.Event{TS: ts, Kind: event.Stdout, Thread: own, Payload: []byte("x")}
	}
	if err := s.Put([]event.Event{
		enter(1, f, own, 0),      // 1
		enter(2, f, lane, own+1), // 2, below 1
		out(3),                   // 3, in 2
		enter(4, g, own, 0),      // 4, of machine code, in 2
		exit(5, 0, g, own),       // 5
		{TS: 6, Kind: event.OnLane, Thread: own, Under: own + 1}, // 2 awaits
		out(7),                    // 6, in 1
		enter(8, f, other, own+1), // 7, below 1
		out(9),                    // 8, in 7
		exit(10, 0, f, other),     // 9
		out(11),                   // 10, in 1
		{TS: 12, Kind: event.OnLane, Thread: lane, Under: own + 1},
		out(13),                  // 11, in 2
		exit(14_000, 6, f, lane), // 12
		exit(15_000, 0, f, own),  // 13
	}); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		parent event.ID
		thread event.ThreadID
	}{{0, own}, {1, lane}, {2, lane}, {2, lane}, {2, lane}, {1, own}, {1, other}, {7, other}, {1, other}, {1, own},
		{2, lane}, {1, lane}, {0, own}}
	must(t, s.Flush(t.Context()))
	sn, err := s.Snapshot(t.Context())
	must(t, err)
	defer sn.Close()
	if s.w.queue.enqueued != s.w.queue.settled {
		t.Errorf("%d events came, %d are settled", s.w.queue.enqueued, s.w.queue.settled)
	}
	var rows []Row
	must(t, sn.Scan(t.Context(), Filter{}, ScanOptions{Cold: true},
		func(r *Row) bool { rows = append(rows, *r); return true }))
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, w := range want {
		if r := rows[i]; r.Parent != w.parent || r.Thread != w.thread {
			t.Errorf("event %d, %v: parent %d on %d, want %d on %d", r.ID, r.Kind, r.Parent, r.Thread, w.parent, w.thread)
		}
	}
	// 15,000-1 of the first, less what two lanes ran in it; 13,998 of the second, less 6 µs and g; 2 of the third.
	if st := s.FuncStats()[f]; st.SelfNs != (14_999-7_998-2)+(13_998-6_000-1)+2 {
		t.Errorf("self time %d", st.SelfNs)
	}
}
