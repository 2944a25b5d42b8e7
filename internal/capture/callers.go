package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// LLVM takes results away from functions that only their own module calls, all by name: it replaces a constant result
// in all callers at once, and removes one that none of them uses, without a sign in DWARF. What is left in the register
// looks like any other result, and no write to it proves one: loads may be volatile, and what inline assembly takes,
// such as Rust's black_box, may be nothing but a register's contents. The callers do: one that reads the register
// behind the call still gets a result in it.

// usage is what a module shows of one of its functions.
type usage struct {
	external bool    // there are callers that the compiler did not see: the result is where the ABI puts it
	read     [4]bool // result registers that some caller reads behind a call
	wide     bool    // one of them stores all eight bytes of rax
}

// moduleCalls are a module's direct calls, by target.
type moduleCalls struct {
	external []symbol.Addr // with a symbol for other modules
	taken    map[symbol.Addr]bool
	calls    []call
}

type call struct {
	target, behind symbol.Addr
	jump           bool // a tail call
}

// maxSites bounds the calls of one function that are kept, maxLooks those that are looked at for one result,
// maxCallText the bytes that are searched for them, maxBehind the code that is followed behind one.
const (
	maxSites    = 16
	maxLooks    = 48
	maxCallText = 64 << 20
	maxBehind   = 256
)

// callIndex remembers the calls of a few modules; a lost entry is only computed again.
var callIndex callCache

type callCache struct {
	mu      sync.Mutex // a leaf; held while a module's code is searched
	modules map[*symbol.Module]*moduleCalls
}

func (c *callCache) of(m *symbol.Module) *moduleCalls {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mc := c.modules[m]; mc != nil {
		return mc
	}
	if c.modules == nil || len(c.modules) >= maxHintModules/2 {
		c.modules = map[*symbol.Module]*moduleCalls{}
	}
	mc := &moduleCalls{external: m.ExternalFunctions()}
	mc.search(m)
	c.modules[m] = mc
	return mc
}

// search looks through the code for direct calls of functions with debug information, and everywhere for their
// addresses. Some of the calls that it finds may be the inside of other instructions: readsBehind looks again.
func (mc *moduleCalls) search(m *symbol.Module) {
	sites, taken := map[symbol.Addr]uint8{}, map[symbol.Addr]bool{}
	fns := m.Functions()
	for i := range fns {
		if fns[i].HasDWARF {
			sites[fns[i].Low] = 0
		}
	}
	take := func(a symbol.Addr) {
		if _, ok := sites[a]; ok {
			taken[a] = true
		}
	}
	left := maxCallText
	for _, s := range m.Segments() {
		bytes, err := m.BytesAt(s.Vaddr, int(min(s.Filesz, uint64(left))))
		if err != nil {
			continue
		}
		left -= len(bytes)
		if !s.Exec {
			findPointers(bytes, m.PIE, take)
			continue
		}
		findLeas(bytes, s.Vaddr, take)
		findCalls(bytes, s.Vaddr, func(c call) {
			if n, ok := sites[c.target]; ok && n < maxSites {
				sites[c.target] = n + 1
				mc.calls = append(mc.calls, c)
			}
		})
	}
	mc.taken = taken
	sorting.By(mc.calls, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.behind, b.behind))
	})
}

// findCalls finds what looks like "call rel32", "jmp rel32" and "jmp rel8".
func findCalls(text []byte, lo symbol.Addr, found func(call)) {
	for at := 1; at+4 <= len(text); at++ {
		if text[at-1] == 0xeb {
			behind := lo + symbol.Addr(at+1)
			found(call{behind + symbol.Addr(int64(int8(text[at]))), behind, true})
		}
		if op := text[at-1]; op&0xfe == 0xe8 {
			behind := lo + symbol.Addr(at+4)
			found(call{behind + symbol.Addr(int64(int32(binary.LittleEndian.Uint32(text[at:])))), behind, op == 0xe9})
		}
	}
}

