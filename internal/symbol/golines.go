package symbol

import (
	"cmp"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// A Go program without debug information still has the table by which it prints its stacks: names of functions, where
// they are, files and lines. Parameters are not in it.

// Words of the table's header, and of runtime.moduledata, which begins with the table's address.
const (
	goTextWord   = 8 + 2*8
	goModuleText = 176
)

// addGo makes the index one of the functions of that table.
func (m *Module) addGo() error {
	im := m.im
	i := im.goTable()
	text := im.find(".text")
	if i < 0 || text < 0 {
		return nil
	}
	table := im.raw(&im.sects[i])
	begin := im.goText(table, im.sects[i].addr)
	if begin == 0 {
		begin = im.sects[text].addr
	}
	tab, err := gosym.NewTable(nil, gosym.NewLineTable(table, begin))
	if err != nil {
		return fmt.Errorf("read the table of Go's functions: %w", err)
	}
	known := map[Addr]bool{}
	for i := range tab.Funcs {
		g := &tab.Funcs[i]
		if g.End <= g.Entry || g.Name == "" || strings.HasPrefix(g.Name, "type:.") || strings.HasPrefix(g.Name, "go:") {
			continue
		}
		if uint64(len(im.at(g.Entry))) < g.End-g.Entry {
			continue
		}
		f := Function{Name: g.Name, Raw: g.Name, Low: Addr(g.Entry), High: Addr(g.End), Language: LangGo, HasDWARF: true}
		if !goWrap(g.Name) { // it has a line, but debug information gives it no source, either: nobody wrote it
			f.File, f.Line, _ = tab.PCToLine(g.Entry)
		}
		known[f.Low] = true
		m.ix.funcs = append(m.ix.funcs, f)
	}
	if len(known) == 0 {
		return nil
	}
	m.ix.funcs = slices.DeleteFunc(m.ix.funcs, func(f Function) bool { return known[f.Low] && !f.HasDWARF })
	slices.SortFunc(m.ix.funcs, func(a, b Function) int { return cmp.Compare(a.Low, b.Low) })
	m.ix.hasDWARF, m.ix.language = true, LangGo
	return nil
}

// goWrap reports a function that the compiler made of a go or defer statement, to hand its arguments on.
func goWrap(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, made := range []string{"gowrap", "deferwrap"} {
		if n, ok := strings.CutPrefix(last, made); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}

// goText is where the code of a Go module begins, which the table counts from: with C code in the program that is not
// where the section does. 0: it is not found.
func (im *image) goText(table []byte, at uint64) uint64 {
	if len(table) < goTextWord+8 {
		return 0
	}
	if w := binary.LittleEndian.Uint64(table[goTextWord:]); w != 0 {
		return w
	}
	return im.wordAt(im.goModuleData(at) + goModuleText)
}
