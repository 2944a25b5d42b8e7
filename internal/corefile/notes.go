package corefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Types of notes, from elf(5) and the kernel's include/uapi/linux/elf.h.
const (
	noteStatus   = 1 // struct elf_prstatus: one per thread, the one that crashed first
	noteVectors  = 2 // the FXSAVE image of the thread before
	noteProcess  = 3 // struct elf_prpsinfo
	noteAuxv     = 6
	noteFiles    = 0x46494c45
	noteSiginfo  = 0x53494749
	statusSize   = 336
	statusRegs   = 112 // struct user_regs_struct
	processSize  = 136
	vectorsSize  = 512
	vectorsXMM   = 160
	siginfoSize  = 128
	noteNameMost = 64
)

// Entries of the auxiliary vector.
const (
	atPhdr    = 3
	atEntry   = 9
	atExecfn  = 31
	atVDSO    = 33
	maxAuxv   = 256
	pageBytes = 4096
)

// notes reads one segment of notes, note by note: those of thousands of threads have megabytes of registers that nobody
// asks for.
func (c *core) notes(off, size int64) {
	end := off + size
	for n := 0; off+12 <= end && n < maxNotes; n++ {
		var h [12]byte
		if _, err := c.r.ReadAt(h[:], off); err != nil {
			return
		}
		le := binary.LittleEndian
		nameSize, descSize, typ := int64(le.Uint32(h[:])), int64(le.Uint32(h[4:])), le.Uint32(h[8:])
		desc := off + 12 + (nameSize+3)&^3
		next := desc + (descSize+3)&^3
		if nameSize > noteNameMost || desc+descSize > end {
			c.problems = append(c.problems, "the core's notes end in the middle: threads or mapped files may be missing")
			return
		}
		name := make([]byte, nameSize)
		if _, err := c.r.ReadAt(name, off+12); err != nil {
			return
		}
		if owner := strings.TrimRight(string(name), "\x00"); owner == "CORE" || owner == "LINUX" {
			c.note(typ, desc, descSize)
		}
		off = next
	}
}

// wanted is the most of a note that is read; 0: it is not read.
func wanted(typ uint32) int64 {
	switch typ {
	case noteStatus:
		return statusSize
	case noteVectors:
		return vectorsSize
	case noteProcess:
		return processSize
	case noteSiginfo:
		return siginfoSize
	case noteAuxv:
		return 16 * maxAuxv
	case noteFiles:
		return maxNoteSize
	}
	return 0
}

func (c *core) note(typ uint32, off, size int64) {
	size = min(size, wanted(typ))
	if size == 0 {
		return
	}
	b := make([]byte, size)
	if _, err := c.r.ReadAt(b, off); err != nil {
		return
	}
	var last *thread
	if len(c.threads) > 0 {
		last = &c.threads[len(c.threads)-1]
	}
	switch typ {
	case noteStatus:
		c.status(b)
	case noteVectors:
		if last != nil && len(c.threads) == 1 && last.xmm == nil && len(b) == vectorsSize { // only of the one that crashed
			last.xmm = new([16][16]byte)
			for i := range last.xmm {
				copy(last.xmm[i][:], b[vectorsXMM+16*i:])
			}
		}
	case noteSiginfo:
		if last != nil && last.info == nil && len(b) == siginfoSize {
			last.info = b
		}
	case noteProcess:
		if len(b) == processSize {
			c.debugger = last == nil // the kernel writes the first thread's registers first
			c.pid = int(int32(binary.LittleEndian.Uint32(b[24:])))
			c.name, c.args = cstring(b[40:56]), strings.TrimRight(cstring(b[56:136]), " ")
		}
	case noteAuxv:
		for ; len(b) >= 16; b = b[16:] {
			if tag := binary.LittleEndian.Uint64(b); tag != 0 {
				c.auxv[tag] = binary.LittleEndian.Uint64(b[8:])
			}
		}
	case noteFiles:
		c.mappedFiles(b)
	}
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// status reads a thread's registers.
func (c *core) status(b []byte) {
	if len(b) < statusSize {
		return
	}
	if len(c.threads) == maxThreads {
		c.problems = append(c.problems, fmt.Sprintf("the core has more than %d threads: the others are not read", maxThreads))
	}
	if len(c.threads) >= maxThreads {
		return
	}
	le := binary.LittleEndian
	th := thread{tid: int(int32(le.Uint32(b[32:]))), signal: int(int16(le.Uint16(b[12:])))}
	reg := func(i int) uint64 { return le.Uint64(b[statusRegs+8*i:]) }
	// struct user_regs_struct: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss
	// fs_base …
	for dwarf, at := range [...]int{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16} {
		th.regs.Set(dwarf, reg(at))
	}
	th.fs, th.orig = reg(21), int64(reg(15))
	c.threads = append(c.threads, th)
}

// mappedFiles reads NT_FILE: count, page size, then start, end and offset of each, then their names.
func (c *core) mappedFiles(b []byte) {
	le := binary.LittleEndian
	if len(b) < 16 {
		return
	}
	n, page := le.Uint64(b), le.Uint64(b[8:])
	rest := b[16:]
	if n > maxFiles || n > uint64(len(rest))/24 || page == 0 || page > 1<<30 {
		c.problems = append(c.problems, "the core's list of mapped files is damaged: libraries are not known")
		return
	}
	names := rest[24*n:]
	for i := range n {
		f := file{lo: le.Uint64(rest[24*i:]), hi: le.Uint64(rest[24*i+8:]), off: le.Uint64(rest[24*i+16:]) * page}
		end := bytes.IndexByte(names, 0)
		if end < 0 {
			break
		}
		f.path, names = string(names[:end]), names[end+1:]
		if f.lo < f.hi {
			c.files = append(c.files, f)
		}
	}
}
