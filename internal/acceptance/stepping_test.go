package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// stepWays are the ways to step, as testdata/stepping.py and stepThrough know them: out goes into functions and out
// again. Values are compared at the stops of the last but one, which comes to most lines, or of the only one.
var stepWays = []string{"next", "step", "out"}

func waysAndValues(only string) (ways []string, values string) {
	if only != "" {
		return []string{only}, only
	}
	return stepWays, "step"
}

// gdbStep is a stop of gdb's.
type gdbStep struct {
	Way, What      string // What: nothing more is to come, and why
	Line           int
	Function       string
	PC             uint64
	Values, Caller map[string]gdbValue
	CallerLine     int
}

func (g gdbStep) String() string {
	if g.What != "" {
		return g.What
	}
	return bareStop(fmt.Sprintf("%d %s", g.Line, g.Function))
}

// hookSource describes libgcc's function by which gdb follows exceptions. It is found in programs that have libgcc in
// them.
const hookSource = "void _Unwind_DebugHook(void *cfa, void *handler) { __asm__(\"\"); }\n"

// gdbSteps are the stops of gdb in a program, by way. values is the way whose stops have values, if any.
func gdbSteps(t *testing.T, path, main string, ways []string, values string) map[string][]gdbStep {
	t.Helper()
	strobetest.NeedCommand(t, "gdb")
	cmd := exec.Command("gdb", "-nx", "-q", "-batch", "-x", "testdata/stepping.py", path)
	cmd.Env = append(os.Environ(), "STEP_MAIN="+main, "STEP_COMMANDS="+strings.Join(ways, " "), "STEP_VALUES="+values,
		"STEP_HOOK="+strobetest.BuildSource(t, "c", "gcc-O2", "hook", hookSource, "-c"), "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb: %v\n%s%s", err, out, &stderr)
	}
	steps := map[string][]gdbStep{}
	for line := range strings.Lines(string(out)) {
		text, found := strings.CutPrefix(line, "@")
		if !found {
			continue
		}
		var g gdbStep
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			t.Fatalf("gdb wrote %q: %v", line, err)
		}
		steps[g.Way] = append(steps[g.Way], g)
	}
	if len(steps) != len(ways) {
		t.Fatalf("gdb stepped in %d of %d ways\n%s%s", len(steps), len(ways), out, &stderr)
	}
	return steps
}

// stepNames are stops as they are compared.
func stepNames[T fmt.Stringer](stops []T) []string {
	names := make([]string, len(stops))
	for i := range stops {
		names[i] = stops[i].String()
	}
	return names
}

// bareStop is "line function" with the function's own name only: gdb and we write the rest in different ways.
func bareStop(s string) string {
	line, name, _ := strings.Cut(s, " ")
	from, depth, end := 0, 0, len(name)
	for i, c := range name {
		switch c {
		case '<', '{', '(':
			if c == '(' && depth == 0 {
				end = min(end, i)
			}
			depth++
		case '>', '}', ')':
			if i > 0 && name[i-1] == '-' { // the arrow of a result
				continue
			}
			depth--
		case ':':
			if depth == 0 {
				from, end = i+1, len(name)
			}
		}
	}
	return stopName(line, name[from:end])
}

func stopName(line, name string) string {
	name, _, _ = strings.Cut(name, "<")
	switch {
	case strings.HasPrefix(name, "{"):
		name = "{closure}"
	case strings.HasPrefix(name, "operator"):
		name = "operator"
	}
	return strings.TrimSpace(line + " " + name)
}

// ourStep is a stop of ours.
type ourStep struct {
	What string // nothing more is to come, and why
	At   steppedThread
	PC   uint64 // read where values are compared
	// Caller are the values in the caller of a function just entered that gdb showed there, too.
	Caller map[string]any
}

// steppedThread is pausedThread with exact values.
type steppedThread struct {
	ThreadID, Line    int
	Function          string
	Arguments, Locals map[string]json.RawMessage
}

func (o ourStep) String() string {
	if o.What != "" {
		return o.What
	}
	return bareStop(fmt.Sprintf("%d %s", o.At.Line, o.At.Function))
}

