package goroutine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// The line table of Go 1.20 and later, all little endian:
//
//	header   magic u32, 0, 0, instruction unit u8, pointer size u8, then words: functions, files, (text), and the offsets
//	         of names, compilation units, file names, pc tables, functions
//	functions  pairs of u32 (entry from text, offset of its record from here), one more entry for the end
//	record   entry u32, name, args, deferreturn, pcsp, pcfile, pcln, pcdata count, unit, start line, id u8, flag u8, 0,
//	         funcdata count u8, then offsets of pcdata in the pc tables, then of funcdata from the module's gofunc
const (
	lineMagic   = 0xfffffff1 // Go 1.20 and later
	headerBytes = 8 + 8*8
	recordBytes = 44

	pcdataInlineIndex  = 2
	funcdataInlineTree = 3
	inlinedCallBytes   = 16

	flagTopFrame = 1
)

var errDamaged = errors.New("the line table is damaged")

// lineTable is a program's pclntab. Its methods take program counters as offsets from the text's begin.
type lineTable struct {
	names, units, files, pcs, funcs []byte
	n                               int  // functions
	wrapper                         byte // the kind of functions that compilers add: the last of all kinds
	gofunc                          func(off uint32, b []byte) error
}

// function is one record of the table.
type function struct {
	entry, end uint32
	record     []byte // from its begin to the end of the table
}

func newLineTable(b []byte) (*lineTable, error) {
	if len(b) < headerBytes || binary.LittleEndian.Uint32(b) != lineMagic {
		return nil, fmt.Errorf("%w, or of a Go before 1.20", errDamaged)
	}
	if b[6] != 1 || b[7] != 8 {
		return nil, fmt.Errorf("%w, or of another machine", errDamaged)
	}
	t := &lineTable{}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8+8*i:]) }
	offs := [5]uint64{word(3), word(4), word(5), word(6), word(7)}
	parts := [5]*[]byte{&t.names, &t.units, &t.files, &t.pcs, &t.funcs}
	for i, off := range offs {
		if off > uint64(len(b)) || i > 0 && off < offs[i-1] {
			return nil, errDamaged
		}
		end := uint64(len(b))
		if i < len(offs)-1 && offs[i+1] <= end {
			end = offs[i+1]
		}
		*parts[i] = b[off:max(off, end)]
	}
	n := word(0)
	if n == 0 || n > uint64(len(t.funcs))/8 || 8*n+4 > uint64(len(t.funcs)) {
		return nil, errDamaged
	}
	t.n = int(n)
	for i := range t.n {
		if f, ok := t.function(i); ok {
			t.wrapper = max(t.wrapper, f.kind())
		}
	}
	return t, nil
}

// find returns the function that has an instruction.
func (t *lineTable) find(pc uint32) (f function, ok bool) {
	i := sort.Search(t.n, func(i int) bool { return t.entry(i) > pc }) - 1
	if i < 0 || pc >= t.entry(i+1) {
		return f, false
	}
	return t.function(i)
}

// entry is where function i begins, or the last one ends.
func (t *lineTable) entry(i int) uint32 { return binary.LittleEndian.Uint32(t.funcs[8*i:]) }

func (t *lineTable) function(i int) (f function, ok bool) {
	off := binary.LittleEndian.Uint32(t.funcs[8*i+4:])
	if uint64(off)+recordBytes > uint64(len(t.funcs)) {
		return f, false
	}
	return function{t.entry(i), t.entry(i + 1), t.funcs[off:]}, true
}

// named returns the functions of these names. What assembler calls has a wrapper besides, of the same name.
func (t *lineTable) named(names ...string) map[string]function {
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	out := map[string]function{}
	for i := range t.n {
		if f, ok := t.function(i); ok {
			name := t.name(f.field(1))
			if _, have := out[name]; want[name] && (!have || f.kind() != t.wrapper) {
				out[name] = f
			}
		}
	}
	return out
}

// field is a 32-bit member of the record.
func (f function) field(i int) uint32 { return binary.LittleEndian.Uint32(f.record[4*i:]) }

func (f function) kind() byte { return f.record[40] }

func (f function) top() bool { return f.record[41]&flagTopFrame != 0 }

// pcdata is where a table of the function begins in the pc tables; 0: there is none.
func (f function) pcdata(i int) uint32 {
	at := recordBytes + 4*i
	if uint32(i) >= f.field(7) || at+4 > len(f.record) {
		return 0
	}
	return binary.LittleEndian.Uint32(f.record[at:])
}

