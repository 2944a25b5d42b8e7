package testadapter

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	ctestStart   = lazyregexp.MustCompile(`^ +Start +(\d+): `)
	ctestEnd     = lazyregexp.MustCompile(`^ *\d+/\d+ Test +#(\d+): (.*)$`)
	ctestSeconds = lazyregexp.MustCompile(` +([0-9.]+) sec *$`)
	ctestSummary = lazyregexp.MustCompile(`^\d+% tests passed, (\d+) tests failed out of (\d+)`)
	ctestIdle    = lazyregexp.MustCompile(`^\s+\d+ - .* \((?:Skipped|Disabled)\)`)
)

// ctestLine is what standard output told of a test.
type ctestLine struct {
	number  int
	ended   bool
	verdict string // what stands behind the dots: Passed, ***Failed, ***Exception: SegFault …
	seconds time.Duration
}

func (x *ctestRun) run(args []string) {
	report := filepath.Join(x.r.Dir, "ctest.xml")
	argv := append(x.command(append([]string{"--output-junit", report}, args...)...), x.r.Args...)
	// Tests' output in ctest's own would look like its lines.
	env := []string{"CTEST_OUTPUT_ON_FAILURE", "CTEST_PROGRESS_OUTPUT"}
	t := &task{step: &Step{Argv: argv, Dir: x.p.Root, Env: env, Reports: []string{report}, Phase: Running,
		Drivers: []string{"ctest", "cmake"}}, stdout: x.line}
	t.report = func(_ string, data []byte) {
		if len(x.junit) < maxJUnitBytes {
			x.junit = append(x.junit, data...)
		}
	}
	t.end = func(exit Exit) { x.ends(exit, t) }
	x.then(t)
}

func (x *ctestRun) test(number int) *Test {
	t := &x.tests[number-1]
	return &Test{ID: t.id, Name: t.name, File: t.file, Line: t.line}
}

func (x *ctestRun) line(line string) {
	line = clean(line) // CLICOLOR_FORCE colours it
	if m := ctestStart.FindStringSubmatch(line); m != nil {
		if n := number(m[1]); n > 0 && n <= len(x.tests) && x.output[n] == nil {
			x.output[n] = &ctestLine{number: n}
			x.started(x.test(n))
		}
		return
	}
	if m := ctestEnd.FindStringSubmatch(line); m != nil {
		n := number(m[1])
		one := x.output[n]
		if one == nil || one.ended {
			return
		}
		verdict := strings.TrimPrefix(m[2], x.tests[n-1].name)
		if s := ctestSeconds.FindStringSubmatch(verdict); s != nil {
			one.seconds, verdict = seconds(s[1]), strings.TrimSuffix(verdict, s[0])
		}
		one.ended, one.verdict = true, strings.TrimLeft(strings.TrimSpace(verdict), ". ")
		if one.verdict == "Passed" {
			x.finished(x.result(one, nil)) // how another ended is in the report
		}
		return
	}
	if m := ctestSummary.FindStringSubmatch(line); m != nil {
		x.failed, x.total = number(m[1]), number(m[2])
	} else if ctestIdle.MatchString(line) {
		x.idle++
		if strings.HasSuffix(strings.TrimSpace(line), "(Disabled)") {
			x.total++ // the summary leaves those out
		}
	}
}

