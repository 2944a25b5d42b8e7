package symbol

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Code is where names stand, which decides what they mean.
type Code struct {
	Module   *Module // nil: nowhere
	At       Addr
	Function string // its qualified name, without parameters; "": none
}

// Meaning is a variable that a name may mean.
type Meaning struct {
	Module *Module
	Variable
	Gone bool // the source has it, the program does not
}

// Meanings returns what a name may mean in a piece of code, of the modules' variables, the nearest first: a static of
// the function, a member of the classes and namespaces around it, a variable of its source file, then those of other
// files and modules. Not what is inside a library whose debug information the system has installed: a condition on a
// variable out of scope would read a static of libm's.
func (c *Code) Meanings(mods []*Module, name string) (out []Meaning) {
	for _, n := range c.around(name) {
		for _, m := range mods {
			out = append(out, c.in(m, n, true)...)
		}
	}
	for i, m := range mods {
		inside := !m.InstalledApart() || m == c.Module || i == 0 && c.Module == nil || strings.Contains(name, "::")
		for _, v := range c.in(m, name, false) {
			if inside || v.External && !v.Gone {
				out = append(out, v)
			}
		}
	}
	sorting.By(out, func(a, b Meaning) int { return falseFirst(a.Gone && !c.owns(a), b.Gone && !c.owns(b)) })
	return out
}

// owns reports a variable of the code's own source file.
func (c *Code) owns(v Meaning) bool { return v.Module == c.Module && v.own }

// around are the names that a name would have in the function, and in its classes and namespaces from the inside out.
func (c *Code) around(name string) (out []string) {
	if c.Function == "" {
		return nil
	}
	if c.Module != nil && c.Module.Go {
		slash := strings.LastIndexByte(c.Function, '/') + 1
		pkg, _, _ := strings.Cut(c.Function[slash:], ".")
		return []string{c.Function[:slash] + pkg + "." + name}
	}
	for parts := splitName(c.Function); len(parts) > 0; parts = parts[:len(parts)-1] {
		out = append(out, strings.Join(parts, "::")+"::"+name)
	}
	return out
}

// in is what a name may mean of one module's variables; whole: only if it is the qualified name.
func (c *Code) in(m *Module, name string, whole bool) (out []Meaning) {
	at := Addr(0)
	if m == c.Module {
		at = c.At
	}
	for _, gone := range []bool{false, true} {
		table := func(t *nameTable) []varEntry { return t.vars }
		if gone {
			table = func(t *nameTable) []varEntry { return t.removed }
		}
		for _, v := range m.variablesFor(name, at, whole, table) {
			out = append(out, Meaning{m, v, gone})
		}
	}
	// A variable of the code's own file that is optimized out hides another file's of its name.
	sorting.By(out, func(a, b Meaning) int { return falseFirst(!c.owns(a), !c.owns(b)) })
	return out
}

// InstalledApart reports a module whose debug information the system installs by itself, as for its libraries: nobody
// thinks of what is inside it as a part of the program.
func (m *Module) InstalledApart() bool { return strings.HasPrefix(m.DebugPath, "/usr/lib/debug/") }