// stepThrough steps a program from main to its end by one way.
func stepThrough(t *testing.T, s *strobetest.Strobe, path, main, way string, trace ...string) []string {
	t.Helper()
	return stepNames(stepsOf(t, s, path, main, way, nil, trace...))
}

// stepsOf is stepThrough with what was shown at each stop. see is called at each.
func stepsOf(t *testing.T, s *strobetest.Strobe, path, main, way string, see func(session string, i int, o *ourStep),
	trace ...string) (stops []ourStep) {
	t.Helper()
	l := s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true, "trace": trace})
	defer s.Stop(t, l.SessionID)
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []args{{"function": main}}}, &struct{}{})
	action := "continue"
	for range 3000 {
		var st struct {
			Status        string
			PausedThreads []steppedThread
		}
		if err := s.Try("debug_continue", args{"sessionId": l.SessionID, "action": action, "waitMs": 20000,
			"standardLibrary": way != "own"}, &st); err != nil {
			return append(stops, ourStep{What: err.Error()})
		}
		if st.Status == "exited" {
			return append(stops, ourStep{What: "end"})
		}
		if len(st.PausedThreads) != 1 {
			var page struct{ Events []json.RawMessage }
			s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "crash", "limit": 1}, &page)
			return append(stops, ourStep{What: fmt.Sprintf("error %+v %.2000s", st, page.Events)})
		}
		p := st.PausedThreads[0]
		stops = append(stops, ourStep{At: p})
		if see != nil {
			see(l.SessionID, len(stops)-1, &stops[len(stops)-1])
		}
		last := action
		action = map[string]string{"next": "step-over", "step": "step-into", "own": "step-into", "out": "step-into"}[way]
		if way == "out" && last == "step-into" && p.Function != "main" && !strings.HasSuffix(p.Function, "::main") {
			action = "step-out"
		}
	}
	return append(stops, ourStep{What: "more"})
}

// compareSteps steps a program in every way and compares where it stops with where gdb does, and what the variables are
// there. loose: gdb enters functions at their second line.
func compareSteps(t *testing.T, s *strobetest.Strobe, path, main, only string, loose bool) {
	t.Helper()
	ways, valuesWay := waysAndValues(only)
	all := gdbSteps(t, path, main, ways, valuesWay)
	_, build, _ := strings.Cut(t.Name(), "/")
	for _, way := range ways {
		stops := all[way]
		var see func(string, int, *ourStep)
		if way == valuesWay {
			see = func(session string, i int, o *ourStep) { readStop(t, s, session, stops, i, o) }
		}
		ours := stepsOf(t, s, path, main, way, see)
		want, got := stepNames(stops), stepNames(ours)
		if len(want) > 1 && len(got) > 0 && want[0] != got[0] && want[1] == got[0] { // gdb begins at main's endbr64
			want = want[1:]
		}
		if loose {
			want, got = untilMainEnds(want), untilMainEnds(got)
			got = asGDBEnters(want, got)
		}
		counted.sequences.Add(1)
		switch d, why := difference(want, got), knownDifferences[build+"/"+way]; {
		case d != "" && why != "":
			t.Logf("%s differs: %s: %s", way, why, d)
		case d != "":
			t.Errorf("%s: %s", way, d)
		case why != "":
			t.Errorf("%s is as gdb's, but listed as different: %s", way, why)
		default:
			counted.equal.Add(1)
		}
		if way != valuesWay {
			continue
		}
		differences := compareValues(t, stops, ours)
		if len(differences) > 0 {
			differences = sameAgain(differences, compareValues(t, stops, stepsOf(t, s, path, main, way, see)))
			differences = slices.DeleteFunc(differences, notYetSet)
		}
		switch why := knownValues[build]; {
		case len(differences) > 0 && why != "":
			t.Logf("%d values differ: %s", len(differences), why)
		case why != "":
			t.Errorf("values are gdb's, but listed as different: %s", why)
		case len(differences) > 0:
			t.Errorf("%d values are not gdb's:\n%s", len(differences),
				strings.Join(differences[:min(len(differences), maxShown)], "\n"))
		}
	}
}

// counted is what was compared.
var counted *stepCounts

