package record

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// BenchmarkCalls pairs 1,000,000 events of 12 threads, or 10,000,000 with STROBE_BENCH_LARGE set.
func BenchmarkCalls(b *testing.B) {
	n := 1_000_000
	if os.Getenv("STROBE_BENCH_LARGE") != "" {
		n = 10_000_000
	}
	st := newStore(b)
	const threads = 12
	fn := st.Function(event.Function{Name: "f"})
	for i := range threads {
		st.Thread(event.Thread{PID: 1, TID: int32(i + 1)})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var depth [threads]int
	batch := make([]event.Event, 0, 4096)
	for i := range n {
		th := rng.IntN(threads)
		e := event.Event{TS: int64(i) * 100, Func: fn, Thread: event.ThreadID(th), Kind: event.FunctionEnter,
			Payload: words(uint64(i), 1)}
		if d := depth[th]; d > 0 && (d > 20 || rng.IntN(2) == 0) {
			e.Kind, e.Payload, e.Flags, e.Ret = event.FunctionExit, nil, event.HasRet, int64(i&7)
			depth[th]--
		} else {
			depth[th]++
		}
		if batch = append(batch, e); len(batch) == cap(batch) || i == n-1 {
			if err := st.Put(batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	sn := snapshot(b, st, nil)
	scan := func(cold bool) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				var below int64
				err := sn.Scan(b.Context(), store.Filter{Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit},
					store.ScanOptions{Cold: cold}, func(r *store.Row) bool {
						below += r.Duration
						return true
					})
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	calls := func(bare bool) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var below int64
				for c, err := range New(sn).Calls(b.Context(), Filter{Bare: bare}) {
					if err != nil {
						b.Fatal(err)
					}
					below += c.BelowNs
				}
			}
		}
	}
	b.Run("scanBare", scan(false))
	b.Run("bare", calls(true))
	b.Run("scan", scan(true))
	b.Run("calls", calls(false))
}
