package testadapter

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// Deno runs tests through deno test, whose JUnit report tells the results; the output has what that lacks.
type Deno struct{}

var denoTest = lazyregexp.MustCompile(`^(?:.*[._])?test\.[cm]?[jt]sx?$`)

// Name is the framework's.
func (Deno) Name() string { return "deno" }

// Detect reads deno.json, at Root and in the folders below it, and looks for tests.
func (Deno) Detect(p *Project) Detection {
	best := Detection{}
	configs := []string{"deno.json", "deno.jsonc"}
	for _, pattern := range []string{"*/deno.json", "*/deno.jsonc", "*/*/deno.json", "*/*/deno.jsonc"} {
		configs = append(configs, p.glob(pattern)...)
	}
	for _, name := range configs {
		dir := path.Dir(name)
		if !p.isFile(name) || strings.Contains(dir, "node_modules") {
			continue
		}
		d := Detection{Confidence: 80, Evidence: []string{name + " configures Deno"}, Dir: strings.TrimPrefix(dir, ".")}
		if _, text := p.denoTask(dir, "test"); strings.Contains(text, "deno test") {
			d = Detection{Confidence: 95, Evidence: []string{name + ": task test runs deno test"}, Dir: d.Dir}
		} else if len(p.files(dir, denoTest.Get(), 1)) == 0 {
			d.Confidence = 25
		}
		if d.Dir != "" {
			d.Confidence -= 2
		}
		if pkg := p.packageAt(dir); pkg != nil {
			for other, script := range pkg.uses() {
				if script == "test" && other != "deno" {
					d.Confidence -= 40
					d.Evidence = append(d.Evidence, "but package.json: script test runs "+other)
				}
			}
		}
		if d.Confidence > best.Confidence {
			best = d
		}
	}
	if d := (jsFramework{name: "deno"}).detect(p); d.Confidence > best.Confidence {
		best = d
	}
	return best
}

var jsoncComment = lazyregexp.MustCompile(`(?m)("(?:[^"\\]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/`)

// denoTask is a task of a folder's deno.json: its configuration's name, and its command.
func (p *Project) denoTask(dir, name string) (file, command string) {
	file = p.first(dir, "deno.json", "deno.jsonc")
	var config struct{ Tasks map[string]json.RawMessage }
	text := jsoncComment.ReplaceAllString(p.read(path.Join(dir, file)), "$1")
	if file == "" || json.Unmarshal([]byte(text), &config) != nil {
		return file, ""
	}
	var object struct{ Command string }
	if json.Unmarshal(config.Tasks[name], &command) != nil && json.Unmarshal(config.Tasks[name], &object) == nil {
		command = object.Command
	}
	return file, command
}

// denoCommand is how the project's own task, or its package.json's script, runs deno test.
func (p *Project) denoCommand(dir, task string) scriptCommand {
	_, text := p.denoTask(dir, task)
	for _, words := range shellCommands(text) {
		if c, ok := commandOf(words, "deno"); ok {
			return c
		}
	}
	return p.script(dir, "deno")
}

// Start prepares a run, with the permissions that the project's task gives.
func (a Deno) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	dir := a.Detect(p).dir()
	deno, err := p.command("deno", "Install Deno, or put it into PATH.")
	if err != nil {
		return nil, err
	}
	x := newJSRun("deno", p, r, emit, dir, &nodeTool{argv: []string{deno}}, "")
	x.script, x.text = p.denoCommand(dir, "test"), 4<<20
	var level []string
	if r.Level != AllLevels {
		if own := p.denoCommand(dir, "test:"+string(r.Level)); own.name != "" {
			x.script, level = own, own.files
		} else if level, err = p.jsLevel(dir, r.Level, "deno"); err != nil {
			return nil, err
		}
	}
	x.base = append([]string{"test"}, level...)
	x.reported = func(report string) []string { return []string{"--junit-path=" + report} }
	x.pattern = func(full string) []string {
		return []string{"--filter", "/" + strings.ReplaceAll(full, "/", `\/`) + "/"}
	}
	x.none = func(text string) bool { return strings.Contains(text, "No test modules found") }
	x.within = true
	x.env = []string{"NO_COLOR=1"}
	d := &denoRun{junitRun: &junitRun{jsRun: x}}
	d.whole, d.partial, d.line = d.add, d.guess, d.phase
	if _, err := x.start(); err != nil {
		return nil, err
	}
	return d, nil
}

