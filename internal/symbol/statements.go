package symbol

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Statement is an address at which the code of a source line begins.
type Statement struct {
	Addr Addr
	File string // absolute
	Line int
	Body bool // the compiler says that a function's prologue ends here
}

// SourceFiles returns the source files of the module's code whose path is name, or ends in it at a separator, sorted;
// with "" all.
func (m *Module) SourceFiles(name string) (files []string) {
	seen := map[string]bool{}
	m.eachLineTable(func(u *unit, t *lineTable) {
		for n := range t.files {
			p := t.path(u, uint64(n))
			if p != "" && !seen[p] && (name == "" || p == name || strings.HasSuffix(p, "/"+strings.TrimPrefix(name, "./"))) {
				seen[p] = true
				if t.has(uint32(n)) {
					files = append(files, p)
				} else {
					delete(seen, p)
				}
			}
		}
	})
	slices.Sort(files)
	return files
}

// SourceFiles is that of the module which the type is described in. They are looked for once.
func (t *Type) SourceFiles(name string) []string {
	if t == nil || t.m == nil {
		return nil
	}
	type key struct{ name string }
	return t.m.Memo(key{name}, func() any { return t.m.SourceFiles(name) }).([]string)
}

// has reports whether a file has rows of its own.
func (t *lineTable) has(file uint32) bool {
	t.rowsOnce.Do(t.run)
	return slices.ContainsFunc(t.rows, func(r lineRow) bool { return r.file == file && !r.end && r.line > 0 })
}

// FileStatements returns every statement of a source file, by line, then by address. file is absolute.
func (m *Module) FileStatements(file string) (out []Statement) {
	m.eachLineTable(func(u *unit, t *lineTable) {
		for n := range t.files {
			if t.path(u, uint64(n)) != file {
				continue
			}
			t.rowsOnce.Do(t.run)
			for i, r := range t.rows {
				if r.file != uint32(n) || r.end || !r.stmt || r.line == 0 {
					continue
				}
				if t.superseded(i) { // no code of its own
					continue
				}
				out = append(out, Statement{Addr(r.addr), file, int(r.line), r.body})
			}
		}
	})
	sorting.By(out, func(a, b Statement) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Addr != b.Addr {
			return int(int64(a.Addr) - int64(b.Addr))
		}
		return 0
	})
	return slices.CompactFunc(out, func(a, b Statement) bool { return a.Addr == b.Addr && a.Line == b.Line })
}

// LineCode is where the code of a source line is, by address.
type LineCode struct {
	Begins []Addr // its statements
	Hidden []Addr // statements at whose address another line's begins, too, which is the one that a thread there is in
	Amid   []Addr // code amid other lines'
}

// LineCode returns the code of a line of a source file. file is absolute.
func (m *Module) LineCode(file string, line int) (out LineCode) {
	m.eachLineTable(func(u *unit, t *lineTable) {
		for n := range t.files {
			if t.path(u, uint64(n)) != file {
				continue
			}
			t.rowsOnce.Do(t.run)
			for i, r := range t.rows {
				switch {
				case r.file != uint32(n) || r.end || int(r.line) != line || line == 0:
				case r.stmt && t.superseded(i):
					out.Hidden = append(out.Hidden, Addr(r.addr))
				case r.stmt:
					out.Begins = append(out.Begins, Addr(r.addr))
				case i+1 < len(t.rows) && t.rows[i+1].addr > r.addr:
					out.Amid = append(out.Amid, Addr(r.addr))
				}
			}
		}
	})
	for _, list := range []*[]Addr{&out.Begins, &out.Hidden, &out.Amid} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// superseded reports whether another statement begins at the address of row i, behind it in the table. Rows that begin
// none do not count: gcc has them for the views of one instruction.
func (t *lineTable) superseded(i int) bool {
	for j := i + 1; j < len(t.rows) && t.rows[j].addr == t.rows[i].addr && !t.rows[j].end; j++ {
		if t.rows[j].stmt && t.rows[j].line != 0 {
			return true
		}
	}
	return false
}

// linesAt returns the unit that covers a and its line table, run; a nil table where there is none. Inside guarded only.
func (m *Module) linesAt(a Addr) (*unit, *lineTable) {
	d := m.dwarf()
	if d == nil {
		return nil, nil
	}
	u := d.unitAt(uint64(a))
	if u == nil {
		return nil, nil
	}
	t := u.lineTable()
	if t != nil {
		t.rowsOnce.Do(t.run)
	}
	return u, t
}

// Statements returns the statements that begin in [lo, hi), by address.
func (m *Module) Statements(lo, hi Addr) (out []Statement) {
	_ = m.guarded(func() error {
		u, t := m.linesAt(lo)
		if t == nil {
			return nil
		}
		for i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].addr >= uint64(lo) }); i < len(t.rows) &&
			t.rows[i].addr < uint64(hi); i++ {
			if r := t.rows[i]; !r.end && r.stmt {
				out = append(out, Statement{Addr(r.addr), t.path(u, uint64(r.file)), int(r.line), r.body})
			}
		}
		return nil
	})
	return out
}

