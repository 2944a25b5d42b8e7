package scenario

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Outcome is one scenario as a report shows it.
type Outcome struct {
	Name   string
	Steps  []string // the outermost, as JSON
	Took   []time.Duration
	Failed *Failure
	Err    string // it could not be run: why
}

// JUnit is a report of scenarios: a suite for each, a case for each outermost step; those behind the one that failed
// are skipped. It is written by hand: encoding/xml's writer would make the binary 70 KB larger.
func JUnit(all []Outcome) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<testsuites>\n")
	for _, o := range all {
		var cases bytes.Buffer
		var total time.Duration
		tests, failures, errs, skipped := len(o.Steps), 0, 0, 0
		if o.Err != "" {
			tests++
			errs = 1
			fmt.Fprintf(&cases, "  <testcase classname=\"%s\" name=\"run\" time=\"0\"><error message=\"%s\"/></testcase>\n",
				escaped(o.Name), escaped(o.Err))
		}
		for i, step := range o.Steps {
			var took time.Duration
			if i < len(o.Took) {
				took = o.Took[i]
				total += took
			}
			inner := ""
			switch {
			case o.Err != "", o.Failed != nil && i > o.Failed.Index:
				inner = "<skipped/>"
				skipped++
			case o.Failed != nil && i == o.Failed.Index:
				failures++
				inner = fmt.Sprintf("<failure message=\"%s\">%s</failure>", escaped(o.Failed.At+": expected "+
					o.Failed.Expected+", actual "+o.Failed.Actual), escaped(o.Failed.Text()))
			}
			fmt.Fprintf(&cases, "  <testcase classname=\"%s\" name=\"%s\" time=\"%s\">%s</testcase>\n", escaped(o.Name),
				escaped(fmt.Sprintf("%d %s", i, step)), seconds(took), inner)
		}
		fmt.Fprintf(&b, "<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%s\">\n",
			escaped(o.Name), tests, failures, errs, skipped, seconds(total))
		b.Write(cases.Bytes())
		b.WriteString("</testsuite>\n")
	}
	b.WriteString("</testsuites>\n")
	return b.Bytes()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Text is a failure for people.
func (f *Failure) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %s\nexpected %s\nactual   %s\n", f.Step, f.Expected, f.Actual)
	for _, n := range f.Nearest {
		event := string(n.Event)
		json.Unmarshal(n.Event, &event) //nolint:errcheck // it is a text where it was cut
		fmt.Fprintf(&b, "nearest  %s\n", event)
		for _, d := range n.Differs {
			fmt.Fprintf(&b, "         %s\n", d)
		}
	}
	if f.Hint != "" {
		fmt.Fprintln(&b, f.Hint)
	}
	return b.String()
}

// escaped is a text as XML has it; what XML cannot have becomes U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) //nolint:errcheck // a Builder takes all
	return b.String()
}