// funcdata is the offset from gofunc of something that the function has.
func (f function) funcdata(i int) (off uint32, ok bool) {
	at := uint64(recordBytes) + 4*uint64(f.field(7)) + 4*uint64(i)
	if i >= int(f.record[43]) || at+4 > uint64(len(f.record)) {
		return 0, false
	}
	off = binary.LittleEndian.Uint32(f.record[at:])
	return off, off != ^uint32(0)
}

// name is a function's name, with [...] for the types of a generic one, as the runtime prints it.
func (t *lineTable) name(off uint32) string { return shortened(cstring(t.names, off)) }

func shortened(s string) string {
	if i, j := strings.IndexByte(s, '['), strings.LastIndexByte(s, ']'); i >= 0 && j > i {
		return s[:i] + "[...]" + s[j+1:]
	}
	return s
}

const maxName = 4096

func cstring(b []byte, off uint32) string {
	if uint64(off) >= uint64(len(b)) {
		return ""
	}
	b = b[off:min(uint64(len(b)), uint64(off)+maxName)]
	s, _, _ := strings.Cut(string(b[:]), "\x00")
	return s
}

// value looks up what a pc table says of an instruction of f.
func (t *lineTable) value(f function, table, pc uint32) (int32, bool) {
	if table == 0 || uint64(table) >= uint64(len(t.pcs)) {
		return -1, false
	}
	b := t.pcs[table:]
	at, val := uint64(f.entry), int32(-1)
	for step := range maxSteps {
		dv, n := varint(b)
		if n == 0 || dv == 0 && step > 0 {
			return -1, false
		}
		b = b[n:]
		val += int32(-(dv & 1) ^ (dv >> 1))
		dpc, n := varint(b)
		if n == 0 || dpc == 0 && step > 0 {
			return -1, false
		}
		b = b[n:]
		at += uint64(dpc)
		if uint64(pc) < at {
			return val, true
		}
		if at > uint64(f.end) {
			return -1, false
		}
	}
	return -1, false
}

// maxSteps bounds a pc table, of which each step is an instruction or more: the largest functions have some ten
// thousand.
const maxSteps = 1 << 17

// varint reads a number of 7-bit groups, the lowest first; n is 0 at the end.
func varint(b []byte) (v uint32, n int) {
	for shift := 0; n < len(b) && shift < 35; shift += 7 {
		c := b[n]
		n++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// line is the source position of an instruction.
func (t *lineTable) line(f function, pc uint32) (file string, line int) {
	n, ok := t.value(f, f.field(6), pc)
	if !ok {
		return "", 0
	}
	fileno, ok := t.value(f, f.field(5), pc)
	if !ok || fileno < 0 {
		return "", int(n)
	}
	at := 4 * (uint64(f.field(8)) + uint64(fileno))
	if at+4 > uint64(len(t.units)) {
		return "", int(n)
	}
	if off := binary.LittleEndian.Uint32(t.units[at:]); off != ^uint32(0) {
		file = cstring(t.files, off)
	}
	return file, int(n)
}

// maxInlined bounds the calls that were inlined at one place: a damaged tree may have a circle.
const maxInlined = 50

// added reports whether a function of a kind is none that somebody wrote, such as the one that go f(x) begins with.
func (t *lineTable) added(kind byte) bool { return kind != 0 && kind == t.wrapper }

// frames are the function at an instruction and those it was inlined into, innermost first.
func (t *lineTable) frames(f function, pc uint32) []Frame {
	var out []Frame
	off, ok := f.funcdata(funcdataInlineTree)
	ok = ok && t.gofunc != nil
	for range maxInlined {
		file, line := t.line(f, pc)
		index := int32(-1)
		if ok {
			index, _ = t.value(f, f.pcdata(pcdataInlineIndex), pc)
		}
		if index < 0 {
			return append(out, Frame{Function: t.name(f.field(1)), File: file, Line: line, added: t.added(f.kind())})
		}
		var call [inlinedCallBytes]byte
		if at := uint64(off) + uint64(index)*inlinedCallBytes; at > 1<<31 || t.gofunc(uint32(at), call[:]) != nil {
			ok = false
			continue
		}
		out = append(out, Frame{Function: t.name(binary.LittleEndian.Uint32(call[4:])), File: file, Line: line, Inlined: true,
			added: t.added(call[0])})
		pc = f.entry + binary.LittleEndian.Uint32(call[8:])
	}
	return out
}
