package testadapter

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	gtestEqual   = lazyregexp.MustCompile(`(?s)^Expected equality of these values:\n  (.*)$`)
	gtestValue   = lazyregexp.MustCompile(`(?s)^Value of: .*?\n  Actual: (.*?)\nExpected: ([^\n]*)`)
	gtestCompare = lazyregexp.MustCompile(`^Expected: (.*), actual: ([^\n]*)`)
	gtestThrown  = lazyregexp.MustCompile(
		`thrown in (the test body|SetUp\(\)|TearDown\(\)|SetUpTestSuite\(\)|TearDownTestSuite\(\)|the test fixture's ` +
			`(?:con|de)structor)`)
	gtestStart  = lazyregexp.MustCompile(`^(?:(.+?):(\d+)|unknown file): (Failure|Skipped|error: )`)
	gtestTraced = lazyregexp.MustCompile(`^(.+?):(\d+): (.*)$`)
)

func (n *native) gtestFailures(messages []gtestMessage) []Failure {
	var all []Failure
	for _, m := range messages[:min(len(messages), maxErrors)] {
		place, text, _ := strings.Cut(orElse(m.Failure, m.Message), "\n")
		all = append(all, n.gtestFailure(place, text))
	}
	return all
}

// gtestFailure reads one message of an assertion; place is "file:line" or "unknown file".
func (n *native) gtestFailure(place, text string) Failure {
	f := Failure{Kind: "assertion", Message: text}
	if m := gtestPlace.FindStringSubmatch(place); m != nil {
		f.File, f.Line = n.source("", n.behindText(m[1])), number(m[2]+m[3])
	}
	if main, trace, ok := strings.Cut(text, "\nGoogle Test trace:\n"); ok {
		text = main
		for line := range strings.Lines(trace) {
			if m := gtestTraced.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				f.Stack = append(f.Stack, Frame{Function: m[3], File: n.source("", m[1]), Line: number(m[2])})
			}
		}
	}
	switch {
	case gtestThrown.MatchString(text):
		f.Kind = "exception"
		if m := gtestThrown.FindStringSubmatch(text); strings.HasPrefix(m[1], "SetUp") {
			f.Kind = "setup"
		} else if strings.HasPrefix(m[1], "TearDown") {
			f.Kind = "teardown"
		}
	case gtestEqual.MatchString(text):
		f.Actual, f.Expected = gtestSides(gtestEqual.FindStringSubmatch(text)[1])
	case gtestValue.MatchString(text):
		m := gtestValue.FindStringSubmatch(text)
		f.Actual, f.Expected = m[1], m[2]
	case gtestCompare.MatchString(text):
		m := gtestCompare.FindStringSubmatch(text)
		f.Expected, f.Actual = m[1], m[2]
	}
	return f
}

// behindText is the file's name in what stands before a line's number, where the test wrote something before it without
// an end of line: the longest end that is a file.
func (n *native) behindText(name string) string {
	const longest = 64 << 10
	if name = name[max(len(name)-longest, 0):]; n.isSource(name) {
		return name
	}
	for i := 1; i < len(name); i++ {
		if at := name[i:]; (at[0] == '/' || name[i-1] != '/') && utf8.RuneStart(at[0]) && n.isSource(at) {
			return at
		}
	}
	if i := strings.LastIndexAny(name, " \t"); i >= 0 { // of sources that are not here
		return name[i+1:]
	}
	return name
}

// isSource says whether a name in a message is a file.
func (n *native) isSource(name string) bool {
	if filepath.IsAbs(name) {
		info, err := os.Stat(name)
		return err == nil && info.Mode().IsRegular()
	}
	return strings.Contains(name, ".") && n.exists(n.source("", name))
}

// gtestSides reads " first\n Which is: value\n second\n Which is: value": the values, or the texts of constants.
func gtestSides(text string) (first, second string) {
	var sides []string
	for line := range strings.Lines("  " + text) {
		line = strings.TrimRight(line, "\n")
		if value, ok := strings.CutPrefix(line, "    Which is: "); ok && len(sides) > 0 {
			sides[len(sides)-1] = value
		} else if side, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(side, " ") && len(sides) < 2 {
			sides = append(sides, side)
		} else if !ok {
			break // what the test adds
		}
	}
	if len(sides) == 2 {
		return sides[0], sides[1]
	}
	return "", ""
}

// gtestText finds the failures in what was written while a test ran.
func (n *native) gtestText(output string) []Failure {
	var all []Failure
	place := ""
	var text []string
	done := func() {
		if place != "" && len(all) < maxErrors {
			all = append(all, n.gtestFailure(place, strings.Join(text, "\n")))
		}
		place, text = "", nil
	}
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if m := gtestStart.FindStringSubmatch(line); m != nil {
			done()
			if m[3] != "Skipped" {
				place = "unknown file"
				if m[1] != "" {
					place = m[1] + ":" + m[2]
				}
			}
			continue
		}
		if strings.HasPrefix(line, "[  FAILED  ] ") {
			done()
			continue
		}
		text = append(text, line)
	}
	done()
	if len(all) == 0 {
		all = []Failure{{Kind: "assertion", Message: orElse(strings.TrimSpace(output), "failed without a message")}}
	}
	return all
}

// gtestReason is why a test was skipped: in the report since 1.13, else as it was written.
func gtestReason(messages []gtestMessage, output string) string {
	for _, m := range messages {
		if _, text, ok := strings.Cut(m.Message, "\n"); ok {
			return strings.TrimSpace(text)
		}
		return m.Message
	}
	_, text, found := strings.Cut(output, ": Skipped\n")
	if !found {
		return ""
	}
	return strings.TrimSpace(text)
}