// findLeas finds the addresses in what looks like "lea r64, [rip+rel32]".
func findLeas(text []byte, lo symbol.Addr, found func(symbol.Addr)) {
	for at := 0; ; {
		k := bytes.IndexByte(text[at:], 0x8d)
		if k < 0 || at+k+6 > len(text) {
			return
		}
		at += k + 1
		if at >= 2 && text[at-2]&0xfb == 0x48 && text[at]&0xc7 == 5 {
			found(lo + symbol.Addr(at+5) + symbol.Addr(int64(int32(binary.LittleEndian.Uint32(text[at+1:])))))
		}
	}
}

// relative is the relocation R_X86_64_RELATIVE.
const relative = 8

// findPointers finds addresses in data: as they are in a program that is not moved, else as addends of relocations, for
// small numbers look like addresses there.
func findPointers(data []byte, pie bool, found func(symbol.Addr)) {
	for at := 0; at+8 <= len(data); at += 8 {
		if !pie || at >= 8 && binary.LittleEndian.Uint64(data[at-8:]) == relative {
			found(symbol.Addr(binary.LittleEndian.Uint64(data[at:])))
		}
	}
}

// usageOf looks at the symbol and the callers of f.
func usageOf(m *symbol.Module, f *symbol.Function, sig *symbol.Signature) usage {
	looks := maxLooks
	return callIndex.of(m).usageOf(m, f, sig, &looks)
}

func (mc *moduleCalls) usageOf(m *symbol.Module, f *symbol.Function, sig *symbol.Signature, looks *int) usage {
	var out usage
	_, out.external = slices.BinarySearch(mc.external, f.Low)
	out.external = out.external || mc.taken[f.Low]
	// nothing else matters
	if out.external && (f.Language == symbol.LangCPP || f.Language == symbol.LangC && *looks == maxLooks) {
		return out
	}
	i, _ := slices.BinarySearchFunc(mc.calls, f.Low, func(c call, a symbol.Addr) int { return cmp.Compare(c.target, a) })
	for ; i < len(mc.calls) && mc.calls[i].target == f.Low && *looks > 0; i++ {
		*looks--
		mc.look(m, &mc.calls[i], sig, &out, looks)
	}
	return out
}

// look adds to out what one call shows.
func (mc *moduleCalls) look(m *symbol.Module, c *call, sig *symbol.Signature, out *usage, looks *int) {
	in, _, ok := m.Lookup(c.behind - 1)
	if !ok {
		return
	}
	seen, passed := *out, true
	if !c.jump {
		code, err := m.BytesAt(c.behind, int(min(max(int64(in.High-c.behind), 0), maxBehind)))
		if err != nil {
			return
		}
		passed = readsBehind(code, &seen)
	}
	if !passed && seen == *out {
		return
	}
	if code, err := m.Code(in); err != nil || !between(code[:min(len(code), maxCode)], int64(c.behind-in.Low)) {
		return
	}
	*out = seen
	if !passed || !in.HasDWARF {
		return
	}
	// what is proven of the caller's result is of this one
	if own, err := m.Signature(in); err == nil && sameResult(sig, own) {
		u := mc.usageOf(m, in, own, looks)
		// In C a function may return nothing where it says that it does, unless somebody reads that.
		out.external = out.external || u.external && sig.Language != symbol.LangC
		out.wide = out.wide || u.wide
		for i, read := range u.read {
			out.read[i] = out.read[i] || read
		}
	}
}

// sameResult reports functions of one language with results of one type.
func sameResult(a, b *symbol.Signature) bool {
	if a.Language != b.Language || a.Return == nil || b.Return == nil {
		return false
	}
	s, t := a.Return.Strip(), b.Return.Strip()
	return s != nil && t != nil && s.Kind == t.Kind && s.Name == t.Name && sizeOf(s) == sizeOf(t)
}

// between reports whether off is between two instructions.
func between(code []byte, off int64) bool {
	at := int64(0)
	for at < off && at < int64(len(code)) {
		n := instructionLength(code[at:])
		if n <= 0 {
			return false
		}
		at += n
	}
	return at == off
}

