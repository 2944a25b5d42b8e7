package testadapter

import (
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Mocha runs tests through Mocha with a reporter of ours, which prints as Mocha's own.
type Mocha struct{}

var mochaProject = jsFramework{name: "mocha", packages: []string{"mocha", "ts-mocha"}, field: "mocha",
	configs: []string{".mocharc.js", ".mocharc.cjs", ".mocharc.mjs", ".mocharc.yml", ".mocharc.yaml", ".mocharc.json",
		".mocharc.jsonc", "test/mocha.opts"}}

// Name is the framework's.
func (Mocha) Name() string { return "mocha" }

// Detect reads package.json and configurations.
func (Mocha) Detect(p *Project) Detection { return mochaProject.detect(p) }

// Start prepares a run.
func (a Mocha) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	tool, err := p.tool(dir, "mocha", "mocha")
	if err != nil {
		return nil, err
	}
	if tool.dir == "" {
		return nil, fault.New(fault.Unsupported, "Set nodeLinker: node-modules in .yarnrc.yml.",
			"Mocha's reporter cannot be loaded with Yarn's Plug'n'Play")
	}
	level, err := p.jsLevel(dir, r.Level, "mocha")
	if err != nil {
		return nil, err
	}
	x := newJSRun("mocha", p, r, emit, dir, tool, "strobe_mocha.cjs")
	x.base = append([]string{"--reporter", inDir(r, "strobe_mocha.cjs")}, mochaFolders(level)...)
	if r.Traced || r.Test != "" {
		x.base = append(x.base, "--no-parallel") // one process, where tests can be taken out exactly
	}
	x.script = p.script(dir, "mocha")
	x.settings = map[string]any{"mocha": tool.dir}
	none := false
	x.wire = func(e *wireEvent) { none = none || e.E == "none" }
	x.none = func(text string) bool { return none || strings.Contains(text, "No test files found") }
	x.exits, x.env = x.exit, x.script.env
	x.around()
	var args []string
	if file, _ := p.splitID(r.Test); file != "" {
		args = []string{filepath.Join(p.Root, file)}
	}
	x.steps = []*Step{x.step("run", args)} // what is asked for is selected by the reporter
	if r.Test == "" {
		x.repeat(nil)
	}
	return x, nil
}

// mochaFolders makes patterns of a level's folders, which Mocha enters only with --recursive.
func mochaFolders(level []string) []string {
	if len(level) == 1 && strings.HasSuffix(level[0], "/") {
		return append(level, "--recursive")
	}
	return level
}

// Rerun runs one test by its file and full name.
func (a Mocha) Rerun(p *Project, r *Request, t *Test) Rerun {
	one := *t
	one.ID = mochaHook.ReplaceAllString(strings.TrimSuffix(t.ID, " (later)"), "") // a hook runs with its suite
	again := jsRerun(p, r, a.Detect(p).dir(), "mocha", "mocha", nil, &one, func(file, full string) []string {
		argv := []string{file}
		if full != "" {
			argv = append(argv, "--grep", full)
		}
		return argv
	})
	if again.Framework = "mocha"; again.Test != "" {
		again.Test = t.ID
	}
	return again
}

// mochaHook is what follows the suite's name in the ID of a hook that failed.
var mochaHook = lazyregexp.MustCompile(`(?s) > "(?:before|after) (?:all|each)" hook.*$`)
