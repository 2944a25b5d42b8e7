package testadapter

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// npm runs the script of each workspace in turn, and says before each whose it is; behind all of them it says which
// failed.

// npmPackage is a workspace whose script has run.
type npmPackage struct {
	name        string
	told, fails int // results that its lines named, and how many of them failed
	tap         tapState
	last        *genericTest // of its lines, where those of several packages alternate
	context     []string
	code        int  // of its script, where npm says that it failed
	failed      bool // npm says so
	open        bool // its script has begun and not ended, where that is told
	serial      bool // it is told by pnpm's line before its script
}

// packageMark stands between the name of a workspace and of its test.
const packageMark = " › "

var (
	npmBanner = lazyregexp.MustCompile(`^> (?:((?:@[^/\s]+/)?[^@/\s>]+)@\S* )?([\w:.-]+)$`)
	npmCode   = lazyregexp.MustCompile(`^npm (?:error|ERR!) (?:code|errno) (\d+)$`)
	npmOf     = lazyregexp.MustCompile(`^npm (?:error|ERR!) workspace ((?:@[^/\s]+/)?[^@/\s]+)@`)
)

// packageLine reads a line that says whose script runs now, or has failed; false: it is none.
func (x *genericRun) packageLine(s Stream, line string) bool {
	if s == Stdout {
		if x.script != "" { // what it runs
			x.entersNameless(x.script, strings.TrimPrefix(line, "> "))
			x.script = ""
			return true
		}
		m := npmBanner.FindStringSubmatch(line)
		switch {
		case m == nil:
			return false
		case m[1] != "":
			x.enters(m[1])
			return true
		}
		if len(x.nameless) > 0 {
			x.script = m[2]
		}
		return len(x.nameless) > 0
	}
	if m := npmCode.FindStringSubmatch(line); m != nil {
		x.npmCode = number(m[1])
		return true
	}
	m := npmOf.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	for _, p := range x.packages {
		if p.name == m[1] {
			p.failed, p.code = true, x.npmCode
		}
	}
	return true
}

// entersNameless is enters for a package without a version: npm says only which script it runs, and what that is.
func (x *genericRun) entersNameless(script, command string) {
	for i, pkg := range x.nameless {
		if text := pkg.Scripts[script]; text == "" || !strings.HasPrefix(command, text) {
			continue
		}
		if script == "test" {
			x.nameless = slices.Delete(x.nameless, i, i+1)
		}
		x.enters(orElse(pkg.Name, pkg.Dir))
		return
	}
}

// enters begins the results of another package.
func (x *genericRun) enters(name string) {
	if x.pkg != nil && x.pkg.name == name {
		return
	}
	if x.pkg != nil {
		x.pkg.tap, x.pkg.last, x.pkg.context = x.tap, x.last, x.context
	}
	x.tap, x.last, x.context, x.pkg = tapState{}, nil, nil, nil
	for _, p := range x.packages {
		if p.name == name {
			x.pkg, x.tap, x.last, x.context = p, p.tap, p.last, p.context
		}
	}
	const most = 10_000
	if x.pkg == nil && len(x.packages) < most {
		x.pkg = &npmPackage{name: name}
		x.packages = append(x.packages, x.pkg)
	}
}

// several says whether more than one package has run, or was to: names then begin with the package's.
func (x *genericRun) several() bool { return len(x.packages) > 1 || x.only != "" }

// inPackage is a name of a package's, as it is told.
func (x *genericRun) inPackage(p *npmPackage, name string) string {
	if p == nil || !x.several() {
		return name
	}
	return p.name + packageMark + name
}

// packageEnds tells what the packages' results say together: a script that failed though none of its tests did, and
// those whose output names no tests, each as one. The project's own script, which starts the others, is none.
func (x *genericRun) packageEnds(exit Exit) {
	for i, p := range x.packages {
		id := x.inPackage(p, "(command)")
		if x.only != "" && len(x.packages) == 1 && exit.Code != 0 && !p.failed { // it alone was run
			p.failed, p.code = true, exit.Code
		}
		f := p.scriptFailed()
		starts := p.name == x.own // whose script starts the others
		switch {
		case x.r.Test != "" && !strings.Contains(id, x.r.Test) || starts && p.told == 0:
		case p.failed && p.fails == 0 && p.told > 0:
			x.broken(id, id, "", f)
		case p.told > 0 || p.open && !exit.TimedOut:
		case p.failed:
			x.finished(&Test{ID: id, Name: id, Status: Failed, Fails: true, Failures: []Failure{f}})
		case exit.TimedOut && i == len(x.packages)-1:
			status, _ := exit.ended("")
			x.finished(&Test{ID: id, Name: id, Status: status, Fails: true,
				Failures: []Failure{{Kind: "timeout", Message: "it ran when the time was over"}}})
		default:
			x.finished(&Test{ID: id, Name: id, Status: Passed})
		}
	}
}

// oneWorkspace is a command for the workspace alone that a test is in, and that workspace's name; "" where it is in
// none.
func oneWorkspace(p *Project, argv []string, test string) (command []string, name string) {
	name, _, in := strings.Cut(test, packageMark)
	if !in || len(argv) < 2 {
		return argv, ""
	}
	all := p.packages()
	at := slices.IndexFunc(all, func(pkg *packageJSON) bool { return pkg.Dir != "." && pkg.Name == name })
	if at < 0 {
		return argv, ""
	}
	if fan := fansOut(p, argv); !isShell(argv) && (fan.manager == "pnpm" || fan.manager == "yarn") {
		return fan.only(all[at]), name
	}
	if filepath.Base(argv[0]) != "npm" {
		return argv, ""
	}
	return append(argv[:len(argv):len(argv)], "--workspace="+name), name
}
