package testadapter

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// cargoRun is one execution.
type cargoRun struct {
	native
	args    cargoArgs
	dir     string // absolute, where cargo runs
	meta    cargoMetadata
	harness map[string]map[string]bool // by manifest: ownHarness
	units   []*cargoUnit
	errors  map[string][]Failure // of compilers, by package and target
	order   []string             // of errors
	built   bool                 // everything
	own     Totals               // of all suites that ended
	silent  int                  // programs that ended without a suite's end
	listed  []string             // IDs
	suites  int                  // that ended
}

// cargoUnit is one executable, or a package's doc tests.
type cargoUnit struct {
	id      string
	pkg     string
	exe     string // "" of doc tests
	dir     string // the package's
	harness bool   // libtest's
	kinds   []string
	target  string
	source  string
	env     []string
	tests   []libTest
	chosen  []string // names to run; nil: all
	skip    bool
}

// metadata asks cargo what the workspace has.
func (x *cargoRun) metadata() {
	argv := []string{"cargo", "metadata", "--no-deps", "--format-version=1"}
	for i, arg := range x.args.common {
		if arg == "--manifest-path" && i+1 < len(x.args.common) {
			argv = append(argv, x.args.common[i:i+2]...)
		}
	}
	var out, errs strings.Builder
	x.then(&task{
		step:   &Step{Argv: argv, Dir: x.dir, Phase: Compiling, Drivers: cargoDrivers},
		stdout: func(line string) { out.WriteString(line) }, // one line, of megabytes in large workspaces
		stderr: func(line string) { keepLine(&errs, line) },
		end: func(exit Exit) {
			if exit.Canceled || exit.TimedOut {
				return
			}
			if json.Unmarshal([]byte(out.String()), &x.meta) != nil || exit.Code != 0 {
				f := Failure{Kind: "compile", Message: cargoSays(errs.String(), exit.Code)}
				if m := rustArrow.FindStringSubmatch(firstMatch(errs.String(), rustArrow)); m != nil {
					f.File, f.Line, f.Column = x.rel(m[1]), number(m[2]), number(m[3])
				}
				x.broken("(cargo)", "(cargo)", "", f)
				return
			}
			x.base = x.meta.Root
			x.readManifests()
			x.build()
		},
	})
}

func (x *cargoRun) readManifests() {
	x.harness = map[string]map[string]bool{}
	for _, p := range x.meta.Packages {
		if name := x.rel(p.Manifest); x.below(name) {
			x.harness[p.Manifest] = ownHarness(readSome(x.p.FS, name, 1<<20))
		}
	}
}

// selection are the arguments for what the request wants built; nothing: there is no such target.
func (x *cargoRun) selection() (args []string, ok bool) {
	if id, _, isID := strings.Cut(x.r.Test, " "); isID && x.knows(id) {
		return cargoBinary(id), true
	}
	if x.r.Level == AllLevels {
		return append(slices.Clone(x.args.packages), x.args.targets...), true
	}
	args = slices.Clone(x.args.packages)
	for _, p := range x.meta.Packages {
		if !x.selects(p.ID, p.Name) {
			continue
		}
		for _, t := range p.Targets {
			switch kind := t.Kind[0]; {
			case x.r.Level == Unit && kind == "bin":
				args, ok = append(args, "--bins"), true
			case x.r.Level == Unit && (kind == "lib" || kind == "proc-macro" || strings.HasSuffix(kind, "lib")):
				args, ok = append(args, "--lib"), true
			case x.r.Level != Unit && kind == "test" && endToEnd(t.Name) == (x.r.Level == EndToEnd):
				args, ok = append(args, "--test="+t.Name), true
			}
		}
	}
	slices.Sort(args[len(x.args.packages):])
	return slices.Compact(args), ok
}

// knows says whether an ID's binary is of this workspace.
func (x *cargoRun) knows(id string) bool {
	pkg, _, _ := strings.Cut(id, "::")
	for _, p := range x.meta.Packages {
		if p.Name == pkg {
			return true
		}
	}
	return false
}