// readsBehind follows the code behind a call and notes in u which result registers are read before they are written. It
// reports whether the function returns with all of them as the call left them.
func readsBehind(code []byte, u *usage) (passed bool) {
	open := [4]bool{true, true, true, true} // still what the call left
	for at := int64(0); at >= 0 && at < int64(len(code)); {
		in, err := decode(code[at:])
		if err != nil || in.Len <= 0 {
			return false
		}
		vex := code[at] == 0xc4 || code[at] == 0xc5
		at += int64(in.Len)
		switch {
		case in.Op == x86asm.JMP:
			rel, ok := in.Args[0].(x86asm.Rel)
			if !ok || rel < 0 {
				return false
			}
			at += int64(rel)
			continue
		case isJcc(in.Op), in.Op == x86asm.NOP:
			continue
		case in.Op == x86asm.RET:
			return open == [4]bool{true, true, true, true}
		case in.Op == x86asm.CALL, in.Op == x86asm.SYSCALL, in.Op == x86asm.UD2, in.Op == x86asm.HLT, hasRep(&in):
			return false
		}
		wanted(&in, vex, &open, u)
	}
	return false
}

// instructionLength returns the length of the first instruction, 0 when it is not known.
func instructionLength(code []byte) int64 {
	if isEndbr(code) {
		return 4
	}
	in, err := decode(code)
	if err != nil {
		return 0
	}
	return int64(in.Len)
}

func isEndbr(code []byte) bool {
	return len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] >= 0xfa
}

// wanted notes the certain reads of one instruction in u, then closes what it may write.
func wanted(in *x86asm.Inst, vex bool, open *[4]bool, u *usage) {
	if in.Op == x86asm.PUSH { // it only makes room
		return
	}
	note := func(r x86asm.Reg) {
		if i := resultIndex(r); i >= 0 && open[i] {
			u.read[i] = true
		}
	}
	same := in.Args[0] == in.Args[1] && in.Op != x86asm.TEST && in.Op != x86asm.CMP && !isMove(in)
	for i, a := range in.Args {
		switch a := a.(type) {
		case x86asm.Reg:
			if i > 0 && !same && !vex || i == 0 && !same && !vex && readsTarget(in) {
				note(a)
			}
			if i == 1 && a == x86asm.RAX && open[resRAX] && in.Op == x86asm.MOV && in.MemBytes == 8 {
				u.wide = true
			}
		case x86asm.Mem:
			note(a.Base)
			note(a.Index)
		}
	}
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD, x86asm.BT:
		return
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV, x86asm.IMUL, x86asm.CDQ, x86asm.CQO, x86asm.CWD, x86asm.CDQE, x86asm.CWDE,
		x86asm.CBW,
		x86asm.CPUID, x86asm.RDTSC, x86asm.RDTSCP, x86asm.CMPXCHG, x86asm.XCHG, x86asm.XADD, x86asm.LODSB, x86asm.LODSD,
		x86asm.LODSQ:
		open[resRAX], open[resRDX] = false, false
	}
	if r, ok := in.Args[0].(x86asm.Reg); ok {
		if i := resultIndex(r); i >= 0 {
			open[i] = false
		}
	}
}

func isMove(in *x86asm.Inst) bool { return moveKind(in.Op) != notMove }

// readsTarget reports an instruction whose first operand's old contents certainly matter: not one that keeps them only
// in the bytes of a vector that nothing speaks of, or that makes a constant in a short way.
func readsTarget(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.AND, x86asm.OR:
		imm, ok := in.Args[1].(x86asm.Imm)
		return !ok || imm != 0 && imm != -1
	case x86asm.ADD, x86asm.SUB, x86asm.XOR, x86asm.CMP, x86asm.TEST, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT,
		x86asm.SHL,
		x86asm.SHR, x86asm.SAR, x86asm.BT, x86asm.BSWAP,
		x86asm.ADDSS, x86asm.ADDSD, x86asm.SUBSS, x86asm.SUBSD, x86asm.MULSS, x86asm.MULSD, x86asm.DIVSS, x86asm.DIVSD,
		x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD:
		return true
	}
	return false
}
