package scenario

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

type xmlSuite struct {
	XMLName  xml.Name  `xml:"testsuite"`
	Name     string    `xml:"name,attr"`
	Tests    int       `xml:"tests,attr"`
	Failures int       `xml:"failures,attr"`
	Errors   int       `xml:"errors,attr"`
	Skipped  int       `xml:"skipped,attr"`
	Time     string    `xml:"time,attr"`
	Cases    []xmlCase `xml:"testcase"`
}

type xmlCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *xmlFailure `xml:"failure"`
	Skipped *struct{}   `xml:"skipped"`
}

type xmlFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Outcome is one scenario as a report shows it.
type Outcome struct {
	Name   string
	Steps  []string // the outermost, as JSON
	Took   []time.Duration
	Failed *Failure
	Err    string // it could not be run: why
}

// JUnit is a report of scenarios: a suite for each, a case for each outermost step; those behind the one that failed
// are skipped.
func JUnit(all []Outcome) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<testsuites>\n")
	for _, o := range all {
		suite := xmlSuite{Name: clean(o.Name)}
		var total time.Duration
		if o.Err != "" {
			suite.Errors, suite.Tests = 1, 1
			suite.Cases = []xmlCase{{Class: clean(o.Name), Name: "run", Time: "0",
				Failure: &xmlFailure{Message: clean(o.Err)}}}
		}
		for i, step := range o.Steps {
			c := xmlCase{Class: clean(o.Name), Name: clean(fmt.Sprintf("%d %s", i, step)), Time: "0"}
			suite.Tests++
			if i < len(o.Took) {
				total += o.Took[i]
				c.Time = seconds(o.Took[i])
			}
			switch {
			case o.Err != "", o.Failed != nil && i > o.Failed.Index:
				c.Skipped = &struct{}{}
				suite.Skipped++
			case o.Failed != nil && i == o.Failed.Index:
				suite.Failures++
				c.Failure = &xmlFailure{clean(o.Failed.At + ": expected " + o.Failed.Expected + ", actual " + o.Failed.Actual),
					clean(o.Failed.text())}
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Time = seconds(total)
		raw, err := xml.MarshalIndent(suite, "", "  ")
		if err != nil { // texts are clean
			continue
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	b.WriteString("</testsuites>\n")
	return b.Bytes()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// text is a failure for people.
func (f *Failure) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %s\nexpected %s\nactual   %s\n", f.Step, f.Expected, f.Actual)
	for _, n := range f.Nearest {
		fmt.Fprintf(&b, "nearest  %s\n", n.Event)
		for _, d := range n.Differs {
			fmt.Fprintf(&b, "         %s\n", d)
		}
	}
	if f.Hint != "" {
		fmt.Fprintln(&b, f.Hint)
	}
	return b.String()
}

// Text is text, for front ends.
func (f *Failure) Text() string { return f.text() }

// clean takes out what XML cannot have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF || r >= 0xD800 && r < 0xE000 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
