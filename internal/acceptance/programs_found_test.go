package acceptance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// foundRows are programs in which faults were found, kept as they were (testdata/found), and what their trees must say
// now: lines of the tree, as expressions, in this order. The faults' classes have tests of their own.
var foundRows = []struct {
	file     string
	variants []string
	flags    []string
	args     []string
	crashes  bool
	want     []string
	never    string
}{
	{file: "register_params.c", variants: []string{"gcc-O0", "clang-O0"}, want: []string{
		`fmt\(ctx=null, b="before", x=1.5\) → "1.5"`, `fmt\(ctx=null, b="again", x=2.5\) → "2.5"`}},
	{file: "register_params.c", variants: []string{"gcc-O0"}, want: []string{`add\(a=7, b=8\) → 15`}},
	{file: "by_value.c", variants: []string{"gcc-O0", "gcc-O2", "clang-O0"}, want: []string{
		`f\(x=1, dst="dst", src="src", lvl=3, cp={a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, s: -7}\) → 28`,
		`h\(x=1, dst="dst", src="src", lvl=3, cp={a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, s: -7}\) → 10`}},
	{file: "by_value.c", variants: []string{"gcc-O0", "clang-O0"}, want: []string{
		`g\(r={p: 0x[0-9a-f]+, n: \[0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0\], name: "src"}, dst="dst", src="src", k=-7\) → 28`}},
	{file: "small_struct_result.cpp", variants: []string{"gcc-O0", "gcc-O2"}, want: []string{
		`h1\(v={id: 1, next: null}\) → {id: 1, next: null}`, `h2\(v={x: 4, y: 0.25}\) → {x: 4, y: 0.25}`,
		`h3\(v={x: 4, y: 0.25}\) → {x: 4, y: 0.25}`, `h4\(v={x: 4, y: 0.25}\) → {x: 4, y: 0.25}`,
		`h5\(v={x: 4, y: 0.25}\) → {x: 3, y: 0.25}`, `h6\(v={x: 4, y: 0.25}\) → 4`}},
	{file: "recursive.cpp", variants: []string{"gcc-O0", "gcc-O2", "clang-O0"}, flags: []string{"-std=c++17"},
		want: []string{
			`names\(t={n: 1, kids: {a: {n: 2, kids: {}}}}\) → 1`, `line\(t={n: 1, kids: \[{n: 2, kids: \[\]}\]}\) → 1`,
			`json\(t={v: \[{v: 1}, {v: 2}\]}\) → 1`,
			`tree\(t={n: 1, kids: \[{n: 2, kids: \[\]}, {n: 3, kids: \[\]}\]}, p=0x[0-9a-f]+\) → 2`}},
	{file: "recursive.cpp", variants: []string{"gcc-O0", "gcc-O2", "clang-O0"}, flags: []string{"-std=c++17"},
		args:    []string{"x"},
		crashes: true, want: []string{`tree\(t={n: 1, kids: \[{n: 2, kids: \[\]}, {n: 3, kids: \[\]}\]}, p=null\)`}},
	{file: "recursive.rs", variants: []string{"rust-debug", "rust-release"}, want: []string{
		`leafy\(e={Node: \[{Leaf: 1}\]}\) → 1`,
		`value\(v={List: \[Null, {Text: "a"}, {Map: {k: Null}}, {Hash: {}}, {Slice: \[Null\]}\]}\) → 5`}},
	{file: "recursive.rs", variants: []string{"rust-debug"},
		want: []string{`tree\(t={n: 1, kids: \[{n: 2, kids: \[\]}\]}\) → 2`}},
	{file: "release_results.rs", variants: []string{"rust-debug", "rust-release"}, want: []string{
		`pass_str\(v="boxed"\) → "boxed"`, `touch_str\(v="boxed"\) → "boxed"`,
		`pass_node\(v={next: {next: null, id: 2}, id: 1}\) → {next: {next: null, id: 2}, id: 1}`,
		`trim\(v="hello!"\) → "hello"`,
		`set\(.*id=77\) → {next: {next: null, id: 2}, id: 77}`, `pair\(v=\[3, 9\]\) → \[3, 9\]`,
		`shape\(v=.*{k: 5}.*\) → .*{k: 5}`}},
	{file: "async_results.rs", variants: []string{"rust-debug"}, want: []string{
		`one::{{closure}}\(.*→ Pending`, `one::{{closure}}\(.*→ {Ready: "v1"}`, `two::{{closure}}\(.*→ {Ready: \[2\]}`,
		`three::{{closure}}\(.*→ {Ready: {Ok: "k"}}`, `four::{{closure}}\(.*→ {Ready: 4}`}},
	{file: "no_tsc.c", variants: []string{"gcc-O0", "gcc-O2"},
		want: []string{`work\(n=0\) → 0`, `work\(n=1\) → 3`, `×8 more .*n=2..9, results 6..27`}},
	{file: "fold.c", variants: []string{"gcc-O0"}, want: []string{
		`price\(id=37, qty=3\) → -1`, `order\(id=37\)`, ` price\(id=37, qty=2\) → -1`}, never: `×59`},
}

