package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// workload makes events as the native engine does: nested calls on 12 threads, 5,000 functions of
// unequal popularity, one to three register arguments (small integers and pointers), a result.
type workload struct {
	rnd    *rand.Rand
	zipf   *rand.Zipf
	ts     int64
	stacks [12][]event.FuncID
	pay    []byte
	batch  []event.Event
}

func newWorkload() *workload {
	r := rand.New(rand.NewPCG(1, 2))
	return &workload{rnd: r, zipf: rand.NewZipf(r, 1.1, 20, 4999)}
}

func (w *workload) register(st *Store) {
	for i := range 5000 {
		st.Function(event.Function{Name: fmt.Sprintf("ns::class%d::method%d", i/20, i), File: fmt.Sprintf("/src/%d.cc", i/20),
			Line: i, Module: "/bin/x"})
	}
	for i := range len(w.stacks) {
		st.Thread(event.Thread{PID: 1, TID: int32(i), Name: "worker"})
	}
}

// next returns a batch of about n events, valid until the next call.
func (w *workload) next(n int) []event.Event {
	w.batch, w.pay = w.batch[:0], w.pay[:0]
	for len(w.batch) < n {
		t := w.rnd.IntN(len(w.stacks))
		for range 1 + w.rnd.IntN(30) { // a thread runs for a while
			w.ts += 40 + int64(w.rnd.IntN(600))
			w.one(t)
		}
	}
	return w.batch
}

func (w *workload) one(t int) {
	st := w.stacks[t]
	e := event.Event{TS: w.ts, Thread: event.ThreadID(t)}
	if len(st) > 0 && (len(st) > 20 || w.rnd.IntN(2) == 0) {
		e.Kind, e.Func, e.Flags = event.FunctionExit, st[len(st)-1], event.HasRet
		e.Ret = int64(w.rnd.IntN(256))
		if e.Func%4 == 0 {
			e.Ret = w.pointer(e.Func)
		}
		w.stacks[t] = st[:len(st)-1]
	} else {
		e.Kind, e.Func = event.FunctionEnter, event.FuncID(w.zipf.Uint64())
		w.stacks[t] = append(st, e.Func)
		at := len(w.pay)
		for i := range 1 + int(e.Func)%3 {
			v := uint64(w.rnd.IntN(4096))
			if (int(e.Func)+i)%2 == 0 {
				v = uint64(w.pointer(e.Func))
			}
			w.pay = binary.LittleEndian.AppendUint64(w.pay, v)
		}
		e.Payload = w.pay[at:]
	}
	w.batch = append(w.batch, e)
}

// pointer returns an address in the 16 MB of heap that the function works on.
func (w *workload) pointer(f event.FuncID) int64 {
	return 0x7f12_3400_0000 + int64(f%8)<<24 + int64(w.rnd.IntN(1<<20))*16
}

// BenchmarkIngest puts events as fast as the store takes them. Bytes per event are those of the closed file.
func BenchmarkIngest(b *testing.B) {
	w := newWorkload()
	path := filepath.Join(b.TempDir(), "s.db")
	st, err := Create(path, Meta{}, Options{MaxEvents: 1 << 40})
	must(b, err)
	w.register(st)
	batch := append([]event.Event(nil), w.next(50_000)...)
	span := batch[len(batch)-1].TS + 100
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		// The same calls again, later: making them costs more than storing them.
		for from := 0; from < len(batch); from += 1000 {
			must(b, st.Put(batch[from:min(from+1000, len(batch))]))
		}
		for i := range batch {
			batch[i].TS += span
		}
		n += len(batch)
	}
	must(b, st.Flush(context.Background()))
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	must(b, st.Close())
	b.ReportMetric(float64(FileSize(path))/float64(n), "bytes/event")
}

