package scenario

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

// FuzzScenario: whatever a file holds, it is read or refused with a hint, and what was read is within bounds.
func FuzzScenario(f *testing.F) {
	for _, s := range []string{
		"steps:\n - do: net.request\n   path: /${x}\n - assert: net\n   status: 200\nvars: {x: 1}\n",
		`{"steps":[{"repeat":3,"steps":[{"wait":1}]},{"parallel":[{"note":"a"},[{"note":"b"}]]}]}`,
		`{"steps":[{"capture":"a","from":{"channel":"stdio","text":"x","take":"text","pattern":"(.)"}},{"note":"${a}"}]}`,
		`{"steps":[{"assert":"value","expression":"x","between":[1,2]},{"waitFor":{"channel":"trace","function":"f"}}]}`,
		"a: &a [*a]\nsteps: *a\n", "{1: 2}", "steps: [{do: file:*.txt.write, path: a}]", "- -\n- ?\n", "steps: !!binary aa",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, err := FromYAML(text)
		if err == nil {
			var s *Scenario
			if s, err = Parse(raw); err == nil {
				if len(s.Steps) == 0 || s.StepTimeoutMs < 1 {
					t.Errorf("%q was read as %+v", text, s)
				}
				return
			}
		}
		if e := fault.From(err); e.Code == fault.InternalError || e.Hint == "" {
			t.Errorf("%q: %v says not what to do", text, err)
		}
	})
}

// TestSchemaIsJSON: the published schema can be read, and has every step and message.
func TestSchemaIsJSON(t *testing.T) {
	raw, err := Schema()
	if err != nil || !json.Valid(raw) {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, k := range stepKinds {
		if !strings.Contains(string(raw), `"`+k+`"`) {
			t.Errorf("the schema lacks %s", k)
		}
	}
	have, err := os.ReadFile("../../docs/scenario.schema.json")
	if err != nil || string(have) != string(raw) {
		t.Errorf("docs/scenario.schema.json is stale: strobe scenario --schema writes it anew (%v)", err)
	}
}

// TestJUnit: a report is XML whatever texts hold, and counts what there is.
func TestJUnit(t *testing.T) {
	step := `{"do":"stdio.text","text":"a<b>&\u0000\ufffe\"]]>"}`
	out := JUnit([]Outcome{
		{Name: "passes <&>", Steps: []string{step, step}, Took: []time.Duration{time.Second, time.Second}},
		{Name: "fails", Steps: []string{step, step, step}, Took: []time.Duration{1, 2},
			Failed: &Failure{Index: 1, At: "steps[1]", Step: json.RawMessage(step), Actual: "\x00\xff", Hint: "]]>"}},
		{Name: "was not run", Steps: []string{step}, Err: "VALIDATION_ERROR: x"},
	})
	var suites struct {
		Suites []struct {
			Name                             string `xml:"name,attr"`
			Tests, Failures, Errors, Skipped int
			T                                int    `xml:"tests,attr"`
			F                                int    `xml:"failures,attr"`
			E                                int    `xml:"errors,attr"`
			S                                int    `xml:"skipped,attr"`
			Time                             string `xml:"time,attr"`
			Cases                            []struct {
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out, &suites); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := [][4]int{{2, 0, 0, 0}, {3, 1, 0, 1}, {2, 0, 1, 1}}
	for i, s := range suites.Suites {
		if got := [4]int{s.T, s.F, s.E, s.S}; got != want[i] || len(s.Cases) != s.T {
			t.Errorf("suite %d has %v and %d cases, want %v", i, got, len(s.Cases), want[i])
		}
	}
	if suites.Suites[0].Time != "2.000" {
		t.Errorf("time = %s", suites.Suites[0].Time)
	}
}

// TestLoosely: what is expected of a text fits it, and the same text with other numbers and dates.
func TestLoosely(t *testing.T) {
	for _, c := range [][2]string{
		{"listening on port 8080", "listening on port 91"}, {"at 0x7f3a00 (+12.5 ms)", "at 0xdeadbeef (+3.25 ms)"},
		{"Fri, 27 Nov 2026 00:56:58 GMT", "Mon, 01 Jan 2027 10:06:08 GMT"}, {"no numbers (at all)*", "no numbers (at all)*"},
	} {
		re := regexp.MustCompile("^" + loosely(c[0]) + "$")
		if !re.MatchString(c[0]) || !re.MatchString(c[1]) {
			t.Errorf("%s does not fit %q and %q", re, c[0], c[1])
		}
	}
	if re := regexp.MustCompile("^" + loosely("sum 7") + "$"); re.MatchString("sum x") {
		t.Errorf("%s fits anything", re)
	}
}

// TestMisses: each condition on members is told with what there is instead.
func TestMisses(t *testing.T) {
	object := `{"status":404,"path":"/a","headers":{"Content-Type":"text/html"},"body":"{\"user\":{\"id\":18446744073709551615}}"}`
	for _, c := range []struct {
		filter string
		missed int
	}{
		{`{"status":404,"path":"/a"}`, 0}, {`{"status":"404"}`, 0}, {`{"status":405}`, 1}, {`{"headers":{"content-type":
		{"contains":"html"}}}`, 0}, {`{"body":{"user":{"id":18446744073709551615}}}`, 0}, {`{"body.user.id":18446744073709551614}`, 1},
		{`{"status":{"between":[400,499]}}`, 0}, {`{"status":{"greaterThan":404}}`, 1}, {`{"nothing":{"exists":false}}`, 0},
		{`{"nothing":1,"path":{"matches":"^/b"}}`, 2}, {`{"path":{"notEquals":"/a"}}`, 1},
	} {
		f := query.MessageFilter(c.filter)
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", c.filter, err)
		}
		if missed, _ := f.Misses([]byte(object)); len(missed) != c.missed {
			t.Errorf("%s misses %q, want %d", c.filter, missed, c.missed)
		}
	}
}
