package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// nearLines is how far below a line without code the next one that has some may be.
const nearLines = 20

// findLine finds out which file and line of a process's code a point means, unless that is known. The error says that
// the file is more than one; nothing found is none. What comes with a library later counts where it is of the same
// file, or where nothing was found.
func (pt *point) findLine(p *process) error {
	if pt.file != "" && pt.line != 0 {
		return nil
	}
	var own, apart []*symbol.Module
	for _, m := range p.modules {
		if mod, err := p.open(m); err != nil {
			continue
		} else if mod.InstalledApart() {
			apart = append(apart, mod)
		} else {
			own = append(own, mod)
		}
	}
	for _, mods := range [][]*symbol.Module{own, apart} { // a file of the program's goes before one of libc's of its name
		var files []string
		for _, mod := range mods {
			files = append(files, mod.SourceFiles(pt.File)...)
		}
		slices.Sort(files)
		files = slices.Compact(files)
		switch {
		case slices.Contains(files, pt.File):
			pt.file = pt.File
		case len(files) > 1:
			return fault.New(fault.ValidationError, "Give more of the path.", "%s is more than one file: %s", pt.File,
				strings.Join(files[:min(len(files), 5)], ", "))
		case len(files) == 1:
			pt.file = files[0]
		default:
			continue
		}
		pt.nearestLine(mods)
		return nil
	}
	return nil
}

// nearestLine takes the point's line if any of the modules has code for it, else the next that has, or says which are
// near.
func (pt *point) nearestLine(mods []*symbol.Module) {
	pt.line, pt.note = 0, ""
	for _, mod := range mods {
		if len(lineCode(mod, pt.file, pt.Line)) > 0 {
			pt.line = pt.Line
			return
		}
	}
	for _, mod := range mods {
		sts := mod.FileStatements(pt.file)
		i := slices.IndexFunc(sts, func(s symbol.Statement) bool { return s.Line >= pt.Line })
		if i < 0 || sts[i].Line > pt.Line+nearLines {
			pt.note = max(pt.note, nearest(sts, i, pt.Line))
		} else if pt.line == 0 || sts[i].Line < pt.line {
			pt.line = sts[i].Line
		}
	}
	if pt.line != 0 {
		pt.note = fmt.Sprintf("line %d has no code: line %d was taken", pt.Line, pt.line)
	}
}

// lineAddresses returns where the line begins in each function of a module, and in each copy of one that was inlined.
func (pt *point) lineAddresses(mod *symbol.Module) (at []symbol.Addr) {
	if pt.line == 0 {
		return nil
	}
	for _, a := range lineCode(mod, pt.file, pt.line) {
		if f, off, ok := mod.Lookup(a); ok && off == 0 {
			a = bodyStart(mod, f)
		}
		at = append(at, a)
	}
	return at
}

// lineCode returns where a line begins in each function and each inlined copy: of the same statement in parts, the
// first. A line that optimization left no statement has code amid others', and the first line of a function its entry.
func lineCode(mod *symbol.Module, file string, line int) (at []symbol.Addr) {
	code := mod.LineCode(file, line)
	seen, functions := map[scopeID]bool{}, map[string]bool{}
	take := func(a symbol.Addr, id scopeID, function string) {
		if !seen[id] {
			seen[id], functions[function] = true, true
			at = append(at, a)
		}
	}
	for _, a := range code.Begins {
		id, function := scopeOf(mod, a)
		take(a, id, function)
	}
	for _, a := range code.Hidden {
		id, function := scopeOf(mod, a)
		if functions[function] { // another copy of a function that has it
			take(a, id, function)
		} else if _, off, ok := mod.Lookup(a); ok && off == 0 && len(at) == 0 {
			take(a, id, function)
		}
	}
	if len(at) == 0 {
		for _, a := range code.Amid {
			id, function := scopeOf(mod, a)
			take(a, id, function)
		}
	}
	return at
}

// scopeID tells functions and inlined copies of functions of a module apart.
type scopeID struct {
	low   symbol.Addr // of the function that has the code
	block uint64
}

func scopeOf(mod *symbol.Module, a symbol.Addr) (id scopeID, function string) {
	if f, _, ok := mod.Lookup(a); ok {
		id.low = f.Low
	}
	if scopes := mod.InlinedAt(a); len(scopes) > 0 {
		id.block, function = scopes[0].Block, scopes[0].Function
	}
	return id, function
}

// nearest names the lines with code next to one that has none.
func nearest(sts []symbol.Statement, i, line int) string {
	switch {
	case len(sts) == 0:
		return ""
	case i < 0:
		return fmt.Sprintf("the last line with code is %d", sts[len(sts)-1].Line)
	case i == 0:
		return fmt.Sprintf("the first line with code is %d", sts[0].Line)
	}
	return fmt.Sprintf("the nearest lines with code are %d and %d", sts[i-1].Line, sts[i].Line)
}
