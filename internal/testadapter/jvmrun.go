package testadapter

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// jvmRun is an execution of Maven or Gradle, whose JVMs of tests tell what happens by our listener (jvmlistener) or an
// init script. The build's own output tells of compilers and of JVMs that died.
//
// An ID is class#method, with the types of its parameters and the number of the case: shop.CartTest#price(int)[2]. In a
// module below the root its folder and "::" stand before it.
type jvmRun struct {
	*scripted
	sources  *jvmSources
	choice   *jvmChoice // nil: all
	tool     string
	splitter [2]lineSplitter
	compile  []Failure
	broken   bool     // the build says that something does not compile: tests may print what looks like a compiler's words
	errors   []string // the first lines with errors
	totals   Totals
	counted  bool
	skips    int            // tests that were skipped
	offs     int            // those of them whose class was: versions of Surefire count each, or the class, or neither
	died     int            // the exit code of a JVM of tests; 0: none died
	attempts map[string]int // by ID, where the build runs failing tests again; nil: it does not
}

func (x *jvmRun) Next() (*Step, error) {
	for i := range x.splitter {
		x.splitter[i] = lineSplitter{max: 8 << 10, line: func(b []byte) { x.said(clean(string(b))) }}
	}
	return x.scripted.Next()
}

func (x *jvmRun) Output(s Stream, data []byte) {
	x.scripted.Output(s, data)
	x.splitter[s].Write(data)
}

var (
	// Maven's: [ERROR] /a/B.java:[3,5] text; Gradle's of javac: /a/B.java:3: error: text; of Kotlin: e: file:///a/B.kt:3:5
	// text, formerly e: /a/B.kt: (3, 5): text.
	jvmCompile = lazyregexp.MustCompile(`^(?:\[ERROR\] |e: )?(?:file://)?(/\S.*?\.(?:java|kt|groovy|scala)):` +
		`(?:\[(\d+),(\d+)\] |(\d+): error: | ?\(?(\d+)[,:] ?(\d+)\)?:? )(.+)$`)
	jvmDetail = lazyregexp.MustCompile(`^(?:\[ERROR\])?\s+(symbol|location|required|found|reason)\s*: *(.+)$`)
	jvmTotals = lazyregexp.MustCompile(
		`^\[\w+\] Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?$`)
	jvmDied = lazyregexp.MustCompile(
		`(?:Process Exit Code: |Gradle Test Executor \d+' finished with non-zero exit value )(\d+)`)
	jvmBroken = lazyregexp.MustCompile(`(?i)^(?:\[ERROR\] |> ).*\bcompilation (?:failure|failed|error)`)
)

// said reads a line of the build's output.
func (x *jvmRun) said(line string) {
	switch m, detail := jvmCompile.FindStringSubmatch(line), jvmDetail.FindStringSubmatch(line); {
	case m != nil:
		f := Failure{Kind: "compile", File: x.res.rel(m[1]), Line: number(m[2] + m[4] + m[5]), Column: number(m[3] + m[6]),
			Message: m[7]}
		known := func(g Failure) bool {
			return g.File == f.File && g.Line == f.Line && strings.HasPrefix(g.Message, f.Message)
		}
		if len(x.compile) < maxErrors && !slices.ContainsFunc(x.compile, known) {
			x.compile = append(x.compile, f)
		}
	case detail != nil && len(x.compile) > 0:
		if f := &x.compile[len(x.compile)-1]; !strings.Contains(f.Message, detail[2]) && len(f.Message) < 500 {
			f.Message += "; " + detail[1] + ": " + strings.TrimSpace(detail[2])
		}
	default:
		if m := jvmTotals.FindStringSubmatch(line); m != nil {
			x.counted = true
			x.totals.Failed += number(m[2]) + number(m[3])
			x.totals.Skipped += number(m[4])
			x.totals.Passed += number(m[1]) - number(m[2]) - number(m[3]) - number(m[4])
		}
		x.broken = x.broken || jvmBroken.MatchString(line)
		if m := jvmDied.FindStringSubmatch(line); m != nil && x.died == 0 {
			x.died = number(m[1])
		}
		text, wrong := strings.CutPrefix(line, "[ERROR] ")
		if gradle := strings.HasPrefix(line, "* What went wrong:") || strings.HasPrefix(line, "> "); gradle || wrong {
			if text = strings.TrimSpace(text); text != "" && len(x.errors) < 20 && !strings.HasPrefix(text, "> Task") {
				x.errors = append(x.errors, text)
			}
		}
	}
}

