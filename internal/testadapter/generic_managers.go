package testadapter

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// pnpm and Yarn run the script of each package, too, several at once, and stop at the first that fails. pnpm begins
// each line with the package's folder, Yarn 4 with its name where it is asked to, and Yarn 1 says the name before all
// of them.

// fanOut is the command that runs a script in each of a project's packages.
type fanOut struct {
	manager string   // npm, pnpm, yarn
	words   []string // of it, as it was given or as the project's script has it
	more    []string // arguments that come behind it
}

// fansOut reads how a command runs packages: by itself, or by the script of the project that it runs. Its manager is ""
// where it does not.
func fansOut(p *Project, argv []string) fanOut {
	words, more := argv, []string(nil)
	if isShell(argv) {
		words = shellCommands(argv[2])[0]
	}
	if f := fanOutOf(words); f.manager != "" || len(words) < 2 {
		return f
	}
	root := p.packageAt(".")
	at := slices.IndexFunc(words[1:], func(w string) bool { return root != nil && root.Scripts[w] != "" })
	if at < 0 || !slices.Contains([]string{"npm", "pnpm", "yarn"}, programName(words[0])) {
		return fanOut{}
	}
	more = words[at+2:]
	for _, part := range root.flow(words[at+1], 0) {
		if f := fanOutOf(part.words); f.manager != "" {
			f.more = slices.DeleteFunc(slices.Clone(more), func(w string) bool { return w == "--" })
			return f
		}
	}
	return fanOut{}
}

func fanOutOf(words []string) fanOut {
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return fanOut{}
	}
	several := func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		switch programName(words[0]) {
		case "npm":
			return slices.Contains([]string{"--workspaces", "-ws", "--workspace", "-w"}, name)
		case "pnpm":
			return slices.Contains([]string{"-r", "--recursive", "recursive", "--filter", "-F"}, name)
		case "yarn":
			return name == "workspaces"
		}
		return false
	}
	if !slices.ContainsFunc(words[1:], several) {
		return fanOut{}
	}
	return fanOut{manager: programName(words[0]), words: words}
}

// foreach says whether it is Yarn's since version 2, which names packages only where it is told to be verbose.
func (f *fanOut) foreach() bool { return f.manager == "yarn" && slices.Contains(f.words, "foreach") }

// some says whether it leaves packages out.
func (f *fanOut) some() bool {
	return slices.ContainsFunc(f.words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains([]string{"--filter", "-F", "--from", "--include", "--exclude", "--since", "-W", "--worktree",
			"-R"}, name) || strings.HasPrefix(name, "--filter")
	})
}

// script is the script that it runs in a package, and what comes behind that.
func (f *fanOut) script(pkg *packageJSON) (script string, args []string) {
	for i := 1; i < len(f.words); i++ {
		switch w := f.words[i]; {
		case w == "--filter" || w == "-F" || w == "--from" || w == "--include" || w == "--exclude" || w == "-j" ||
			w == "--jobs":
			i++
		case pkg.Scripts[w] != "":
			return w, slices.Concat(f.words[i+1:], f.more)
		}
	}
	return "test", f.more
}

// only is the command for one of its packages alone.
func (f *fanOut) only(pkg *packageJSON) []string {
	script, args := f.script(pkg)
	if f.manager == "pnpm" {
		return slices.Concat([]string{"pnpm", "--filter=" + pkg.Name, "run", script}, args)
	}
	return slices.Concat([]string{"yarn", "workspace", pkg.Name, "run", script}, args)
}

