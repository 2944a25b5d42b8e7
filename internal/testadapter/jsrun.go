package testadapter

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// jsRun is an execution of a framework that selects tests by files and by a regular expression over their full names,
// and that tells through a reporter of ours. What it runs or reports beyond what was asked for is left out here.
type jsRun struct {
	scripted
	dir       string // below Root
	framework string
	tool      *nodeTool
	reporter  string                       // ours; "": the framework writes JUnit
	reported  func(report string) []string // arguments for that
	base      []string                     // arguments of every step
	pattern   func(regex string) []string  // arguments that select by full names
	files     func(file string) []string   // that select a file; nil: as a path
	none      func(output string) bool     // whether it says that it found nothing
	summary   func(output string) *Totals  // its own counts
	// args arranges what selects, and whether a file is among it; nil: as it is.
	args     func(selected []string, file bool) []string
	script   scriptCommand  // what the project's own script gives
	within   bool           // a test runs only within those that it is a part of
	own      bool           // some versions match tests by their own names, not by full ones
	marks    bool           // tests that were not asked for are reported, as skipped
	settings map[string]any // further ones of the reporter
	env      []string
	before   []string        // commands of the project's script ahead of the framework's
	after    []string        // and behind it
	further  []scriptCommand // of the same framework
	aside    string          // the one of before or after that runs
	broke    bool            // the framework's own command failed
	join     string          // between the parts of a full name; "" is a space
}

// separator stands between the parts of our IDs and suites.
const separator = " > "

func newJSRun(framework string, p *Project, r *Request, emit func(Event), dir string, tool *nodeTool,
	reporter string) *jsRun {
	x := &jsRun{framework: framework, dir: dir, tool: tool, reporter: reporter}
	x.p, x.r, x.res = p, r, newResults(p, emit)
	return x
}

func (x *jsRun) start() (Execution, error) {
	x.exits = x.exit
	x.around()
	env := x.env
	x.env = append(slices.Clone(env), x.script.env...)
	if x.r.Test == "" {
		x.steps = []*Step{x.step("run", x.arrange(nil, false))}
		x.repeat(env)
		return x, nil
	}
	return x, x.choose(x.r.Test)
}

// repeat adds the script's further commands of the same framework.
func (x *jsRun) repeat(env []string) {
	first := x.script
	for i, c := range x.further {
		x.script, x.env = c, append(slices.Clone(env), c.env...)
		x.steps = append(x.steps, x.step(fmt.Sprintf("run%d", i+2), x.arrange(nil, false)))
	}
	x.script, x.env = first, append(slices.Clone(env), first.env...)
	x.res.several = len(x.further) > 0
}

// choose makes the steps that run what Request.Test selects. An ID names its file; else a name is tried, then a part of
// names.
func (x *jsRun) choose(want string) error {
	if file, names := x.p.splitID(want); file != "" {
		x.chooseID(want, file, names)
		return nil
	}
	exact := func(t *Test) bool {
		return t.Name == want || t.Suite != "" && strings.HasSuffix(t.Suite+separator+t.Name, separator+want) ||
			t.Parent != "" && t.Status == Errored
	}
	x.res.keep = exact
	x.steps = []*Step{x.step("name", x.arrange(x.pattern("(?:^| )"+x.quote(want)+"$"), false))}
	x.more = func(*scripted) []*Step {
		if len(x.res.ended) > 0 {
			return nil
		}
		x.res.keep = func(t *Test) bool {
			return strings.Contains(t.Suite+separator+t.Name, want) || strings.Contains(t.ID, want)
		}
		return []*Step{x.step("part", x.arrange(x.pattern(x.quote(want)), false))}
	}
	return nil
}

// chooseID makes the steps that run the test of an ID: until one of them runs it, by its full name, by its own, with
// those that it is a part of, and as a suite, whose ID one has that cannot be set up.
func (x *jsRun) chooseID(want, file, names string) {
	x.res.keep = func(t *Test) bool {
		return selectedByID(t, want) && !(x.marks && names != "" && t.Status == Skipped &&
			strings.HasPrefix(t.ID, want+separator))
	}
	if names == "" {
		x.steps = []*Step{x.step("one", x.arrange(x.file(file), true))}
		return
	}
	ways := []struct{ name, pattern string }{{"one", "^" + x.quote(names) + "$"}}
	if _, own, nested := strings.Cut(names, separator); nested && x.own {
		last := []string{x.quote(own)}
		for nested {
			if _, own, nested = strings.Cut(own, separator); nested {
				last = append(last, x.quote(own))
			}
		}
		ways = append(ways, struct{ name, pattern string }{"own", "^(?:" + strings.Join(last, "|") + ")$"})
	}
	if x.within && strings.Contains(names, separator) {
		ways = append(ways, struct{ name, pattern string }{"within", x.ancestors(names)})
	}
	if x.marks {
		ways = append(ways, struct{ name, pattern string }{"suite", "^" + x.quote(names+separator)})
	}
	var next func() []*Step
	next = func() []*Step {
		way := ways[0]
		if ways = ways[1:]; len(ways) > 0 {
			x.more = func(*scripted) []*Step {
				if len(x.res.ended) > 0 {
					return nil
				}
				return next()
			}
		}
		if way.name == "suite" {
			x.res.keep = func(t *Test) bool { return selectedByID(t, want) }
		}
		return []*Step{x.step(way.name, x.arrange(append(x.file(file), x.pattern(way.pattern)...), true))}
	}
	x.steps = next()
}