func (x *cargoRun) build() {
	selection, ok := x.selection()
	if !ok {
		x.note("no target of this workspace is of level %s: cargo's unit tests are in libraries and binaries, integration "+
			"tests in tests/, and e2e those there whose names begin with e2e", x.r.Level)
		return
	}
	if slices.Equal(selection, []string{"--doc"}) || len(selection) == 3 && selection[2] == "--doc" {
		x.doctests(selection)
		return
	}
	x.errors = map[string][]Failure{}
	argv := slices.Concat([]string{"cargo", "test", "--no-run", "--no-fail-fast", "--message-format=json"}, x.args.common,
		selection)
	var errs strings.Builder
	x.then(&task{
		step:   &Step{Argv: argv, Dir: x.dir, Phase: Compiling, Drivers: cargoDrivers},
		stdout: x.message,
		stderr: func(line string) {
			keepLine(&errs, line)
			if text := strings.TrimSpace(line); strings.HasPrefix(text, "Compiling ") ||
				strings.HasPrefix(text, "Downloading ") || strings.HasPrefix(text, "Building ") {
				x.phase(Compiling, text)
			}
		},
		end: func(exit Exit) {
			for _, id := range x.order {
				x.broken(id+" (build)", "(build)", id, x.errors[id]...)
			}
			if exit.Code != 0 && len(x.order) == 0 && !exit.Canceled && !exit.TimedOut {
				x.broken("(cargo)", "(cargo)", "", x.cargoFailure(errs.String(), exit.Code))
				if len(x.units) == 0 {
					return // doc tests fail as well
				}
			}
			if !x.built {
				x.silent++
			}
			if len(x.units) > 0 {
				x.environments()
			} else {
				if x.r.Level == AllLevels {
					x.doctests(selection)
				}
				x.after(x.ends)
			}
		},
	})
}

func (x *cargoRun) message(line string) {
	var m cargoMessage
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &m) != nil {
		return
	}
	switch {
	case m.Reason == "build-finished":
		x.built = m.Success != nil && *m.Success
	case m.Reason == "compiler-message" && m.Message.Level == "error" && len(m.Target.Kind) > 0:
		if strings.HasPrefix(m.Message.Message, "aborting due to") {
			return
		}
		id := cargoID(x.packageName(m.Package), m.Target.Kind, m.Target.Name)
		if x.errors[id] == nil {
			x.order = append(x.order, id)
		}
		if f := x.rustFailure(&m.Message); len(x.errors[id]) < maxErrors &&
			!slices.ContainsFunc(x.errors[id], func(g Failure) bool {
				return g.Message == f.Message && g.File == f.File && g.Line == f.Line
			}) {
			x.errors[id] = append(x.errors[id], f) // a library's come twice: with its tests and without
		}
	case m.Reason == "compiler-artifact" && m.Profile.Test && m.Executable != "" && len(m.Target.Kind) > 0:
		key := m.Target.Kind[0] + "/" + m.Target.Name
		if strings.HasSuffix(m.Target.Kind[0], "lib") || m.Target.Kind[0] == "proc-macro" {
			key = "lib"
		}
		name := x.packageName(m.Package)
		x.units = append(x.units, &cargoUnit{id: cargoID(name, m.Target.Kind, m.Target.Name), pkg: name, exe: m.Executable,
			dir:     filepath.Dir(m.Manifest),
			harness: !x.harness[m.Manifest][key], kinds: m.Target.Kind, target: m.Target.Name, source: x.rel(m.Target.Source)})
	}
}

func (x *cargoRun) packageName(id string) string {
	for _, p := range x.meta.Packages {
		if p.ID == id {
			return p.Name
		}
	}
	_, name, _ := strings.Cut(id, "#") // path+file:///dir#name@version
	name, _, _ = strings.Cut(name, "@")
	return orElse(name, id)
}

// environments has cargo start a runner in place of each executable, which writes down what cargo gives it: variables
// of its own, of build scripts and of [env] in its configuration, and the library path.
func (x *cargoRun) environments() {
	out := filepath.Join(x.r.Dir, "cargo-env")
	var args []string
	step := &Step{Dir: x.dir, Phase: Compiling, Drivers: cargoDrivers,
		Files: map[string][]byte{filepath.Join(out, "README"): []byte("environments of test programs\n")}}
	for _, u := range x.units {
		args = append(args, cargoBinary(u.id)...)
		step.Reports = append(step.Reports, filepath.Join(out, filepath.Base(u.exe)))
	}
	// an array of strings is written alike in TOML
	runner, _ := json.Marshal([]string{"sh", "-c", `env -0 > "$0/${1##*/}"`, out})
	step.Argv = slices.Concat([]string{"cargo", "test", "--quiet", "--no-fail-fast", "--config",
		`target."cfg(all())".runner=` + string(runner)},
		x.args.common, pairs(args))
	dumps := map[string]*strings.Builder{}
	x.then(&task{
		step: step,
		report: func(name string, data []byte) {
			if dumps[name] == nil {
				dumps[name] = &strings.Builder{}
			}
			if dumps[name].Len() < 4<<20 {
				dumps[name].Write(data)
			}
		},
		end: func(exit Exit) {
			known := map[string]bool{}
			for _, v := range x.p.Environ {
				known[v] = true
			}
			for i, u := range x.units {
				b := dumps[step.Reports[i]]
				if b == nil {
					x.ownEnvironment(u)
					continue
				}
				for v := range strings.SplitSeq(b.String(), "\x00") {
					name, _, set := strings.Cut(v, "=")
					if set && !known[v] && !slices.Contains([]string{"_", "SHLVL", "PWD", "OLDPWD"}, name) {
						u.env = append(u.env, v)
					}
				}
			}
			x.lists()
		},
	})
}

