package native

import (
	"os"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// writing is the instruction that ends at a place of a module; the zero value: it is not known.
type writing struct {
	at   symbol.Addr
	from symbol.Addr // where the code begins that computes its operand; 0: not known
	code []byte      // the file's, from there on, since hooks of ours may be in memory
}

type writingKey symbol.Addr

// wrote tells by the instruction that a thread has just run what that wrote to the range at addr that held before.
func (c *pause) wrote(pic *snapshot.Picture, addr uint64, before []byte) (emulate.Written, error) {
	pc, copied := c.seen.Regs.Val[regRip], false
	if pic.Stub != nil {
		if original, in := pic.Stub(pc); in {
			pc, copied = original, true
		}
	}
	for i := range pic.Modules {
		m := &pic.Modules[i]
		if pc < m.Lo || pc >= m.Hi || c.seen.XMM == nil {
			continue
		}
		at := symbol.Addr(pc - m.Bias)
		w, err := c.wroteAt(pic, endingAt(m.Mod, at), m.Bias, addr, before)
		// of the last one in a stub the beginning is what is known
		if code, e := m.Mod.BytesAt(at, maxCopy); err != nil && copied && e == nil {
			w, err = c.wroteAt(pic, writing{at: at, code: code}, m.Bias, addr, before)
		}
		return w, err
	}
	return emulate.Written{}, emulate.ErrUnknown
}

func (c *pause) wroteAt(pic *snapshot.Picture, w writing, bias, addr uint64, before []byte) (emulate.Written, error) {
	if w.code == nil {
		return emulate.Written{}, emulate.ErrUnknown
	}
	v := &c.seen.Regs.Val // DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 …
	th := emulate.Thread{RIP: uint64(w.at) + bias, Flags: c.flags, XMM: *c.seen.XMM, FSBase: c.seen.FS,
		Reg: [16]uint64{v[0], v[2], v[1], v[3], v[7], v[6], v[4], v[5], v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]}}
	first, from := uint64(w.at)+bias, uint64(0)
	if w.from != 0 {
		from = uint64(w.from) + bias
		first = from
	}
	return emulate.Wrote(emulate.Overlay(pic.Mem, first, w.code), th, from, addr, before)
}

// endingAt finds the instruction that ends at a place, by decoding its function from its beginning.
func endingAt(mod *symbol.Module, end symbol.Addr) writing {
	return mod.Memo(writingKey(end), func() any { return findWriting(mod, end) }).(writing)
}

// maxDecoded bounds the code that is decoded to find one instruction.
const maxDecoded = 1 << 20

func findWriting(mod *symbol.Module, end symbol.Addr) (w writing) {
	lo, hi := symbol.Addr(0), symbol.Addr(0)
	if f, _, ok := mod.Lookup(end - 1); ok {
		lo, hi = f.Low, f.High
	} else if e, ok := mod.FrameEntry(end - 1); ok { // stripped libraries have no names of most functions
		lo, hi = e.Lo, e.Hi
	}
	if lo == 0 || end <= lo || hi-lo > maxDecoded {
		return w
	}
	code, err := mod.BytesAt(lo, int(max(hi, end)-lo))
	if err != nil {
		return w
	}
	var insts []hook.Inst
	var starts []int
	targets := map[int]bool{}
	for off := 0; off < len(code); {
		in, err := hook.Decode(code[off:])
		if err != nil {
			break
		}
		if off += in.Len; in.RelSize > 0 {
			targets[off+int(in.Rel)] = true
		}
		if off <= int(end-lo) {
			insts, starts = append(insts, in), append(starts, off-in.Len)
		}
	}
	n := len(insts) - 1
	if n < 0 || starts[n]+insts[n].Len != int(end-lo) || targets[int(end-lo)] && !insts[n].Flow.FallsThrough() {
		return w
	}
	w.at = lo + symbol.Addr(starts[n])
	first := starts[n]
	if i, ok := computedFrom(insts, starts, targets); ok {
		w.from, first = lo+symbol.Addr(starts[i]), starts[i]
	}
	w.code = code[first:int(end-lo):int(end-lo)]
	return w
}

// computedFrom finds where the code begins that computes the register operand of the last instruction, xchg or xadd,
// from registers that nothing changes up to there, and from the thread's own stack.
func computedFrom(insts []hook.Inst, starts []int, targets map[int]bool) (int, bool) {
	n := len(insts) - 1
	last := &insts[n]
	if !last.HasModRM || last.ModRM>>6 == 3 || last.Enc != hook.EncLegacy ||
		!(last.Map == 0 && last.Op&^1 == 0x86 || last.Map == 1 && last.Op&^1 == 0xc0) {
		return 0, false
	}
	reg := uint16(1) << (last.ModRM>>3&7 | last.Rex&4<<1)
	need, written := reg, reg
	for i := n - 1; i >= 0 && i >= n-maxComputing; i-- {
		if targets[starts[i+1]] { // it may have come another way
			return 0, false
		}
		writes, reads, ok := plainRegisters(&insts[i])
		if !ok {
			return 0, false
		}
		if writes == 0 && reads&written != 0 { // it would write elsewhere
			return 0, false
		}
		written |= writes
		if need&writes != 0 {
			// the rest of the register does not matter
			if need = need&^writes | reads; last.Op&1 == 0 && insts[i].Op == 0x8a && insts[i].Map == 0 {
				need = need &^ writes
			}
		}
		if need&written == 0 {
			return i, true
		}
	}
	return 0, false
}