// selectedByID says whether a test is the one of an ID, below it (a suite's, a file's or a subtest), or goes with it:
// an error of its file.
func selectedByID(t *Test, want string) bool {
	if t.Group && strings.HasPrefix(want, t.ID+separator) {
		return true
	}
	if t.ID == want || t.Parent == want || strings.HasPrefix(t.ID, want+separator) {
		return true
	}
	above := t.Status == Errored || t.Status == Crashed || t.Status == TimedOut
	return above && strings.HasPrefix(want, t.ID+separator)
}

// ancestors is a pattern of a subtest that also matches the tests that it is a part of, without which it cannot run.
func (x *jsRun) ancestors(names string) string {
	var all []string
	for i := 0; i < len(names); {
		n := strings.Index(names[i:], separator)
		if n < 0 {
			break
		}
		all = append(all, x.quote(names[:i+n]))
		i += n + len(separator)
	}
	return "^(?:" + strings.Join(append(all, x.quote(names)), "|") + ")$"
}

func (x *jsRun) arrange(selected []string, file bool) []string {
	if x.args == nil {
		return selected
	}
	return x.args(selected, file)
}

func (x *jsRun) file(name string) []string {
	if x.files != nil {
		return x.files(filepath.Join(x.p.Root, name))
	}
	return []string{filepath.Join(x.p.Root, name)}
}

// quote makes a regular expression of a name. The parts of a full name are joined differently by different frameworks.
func (x *jsRun) quote(names string) string {
	between := x.join
	if between == "" {
		between = " "
	}
	// A name may itself hold what separates ours: both are allowed there, and what is too much is not kept.
	return strings.ReplaceAll(regexp.QuoteMeta(names), separator, "(?:"+separator+"|"+regexp.QuoteMeta(between)+")")
}

var (
	projectTag = lazyregexp.MustCompile(`^\[[^\]]*\] `)
	numberTag  = lazyregexp.MustCompile(` #\d+$`)
)

// splitID takes an ID apart: the file, which exists, and what follows it.
func (p *Project) splitID(id string) (file, names string) {
	id = projectTag.ReplaceAllString(id, "")
	id = numberTag.ReplaceAllString(id, "")
	file, names, _ = strings.Cut(id, separator)
	if !p.isFile(file) || filepath.IsAbs(file) {
		return "", ""
	}
	return file, names
}

func (x *jsRun) step(name string, args []string) *Step {
	report := inDir(x.r, "strobe_"+name+".jsonl")
	settings := map[string]any{"report": report, "root": x.p.Root, "test": x.r.Test}
	for k, v := range x.settings {
		settings[k] = v
	}
	base := x.base
	if x.reporter == "" {
		report = strings.TrimSuffix(report, "jsonl") + "xml"
		base = append(slices.Clone(base), x.reported(report)...)
	}
	argv := append(withNode(x.tool.argv, x.script.node), base...)
	if x.args == nil && len(x.r.Level) == 0 && !slices.ContainsFunc(args, x.p.names()) {
		argv = append(argv, x.p.expand(x.dir, x.script.files)...) // before options: some take all that follows
	}
	options := x.script.options
	if x.r.Test != "" {
		options = onlyOptions(x.framework, options, namePatterns...)
	}
	argv = append(append(argv, options...), args...)
	step := &Step{Argv: append(argv, x.r.Args...), Dir: filepath.Join(x.p.Root, x.dir), Env: x.env, Phase: Running,
		Drivers: x.tool.drivers, Reports: []string{report}}
	if x.reporter != "" {
		step.Files = map[string][]byte{
			inDir(x.r, x.reporter):           reporter(x.reporter),
			inDir(x.r, "strobe_common.cjs"):  reporter("strobe_common.cjs"),
			inDir(x.r, "strobe_config.json"): config(settings),
		}
	}
	return step
}

// namePatterns are the options of all tools that select tests by names.
var namePatterns = []string{"t", "testNamePattern", "test-name-pattern", "g", "grep", "f", "fgrep", "filter"}

