//go:build linux && amd64

package goroutine

import (
	"debug/buildinfo"
	_ "embed"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func versionOf(t *testing.T, r io.ReaderAt) string {
	t.Helper()
	info, err := buildinfo.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return info.GoVersion
}

// torn is memory some words of which are not what they were.
type torn struct {
	Memory
	r    *rand.Rand
	rare int
}

func (m *torn) Read(addr uint64, b []byte) error {
	if err := m.Memory.Read(addr, b); err != nil {
		return err
	}
	for i := range b {
		if m.r.IntN(m.rare) == 0 {
			b[i] = byte(m.r.Uint32())
		}
	}
	return nil
}

// TestTornMemory: whatever is read, it costs an error or a stack, never a panic.
func TestTornMemory(t *testing.T) {
	strobetest.NeedPtrace(t)
	r := start(t, build(t, "", waitsProgram, "-ldflags=-s -w"), nil)
	good, bad := 0, 0
	for i := range 300 {
		p := *r.p
		p.mem = &torn{r.p.mem, rand.New(rand.NewPCG(1, uint64(i))), []int{20, 1000, 50000}[i%3]}
		if d, err := p.Read(); err != nil {
			bad++
		} else if len(d.Goroutines) > 0 {
			good++
		}
		if rests, err := p.Rests("time.Sleep", "runtime.Gosched"); err == nil {
			for _, r := range rests {
				p.Calls(r.PC, r.SP)
			}
		}
	}
	if bad == 0 {
		t.Errorf("%d reads, and no damage was seen", good)
	}
}

// TestTornHeap: neither does the search for leaks panic, whatever it reads, of the maps of stacks too, which are all
// understood where nothing is torn, but of those that panic.
func TestTornHeap(t *testing.T) {
	strobetest.NeedPtrace(t)
	r := start(t, build(t, "", waitsProgram), nil)
	d, err := r.p.Read()
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.p.heap()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range d.Goroutines {
		panics := slices.ContainsFunc(g.Stack, func(f Frame) bool { return f.Function == "panic" })
		if g.Status == Waiting && h.live(g) == panics {
			t.Errorf("the stack is not understood of %+v", g)
		}
	}
	for i := range 30 {
		p, table := *r.p, *r.p.table
		damage := rand.New(rand.NewPCG(2, uint64(i)))
		p.mem, p.table = &torn{r.p.mem, damage, []int{20, 1000, 50000}[i%3]}, &table
		table.gofunc = func(off uint32, b []byte) error {
			err := r.p.table.gofunc(off, b)
			for k := range b {
				if damage.IntN(10) == 0 {
					b[k] = byte(damage.Uint32())
				}
			}
			return err
		}
		if leaked, err := p.Leaked(d, nil); err == nil && len(leaked) > len(d.Goroutines) {
			t.Errorf("%d of %d are leaked", len(leaked), len(d.Goroutines))
		}
	}
}

//go:embed testdata/busy.go.txt
var busyProgram string

// TestBusy reads a program that does not stand still: what has a stack has its own, and what could not be read says so.
func TestBusy(t *testing.T) {
	strobetest.NeedPtrace(t)
	r := start(t, build(t, "", busyProgram, "-ldflags=-s -w"), nil)
	moved, whole := 0, 0
	for range 300 {
		d, err := r.p.Read()
		if err != nil {
			continue
		}
		for _, g := range d.Goroutines {
			switch {
			case g.Moved:
				if moved++; len(g.Stack) > 0 {
					t.Fatalf("it moved and has a stack: %+v", g)
				}
			case g.System || g.ID == 1 || g.Lack != "":
			case len(g.Stack) > 0:
				whole++
				top := g.Stack[len(g.Stack)-1].Function
				if !strings.HasPrefix(g.Start, "main.") || !strings.HasPrefix(top, "main.") {
					t.Fatalf("goroutine %d began in %s, and its stack ends in %s: %+v", g.ID, g.Start, top, g.Stack)
				}
			}
		}
	}
	if whole == 0 {
		t.Errorf("no whole stack in 300 dumps, %d moved", moved)
	}
}

// TestTimers: those that are due are seen with what they call, those that were stopped are not.
func TestTimers(t *testing.T) {
	strobetest.NeedPtrace(t)
	r := start(t, build(t, "", timersProgram, "-ldflags=-s -w"), nil)
	d, err := r.p.Read()
	if err != nil {
		t.Fatal(err)
	}
	sleeps := 0
	for _, g := range d.Goroutines {
		if g.Until > 0 {
			sleeps++
			if g.Wait != "sleep" {
				t.Errorf("%+v is said to sleep", g)
			}
		}
	}
	if sleeps != 1 {
		t.Errorf("%d goroutines sleep, want 1", sleeps)
	}
	count := map[string]int{}
	for _, tm := range d.Timers {
		if !tm.Runtime {
			count[tm.Function]++
		}
		if tm.At <= 0 {
			t.Errorf("%+v has no time", tm)
		}
	}
	for name, want := range map[string]int{"main.wake": 3, "main.stopped": 0, "time.sendTime": 2,
		"runtime.goroutineReady": 1} {
		if count[name] != want {
			t.Errorf("%s: %d timers, want %d: %+v", name, count[name], want, d.Timers)
		}
	}
}

//go:embed testdata/timers.go.txt
var timersProgram string
