// Package corefile owns core files: what the kernel, or a debugger, wrote of a process at its end. It reads ELF64 cores
// for x86-64 into the same picture that a live process gives (package snapshot), so that one reader of stacks, values
// and reasons serves both.
//
// It stands beside the data path: session opens a core through collector.Cores; what is found becomes one crash event.
// The parser takes an io.ReaderAt and does no other I/O; files that the core names are opened by Open alone.
//
// Invariants: a core may hold anything: no length in it is believed, counts are bounded, and memory that is not in the
// core is taken from a file only if that is provably the one that was mapped. What is missing is said in warnings.
package corefile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// Bounds on what one core may make us keep.
const (
	maxSegments = 1 << 20 // the kernel's own limit on mappings, vm.max_map_count, is 65,530 unless raised
	maxThreads  = 1 << 16
	maxNotes    = 1 << 20
	maxNoteSize = 16 << 20 // of one that is read whole: NT_FILE of some 100,000 mappings
	maxFiles    = 1 << 17
)

// core is a parsed core file.
type core struct {
	r        io.ReaderAt
	size     int64 // of the file
	segments []segment
	threads  []thread // the one that crashed first
	files    []file   // by lo
	auxv     map[uint64]uint64
	name     string // of the program, as the kernel cut it to 15 bytes
	args     string // its command line, cut to 80 bytes
	pid      int
	lacking  int64 // bytes of segments that lie behind the end of the file
	debugger bool  // a debugger wrote it, not the kernel
	problems []string

	notesGone bool // some lie behind the end of the file
}

// segment is a range of memory; the first filesz bytes of it are in the core, and the first whole bytes were before it
// was cut off: those between are lost, whatever a file has in their place.
type segment struct {
	lo, hi            uint64
	off, filesz       uint64
	whole             uint64
	read, write, exec bool
}

// thread is one thread's notes.
type thread struct {
	tid    int
	signal int
	regs   unwind.Regs
	fs     uint64
	orig   int64 // the system call that it was in, -1 for none
	xmm    *[16][16]byte
	info   []byte // siginfo, or nil
}

// file is a range of memory that was mapped from a file.
type file struct {
	lo, hi, off uint64
	path        string
}

// parse reads headers and notes. Errors are faults.
func parse(r io.ReaderAt, size int64) (*core, error) {
	c := &core{r: r, size: size, auxv: map[uint64]uint64{}}
	var h [64]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return nil, bad("it has %d bytes, less than an ELF header", size)
	}
	if err := checkHeader(h[:]); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	off, entsize, n := le.Uint64(h[32:]), le.Uint16(h[54:]), uint64(le.Uint16(h[56:]))
	if n == 0xffff { // PN_XNUM: the count is in the first section header
		var s [64]byte
		if at := le.Uint64(h[40:]); at > uint64(size) {
			return nil, bad("its count of segments lies behind its end")
		} else if _, err := r.ReadAt(s[:], int64(at)); err != nil {
			return nil, bad("its count of segments cannot be read: %w", err)
		}
		n = uint64(le.Uint32(s[44:]))
	}
	if entsize != 56 || n > maxSegments || off > uint64(size) || n*56 > uint64(size)-off {
		return nil, bad("its table of %d segments does not fit into its %d bytes", n, size)
	}
	table := make([]byte, n*56)
	if _, err := r.ReadAt(table, int64(off)); err != nil {
		return nil, bad("its table of segments cannot be read: %w", err)
	}
	for ; len(table) >= 56; table = table[56:] {
		c.programHeader(table[:56])
	}
	sort.SliceStable(c.segments, func(i, j int) bool { return c.segments[i].lo < c.segments[j].lo })
	sort.SliceStable(c.files, func(i, j int) bool { return c.files[i].lo < c.files[j].lo })
	switch {
	case len(c.threads) == 0 && c.notesGone:
		return nil, fault.New(fault.LaunchFailed, "Copy or write it again, whole: mind ulimit -c and the disk's free space.",
			"the core is cut off behind %d bytes, before what it says of the threads (gcore writes that last)", size)
	case len(c.threads) == 0:
		return nil, bad("it names no thread")
	}
	return c, nil
}

func bad(format string, args ...any) error {
	return fault.New(fault.LaunchFailed, "Give a core file as the kernel or gcore wrote it.", "not a usable core: "+format,
		args...)
}