// found builds a program of testdata/found.
func found(t *testing.T, file, variant string, flags ...string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "found", file))
	if err != nil {
		t.Fatal(err)
	}
	lang := map[string]string{".c": "c", ".cpp": "cpp", ".rs": "rust"}[filepath.Ext(file)]
	return strobetest.BuildSource(t, lang, variant, strings.TrimSuffix(file, filepath.Ext(file)), string(source), flags...)
}

// TestFoundPrograms traces them with what a user would type first: output and end are those of the untraced program,
// and the tree shows what it has.
func TestFoundPrograms(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	address := regexp.MustCompile(`0x[0-9a-f]+`)
	for _, r := range foundRows {
		for _, variant := range r.variants {
			t.Run(strings.Join(append([]string{r.file, variant}, r.args...), "/"), func(t *testing.T) {
				path := found(t, r.file, variant, r.flags...)
				plain := exec.Command(path, r.args...)
				out, err := plain.Output()
				if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				l := s.Launch(t, path, filepath.Dir(filepath.Dir(path)), r.args, args{"trace": []any{"@usercode"}})
				defer s.Stop(t, l.SessionID)
				end := s.WaitEnd(t, l.SessionID, endLimit)
				if r.crashes != (end.Status == "crashed") || !r.crashes &&
					(end.ExitCode == nil || *end.ExitCode != plain.ProcessState.ExitCode()) {
					t.Errorf("it ended as %+v, untraced as %v", end, plain.ProcessState)
				}
				if got := s.Output(t, l.SessionID, "stdout"); address.ReplaceAllString(got,
					"") != address.ReplaceAllString(string(out), "") {
					t.Errorf("output %q, untraced %q", got, out)
				}
				tree := s.Query(t, l.SessionID, args{"view": "tree", "limit": 500}).Tree
				rest := tree
				for _, w := range r.want {
					at := regexp.MustCompile(w).FindStringIndex(rest)
					if at == nil {
						t.Fatalf("no %s in its place of\n%s", w, tree)
					}
					rest = rest[at[1]:]
				}
				if r.never != "" && strings.Contains(tree, r.never) {
					t.Errorf("%s in\n%s", r.never, tree)
				}
			})
		}
	}
}

// TestFoundDeaths has the program that dies while traces and points change die at many moments: every call answers.
func TestFoundDeaths(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := found(t, "dies_while_changed.c", "gcc-O1", "-pthread", "-w")
	rng := rand.New(rand.NewPCG(11, 0))
	for n := range 12 {
		argv := []string{fmt.Sprint(rng.IntN(300_000))}
		if n%2 == 1 {
			argv = append(argv, "x")
		}
		l := s.Launch(t, path, filepath.Dir(path), argv, nil)
		for range 200 {
			for _, call := range []args{{"add": []any{"w0", "w1"}}, {"remove": []any{"w0"}}} {
				call["sessionId"] = l.SessionID
				s.Try("debug_trace", call, nil) //nolint:errcheck // it may have died: what counts is that it answers
			}
			s.Try("debug_breakpoint", args{"sessionId": l.SessionID, "add": []any{args{"function": "w1", "condition": "n == 5"}}}, nil) //nolint:errcheck // as above
			if s.Status(t, l.SessionID).Status != "running" {
				break
			}
		}
		end := s.WaitEnd(t, l.SessionID, endLimit)
		if want := map[bool]string{true: "SIGSEGV", false: "SIGKILL"}[n%2 == 1]; end.Signal != want {
			t.Errorf("%v: it ended as %+v, want %s", argv, end, want)
		}
		s.Stop(t, l.SessionID)
	}
}

