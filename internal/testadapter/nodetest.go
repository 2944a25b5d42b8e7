package testadapter

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// NodeTest runs tests through Node's own runner, node --test, with a reporter of ours beside its own.
type NodeTest struct{}

// Name is the framework's.
func (NodeTest) Name() string { return "node" }

// Detect reads package.json's scripts, and looks for files that import node:test.
func (NodeTest) Detect(p *Project) Detection {
	d := jsFramework{name: "node"}.detect(p)
	if d.Confidence > 0 {
		return d
	}
	for _, pkg := range p.packages() {
		for _, name := range p.files(pkg.Dir, jsTest.Get(), 20) {
			if !strings.Contains(p.read(name), "node:test") {
				continue
			}
			d = Detection{Confidence: 72, Evidence: []string{name + " imports node:test"}, Dir: strings.TrimPrefix(pkg.Dir, ".")}
			if len(pkg.uses()) > 0 {
				d.Confidence = 35
			}
			return d
		}
	}
	return d
}

// Start prepares a run.
func (a NodeTest) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	script := p.script(dir, "node")
	patterns := script.files
	node, err := p.command("node", "Install Node.js 20 or later, or put it into PATH.")
	if err != nil {
		return nil, err
	}
	tool := &nodeTool{argv: []string{node}}
	if script.name == "tsx" {
		if tool, err = p.tool(dir, "tsx", "tsx"); err != nil {
			return nil, err
		}
	}
	if r.Level != AllLevels {
		level, err := p.jsLevel(dir, r.Level, "node")
		if err != nil {
			return nil, err
		}
		if patterns = p.levelFiles(dir, level); len(patterns) == 0 {
			return nil, fault.New(fault.Unsupported, "Leave out level.", "no test file of level %s was found", r.Level)
		}
	}
	x := newJSRun("node", p, r, emit, dir, tool, "strobe_node.mjs")
	x.script.env = script.env
	x.base = append(slices.Clone(script.options), "--test", "--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter="+inDir(r, "strobe_node.mjs"), "--test-reporter-destination="+inDir(r, "strobe_nothing"))
	if r.Traced {
		x.base = append(x.base, "--test-concurrency=1")
	}
	x.pattern = func(full string) []string {
		return []string{"--test-name-pattern=/" + strings.ReplaceAll(full, "/", `\/`) + "/"}
	}
	x.args = func(selected []string, file bool) []string {
		if file {
			return reorder(selected)
		}
		return append(reorder(selected), p.expand(dir, patterns)...)
	}
	x.none = func(text string) bool { return strings.Contains(text, "Could not find") }
	x.within, x.own = true, true // Node before 22 matches own names
	n := &nodeRun{jsRun: x}
	x.wire = n.died
	if _, err := x.start(); err != nil {
		return nil, err
	}
	inner := x.exits
	x.exits = func(exit Exit) string {
		if len(n.dead) > 0 {
			return "" // told at the end
		}
		return inner(exit)
	}
	return n, nil
}

// reorder puts options before files, as node wants them.
func reorder(args []string) []string {
	sorting.By(args, func(a, b string) int {
		return rank(a) - rank(b)
	})
	return args
}

func rank(arg string) int {
	if strings.HasPrefix(arg, "-") {
		return 0
	}
	return 1
}

// expand makes files of patterns, as a shell does; Node before 21 does not. Patterns with ** are left to Node.
func (p *Project) expand(dir string, patterns []string) []string {
	var files []string
	for _, pattern := range patterns {
		if strings.Contains(pattern, "**") || !strings.ContainsAny(pattern, "*?[{") {
			files = append(files, pattern)
			continue
		}
		names, err := fs.Glob(p.FS, path.Join(dir, strings.TrimPrefix(pattern, "./")))
		if err != nil || len(names) == 0 {
			files = append(files, pattern)
			continue
		}
		for _, name := range names {
			files = append(files, relativeTo(filepath.Join(p.Root, dir), filepath.Join(p.Root, name)))
		}
	}
	return files
}

// levelFiles are the files of a level's folders or patterns.
func (p *Project) levelFiles(dir string, level []string) []string {
	var files []string
	for _, at := range level {
		if strings.HasPrefix(at, "-") {
			continue
		}
		if !p.isDir(path.Join(dir, at)) {
			files = append(files, p.expand(dir, []string{at})...)
			continue
		}
		for _, name := range p.files(path.Join(dir, at), jsTest.Get(), 1000) {
			files = append(files, relativeTo(filepath.Join(p.Root, dir), filepath.Join(p.Root, name)))
		}
	}
	return files
}