// pairs drops repeated options; "-p name" and "--test name" count as one.
func pairs(args []string) []string {
	var out []string
	seen := map[string]bool{}
	for i := 0; i < len(args); i++ {
		group := args[i : i+1]
		if args[i] != "--lib" && i+1 < len(args) {
			group = args[i : i+2]
			i++
		}
		if key := strings.Join(group, " "); !seen[key] {
			seen[key] = true
			out = append(out, group...)
		}
	}
	return out
}

// ownEnvironment is the least that cargo gives a test program, where it could not be asked.
func (x *cargoRun) ownEnvironment(u *cargoUnit) {
	deps := filepath.Dir(u.exe)
	u.env = []string{"CARGO_MANIFEST_DIR=" + u.dir, "CARGO_PKG_NAME=" + u.pkg, "LD_LIBRARY_PATH=" + deps + ":" +
		filepath.Dir(deps)}
	for _, p := range x.meta.Packages {
		if p.Name == u.pkg {
			u.env = append(u.env, "CARGO_PKG_VERSION="+p.Version)
		}
	}
	x.note("%s runs without all of the environment that cargo gives it: cargo could not be asked for it", u.id)
}

// lists asks every program for its tests, then runs what is chosen of them.
func (x *cargoRun) lists() {
	selection, _ := x.selection()
	for _, u := range x.units {
		if !u.harness {
			u.tests = []libTest{{name: "(main)", file: u.source}}
			continue
		}
		x.then(&task{
			step: &Step{Argv: []string{u.exe, "--list", "-Zunstable-options", "--format=json"}, Dir: u.dir,
				Env: append(slices.Clone(u.env), "RUSTC_BOOTSTRAP="), Phase: Compiling},
			stdout: func(line string) {
				if t, ok := libListed(line); ok {
					t.file = x.in(x.base, t.file)
					u.tests = append(u.tests, t)
				}
			},
		})
	}
	x.after(func() {
		want := orElse(x.r.Test, x.args.filter)
		if want != "" {
			x.selectNamed(want)
		}
		for _, u := range x.units {
			if !u.skip {
				x.runUnit(u)
			}
		}
		if want == "" && x.r.Level == AllLevels {
			x.doctests(selection)
		}
		x.after(x.ends)
	})
}

// selectNamed keeps what a name means in each program's list. Doc tests have no list: they are asked when nothing else
// matches.
func (x *cargoRun) selectNamed(want string) {
	var names []string
	for _, u := range x.units {
		for _, t := range u.tests {
			names = append(names, u.id+" "+t.name)
			if t.name == "(main)" {
				names[len(names)-1] = u.id + " " + u.target
			}
		}
	}
	binary, own, isID := strings.Cut(want, " ")
	isID = isID && x.knows(binary)
	byName := func(name string) bool { return false }
	if !isID || !slices.Contains(names, want) && own != "(main)" {
		var short []string
		for _, name := range names {
			_, name, _ = strings.Cut(name, " ")
			short = append(short, name)
		}
		chosen := choose(want, short)
		byName = func(name string) bool { return slices.Contains(chosen, name) }
	}
	found := false
	for _, u := range x.units {
		for _, t := range u.tests {
			name := t.name
			if name == "(main)" {
				name = u.target
			}
			if byName(name) || want == u.id+" "+t.name || want == u.id+" "+name {
				u.chosen, found = append(u.chosen, t.name), true
			}
		}
		u.skip = len(u.chosen) == 0
	}
	switch {
	case found:
	case x.r.Level == AllLevels && !isID:
		x.listed = names
		x.doctests(nil)
	default:
		x.unmatched(names, "")
	}
}

func firstMatch(text string, re interface{ MatchString(string) bool }) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); re.MatchString(line) {
			return line
		}
	}
	return ""
}

// ends tells cargo's own totals, which are the sums of its programs'.
func (x *cargoRun) ends() {
	if x.silent == 0 && x.suites > 0 {
		x.totals(x.own)
	}
	if x.suites == 0 && x.silent == 0 && len(x.units) == 0 && x.r.Test == "" {
		x.note("cargo found no test targets in %s", fmt.Sprintf("%d packages", len(x.meta.Packages)))
	}
}