type denoRun struct{ *junitRun }

var (
	denoCheck   = lazyregexp.MustCompile(`^(Check|Download) (.+)$`)
	denoHeader  = lazyregexp.MustCompile(`^running \d+ tests? from (?:\./)?(.+)$`)
	denoResult  = lazyregexp.MustCompile(`^(\S.*) \.\.\. (ok|FAILED|ignored)\b.*$`)
	denoRunning = lazyregexp.MustCompile(`^(\S.*) \.\.\.$`)
	denoUncaugt = lazyregexp.MustCompile(`(?m)^(?:\./)?(\S.*) \(uncaught error\)\nerror: (?:\(in promise\) )?`)
	denoSummary = lazyregexp.MustCompile(
		`(?m)^(?:ok|FAILED) \| (\d+) passed(?: \((\d+) steps?\))? \| (\d+) failed(?: \((\d+) steps?\))?(?: \| (\d+) ` +
			`ignored(?: \((\d+) steps?\))?)?`)
	denoStep    = lazyregexp.MustCompile(`^\d+ test steps? failed`)
	denoMissing = lazyregexp.MustCompile(`Requires (\w+) access`)
)

// phase tells type checking from running.
func (d *denoRun) phase(line string) {
	if m := denoCheck.FindStringSubmatch(line); m != nil {
		d.res.emit(Event{Kind: PhaseChanged, Phase: Compiling, Text: line})
	} else if m := denoHeader.FindStringSubmatch(line); m != nil && d.p.isFile(path.Join(d.dir, m[1])) {
		d.res.emit(Event{Kind: PhaseChanged, Phase: Running, Text: m[1]})
	}
}

// add reads what the report lacks: which tests are steps of others, errors outside of tests, and Deno's own counts.
func (d *denoRun) add(tests []*Test) {
	names, full := map[string]*Test{}, map[*Test]string{}
	for _, t := range tests {
		full[t] = t.File + separator + t.Name
		names[full[t]] = t
	}
	groups := Totals{}
	for _, t := range tests {
		d.judge(t)
		if parent := stepOf(names, full[t], len(t.File)); parent != nil {
			t.Parent, t.Suite = parent.ID, full[parent]
			t.Name = strings.TrimPrefix(full[t], full[parent]+separator)
			if len(parent.Failures) == 0 || denoStep.MatchString(parent.Failures[0].Message) {
				parent.Group = parent.Status == Passed || parent.Status == Failed
			}
		}
	}
	for _, t := range tests {
		if t.Group && t.Fails {
			groups.Failed++
		} else if t.Group {
			groups.Passed++
		}
	}
	text := d.out.String()
	errors := d.uncaught(text)
	if all := denoSummary.FindAllStringSubmatch(text, -1); len(all) > 0 {
		m := all[len(all)-1]
		count := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
		d.res.own = &Totals{Passed: count(1) + count(2) - groups.Passed, Failed: count(3) + count(4) - groups.Failed - errors,
			Skipped: count(5) + count(6)}
	}
}

// stepOf is the test that a step belongs to: the report names steps by all names on the way.
func stepOf(names map[string]*Test, full string, file int) *Test {
	for {
		at := strings.LastIndex(full, separator)
		if at <= file {
			return nil
		}
		full = full[:at]
		if parent := names[full]; parent != nil {
			return parent
		}
	}
}

func (d *denoRun) judge(t *Test) {
	for i := range t.Failures {
		f := &t.Failures[i]
		f.Message = strings.TrimPrefix(f.Message, "Uncaught ")
		f.Message = strings.TrimPrefix(strings.TrimPrefix(f.Message, "(in promise) "), "Error: ")
		switch {
		case strings.HasPrefix(f.Message, "AssertionError"):
			f.Kind = "assertion"
			f.Message = strings.TrimPrefix(f.Message, "AssertionError: ")
		case strings.Contains(f.Message, "Leaks detected"),
			strings.Contains(f.Message, "was started before the test, but was completed"):
			f.Kind = "leak"
		case strings.Contains(f.Message, "attempted to exit with exit code"),
			strings.Contains(f.Message, "finished with exit code"):
			f.Kind = "exit"
		}
		if m := denoMissing.FindStringSubmatch(f.Message); m != nil && strings.Contains(f.Message, "--allow-") {
			f.Message += "\n" + d.permissions()
		}
	}
}

