package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// corpus is one generated program: n functions of random signatures, each called once with random values.
type corpus struct {
	lang, variant string
	n             int
	flags         []string
	owned         bool // Rust with types that are moved
}

func (c corpus) name() string {
	return strings.Join(append([]string{c.lang, c.variant}, c.flags...), " ")
}

// exact says that every value must be there: at -O0 nothing is optimised out. Vectors of 32 bytes, which a program with
// flags of its own passes, are shown as if they were: the agent records 16 bytes of a vector register.
func (c corpus) exact() bool {
	return (strings.Contains(c.variant, "-O0") || c.variant == "rust-debug") && len(c.flags) == 0
}

// sparse says that the compiler may leave parameters out of the debug information: clang does, of unused classes that
// are passed by reference.
func (c corpus) sparse() bool {
	return !c.exact() || c.lang == "cpp" && strings.HasPrefix(c.variant, "clang")
}

var corpora = []corpus{
	{lang: "c", variant: "gcc-O0", n: 150}, {lang: "c", variant: "gcc-O2", n: 150},
	{lang: "c", variant: "clang-O0", n: 150}, {lang: "c", variant: "clang-O2", n: 150},
	{lang: "cpp", variant: "gcc-O0", n: 150}, {lang: "cpp", variant: "gcc-O2", n: 150},
	{lang: "cpp", variant: "clang-O0", n: 150}, {lang: "cpp", variant: "clang-O2", n: 150},
	{lang: "rust", variant: "rust-debug", n: 120}, {lang: "rust", variant: "rust-release", n: 120},
	{lang: "c", variant: "gcc-O1", n: 60}, {lang: "cpp", variant: "gcc-O3", n: 60},
	{lang: "c", variant: "clang-O1", n: 60}, {lang: "cpp", variant: "clang-O3", n: 60},
	{lang: "c", variant: "gcc-O2-cet", n: 60}, {lang: "cpp", variant: "gcc-O0-cet", n: 60},
	{lang: "cpp", variant: "clang-O2-cet", n: 60}, {lang: "c", variant: "gcc-O2-fp", n: 60},
	{lang: "cpp", variant: "gcc-O2-lto", n: 150}, {lang: "c", variant: "gcc-O2-lto", n: 150},
	{lang: "c", variant: "gcc-O2-nopie", n: 60}, {lang: "c", variant: "gcc-O2-dwarf4", n: 60},
	{lang: "c", variant: "gcc-O0", n: 60, flags: []string{"-mavx2"}},
	{lang: "cpp", variant: "clang-O2", n: 60, flags: []string{"-mavx2"}},
	{lang: "cpp", variant: "gcc-O2", n: 60, flags: []string{"-march=native"}},
	{lang: "rust", variant: "rust-debug", n: 120, owned: true},
	{lang: "rust", variant: "rust-release", n: 120, owned: true},
}

// TestValues compares every argument and result of generated functions, as debug_query shows them, with what the
// generated program passes: all right at -O0; with optimisation right or <optimized out>, never wrong.
func TestValues(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for i, c := range corpora {
		t.Run(fmt.Sprintf("%s/%d", c.name(), i), func(t *testing.T) {
			t.Parallel() // sessions side by side, as they are used
			checkValues(t, s, c, uint64(i))
		})
	}
}

// TestSoakValues does what TestValues does with other seeds, for the time that STROBE_SOAK says.
func TestSoakValues(t *testing.T) {
	limit := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	started := time.Now()
	seed := uint64(started.UnixNano()) >> 20 // new ones each time; a failure names its own
	for time.Since(started) < limit && !t.Failed() {
		for _, c := range corpora {
			seed++
			t.Run(fmt.Sprintf("%s/%d", c.name(), seed), func(t *testing.T) { checkValues(t, s, c, seed) })
		}
	}
}

// calledCase finds the case in a function's qualified name.
var calledCase = regexp.MustCompile(`(?:^|::)(f\d+)$`)

