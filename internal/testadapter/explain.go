package testadapter

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/report"
)

var (
	// Catch2's console
	catchFailed = lazyregexp.MustCompile(`^(\S.*?):(\d+): FAILED:$`)
	// doctest's console
	doctestError = lazyregexp.MustCompile(
		`^(\S.*?)(?::|\()(\d+)\)?: (?:FATAL )?ERROR: ((?:CHECK|REQUIRE|FAIL|test case THREW).*)$`)
)

// explain finds in what a test wrote why it failed: an assertion of a framework, a runtime's or sanitizer's report, an
// error with a place. Nothing of that: what is known otherwise.
func (n *native) explain(text string, otherwise Failure, dir string) []Failure {
	text = clean(text)
	if strings.Contains(text, ": Failure\n") {
		if all := n.gtestText(text); all[0].File != "" || all[0].Kind == "exception" {
			return all
		}
	}
	if all := n.assertions(text, dir); len(all) > 0 {
		return all
	}
	var p report.Parser
	if found := append(p.Write([]byte(text)), p.Close()...); len(found) > 0 {
		f := n.blame(otherwise, &found[0])
		f.Message = strings.TrimSpace(found[0].Tool + ": " + found[0].Kind + ": " + found[0].Message)
		if found[0].Tool == report.Python {
			f.Message = found[0].Type + ": " + found[0].Message
		}
		f.Kind = reportKind(&found[0], otherwise.Kind)
		f.File = n.source(dir, f.File)
		if f.File == "" {
			f.File, f.Line = otherwise.File, otherwise.Line
		}
		return []Failure{f}
	}
	if all := n.compileErrors(text, dir); len(all) > 0 {
		for i := range all {
			all[i].Kind = otherwise.Kind
			if all[i].File == "" {
				all[i].File, all[i].Line = otherwise.File, otherwise.Line
			}
		}
		return all
	}
	return []Failure{otherwise}
}

// reportKind is our word for a runtime's report.
func reportKind(r *report.Report, otherwise string) string {
	switch {
	case r.Tool == report.Assert || strings.Contains(r.Kind, "assert"):
		return "assertion"
	case r.Tool == report.RustPanic || r.Tool == report.GoPanic:
		return "panic"
	case r.Tool == report.CxxTerminate || r.Tool == report.Python:
		return "exception"
	case r.Tool == report.LSan || r.Kind == "leak":
		return "leak"
	case r.Tool == report.TSan:
		return "race"
	}
	return otherwise
}

// assertions reads the consoles of Catch2 and doctest: the place, then indented the expression and its values.
func (n *native) assertions(text, dir string) []Failure {
	var all []Failure
	var lines []string
	open := false
	done := func() {
		if open && len(all) > 0 {
			f := &all[len(all)-1]
			f.Message = strings.TrimSpace(f.Message + "\n" + strings.Join(lines, "\n"))
			for i, line := range lines {
				value := strings.TrimSpace(strings.TrimPrefix(line, "values: "))
				if i > 0 && lines[i-1] == "with expansion:" {
					f.Actual, f.Expected = comparison(line)
				} else if strings.HasPrefix(line, "values: ") {
					f.Actual, f.Expected = comparison(doctestValues(value))
				}
			}
		}
		open, lines = false, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		catch, doc := catchFailed.FindStringSubmatch(line), doctestError.FindStringSubmatch(line)
		switch {
		case catch != nil || doc != nil:
			done()
			if len(all) == maxErrors {
				return all
			}
			m := append(catch, doc...)
			f := Failure{Kind: "assertion", File: n.source(dir, m[1]), Line: number(m[2])}
			if doc != nil {
				f.Message = doc[3]
			}
			all, open = append(all, f), true
		case !open:
		case strings.HasPrefix(line, "  ") || line == "with expansion:":
			if len(lines) < 30 {
				lines = append(lines, strings.TrimSpace(line))
			}
		default:
			done()
		}
	}
	done()
	return all
}

// doctestValues takes the macro off "CHECK( 1 == 2 )".
func doctestValues(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 && strings.HasSuffix(s, ")") {
		return strings.TrimSpace(s[i+1 : len(s)-1])
	}
	return s
}