// wired makes of what a listener told what is meant here: paths, places, IDs.
func (x *jvmRun) wired(e *wireEvent) {
	switch e.E {
	case "goal", "testing":
		phase := Compiling
		if e.E == "testing" {
			phase = Running
		}
		x.res.emit(Event{Kind: PhaseChanged, Phase: phase, Text: e.Text})
		return
	case "reruns":
		x.attempts = map[string]int{}
		return
	case "start", "end":
	default:
		return
	}
	module, class := x.moduleOf(e.File), e.Suite
	e.File = x.sources.find(class, "", module)
	_, method, _ := strings.Cut(e.ID, "#")
	if i := strings.IndexAny(method, "(["); i > 0 {
		method = method[:i]
	}
	e.Line = x.sources.line(e.File, method)
	if module != "." {
		e.ID = module + "::" + e.ID
	}
	if e.Status == Skipped {
		if x.skips++; e.Uncounted {
			x.offs++
		}
		e.Uncounted = false
	}
	if e.E == "end" && x.attempts != nil {
		x.attempts[e.ID]++
		if e.Attempts = x.attempts[e.ID]; e.Fails {
			e.E = "attempt" // it may pass yet
		}
		e.Flaky = e.Attempts > 1 && !e.Fails
	}
	for i := range e.Failures {
		f := &e.Failures[i]
		if f.Expected+f.Actual == "" {
			f.Expected, f.Actual = jvmSides(f.Message)
		}
		kept := make([]Frame, 0, len(f.Frames))
		for _, at := range f.Frames {
			class := at.Function[:max(strings.LastIndexByte(at.Function, '.'), 0)]
			at.File = x.sources.find(class, path.Base(at.File), module)
			// The stack of a cause ends as the one around it.
			if at.File != "" && !(slices.Contains(kept, at) && strings.Contains(f.Message, "\ncaused by ")) {
				kept = append(kept, at)
			}
		}
		f.Frames = kept
	}
}

// The sides in messages: of JUnit 4 (and of JUnit 5 where it keeps none), TestNG, AssertJ, Hamcrest.
var jvmBoth = []*lazyregexp.Regexp{
	lazyregexp.MustCompile(`(?s)expected: ?<(.*?)> but was: ?<(.*)>`),
	lazyregexp.MustCompile(`(?s)expected \[(.*?)\] but found \[(.*)\]`),
	lazyregexp.MustCompile(`(?s)Expected: (.*?)\n\s+but: (?:was )?(.*)`),
	lazyregexp.MustCompile(`(?s)[Ee]xpected: ?(.*?)\n\s*but was: ?(.*)`),
}

func jvmSides(message string) (expected, actual string) {
	for _, re := range jvmBoth {
		if m := re.FindStringSubmatch(message); m != nil {
			return marked(strings.TrimSpace(m[1]), strings.TrimSpace(m[2]))
		}
	}
	return "", ""
}

// marked takes off the brackets that JUnit 4 puts around where two texts differ: <a[b]c> and <a[x]c>.
func marked(expected, actual string) (string, string) {
	cut := func(s string) (before, within, after string, ok bool) {
		before, rest, ok := strings.Cut(s, "[")
		within, after, closed := strings.Cut(rest, "]")
		return before, within, after, ok && closed
	}
	b1, w1, a1, ok1 := cut(expected)
	b2, w2, a2, ok2 := cut(actual)
	if !ok1 || !ok2 || b1 != b2 || a1 != a2 || b1+a1 == "" { // or lists
		return expected, actual
	}
	return b1 + w1 + a1, b2 + w2 + a2
}

func (x *jvmRun) End(exit Exit) {
	for i := range x.splitter {
		x.splitter[i].Close()
	}
	if x.died != 0 && exit.Code != 0 && !exit.TimedOut && !exit.Canceled {
		if exit.Code, exit.Signal = x.died, shellSignal(x.died); len(x.res.open) == 0 {
			x.res.troubled("(run)", "", Failure{Kind: "crash", Signal: exit.Signal,
				Message: fmt.Sprintf("a JVM of tests ended with code %d while none of its tests ran: ", x.died) + x.why()})
		}
	}
	if x.broken && len(x.compile) > 0 && exit.Code != 0 {
		t := &Test{ID: "(build)", Name: "(build)", File: x.compile[0].File, Status: Errored, Fails: true, Failures: x.compile}
		x.res.uncounted(t)
		x.res.note("the project does not compile: tests that need what does not did not run")
	}
	if x.counted {
		if n := x.totals.Skipped; n < x.skips && n >= x.skips-x.offs {
			x.totals.Skipped = x.skips
		}
		x.res.own = &x.totals
	}
	if x.seen == 0 && exit.Code == 0 && x.r.Test != "" {
		x.unmatched()
	}
	if exit.TimedOut && !x.r.Traced {
		x.res.note("Java's stacks, and who holds a lock, are told of a traced run: give tracePatterns, such as @usercode")
	}
	if x.sources.cut {
		x.res.note("the project has more than %d files: places in some are not known", maxJVMWalk)
	}
	if len(x.errors) > 0 && !exit.TimedOut {
		x.out, x.err = ring{}, ring{} // what the build wrote last is its own stack
	}
	x.scripted.End(exit)
}

// unmatched says that no test is meant.
func (x *jvmRun) unmatched() {
	text := ""
	if names := x.sources.near(x.r.Test); len(names) > 0 {
		text = ". Near it: " + strings.Join(names, ", ")
	}
	x.res.note("no test matches %q: a test is class, class#method, or a part of methods' names%s", x.r.Test, text)
}

// none says whether no file has what was asked for, so that nothing need run.
func (x *jvmRun) none() bool {
	if x.choice == nil || len(x.choice.targets) > 0 {
		return false
	}
	x.unmatched()
	return true
}

// exit explains how the build ended where no test does.
func (x *jvmRun) exit(exit Exit) string {
	if exit.Code == 0 || x.res.failed+x.res.dropped.Failed > 0 {
		return ""
	}
	return fmt.Sprintf("%s left with code %d and no test failed: %s", x.tool, exit.Code, x.why())
}

func (x *jvmRun) why() string { return head(strings.Join(x.errors, "\n"), 2<<10) }
