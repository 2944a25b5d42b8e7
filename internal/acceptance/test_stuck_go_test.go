package acceptance

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The tests that are run.
//
//go:embed testdata/stuck_test.go.txt
var stuckGoTests string

//go:embed testdata/old_test.go.txt
var oldGoTests string

// goProject is a new copy of the tests that stand still or are slow.
func goProject(t *testing.T) string {
	t.Helper()
	return project(t, map[string]string{"go.mod": "module shop\n\ngo 1.24\n", "shop_test.go": stuckGoTests})
}

// TestStuckGo runs Go tests that stand still for ever, each in its way: they are told as stuck while they run, and in
// which function what waits.
func TestStuckGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	diagnoses := map[string][]string{ // in the diagnosis; then of the traces
		"TestSend":        {"[chan send] in shop.(*Queue).Push (shop_test.go:21)", "shop.(*Queue).Push"},
		"TestReceive":     {"[chan receive] in shop.(*Queue).Pop (shop_test.go:23)", "shop.TestReceive"},
		"TestFull":        {"[chan send, 2 of 2 in its buffer] in shop.(*Queue).Push", "shop.TestFull"},
		"TestNil":         {"[chan receive (nil chan)] in shop.(*Queue).Pop", "shop.TestNil"},
		"TestEmptySelect": {"[select (no cases)] in shop.TestEmptySelect", "shop.TestEmptySelect"},
		"TestSelect":      {"[select] in shop.TestSelect", "shop.TestSelect"},
		"TestMutex":       {"[sync.Mutex.Lock] in shop.(*Queue).Twice (shop_test.go:27)", "shop.(*Queue).Twice"},
		// semacquire, or sync.WaitGroup.Wait since Go 1.25
		"TestGroup":        {"] in shop.TestGroup (shop_test.go:", "shop.TestGroup"},
		"TestCond":         {"[sync.Cond.Wait] in shop.TestCond", "shop.TestCond"},
		"TestRWMutex":      {"[sync.RWMutex.Lock] in shop.TestRWMutex", "shop.TestRWMutex"},
		"TestRLock":        {"[sync.RWMutex.RLock] in shop.TestRLock", "shop.TestRLock"},
		"TestABBA":         {"[sync.Mutex.Lock] in shop.transfer (shop_test.go:", "shop.TestABBA"},
		"TestCycle":        {"[chan receive] in shop.pass", "shop.TestCycle"},
		"TestParallel":     {"and 2 more [chan send] in shop.(*Queue).Push", "shop.TestParallel.func1"},
		"TestStoppedTimer": {"[chan receive, 0 of 1 in its buffer] in shop.TestStoppedTimer", "shop.TestStoppedTimer"},
		"TestLongSleep":    {"[sleep, 999h59m", "shop.TestLongSleep"},
		"TestChild":        {"[syscall: child] in shop.TestChild", "shop.TestChild"},
	}
	together(t, slices.Sorted(maps.Keys(diagnoses)), func(t *testing.T, name string) {
		want := diagnoses[name]
		st := seenStuck(t, s, args{"projectRoot": goProject(t), "args": []string{"-run=^" + name + "$", "-parallel=3"},
			"timeout": 120000})
		if !strings.HasPrefix(st.Diagnosis, "deadlock: goroutine ") || !strings.Contains(st.Diagnosis, want[0]) ||
			!strings.Contains(st.Diagnosis, "no goroutine can go on") || !strings.HasPrefix(st.Name, "shop::"+name) {
			t.Errorf("%+v, want %s", st, want[0])
		}
		if len(st.Threads) == 0 || len(st.Threads) > 10 || !slices.Equal(st.SuggestedTraces, []string{"@usercode"}) ||
			!slices.ContainsFunc(st.Threads[0].Stack, func(f string) bool {
				return strings.HasPrefix(f, want[1]+" (") || strings.HasPrefix(f, "created by "+want[1]+" (")
			}) {
			t.Errorf("%+v, want a stack with %s, and @usercode as what to trace", st, want[1])
		}
	})
}

// TestSlowGoIsNotStuck runs Go tests that take their time: none is ever called stuck.
func TestSlowGoIsNotStuck(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	together(t, []string{"Sleep", "Ticker", "Select", "Network", "Child", "ChildOutput", "Work", "Feeder", "Context",
		"Garbage", "Callback", "Parallel"}, func(t *testing.T, name string) {
		neverStuck(t, s, args{"projectRoot": goProject(t), "args": []string{"-run=^TestSlow" + name + "$"}})
	})
}

