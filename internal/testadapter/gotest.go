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

// Go runs `go test -json`: cmd/go and cmd/test2json describe its events. Test binaries mark their own lines, so that
// what tests print is not taken for results, and the events are cmd/go's, never the tests'.
//
// An ID is "import/path::TestName/subtest".
type Go struct{}

func (Go) Name() string { return "go" }

var goDrivers = []string{"go", "compile", "link", "asm", "vet", "cgo", "cover", "covdata", "buildid", "preprofile",
	"gcc", "g++", "cc", "cc1", "cc1plus", "clang", "as", "ld", "collect2", "git"}

func (Go) Detect(p *Project) Detection {
	for _, name := range []string{"go.mod", "go.work"} {
		if isFile(p.FS, name) {
			return Detection{Confidence: 90, Evidence: []string{name}}
		}
	}
	if found := below(p.FS, 3, func(name string) bool { return path.Base(name) == "go.mod" }); len(found) > 0 {
		return Detection{Confidence: 70, Evidence: found[:1], Dir: path.Dir(found[0])}
	}
	return Detection{}
}

func (a Go) Start(p *Project, r *Request, emit func(Event)) (Execution, error) {
	if len(r.Command) > 0 {
		return nil, fault.New(fault.ValidationError, "Leave command out, or take framework generic.",
			"go test has no command of its own to run tests with")
	}
	if _, err := p.LookPath("go"); err != nil {
		return nil, fault.New(fault.ValidationError, "Install Go from go.dev/dl or set PATH in env.",
			"find the go command: %w", err)
	}
	x := &goRun{native: newNative(p, r, emit), dir: a.Detect(p).Dir, packages: map[string]*goPackage{},
		builds: map[string]*strings.Builder{}}
	x.index = goIndex{fsys: p.FS, dir: x.dir, modules: goModules(p.FS, x.dir)}
	if other := x.index.otherModules(); len(other) > 0 && r.Test == "" && len(r.Args) == 0 {
		x.note("not run: %s, of modules of their own; give projectRoot", strings.Join(other, ", "))
	}
	if err := x.choose(); err != nil {
		return nil, err
	}
	return x, nil
}

// Rerun runs one test in its package, not from the cache.
func (a Go) Rerun(p *Project, r *Request, t *Test) Rerun {
	dir := a.Detect(p).Dir
	index := goIndex{fsys: p.FS, dir: dir, modules: goModules(p.FS, dir)}
	pkg, name, _ := strings.Cut(t.ID, "::")
	again := Rerun{Dir: filepath.Join(p.Root, dir), Test: t.ID, Framework: a.Name()}
	flags, _, tail := goArgs(r.Args)
	again.Argv = append([]string{"go", "test", "-v", "-count=1"}, flags...)
	if r.Level != AllLevels && r.Level != Unit {
		again.Argv = append(again.Argv, "-tags="+string(r.Level))
	}
	if !strings.HasPrefix(name, "(") { // else a package that did not build or run
		again.Argv = append(again.Argv, "-run", goPattern([]string{name}))
	}
	again.Argv = append(append(again.Argv, index.relative(pkg)), tail...)
	return again
}

// goRun is one execution: a list of tests first where a name must be found, then the tests.
type goRun struct {
	native
	dir   string // of the module below Root
	index goIndex
	tags  []string // flags of the level
	level *goLevel

	packages map[string]*goPackage
	builds   map[string]*strings.Builder // what compilers wrote, by import path
	stderr   strings.Builder             // before Go 1.24 the compilers' errors; errors of the command itself
	unbuilt  []string
	cached   int
	cut      []string // packages whose process ended before all of its tests had run
	listed   []string // IDs
	seen     int      // tests of this run
	wanted   string   // the subtest that was asked for
}

// choose makes the steps that the request asks for.
func (x *goRun) choose() error {
	flags, packages, tail := goArgs(x.r.Args)
	if len(packages) == 0 {
		packages = x.index.all()
	}
	if x.r.Level != AllLevels {
		level, err := x.index.level(x.r.Level)
		if err != nil {
			return err
		}
		x.level, packages, x.tags = level, level.packages, level.flags
	}
	flags = append(slices.Clone(x.tags), flags...)
	pkg, name, isID := strings.Cut(x.r.Test, "::")
	switch {
	case x.r.Test == "":
		x.run(x.command(flags, packages, tail, nil))
	case isID && strings.HasPrefix(name, "("): // a package that did not build or run
		x.run(x.command(flags, []string{x.index.relative(pkg)}, tail, nil))
	case !isID && x.index.isPackage(x.r.Test):
		x.run(x.command(flags, []string{x.index.relative(x.r.Test)}, tail, nil))
	case isID && name != "" && !strings.Contains(pkg, " "):
		x.run(x.command(flags, []string{x.index.relative(pkg)}, tail, []string{name}))
	default:
		x.list(flags, packages, func() { x.selected(flags, tail) })
	}
	return nil
}