// maxComputing bounds the instructions that compute an operand.
const maxComputing = 12

// plainRegisters tells which registers an instruction of those that compute small values writes and reads. Not ok:
// another one, or it reads memory that is not the frame's own.
func plainRegisters(in *hook.Inst) (writes, reads uint16, ok bool) {
	if in.Enc != hook.EncLegacy || in.Map > 1 || in.Pfx&^(hook.PfxOpSize|hook.PfxLock|hook.PfxSegment) != 0 ||
		in.Flow != hook.FlowNone {
		return 0, 0, false
	}
	bit := func(n byte) uint16 { return 1 << n }
	reg, rm := bit(in.ModRM>>3&7|in.Rex&4<<1), bit(in.ModRM&7|in.Rex&1<<3)
	mem := in.HasModRM && in.ModRM>>6 != 3
	const frame = 1<<emulate.RSP | 1<<emulate.RBP
	if mem {
		base, index, ok := operandRegisters(in)
		if op, kind := in.Op, in.ModRM>>3&7; in.Map == 0 &&
			(op == 0x88 || op == 0x89 || op == 0xc6 || op == 0xc7 || op < 0x40 && op&7 < 2 && op>>3 != 7 ||
				// what it changes is in memory
				(op == 0x80 || op == 0x81 || op == 0x83) && kind != 7 || (op == 0xfe || op == 0xff) && kind < 2) {
			return 0, (base | index) &^ frame, true
		}
		if in.Map == 0 && in.Op == 0x8d { // lea reads no memory
			rm = base | index
		} else if rm = 0; !ok || base&frame == 0 || index != 0 {
			return 0, 0, false
		}
	}
	both := func(writes, reads uint16) (uint16, uint16, bool) {
		return writes &^ frame, reads &^ frame, writes&frame == 0
	}
	op := in.Op
	if in.Map == 1 {
		switch {
		case op == 0xb6, op == 0xb7, op == 0xbe, op == 0xbf: // movzx, movsx
			return both(reg, rm)
		case op == 0xaf: // imul
			return both(reg, reg|rm)
		case op == 0x1f: // nop
			return 0, 0, true
		}
		return 0, 0, false
	}
	switch {
	case op == 0x90:
		return 0, 0, true
	case op == 0x98 || op >= 0xb8 && op < 0xc0: // cltq; mov imm
		if op == 0x98 {
			return both(1, 1)
		}
		return both(bit(op&7|in.Rex&1<<3), 0)
	case op == 0x8a && (in.Rex != 0 || in.ModRM>>3&7 < 4 && (mem || in.ModRM&7 < 4)): // its low byte
		return both(reg, rm|reg)
	case op == 0x8b || op == 0x8d || op == 0x63 || op == 0x69 || op == 0x6b: // mov, lea, movsxd, imul with a constant
		return both(reg, rm)
	case op == 0xc7:
		return both(rm, 0)
	case op == 0x89:
		return both(rm, reg)
	case op < 0x40 && op&7 == 1 && op>>3 != 2 && op>>3 != 3 && op>>3 != 7 && !mem: // add, or, and, sub, xor
		return both(rm, rm|reg)
	case op < 0x40 && op&7 == 3 && op>>3 != 2 && op>>3 != 3 && op>>3 != 7:
		return both(reg, rm|reg)
	case (op == 0x81 || op == 0x83) && !mem && in.ModRM>>3&7 != 2 && in.ModRM>>3&7 != 3:
		return both(rm, rm)
	case op == 0xc1 && !mem && in.ModRM>>3&7 >= 4: // shifts
		return both(rm, rm)
	}
	return 0, 0, false
}

// operandRegisters are those that a memory operand's address is made of. Not ok: it is relative to the code, or
// absolute.
func operandRegisters(in *hook.Inst) (base, index uint16, ok bool) {
	if in.RIPRel {
		return 0, 0, false
	}
	b := in.ModRM & 7
	if in.HasSIB {
		if x := in.SIB>>3&7 | in.Rex&2<<2; x != emulate.RSP {
			index = 1 << x
		}
		if b = in.SIB & 7; b == emulate.RBP && in.ModRM>>6 == 0 {
			return 0, index, false
		}
	}
	return 1 << (b | in.Rex&1<<3), index, true
}

// othersTold reports that no other thread of a process has met a data breakpoint of which nothing was told yet, as far
// as the kernel says.
func (t *target) othersTold(c *pause) bool {
	dir := "/proc/" + strconv.Itoa(c.p.pid) + "/task"
	list, err := os.ReadDir(dir)
	if err != nil || len(list) > maxAsked {
		return false
	}
	paused := map[int]bool{c.th.tid: true}
	t.mu.Lock()
	for _, other := range t.pauses {
		paused[other.TID] = true
	}
	t.mu.Unlock()
	for _, e := range list {
		tid, _ := strconv.Atoi(e.Name())
		b, err := os.ReadFile(dir + "/" + e.Name() + "/status")
		if err != nil || paused[tid] {
			continue
		}
		text := string(b)
		if strings.Contains(text, "\nState:\tt") {
			return false
		}
		if _, set, ok := strings.Cut(text, "\nSigPnd:\t"); ok && len(set) >= 16 {
			if v, err := strconv.ParseUint(set[:16], 16, 64); err == nil && v&(1<<(unix.SIGTRAP-1)) != 0 {
				return false
			}
		}
	}
	return true
}

// maxAsked bounds the threads that are asked after.
const maxAsked = 64
