package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/fleet"
)

// qualityFile is where GitLab's jobs declare their report: artifacts: reports: codequality.
const qualityFile = "gl-code-quality-report.json"

// mark is something to be shown beside a line of the code.
type mark struct {
	file, title, text string
	line              int
	warning           bool
}

// annotator is the CI whose form is wanted: "" where none is.
func annotator(asked string) (string, error) {
	switch asked {
	case "", "github", "gitlab":
		return asked, nil
	case "auto":
		if os.Getenv("GITHUB_ACTIONS") == "true" {
			return "github", nil
		}
		if os.Getenv("GITLAB_CI") == "true" {
			return "gitlab", nil
		}
		return "", nil
	}
	return "", fault.New(fault.ValidationError, "Use github, gitlab or auto.", "no form of annotations is called %q",
		asked)
}

// annotateTests marks what failed, hung or became slower.
func (a *app) annotateTests(r *shownTest, t *testAfter) error {
	form, err := annotator(t.annotate)
	if err != nil || form == "" || r.Result == nil {
		return err
	}
	marks, err := t.marks(r)
	if err != nil {
		return err
	}
	if form == "gitlab" {
		return writeQuality(qualityFile, marks)
	}
	out := a.out
	if a.json { // which has one answer
		out = a.err
	}
	for _, m := range marks {
		fmt.Fprintln(out, m.github())
	}
	return t.stepSummary(r, os.Getenv("GITHUB_STEP_SUMMARY"))
}

// marks are those of a run.
func (t *testAfter) marks(r *shownTest) (out []mark, err error) {
	seen := map[string]bool{}
	add := func(m mark) {
		if key := fmt.Sprint(m.file, m.line, m.title); !seen[key] {
			seen[key] = true
			out = append(out, m)
		}
	}
	for _, f := range r.Result.Failures {
		text := f.Message
		if f.Expected != "" || f.Actual != "" {
			text += "\nexpected: " + f.Expected + "\nactual:   " + f.Actual
		}
		if f.Rerun != nil && f.Rerun.Command != "" {
			text += "\nagain: " + f.Rerun.Command
		}
		add(mark{file: t.path(f.File), line: f.Line, title: titleOf(f.Suite, f.Name) + " failed", text: text})
	}
	if r.Result.FailuresNotShown > 0 { // those beyond the answer's bound
		if err := t.read(r); err != nil {
			return nil, err
		}
		for _, x := range t.run(r).Tests {
			if x.Fails {
				add(mark{file: x.File, line: x.Line, title: x.FullName() + " failed",
					text: cmp.Or(x.Message, "no message")})
			}
		}
	}
	for _, s := range r.Result.Stuck {
		add(mark{title: s.Name + " is stuck", text: s.Diagnosis})
	}
	if t.pushed != nil && t.pushed.Against != nil {
		for _, c := range t.pushed.Against.Regressions {
			if c.What == "slower" {
				add(mark{file: c.File, line: c.Line, title: c.Test + " is slower", warning: true,
					text: fmt.Sprintf("%d ms, %d ms in the last green run", c.NowMs, c.WasMs)})
			}
		}
	}
	return out, nil
}

// titleOf is a test's name with its suite.
func titleOf(suite, name string) string {
	return (&fleet.TestResult{Suite: suite, Name: name}).FullName()
}

// github is a mark as a command of GitHub's workflows, which is one line.
func (m *mark) github() string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	kind, where := "error", ""
	if m.warning {
		kind = "warning"
	}
	if m.file != "" {
		where = "file=" + property.Replace(m.file) + ","
		if m.line > 0 {
			where += fmt.Sprintf("line=%d,", m.line)
		}
	}
	return fmt.Sprintf("::%s %stitle=%s::%s", kind, where, property.Replace(m.title), data.Replace(m.text))
}

// quality is a finding of GitLab's report of code quality.
type quality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// writeQuality writes GitLab's report, which takes the place of an earlier one. What has no place in the code stands at
// the project's folder: the form asks for one.
func writeQuality(path string, marks []mark) error {
	all := []quality{} // an empty list says that all is well
	for _, m := range marks {
		q := quality{Description: m.title + ": " + m.text, CheckName: "test-failed", Severity: "critical"}
		if m.warning {
			q.CheckName, q.Severity = "test-slower", "minor"
		}
		q.Location.Path, q.Location.Lines.Begin = cmp.Or(m.file, "."), max(m.line, 1)
		sum := sha256.Sum256([]byte(m.file + "\x00" + m.title)) // the same in the next run, whatever the line is then
		q.Fingerprint = hex.EncodeToString(sum[:16])
		all = append(all, q)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write report for GitLab: %w", err)
	}
	return nil
}

// stepSummary adds to the page of a GitHub job; "" is none.
func (t *testAfter) stepSummary(r *shownTest, path string) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write the job's summary: %w", err)
	}
	s := &r.Result.Summary
	fmt.Fprintf(f, "### %s: %d passed, %d failed, %d skipped\n\n", r.Framework, s.Passed, s.Failed, s.Skipped)
	if p := t.pushed; p != nil && p.Against != nil {
		writeRegressions(f, p.Against)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the job's summary: %w", err)
	}
	return nil
}

func writeRegressions(w io.Writer, g *greenTests) {
	fmt.Fprintf(w, "Against the last green run of %s (%s):\n\n", branchText(g.Branch), cmp.Or(g.Commit, "no commit"))
	if len(g.Regressions)+len(g.Functions)+len(g.NewErrors) == 0 {
		fmt.Fprint(w, "nothing is worse.\n\n")
		return
	}
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ")
	fmt.Fprint(w, "| | |\n|---|---|\n")
	for _, c := range g.Regressions {
		text := c.Test
		if c.What == "slower" {
			text += fmt.Sprintf(" (%d ms, was %d ms)", c.NowMs, c.WasMs)
		}
		fmt.Fprintf(w, "| %s | %s |\n", c.What, cell.Replace(text))
	}
	for _, f := range g.Functions {
		fmt.Fprintf(w, "| %s | %s |\n", cellText(f["what"]), cell.Replace(cellText(f["function"])))
	}
	for _, f := range g.NewErrors {
		fmt.Fprintf(w, "| new error | %s |\n", cell.Replace(cellText(f["function"])+": "+cellText(f["example"])))
	}
	fmt.Fprintln(w)
}
