//go:build linux && amd64

package goroutine

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// ownTable is the line table of the test program itself.
func ownTable(t testing.TB) (table []byte, text, gofunc uint64, file *elf.File) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, m := f.Section(".gopclntab"), f.Section(".go.module")
	if s == nil || m == nil {
		t.Fatal("the test program has no line table")
	}
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Data()
	if err != nil {
		t.Fatal(err)
	}
	return b, binary.LittleEndian.Uint64(d[go126.ModuleText:]), binary.LittleEndian.Uint64(d[go126.ModuleGofunc:]), f
}

// TestLineTable looks up this program's own functions as its runtime does.
func TestLineTable(t *testing.T) {
	b, text, gofunc, f := ownTable(t)
	table, err := newLineTable(b)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{file: f}
	table.gofunc = func(off uint32, b []byte) error { return p.fileAt(gofunc+uint64(off), b) }
	inlined := 0
	for i := 0; i < table.n; i += 7 {
		fn, ok := table.function(i)
		if !ok {
			t.Fatalf("function %d is not there", i)
		}
		for pc := fn.entry; pc+1 < fn.end; pc += 11 {
			g, ok := table.find(pc)
			if !ok || g.entry != fn.entry {
				t.Fatalf("%#x is in the function at %#x, want %#x", pc, g.entry, fn.entry)
			}
			got := table.frames(g, pc)
			inlined += len(got) - 1
			var want []Frame
			frames := runtime.CallersFrames([]uintptr{uintptr(text) + uintptr(pc) + 1})
			for {
				f, more := frames.Next()
				if f.Function == "" {
					break
				}
				if f.File == "?" { // that of C code
					f.File = ""
				}
				want = append(want, Frame{Function: shortened(f.Function), File: f.File, Line: f.Line, Inlined: more})
				if !more {
					break
				}
			}
			for i := range got {
				got[i].added = false
				if len(want) == len(got) {
					want[i].Inlined = got[i].Inlined
				}
			}
			// Wrappers and the runtime's own are left out by CallersFrames.
			if len(want) == len(got) && !reflect.DeepEqual(got, want) {
				t.Fatalf("%#x: %+v, want %+v", pc, got, want)
			}
		}
	}
	if inlined < 1000 {
		t.Errorf("only %d inlined calls were seen", inlined)
	}
}

// FuzzLineTable: no damage of a table makes a reader of it panic or hang.
func FuzzLineTable(f *testing.F) {
	whole, _, _, _ := ownTable(f)
	f.Add([]byte{}, []byte{}, uint32(0x1000))
	f.Add([]byte{0, 0, 0, 8, 0xff, 0, 0, 0, 60, 1}, []byte{1, 2, 3}, uint32(0x20000))
	f.Add([]byte{0, 0, 0, 12, 7}, []byte{0xff, 0xff, 0xff, 0x7f}, uint32(1))
	f.Fuzz(func(t *testing.T, changes, tree []byte, pc uint32) {
		b := whole
		if len(changes) >= 5 {
			b = slices.Clone(whole)
		}
		for ; len(changes) >= 5; changes = changes[5:] { // where, and what
			at := binary.BigEndian.Uint32(changes)
			if at>>31 != 0 { // near the begin: the header, and the first functions
				at &= 0xffff
			}
			b[int(at)%len(b)] = changes[4]
		}
		for _, data := range [][]byte{b, tree, append(slices.Clone(b[:headerBytes]), tree...)} {
			table, err := newLineTable(data)
			if err != nil {
				continue
			}
			table.gofunc = func(off uint32, to []byte) error {
				for i := range to {
					if len(tree) > 0 {
						to[i] = tree[(int(off)+i)%len(tree)]
					}
				}
				return nil
			}
			for i := range min(table.n, 3) {
				if fn, ok := table.function(i); ok {
					table.frames(fn, fn.entry)
					table.value(fn, fn.field(4), pc)
					table.name(fn.field(1))
				}
			}
			if fn, ok := table.find(pc); ok {
				table.frames(fn, pc)
			}
		}
	})
}