// named is a command that says whose lines it shows. Yarn's own is changed, and a script that is nothing else is run in
// its place: Yarn runs nothing before or after a script, and knows by a variable which it is not to begin again.
func (x *genericRun) named(argv []string) (command, env []string) {
	if !x.fan.foreach() || isShell(argv) || filepath.Base(argv[0]) != "yarn" || slices.Contains(x.fan.words, "-vv") {
		return argv, nil
	}
	words := x.fan.words
	if at := slices.Index(argv, "foreach"); at < 0 {
		root := x.p.packageAt(".")
		if script := argv[len(argv)-len(x.fan.more)-1]; len(scriptParts(root.Scripts[script])) == 1 &&
			programName(words[0]) == "yarn" && strings.HasPrefix(root.Scripts[script], "yarn ") {
			env = []string{"npm_lifecycle_event=" + script}
		} else {
			x.note("Yarn names no packages where its output is no terminal: their tests are told without, unless yarn " +
				"workspaces foreach has -v")
			return argv, nil
		}
		argv = slices.Concat(argv[:1], words[1:], x.fan.more)
	}
	return slices.Insert(slices.Clone(argv), slices.Index(argv, "foreach")+1, "-v", "-v"), env
}

// pnpmMost is how long the name of a folder is before pnpm shortens it.
const pnpmMost = 40

// shown is a folder as pnpm shows it.
func shown(dir string) string {
	if len(dir) <= pnpmMost {
		return dir
	}
	dir = dir[len(dir)-pnpmMost+3:]
	return "..." + dir[max(0, strings.IndexByte(dir, '/')):]
}

var (
	pnpmBanner = lazyregexp.MustCompile(`^> ((?:@[^/\s]+/)?[^@/\s]+)@\S* [\w:.-]+ /`)
	pnpmLine   = lazyregexp.MustCompile(`^(\S+) [\w:.-]+(\$|: ?)(.*)$`)
	pnpmFailed = lazyregexp.MustCompile(
		`^[ \x{2009}]*(ERR_PNPM_\w+|ERROR)[ \x{2009}]+((?:@[^/\s]+/)?[^@/\s]+)@\S* [\w:.-]+: `)
	pnpmCode = lazyregexp.MustCompile(`^Exit status (\d+)$`)

	yarnLine   = lazyregexp.MustCompile(`^\[((?:@[^/\s]+/)?[^@/\s\]]+)\]: ?(.*)$`)
	yarnEnded  = lazyregexp.MustCompile(`^Process exited \(exit code (\d+)\)`)
	yarnFailed = lazyregexp.MustCompile(
		`^The command failed in workspace ((?:@[^/\s]+/)?[^@/\s]+)@.* with exit code (\d+)$`)
	yarnBanner = lazyregexp.MustCompile(`^> ((?:@[^/\s]+/)?[^@/\s]+)$`)
	yarnCode   = lazyregexp.MustCompile(`^Exit code: (\d+)$`)
	yarnDir    = lazyregexp.MustCompile(`^Directory: (/.*)$`)
)

// managerLine reads a line that pnpm or Yarn wrote, or began: what is left of it; told: it was only theirs.
func (x *genericRun) managerLine(s Stream, line string) (rest string, told bool) {
	switch {
	case x.fan.manager == "pnpm" && s == Stdout:
		return x.pnpmSays(line)
	case x.fan.foreach():
		return x.yarnSays(line)
	case x.fan.manager != "yarn":
	case s == Stdout:
		if m := yarnBanner.FindStringSubmatch(line); m != nil && slices.Contains(x.spaces, m[1]) {
			x.enters(m[1])
			return "", true
		}
	default:
		if m := yarnCode.FindStringSubmatch(line); m != nil {
			x.npmCode = number(m[1])
		} else if m := yarnDir.FindStringSubmatch(line); m != nil {
			x.blames(x.byDir[x.below(m[1])], x.npmCode)
		}
	}
	return line, false
}

func (x *genericRun) pnpmSays(line string) (rest string, told bool) {
	if m := pnpmBanner.FindStringSubmatch(line); m != nil {
		if x.enters(m[1]); x.pkg != nil {
			x.pkg.serial = m[1] != x.own
		}
		return "", true
	}
	if m := pnpmFailed.FindStringSubmatch(line); m != nil {
		x.blamed, x.bailed = m[2], x.bailed || strings.Contains(m[1], "FIRST_FAIL")
		x.blames(x.blamed, 0)
		return "", true
	}
	if m := pnpmCode.FindStringSubmatch(line); m != nil && x.blamed != "" {
		x.blames(x.blamed, number(m[1]))
		return "", true
	}
	m := pnpmLine.FindStringSubmatch(line)
	if m == nil || x.byDir[m[1]] == "" {
		return line, false
	}
	x.enters(x.byDir[m[1]])
	if x.pkg == nil {
		return m[3], false
	}
	ended := m[2] != "$" && (m[3] == "Done" || m[3] == "Failed") // unless more follows: a script may write so, too
	x.pkg.open = !ended
	return m[3], ended || m[2] == "$"
}

