package export

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/value"
)

// longStore has n call events of eight threads, with arguments and results.
func longStore(t testing.TB, n int) *store.Store {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "long.db"), store.Meta{SessionID: "long", Command: "/bin/long"},
		store.Options{MaxEvents: int64(n) + 100_000, MaxBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	layout := value.NewTree([]string{"n", "who"}, 1).Marshal()
	var fns []event.FuncID
	for i := range 100 {
		fns = append(fns, st.Function(event.Function{Name: fmt.Sprint("module::function", i), File: "/src/long.cpp",
			Line: i + 1, Module: "/bin/long", Layout: layout}))
	}
	const threads = 8
	for i := range int32(threads) {
		st.Thread(event.Thread{PID: 1, TID: 1 + i, Name: fmt.Sprint("t", i)})
	}
	args, result := []byte(`{"n":12345,"who":"somebody"}`), []byte(`42`)
	var open [threads][]event.FuncID
	batch := make([]event.Event, 0, 4096)
	for i := range n {
		th := i % threads
		e := event.Event{TS: int64(i) * 50, Thread: event.ThreadID(th)}
		if s := open[th]; len(s) > 0 && (len(s) > 20 || (i/threads)*7%5 < 2) {
			e.Kind, e.Func, e.Payload = event.FunctionExit, s[len(s)-1], result
			open[th] = s[:len(s)-1]
		} else {
			e.Kind, e.Func, e.Payload = event.FunctionEnter, fns[i%len(fns)], args
			open[th] = append(s, e.Func)
		}
		if batch = append(batch, e); len(batch) == cap(batch) || i == n-1 {
			if err := st.Put(batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

// peak is the most that the heap holds beyond what it holds now, in bytes, while fn runs.
func peak(fn func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapAlloc))
			}
		}
	}()
	fn()
	close(stop)
	<-stopped
	return most.Load() - min(before, most.Load())
}

// TestMemoryIsBounded: four times as many events take as much memory, and never what they would take together.
func TestMemoryIsBounded(t *testing.T) {
	const bound = 64 << 20 // the blocks that the store keeps, buffers, and what the collector has not looked at
	st := longStore(t, 300_000)
	for _, f := range append([]*Format{Page(PageCalls)}, Formats...) {
		path := filepath.Join(t.TempDir(), "x")
		got := peak(func() {
			if _, err := f.WriteFile(t.Context(), st, path); err != nil {
				t.Error(err)
			}
		})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MB of memory for %d MB", f.Name, got>>20, info.Size()>>20)
		if got > bound {
			t.Errorf("%s takes %d MB of memory, want %d at most", f.Name, got>>20, bound>>20)
		}
	}
}

// BenchmarkFormats writes 1,000,000 events, or 10,000,000 with STROBE_BENCH_LARGE set, and tells the heap's peak.
func BenchmarkFormats(b *testing.B) {
	n := 1_000_000
	if os.Getenv("STROBE_BENCH_LARGE") != "" {
		n = 10_000_000
	}
	st := longStore(b, n)
	for _, f := range append([]*Format{Page(PageCalls)}, Formats...) {
		b.Run(f.Name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x")
			var most uint64
			for b.Loop() {
				most = max(most, peak(func() {
					if _, err := f.WriteFile(b.Context(), st, path); err != nil {
						b.Fatal(err)
					}
				}))
			}
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(most)/(1<<20), "MB-heap")
			b.ReportMetric(float64(info.Size())/(1<<20), "MB-file")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
		})
	}
}

// TestSoakTables: 10,000,000 events as tables, within 12 bytes and in bounded memory; DuckDB and pyarrow count the same.
func TestSoakTables(t *testing.T) {
	strobetest.Soak(t)
	const n = 10_000_000
	st := longStore(t, n)
	dir := filepath.Join(t.TempDir(), "x")
	began := time.Now()
	got := peak(func() {
		if _, err := tables.WriteFile(t.Context(), st, dir); err != nil {
			t.Error(err)
		}
	})
	info, err := os.Stat(filepath.Join(dir, "calls.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d MB of memory, %.1f bytes an event", time.Since(began), got>>20, float64(info.Size())/n)
	if got > 200<<20 || info.Size() > 12*n {
		t.Errorf("%d MB of memory, want 200 at most; %d bytes, want %d at most", got>>20, info.Size(), 12*n)
	}
	const counts = `
import sys, duckdb, pyarrow.parquet as pq
q = "SELECT function, count(*), sum(duration_ns) FROM read_parquet('" + sys.argv[1] + "') WHERE exit IS NOT NULL GROUP BY 1"
for f, n, total in sorted(duckdb.connect().execute(q).fetchall()): print(f, n, total)
print(pq.ParquetFile(sys.argv[1]).metadata.num_rows)
`
	cmd := exec.Command(strobetest.PythonWith(t, tableReaders...), "-c", counts, filepath.Join(dir, "calls.parquet"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range st.FuncStats() {
		if f.Exits > 0 {
			want = append(want, fmt.Sprintf("module::function%d %d %d\n", f.Func, f.Exits, f.TotalNs))
		}
	}
	lines := slices.Collect(strings.Lines(string(out)))
	slices.Sort(want)
	slices.Sort(lines[:len(lines)-1])
	if rows := lines[len(lines)-1]; rows != fmt.Sprintln(st.Calls().Recorded) {
		t.Errorf("%s rows, want %d", rows, st.Calls().Recorded)
	}
	if !slices.Equal(lines[:len(lines)-1], want) {
		t.Errorf("DuckDB counts %q, the store %q", lines, want)
	}
}