// result is what became of a test; c is its case in the report, if there is one.
func (x *ctestRun) result(one *ctestLine, c *junitCase) *Test {
	t := x.test(one.number)
	inverted := x.tests[one.number-1].inverted
	t.Duration = one.seconds
	reason, text := "", ""
	if c != nil {
		if t.Duration = c.Time; c.Skipped {
			reason = c.Reason
		}
		t.Output, text = strings.TrimSpace(c.Out), c.Out
	}
	switch v := one.verdict; {
	case v == "Passed" && inverted:
		t.Status = ExpectedFailure
	case v == "Passed":
		t.Status = Passed
	case strings.HasPrefix(v, "***Skipped"):
		t.Status, t.Reason = Skipped, strings.TrimSpace(reason)
	case strings.Contains(v, "(Disabled)"):
		t.Status, t.Reason, t.Output = Skipped, "disabled (DISABLED)", ""
	case strings.HasPrefix(v, "***Not Run"):
		f := Failure{Kind: "setup", Message: orElse(strings.TrimSpace(text), orElse(reason, "did not run")), File: t.File,
			Line: t.Line}
		t.Status, t.Fails, t.Failures = Errored, true, []Failure{f}
	case strings.HasPrefix(v, "***Timeout"):
		t.Status, t.Fails = TimedOut, true
		t.Failures = []Failure{{Kind: "timeout", Message: "longer than its TIMEOUT" + x.tests[one.number-1].limit,
			File: t.File, Line: t.Line}}
	case strings.Contains(v, "***Exception"):
		t.Status, t.Fails = Crashed, true
		t.Failures = x.explain(text, Failure{Kind: "crash", Message: "the test's process died: " +
			strings.Join(strings.Fields(strings.ReplaceAll(v, "***", " ")), " "), Signal: ctestSignal(v),
			File: t.File, Line: t.Line}, "")
	default:
		t.Status, t.Fails = Failed, true
		message := strings.TrimSpace(strings.TrimPrefix(v, "***Failed"))
		if c != nil && len(c.Problems) > 0 && c.Problems[0].Message != "" {
			message = c.Problems[0].Message
		}
		if inverted {
			t.Status = UnexpectedPass
			t.Failures = []Failure{{Kind: "exit", Message: orElse(message, "it succeeded, and has WILL_FAIL"), File: t.File,
				Line: t.Line}}
			break
		}
		fallback := Failure{Kind: "exit", Message: orElse(message, "the test's process says that it failed"), File: t.File,
			Line: t.Line}
		if last := strings.TrimSpace(tail(text, 2<<10)); last != "" && message == "" {
			fallback.Message += "; it wrote last:\n" + last
		}
		if message != "" { // a regular expression that must or must not match
			t.Failures = []Failure{fallback}
			break
		}
		t.Failures = x.explain(text, fallback, "")
	}
	return t
}

// ctestSignal is the signal that CTest has a word for.
func ctestSignal(verdict string) string {
	for _, s := range []struct{ word, signal string }{{"SegFault", "SIGSEGV"}, {"aborted", "SIGABRT"},
		{"Illegal", "SIGILL"}, {"Numerical", "SIGFPE"},
		{"Interrupt", "SIGINT"}, {"killed", "SIGKILL"}, {"Bus", "SIGBUS"}} {
		if strings.Contains(verdict, s.word) {
			return s.signal
		}
	}
	return ""
}

func (x *ctestRun) ends(exit Exit, t *task) {
	cases := map[string][]*junitCase{}
	if report, _ := parseJUnit(x.junit); report != nil {
		for i := range report.Cases {
			c := &report.Cases[i]
			cases[c.Name] = append(cases[c.Name], c)
		}
	}
	for n := 1; n <= len(x.tests); n++ {
		one, name := x.output[n], x.tests[n-1].name
		var c *junitCase
		if list := cases[name]; len(list) > 0 && one != nil {
			c, cases[name] = list[0], list[1:]
		}
		if one != nil && one.ended {
			x.finished(x.result(one, c))
		}
	}
	x.unfinished(exit, nil)
	switch {
	case exit.Canceled || exit.TimedOut:
	case len(x.output) == 0:
		if x.r.Test == "" && exit.Code != 0 {
			last := strings.TrimSpace(t.last[Stderr].String() + "\n" + t.last[Stdout].String())
			x.broken("(ctest)", "(ctest)", "", Failure{Kind: "exit", Message: "ctest ran no test: " + last})
		}
	case x.total > 0:
		x.totals(Totals{Passed: x.total - x.failed - x.idle, Failed: x.failed, Skipped: x.idle})
	}
}