// TestFoundSignals: a traced function with a condition decided in the target, in a program with signal handlers; the
// same under all kinds of changes, births, forks and loaded libraries.
func TestFoundSignals(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	first, second := "1", "2" // seconds
	if strobetest.Soaks(t, "two of three seconds") {
		first, second = "3", "6"
	}
	path := found(t, "signals_point.c", "gcc-O1", "-pthread", "-w")
	l := s.Launch(t, path, filepath.Dir(path), []string{first, "x"}, args{"trace": []any{"w3"}})
	d := &debugged{t, s, l.SessionID}
	if r := d.points(args{"add": []any{args{"function": "w3", "condition": "n == 12345"}}}); !r.Breakpoints[0].InTarget {
		t.Errorf("%+v", r.Breakpoints[0])
	}
	end := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); end.ExitCode == nil || *end.ExitCode != 5 || out != "bad 0\n" {
		t.Errorf("%q, it ended as %+v", out, end)
	}
	s.Stop(t, l.SessionID)

	dir := t.TempDir()
	if out, err := exec.Command("gcc", "-g", "-O1", "-shared", "-fPIC", "testdata/found/libq.c", "-o",
		filepath.Join(dir, "libq.so")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path = found(t, "soak.c", "gcc-O1", "-pthread", "-w", "-ldl")
	l = s.Launch(t, path, filepath.Dir(path), []string{second}, args{"trace": []any{"w*", "qwork"}, "cwd": dir})
	d = &debugged{t, s, l.SessionID}
	rng := rand.New(rand.NewPCG(12, 0))
	names := []string{"w0", "w1", "w2", "w3", "w4", "qwork"}
	for s.Status(t, l.SessionID).Status == "running" {
		name := names[rng.IntN(len(names))]
		call := args{"sessionId": l.SessionID, []string{"add", "remove"}[rng.IntN(2)]: []any{name}}
		s.Try("debug_trace", call, nil)                                                                                                     //nolint:errcheck // it may have ended
		s.Try("debug_breakpoint", args{"sessionId": l.SessionID, "add": []any{args{"function": name, "condition": "n == 987654321"}}}, nil) //nolint:errcheck // w4 and qwork may have no n
		if rng.IntN(4) == 0 {
			s.Try("debug_breakpoint", args{"sessionId": l.SessionID, "remove": []any{"all"}}, nil) //nolint:errcheck // it may have ended
		}
	}
	end = s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); end.ExitCode == nil || *end.ExitCode != 5 ||
		!strings.HasPrefix(out, "bad 0 ") || !strings.HasSuffix(out, "sig 1\n") {
		t.Errorf("%q, it ended as %+v", out, end)
	}
	s.Stop(t, l.SessionID)
}

// TestFoundInterrupts asks the program with handlers of SIGINT and SIGTERM to end, in every way: its handlers run, and
// its own code is the end that is told.
func TestFoundInterrupts(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := found(t, "sig.c", "gcc-O1")
	for _, sig := range []string{"", "SIGINT", "SIGTERM"} {
		l := s.Launch(t, path, filepath.Dir(path), nil, args{"trace": []any{"@usercode"}})
		strobetest.Eventually(t, endLimit, "ready", func() bool { return s.Output(t, l.SessionID, "stdout") == "ready\n" })
		stop := args{"action": "stop", "sessionId": l.SessionID, "retain": true}
		if sig != "" {
			stop["signal"] = sig
		}
		var answer struct {
			Asked  string `json:"asked"`
			Killed bool   `json:"killed"`
		}
		s.Call(t, "debug_session", stop, &answer)
		end := s.Status(t, l.SessionID)
		if out := s.Output(t, l.SessionID, "stdout"); out != "ready\ncleanup\n" || end.ExitCode == nil ||
			*end.ExitCode != 42 || answer.Killed || answer.Asked == "" {
			t.Errorf("%s: %q, answered %+v, ended as %+v", sig, out, answer, end)
		}
	}
	code, out := strobe(t, s.Home, "", "run", "--timeout", "2s", "--trace", "@usercode", path)
	if code != 42 || !strings.Contains(out, "cleanup") {
		t.Errorf("strobe run --timeout: exit %d\n%s", code, out)
	}
}

// TestFoundFilesAreAllTested: what lies in testdata/found is run by a test.
func TestFoundFilesAreAllTested(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	tested := []string{"dies_while_changed.c", "signals_point.c", "soak.c", "libq.c", "sig.c"}
	for _, r := range foundRows {
		tested = append(tested, r.file)
	}
	for _, f := range files {
		if !slices.Contains(tested, filepath.Base(f)) {
			t.Errorf("%s is run by no test", f)
		}
	}
}
