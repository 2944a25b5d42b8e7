package testadapter

import (
	"slices"
	"strings"
)

// Jest runs tests through Jest with a reporter of ours beside its own.
type Jest struct{}

var jestProject = jsFramework{name: "jest", packages: []string{"jest", "react-scripts", "ts-jest", "@jest/core"},
	field: "jest",
	configs: []string{"jest.config.js", "jest.config.ts", "jest.config.cjs", "jest.config.mjs", "jest.config.json",
		"jest.config.cts", "jest.config.mts"}}

// Name is the framework's.
func (Jest) Name() string { return "jest" }

// Detect reads package.json and configurations.
func (Jest) Detect(p *Project) Detection { return jestProject.detect(p) }

// tool is Jest, or what runs it.
func (Jest) tool(p *Project, dir string) (*nodeTool, error) {
	if pkg := p.packageAt(dir); pkg != nil && pkg.Deps["jest"] == "" && pkg.Deps["react-scripts"] != "" {
		tool, err := p.tool(dir, "react-scripts", "react-scripts")
		if err != nil {
			return nil, err
		}
		tool.argv = append(tool.argv, "test", "--watchAll=false")
		return tool, nil
	}
	return p.tool(dir, "jest", "jest")
}

// Start prepares a run.
func (a Jest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	tool, err := a.tool(p, dir)
	if err != nil {
		return nil, err
	}
	level, err := p.jsLevel(dir, r.Level, "jest")
	if err != nil {
		return nil, err
	}
	x := newJSRun("jest", p, r, emit, dir, tool, "strobe_jest.cjs")
	// Ours is first: what one of them takes to hear of a result would let the next test begin before ours hears of it.
	x.base = append([]string{"--reporters=" + inDir(r, "strobe_jest.cjs"), "--reporters=default",
		"--testLocationInResults", "--coverage=false"}, level...)
	if r.Traced {
		x.base = append(x.base, "--runInBand")
	}
	x.script = p.script(dir, "jest")
	x.marks = true
	x.pattern = func(full string) []string { return []string{"--testNamePattern", full} }
	x.files = func(file string) []string { return []string{"--runTestsByPath", file} }
	x.none = func(text string) bool { return strings.Contains(text, "No tests found") }
	x.wire = func(e *wireEvent) {
		for i := range e.Failures {
			f := &e.Failures[i]
			if expected, actual := jestSides(clean(f.Message)); expected+actual != "" {
				f.Expected, f.Actual = expected, actual // as Jest shows them
			}
		}
	}
	return x.start()
}

// Rerun runs one test by its file and full name.
func (a Jest) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	again := jsRerun(p, r, dir, "jest", "jest", nil, t, func(file, full string) []string {
		argv := []string{"--runTestsByPath", file}
		if full != "" {
			argv = append(argv, "--testNamePattern", full)
		}
		return argv
	})
	if tool, err := a.tool(p, dir); err == nil && slices.Contains(tool.argv, "test") {
		node := p.script(dir, "jest").node
		again.Argv = append(withNode(tool.argv, node), again.Argv[2+len(node):]...)
	}
	again.Framework = "jest"
	return again
}