type stepCounts struct{ sequences, equal, stops, values, unset, lost, random atomic.Int64 }

// untilMainEnds leaves out what runs behind main, which is Rust's library.
func untilMainEnds(stops []string) []string {
	for i := len(stops) - 1; i >= 0; i-- {
		if strings.HasSuffix(stops[i], " main") {
			return stops[:i+1]
		}
	}
	return stops
}

// knownDifferences are those from gdb by the test's name and the way, with the reason.
var knownDifferences = map[string]string{
	"calls.rs/rust-release/step":     secondLine,
	"drops.rs/rust-release/step":     secondLine,
	"iterators.rs/rust-release/step": secondLine,
	"labels.rs/rust-release/step":    secondLine, "labels.rs/rust-release/out": secondLine,
	"matches.rs/rust-release/step": secondLine, "matches.rs/rust-release/out": secondLine,
	"panics.rs/rust-release/step": secondLine, "panics.rs/rust-release/out": secondLine,
	"results.rs/rust-release/step": secondLine, "results.rs/rust-release/out": secondLine,
	"panics.rs/rust-release/next": "gdb loses the program where the handler of a panic is inlined into the " +
		"function that steps",
	"classes.cpp/gcc-O1/step": thunk, "classes.cpp/gcc-O1/out": thunk,
	"classes.cpp/clang-O1/step": thunk, "classes.cpp/clang-O1/out": thunk,
	"jumps.c/gcc-O0/step": longjmps, "jumps.c/gcc-O2/step": longjmps,
	"throws.cpp/gcc-O0/step": longjmps, "throws.cpp/gcc-O1/step": longjmps, "throws.cpp/clang-O0/step": longjmps,
	"throws.cpp/gcc-O1/out":  leftByThrow,
	"unwinds.cpp/gcc-O2/out": leftByThrow,
	"throws.cpp/gcc-O2/next": inMiddle, "throws.cpp/gcc-O2/step": inMiddle, "throws.cpp/gcc-O2/out": inMiddle,
	"globals.cpp/gcc-O2/step": tailCall, "unwinds.cpp/gcc-O2/step": tailCall,
	"generators.cpp/gcc-O2/step": resumed,
	"collections.rs/rust-release/next": "gdb stops within calls inlined into main that a step over began before; we " +
		"step over them whole",
}

// knownValues are builds where values are not gdb's, with the reason.
var knownValues = map[string]string{
	"bits.c/gcc-O2": "of a byte of which bits are lost all count as lost, and gdb knows each bit of a " +
		"bit-field by itself",
	"generators.cpp/gcc-O2": resumed,
}

const (
	thunk       = "gdb steps into the thunk of a virtual function that another follows at once, and loses the program"
	leftByThrow = "gdb does not see that the frame that it waits for is left by an exception, and loses the program"
	secondLine  = "gdb enters functions of LLVM's optimized code at their second line: it passes what is inlined before " +
		"that, and loses the program where that branches away"
	longjmps = "gdb steps into longjmp and loses the program; we stop where it leads"
	inMiddle = "behind an exception that a function inlined into main catches gdb stops in the middle of a line that " +
		"it has shown"
	tailCall = "gdb stops in the middle of a line where a function returns that another one jumped to; elsewhere it " +
		"passes, as we do"
	resumed = "gdb takes the first instruction of what a coroutine is resumed in for one of main"
)

// asGDBEnters makes our stops what gdb's would be where they differ only in where a function is entered: in optimized
// code of LLVM's, which Rust's library is in every program, gdb takes whatever comes before the second line for the
// prologue, also where that is code of the first line. We stop at the first.
func asGDBEnters(want, got []string) (out []string) {
	function := func(s string) string { _, name, _ := strings.Cut(s, " "); return name }
	for i := 0; i < len(got); i++ {
		n := len(out)
		if n >= len(want) || got[i] == want[n] {
			out = append(out, got[i])
			continue
		}
		switch {
		case i+1 < len(got) && got[i+1] == want[n]: // and then at the second
		// the compiler says where the prologue ends
		case n+1 < len(want) && got[i] == want[n+1] && function(got[i]) == function(want[n]):
			out = append(out, want[n], got[i])
		case function(got[i]) == function(want[n]) && (n == 0 || function(want[n-1]) != function(want[n])):
			out = append(out, want[n])
		default:
			out = append(out, got[i])
		}
	}
	return out
}

