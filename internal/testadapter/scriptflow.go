package testadapter

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What a project's test script does besides its framework: pretest and posttest, `tsc && mocha`, a second command of
// the same framework. It is what `npm test` does, so it is done here, too, but for what only reads the sources.

// scriptPart is one command of a script.
type scriptPart struct {
	text  string
	words []string
	loose bool // joined to what is before it by something else than && or ;
}

// scriptParts are the commands of a script, as they are written.
func scriptParts(script string) (parts []scriptPart) {
	from, loose := 0, false
	add := func(to int) {
		if text := strings.TrimSpace(script[from:to]); text != "" {
			parts = append(parts, scriptPart{text: text, words: shellCommands(text)[0], loose: loose})
		}
	}
	for _, at := range shellWord.FindAllStringIndex(script, 1000) {
		if sep := script[at[0]:at[1]]; separates(sep) {
			add(at[0])
			from, loose = at[1], sep != "&&" && sep != ";"
			if loose && len(parts) > 0 {
				parts[len(parts)-1].loose = true
			}
		}
	}
	add(len(script))
	return parts
}

// flow are the commands that running a script runs, in their order, with its pre and post scripts, through others.
func (k *packageJSON) flow(script string, depth int) (parts []scriptPart) {
	const deepest = 5
	if depth > deepest {
		return nil
	}
	for _, name := range []string{"pre" + script, script, "post" + script} {
		for _, part := range scriptParts(k.Scripts[name]) {
			if inner := k.innerScript(part.words); inner != "" && !part.loose {
				parts = append(parts, k.flow(inner, depth+1)...)
			} else {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// innerScript is the script that a command only runs: "npm run build", "yarn lint".
func (k *packageJSON) innerScript(words []string) string {
	if len(words) < 2 || !slices.Contains([]string{"npm", "pnpm", "yarn"}, programName(words[0])) {
		return ""
	}
	rest := words[1:]
	if rest[0] == "run" || rest[0] == "run-script" {
		rest = rest[1:]
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "-s" || w == "--silent" })
	if len(rest) == 1 && k.Scripts[rest[0]] != "" {
		return rest[0]
	}
	return ""
}

// readers are programs that only look at the sources: what they find changes no test's result.
var readers = []string{"eslint", "standard", "xo", "prettier", "biome", "jshint", "jscs", "tslint", "oxlint",
	"lint-staged", "stylelint", "depcheck", "knip", "cspell",
	"markdownlint", "publint", "attw", "ls-lint", "commitlint", "dtslint", "tsd", "size-limit", "npm-audit", "audit-ci",
	"semistandard", "editorconfig-checker", "remark"}

// readsOnly says whether a command is such a program.
func (s *scriptPart) readsOnly() bool {
	for _, w := range s.words {
		switch name := programName(w); {
		case assignment.MatchString(w), strings.HasPrefix(w, "-"), slices.Contains(wrappers, name):
		case name == "tsc" || name == "flow" || name == "npm":
			return slices.Contains(s.words, "--noEmit") || name == "npm" && slices.Contains(s.words, "audit")
		default:
			return slices.Contains(readers, name) || (name == "echo" || name == "true") && !strings.ContainsAny(s.text, "<>")
		}
	}
	return true
}

// around finds what the script that runs a framework does before and after it, and further commands of the framework.
func (x *jsRun) around() {
	pkg := x.p.packageAt(x.dir)
	if pkg == nil || x.r.Level != AllLevels {
		return
	}
	name := pkg.uses()[x.framework]
	if name == "" {
		return
	}
	var skipped, others []string
	seen := false
	for _, part := range pkg.flow(name, 0) {
		switch ran := pkg.commandRuns(part.words, 0); {
		case slices.Contains(ran, x.framework):
			if c, ok := commandOf(part.words, x.framework); ok && seen && x.r.Test == "" {
				x.further = append(x.further, c)
			}
			seen = true
		case len(ran) > 0:
			others = append(others, part.text)
		case part.loose:
		case part.readsOnly():
			skipped = append(skipped, part.text)
		case !seen:
			x.before = append(x.before, part.text)
		case x.r.Test == "":
			x.after = append(x.after, part.text)
		}
	}
	if len(skipped) > 0 && x.r.Test == "" {
		x.res.note("script %s also has %s, which only look at the sources: not run", name, quotedList(skipped))
	}
	if len(others) > 0 && x.r.Test == "" {
		x.res.note("script %s also runs other tests, which are not of this run: %s", name, quotedList(others))
	}
}

func quotedList(list []string) string {
	const most = 5
	var b strings.Builder
	for i, s := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", head(s, 200))
	}
	if len(list) > most {
		fmt.Fprintf(&b, " and %d more", len(list)-most)
	}
	return b.String()
}

// scriptStep runs a command as a package's script does: by sh, with the programs of node_modules.
func (x *jsRun) scriptStep(text string) *Step {
	dir := filepath.Join(x.p.Root, x.dir)
	var bins []string
	for at := dir; ; at = filepath.Dir(at) {
		bins = append(bins, filepath.Join(at, "node_modules", ".bin"))
		if at == filepath.Dir(at) {
			break
		}
	}
	search := orElse(x.p.environ("PATH"), os.Getenv("PATH"))
	return &Step{Argv: []string{"sh", "-c", text}, Dir: dir, Phase: Compiling,
		Drivers: []string{"sh", "npm", "yarn", "pnpm"},
		Env:     []string{"PATH=" + strings.Join(append(bins, search), string(filepath.ListSeparator))}}
}

// Next does what the script does before its framework first, and what it does after that last, if nothing failed.
func (x *jsRun) Next() (*Step, error) {
	x.aside = ""
	if len(x.before) > 0 {
		x.aside, x.before = x.before[0], x.before[1:]
		x.out, x.err = ring{limit: x.text}, ring{limit: x.text}
		return x.scriptStep(x.aside), nil
	}
	step, err := x.scripted.Next()
	if step != nil || err != nil || len(x.after) == 0 || x.res.failed > 0 || x.broke {
		return step, err
	}
	x.aside, x.after = x.after[0], x.after[1:]
	x.out, x.err = ring{limit: x.text}, ring{limit: x.text}
	return x.scriptStep(x.aside), nil
}

// End of such a command: nothing follows one that failed, as in the script.
func (x *jsRun) End(exit Exit) {
	if x.aside == "" {
		x.broke = x.broke || exit.Code != 0 || exit.Signal != ""
		x.scripted.End(exit)
		return
	}
	if exit.Canceled || exit.Code == 0 && exit.Signal == "" {
		return
	}
	x.steps, x.more, x.before, x.after = nil, nil, nil, nil
	f := Failure{Kind: "exit", Message: fmt.Sprintf("%s left with code %d, so that no test ran", x.aside, exit.Code)}
	if len(x.res.ended) > 0 {
		f.Message = fmt.Sprintf("%s, after the tests, left with code %d", x.aside, exit.Code)
	}
	if exit.TimedOut {
		_, f = exit.ended(x.r.limit())
		f.Message = x.aside + ": " + f.Message
	}
	if exit.Signal != "" {
		f.Kind, f.Signal = "crash", exit.Signal
	}
	if last := x.last(); last != "" {
		x.placed(&f, last)
		f.Message += "; its last output:\n" + last
	}
	x.res.troubled("(script "+head(x.aside, 100)+")", "", f)
}

// script is how the whole of a package's tests is run by its package manager; "" where it has no script for that.
func (p *Project) testScript() (argv []string, text string) {
	pkg := p.packageAt(".")
	if pkg == nil {
		return nil, ""
	}
	parts := pkg.flow("test", 0)
	if text = strings.TrimSpace(pkg.Scripts["test"]); strings.Contains(text, "no test specified") ||
		!slices.ContainsFunc(parts, func(s scriptPart) bool { return !s.readsOnly() && s.words[0] != "exit" }) {
		return nil, ""
	}
	manager := "npm"
	for lock, name := range map[string]string{"yarn.lock": "yarn", "pnpm-lock.yaml": "pnpm"} {
		if _, err := p.LookPath(name); err == nil && p.isFile(path.Clean(lock)) {
			manager = name
		}
	}
	return []string{manager, "test"}, text
}