// command is a go test of some tests, or all.
func (x *goRun) command(flags, packages, tail, names []string) []string {
	argv := []string{"go", "test", "-json"}
	if x.r.Traced || x.r.Test != "" {
		argv = append(argv, "-count=1") // a result from the cache would run nothing
	}
	if x.r.Traced {
		argv = append(argv, "-p=1") // one package's program after another
		flags = withSymbols(flags, goflags(x.p.Environ))
	}
	argv = append(argv, flags...)
	if x.r.Timeout > 0 && !slices.ContainsFunc(flags,
		func(f string) bool { return strings.HasPrefix(strings.TrimLeft(f, "-"), "timeout") }) {
		// The caller ends what takes too long, and looks where it stands before; go's own limit is for when it could not.
		argv = append(argv, fmt.Sprintf("-timeout=%ds", int(x.r.Timeout.Seconds())+60))
	}
	switch {
	case len(names) > 0:
		if len(names) == 1 && strings.Contains(names[0], "/") {
			x.wanted = goName(names[0])
		}
		argv = append(argv, "-run", goPattern(names))
	case x.level != nil && len(x.level.names) > 0:
		argv = append(argv, "-run", goPattern(x.level.names))
	}
	return append(append(argv, packages...), tail...)
}

// withSymbols makes go test keep the debug information in the programs that it runs: it leaves it out of those that
// nobody gets to see. fromEnv are the -ldflags of GOFLAGS, which a flag takes the place of.
func withSymbols(flags []string, fromEnv string) []string {
	const keep = "-s=false -w=false"
	out := slices.Clone(flags)
	for i, f := range out {
		name, value, joined := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch {
		case name != "ldflags":
		case joined:
			out[i] = "-ldflags=" + keep + " " + value
			return out
		case i+1 < len(out):
			out[i+1] = keep + " " + out[i+1]
			return out
		}
	}
	return append(out, strings.TrimSpace("-ldflags="+keep+" "+fromEnv))
}

// goflags are the -ldflags that GOFLAGS has.
func goflags(environ []string) (ldflags string) {
	for _, v := range environ {
		if all, ok := strings.CutPrefix(v, "GOFLAGS="); ok {
			ldflags = ""
			for _, f := range strings.Fields(all) {
				if value, ok := strings.CutPrefix(strings.TrimLeft(f, "-'\""), "ldflags="); ok {
					ldflags = strings.Trim(value, `'"`)
				}
			}
		}
	}
	return ldflags
}

func (x *goRun) run(argv []string) {
	x.then(&task{
		step:   &Step{Argv: argv, Dir: filepath.Join(x.p.Root, x.dir), Phase: Running, Builds: true, Drivers: goDrivers},
		stdout: x.line, stderr: func(line string) { keepLine(&x.stderr, line) },
		end: x.end,
	})
}

// list finds the names of all tests; they are compiled for it, which the run then needs no more.
func (x *goRun) list(flags, packages []string, then func()) {
	argv := append([]string{"go", "test", "-json", "-list", "."}, flags...)
	x.then(&task{
		step: &Step{Argv: append(argv, packages...), Dir: filepath.Join(x.p.Root, x.dir), Phase: Compiling,
			Drivers: goDrivers},
		stdout: func(line string) {
			e, ok := goEventOf(line)
			if !ok || e.Action != "output" {
				return
			}
			if name := strings.TrimSuffix(e.Output, "\n"); goListed.MatchString(name) {
				x.listed = append(x.listed, e.Package+"::"+name)
			}
		},
		stderr: func(line string) { keepLine(&x.stderr, line) },
		end:    func(Exit) { then() },
	})
}

var goListed = lazyregexp.MustCompile(`^(Test|Fuzz|Example)[\pL\pN_]*$`)

// selected runs what the list has of the request's name; the first part of a subtest's name must be a test's.
func (x *goRun) selected(flags, tail []string) {
	top, sub, _ := strings.Cut(x.r.Test, "/")
	var names []string
	for _, id := range x.listed {
		_, name, _ := strings.Cut(id, "::")
		names = append(names, name)
	}
	chosen := choose(top, names)
	if sub != "" && len(chosen) > 0 && chosen[0] != top {
		chosen = nil
	}
	if len(chosen) == 0 {
		x.unmatched(names, "go test knows a subtest only by its parent: give Parent/subtest.")
		return
	}
	var packages []string
	for i, id := range x.listed {
		if pkg, _, _ := strings.Cut(id, "::"); slices.Contains(chosen, names[i]) &&
			!slices.Contains(packages, x.index.relative(pkg)) {
			packages = append(packages, x.index.relative(pkg))
		}
	}
	chosen = slices.Compact(slices.Sorted(slices.Values(chosen)))
	if sub != "" {
		chosen = []string{x.r.Test}
	}
	x.stderr.Reset()
	x.run(x.command(flags, packages, tail, chosen))
}

