package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// TestReadersDuringIngest puts from four goroutines while three read. Each producer numbers
// its calls, so that a reader sees what is lost, doubled or out of order.
func TestReadersDuringIngest(t *testing.T) {
	const producers, each = 4, 30_000
	st, path := testStore(t, Options{MaxEvents: 30_000})
	for i := range producers {
		st.Function(event.Function{Name: fmt.Sprintf("f%d", i)})
		st.Thread(event.Thread{PID: 1, TID: int32(i), Name: "p"})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var writers, readers sync.WaitGroup
	start := time.Now()
	for p := range producers {
		writers.Go(func() {
			var b []event.Event
			for n := range each {
				num := binary.LittleEndian.AppendUint64(nil, uint64(n))
				ts := time.Since(start).Nanoseconds()
				e := event.Event{TS: ts, Func: event.FuncID(p), Thread: event.ThreadID(p), Kind: event.FunctionEnter, Payload: num}
				x := event.Event{TS: ts, Func: e.Func, Thread: e.Thread, Kind: event.FunctionExit, Flags: event.HasRet,
					Ret: int64(n)}
				b = append(b, e, x)
				if n%100 == 0 {
					b = append(b, event.Event{TS: ts, Thread: e.Thread, Kind: event.Stdout, Payload: num})
				}
				if len(b) > 200 || n == each-1 {
					if err := st.Put(b); err != nil {
						t.Errorf("Put() = %v", err)
						return
					}
					b = b[:0]
				}
			}
		})
	}
	var scans atomic.Int64
	for k := range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := readOnce(ctx, st, k); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				scans.Add(1)
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	sn := snapshot(t, st)
	outs, err := sn.Count(context.Background(), Filter{Kinds: 1 << event.Stdout})
	must(t, err)
	if want := int64(producers * each / 100); outs != want {
		t.Errorf("%d outputs kept, want %d", outs, want)
	}
	sn.Close()
	for _, f := range st.FuncStats() {
		if f.Calls != each || f.Exits != each {
			t.Errorf("FuncStats() of %d = %d calls, %d exits, want %d", f.Func, f.Calls, f.Exits, each)
		}
	}
	if s := st.Stats(); s.Kept < 30_000 || s.Kept >= 30_000+blockEvents {
		t.Errorf("%d calls kept", s.Kept)
	}
	t.Logf("%d snapshots read beside %d events", scans.Load(), st.Stats().LastID)
	must(t, st.Close())
	if problems, err := Check(context.Background(), path); err != nil || len(problems) > 0 {
		t.Errorf("Check() = %q, %v", problems, err)
	}
}

// readOnce checks one snapshot.
func readOnce(ctx context.Context, st *Store, k int) error {
	if k == 0 {
		if err := st.Flush(ctx); err != nil {
			return err
		}
		st.FuncStats()
	}
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer sn.Close()
	f := Filter{}
	if k == 2 {
		f.Kinds = 1<<event.FunctionEnter | 1<<event.FunctionExit
	}
	want, err := sn.Count(ctx, f)
	if err != nil {
		return err
	}
	var got int64
	var last event.ID
	var bad error
	next := map[event.ThreadID]uint64{}
	err = sn.Scan(ctx, f, ScanOptions{Cold: true}, func(r *Row) bool {
		got++
		if r.ID <= last {
			bad = fmt.Errorf("event %d after %d", r.ID, last)
		}
		last = r.ID
		switch r.Kind {
		case event.FunctionEnter:
			n := binary.LittleEndian.Uint64(r.Payload)
			if w, ok := next[r.Thread]; ok && n != w {
				bad = fmt.Errorf("event %d has number %d, want %d", r.ID, n, w)
			}
			next[r.Thread] = n + 1
		case event.FunctionExit:
			if w, ok := next[r.Thread]; ok && uint64(r.Ret) != w-1 || r.Enter == 0 || r.Enter >= r.ID {
				bad = fmt.Errorf("exit %+v, want result %d", r, w-1)
			}
		case event.Stdout:
			if len(r.Payload) != 8 {
				bad = fmt.Errorf("output %d is %q", r.ID, r.Payload)
			}
		}
		return bad == nil
	})
	if err == nil && bad == nil && got != want {
		bad = fmt.Errorf("Scan gave %d rows, Count %d", got, want)
	}
	return errors.Join(err, bad)
}

func TestWait(t *testing.T) {
	st, _ := testStore(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	put := func() {
		must(t, st.Put([]event.Event{{Kind: event.Stdout, Thread: event.NoThread, Payload: []byte("x")}}))
	}
	woken := make(chan error, 1)
	go func() { woken <- st.Wait(ctx, 0) }()
	ch := st.Changed()
	put()
	must(t, <-woken)
	select {
	case <-ch:
	case <-ctx.Done():
		t.Error("Changed() was not closed")
	}
	must(t, st.Wait(ctx, 0))
	short, cancelShort := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancelShort()
	if err := st.Wait(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait() = %v, want %v", err, context.DeadlineExceeded)
	}
	go func() { woken <- st.Wait(ctx, 2) }()
	must(t, st.Close())
	if err := <-woken; !errors.Is(err, ErrClosed) {
		t.Errorf("Wait() of a closed store = %v, want %v", err, ErrClosed)
	}
	if err := st.Put(nil); err != nil {
		t.Errorf("Put(nil) = %v", err)
	}
	if err := st.Put([]event.Event{{Kind: event.Stdout, Thread: event.NoThread}}); !errors.Is(err, ErrClosed) {
		t.Errorf("Put() of a closed store = %v, want %v", err, ErrClosed)
	}
	if err := st.Flush(ctx); err != nil {
		t.Errorf("Flush() of a closed store = %v", err)
	}
	if _, err := st.Snapshot(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("Snapshot() of a closed store = %v, want %v", err, ErrClosed)
	}
}

// TestOutputsSurvive keeps bytes as they are, and all of them, whatever the calls do.
func TestOutputsSurvive(t *testing.T) {
	st, path := testStore(t, Options{MaxEvents: 1})
	f := st.Function(event.Function{Name: "f"})
	th := st.Thread(event.Thread{PID: 1, TID: 1})
	texts := [][]byte{nil, {0}, []byte("a\x00b"), {0xff, 0xfe}, []byte("né\xe9"), bytes.Repeat([]byte("long "), 1<<20)}
	var ids []event.ID
	id := event.ID(0)
	for _, text := range texts {
		b := []event.Event{{Kind: event.Stderr, Thread: th, Payload: text}}
		id++
		ids = append(ids, id)
		for range 10_000 {
			b = append(b, event.Event{Kind: event.FunctionEnter, Func: f, Thread: th},
				event.Event{Kind: event.FunctionExit, Func: f, Thread: th})
			id += 2
		}
		must(t, st.Put(b))
	}
	verify := func(st *Store) {
		t.Helper()
		sn := snapshot(t, st)
		defer sn.Close()
		rows := collect(t, sn, Filter{Kinds: 1 << event.Stderr}, ScanOptions{Cold: true})
		again, err := sn.Rows(context.Background(), ids)
		must(t, err)
		if len(rows) != len(texts) || len(again) != len(texts) {
			t.Fatalf("%d and %d outputs, want %d", len(rows), len(again), len(texts))
		}
		for i := range rows {
			if rows[i].ID != ids[i] || !bytes.Equal(rows[i].Payload, texts[i]) || !bytes.Equal(again[i].Payload, texts[i]) {
				t.Errorf("output %d = %.40q at %d, want %.40q at %d", i, rows[i].Payload, rows[i].ID, texts[i], ids[i])
			}
		}
	}
	verify(st)
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	verify(re)
	must(t, re.Close())
}

// TestMuchOutput stores 64 MB of output with little memory in the queue.
func TestMuchOutput(t *testing.T) {
	st, _ := testStore(t, Options{})
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096) // 64 KB
	for i := range 1024 {
		must(t, st.Put([]event.Event{{TS: int64(i), Kind: event.Stdout, Thread: event.NoThread, Payload: chunk}}))
	}
	sn := snapshot(t, st)
	var n int
	must(t, sn.Scan(context.Background(), Filter{}, ScanOptions{Cold: true}, func(r *Row) bool {
		n += len(r.Payload)
		return bytes.Equal(r.Payload, chunk)
	}))
	sn.Close()
	if n != 64<<20 {
		t.Errorf("read %d bytes, want %d", n, 64<<20)
	}
}
