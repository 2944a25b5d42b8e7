package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/typecorpus"
)

// typeGraph is one generated program of n types that lead to each other and back to themselves.
type typeGraph struct {
	lang, variant string
	n, depth      int
	flags         []string
}

func (g typeGraph) libcxx() bool { return slices.Contains(g.flags, "-stdlib=libc++") }

var typeGraphs = []typeGraph{
	{"cpp", "gcc-O0", 1, 3, nil}, {"cpp", "gcc-O0", 25, 3, nil}, {"cpp", "clang-O0", 12, 2, nil},
	{"cpp", "clang-O0", 24, 4, []string{"-stdlib=libc++"}}, {"rust", "rust-debug", 2, 3, nil},
	{"rust", "rust-debug", 60, 4, nil},
}

// TestTypeGraphs compares arguments and results of types that contain themselves with what the program says of them,
// and the same values where it crashes, where it is paused, in memory and in watches.
func TestTypeGraphs(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for i, g := range typeGraphs {
		t.Run(fmt.Sprintf("%s/%s/%d types %s", g.lang, g.variant, g.n, strings.Join(g.flags, " ")), func(t *testing.T) {
			t.Parallel()
			checkTypeGraph(t, s, g, uint64(i))
		})
	}
}

// TestSoakTypeGraphs does so with other seeds and up to 200 types, for the time that STROBE_SOAK says.
func TestSoakTypeGraphs(t *testing.T) {
	limit := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	started := time.Now()
	seed := uint64(started.UnixNano()) >> 20
	for time.Since(started) < limit && !t.Failed() {
		for _, g := range typeGraphs {
			seed++
			g.n, g.depth = []int{1, 2, 3, 5, 10, 50, 100, 200}[seed%8], 1+int(seed/3%6)
			if seed%4 == 0 {
				g.variant = strings.NewReplacer("-O0", "-O2", "debug", "release").Replace(g.variant)
			}
			t.Run(fmt.Sprintf("%s/%s/%d types %v/%d", g.lang, g.variant, g.n, g.flags, seed),
				func(t *testing.T) { checkTypeGraph(t, s, g, seed) })
		}
	}
}

const graphCases = 20

