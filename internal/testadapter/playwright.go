package testadapter

import (
	"regexp"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Playwright runs tests through Playwright Test with a reporter of ours beside the one that it prints with.
type Playwright struct{}

var playwrightProject = jsFramework{name: "playwright", packages: []string{"@playwright/test"},
	configs: []string{"playwright.config.ts", "playwright.config.js", "playwright.config.mts", "playwright.config.mjs",
		"playwright.config.cjs"}}

// Name is the framework's.
func (Playwright) Name() string { return "playwright" }

// Detect reads package.json and configurations. Beside a framework for unit tests it is the second.
func (Playwright) Detect(p *Project) Detection { return playwrightProject.detect(p) }

// Start prepares a run.
func (a Playwright) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if r.Level == Unit || r.Level == Integration {
		return nil, fault.New(fault.Unsupported, "Give level e2e or none, or another framework.",
			"Playwright's tests are end-to-end tests: they have no level %s", r.Level)
	}
	dir := a.Detect(p).dir()
	tool, err := p.tool(dir, "@playwright/test", "playwright")
	if err != nil {
		return nil, err
	}
	x := newJSRun("playwright", p, r, emit, dir, tool, "strobe_playwright.cjs")
	x.base = []string{"test", "--reporter=" + inDir(r, "strobe_playwright.cjs")}
	if project := playwrightTag.FindStringSubmatch(r.Test); project != nil {
		x.base = append(x.base, "--project="+project[1])
	}
	if r.Traced {
		x.base = append(x.base, "--workers=1")
	}
	x.script = p.script(dir, "playwright")
	x.pattern = func(full string) []string { return []string{"--grep", playwrightGrep(full)} }
	x.files = func(file string) []string { return []string{regexp.QuoteMeta(file) + "$"} }
	none := false
	x.wire = func(e *wireEvent) {
		none = none || e.E == "none"
		for i := range e.Failures {
			f := &e.Failures[i]
			if expected, actual := jestSides(f.Message); f.Expected+f.Actual == "" {
				f.Expected, f.Actual = expected, actual
			}
		}
	}
	x.none = func(text string) bool { return none || strings.Contains(text, "No tests found") }
	return x.start()
}

var playwrightTag = lazyregexp.MustCompile(`^\[([^\]]+)\] `)

// playwrightGrep makes a pattern for what Playwright compares: project, file, describes and title, then tags, with
// spaces between.
func playwrightGrep(full string) string {
	if names, ok := strings.CutPrefix(full, "^"); ok {
		full = `\.[cm]?[jt]sx? ` + names // after the file
	}
	if names, ok := strings.CutSuffix(full, "$"); ok {
		full = names + `(?: @\S+)*$`
	}
	return full
}

// Rerun runs one test by its project, file and full name.
func (a Playwright) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := jsRerun(p, r, a.Detect(p).dir(), "@playwright/test", "playwright", []string{"test"}, t,
		func(file, full string) []string {
			argv := []string{"test", regexp.QuoteMeta(file) + "$"}
			if full != "" {
				argv = append(argv, "--grep", playwrightGrep(full))
			}
			if project := playwrightTag.FindStringSubmatch(t.ID); project != nil {
				argv = append(argv, "--project="+project[1])
			}
			return argv
		})
	again.Framework = "playwright"
	return again
}
