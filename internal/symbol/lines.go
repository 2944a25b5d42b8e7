package symbol

import (
	"path/filepath"
	"sort"
	"sync"
)

// lineCache keeps the line programs of one file, by offset: units of one object may share one.
type lineCache struct {
	mu     sync.Mutex
	tables map[uint64]*lineTable
}

// lineTable is one line program: its files, and its rows once somebody asked.
type lineTable struct {
	version  uint16
	offSize  uint8
	minInst  uint8
	lineBase int8
	lineRng  uint8
	opBase   uint8
	stmt     bool // rows begin statements unless the program says otherwise
	opLens   []uint8
	dirs     []string
	files    []lineFile
	program  reader

	rowsOnce sync.Once
	rows     []lineRow
	pathMu   sync.Mutex
	paths    map[uint64]string
}

type lineFile struct {
	name string
	dir  uint64
}

// lineRow says that code from addr up to the next row comes from a line. line 0: no source; end: no code.
type lineRow struct {
	addr uint64
	file uint32
	line uint32
	end  bool
	stmt bool // a statement begins here
	body bool // the function's prologue ends here
	more bool // of the statement of the row before: the same line again, which discriminators part
}

// Bounds on what a line program can make us store; real ones stay far below.
const (
	maxLineFiles = 1 << 20
	maxLineRows  = 1 << 24
)

// lineTable returns the unit's line program, or nil.
func (u *unit) lineTable() *lineTable {
	if !u.hasLine || u.lineFile == nil {
		return nil
	}
	c := &u.lineFile.lines
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tables[u.stmtList]
	if !ok {
		t = parseLineHeader(u)
		if c.tables == nil {
			c.tables = map[uint64]*lineTable{}
		}
		c.tables[u.stmtList] = t
	}
	return t
}

func parseLineHeader(u *unit) *lineTable {
	r := newReader(u.lineFile.line, u.stmtList)
	t := &lineTable{offSize: 4, paths: map[uint64]string{}}
	length := uint64(r.u32())
	if length == 0xffffffff {
		length, t.offSize = r.u64(), 8
	}
	if r.bad || length > uint64(r.left()) {
		return nil
	}
	r.b = r.b[:r.off+int(length)]
	t.version = r.u16()
	if t.version < 2 || t.version > 5 {
		return nil
	}
	addrSize := uint8(8)
	if t.version >= 5 {
		addrSize = r.u8()
		r.u8() // segment selector size
	}
	hdrLen := r.word(int(t.offSize))
	t.program = r
	t.program.skip(hdrLen)
	t.minInst = r.u8()
	if t.version >= 4 {
		r.u8() // operations per instruction: VLIW only
	}
	t.stmt = r.u8() != 0
	t.lineBase, t.lineRng, t.opBase = int8(r.u8()), r.u8(), r.u8()
	if t.opBase > 0 {
		t.opLens = r.bytes(uint64(t.opBase) - 1)
	}
	if r.bad || addrSize != 8 {
		return nil
	}
	if t.version >= 5 {
		t.readTables5(u, &r)
	} else {
		t.readTables(u, &r)
	}
	return t
}

func (t *lineTable) readTables(u *unit, r *reader) {
	t.dirs = []string{u.compDir}
	for len(t.dirs) < maxLineFiles {
		d := r.cstr()
		if len(d) == 0 {
			break
		}
		t.dirs = append(t.dirs, string(d))
	}
	t.files = []lineFile{{name: string(u.text(u.name))}} // file 0 is not used before DWARF 5
	for len(t.files) < maxLineFiles {
		name := r.cstr()
		if len(name) == 0 {
			return
		}
		t.files = append(t.files, lineFile{string(name), r.uleb()})
		r.uleb()
		r.uleb()
	}
}

func (t *lineTable) readTables5(u *unit, r *reader) {
	for pass := 0; pass < 2; pass++ {
		var forms []abbrevAttr
		for n := r.u8(); n > 0 && !r.bad; n-- {
			forms = append(forms, abbrevAttr{name: uint16(r.uleb()), form: uint16(r.uleb())})
		}
		count := r.uleb()
		if len(forms) == 0 {
			continue
		}
		for i := uint64(0); i < count && i < maxLineFiles && !r.bad; i++ {
			var f lineFile
			for _, at := range forms {
				switch at.name {
				case 1: // DW_LNCT_path
					f.name = string(t.pathText(u, r, at.form))
				case 2: // DW_LNCT_directory_index
					f.dir = u.value(r, at).u
				default:
					u.skip(r, at.form)
				}
			}
			if r.bad {
				return
			}
			if pass == 0 {
				t.dirs = append(t.dirs, f.name)
			} else {
				t.files = append(t.files, f)
			}
		}
	}
}

// pathText reads a path, whose strings are in the sections of the line program's file.
func (t *lineTable) pathText(u *unit, r *reader, form uint16) []byte {
	switch form {
	case formString:
		return r.cstr()
	case formLineStrp:
		return cstrAt(u.lineFile.lineStr, r.word(int(t.offSize)))
	case formStrp:
		return cstrAt(u.lineFile.str, r.word(int(t.offSize)))
	}
	return u.text(u.str(r, form))
}

