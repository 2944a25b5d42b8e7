package testadapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// scriptUse is what a package's scripts run, by framework: the name of the script, "test" before others.
type scriptUse map[string]string

// runners are the programs that scripts start, and the framework that each is.
var runners = map[string]string{"vitest": "vitest", "jest": "jest", "react-scripts": "jest", "mocha": "mocha",
	"ts-mocha": "mocha", "_mocha": "mocha", "playwright": "playwright"}

// wrappers start what follows them: with these words the command is still to come.
var wrappers = []string{"npx", "pnpx", "bunx", "exec", "dlx", "cross-env", "env", "dotenv", "--", "c8", "nyc", "time",
	"sudo", "concurrently", "run", "ts-node", "xvfb-run", "-e", "-f"}

var assignment = lazyregexp.MustCompile(`^[A-Za-z_]\w*=`)

// uses reads what the package's test scripts run: script test first, then those whose names begin with test.
func (k *packageJSON) uses() scriptUse {
	use := scriptUse{}
	names := []string{"test"}
	for name := range k.Scripts {
		if name != "test" && strings.HasPrefix(name, "test") {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	for _, name := range names {
		for _, framework := range k.runs(name, 0) {
			if use[framework] == "" {
				use[framework] = name
			}
		}
	}
	return use
}

// runs lists the frameworks that a script runs, also through other scripts.
func (k *packageJSON) runs(script string, depth int) []string {
	const deepest = 5
	if depth > deepest {
		return nil
	}
	var found []string
	for _, command := range shellCommands(k.Scripts[script]) {
		found = append(found, k.commandRuns(command, depth)...)
	}
	return found
}

// shellCommands splits a script into commands and words; quotes only keep words together.
func shellCommands(script string) [][]string {
	var commands [][]string
	var words []string
	for _, word := range shellWord.FindAllString(script, 1000) {
		if separates(word) {
			commands, words = append(commands, words), nil
			continue
		}
		words = append(words, unquoteWord.Replace(word))
	}
	return append(commands, words)
}

// separates says whether a word of a script ends a command.
func separates(word string) bool { return slices.Contains([]string{"&&", "||", ";", "|", "&"}, word) }

var unquoteWord = strings.NewReplacer(`\"`, `"`, `"`, "", `'`, "")

var shellWord = lazyregexp.MustCompile(`&&|\|\||\d*[<>]&[\d-]*|&>+|[;|&]|(?:[^\s;|&"']|"[^"]*"|'[^']*')+`)

func (k *packageJSON) commandRuns(words []string, depth int) []string {
	for i, word := range words {
		base, next := path.Base(word), ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		base = programName(base)
		switch {
		case runners[base] != "":
			if base == "react-scripts" && next != "test" || base == "playwright" && next != "test" {
				return nil
			}
			return []string{runners[base]}
		case (base == "bun" || base == "deno") && next == "test":
			return []string{base}
		case base == "node" || base == "tsx":
			if slices.Contains(words[i:], "--test") {
				return []string{"node"}
			}
		case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, base):
			if found := k.managerRuns(words[i+1:], depth); found != nil {
				return found
			}
		case assignment.MatchString(word), strings.HasPrefix(word, "-"), slices.Contains(wrappers, base):
		default:
			if i == 0 || !slices.Contains(wrappers, path.Base(words[i-1])) && !strings.HasPrefix(words[i-1], "-") {
				return nil // another command, or an argument of one
			}
		}
	}
	return nil
}

// managerRuns reads "npm run x", "yarn x", "pnpm exec x".
func (k *packageJSON) managerRuns(words []string, depth int) []string {
	for _, word := range words {
		if strings.HasPrefix(word, "-") || slices.Contains([]string{"run", "run-script", "exec"}, word) {
			continue
		}
		if _, ok := k.Scripts[word]; ok {
			return k.runs(word, depth+1)
		}
		if runners[word] != "" {
			return []string{runners[word]}
		}
		return nil
	}
	return nil
}

// jsFramework is how one JavaScript framework shows in a project.
type jsFramework struct {
	name     string
	configs  []string // files that only it has
	packages []string // whose dependency says it
	field    string   // of package.json
}

// detect looks for a framework in the package at Root and in its workspaces. What scripts.test runs counts most, then
// configurations, then dependencies; where scripts.test runs another framework, this one is a second.
func (f jsFramework) detect(p *Project) Detection {
	best := Detection{}
	for _, pkg := range p.packages() {
		d := f.detectIn(p, pkg)
		if pkg.Dir != "." && d.Confidence > 0 {
			d.Confidence -= 2
			d.Dir = pkg.Dir
		}
		if d.Confidence > best.Confidence {
			best = d
		}
	}
	return best
}

func (f jsFramework) detectIn(p *Project, pkg *packageJSON) Detection {
	use := pkg.uses()
	manifest := path.Join(pkg.Dir, "package.json")
	if use[f.name] == "test" {
		return Detection{Confidence: 96, Evidence: []string{manifest + ": script test runs " + f.name}}
	}
	others := ""
	for other, script := range use {
		if script == "test" && (others == "" || other < others) {
			others = other
		}
	}
	d := Detection{}
	if script := use[f.name]; script != "" {
		d = Detection{Confidence: 88, Evidence: []string{fmt.Sprintf("%s: script %s runs %s", manifest, script, f.name)}}
	}
	if name := p.first(pkg.Dir, f.configs...); name != "" {
		d.Confidence = max(d.Confidence, 90)
		d.Evidence = append(d.Evidence, path.Join(pkg.Dir, name)+" configures it")
	}
	if f.field != "" && pkg.Fields[f.field] != nil {
		d.Confidence = max(d.Confidence, 90)
		d.Evidence = append(d.Evidence, manifest+": "+f.field+" configures it")
	}
	for _, name := range f.packages {
		if version, ok := pkg.Deps[name]; ok {
			d.Confidence = max(d.Confidence, 82)
			d.Evidence = append(d.Evidence, fmt.Sprintf("%s depends on %s %s", manifest, name, version))
			break
		}
	}
	if d.Confidence > 0 && others != "" {
		d.Confidence -= 40
		d.Evidence = append(d.Evidence, "but script test runs "+others)
	}
	return d
}

// nodeTool is a framework's own program, as node runs it.
type nodeTool struct {
	argv    []string // node and the script, or what stands for it
	dir     string   // absolute, of the framework's package; "" with Plug'n'Play
	version string
	drivers []string
}

// tool finds a framework in node_modules, from the package's folder upward, and its program by package.json's bin.
func (p *Project) tool(dir, pkg, bin string) (*nodeTool, error) {
	node, err := p.command("node", "Install Node.js, or put it into PATH.")
	if err != nil {
		return nil, err
	}
	for at := filepath.Join(p.Root, dir); ; at = filepath.Dir(at) {
		home := filepath.Join(at, "node_modules", pkg)
		var manifest struct {
			Version string
			Bin     json.RawMessage
		}
		if b, err := os.ReadFile(filepath.Join(home, "package.json")); err == nil && json.Unmarshal(b, &manifest) == nil {
			script := binOf(manifest.Bin, bin)
			if script == "" {
				return nil, fault.New(fault.LaunchFailed, "Install "+pkg+" anew.", "%s names no program %s",
					filepath.Join(home, "package.json"), bin)
			}
			return &nodeTool{argv: []string{node, filepath.Join(home, script)}, dir: home, version: manifest.Version}, nil
		}
		if yarn, err := p.LookPath("yarn"); err == nil && exists(filepath.Join(at, ".pnp.cjs")) {
			return &nodeTool{argv: []string{yarn, "run", bin}, drivers: []string{"yarn"}}, nil
		}
		if at == filepath.Dir(at) {
			return nil, p.notInstalled(dir, pkg)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// binOf reads the bin of a package.json: a path, or paths by name.
func binOf(raw json.RawMessage, name string) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	many := map[string]string{}
	_ = json.Unmarshal(raw, &many)
	return many[name]
}

// notInstalled is the fault of a framework that is not in node_modules: the hint is the command that installs it.
func (p *Project) notInstalled(dir, pkg string) error {
	declared := false
	for _, at := range upward(dir) {
		if k := p.packageAt(at); k != nil && k.Deps[pkg] != "" {
			declared = true
		}
	}
	where, install := p.installer(dir, declared, pkg)
	return fault.New(fault.LaunchFailed, fmt.Sprintf("Run %q in %s.", install, filepath.Join(p.Root, where)),
		"%s is not installed: no node_modules/%s in %s or above", pkg, pkg, filepath.Join(p.Root, dir))
}

// installer is the command that installs a project's packages, by the lock file that it has, and where to run it.
func (p *Project) installer(dir string, declared bool, pkg string) (where, command string) {
	for _, at := range upward(dir) {
		manager := ""
		if k := p.packageAt(at); k != nil {
			manager = k.Manager
		}
		berry := p.isFile(path.Join(at, ".yarnrc.yml")) || strings.HasPrefix(manager, "yarn@") &&
			!strings.HasPrefix(manager, "yarn@1")
		for _, lock := range []struct{ file, install, add string }{
			{"package-lock.json", "npm ci", "npm install --save-dev "},
			{"npm-shrinkwrap.json", "npm ci", "npm install --save-dev "},
			{"pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm add --save-dev "},
			{"yarn.lock", yarnInstall(berry), "yarn add --dev "},
			{"bun.lock", "bun install --frozen-lockfile", "bun add --dev "},
			{"bun.lockb", "bun install --frozen-lockfile", "bun add --dev "},
		} {
			if !p.isFile(path.Join(at, lock.file)) {
				continue
			}
			if declared {
				return at, lock.install
			}
			return dir, lock.add + pkg
		}
	}
	if declared {
		return dir, "npm install"
	}
	return dir, "npm install --save-dev " + pkg
}

func yarnInstall(berry bool) string {
	if berry {
		return "yarn install --immutable"
	}
	return "yarn install --frozen-lockfile"
}

// scriptCommand is how a package's script runs a framework: variables before it, options, and other arguments.
type scriptCommand struct {
	name           string // of the program: "vitest", "node", "tsx"
	env            []string
	options, files []string
	// options of node itself, where the script starts it: node --experimental-vm-modules node_modules/.bin/jest
	node []string
}

// command reads how the package's script runs a framework: the script that uses names, or one that it runs.
func (k *packageJSON) command(framework, script string) scriptCommand {
	names := []string{script}
	for name := range k.Scripts {
		names = append(names, name)
	}
	slices.Sort(names[1:])
	for _, name := range names {
		for _, words := range shellCommands(k.Scripts[name]) {
			if c, ok := commandOf(words, framework); ok {
				return c
			}
		}
		if name == "" {
			break
		}
	}
	return scriptCommand{}
}

func commandOf(words []string, framework string) (scriptCommand, bool) {
	c := scriptCommand{}
	tool := toolOptions[framework]
	for i, word := range words {
		base := programName(word)
		is := runners[base] == framework
		if framework == "node" {
			is = (base == "node" || base == "tsx") && slices.Contains(words[i:], "--test")
		} else if framework == base {
			is = i+1 < len(words) && words[i+1] == "test" || is
		}
		if !is {
			if assignment.MatchString(word) {
				c.env = append(c.env, word)
			}
			continue
		}
		c.name = base
		rest := words[i+1:]
		if len(rest) > 0 && (rest[0] == "run" || rest[0] == "test") {
			rest = rest[1:]
		}
		for _, w := range tool.split(rest) {
			switch {
			case w.own:
			case w.option:
				c.options = append(c.options, w.text...)
			default:
				c.files = append(c.files, w.text...)
			}
		}
		if framework != "node" {
			c.node = nodeOptions(words[:i])
		}
		return c, true
	}
	return c, false
}

// nodeOptions are those of node, where it stands before a framework's program.
func nodeOptions(words []string) []string {
	i := slices.IndexFunc(words, func(w string) bool { return programName(w) == "node" })
	if i < 0 {
		return nil
	}
	var found []string
	for _, w := range toolOptions["node"].split(words[i+1:]) {
		if w.option && !w.own {
			found = append(found, w.text...)
		}
	}
	return found
}

// programName is the name that a program goes by: of node_modules/jest/bin/jest.js it is jest.
func programName(word string) string {
	base := path.Base(word)
	for _, end := range []string{".js", ".cjs", ".mjs", ".cmd"} {
		base = strings.TrimSuffix(base, end)
	}
	return base
}

// script is how a project's own script runs a framework.
func (p *Project) script(dir, framework string) scriptCommand {
	pkg := p.packageAt(dir)
	if pkg == nil {
		return scriptCommand{}
	}
	use := pkg.uses()[framework]
	if use == "" {
		return scriptCommand{}
	}
	return pkg.command(framework, use)
}
