package stuck

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

// stopped is a program in which nothing runs, with these goroutines besides the runtime's own.
func stopped(gs ...*goroutine.Goroutine) *goProgram {
	gs = append(gs, &goroutine.Goroutine{ID: 2, Status: goroutine.Waiting, Wait: "force gc (idle)", System: true})
	return &goProgram{pid: 1, dump: &goroutine.Dump{Goroutines: gs}, still: "1 2 3", now: time.Hour}
}

func goWaits(id uint64, wait string, stack ...goroutine.Frame) *goroutine.Goroutine {
	return &goroutine.Goroutine{ID: id, Status: goroutine.Waiting, Wait: wait, Stack: stack}
}

func frame(name string) goroutine.Frame {
	return goroutine.Frame{Function: name, File: "/p/shop.go", Line: 3}
}

// TestJudgeGo: only a program that nothing can wake is stuck.
func TestJudgeGo(t *testing.T) {
	with := func(change func(p *goProgram), gs ...*goroutine.Goroutine) *goProgram {
		p := stopped(append(gs, goWaits(1, "chan receive"))...)
		change(p)
		return p
	}
	call := &goroutine.Goroutine{ID: 5, Status: goroutine.Syscall, Thread: 77}
	row := func(kind string) collector.ThreadRow {
		return collector.ThreadRow{ThreadID: 77, PID: 1, WaitingFor: &waits.Wait{Kind: kind}}
	}
	timer := func(at time.Duration, name string) func(p *goProgram) {
		return func(p *goProgram) { p.dump.Timers = append(p.dump.Timers, goroutine.Timer{At: at, Function: name}) }
	}
	nothing := func(*goProgram) {}
	for name, tc := range map[string]struct {
		p     *goProgram
		rows  []collector.ThreadRow
		stuck bool
	}{
		"all wait for each other": {with(nothing, goWaits(7, "chan send"), goWaits(8, "sync.Mutex.Lock"),
			goWaits(9, "semacquire"), goWaits(10, "select (no cases)")), nil, true},
		"the time of go test itself": {with(timer(time.Hour+time.Second, "testing.(*M).startAlarm.func1")), nil,
			true},
		"a timer":                          {with(timer(time.Hour+time.Second, "time.sendTime")), nil, false},
		"a timer nobody knows the time of": {with(timer(0, "time.sendTime")), nil, false},
		"a timer after the end of the run": {with(timer(time.Hour+2*time.Minute, "runtime.goroutineReady")), nil, true},
		"a file":                           {with(nothing, goWaits(7, "IO wait")), nil, false},
		"a reason that is not known":       {with(nothing, goWaits(7, "something new")), nil, false},
		"a collection of garbage":          {with(nothing, goWaits(7, "GC assist wait")), nil, false},
		"one runs": {with(nothing, &goroutine.Goroutine{ID: 7, Status: goroutine.Running}), nil,
			false},
		"one may run": {with(nothing, &goroutine.Goroutine{ID: 7, Status: goroutine.Runnable}), nil,
			false},
		"one of the runtime runs": {with(nothing,
			&goroutine.Goroutine{ID: 7, Status: goroutine.Running, System: true}), nil, false},
		"one moved": {with(nothing,
			&goroutine.Goroutine{ID: 7, Status: goroutine.Waiting, Wait: "select", Moved: true}), nil, false},
		"not all are read":                    {with(func(p *goProgram) { p.dump.NotShown = 1 }), nil, false},
		"a thread ran":                        {with(func(p *goProgram) { p.still = "" }), nil, false},
		"a processor is busy":                 {with(func(p *goProgram) { p.dump.Busy = true }), nil, false},
		"a thread of C code":                  {with(func(p *goProgram) { p.foreign = map[int]bool{9: true} }), nil, false},
		"a system call":                       {with(nothing, call), []collector.ThreadRow{row("terminal")}, false},
		"a system call that nothing is known": {with(nothing, call), nil, false},
		"a lock of C code":                    {with(nothing, call), []collector.ThreadRow{row("mutex")}, false},
		"a child that is none of these": {with(func(p *goProgram) { p.foreign = map[int]bool{77: true} }, call),
			[]collector.ThreadRow{row("child")}, true},
		"the wait for signals": {with(nothing,
			&goroutine.Goroutine{ID: 7, Status: goroutine.Syscall, Stack: []goroutine.Frame{frame("os/signal.signal_recv")}}),
			nil, true},
		"it has no goroutines of its own": {&goProgram{pid: 1, dump: &goroutine.Dump{}, still: "1"}, nil, false},
	} {
		f := judgeGo([]*goProgram{tc.p}, &collector.ThreadReport{Threads: tc.rows}, []int{1}, time.Minute, "/p",
			func(*collector.ThreadRow, *waits.Wait, []int) bool { return false }, func([]int) bool { return false }, nil)
		if f.Stuck != tc.stuck || strings.HasPrefix(f.Diagnosis, "deadlock: ") != tc.stuck {
			t.Errorf("%s: stuck %v, %q", name, f.Stuck, f.Diagnosis)
		}
	}
}

