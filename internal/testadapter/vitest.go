package testadapter

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Vitest runs tests through Vitest with a reporter of ours beside its own.
type Vitest struct{}

var vitestProject = jsFramework{name: "vitest", packages: []string{"vitest"},
	configs: []string{"vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs",
		"vitest.config.cts", "vitest.config.cjs", "vitest.workspace.ts", "vitest.workspace.js", "vitest.workspace.json"}}

// Name is the framework's.
func (Vitest) Name() string { return "vitest" }

// Detect reads package.json and configurations.
func (Vitest) Detect(p *Project) Detection { return vitestProject.detect(p) }

// Start prepares a run.
func (a Vitest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	tool, err := p.tool(dir, "vitest", "vitest")
	if err != nil {
		return nil, err
	}
	level, err := p.jsLevel(dir, r.Level, "vitest")
	if err != nil {
		return nil, err
	}
	x := newJSRun("vitest", p, r, emit, dir, tool, "strobe_vitest.mjs")
	x.base = append([]string{"run", "--reporter=default", "--reporter=" + inDir(r, "strobe_vitest.mjs"), "--no-coverage"},
		level...)
	if r.Traced {
		x.base = append(x.base, "--no-file-parallelism")
	}
	x.script = p.script(dir, "vitest")
	x.marks = true
	x.pattern = func(full string) []string { return []string{"-t", full} }
	x.none = func(text string) bool { return strings.Contains(text, "No test files found") }
	x.summary = vitestSummary
	return x.start()
}

// Rerun runs one test by its file and full name.
func (a Vitest) Rerun(p *Project, r *Request, t *Test) Rerun {
	again := jsRerun(p, r, a.Detect(p).dir(), "vitest", "vitest", []string{"run"}, t, func(file, full string) []string {
		argv := []string{"run", file}
		if full != "" {
			argv = append(argv, "-t", full)
		}
		return argv
	})
	again.Framework = "vitest"
	return again
}

var vitestTests = lazyregexp.MustCompile(`(?m)^\s*Tests\s+((?:\d+ [a-z ]+?)(?: \| \d+ [a-z ]+?)*) \(\d+\)\s*$`)

// vitestSummary reads the line of totals that Vitest's own reporter ends with: "Tests 1 failed | 5 passed | 1 skipped |
// 1 todo (8)".
func vitestSummary(text string) *Totals {
	all := vitestTests.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return nil
	}
	t := &Totals{}
	for part := range strings.SplitSeq(all[len(all)-1][1], " | ") {
		n, what, _ := strings.Cut(part, " ")
		count, err := strconv.Atoi(n)
		if err != nil {
			return nil
		}
		switch what {
		case "failed":
			t.Failed += count
		case "passed", "expected fail":
			t.Passed += count
		case "skipped", "todo":
			t.Skipped += count
		}
	}
	return t
}

// relativeTo is a path below a folder, as a command line run there names it.
func relativeTo(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return name
}