func checkHeader(h []byte) error {
	le := binary.LittleEndian
	switch {
	case string(h[:4]) != elf.ELFMAG:
		return bad("it is no ELF file")
	case h[elf.EI_CLASS] != byte(elf.ELFCLASS64) || h[elf.EI_DATA] != byte(elf.ELFDATA2LSB) ||
		elf.Machine(le.Uint16(h[18:])) != elf.EM_X86_64:
		return fault.New(fault.Unsupported, "Open it with gdb on the machine that it comes from.",
			"the core is of a %s program; only x86-64 is read",
			elf.Machine(le.Uint16(h[18:])))
	case elf.Type(le.Uint16(h[16:])) != elf.ET_CORE:
		return fault.New(fault.ValidationError, "Give the core second: `strobe core BINARY CORE`, or as core of "+
			"debug_launch.",
			"the file is no core but a program or library (%s)", elf.Type(le.Uint16(h[16:])))
	}
	return nil
}

// programHeader takes one entry of the table. Segments that make no sense are left out.
func (c *core) programHeader(p []byte) {
	le := binary.LittleEndian
	flags := elf.ProgFlag(le.Uint32(p[4:]))
	off, vaddr, filesz, memsz := le.Uint64(p[8:]), le.Uint64(p[16:]), le.Uint64(p[32:]), le.Uint64(p[40:])
	switch elf.ProgType(le.Uint32(p)) {
	case elf.PT_NOTE:
		if off < uint64(c.size) {
			c.notes(int64(off), int64(min(filesz, uint64(c.size)-off)))
		}
		c.notesGone = c.notesGone || off+filesz > uint64(c.size)
	case elf.PT_LOAD:
		if memsz == 0 || vaddr+memsz < vaddr || off+filesz < off {
			return
		}
		filesz = min(filesz, memsz)
		whole := filesz
		if end := off + filesz; end > uint64(c.size) {
			there := uint64(c.size) - min(off, uint64(c.size))
			c.lacking += int64(min(filesz-there, 1<<62))
			filesz = there
		}
		c.segments = append(c.segments, segment{
			lo: vaddr, hi: vaddr + memsz, off: off, filesz: filesz, whole: whole,
			read: flags&elf.PF_R != 0, write: flags&elf.PF_W != 0, exec: flags&elf.PF_X != 0,
		})
	}
}

// segmentAt returns the segment that holds an address, nil for none.
func (c *core) segmentAt(addr uint64) *segment {
	i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].hi > addr })
	if i == len(c.segments) || addr < c.segments[i].lo {
		return nil
	}
	return &c.segments[i]
}

// segmentAfter returns the first segment behind an address that has bytes in the core.
func (c *core) segmentAfter(addr uint64) *segment {
	for i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].lo > addr }); i < len(c.segments); i++ {
		if c.segments[i].filesz > 0 {
			return &c.segments[i]
		}
	}
	return nil
}

// fileAt returns the mapped file at an address, nil for none.
func (c *core) fileAt(addr uint64) *file {
	i := sort.Search(len(c.files), func(i int) bool { return c.files[i].hi > addr })
	if i == len(c.files) || addr < c.files[i].lo {
		return nil
	}
	return &c.files[i]
}

// errAbsent is memory that is not in the core.
type errAbsent uint64

func (e errAbsent) Error() string { return fmt.Sprintf("0x%x is not in the core", uint64(e)) }

// dumped reads memory that is in the core itself: as many bytes as lie there together.
func (c *core) dumped(addr uint64, b []byte) (int, error) {
	s := c.segmentAt(addr)
	if s == nil || addr-s.lo >= s.filesz {
		return 0, errAbsent(addr)
	}
	n := min(uint64(len(b)), s.filesz-(addr-s.lo))
	got, err := c.r.ReadAt(b[:n], int64(s.off+(addr-s.lo)))
	if got < int(n) {
		return 0, fmt.Errorf("read core: %w", err)
	}
	return int(n), nil
}

// Read fills b with memory that is in the core itself.
func (c *core) Read(addr uint64, b []byte) error {
	for len(b) > 0 {
		n, err := c.dumped(addr, b)
		if err != nil {
			return err
		}
		addr, b = addr+uint64(n), b[n:]
	}
	return nil
}

// text reads memory up to a NUL, at most n bytes.
func (c *core) text(addr uint64, n int) string {
	b := make([]byte, n)
	got, err := c.dumped(addr, b)
	if err != nil {
		return ""
	}
	b = b[:got]
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
