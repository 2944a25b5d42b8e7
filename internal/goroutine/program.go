package goroutine

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Memory is a process's memory. Read fills b from addr or returns an error.
type Memory interface {
	Read(addr uint64, b []byte) error
}

// ErrNotGo is what Open returns for a program that the Go toolchain did not build.
var ErrNotGo = errors.New("no Go program")

// Program is what stays the same of a running Go program. Immutable, and safe for concurrent use if its memory and file
// are.
type Program struct {
	Version string // go1.26.3

	mem     Memory
	file    *elf.File
	bias    uint64
	table   *lineTable
	text    uint64 // in the process
	etext   uint64
	layout  Layout
	allgs   uint64 // addresses of slices
	allp    uint64
	ways    map[string]function // see rangeOf
	reasons []string            // why goroutines wait
	main    uint64              // runtime.main

	moduleAt uint64 // the module's description
}

// Source is where a layout comes from that is not in our table.
type Source func(version string) (*Layout, error)

// Open reads what is needed of the program that a process runs. bias is where it is loaded, 0 for one that is not
// relocatable. other is asked for the layout of versions that are not known and have no debug information; it may be
// nil. ErrNotGo: it is no Go program. fault.Unsupported: it is one that is not known.
func Open(file io.ReaderAt, mem Memory, bias uint64, other Source) (*Program, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the program's file: %w", err)
	}
	info, err := buildinfo.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return nil, fault.New(fault.Unsupported, "Build it with GOARCH=amd64.",
			"goroutines of a program for %s cannot be read", f.Machine)
	}
	p := &Program{Version: info.GoVersion, mem: mem, file: f, bias: bias}
	l, err := p.layoutFor(other)
	if err != nil {
		return nil, fault.New(fault.Unsupported,
			"Build it with a Go of 1.21 to 1.26, or with debug information (without -ldflags=-w).",
			"goroutines of a program of %s cannot be read: %w", p.Version, err)
	}
	p.layout = *l
	if err := p.lines(); err != nil {
		return nil, fault.New(fault.Unsupported, "Build it with Go 1.21 or later.",
			"goroutines of a program of %s cannot be read: %w", p.Version, err)
	}
	if err := p.globals(); err != nil {
		return nil, fault.New(fault.Unsupported, "Look at its threads instead.",
			"goroutines of a program of %s cannot be read: %w", p.Version, err)
	}
	return p, nil
}

// maxTable bounds the line table: that of the largest programs is a few hundred megabytes.
const maxTable = 1 << 30

// lines reads the line table, and finds the module's description, which refers to it.
func (p *Program) lines() error {
	i := slices.IndexFunc(p.file.Sections, func(s *elf.Section) bool { return strings.HasSuffix(s.Name, ".gopclntab") })
	if i < 0 {
		return errors.New("it has no section .gopclntab")
	}
	s := p.file.Sections[i]
	if s.Size > maxTable {
		return errDamaged
	}
	b, err := s.Data()
	if err != nil {
		return fmt.Errorf("read the line table: %w", err)
	}
	if p.table, err = newLineTable(b); err != nil {
		return err
	}
	return p.module(s.Addr+p.bias, binary.LittleEndian.Uint64(b[8+8*3:]))
}

// module finds the module's description: it begins with the address of the line table and that of its names.
func (p *Program) module(table, names uint64) error {
	l := &p.layout
	for _, s := range p.file.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR != 0 || s.Size > maxTable ||
			strings.HasSuffix(s.Name, ".gopclntab") {
			continue
		}
		if s.Flags&elf.SHF_WRITE == 0 && s.Name != ".go.module" {
			continue
		}
		b := make([]byte, s.Size)
		if p.mem.Read(s.Addr+p.bias, b) != nil {
			continue
		}
		for at := 0; at+int(l.ModuleGofunc)+8 <= len(b); at += 8 {
			word := func(off uint32) uint64 { return binary.LittleEndian.Uint64(b[at+int(off):]) }
			if word(0) != table || word(8) != table+names {
				continue
			}
			text, etext, gofunc := word(l.ModuleText), word(l.ModuleEtext), word(l.ModuleGofunc)
			first, last := text+uint64(p.table.entry(0)), text+uint64(p.table.entry(p.table.n))
			if text == 0 || first > etext || last > etext || gofunc < p.bias {
				continue
			}
			p.text, p.etext, p.moduleAt = text, etext, s.Addr+p.bias+uint64(at)
			p.table.gofunc = func(off uint32, b []byte) error { return p.fileAt(gofunc-p.bias+uint64(off), b) }
			return nil
		}
	}
	return errors.New("the module's description is not found")
}

// fileAt reads what the file has for an address as linked.
func (p *Program) fileAt(addr uint64, b []byte) error {
	for _, s := range p.file.Progs {
		if s.Type == elf.PT_LOAD && addr >= s.Vaddr && addr-s.Vaddr < s.Filesz && uint64(len(b)) <= s.Filesz-(addr-s.Vaddr) {
			_, err := s.ReadAt(b, int64(addr-s.Vaddr))
			return err
		}
	}
	return fmt.Errorf("the program has nothing at %#x", addr)
}

// Reason is why a goroutine waits, by the number that this version has for it; "" where it has none such.
func (p *Program) Reason(n int) string {
	if n < 0 || n >= len(p.reasons) {
		return ""
	}
	return p.reasons[n]
}

// behindStack is how far into what the runtime has of a goroutine the bounds of its stack are behind one: the end of a
// stack is no pointer, but may be where an object begins.
func (p *Program) behindStack() uint64 { return uint64(p.layout.GStackHi) + wordBytes }