func (x *genericRun) yarnSays(line string) (rest string, told bool) {
	if m := yarnFailed.FindStringSubmatch(line); m != nil {
		x.blames(m[1], number(m[2]))
		return "", true
	}
	m := yarnLine.FindStringSubmatch(line)
	if m == nil || !slices.Contains(x.spaces, m[1]) {
		return line, false
	}
	x.enters(m[1])
	if x.pkg == nil {
		return m[2], false
	}
	x.pkg.open = true
	if e := yarnEnded.FindStringSubmatch(m[2]); e != nil {
		x.pkg.open = false
		if code := number(e[1]); code != 0 {
			x.blames(m[1], code)
		}
		return "", true
	}
	return m[2], m[2] == "Process started"
}

// blames keeps that a package's script failed.
func (x *genericRun) blames(name string, code int) {
	for _, p := range x.packages {
		if p.name == name {
			p.failed, p.open, p.code = true, false, code
		}
	}
}

// below is a folder below Root, by whatever name that is known.
func (x *genericRun) below(dir string) string {
	for _, root := range []string{x.p.Root, realRoot(x.p.Root)} {
		if at, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(at) {
			return at
		}
	}
	return dir
}

func realRoot(root string) string {
	if at, err := filepath.EvalSymlinks(root); err == nil {
		return at
	}
	return root
}

// unfinished says which packages did not run, or not to their end, since another failed.
func (x *genericRun) unfinished(exit Exit) {
	blamed := false
	for _, p := range x.packages { // one after the other: of those that began when one had failed, no end is told
		p.open = p.open || p.serial && x.bailed && blamed
		blamed = blamed || p.failed
	}
	if x.fan.manager != "pnpm" && x.fan.manager != "yarn" || exit.Code == 0 || x.only != "" || x.r.Test != "" {
		return
	}
	var open, never []string
	ran := map[string]bool{}
	for _, p := range x.packages {
		if ran[p.name] = true; p.open {
			open = append(open, p.name)
		}
	}
	for _, pkg := range x.p.packages() {
		name := orElse(pkg.Name, pkg.Dir)
		if script, _ := x.fan.script(pkg); pkg.Dir != "." && pkg.Scripts[script] != "" && !ran[name] && !x.fan.some() &&
			len(ran) > 0 {
			never = append(never, name)
		}
	}
	if len(open) > 0 {
		x.note("%s did not wait for %s, since another package failed: what is told of them is not all", x.fan.manager,
			strings.Join(open, ", "))
	}
	if len(never) > 0 {
		x.note("%s did not run %s, since another package failed", x.fan.manager, strings.Join(never, ", "))
	}
}

// knownPackages are the names of a project's packages, also by their folders as pnpm shows them.
func (x *genericRun) knownPackages(all []*packageJSON) {
	x.byDir = map[string]string{}
	for _, pkg := range all {
		name := orElse(pkg.Name, pkg.Dir)
		x.byDir[path.Clean(pkg.Dir)], x.byDir[shown(pkg.Dir)] = name, name
		if pkg.Dir != "." {
			x.spaces = append(x.spaces, name)
		}
	}
}

// scriptFailed is what is known of a package's script that failed.
func (p *npmPackage) scriptFailed() Failure {
	if p.code == 0 {
		return Failure{Kind: "exit", Message: "its script failed"}
	}
	return Failure{Kind: "exit", Message: fmt.Sprintf("its script ended with code %d", p.code)}
}
