package testadapter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a JUnit report: larger ones are cut with an error, so that no report costs us our memory.
const (
	maxJUnitBytes = 64 << 20
	maxJUnitCases = 200_000
	maxJUnitDepth = 64
)

// junitReport is a JUnit XML report: no standard, but what tools write has this in common.
type junitReport struct {
	Cases  []junitCase
	Suites []junitSuite // in the order in which they ended
	Totals junitTotals  // of the outermost elements
}

// junitSuite is a <testsuite>, for what stands outside of cases.
type junitSuite struct {
	Path     []string // the names of the suites around it, and its own
	File     string
	Totals   junitTotals
	Out, Err string
	Problems []junitProblem // <error> and <failure> directly below it
}

// junitTotals are a suite's own counts; -1: it does not say.
type junitTotals struct{ Tests, Failures, Errors, Skipped, Disabled int }

// junitCase is a <testcase>.
type junitCase struct {
	Suite     []string // the names of the suites around it, outermost first
	SuiteFile string   // of the innermost suite that has one
	Name      string
	Class     string
	File      string
	Line      int
	Status    string // attribute of CTest and GoogleTest: run, notrun, disabled, fail
	Time      time.Duration
	Skipped   bool
	Reason    string         // of the skip
	Problems  []junitProblem // <failure> and <error>
	Reruns    []junitProblem // <rerunFailure>, <flakyFailure> …: of earlier attempts
	Out, Err  string
	// Properties are those of the case itself.
	Properties map[string]string
}

// junitProblem is a <failure> or an <error>.
type junitProblem struct {
	Error   bool // <error>
	Flaky   bool // <flakyFailure>, <flakyError>: of a case that passed in the end
	Message string
	Type    string
	Text    string
}

// parseJUnit reads a report. With an error, what was read before it is returned too: a report whose writer died has no
// end.
func parseJUnit(data []byte) (*junitReport, error) {
	d := junitReader{report: &junitReport{Totals: junitTotals{-1, -1, -1, -1, -1}}}
	if len(data) > maxJUnitBytes {
		return d.report, fmt.Errorf("read a JUnit report of %d bytes: more than %d", len(data), maxJUnitBytes)
	}
	d.xml = xml.NewDecoder(bytes.NewReader(legalXML(data)))
	// Whatever encoding is declared: the bytes were made UTF-8 above.
	d.xml.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		t, err := d.xml.Token()
		if errors.Is(err, io.EOF) {
			if !d.rooted {
				return d.report, errors.New("read a JUnit report: no <testsuites> or <testsuite>")
			}
			return d.report, nil
		}
		if err == nil {
			err = d.token(t)
		}
		if err != nil {
			d.unfinished()
			return d.report, fmt.Errorf("read a JUnit report: %w", err)
		}
	}
}

// legalXML replaces what XML 1.0 cannot hold and tools write nevertheless: invalid UTF-8, control characters, also as
// references.
func legalXML(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		if data[i] == '&' {
			if r, n := reference(data[i:]); n > 0 && !legalRune(r) {
				out = append(out, "\uFFFD"...)
				i += n
				continue
			}
		}
		r, n := utf8.DecodeRune(data[i:])
		if legalRune(r) {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, "\uFFFD"...)
		}
		i += n
	}
	return out
}

func legalRune(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 &&
		r <= utf8.MaxRune
}

// reference is the character reference that b begins with.
func reference(b []byte) (r rune, n int) {
	const longest = 12 // &#1114111;
	end := bytes.IndexByte(b[:min(len(b), longest)], ';')
	if end < 3 || b[1] != '#' {
		return 0, 0
	}
	digits, base := string(b[2:end]), 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil || v > utf8.MaxRune {
		return 0, 0
	}
	return rune(v), end + 1
}

type junitReader struct {
	xml    *xml.Decoder
	report *junitReport
	rooted bool
	depth  int
	suites []junitSuite // open
	test   *junitCase   // open
	// text collects the characters of the innermost element that wants them; at is that element's depth.
	text *strings.Builder
	at   int
	done func(text string)
}

func (d *junitReader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		d.depth++
		if d.depth > maxJUnitDepth {
			return fmt.Errorf("elements nested deeper than %d", maxJUnitDepth)
		}
		return d.open(t)
	case xml.EndElement:
		if d.text != nil && d.at == d.depth {
			d.done(d.text.String())
			d.text = nil
		}
		d.depth--
		d.close(t.Name.Local)
	case xml.CharData:
		if d.text != nil && d.text.Len() < maxProblemText {
			d.text.Write(t)
		}
	}
	return nil
}

// maxProblemText bounds the text of one element: a failure's with its stack is far smaller, a test's output is cut by
// its reader.
const maxProblemText = 1 << 20