// ChanLock is where in a channel its lock is.
func (p *Program) ChanLock() uint32 { return p.layout.ChanLock }

// Has reports whether an address in the process is in the program's Go code.
func (p *Program) Has(pc uint64) bool { return pc >= p.text && pc < p.etext }

func (p *Program) layoutFor(other Source) (*Layout, error) {
	if l := known(p.Version); l != nil {
		return l, nil
	}
	if p.file.Section(".debug_info") != nil || p.file.Section(".zdebug_info") != nil {
		d, err := p.file.DWARF()
		if err != nil {
			return nil, fmt.Errorf("read its debug information: %w", err)
		}
		return LayoutOf(d)
	}
	if other != nil {
		return other(p.Version)
	}
	return nil, errors.New("nothing is known of that version")
}

// Functions of the runtime that every program has, from Go 1.21 to 1.26, and what their code refers to.
const (
	walksGoroutines = "runtime.forEachG"          // the slice runtime.allgs
	walksProcessors = "runtime.timeSleepUntil"    // the slice runtime.allp, and each one's first timer
	namesReasons    = "runtime.waitReason.String" // the array of reasons, and its length
	mainFunction    = "runtime.main"
)

// globals finds the runtime's variables by the code that uses them.
func (p *Program) globals() error {
	fns := p.table.named(walksGoroutines, walksProcessors, namesReasons, mainFunction, keepsRegisters, interrupted,
		parksItself, systemSwitch)
	p.ways = fns
	refs := map[string]*references{}
	for _, name := range []string{walksGoroutines, walksProcessors, namesReasons} {
		f, ok := fns[name]
		if !ok {
			return fmt.Errorf("it has no %s", name)
		}
		r, err := p.references(f)
		if err != nil {
			return fmt.Errorf("read the code of %s: %w", name, err)
		}
		refs[name] = r
	}
	p.main = p.text + uint64(fns[mainFunction].entry)
	var ok bool
	if p.allgs, ok = refs[walksGoroutines].slice(); !ok {
		return errors.New("runtime.allgs is not found")
	}
	if p.allp, ok = refs[walksProcessors].slice(); !ok {
		return errors.New("runtime.allp is not found")
	}
	// Where nothing is inlined, the address of the whole is taken, which has a lock before its heap.
	fields, first, whole := refs[walksProcessors].fields, int64(p.layout.PTimerFirst), int64(p.layout.PTimers)-8
	if !slices.Contains(fields, first) && (p.layout.TimerStateWord || !slices.Contains(fields, whole)) {
		return errors.New("its timers are elsewhere than this version has them")
	}
	return p.readReasons(refs[namesReasons])
}

// references are what the code of a function refers to.
type references struct {
	loads, addresses []uint64 // in the process, by the instruction pointer
	fields           []int64  // offsets that are read from a register
	compares         []int64  // numbers that are compared with
}

// maxCode bounds the functions that are decoded.
const maxCode = 64 << 10

func (p *Program) references(f function) (*references, error) {
	if f.end <= f.entry || f.end-f.entry > maxCode {
		return nil, errDamaged
	}
	b := make([]byte, f.end-f.entry)
	start := p.text + uint64(f.entry)
	if err := p.fileAt(start-p.bias, b); err != nil {
		return nil, err
	}
	r := &references{}
	for at := 0; at < len(b); {
		in, err := x86asm.Decode(b[at:], 64)
		if err != nil || in.Len == 0 {
			at++ // between functions
			continue
		}
		at += in.Len
		m, ok := in.Args[1].(x86asm.Mem)
		switch {
		case in.Op == x86asm.CMP || in.Op == x86asm.ADD:
			if n, is := in.Args[1].(x86asm.Imm); is && in.Op == x86asm.CMP {
				r.compares = append(r.compares, int64(n))
			} else if is {
				r.fields = append(r.fields, int64(n)) // of a member whose address is taken
			}
		case !ok || in.Op != x86asm.MOV && in.Op != x86asm.LEA:
		case m.Base != x86asm.RIP:
			r.fields = append(r.fields, m.Disp)
		case in.Op == x86asm.LEA:
			r.addresses = append(r.addresses, start+uint64(at)+uint64(m.Disp))
		case in.MemBytes == 8:
			r.loads = append(r.loads, start+uint64(at)+uint64(m.Disp))
		}
	}
	return r, nil
}

// slice is the one slice whose pointer and length are loaded.
func (r *references) slice() (addr uint64, ok bool) {
	for _, a := range r.loads {
		if slices.Contains(r.loads, a+8) {
			if ok && a != addr {
				return 0, false
			}
			addr, ok = a, true
		}
	}
	return addr, ok
}

// maxReasons is more than any version has.
const maxReasons = 128

// readReasons reads the names of what goroutines wait for.
func (p *Program) readReasons(r *references) error {
	for _, n := range r.compares {
		for _, addr := range r.addresses {
			if n <= 0 || n > maxReasons {
				continue
			}
			b := make([]byte, 16*n)
			if p.mem.Read(addr, b) != nil {
				continue
			}
			var list []string
			for i := range n {
				at, length := binary.LittleEndian.Uint64(b[16*i:]), binary.LittleEndian.Uint64(b[16*i+8:])
				if length > 64 {
					break
				}
				s := make([]byte, length)
				if p.mem.Read(at, s) != nil || slices.ContainsFunc(s, func(c byte) bool { return c < ' ' || c > '~' }) {
					break
				}
				list = append(list, string(s))
			}
			if len(list) == int(n) && slices.Contains(list, "chan receive") && slices.Contains(list, "IO wait") {
				p.reasons = list
				return nil
			}
		}
	}
	return errors.New("the names of what goroutines wait for are not found")
}