// Row is the code that one row of a line table covers, with those behind it that belong to it.
type Row struct {
	Lo, Hi Addr
	File   string // absolute
	Line   int    // 0: code without a source position
	Stmt   bool   // a statement begins at Lo
}

// Row returns the row that covers a. Of several at one address the last counts, but one that begins a statement goes
// before others.
func (m *Module) Row(a Addr) (out Row, ok bool) {
	_ = m.guarded(func() error {
		u, t := m.linesAt(a)
		if t == nil {
			return nil
		}
		i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].addr > uint64(a) })
		if i == 0 || i == len(t.rows) || t.rows[i-1].end {
			return nil
		}
		from := i - 1
		for from > 0 && t.rows[from].joins(&t.rows[from-1]) {
			from--
		}
		for i < len(t.rows)-1 && t.rows[i].joins(&t.rows[i-1]) {
			i++
		}
		r := t.rows[from]
		for k := from - 1; !r.stmt && k >= 0 && t.rows[k].addr == r.addr && !t.rows[k].end && t.rows[k].line != 0; k-- {
			if t.rows[k].stmt {
				r = t.rows[k]
			}
		}
		out = Row{Lo: Addr(r.addr), Hi: Addr(t.rows[i].addr), File: t.path(u, uint64(r.file)), Line: int(r.line),
			Stmt: r.stmt}
		ok = true
		return nil
	})
	return out, ok
}

// joins reports whether a row goes on with the one before: the same line, or code without a line.
func (r *lineRow) joins(before *lineRow) bool {
	return !r.end && !before.end && (r.more || r.line == 0)
}

// BodyStart returns the address in a function behind its prologue, where its parameters are at their places: where the
// compiler says so, else the second statement of unoptimised code, else the entry.
func (m *Module) BodyStart(f *Function) Addr {
	sts := m.Statements(f.Low, f.High)
	for _, s := range sts {
		if s.Body {
			return s.Addr
		}
	}
	if sig, err := m.Signature(f); err != nil || sig.Optimized {
		return f.Low
	}
	for _, s := range sts {
		if s.Addr > f.Low && s.Line > 0 {
			return s.Addr
		}
	}
	return f.Low
}

// eachLineTable visits the line programs of the module's units, each once.
func (m *Module) eachLineTable(visit func(u *unit, t *lineTable)) {
	_ = m.guarded(func() error {
		d := m.dwarf()
		if d == nil {
			return nil
		}
		seen := map[*lineTable]bool{}
		for _, s := range d.secs {
			if s.file != d.main || s.types {
				continue
			}
			for _, u := range s.units {
				if t := u.lineTable(); t != nil && !seen[t] {
					seen[t] = true
					visit(u, t)
				}
			}
		}
		return nil
	})
}

// String is "file:line at 0x…".
func (s Statement) String() string {
	return fmt.Sprintf("%s:%d at %#x", s.File, s.Line, uint64(s.Addr))
}