// TestJudgeGoBeside: a program beside that is no Go program may wake one that is, unless it is stuck as well.
func TestJudgeGoBeside(t *testing.T) {
	for kind, want := range map[string]bool{"socket": false, "mutex": true} {
		rep := &collector.ThreadReport{Threads: []collector.ThreadRow{{ThreadID: 2, PID: 2,
			WaitingFor: &waits.Wait{Kind: kind}}, {ThreadID: 1, PID: 1, WaitingFor: &waits.Wait{Kind: "poll"}}}}
		f := judgeGo([]*goProgram{stopped(goWaits(1, "chan receive"))}, rep, []int{1, 2}, time.Minute, "/p", outside(),
			func(pids []int) bool { return len(pids) != 1 || pids[0] != 2 }, nil)
		if f.Stuck != want || !strings.Contains(f.Diagnosis, "beside it") {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

// TestSayGoroutines: the test's own first, alike ones together, and those of libraries only counted.
func TestSayGoroutines(t *testing.T) {
	test := goWaits(7, "chan send", frame("shop.(*Queue[...]).Push"), frame("shop.TestX"), frame("testing.tRunner"))
	test.Start, test.Channels = "testing.tRunner", []goroutine.Channel{{Len: 2, Cap: 2}}
	parent := goWaits(6, "chan receive", frame("testing.(*T).Run"), frame("shop.TestAll"))
	parent.Start = "testing.tRunner"
	gs := []*goroutine.Goroutine{goWaits(1, "chan receive", frame("testing.(*T).Run"),
		goroutine.Frame{Function: "main.main", File: "_testmain.go", Line: 40}),
		goWaits(3, "select", frame("net/http.(*Transport).loop")), parent, test}
	for id := range uint64(20) {
		g := goWaits(20+id, "sync.Mutex.Lock", frame("sync.(*Mutex).Lock"), frame("shop.work"))
		g.Creator = &goroutine.Frame{Function: "shop.TestX", File: "/p/x_test.go", Line: 9}
		gs = append(gs, g)
	}
	f := judgeGo([]*goProgram{stopped(gs...)}, &collector.ThreadReport{}, []int{1}, time.Minute, "/p", outside(),
		func([]int) bool { return false }, nil)
	want := "deadlock: goroutine 7 [chan send, 2 of 2 in its buffer] in shop.(*Queue).Push (shop.go:3), goroutine 20 " +
		"and 19 more [sync.Mutex.Lock] in shop.work (shop.go:3); no goroutine can go on"
	if f.Diagnosis != want {
		t.Errorf("%s, want %s", f.Diagnosis, want)
	}
	var names []string
	for _, l := range f.Threads {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, "|"); got != "goroutine 7 [chan send, 2 of 2 in its buffer]|goroutine 20 and 19 more "+
		"[sync.Mutex.Lock]|goroutine 6 [chan "+
		"receive]|and 2 more goroutines" {
		t.Errorf("%s", got)
	}
	if got := strings.Join(f.Threads[1].Stack, "|"); got != "shop.work (shop.go:3)|created by shop.TestX (x_test.go:9)" {
		t.Errorf("%s", got)
	}
	var many []*goroutine.Goroutine
	for id := range uint64(30) {
		g := goWaits(id+1, "chan receive", frame("shop.work"))
		g.Stack[0].Line = int(id)
		many = append(many, g)
	}
	f = judgeGo([]*goProgram{stopped(many...)}, &collector.ThreadReport{}, []int{1}, time.Minute, "/p", outside(),
		func([]int) bool { return false }, nil)
	if len(f.Threads) != MaxThreads || f.Threads[MaxThreads-1].Name != "and 21 more goroutines" {
		t.Errorf("%d lines, the last %+v", len(f.Threads), f.Threads[len(f.Threads)-1])
	}
}

// TestMeasureGo: what a toolchain at hand builds tells the structures of its version, and of no other.
func TestMeasureGo(t *testing.T) {
	strobetest.NeedCommand(t, "go")
	home := t.TempDir()
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(out))
	l, err := measureGo(t.Context(), home, version, exec.LookPath, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	again, err := measureGo(t.Context(), home, version, none, nil)
	if err != nil || *again != *l || l.GID == 0 || l.PTimers == 0 {
		t.Errorf("kept: %+v, %v; measured: %+v", again, err, l)
	}
	if _, err := measureGo(t.Context(), home, "go1.1", none, nil); err == nil ||
		!strings.Contains(err.Error(), "no toolchain") {
		t.Errorf("without a toolchain: %v", err)
	}
	if _, err := measureGo(t.Context(), home, "devel of another", exec.LookPath, os.Environ()); err == nil ||
		!strings.Contains(err.Error(), "the toolchain at hand is "+version) {
		t.Errorf("another version: %v", err)
	}
	var measuring sync.WaitGroup
	defer measuring.Wait()
	layouts := &Layouts{Home: home, Begin: func(measure func(context.Context)) {
		measuring.Go(func() { measure(t.Context()) })
	}}
	source := layouts.Source(exec.LookPath, os.Environ())
	strobetest.Eventually(t, time.Minute, "it to be measured", func() bool {
		have, err := source(version)
		if err != nil && !strings.Contains(err.Error(), "being measured") {
			t.Fatal(err)
		}
		return have != nil && *have == *l
	})
}