func (d *junitReader) open(e xml.StartElement) error {
	name := e.Name.Local
	if !d.rooted {
		if name != "testsuites" && name != "testsuite" {
			return fmt.Errorf("<%s> is no JUnit report", name)
		}
		d.rooted = true
		d.report.Totals = totalsOf(e)
	}
	switch name {
	case "testsuite":
		s := junitSuite{File: attr(e, "file"), Totals: totalsOf(e)}
		if len(d.suites) > 0 {
			above := d.suites[len(d.suites)-1]
			s.Path = append(s.Path, above.Path...)
			if s.File == "" {
				s.File = above.File
			}
		}
		s.Path = append(s.Path, attr(e, "name"))
		d.suites = append(d.suites, s)
	case "testcase":
		if d.test != nil {
			return errors.New("a <testcase> within another")
		}
		if len(d.report.Cases) >= maxJUnitCases {
			return fmt.Errorf("more than %d test cases", maxJUnitCases)
		}
		d.test = newCase(e, d.suites)
	case "property":
		d.property(e)
	case "failure", "error", "skipped", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out",
		"system-err":
		d.detail(name, e)
	}
	return nil
}

func newCase(e xml.StartElement, suites []junitSuite) *junitCase {
	line, _ := strconv.Atoi(attr(e, "line"))
	c := &junitCase{Name: attr(e, "name"), Class: attr(e, "classname"), File: attr(e, "file"), Line: max(line, 0),
		Status: attr(e, "status"), Time: seconds(attr(e, "time"))}
	if n := len(suites); n > 0 {
		c.Suite, c.SuiteFile = suites[n-1].Path, suites[n-1].File
	}
	return c
}

func (d *junitReader) property(e xml.StartElement) {
	if d.test == nil {
		return
	}
	if d.test.Properties == nil {
		d.test.Properties = map[string]string{}
	}
	if value, ok := lookAttr(e, "value"); ok {
		d.test.Properties[attr(e, "name")] = value
		return
	}
	c, name := d.test, attr(e, "name")
	d.collect(func(text string) { c.Properties[name] = text })
}

// detail begins an element whose text belongs to the open case, or to the open suite.
func (d *junitReader) detail(element string, e xml.StartElement) {
	c := d.test
	var s *junitSuite
	switch n := len(d.suites); {
	case c != nil:
	case n > 0:
		s = &d.suites[n-1]
	default:
		return
	}
	problem := junitProblem{Message: attr(e, "message"), Type: attr(e, "type"),
		Error: strings.HasSuffix(strings.ToLower(element), "error"), Flaky: strings.HasPrefix(element, "flaky")}
	d.collect(func(text string) {
		problem.Text = text
		switch {
		case element == "system-out" && c != nil:
			c.Out += text
		case element == "system-err" && c != nil:
			c.Err += text
		case element == "system-out":
			s.Out += text
		case element == "system-err":
			s.Err += text
		case element == "skipped" && c != nil:
			c.Skipped, c.Reason = true, problem.Message
			if c.Reason == "" {
				c.Reason = strings.TrimSpace(text)
			}
		case element == "skipped":
		case c == nil:
			s.Problems = append(s.Problems, problem)
		case element == "failure" || element == "error":
			c.Problems = append(c.Problems, problem)
		default:
			c.Reruns = append(c.Reruns, problem)
		}
	})
}

// collect takes the text up to the end of the element that has just begun; elements within it are part of it only by
// their text.
func (d *junitReader) collect(done func(string)) {
	if d.text != nil {
		return // within another one, as <system-out> within <flakyFailure>
	}
	d.text, d.at, d.done = &strings.Builder{}, d.depth, done
}

func (d *junitReader) close(element string) {
	switch element {
	case "testcase":
		if d.test != nil {
			d.report.Cases = append(d.report.Cases, *d.test)
			d.test = nil
		}
	case "testsuite":
		if n := len(d.suites); n > 0 {
			d.report.Suites = append(d.report.Suites, d.suites[n-1])
			d.suites = d.suites[:n-1]
		}
	}
}

// unfinished keeps the suites that were open when the report broke off. An open case is not kept: its result is not
// known.
func (d *junitReader) unfinished() {
	for n := len(d.suites); n > 0; n-- {
		d.report.Suites = append(d.report.Suites, d.suites[n-1])
	}
}

func totalsOf(e xml.StartElement) junitTotals {
	count := func(name string) int {
		n, err := strconv.Atoi(attr(e, name))
		if err != nil || n < 0 {
			return -1
		}
		return n
	}
	return junitTotals{Tests: count("tests"), Failures: count("failures"), Errors: count("errors"),
		Skipped: count("skipped"), Disabled: count("disabled")}
}

func attr(e xml.StartElement, name string) string {
	v, _ := lookAttr(e, name)
	return v
}

func lookAttr(e xml.StartElement, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// seconds reads a duration in seconds, which some tools write with thousands separators.
func seconds(s string) time.Duration {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e9 {
		return 0
	}
	return time.Duration(v * float64(time.Second))
}
