package corefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// memory is what the dead process saw: the core, and where that has nothing, the files that were provably mapped.
type memory struct{ x *Core }

// Read implements unwind.Memory.
func (m memory) Read(addr uint64, b []byte) error {
	for len(b) > 0 {
		n, err := m.x.core.dumped(addr, b)
		if err != nil {
			n, err = m.x.fromFile(addr, b)
		}
		if err != nil {
			return err
		}
		addr, b = addr+uint64(n), b[n:]
	}
	return nil
}

// fromFile reads memory that was never changed from the file that it was mapped from.
func (x *Core) fromFile(addr uint64, b []byte) (int, error) {
	f := x.core.fileAt(addr)
	if s := x.core.segmentAt(addr); f == nil || s != nil && addr-s.lo < s.whole {
		return 0, errAbsent(addr)
	}
	for _, im := range x.images {
		if im.file == nil || addr < im.lo() || addr >= im.hi() {
			continue
		}
		n := min(uint64(len(b)), f.hi-addr)
		if s := x.core.segmentAfter(addr); s != nil { // what follows is in the core
			n = min(n, s.lo-addr)
		}
		got, err := im.file.ReadAt(b[:n], int64(f.off+(addr-f.lo)))
		if err != nil && !errors.Is(err, io.EOF) || got == 0 {
			return 0, fmt.Errorf("read %s: %w", im.path, err)
		}
		clear(b[got:n]) // behind the file's end its last page is zero
		return int(n), nil
	}
	return 0, errAbsent(addr)
}

// process is the picture of the dead process.
func (x *Core) process(project string) *snapshot.Process {
	p := &snapshot.Process{PID: x.core.pid, Mem: memory{x}, Modules: x.modules(), Maps: x.maps(), Project: project,
		Secrets: x.secrets}
	if x.files != nil {
		p.Described = x.files.natvis.For(project)
	}
	return p
}

// maps are the process's mappings: the core's segments, and files of which the core has nothing.
func (x *Core) maps() []snapshot.Mapping {
	c := x.core
	var maps []snapshot.Mapping
	var stack, heapFrom uint64
	if at := c.auxv[atExecfn]; at != 0 {
		if s := c.segmentAt(at); s != nil {
			stack = s.lo
		}
	}
	for _, im := range x.images {
		if im.program {
			heapFrom = im.hi()
		}
	}
	for i := range c.segments {
		s := &c.segments[i]
		m := snapshot.Mapping{Lo: s.lo, Hi: s.hi, Read: s.read, Write: s.write, Exec: s.exec}
		f := c.fileAt(s.lo)
		switch {
		case f != nil:
			m.Path, m.Off = f.path, f.off+(s.lo-f.lo)
		case s.lo == stack:
			m.Path = "[stack]"
		case c.auxv[atVDSO] >= s.lo && c.auxv[atVDSO] < s.hi:
			m.Path = "[vdso]"
		case heapFrom != 0 && s.lo > heapFrom && s.lo-heapFrom < heapReach && s.write && !s.exec &&
			(i == 0 || c.segments[i-1].hi != s.lo):
			m.Path, heapFrom = "[heap]", 0
		}
		maps = append(maps, m)
	}
	for i := range c.files {
		f := &c.files[i]
		if c.segmentAt(f.lo) != nil {
			continue
		}
		m := snapshot.Mapping{Lo: f.lo, Hi: f.hi, Off: f.off, Path: f.path, Read: true}
		for _, im := range x.images {
			if f.lo >= im.lo() && f.lo < im.hi() {
				m.Write, m.Exec = im.rights(f.lo)
			}
		}
		maps = append(maps, m)
	}
	sorting.By(maps, func(a, b snapshot.Mapping) int {
		if a.Lo < b.Lo {
			return -1
		}
		return 1
	})
	return maps
}

// heapReach is how far behind the program the kernel puts the start of its heap at most.
const heapReach = 1 << 30

// rights are those that the file asks for at an address.
func (im *image) rights(addr uint64) (write, exec bool) {
	for _, s := range im.mod.Segments() {
		lo := (im.bias + uint64(s.Vaddr)) &^ (pageBytes - 1)
		if addr >= lo && addr < im.bias+uint64(s.Vaddr)+s.Filesz {
			return s.Write, s.Exec
		}
	}
	return false, false
}

// picture turns a thread of the core into one of a picture.
func (c *core) picture(i int) *snapshot.Thread {
	th := &c.threads[i]
	out := &snapshot.Thread{TID: th.tid, Regs: th.regs, FS: th.fs, XMM: th.xmm}
	if th.tid == c.pid {
		out.Name = c.name // of the others the core has none
	}
	return out
}

// death is how the process ended.
func (c *core) death() *snapshot.Death {
	d := &snapshot.Death{Thread: c.picture(0)}
	for i := 1; i < len(c.threads); i++ {
		d.Others = append(d.Others, c.picture(i))
	}
	if c.alive() {
		d.Alive = true
		return d
	}
	th := &c.threads[0]
	s := &snapshot.Signal{Number: th.signal, Bare: true}
	if th.info != nil {
		if known := signalOf(th.info); known.Number > 0 {
			s = &known
		}
	}
	d.Signal = s
	return d
}

// Signals by their numbers on Linux for x86-64, on whatever system the core is read.
const (
	sigQUIT  = 3
	sigILL   = 4
	sigTRAP  = 5
	sigFPE   = 8
	sigSEGV  = 11
	sigSYS   = 31
	siKernel = 0x80
)

// deadly are the signals that make the kernel write a core.
var deadly = map[int]bool{sigQUIT: true, sigILL: true, sigTRAP: true, 6: true, 7: true, sigFPE: true, sigSEGV: true,
	24: true, 25: true, sigSYS: true}

// alive reports that the process was not about to die: a debugger wrote the core while it ran, or stood at a
// breakpoint.
func (c *core) alive() bool {
	th := &c.threads[0]
	if !deadly[th.signal] {
		return true
	}
	if th.signal != sigTRAP || !c.debugger {
		return false
	}
	pc, _ := th.regs.Get(regPC)
	var b [1]byte
	return c.Read(pc-1, b[:]) != nil || b[0] != 0xcc
}

// program is the path of the program as the core names it.
func (x *Core) program() string {
	for _, im := range x.images {
		if im.program {
			return im.path
		}
	}
	if at := x.core.auxv[atExecfn]; at != 0 {
		if p := x.core.text(at, pageBytes); filepath.IsAbs(p) {
			return p
		}
	}
	return x.core.name
}

// maxMessage bounds what is read of the C library's last words.
const maxMessage = 4096

// abortMessage is what glibc keeps for such as us: why assert, malloc, or a check of the stack ended the process.
// __abort_msg points to a length and the text.
func (x *Core) abortMessage() string {
	for _, im := range x.images {
		a, _, ok := im.mod.Symbol("__abort_msg")
		if !ok {
			continue
		}
		var word [8]byte
		if x.core.Read(im.bias+uint64(a), word[:]) != nil {
			continue
		}
		at := binary.LittleEndian.Uint64(word[:])
		if at == 0 || x.core.Read(at, word[:4]) != nil {
			continue
		}
		if n := binary.LittleEndian.Uint32(word[:]); n > 4 {
			return x.core.text(at+4, int(min(n-4, maxMessage)))
		}
	}
	return ""
}
