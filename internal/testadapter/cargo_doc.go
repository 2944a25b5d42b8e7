package testadapter

import (
	"path/filepath"
	"slices"
	"strings"
)

// doctests runs the doc tests of the packages that are selected, one package after another, since rustdoc does not say
// whose a test is.
func (x *cargoRun) doctests(selection []string) {
	if len(x.args.targets) > 0 && !x.args.doc && !slices.Contains(selection, "--doc") {
		return
	}
	var names map[string][]string // to run, by package; nil: all
	if id, name, ok := strings.Cut(x.r.Test, " "); ok && strings.HasSuffix(id, "::doc/lib") && x.knows(id) {
		names = map[string][]string{strings.TrimSuffix(id, "::doc/lib"): {name}}
	}
	want := orElse(x.r.Test, x.args.filter)
	var units []*cargoUnit
	for i := range x.meta.Packages {
		p := &x.meta.Packages[i]
		documented := slices.ContainsFunc(p.Targets, func(t cargoTarget) bool { return t.Doctest })
		if _, chosen := names[p.Name]; documented && (chosen || names == nil && x.selects(p.ID, p.Name)) {
			units = append(units, &cargoUnit{id: p.Name + "::doc/lib", pkg: p.Name, dir: filepath.Dir(p.Manifest)})
		}
	}
	if names == nil && want != "" {
		x.docNamed(units, want)
		return
	}
	for _, u := range units {
		u.chosen = names[u.pkg]
		x.runDocs(u)
	}
	if names != nil {
		x.after(func() {
			if x.count == (Totals{}) {
				x.unmatched(nil, "")
			}
			x.ends()
		})
	}
}

// selects says whether cargo test would run a package: the one at Root or the workspace's default members, unless
// others are named.
func (x *cargoRun) selects(id, name string) bool {
	selected, any := false, false
	for i, arg := range x.args.packages {
		value := ""
		if _, v, ok := strings.Cut(arg, "="); ok {
			value = v
		} else if i+1 < len(x.args.packages) {
			value = x.args.packages[i+1]
		}
		switch {
		case arg == "--workspace" || arg == "--all":
			any, selected = true, slices.Contains(x.meta.Members, id)
		case arg == "-p" || strings.HasPrefix(arg, "--package"):
			any = true
			selected = selected || value == name
		}
	}
	for i, arg := range x.args.packages {
		if arg == "--exclude="+name || arg == "--exclude" && i+1 < len(x.args.packages) && x.args.packages[i+1] == name {
			return false
		}
	}
	if any {
		return selected
	}
	for _, p := range x.meta.Packages { // in a member's own folder cargo takes that member
		if filepath.Dir(p.Manifest) == x.dir {
			return p.ID == id
		}
	}
	members := x.meta.Defaults
	if len(members) == 0 {
		members = x.meta.Members
	}
	return slices.Contains(members, id)
}

func (x *cargoRun) docCommand(u *cargoUnit, args ...string) *Step {
	argv := slices.Concat([]string{"cargo", "test", "--doc", "-p", u.pkg}, x.args.common,
		[]string{"--", "-Zunstable-options", "--format=json"}, args)
	return &Step{Argv: argv, Dir: x.dir, Env: []string{"RUSTC_BOOTSTRAP="}, Phase: Running, Drivers: cargoDrivers}
}

// docFilter is the part of a doc test's name that selects it and few others: rustdoc splits filters at spaces, so that
// none is exact. Results of the others are not told.
func docFilter(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

func (x *cargoRun) runDocs(u *cargoUnit) {
	args := append([]string{"--report-time"}, libArgs(x.args.test)...)
	for _, name := range u.chosen {
		args = append(args, docFilter(name))
	}
	l := &libRun{x: x, u: u, logged: map[string]string{}, told: map[string][]libEvent{}, begun: map[string]bool{}}
	var errs strings.Builder
	l.t = &task{step: x.docCommand(u, args...), stdout: l.line, stderr: func(line string) { keepLine(&errs, line) }}
	l.t.end = func(exit Exit) {
		if exit.Code == 0 || len(l.suites) > 0 {
			if len(l.suites) > 0 {
				l.end(exit)
			}
			return
		}
		x.silent++
		x.unfinished(exit, l.t)
		if len(x.order) == 0 && !exit.Canceled && !exit.TimedOut { // what does not compile was told of before
			failures := x.compileErrors(errs.String(), x.rel(x.base))
			if len(failures) == 0 {
				failures = []Failure{{Kind: "compile", Message: cargoSays(errs.String(), exit.Code)}}
			}
			x.broken(u.id+" (build)", "(build)", u.id, failures...)
		}
	}
	x.then(l.t)
}

// docNamed looks for a name among doc tests.
func (x *cargoRun) docNamed(units []*cargoUnit, want string) {
	lists := map[*cargoUnit][]string{}
	for _, u := range units {
		step := x.docCommand(u, "--list")
		step.Phase = Compiling
		x.then(&task{step: step, stdout: func(line string) {
			if t, ok := libListed(line); ok {
				lists[u] = append(lists[u], t.name)
			} else if name, ok := strings.CutSuffix(line, ": test"); ok {
				lists[u] = append(lists[u], name) // rustdoc's list has no JSON in some versions
			}
		}})
	}
	x.after(func() {
		var all []string
		for _, u := range units {
			all = append(all, lists[u]...)
		}
		chosen := choose(want, all)
		if len(chosen) == 0 {
			x.unmatched(append(x.listed, all...), "")
			return
		}
		for _, u := range units {
			for _, name := range lists[u] {
				if slices.Contains(chosen, name) {
					u.chosen = append(u.chosen, name)
				}
			}
			if len(u.chosen) > 0 {
				x.runDocs(u)
			}
		}
		x.after(x.ends)
	})
}