// nodeRun looks once more at files whose process ended by itself: Node then keeps back what the file had told, so a
// second, short run with a hook of ours finds the test that took it down.
type nodeRun struct {
	*jsRun
	dead   map[string]*wireTest // results of such files, which are told at the end
	files  []string
	looked bool
	last   map[string][]string // file -> the test that ran last
	passed map[string]bool
}

func (n *nodeRun) died(e *wireEvent) {
	if n.dead == nil {
		n.dead, n.last = map[string]*wireTest{}, map[string][]string{}
	}
	switch {
	case e.E == "done":
		n.held = nil // every result has come in its turn
	case e.E == "died":
		n.files = append(n.files, e.File)
	case e.E == "end" && e.Status == Crashed && slices.Contains(n.files, e.File):
		w := e.wireTest
		n.dead[e.File] = &w
		e.E = ""
	case e.E == "runs":
		n.last[e.File] = e.Names
		e.E = ""
	case e.E == "ran":
		delete(n.last, e.File)
		e.E = ""
	}
}

// Next adds the steps that look again.
func (n *nodeRun) Next() (*Step, error) {
	step, err := n.jsRun.Next()
	if step != nil || err != nil || n.looked {
		if step == nil && err == nil {
			n.tell()
		}
		return step, err
	}
	n.looked = true
	const most = 5
	for i, file := range n.files[:min(len(n.files), most)] {
		name := fmt.Sprintf("again%d", i)
		hook := inDir(n.r, name+"/strobe_node_hook.mjs")
		step := n.step(name, nil)
		argv := append(slices.Clone(n.tool.argv), "--import="+hook)
		for _, arg := range n.base {
			if !strings.HasPrefix(arg, "--test-reporter") {
				argv = append(argv, arg)
			}
		}
		step.Argv = append(argv, "--test-reporter=spec", file)
		step.Files = map[string][]byte{
			hook:                                  reporter("strobe_node_hook.mjs"),
			inDir(n.r, name+"/strobe_common.cjs"): reporter("strobe_common.cjs"),
			inDir(n.r, name+"/strobe_config.json"): config(
				map[string]any{"report": step.Reports[0], "root": n.p.Root, "file": file}),
		}
		n.steps = append(n.steps, step)
	}
	if len(n.steps) == 0 {
		return nil, nil
	}
	return n.jsRun.Next()
}

// End of a step that looks again only closes the report.
func (n *nodeRun) End(exit Exit) {
	if !n.looked {
		n.jsRun.End(exit)
		return
	}
	n.lines.Close()
}

// tell tells what took each file's process down.
func (n *nodeRun) tell() {
	for _, file := range n.files {
		w := n.dead[file]
		if w == nil {
			continue
		}
		delete(n.dead, file)
		if names := n.last[file]; len(names) > 0 {
			rel := n.res.rel(file)
			w.ID, w.Name, w.Suite = strings.Join(append([]string{rel}, names...), separator), names[len(names)-1],
				strings.Join(append([]string{rel}, names[:len(names)-1]...), separator)
			for i := range w.Failures {
				w.Failures[i].Message += " while this test ran (found by running the file once more)"
			}
			n.res.note("%s ended its process: what became of its other tests is not known, since Node keeps that back", rel)
		}
		n.res.finished(n.test(w))
	}
	n.res.over()
}

// Rerun runs one test by its file and full name.
func (a NodeTest) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	at := filepath.Join(p.Root, dir)
	script := p.script(dir, "node")
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat([]string{"node"}, script.options, []string{"--test"}, r.Args, script.files),
			Env: script.env, Dir: at, Framework: "node"}
	}
	argv := slices.Concat([]string{"node"}, onlyOptions("node", script.options, namePatterns...), []string{"--test"},
		onlyOptions("node", r.Args, namePatterns...))
	file, names := p.splitID(t.ID)
	if names != "" {
		x := jsRun{}
		pattern := "^" + x.quote(names) + "$"
		switch nested := strings.HasSuffix(names, separator+t.Name); {
		case nested && t.Parent != "": // it runs within its parents
			pattern = x.ancestors(names)
		case nested: // Node before 22 matches own names
			pattern = "^(?:" + x.quote(names) + "|" + x.quote(t.Name) + ")$"
		}
		argv = append(argv, "--test-name-pattern=/"+strings.ReplaceAll(pattern, "/", `\/`)+"/")
	}
	if file == "" {
		file = t.File
	}
	return Rerun{Argv: append(argv, relativeTo(at, filepath.Join(p.Root, file))), Env: script.env, Dir: at, Test: t.ID,
		Framework: "node"}
}
