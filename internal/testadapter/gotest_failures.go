package testadapter

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/report"
)

var (
	goFrameLine = lazyregexp.MustCompile(
		`^(=== (RUN|PAUSE|CONT|NAME|PASS|FAIL|SKIP|ATTR|ARTIFACTS)\b|\s*--- (PASS|FAIL|SKIP|BENCH): )`)
	goLogLine = lazyregexp.MustCompile(`^(?: {4})+([^\s:][^:]*\.go):(\d+): ?(.*)$`)
	// What usually stands in a failure's message and not in a mere log line.
	goLooksBad = lazyregexp.MustCompile(
		`(?i)\b(got|want|wanted|expect(ed)?|fail(ed|s|ure)?|err(or)?|unexpected|mismatch|not ` +
			`equal|should|must|missing|wrong|bad|nil)\b|!=|Error Trace:`)
	// Both sides, in the words that Go's own tests use.
	goGotWant = lazyregexp.MustCompile(
		`(?s)^(?:.*?\b)?got:?\s*(.+?)[,;.]?\s+(?:but )?(?:want(?:ed)?|expected):?\s*(\S.*)$`)
	goEqual   = lazyregexp.MustCompile(`^.{1,300}? = (.+?)[,;] (?:want(?:ed)?|expected):? (.+)$`)
	goWantGot = lazyregexp.MustCompile(
		`(?s)^(?:.*?\b)?(?:want(?:ed)?|expected):?\s*(.+?)[,;.]?\s+(?:but )?(?:got|actual):?\s*(\S.*)$`)
	goTestify   = lazyregexp.MustCompile(`(?m)^\s*expected\s*: (.*)$`)
	goTestify2  = lazyregexp.MustCompile(`(?m)^\s*actual\s*: (.*)$`)
	goRacePlace = lazyregexp.MustCompile(`^\s+(/.*\.go):(\d+)(?: \+0x[0-9a-f]+)?\s*$`)
	goRepanic   = lazyregexp.MustCompile(` \[recovered(?:, repanicked)?\]|\n\s*panic: `)
	goTimeout   = lazyregexp.MustCompile(`^test timed out after (\S+)`)
)

// goLog is what t.Log or t.Error wrote: the place, and its lines without their indentation.
type goLog struct {
	file string
	line int
	text string
}

// goOwnLines are a test's lines without those that frame it.
func goOwnLines(lines []string) []string {
	var own []string
	for _, line := range lines {
		if !goFrameLine.MatchString(line) {
			own = append(own, line)
		}
	}
	return own
}

func goLogs(lines []string) []goLog {
	var logs []goLog
	for _, line := range lines {
		if m := goLogLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			logs = append(logs, goLog{file: m[1], line: n, text: m[3]})
			continue
		}
		if more, ok := strings.CutPrefix(line, "        "); ok && len(logs) > 0 {
			logs[len(logs)-1].text += "\n" + more
		}
	}
	return logs
}

// failureOf is what a failed test says of itself. package testing does not tell t.Log from t.Error, so that the message
// is all that was logged, and the place the first that reads like a failure, else the last: after t.Fatal nothing
// follows.
func (x *goRun) failureOf(t *Test, lines []string, dir string) (Failure, bool) {
	f := Failure{Kind: "assertion", File: t.File, Line: t.Line}
	if strings.HasPrefix(t.Name, "Example") {
		if ok := exampleSides(&f, strings.Join(lines, "\n")); ok {
			return f, true
		}
	}
	text := strings.Join(lines, "\n")
	if strings.Contains(text, "WARNING: DATA RACE") {
		return x.race(text), true
	}
	logs := goLogs(lines)
	if len(logs) == 0 {
		if text = strings.TrimSpace(text); text != "" {
			f.Message = tail(text, 2<<10)
		} else {
			f.Message = "failed without a message"
		}
		return f, !t.Group
	}
	at := len(logs) - 1
	var all []string
	for i := len(logs) - 1; i >= 0; i-- {
		if goLooksBad.MatchString(logs[i].text) {
			at = i
		}
	}
	for _, l := range logs {
		all = append(all, strings.TrimRight(l.text, "\n"))
	}
	f.Message = strings.Join(all, "\n")
	f.File, f.Line = x.in(x.p.Root, logs[at].file), logs[at].line
	if !strings.Contains(logs[at].file, "/") {
		f.File = path.Join(dir, logs[at].file)
	}
	sides(&f, logs[at].text)
	return f, true
}

// sides fills in both sides of a comparison where the message has them.
func sides(f *Failure, text string) {
	if e, a := goTestify.FindStringSubmatch(text), goTestify2.FindStringSubmatch(text); e != nil && a != nil {
		f.Expected, f.Actual = e[1], a[1]
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	for _, part := range []string{first, text} {
		if m := goEqual.FindStringSubmatch(part); m != nil {
			f.Actual, f.Expected = m[1], m[2]
		} else if m := goGotWant.FindStringSubmatch(part); m != nil {
			f.Actual, f.Expected = m[1], m[2]
		} else if m := goWantGot.FindStringSubmatch(part); m != nil {
			f.Expected, f.Actual = m[1], m[2]
		} else {
			continue
		}
		return
	}
}

// exampleSides reads what a failed example wrote and should have written.
func exampleSides(f *Failure, text string) bool {
	_, rest, ok := strings.Cut("\n"+text, "\ngot:\n")
	if !ok {
		return false
	}
	got, want, ok := strings.Cut(rest, "\nwant:\n")
	if !ok {
		return false
	}
	f.Actual, f.Expected = got, strings.TrimRight(want, "\n")
	f.Message = fmt.Sprintf("got:\n%s\nwant:\n%s", f.Actual, f.Expected)
	return true
}

// race is the first place in the user's code of a data race's report.
func (x *goRun) race(text string) Failure {
	f := Failure{Kind: "race", Message: "race detected during execution of test"}
	_, text, _ = strings.Cut(text, "WARNING: DATA RACE\n")
	text, _, _ = strings.Cut(text, "\n==================")
	function := ""
	for line := range strings.Lines(text) {
		if m := goRacePlace.FindStringSubmatch(line); m != nil {
			if file := x.rel(m[1]); x.below(file) {
				f.Stack = append(f.Stack, Frame{Function: function, File: file, Line: number(m[2])})
			}
		} else if strings.HasPrefix(line, "Previous ") && len(f.Stack) > 0 {
			break
		}
		function = strings.TrimSuffix(strings.TrimSpace(line), "()")
	}
	f.Message += ":\n" + tail(strings.TrimSpace(text), 3<<10)
	if len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
	}
	return f
}

// panicOf is the panic in a test's output, or in the package's where it stands outside.
func (x *goRun) panicOf(p *goPackage, o *goOne) *Failure {
	text := strings.Join(o.lines, "\n")
	if !strings.Contains(text, "panic: ") && !strings.Contains(text, "fatal error: ") && !strings.Contains(text, "SIG") {
		return nil
	}
	r := lastReport(text)
	if r == nil || r.Tool != report.GoPanic {
		return nil
	}
	f := Failure{Kind: "panic", Message: r.Message, Stack: x.frames(r)}
	f.Message = goRepanic.Split(f.Message, 2)[0]
	if m := goTimeout.FindStringSubmatch(r.Message); m != nil {
		f = Failure{Kind: "timeout", Message: "go test's own limit: " + r.Message, Stack: f.Stack}
	}
	if strings.Contains(text, "[signal SIG") {
		_, after, _ := strings.Cut(text, "[signal ")
		f.Signal, _, _ = strings.Cut(after, ":")
	}
	if len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
	}
	return &f
}