// withNode puts options of node behind it, where it is what runs.
func withNode(argv, options []string) []string {
	if len(options) == 0 || len(argv) < 2 || programName(argv[0]) != "node" {
		return slices.Clone(argv)
	}
	return slices.Concat(argv[:1], options, argv[1:])
}

// names says whether an argument is a file of the project: then those of its script are not meant.
func (p *Project) names() func(arg string) bool {
	return func(arg string) bool { return strings.HasPrefix(arg, p.Root+"/") }
}

func (x *jsRun) exit(exit Exit) string {
	if x.summary != nil && x.res.own == nil {
		x.res.own = x.summary(x.out.String() + "\n" + x.err.String())
	}
	nothing := len(x.res.ended) == 0
	switch {
	case nothing && x.more == nil && x.r.Test != "" && (x.done || x.none(x.out.String()+x.err.String())):
		x.res.note("no test matches %q: no test was run%s", x.r.Test, x.hidden())
	case nothing && x.r.Test != "" && (x.done || x.none(x.out.String()+x.err.String())):
		// A further step searches parts of names.
	case nothing && x.none(x.out.String()+x.err.String()):
		x.res.note("%s", firstLine("no tests were found: "+lineWith(x.out.String()+"\n"+x.err.String(), x.none)))
	case nothing && x.done && exit.Code == 0:
		x.res.note("no tests were found")
	case exit.Code != 0 && x.res.failed+x.res.dropped.Failed == 0 && x.done:
		return fmt.Sprintf("the test process left with code %d although no test failed", exit.Code)
	default:
		return ""
	}
	x.done = true
	return ""
}

// hidden says that what was asked for may be in something that failed.
func (x *jsRun) hidden() string {
	if n := x.res.dropped.Failed; n > 0 {
		return fmt.Sprintf("; %d others failed, among them perhaps files that do not load", n)
	}
	return ""
}

// lineWith is the first line of a text that says something.
func lineWith(text string, says func(string) bool) string {
	for line := range strings.Lines(text) {
		if says(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// jsLevel is what selects a level of JavaScript tests: folders of that name.
func (p *Project) jsLevel(dir string, level Level, framework string) ([]string, error) {
	if level == AllLevels {
		return nil, nil
	}
	for _, folder := range levelFolders[level] {
		for _, above := range []string{"tests", "test", "__tests__", "src", "."} {
			if at := path.Join(dir, above, folder); p.isDir(at) && len(p.files(at, jsTest.Get(), 1)) > 0 {
				rel, err := filepath.Rel(dir, at)
				if err == nil {
					return []string{rel + "/"}, nil
				}
			}
		}
	}
	if pkg := p.packageAt(dir); pkg != nil {
		for _, name := range []string{"test:" + string(level), "test-" + string(level), string(level)} {
			for _, words := range shellCommands(pkg.Scripts[name]) {
				if c, ok := commandOf(words, framework); ok && len(c.options)+len(c.files) > 0 {
					return append(c.options, c.files...), nil
				}
			}
		}
	}
	return nil, fault.New(fault.Unsupported, "Leave out level, add a script test:"+string(level)+
		", or put these tests into test/"+string(level)+".",
		"this project's %s tests have no level %s: neither a folder nor a script test:%s", framework, level, level)
}

var jsTest = lazyregexp.MustCompile(`([._-](test|spec)|^test)\.[cm]?[jt]sx?$|\.(test|spec)\.[cm]?[jt]sx?$`)

// jsRerun is how one test is run by its file and full name.
func jsRerun(p *Project, r *Request, dir, pkg, bin string, whole []string, t *Test,
	args func(file, regex string) []string) Rerun {
	at := filepath.Join(p.Root, dir)
	argv := []string{"npx", bin}
	if tool, err := p.tool(dir, pkg, bin); err == nil {
		argv = slices.Clone(tool.argv)
	}
	script := p.script(dir, bin) // what the project's own command loads and sets holds for one test, too
	argv = withNode(argv, script.node)
	if outside(t.ID) {
		return Rerun{Argv: slices.Concat(argv, whole, script.files, script.options, r.Args), Env: script.env, Dir: at}
	}
	id := t.ID
	if t.Parent != "" {
		id = t.Parent
	}
	file, names := p.splitID(id)
	if file == "" {
		file = t.File
	}
	regex := ""
	if names != "" {
		x := jsRun{}
		regex = "^" + x.quote(names) + "$"
		if t.Status == Errored { // a suite, perhaps
			regex = "^" + x.quote(names) + "(?:$| )"
		}
	}
	argv = append(argv, args(relativeTo(at, filepath.Join(p.Root, file)), regex)...)
	return Rerun{Argv: slices.Concat(argv, onlyOptions(bin, script.options, namePatterns...),
		onlyOptions(bin, r.Args, namePatterns...)), Env: script.env, Dir: at, Test: id}
}