// TestGoAtItsTimeout: goroutines are in the result of a run that is ended for its time, in place of threads.
func TestGoAtItsTimeout(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	// before it is ended for that
	for name, want := range map[string]string{"TestSlowSleep": "time is up; goroutine ",
		"TestABBA": "deadlock: goroutine "} {
		r := runTests(t, s, args{"projectRoot": goProject(t), "args": []string{"-run=^" + name + "$", "-count=1000"},
			"timeout": 4000})
		if r.Status != "completed" || len(r.Result.Stuck) != 1 {
			t.Errorf("%s: %+v %+v", name, r, r.Result)
			continue
		}
		st := r.Result.Stuck[0]
		if !strings.Contains(st.Diagnosis, want) || len(st.Threads) == 0 ||
			!strings.HasPrefix(st.Threads[0].Name, "goroutine ") ||
			!strings.Contains(strings.Join(st.Threads[0].Stack, "\n"), "(shop_test.go:") {
			t.Errorf("%s: %+v, want %s", name, st, want)
		}
	}
}

// TestGoInC: a test that sleeps in C is slow, and one that waits for itself is stuck also where C code is linked.
func TestGoInC(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go", "gcc")
	s := strobetest.Start(t, nil)
	files := map[string]string{
		"go.mod": "module naps\n\ngo 1.24\n",
		"nap.go": "package naps\n\n// #include <unistd.h>\nimport \"C\"\n\nfunc nap() { C.sleep(4) }\n",
		"naps_test.go": "package naps\n\nimport \"testing\"\n\nfunc TestNap(t *testing.T) { nap() }\n\nfunc TestNever(t " +
			"*testing.T) { <-make(chan int) }\n",
	}
	cgo := map[string]string{"CGO_ENABLED": "1"}
	r := runTests(t, s, args{"projectRoot": project(t, files), "env": cgo, "args": []string{"-run=^TestNap$"},
		"timeout": 60000, "waitMs": 20000})
	if r.Status != "completed" || len(r.Result.Stuck) > 0 || r.Result.Summary.Passed != 1 {
		t.Errorf("a sleep in C: %+v %+v", r, r.Result)
	}
	r = runTests(t, s, args{"projectRoot": project(t, files), "env": cgo, "args": []string{"-run=^TestNever$"},
		"timeout": 120000})
	if r.Status != "completed" || len(r.Result.Stuck) != 1 ||
		!strings.HasPrefix(r.Result.Stuck[0].Diagnosis, "deadlock: goroutine ") {
		t.Errorf("a wait beside C: %+v %+v", r, r.Result)
	}
}

// TestGoBesideTicker: where another goroutine idles on a ticker nothing is certain, and the result of the time-out
// still names what the test waits for.
func TestGoBesideTicker(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	files := map[string]string{
		"go.mod": "module tick\n\ngo 1.24\n",
		"tick_test.go": `package tick

import (
	"sync"
	"testing"
	"time"
)

func TestTick(t *testing.T) {
	go func() {
		for range time.Tick(500 * time.Millisecond) {
		}
	}()
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}
`}
	r := runTests(t, s, args{"projectRoot": project(t, files), "timeout": 5000, "waitMs": 20000})
	if r.Status != "completed" || len(r.Result.Stuck) != 1 {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	if st := r.Result.Stuck[0]; !strings.HasPrefix(st.Diagnosis, "time is up; goroutine ") ||
		!strings.Contains(st.Diagnosis, "[sync.Mutex.Lock] in tick.TestTick (tick_test.go:16)") || len(st.Threads) < 2 {
		t.Errorf("%+v", st)
	}
}

// TestStuckGoVersions: what is stuck and what is slow is told apart with other versions of Go, too.
func TestStuckGoVersions(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.Soak(t)
	strobetest.NeedNetwork(t)
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	files := map[string]string{"go.mod": "module old\n\ngo 1.21\n", "old_test.go": oldGoTests}
	for _, version := range []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.5"} {
		env := map[string]string{"GOTOOLCHAIN": version}
		r := runTests(t, s, args{"projectRoot": project(t, files), "env": env, "args": []string{"-run=^TestSlow$"},
			"timeout": 60000, "waitMs": 20000})
		if r.Status != "completed" || len(r.Result.Stuck) > 0 || r.Result.Summary.Passed != 1 {
			t.Errorf("%s: slow: %+v %+v", version, r, r.Result)
		}
		r = runTests(t, s, args{"projectRoot": project(t, files), "env": env, "args": []string{"-run=^TestNever$"},
			"timeout": 8000, "waitMs": 20000})
		if r.Status != "completed" || len(r.Result.Stuck) != 1 ||
			!strings.Contains(r.Result.Stuck[0].Diagnosis, "[sync.Mutex.Lock] in old.TestNever (old_test.go:15)") ||
			!strings.HasPrefix(r.Result.Stuck[0].Diagnosis, "deadlock: ") {
			t.Errorf("%s: stuck: %+v %+v", version, r, r.Result)
		}
	}
}