// goPattern is the -run of exactly some tests: each part between slashes is a regular expression of its own.
func goPattern(names []string) string {
	if len(names) == 1 {
		var parts []string
		for _, part := range strings.Split(names[0], "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(goName(part))+"$")
		}
		return strings.Join(parts, "/")
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// goName is a subtest's name as package testing writes it: spaces become underscores.
func goName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r >= '\t' && r <= '\r' {
			return '_'
		}
		return r
	}, s)
}

// goArgs tells flags, packages and what follows -args apart.
func goArgs(args []string) (flags, packages, tail []string) {
	for i, arg := range args {
		switch {
		case arg == "-args" || arg == "--args":
			return flags, packages, args[i:]
		case arg == "." || arg == "..." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") ||
			strings.HasSuffix(arg, "/..."):
			packages = append(packages, arg)
		default:
			flags = append(flags, arg)
		}
	}
	return flags, packages, nil
}

// maxBuildText bounds what is kept of one package's compiler messages.
const maxBuildText = 256 << 10

func keepLine(b *strings.Builder, line string) {
	if b.Len() < maxBuildText {
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// end tells what no package told: errors of the command itself, and that nothing ran.
func (x *goRun) end(exit Exit) {
	for _, name := range x.unbuilt {
		x.buildFailed(&goPackage{path: name}, "")
	}
	for _, p := range x.packages {
		if !p.ended && !exit.Canceled && !exit.TimedOut {
			x.packageEnds(p, goEvent{Action: "fail"})
		}
		for _, o := range p.order {
			if o.done {
				x.tell(o)
			}
		}
	}
	x.unfinished(exit, nil)
	text := strings.TrimSpace(x.stderr.String())
	failed := x.count.Failed > 0
	if exit.Code != 0 && !failed && !exit.Canceled {
		failures := x.compileErrors(text, x.dir)
		if len(failures) == 0 {
			failures = []Failure{{Kind: "compile", Message: fmt.Sprintf("go test left with code %d: %s", exit.Code, text)}}
		}
		x.broken("::(go)", "(go)", "", failures...)
	}
	if x.cached > 0 {
		x.note("%d packages are as go's cache has them, and did not run again (args: -count=1 runs them)", x.cached)
	}
	if x.wanted != "" && x.seen > 0 {
		x.missedSubtest()
	}
	if len(x.cut) > 0 && x.r.Test == "" && !exit.Canceled && !exit.TimedOut {
		x.missed(x.cut)
	}
	if x.seen == 0 && x.count.Failed == 0 && x.r.Test != "" {
		x.listed = nil
		x.list(x.tags, x.index.all(), func() {
			var names []string
			for _, id := range x.listed {
				names = append(names, id)
			}
			x.unmatched(names, "")
		})
	}
}

// missed tells which tests of packages did not run, since their process ended before: go test says nothing of them.
func (x *goRun) missed(packages []string) {
	flags, _, _ := goArgs(x.r.Args)
	for i, f := range flags {
		if name, value, joined := strings.Cut(strings.TrimLeft(f, "-"), "="); name == "run" || name == "skip" ||
			name == "list" {
			if !joined && i+1 < len(flags) {
				value = flags[i+1]
			}
			x.note("tests that come after the end of the process of %s did not run; which of -%s=%s they are is not known",
				strings.Join(packages, ", "), name, value)
			return
		}
	}
	const most = 10
	var relative []string
	for _, pkg := range packages[:min(len(packages), most)] {
		relative = append(relative, x.index.relative(pkg))
	}
	x.listed = nil
	x.list(append(slices.Clone(x.tags), flags...), relative, func() {
		for _, pkg := range packages {
			var names []string
			for _, id := range x.listed {
				if at, name, _ := strings.Cut(id, "::"); at == pkg && x.packages[pkg].tests[name] == nil &&
					(x.level == nil || len(x.level.names) == 0 || slices.Contains(x.level.names, name)) {
					names = append(names, name)
				}
			}
			if len(names) > 0 {
				x.note("%d tests of %s did not run: its process ended before: %s", len(names), pkg,
					head(strings.Join(names, ", "), 500))
			}
		}
	})
}

// missedSubtest tells that the parent ran and has no such subtest.
func (x *goRun) missedSubtest() {
	var names []string
	for _, p := range x.packages {
		for _, o := range p.order {
			if o.test.Name == x.wanted {
				return
			}
			names = append(names, o.test.Name)
		}
	}
	x.unmatched(names, "Its parent ran: a subtest's name is known only then.")
}