// path returns the path of a file by its number in the unit, absolute where sources finds it, or "".
func (t *lineTable) path(u *unit, n uint64) string {
	return u.sec.file.sources.locate(t.written(u, n))
}

// written returns the path as the debug information has it: absolute, or relative to where nobody says.
func (t *lineTable) written(u *unit, n uint64) string {
	if n >= uint64(len(t.files)) || n == 0 && t.version < 5 {
		return ""
	}
	t.pathMu.Lock()
	defer t.pathMu.Unlock()
	if p, ok := t.paths[n]; ok {
		return p
	}
	f := t.files[n]
	p := f.name
	if p != "" && !filepath.IsAbs(p) {
		dir := ""
		if f.dir < uint64(len(t.dirs)) {
			dir = t.dirs[f.dir]
		}
		switch {
		case filepath.IsAbs(dir) || filepath.IsAbs(u.compDir):
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(u.compDir, dir)
			}
			p = filepath.Join(dir, p)
		default: // not cleaned: sources wants to know what stands below the unit's directory
			if dir != "" {
				p = dir + "/" + p
			}
			if u.compDir != "" && dir != u.compDir {
				p = u.compDir + "/" + p
			}
		}
	} else if p != "" {
		p = filepath.Clean(p)
	}
	t.paths[n] = p
	return p
}

// filePath returns the path of a DW_AT_decl_file number of this unit.
func (u *unit) filePath(n uint64) string { return u.sec.file.sources.locate(u.writtenPath(n)) }

// writtenPath is the same as the debug information has it.
func (u *unit) writtenPath(n uint64) string {
	t := u.lineTable()
	if t == nil {
		return ""
	}
	return t.written(u, n)
}

// find returns the row that covers addr.
func (t *lineTable) find(addr uint64) (lineRow, bool) {
	t.rowsOnce.Do(t.run)
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].addr > addr }) - 1
	if i < 0 || t.rows[i].end {
		return lineRow{}, false
	}
	return t.rows[i], true
}

// run executes the line program.
func (t *lineTable) run() {
	r := t.program
	var row lineRow
	var part linePart
	reset := func() { row, part = lineRow{file: 1, line: 1, stmt: t.stmt}, linePart{} }
	emit := func() {
		row.more = part.goesOn(&row)
		t.rows = append(t.rows, row)
		row.body = false
	}
	reset()
	for r.off < len(r.b) && !r.bad && len(t.rows) < maxLineRows {
		op := r.u8()
		if op >= t.opBase {
			if t.lineRng == 0 {
				return
			}
			adj := op - t.opBase
			row.addr += uint64(adj/t.lineRng) * uint64(t.minInst)
			row.line += uint32(int32(t.lineBase) + int32(adj%t.lineRng))
			emit()
			continue
		}
		switch op {
		case 0:
			t.extended(&r, &row, &part, emit, reset)
		case 1: // copy
			emit()
		case 2: // advance_pc
			row.addr += r.uleb() * uint64(t.minInst)
		case 3: // advance_line
			row.line += uint32(r.sleb())
		case 4: // set_file
			row.file = uint32(r.uleb())
		case 5: // set_column
			r.uleb()
		case 6: // negate_stmt
			row.stmt = !row.stmt
		case 8: // const_add_pc
			if t.lineRng != 0 {
				row.addr += uint64((255-t.opBase)/t.lineRng) * uint64(t.minInst)
			}
		case 9: // fixed_advance_pc
			row.addr += uint64(r.u16())
		case 10: // set_prologue_end
			row.body = true
		default:
			if int(op) <= len(t.opLens) {
				for n := t.opLens[op-1]; n > 0; n-- {
					r.uleb()
				}
			}
		}
	}
	sort.SliceStable(t.rows, func(i, j int) bool {
		a, b := t.rows[i], t.rows[j]
		if a.addr != b.addr {
			return a.addr < b.addr
		}
		return a.end && !b.end // the end of one sequence may be the start of the next
	})
}

func (t *lineTable) extended(r *reader, row *lineRow, part *linePart, emit, reset func()) {
	n := r.uleb()
	if n == 0 || n > uint64(r.left()) {
		r.fail()
		return
	}
	next := r.off + int(n)
	switch r.u8() {
	case 1: // end_sequence
		row.end = true
		emit()
		reset()
	case 2: // set_address
		row.addr = r.word(int(n) - 1)
	case 4: // set_discriminator
		part.set = r.uleb() != 0
	}
	if !r.bad {
		r.off = next
	}
}

// linePart tells rows that begin a line from those that go on with it: the compiler parts one line by discriminators,
// where it is several blocks of code.
type linePart struct {
	set        bool // a discriminator was set for the next row
	parted     bool // since the line began
	file, line uint32
}

// goesOn takes a row, and reports whether it belongs to the one before.
func (p *linePart) goesOn(row *lineRow) bool {
	same := p.file == row.file && p.line == row.line && p.line != 0
	p.parted = p.set || same && p.parted
	p.set = false
	p.file, p.line = row.file, row.line
	return same && p.parted && !row.end
}