func checkTypeGraph(t *testing.T, s *strobetest.Strobe, g typeGraph, seed uint64) {
	cases := min(g.n, graphCases)
	prefix, source, flags := "**::", typecorpus.GenerateRust(seed, g.n, cases), g.flags
	if g.lang == "cpp" {
		prefix, source, flags = "", typecorpus.GenerateCPP(seed, g.n, cases),
			append([]string{"-std=gnu++17", "-w"}, g.flags...)
	}
	if found, _ := filepath.Glob("/usr/lib/llvm-*/include/c++/v1/vector"); g.libcxx() && len(found) == 0 {
		strobetest.Lack(t, "libc++-dev is not installed")
	}
	path := strobetest.BuildSource(t, g.lang, g.variant, "graph", source, flags...)
	file, run := filepath.Join(t.TempDir(), "want"), []string{fmt.Sprint(g.depth), "3"}
	if g.lang == "cpp" {
		run = append(run, file, fmt.Sprint(cases-1))
	}
	exact := strings.HasSuffix(g.variant, "-O0") || g.variant == "rust-debug"
	launch := args{"trace": []string{prefix + "take_*", prefix + "pass_*", prefix + "make_*"},
		"serializationDepth": g.depth, "onFullBuffer": "block"}
	l := s.Launch(t, path, filepath.Dir(path), run, launch)
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.DroppedEvents != 0 || g.lang == "cpp" && st.Signal != "SIGSEGV" || g.lang == "rust" &&
		(st.ExitCode == nil || *st.ExitCode != 0) {
		t.Fatalf("ended as %+v", st)
	}
	if g.lang == "rust" {
		if err := os.WriteFile(file, []byte(s.Output(t, l.SessionID, "stdout")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := expectations(t, file)
	var sc typeScore
	seen := graphCalls(t, s, l.SessionID)
	last := fmt.Sprintf("take_%d", cases-1)
	for _, w := range want {
		w.call = 0
		switch w.Arg {
		case "v", "return":
			if g.lang == "cpp" && w.Case == fmt.Sprintf("pass_%d", cases-1) {
				break // it crashed before
			}
			sc.judge(t, w, seen, exact)
		case "crash":
			if w.Case == last && exact {
				checkGraphCrash(t, s, l.SessionID, w)
			}
		}
	}
	t.Logf("%d hooked: %d right, %d optimized out, %d not described, %d wrong", l.HookedFunctions, sc.right, sc.missing,
		sc.absent, sc.wrong)
	if sc.right < cases || sc.right < sc.missing {
		t.Errorf("only %d values right, %d optimized out", sc.right, sc.missing)
	}
	if g.lang == "cpp" && exact {
		checkGraphPaused(t, s, g, path, cases, want)
	}
}

// graphCalls is allCalls for functions with or without a crate's name.
func graphCalls(t *testing.T, s *strobetest.Strobe, id string) map[string][]map[string]json.RawMessage {
	seen := map[string][]map[string]json.RawMessage{}
	for name, calls := range allCallsOf(t, s, id,
		func(name string) string { return name[strings.LastIndex(name, ":")+1:] }) {
		seen[name] = calls
	}
	return seen
}

func checkGraphCrash(t *testing.T, s *strobetest.Strobe, id string, w *expectation) {
	crashes := crashesOf(t, s, id)
	if len(crashes) != 1 {
		t.Errorf("%d crashes told, want 1", len(crashes))
		return
	}
	if got := string(crashes[0].Locals["v"]); !w.holds(got) {
		t.Errorf("the crash's v: %.500s\nwant %.500s", got, w.Want)
	}
}

// checkGraphPaused looks at the same values at a breakpoint, in memory, and by a watch.
func checkGraphPaused(t *testing.T, s *strobetest.Strobe, g typeGraph, path string, cases int, want []*expectation) {
	last := fmt.Sprintf("take_%d", cases-1)
	d := &debugged{t, s, s.Launch(t, path, filepath.Dir(path), []string{fmt.Sprint(g.depth), "3", "/dev/null"},
		args{"stopOnEntry": true}).SessionID}
	defer s.Stop(t, d.id)
	d.points(args{"add": []args{{"function": last}}})
	s.Call(t, "debug_trace", args{"sessionId": d.id, "add": []string{last}, "serializationDepth": 3,
		"watches": args{"add": []args{{"variable": "g_0"}}}}, nil)
	d.next(args{"action": "continue"})
	paused := d.paused(1)
	seen := map[string]json.RawMessage{}
	var err error
	if seen[last], err = json.Marshal(paused[0].Arguments["v"]); err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		var r struct{ Results []memoryValue }
		name := fmt.Sprintf("g_%d", i)
		s.Call(t, "debug_memory", args{"sessionId": d.id, "action": "read", "depth": 3,
			"targets": []args{{"variable": name}}}, &r)
		if seen[name] = r.Results[0].Fields; seen[name] == nil {
			t.Errorf("%s: %+v", name, r.Results[0])
		}
	}
	page := s.Query(t, d.id, args{"eventType": "function_enter", "verbose": true})
	var watched map[string]json.RawMessage
	if len(page.Events) != 1 || json.Unmarshal(page.Events[0].Watches, &watched) != nil {
		t.Errorf("watches of %+v", page.Events)
	}
	for _, w := range want {
		switch {
		case w.Arg == "global" && !w.sameContents(seen[w.Case]):
			t.Errorf("memory of %s: %.500s\nwant %.500s", w.Case, seen[w.Case], w.Want)
		case w.Arg == "crash" && w.Case == last && !w.sameContents(seen[last]):
			t.Errorf("paused, v: %.500s\nwant %.500s", seen[last], w.Want)
		}
		if w.Case == "g_0" && !w.sameContents(watched["g_0"]) {
			t.Errorf("watch of g_0: %.500s\nwant %.500s", watched["g_0"], w.Want)
		}
	}
}

func (want *expectation) sameContents(got json.RawMessage) bool {
	return sameValue(decoded(want.Want), decoded(got))
}