// permissions says where the tests' permissions came from.
func (d *denoRun) permissions() string {
	if d.script.name == "" {
		return "The tests ran without permissions, since deno.json has no task test that runs deno test: add one with the " +
			"flags that they need."
	}
	var given []string
	for _, option := range d.script.options {
		if strings.HasPrefix(option, "--allow-") || strings.HasPrefix(option, "-A") || strings.HasPrefix(option, "-P") {
			given = append(given, option)
		}
	}
	if len(given) == 0 {
		return "The project's task test gives no permissions."
	}
	return "The project's task test gives only " + strings.Join(given, " ")
}

// uncaught tells the errors outside of tests, which stand between the last two headings of the output.
func (d *denoRun) uncaught(text string) int {
	at := strings.LastIndex(text, "\n ERRORS \n")
	if at < 0 {
		return 0
	}
	n := 0
	for _, m := range denoUncaugt.FindAllStringSubmatchIndex(text[at:], 1000) {
		file := text[at:][m[2]:m[3]]
		if !d.p.isFile(path.Join(d.dir, file)) {
			continue
		}
		block, _, _ := strings.Cut(text[at:][m[1]:], "\n\n")
		f := d.failure(wireFailure{Kind: "collect", Message: firstLine(block), Stack: block})
		id := d.res.rel(absolute(filepath.Join(d.p.Root, d.dir), file))
		if f.File == "" {
			f.File = id
		}
		d.res.troubled(id, id, f)
		n++
	}
	return n
}

// guess reads results from the output where Deno died: a test's name stands there while it runs.
func (d *denoRun) guess(exit Exit) {
	file := ""
	used := map[string]int{}
	var running *Test
	for line := range strings.Lines(d.out.String()) {
		line = strings.TrimRight(line, "\n")
		if m := denoHeader.FindStringSubmatch(line); m != nil {
			file = d.res.rel(absolute(filepath.Join(d.p.Root, d.dir), m[1]))
			continue
		}
		if file == "" {
			continue
		}
		if m := denoResult.FindStringSubmatch(line); m != nil {
			t := &Test{Name: m[1], Suite: file, File: file, Attempts: 1,
				Status: map[string]Status{"ok": Passed, "FAILED": Failed, "ignored": Skipped}[m[2]]}
			t.ID = numbered(used, file+separator+m[1])
			if t.Fails = t.Status == Failed; t.Fails {
				t.Failures = []Failure{{Kind: "exception",
					Message: "failed; the output has the error, since Deno died before it wrote its report"}}
			}
			running = nil
			d.res.finished(t)
		} else if m := denoRunning.FindStringSubmatch(line); m != nil {
			running = &Test{ID: file + separator + m[1], Name: m[1], Suite: file, File: file}
		}
	}
	if file == "" {
		return
	}
	d.res.note("Deno wrote no report: the results are read from its output")
	if running != nil {
		for _, at := range d.p.titles(file) {
			if at.Function == running.Name {
				running.Line = at.Line
			}
		}
		d.res.started(running)
	}
}

// Rerun runs one test by its file and name; steps run within their test.
func (a Deno) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).dir()
	at := filepath.Join(p.Root, dir)
	file, names := p.splitID(t.ID)
	if file == "" {
		file = t.File
	}
	script := p.denoCommand(dir, "test")
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat([]string{"deno", "test"}, script.options, r.Args, script.files), Env: script.env,
			Dir: at, Framework: "deno"}
	}
	argv := slices.Concat([]string{"deno", "test"}, onlyOptions("deno", script.options, namePatterns...),
		onlyOptions("deno", r.Args, namePatterns...))
	if names != "" {
		x := jsRun{}
		pattern := "^" + x.quote(names) + "$"
		if t.Parent != "" {
			pattern = x.ancestors(names)
		}
		argv = append(argv, "--filter", "/"+strings.ReplaceAll(pattern, "/", `\/`)+"/")
	}
	return Rerun{Argv: append(argv, relativeTo(at, filepath.Join(p.Root, file))), Env: script.env, Dir: at, Test: t.ID,
		Framework: "deno"}
}
