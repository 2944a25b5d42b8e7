package native

import (
	"cmp"
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// maxSuggest bounds the "did you mean" list.
const maxSuggest = 5

// explain says why a pattern selects nothing, and what comes near. It begins with NO_DEBUG_SYMBOLS where the program
// has none: names of the C library, which often has, are no answer then.
func (t *target) explain(pr probe, mods map[*symbol.Module]bool) string {
	program := filepath.Base(cmp.Or(t.cmd.Name, t.cmd.Path))
	own, other := t.names(mods)
	main := t.mainModule()
	near := symbol.Suggest(own, pr.text)
	what := fmt.Sprintf("%q matches nothing", pr.text)
	if slices.Contains(near, pr.text) && len(t.PIDs()) == 0 {
		return what + " any more: the program has ended"
	}
	if runs, script := t.starter(main, program); runs != "" {
		if !script && len(near) > 0 && !pr.pat.NeedsSource() {
			runs += "; did you mean " + strings.Join(near[:min(len(near), maxSuggest)], ", ") + "?"
		}
		return fmt.Sprintf("%s yet: %s", what, runs)
	}
	if lack := t.lacking(main, program, pr); lack != "" {
		if len(near) > 0 && !pr.pat.NeedsSource() {
			lack += "; did you mean " + strings.Join(near[:min(len(near), maxSuggest)], ", ") + "?"
		}
		return fmt.Sprintf("%s: %s: %s", fault.NoDebugSymbols, what, lack)
	}
	if pr.pat.NeedsSource() && strings.HasPrefix(pr.text, "@usercode") {
		return fmt.Sprintf("%s: no source file of %s is under %s", what, program, t.cmd.ProjectRoot)
	}
	if main != nil && !pr.pat.Exact() && !pr.pat.NeedsSource() {
		if wider, n := symbol.Within(main.Functions(), pr.text, t.cmd.ProjectRoot); n > 0 {
			return fmt.Sprintf("%s: names are whole, with their package or namespace; of %q there are %d", what, wider, n)
		}
	}
	if len(near) == 0 {
		near = symbol.SuggestSame(other, pr.text) // of a library only what has the same name in another place
	}
	if len(near) > 0 {
		return fmt.Sprintf("%s; did you mean %s?%s", what, strings.Join(near[:min(len(near), maxSuggest)], ", "), t.later())
	}
	return fmt.Sprintf("%s among %d functions of %s and its libraries; try @usercode, or @file:NAME%s", what,
		len(own)+len(other), program, t.later())
}

// starter says that what runs is a program of the system's which starts the user's own, as a shell does with a script:
// that it lacks debug information is nobody's fault. "" where the program is the user's.
func (t *target) starter(main *symbol.Module, program string) (runs string, script bool) {
	if main == nil || main.HasDWARF || !systemFile(main.Path) || underRoot(main.Path, t.cmd.ProjectRoot) {
		return "", false
	}
	runs = filepath.Base(main.Path)
	if own, err := filepath.EvalSymlinks(t.cmd.Path); err == nil && !systemFile(own) {
		runs, script = fmt.Sprintf("%s is a script, which %s runs", program, runs), true
	} else {
		runs += " is a program of the system's without debug information"
	}
	return runs + "; programs that it starts are traced from their first instruction", script
}

func systemFile(path string) bool {
	for _, root := range []string{"/usr/", "/lib", "/bin/", "/sbin/"} {
		if strings.HasPrefix(path, root) && !strings.HasPrefix(path, "/usr/local/") {
			return true
		}
	}
	return false
}

// later says that what is loaded later is looked at as well, where something may be.
func (t *target) later() string {
	for _, p := range t.processes() {
		if len(p.modules) > 1 {
			return " (it stays in force for libraries that are loaded later)"
		}
	}
	return ""
}

// names lists the functions with debug information: those of the program and its own libraries, and those of the
// system's.
func (t *target) names(mods map[*symbol.Module]bool) (own, other []string) {
	main := t.mainModule()
	for mod := range mods {
		system := mod != main && systemFile(mod.Path)
		if !mod.HasDWARF && mod != main {
			continue
		}
		for _, f := range mod.Functions() {
			switch {
			case system:
				other = append(other, f.Name)
			case f.HasDWARF || !strings.HasPrefix(f.Name, "_"):
				own = append(own, f.Name)
			}
		}
	}
	return own, other
}

// mainModule is the program's own file, nil where it is not read.
func (t *target) mainModule() *symbol.Module {
	for _, p := range t.processes() {
		if len(p.modules) > 0 {
			return p.modules[0].mod
		}
	}
	return nil
}

// lacking says what debug information a program lacks for a pattern, "" where that is not why it matches nothing.
func (t *target) lacking(main *symbol.Module, program string, pr probe) string {
	if main == nil {
		return ""
	}
	golang, stripped := sectionsOf(main.Path)
	cure := " Build it with -g and do not strip it (Rust: debug = true in the Cargo profile)"
	switch {
	case golang:
		cure = " Build it without -ldflags \"-s -w\""
	case isRust(main):
		cure = " Build it with debug = true and without strip in its Cargo profile"
	case !stripped:
		cure = " Build it with -g"
	}
	cure += ", or give symbolsPath"
	if !main.HasDWARF {
		if stripped {
			return fmt.Sprintf("%s has neither debug information nor symbols: it was stripped, or linked with -s.%s", program,
				cure)
		}
		return fmt.Sprintf("%s has no debug information: only exact names can be traced, without arguments.%s", program, cure)
	}
	var bare []string
	for _, f := range main.Functions() {
		if f.HasDWARF && underRoot(f.File, t.cmd.ProjectRoot) {
			return "" // its own code has it
		}
		if !f.HasDWARF && !pr.pat.NeedsSource() && !pr.pat.Exact() && pr.pat.Match(&f, t.cmd.ProjectRoot) {
			bare = append(bare, f.Name)
		}
	}
	if len(bare) > 0 {
		return fmt.Sprintf("%d functions of that name, such as %s, have no debug information: they can be traced by their "+
			"exact names, without arguments.%s", len(bare), bare[0], cure)
	}
	if pr.pat.NeedsSource() && isRust(main) {
		return fmt.Sprintf("none of the debug information of %s is of files under %s, only that of libraries.%s", program,
			t.cmd.ProjectRoot, cure)
	}
	return ""
}

func underRoot(file, root string) bool {
	return root != "" && strings.HasPrefix(file, strings.TrimSuffix(root, "/")+"/")
}

// isRust reports a program of Rust by its symbols: without debug information nothing else says so.
func isRust(m *symbol.Module) bool {
	return m.Language == symbol.LangRust || slices.ContainsFunc(m.Functions(), func(f symbol.Function) bool {
		return f.Name == "rust_panic" || strings.HasPrefix(f.Name, "std::rt::")
	})
}

// sectionsOf reports whether a file is a program of Go, and whether it has no table of symbols but what is needed to
// link it at run time.
func sectionsOf(path string) (golang, stripped bool) {
	f, err := elf.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	return f.Section(".gopclntab") != nil, f.Section(".symtab") == nil
}
