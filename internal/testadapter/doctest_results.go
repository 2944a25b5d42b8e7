package testadapter

import "strings"

func (x *doctestRun) closed(name, text string) {
	c := x.cur
	if c == nil {
		return
	}
	text = strings.TrimSpace(text)
	switch name {
	case "SubCase":
		if len(c.subcases) > 0 {
			c.subcases = c.subcases[:len(c.subcases)-1]
		}
	case "Original":
		c.original = text
	case "Expanded":
		c.expanded = text
	case "Info":
		if len(c.infos) < 50 {
			c.infos = append(c.infos, text)
		}
	case "Text":
		if c.message != nil {
			c.original = text
		}
	case "Message":
		if kind := c.message["type"]; strings.Contains(kind, "ERROR") {
			c.add(Failure{Kind: "assertion", Message: c.original, File: x.source("", c.message["filename"]),
				Line: number(c.message["line"])})
		}
		c.message = nil
	case "Exception", "ExpectedException", "ExpectedExceptionString":
		x.threw(c, name, text)
	case "Expression":
		if c.expr != nil && c.expr["success"] == "false" && !strings.HasPrefix(c.expr["type"], "WARN") {
			f := Failure{Kind: "assertion", File: x.source("", c.expr["filename"]), Line: number(c.expr["line"]),
				Message: c.expr["type"] + "( " + c.original + " )"}
			if strings.HasPrefix(c.expanded, "threw: ") {
				f.Kind, f.Message = "exception", f.Message+" "+c.expanded
			} else if c.expanded != "" {
				f.Message += "\nwith expansion: " + c.expanded
				if !strings.Contains(c.expr["type"], "FALSE") {
					f.Actual, f.Expected = comparison(c.expanded)
				}
			}
			c.add(f)
		}
		c.expr = nil
	case "TestCase":
		x.judge(c)
		x.cur = nil
	}
}

// threw reads an exception: of an expression, or of the test case itself, where it may stand for a signal.
func (x *doctestRun) threw(c *doctestCase, name, text string) {
	switch {
	case c.expr != nil && name == "Exception":
		c.expanded = "threw: " + text
	case c.expr != nil:
		c.infos = append(c.infos, "expected exception: "+text)
	case name == "Exception" && c.crash == "true":
		signal, _, _ := strings.Cut(text, " ")
		if !catchSignal.MatchString(signal) {
			signal = ""
		}
		x.fatal = true
		c.add(Failure{Kind: "crash", Message: text, Signal: signal, File: c.test.File, Line: c.test.Line})
	case name == "Exception":
		c.add(Failure{Kind: "exception", Message: "unexpected exception: " + text, File: c.test.File, Line: c.test.Line})
	}
}

// add keeps a failure with the messages and subcases around it.
func (c *doctestCase) add(f Failure) {
	for _, info := range c.infos {
		f.Message += "\n" + info
	}
	if len(c.subcases) > 0 {
		f.Message += "\nin subcase " + strings.Join(c.subcases, " > ")
	}
	if len(c.failed) < 1000 {
		c.failed = append(c.failed, f)
	}
	c.infos = nil
}

func (x *doctestRun) judge(c *doctestCase) {
	t := &c.test
	success := c.result["test_case_success"] == "true"
	t.Duration = seconds(orElse(c.result["duration"], "0"))
	t.Status = Passed
	reason := Failure{Kind: "assertion", File: t.File, Line: t.Line}
	switch {
	case c.attrs["skipped"] == "true":
		t.Status, t.Reason = Skipped, "marked doctest::skip()"
	case x.fatal && len(c.failed) > 0 && c.failed[len(c.failed)-1].Kind == "crash":
		t.Status, t.Fails, t.Failures = Crashed, true, c.failed
	case success && len(c.failed) > 0:
		t.Status, t.Failures = ExpectedFailure, c.failed
	case success:
	case c.attrs["should_fail"] == "true" && len(c.failed) == 0:
		reason.Message = "marked doctest::should_fail(), and did not fail"
		t.Status, t.Fails, t.Failures = UnexpectedPass, true, []Failure{reason}
	case c.result["expected_failures"] != "":
		reason.Message = "failed " + c.result["failures"] + " times, and is marked doctest::expected_failures(" +
			c.result["expected_failures"] + ")"
		t.Status, t.Fails, t.Failures = Failed, true, append([]Failure{reason}, c.failed...)
	case len(c.failed) > 0:
		t.Status, t.Fails, t.Failures = Failed, true, c.failed
	case c.attrs["timeout"] != "":
		reason.Kind, reason.Message = "timeout", "took longer than its doctest::timeout("+c.attrs["timeout"]+")"
		t.Status, t.Fails, t.Failures = TimedOut, true, []Failure{reason}
	default:
		reason.Message = "no assertion failed, and doctest says that the test did"
		t.Status, t.Fails, t.Failures = Failed, true, []Failure{reason}
	}
	x.finished(t)
}