func checkValues(t *testing.T, s *strobetest.Strobe, c corpus, seed uint64) {
	source, cases := "", []sigcorpus.Case(nil)
	flags := slices.Clone(c.flags)
	switch c.lang {
	case "rust":
		if source, cases = sigcorpus.GenerateRust(seed, c.n); c.owned {
			source, cases = sigcorpus.GenerateRustOwned(seed, c.n)
		}
	case "cpp":
		source, cases = sigcorpus.Generate(seed, c.n, sigcorpus.Options{CPP: true, Live: true, Wide: len(c.flags) > 0})
		flags = append(flags, "-w", "-std=gnu++17")
	default:
		source, cases = sigcorpus.Generate(seed, c.n, sigcorpus.Options{Live: true, Wide: len(c.flags) > 0})
		flags = append(flags, "-w")
	}
	root, err := strobetest.CacheDir() // where the sources are
	if err != nil {
		t.Fatal(err)
	}
	path := strobetest.BuildSource(t, c.lang, c.variant, "signatures", source, flags...)
	l := s.Launch(t, path, root, nil, args{"trace": []string{"@usercode"}, "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Fatalf("ended as %+v", st)
	}
	seen := calls(t, s, l.SessionID, calledCase)
	var score score
	for i := range cases {
		score.judgeCall(t, c, &cases[i], seen[cases[i].Func])
	}
	t.Logf("%d functions hooked; %s", l.HookedFunctions, score)
	least := c.n * 3 / 4
	if strings.HasSuffix(c.variant, "-lto") { // which sees that most of the program has no effect
		least = c.n / 10
	}
	if score.right < score.functions || score.functions < least {
		t.Errorf("only %d of %d functions called, and %d values right", score.functions, c.n, score.right)
	}
}

// shown is one call as debug_query shows it.
type shown struct {
	args          map[string]json.RawMessage
	ret           json.RawMessage
	enters, exits int
}

// calls reads the calls of all cases, whose functions have names of a form with the case in it.
func calls(t *testing.T, s *strobetest.Strobe, id string, form *regexp.Regexp) map[string]*shown {
	t.Helper()
	seen := map[string]*shown{}
	for after := int64(0); ; {
		p := s.Query(t, id, args{"eventType": []string{"function_enter", "function_exit"}, "verbose": true, "limit": 500,
			"afterEventId": after})
		for _, e := range p.Events {
			m := form.FindStringSubmatch(e.Function)
			if m == nil {
				continue
			}
			c := seen[m[1]]
			if c == nil {
				c = &shown{}
				seen[m[1]] = c
			}
			if e.EventType == "function_exit" {
				c.exits++
				c.ret = e.Return
				continue
			}
			c.enters++
			if err := json.Unmarshal(e.Arguments, &c.args); err != nil {
				t.Fatalf("arguments of %s: %v: %s", e.Function, err, e.Arguments)
			}
		}
		if !p.HasMore || len(p.Events) == 0 {
			return seen
		}
		after = p.LastEventID
	}
}

// score counts what a corpus showed.
type score struct{ functions, uncalled, merged, right, partial, missing, absent, wrong int }

func (sc score) String() string {
	return fmt.Sprintf(
		"%d called, %d never, %d merged: values right %d, partly %d, optimized out %d, not described %d, wrong %d",
		sc.functions, sc.uncalled, sc.merged, sc.right, sc.partial, sc.missing, sc.absent, sc.wrong)
}

func (sc *score) judgeCall(t *testing.T, c corpus, want *sigcorpus.Case, got *shown) {
	if got == nil {
		if sc.uncalled++; c.exact() {
			t.Errorf("%s: was not seen", want.Signature)
		}
		return
	}
	if got.enters > 1 && !c.exact() && sc.merged < 5 {
		sc.merged++ // functions of equal code are one, with one name
		return
	}
	sc.functions++
	if got.enters != 1 || got.exits != 1 {
		t.Errorf("%s: %d enters and %d exits, want one", want.Signature, got.enters, got.exits)
	}
	known := map[string]bool{}
	strict := c.exact()
	for _, a := range want.Args {
		known[a.Name] = true
		if _, ok := got.args[a.Name]; ok {
			continue
		}
		strict = false // where the others are cannot be told for certain then
		if sc.absent++; !c.sparse() {
			t.Errorf("%s: no argument %s", want.Signature, a.Name)
		}
	}
	for _, a := range want.Args {
		if v, ok := got.args[a.Name]; ok {
			sc.judge(t, strict, want, a.Name, string(v), a.JSON)
		}
	}
	for name := range got.args {
		if !known[name] {
			t.Errorf("%s: shows an argument %s = %s", want.Signature, name, got.args[name])
		}
	}
	switch {
	case want.Ret == "" && got.ret != nil:
		t.Errorf("%s: returned %s, want nothing", want.Signature, got.ret)
	case want.Ret != "" && got.ret == nil:
		t.Errorf("%s: returned nothing, want %s", want.Signature, want.Ret)
	case want.Ret != "":
		sc.judge(t, c.exact(), want, "result", string(got.ret), want.Ret)
	}
}

const optimizedOut = `"<optimized out>"`

// judge compares one value.
func (sc *score) judge(t *testing.T, strict bool, of *sigcorpus.Case, what, got, want string) {
	switch {
	case got == want:
		sc.right++
	case !strict && got == optimizedOut:
		sc.missing++
	case !strict && strings.Contains(got, optimizedOut) && partly(got, want):
		sc.partial++
	default:
		if sc.wrong++; sc.wrong <= 10 {
			t.Errorf("%s\n  %s = %.600s\n  want %.600s", of.Signature, what, got, want)
		}
	}
}

// partly reports whether got is want but for parts that are optimized out.
func partly(got, want string) bool {
	var g, w any
	if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		return false
	}
	return within(g, w)
}

func within(g, w any) bool {
	switch g := g.(type) {
	case map[string]any:
		w, ok := w.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range g {
			if !within(g[k], w[k]) {
				return false
			}
		}
		return true
	case []any:
		w, ok := w.([]any)
		return ok && len(g) == len(w) && allWithin(g, w)
	}
	return g == "<optimized out>" || g == w
}

func allWithin(g, w []any) bool {
	for i := range g {
		if !within(g[i], w[i]) {
			return false
		}
	}
	return true
}