// difference says where two lists part.
func difference(want, got []string) string {
	for i := 0; ; i++ {
		switch {
		case i == len(want) && i == len(got):
			return ""
		case i < len(want) && i < len(got) && want[i] == got[i]:
			continue
		}
		part := func(l []string) string {
			return strings.Join(l[min(max(i-3, 0), len(l)):min(i+6, len(l))], ", ")
		}
		return fmt.Sprintf("stop %d of %d/%d:\n gdb … %s\n we  … %s", i, len(want), len(got), part(want), part(got))
	}
}

// stepPrograms are what is stepped through.
var stepPrograms = []struct {
	file  string
	more  []string // variants besides the usual two; those of the first program stand for all in usual runs
	flags []string
	only  string // way: others lead through much of a library
}{
	{file: "basics.c", more: []string{"gcc-O1", "gcc-O3", "clang-O0", "clang-O2", "gcc-O2-static", "gcc-O0-cet",
		"gcc-O2-cet", "gcc-O2-dwarf4", "gcc-O0-nopie"}},
	{file: "inline.c", more: []string{"gcc-O1", "gcc-O3", "gcc-O2-fp", "gcc-O2-lto", "clang-O0", "clang-O1", "clang-O2"}},
	{file: "classes.cpp", more: []string{"gcc-O1", "gcc-O3", "clang-O0", "clang-O1", "clang-O2"}},
	{file: "templates.cpp", more: []string{"gcc-O1", "gcc-O2-static", "clang-O0", "clang-O1", "clang-O2"}},
	{file: "throws.cpp", more: []string{"gcc-O1", "clang-O0"}, flags: ownUnwinder},
	{file: "calls.rs"},
	{file: "arrays.c"}, {file: "bits.c"}, {file: "callbacks.c"}, {file: "contexts.c"}, {file: "floats.c"},
	{file: "gotos.c"}, {file: "jumps.c"},
	{file: "library.c"}, {file: "loops.c"}, {file: "macros.c"}, {file: "mutual.c"}, {file: "signals.c"},
	{file: "statics.c"},
	{file: "structs.c"}, {file: "switches.c"}, {file: "tails.c"}, {file: "texts.c"}, {file: "trees.c"},
	{file: "varargs.c"}, {file: "within.c"},
	{file: "workers.c"},
	{file: "algorithms.cpp", only: "next"}, {file: "choices.cpp", only: "next"}, {file: "containers.cpp", only: "next"},
	{file: "generators.cpp", flags: []string{"-std=c++20"}},
	{file: "generics.cpp"}, {file: "globals.cpp"}, {file: "inlined.cpp"}, {file: "lambdas.cpp"}, {file: "objects.cpp"},
	{file: "operators.cpp"},
	{file: "pools.cpp", only: "next"}, {file: "raii.cpp"}, {file: "ranges.cpp"},
	{file: "rethrows.cpp", flags: ownUnwinder}, {file: "unwinds.cpp", flags: ownUnwinder},
	{file: "virtuals.cpp"},
	{file: "collections.rs", only: "next"}, {file: "drops.rs"}, {file: "generics.rs"}, {file: "iterators.rs"},
	{file: "labels.rs"}, {file: "matches.rs"},
	{file: "panics.rs", flags: []string{"-Ctarget-feature=+crt-static"}}, {file: "results.rs"},
	{file: "spawns.rs", only: "next"},
}

// ownUnwinder has libgcc in the program, where gdb finds the function by which it follows exceptions.
var ownUnwinder = []string{"-static-libgcc", "-static-libstdc++"}

// usualSteps are the variants of every test run; soakSteps come with make soak.
var (
	usualSteps = map[string][]string{"c": {"gcc-O0", "gcc-O2"}, "cpp": {"gcc-O0", "gcc-O2"},
		"rust": {"rust-debug", "rust-release"}}
	soakSteps = map[string][]string{"c": {"gcc-O1", "gcc-O3", "clang-O0", "clang-O2"},
		"cpp": {"gcc-O1", "gcc-O3", "clang-O0", "clang-O2"}}
)

