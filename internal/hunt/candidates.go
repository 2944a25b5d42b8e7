package hunt

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// site is an instruction at which a thread may be held.
type site struct {
	addr     uint64 // in the file
	function *symbol.Function
	name     string // of the function whose code it is by the sources: one that is inlined, too; find sets these three
	file     string
	line     int
	inst     x86asm.Inst
	rank     int // 0 first
	writes   bool
	mem      *x86asm.Mem // that it reads or writes, nil for none
}

// Ranks: what locks the bus, or touches what all threads can name, comes first.
const (
	rankShared = iota
	rankPointer
	rankCall
)

// maxSites bounds the instructions of one program.
const maxSites = 20000

// project tells the user's sources by their paths.
type project func(file string) bool

// projectOf is what lies below root, or where the program has nothing from there, all but what the system has.
func projectOf(mod *symbol.Module, root string) project {
	mine := project(func(file string) bool { return under(root, file) })
	if len(userFunctions(mod, mine)) == 0 {
		return func(file string) bool { return file != "" && !under("/usr", file) }
	}
	return mine
}

// candidates are the instructions of the project's functions at which holding a thread can matter: calls, and accesses
// of memory that is not the function's own frame. cut says how many more there are.
func candidates(mod *symbol.Module, mine project) (sites []*site, cut int) {
	add := func(f *symbol.Function, is func(s *site) bool) {
		code, err := mod.Code(f)
		if err != nil {
			return
		}
		for _, s := range sitesOf(f, uint64(f.Low), code) {
			if is == nil || is(s) {
				sites = append(sites, s)
			}
		}
	}
	for _, f := range userFunctions(mod, mine) {
		add(f, nil)
	}
	// What runs a thread's function is a library's, and that may be inlined there.
	for _, f := range userFunctions(mod, func(file string) bool { return !mine(file) }) {
		if slices.ContainsFunc(mod.Statements(f.Low, f.High), func(s symbol.Statement) bool { return mine(s.File) }) {
			add(f, func(s *site) bool {
				s.find(mod, mine)
				return mine(s.file)
			})
		}
	}
	sorting.By(sites, func(a, b *site) int { return cmp.Compare(a.rank, b.rank) })
	if len(sites) > maxSites {
		cut = len(sites) - maxSites
		sites = sites[:maxSites]
	}
	return sites, cut
}

// userFunctions are those with code whose file is the project's.
func userFunctions(mod *symbol.Module, mine project) (out []*symbol.Function) {
	all := mod.Functions()
	for i := range all {
		if f := &all[i]; f.HasDWARF && !f.Fragment && !f.Ifunc && mine(f.File) {
			out = append(out, f)
		}
	}
	return out
}

func under(root, file string) bool {
	rel, err := filepath.Rel(root, file)
	return err == nil && file != "" && rel != ".." && !strings.HasPrefix(rel, "../")
}

// endbr is an instruction that marks where jumps may lead, which the decoder does not know.
var endbr = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// instructions walks through code, from its beginning to the first instruction that is not known.
func instructions(code []byte) iter.Seq2[int, x86asm.Inst] {
	return func(yield func(int, x86asm.Inst) bool) {
		for at := 0; at < len(code); {
			if bytes.HasPrefix(code[at:], endbr) {
				at += len(endbr)
				continue
			}
			inst, err := x86asm.Decode(code[at:], 64)
			if err != nil || inst.Len == 0 || !yield(at, inst) {
				return
			}
			at += inst.Len
		}
	}
}

// sitesOf are those of one function. Behind an instruction that is not known nothing more is looked at.
func sitesOf(f *symbol.Function, low uint64, code []byte) (out []*site) {
	for at, inst := range instructions(code) {
		if s := siteOf(inst); s != nil {
			s.addr, s.function = low+uint64(at), f
			out = append(out, s)
		}
	}
	return out
}

// find looks up where the instruction is in the sources: in the project, where a library's function that is inlined
// there has it.
func (s *site) find(mod *symbol.Module, mine project) {
	if s.name != "" {
		return
	}
	for _, scope := range mod.InlinedAt(symbol.Addr(s.addr)) {
		if mine(scope.File) && scope.Line > 0 {
			s.name, s.file, s.line = scope.Function, scope.File, scope.Line
			return
		}
	}
	s.name = s.function.Name
	s.file, s.line, _ = mod.LineFor(symbol.Addr(s.addr))
}

// siteOf says whether an instruction is a candidate.
func siteOf(inst x86asm.Inst) *site {
	s := &site{inst: inst, rank: -1}
	switch inst.Op {
	case x86asm.LEA, x86asm.NOP, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2,
		x86asm.PREFETCHW:
		return nil
	case x86asm.CALL:
		s.rank = rankCall
		return s
	}
	for i, a := range inst.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		if m.Base == x86asm.RSP || m.Base == x86asm.RBP || m.Segment == x86asm.FS {
			continue // its own frame, or the thread's own memory
		}
		s.mem, s.writes = &m, i == 0 && !readsOnly(inst.Op)
		s.rank = rankPointer
		if m.Base == x86asm.RIP || m.Base == 0 {
			s.rank = rankShared
		}
	}
	if s.mem != nil && (locked(&inst) || inst.Op == x86asm.XCHG) {
		s.rank = rankShared
	}
	if s.rank < 0 {
		return nil
	}
	return s
}

// locked reports whether an instruction locks the bus.
func locked(inst *x86asm.Inst) bool {
	return slices.ContainsFunc(inst.Prefix[:], func(p x86asm.Prefix) bool {
		return p&0xff == x86asm.PrefixLOCK&0xff && p&x86asm.PrefixIgnored == 0
	})
}

// readsOnly are instructions that do not write their first operand.
func readsOnly(op x86asm.Op) bool {
	switch op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.JMP, x86asm.BT, x86asm.MUL, x86asm.DIV, x86asm.IDIV, x86asm.IMUL,
		x86asm.LDMXCSR, x86asm.FLD, x86asm.FILD, x86asm.FBLD, x86asm.FLDCW, x86asm.FADD, x86asm.FIADD, x86asm.FSUB,
		x86asm.FISUB, x86asm.FSUBR, x86asm.FISUBR, x86asm.FMUL, x86asm.FIMUL, x86asm.FDIV, x86asm.FIDIV, x86asm.FDIVR,
		x86asm.FIDIVR, x86asm.FCOM, x86asm.FCOMP, x86asm.FICOM, x86asm.FICOMP:
		return true
	}
	return false
}

// text is the instruction as people write it.
func (s *site) text(mod *symbol.Module, stubs map[uint64]string) string {
	return x86asm.GNUSyntax(s.inst, s.addr, func(a uint64) (string, uint64) {
		if f, off, ok := mod.Lookup(symbol.Addr(a)); ok && off == 0 {
			return f.Name, a
		}
		if name := stubs[a]; name != "" {
			return name, a
		}
		if name, start, ok := mod.DataAt(symbol.Addr(a)); ok {
			return name, uint64(start)
		}
		return "", 0
	})
}

func (s *site) place() string {
	if s.line == 0 {
		return s.name
	}
	return fmt.Sprintf("%s (%s:%d)", s.name, filepath.Base(s.file), s.line)
}