// BenchmarkQuery asks a store of STROBE_BENCH_EVENTS events (1,000,000) while nothing is written.
func BenchmarkQuery(b *testing.B) {
	n := 1_000_000
	if v, err := strconv.Atoi(os.Getenv("STROBE_BENCH_EVENTS")); err == nil {
		n = v
	}
	w := newWorkload()
	path := filepath.Join(b.TempDir(), "s.db")
	st, err := Create(path, Meta{}, Options{MaxEvents: 1 << 40})
	must(b, err)
	w.register(st)
	start := time.Now()
	for done := 0; done < n; {
		batch := w.next(2000)
		must(b, st.Put(batch))
		done += len(batch)
	}
	must(b, st.Flush(context.Background()))
	b.Logf("%d events in %v, %.1f bytes each", st.Stats().LastID, time.Since(start),
		float64(FileSize(path))/float64(st.Stats().LastID))
	defer st.Close()
	last, end := st.Stats().LastID, st.Stats().LastTS
	set := func(ids ...uint32) *Bits {
		s := new(Bits)
		for _, id := range ids {
			s.Set(id)
		}
		return s
	}
	many := new(Bits)
	for i := range uint32(500) {
		many.Set(i * 10)
	}
	ret, big := int64(77), w.pointer(4)
	for _, q := range []struct {
		name string
		f    Filter
		rev  bool
	}{
		{"Newest", Filter{}, true},
		{"HotFunction", Filter{Funcs: set(0)}, false},
		{"RareFunction", Filter{Funcs: set(4999)}, true},
		{"ManyFunctions", Filter{Funcs: many}, true},
		{"TimeRange", Filter{FromTS: end / 2, ToTS: end/2 + end/100}, false},
		{"Thread", Filter{Threads: set(3)}, true},
		{"Cursor", Filter{FromID: last / 2}, false},
		{"ReturnEquals", Filter{RetEq: &ret}, true},
		{"ReturnRare", Filter{RetEq: &big}, true},
		{"DurationOver", Filter{MinDur: 1_000_000}, true},
		{"FunctionAndThreadAndTime", Filter{Funcs: many, Threads: set(3), FromTS: end / 4, ToTS: end / 2}, false},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				sn, err := st.Snapshot(context.Background())
				must(b, err)
				_, err = sn.Count(context.Background(), q.f)
				must(b, err)
				left := 50
				must(b, sn.Scan(context.Background(), q.f, ScanOptions{Reverse: q.rev, Cold: true},
					func(*Row) bool { left--; return left > 0 }))
				sn.Close()
			}
		})
	}
}

// BenchmarkSustained puts 1,000,000 events per second, in batches each millisecond, with the
// default limit, so that blocks are dropped all the time. One operation is one second. It reports how far
// behind its schedule the producer was at worst: what a full queue makes it wait. Its CPU time
// with the test's own is that of the process.
func BenchmarkSustained(b *testing.B) {
	w := newWorkload()
	path := filepath.Join(b.TempDir(), "s.db")
	st, err := Create(path, Meta{}, Options{})
	must(b, err)
	w.register(st)
	batch := append([]event.Event(nil), w.next(100_000)...)
	span := batch[len(batch)-1].TS + 100
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var late time.Duration
	n, at, start := 0, 0, time.Now()
	for b.Loop() {
		for end := n + 1_000_000; n < end; {
			behind := time.Since(start) - time.Duration(n)*time.Microsecond
			late = max(late, behind)
			if behind < 0 {
				<-tick.C
				continue
			}
			to := min(at+1000, len(batch))
			must(b, st.Put(batch[at:to]))
			n += to - at
			if at = to; at == len(batch) {
				at = 0
				for i := range batch {
					batch[i].TS += span
				}
			}
		}
	}
	must(b, st.Flush(context.Background()))
	b.ReportMetric(float64(late.Milliseconds()), "ms-late")
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "events/s")
	stats := st.Stats()
	if got := stats.Total(); got != int64(n) {
		b.Errorf("%d events stored, want %d", got, n)
	}
	b.ReportMetric(float64(FileSize(path))/1e6, "file-MB")
	must(b, st.Close())
}