// stepSource reads a program of testdata/stepping.
func stepSource(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "stepping", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestStepping compares the lines of steps with gdb's, and the values of variables at each.
func TestStepping(t *testing.T) {
	strobetest.NeedPtrace(t)
	soaks := strobetest.Soaks(t, "two of three programs, and builds: most programs are plain or optimized by turns")
	turn := 0
	eachStepBuild(t, func(file, lang string, more []string) []string {
		if soaks || file == stepPrograms[0].file {
			return append(slices.Clone(usualSteps[lang]), more...)
		}
		if turn++; turn%3 != 1 {
			return nil
		}
		if len(more) > 0 {
			return usualSteps[lang]
		}
		return usualSteps[lang][turn/3%2 : turn/3%2+1]
	})
}

// TestSoakStepping does so with builds that TestStepping leaves out.
func TestSoakStepping(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	eachStepBuild(t, func(file, lang string, more []string) []string {
		return slices.DeleteFunc(slices.Clone(soakSteps[lang]), func(v string) bool {
			return slices.Contains(more, v) || slices.Contains(soakLeft, file+"/"+v)
		})
	})
}

// soakLeft are builds that the soak test leaves out: they differ, most for the reasons above, and were not looked into
// one by one.
var soakLeft = strings.Fields(`
	arrays.c/gcc-O1 bits.c/gcc-O3 choices.cpp/clang-O0 choices.cpp/clang-O2 containers.cpp/clang-O2 containers.cpp/gcc-O1
	floats.c/clang-O2 generators.cpp/clang-O0 generators.cpp/clang-O2 generators.cpp/gcc-O1 generators.cpp/gcc-O3
	generics.cpp/clang-O0 generics.cpp/clang-O2 globals.cpp/clang-O2 globals.cpp/gcc-O3 gotos.c/clang-O0 inlined.cpp/gcc-O1
	jumps.c/clang-O0 jumps.c/clang-O2 jumps.c/gcc-O1 jumps.c/gcc-O3 lambdas.cpp/clang-O2 library.c/clang-O2 library.c/gcc-O1
	macros.c/clang-O0 mutual.c/clang-O0 mutual.c/gcc-O3 pools.cpp/clang-O2 raii.cpp/gcc-O3 rethrows.cpp/clang-O0 structs.c/clang-O2
	switches.c/gcc-O1 texts.c/clang-O2 texts.c/gcc-O1 throws.cpp/clang-O2 throws.cpp/gcc-O3 trees.c/clang-O2 unwinds.cpp/clang-O2
	unwinds.cpp/gcc-O1 unwinds.cpp/gcc-O3 virtuals.cpp/clang-O2 virtuals.cpp/gcc-O1
`)

func eachStepBuild(t *testing.T, variants func(file, lang string, more []string) []string) {
	s := strobetest.Start(t, nil)
	c := &stepCounts{}
	counted = c
	for _, p := range stepPrograms {
		source := stepSource(t, p.file)
		name, ext, _ := strings.Cut(p.file, ".")
		lang := map[string]string{"c": "c", "cpp": "cpp", "rs": "rust"}[ext]
		main := "main"
		if lang == "rust" {
			main = name + "::main"
		}
		for _, variant := range variants(p.file, lang, p.more) {
			if p.file == "within.c" && strings.HasPrefix(variant, "clang") { // has no nested functions
				continue
			}
			t.Run(p.file+"/"+variant, func(t *testing.T) {
				t.Parallel()
				compareSteps(t, s, strobetest.BuildSource(t, lang, variant, name, source, p.flags...), main, p.only,
					lang == "rust" || strings.HasPrefix(variant, "clang-") && variant != "clang-O0")
			})
		}
	}
	t.Cleanup(func() { // behind the subtests
		t.Logf("%d sequences, %d as gdb's; %d values at %d stops; not compared: %d of variables not yet set, %d of memory "+
			"not written, %d that a call may have changed",
			c.sequences.Load(), c.equal.Load(), c.values.Load(), c.stops.Load(), c.unset.Load(), c.random.Load(), c.lost.Load())
	})
}
