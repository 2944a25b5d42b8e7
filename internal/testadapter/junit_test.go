package testadapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const junitSample = `<?xml version="1.0" encoding="ISO-8859-1"?>
<testsuites name="all" tests="6" failures="1" errors="1" skipped="1" time="1,234.5">
 <testsuite name="outer" file="a.test.ts" tests="6" failures="1" skipped="1" disabled="0">
  <testsuite name="inner &gt; deep">
   <testcase name="adds" classname="C" time="0.25" line="7"/>
   <testcase name="fails" file="b.ts"><failure type="E" message="1 &lt; 2">at b.ts:3<![CDATA[ <raw> ]]></failure><failure message="again"/></testcase>
   <testcase name="left &#x1b;[31mout"><skipped message="later"/></testcase>
   <testcase name="errs"><error message="boom">trace</error><system-out>o1</system-out><system-out>o2</system-out><system-err>e</system-err></testcase>
   <testcase name="flaky"><flakyFailure message="first"><stackTrace>st</stackTrace><system-out>x</system-out></flakyFailure><properties><property name="k" value="v"/><property name="t">text</property></properties></testcase>
   <testcase name="notrun" status="notrun"><skipped>in text</skipped></testcase>
  </testsuite>
  <system-out>of the suite</system-out>
  <error message="did not load">why</error>
 </testsuite>
</testsuites>`

func TestJUnit(t *testing.T) {
	got, err := parseJUnit([]byte(junitSample))
	if err != nil {
		t.Fatal(err)
	}
	suite := []string{"outer", "inner > deep"}
	want := &junitReport{
		Totals: junitTotals{Tests: 6, Failures: 1, Errors: 1, Skipped: 1, Disabled: -1},
		Suites: []junitSuite{
			{Path: suite, File: "a.test.ts", Totals: junitTotals{-1, -1, -1, -1, -1}},
			{Path: suite[:1], File: "a.test.ts", Totals: junitTotals{6, 1, -1, 1, 0}, Out: "of the suite",
				Problems: []junitProblem{{Error: true, Message: "did not load", Text: "why"}}},
		},
		Cases: []junitCase{
			{Name: "adds", Class: "C", Time: 250 * time.Millisecond, Line: 7},
			{Name: "fails", File: "b.ts", Problems: []junitProblem{{Message: "1 < 2", Type: "E", Text: "at b.ts:3 <raw> "},
				{Message: "again"}}},
			{Name: "left \uFFFD[31mout", Skipped: true, Reason: "later"},
			{Name: "errs", Problems: []junitProblem{{Error: true, Message: "boom", Text: "trace"}}, Out: "o1o2", Err: "e"},
			{Name: "flaky", Reruns: []junitProblem{{Flaky: true, Message: "first", Text: "stx"}},
				Properties: map[string]string{"k": "v", "t": "text"}},
			{Name: "notrun", Status: "notrun", Skipped: true, Reason: "in text"},
		},
	}
	for i := range want.Cases {
		want.Cases[i].Suite, want.Cases[i].SuiteFile = suite, "a.test.ts"
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A report whose writer died gives what it has, and says that it is broken.
func TestJUnitBrokenOff(t *testing.T) {
	whole := junitSample[:strings.LastIndex(junitSample, ">")+1]
	for n := range len(whole) {
		got, err := parseJUnit([]byte(whole[:n]))
		if err == nil {
			t.Fatalf("%d of %d bytes are taken as a whole report", n, len(whole))
		}
		for _, c := range got.Cases {
			if c.Name == "errs" && len(c.Problems) != 1 {
				t.Fatalf("%d bytes: a case whose end is not there is taken", n)
			}
		}
	}
	got, err := parseJUnit([]byte(whole[:strings.Index(whole, `<testcase name="errs"`)+40]))
	if err == nil || len(got.Cases) != 3 || len(got.Suites) != 2 {
		t.Errorf("cut in the fourth case: %d cases, %d suites, %v", len(got.Cases), len(got.Suites), err)
	}
}

func TestJUnitRefuses(t *testing.T) {
	deep := strings.Repeat("<testsuite>", maxJUnitDepth+1)
	for name, in := range map[string]string{
		"empty":          "",
		"another format": "<html><body/></html>",
		"not XML":        "ok 1 - passes",
		"case in case":   "<testsuite><testcase><testcase/></testcase></testsuite>",
		"depth":          deep,
		"own entities":   `<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>`,
		"mismatched":     "<testsuite><testcase></testsuite></testcase>",
	} {
		if got, err := parseJUnit([]byte(in)); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
}

// Bytes that XML cannot hold, as tests print them, do not lose the report.
func TestJUnitIllegalCharacters(t *testing.T) {
	got, err := parseJUnit([]byte("<testsuite><testcase name='\x1b[1m\xff&#0;&#xFFFF;&#x41;&amp;'/></testsuite>"))
	if err != nil || len(got.Cases) != 1 || got.Cases[0].Name != "\uFFFD[1m\uFFFD\uFFFD\uFFFDA&" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[string]time.Duration{"0.5": 500 * time.Millisecond, "1,000": 1000 * time.Second, "": 0,
		"-1": 0, "NaN": 0, "x": 0, "1e300": 0} {
		if got := seconds(in); got != want {
			t.Errorf("seconds(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzJUnit(f *testing.F) {
	f.Add([]byte(junitSample))
	samples, _ := filepath.Glob("testdata/*/*.xml")
	for _, name := range samples {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, _ := parseJUnit(b); r == nil || len(r.Cases) > maxJUnitCases {
			t.Error("no report")
		}
	})
}
