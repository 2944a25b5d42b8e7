package hook

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

const (
	jumpLen  = 5 // jmp rel32
	shortLen = 2 // jmp rel8
)

const (
	rsp = 4
	rbp = 5
)

// analyzer walks a function once, from its first byte to its last.
type analyzer struct {
	a    Analysis
	code []byte // the function
	all  []byte // the function and the padding behind it
	need int    // bytes of the patch that is looked at
	prog int    // bytes decoded

	windowEnd int // first offset behind the window
	interior  int // source of a branch from outside the window into its overwritten bytes, or -1
	loopFrom  int // greatest source of a branch to the entry, or -1
	trap      string

	stack  stackTracker
	tail   tailTracker
	tables tables
	jumps  int // direct branches of all kinds

	refs []int64 // what branches and addresses lead to, for a short jump

	astride bool // an instruction lies over Off

	pointerJumps int   // tail calls through pointers in memory, unless there are many
	perhaps      []int // indirect jumps that leave the function where it has no table
	indexed      bool  // something is read or computed by an index: a table, perhaps
}

// Analyze decodes a function and says how to hook it. code holds the function's bytes from its
// entry at addr, and the pad bytes behind it: bytes up to the next symbol that nothing uses.
// They may be overwritten where they are nop, int3 or zero, which Analyze checks. It never fails: what
// cannot be hooked has Patch PatchNone and a Reason.
func Analyze(code []byte, addr Addr, pad int, opt Options) Analysis {
	pad = min(max(pad, 0), len(code))
	analyze := func(need int) (*analyzer, Analysis) {
		z := analyzer{all: code, code: code[:len(code)-pad], need: need, interior: -1, loopFrom: -1}
		z.a.Addr, z.a.Size = addr, len(z.code)
		return &z, z.analyze(opt)
	}
	_, a := analyze(jumpLen)
	if a.Patch != PatchTrap {
		return a
	}
	if z, short := analyze(shortLen); short.Patch == PatchJump && z.island(&short, &opt) {
		short.Patch, short.Reason = PatchShort, a.Reason
		return short
	}
	return a
}

// analyze looks at the place Addr+Off, where an endbr64 is left in place.
func (z *analyzer) analyze(opt Options) Analysis {
	if len(z.code) == 0 {
		z.a.Reason = "the function has no code"
		return z.a
	}
	if at := z.code[z.a.Off:]; len(at) > 4 && binary.LittleEndian.Uint32(at) == endbr64 {
		z.a.Off += 4
	}
	first, err := Decode(z.code[z.a.Off:])
	if err != nil {
		z.a.Reason = "the first bytes: " + err.Error()
		return z.a
	}
	if why := immovable(&first); why != "" {
		z.a.Reason = "the first instruction cannot be displaced: " + why
		return z.a
	}
	if entry, err := Decode(z.code[z.a.Off-z.inside():]); err == nil {
		z.tail.begin(&entry)
	}
	z.window()
	z.walk()
	if i, _ := slices.BinarySearch(opt.Targets, z.a.Site()+1); i < len(opt.Targets) &&
		z.overwritten(int64(opt.Targets[i]-z.a.Addr)) {
		z.refuse("code elsewhere jumps into the bytes that a jump would overwrite")
	}
	z.a.RedZone = z.a.RedZone && !opt.NoRedZone
	z.decide(&first, &opt)
	return z.a
}

const endbr64 = 0xFA1E0FF3

// tracked reports whether the function is compiled for indirect branch tracking.
func (z *analyzer) tracked() bool {
	return len(z.code) > 4 && binary.LittleEndian.Uint32(z.code) == endbr64
}

// refuse rules out PatchJump; the first reason stands.
func (z *analyzer) refuse(format string, args ...any) {
	if z.trap == "" {
		z.trap = fmt.Sprintf(format, args...)
	}
}

// window finds the whole instructions that a five-byte patch would overwrite.
func (z *analyzer) window() {
	off, end := z.a.Off, z.a.Off+z.need
	for off < end {
		if off >= len(z.code) {
			z.padding(off, end)
			break
		}
		in, err := Decode(z.code[off:])
		if err != nil {
			z.refuse("the bytes at +%#x: %v", off, err)
			break
		}
		z.a.bounds[z.a.nbounds] = uint8(off - z.a.Off)
		z.a.nbounds++
		if why := immovable(&in); why != "" {
			z.refuse("the instruction at +%#x cannot be displaced: %s", off, why)
		}
		switch off += in.Len; {
		case in.Flow == FlowSyscall:
			z.refuse("a system call lies in the first five bytes")
		case in.Flow == FlowCall || in.Flow == FlowCallIndirect:
			if off < end {
				z.refuse("a call in the first five bytes returns into them")
			}
			z.a.EndsInCall = true
		case !in.Flow.FallsThrough() && off < end && off < len(z.code) && isPadding(z.all[off:], end-off):
			z.a.Padded = true
			end = off
		case !in.Flow.FallsThrough() && off < end && off < len(z.code) && z.a.Place:
			z.refuse("other code begins in the bytes that a jump would overwrite: an exception's handler, perhaps")
		}
	}
	z.windowEnd = off
	z.a.Displaced = off - z.a.Off
}

// padding is called when the function ends before the window does.
func (z *analyzer) padding(off, end int) {
	last, err := Decode(z.code[z.a.Off+int(z.a.bounds[z.a.nbounds-1]):])
	switch {
	case !isPadding(z.all[off:], end-off):
		z.refuse("the function has %d bytes, fewer than a jump needs, and no padding follows", len(z.code))
	case err != nil || last.Flow.FallsThrough():
		z.refuse("the function has %d bytes, fewer than a jump needs, and runs on into what follows", len(z.code))
	default:
		z.a.Padded = true
	}
}

// isPadding reports whether the first n bytes of code are nops, int3 or zeros.
func isPadding(code []byte, n int) bool {
	for i := 0; i < n; {
		if i >= len(code) {
			return false
		}
		if code[i] == 0xCC || code[i] == 0 {
			i++
			continue
		}
		in, err := Decode(code[i:])
		if err != nil || !in.isNop() {
			return false
		}
		i += in.Len
	}
	return true
}

// walk decodes the whole function, looking for branches into the window and for returns.
func (z *analyzer) walk() {
	for off := 0; off < len(z.code); {
		in, err := Decode(z.code[off:])
		if err != nil && isPadding(z.code[off:], len(z.code)-off) {
			return
		}
		if err != nil {
			z.refuse("the bytes at +%#x: %v; what lies behind them may jump into the first five bytes", off, err)
			return
		}
		z.visit(off, &in)
		z.astride = z.astride || off < z.a.Off && off+in.Len > z.a.Off
		off += in.Len
	}
}

func (z *analyzer) visit(off int, in *Inst) {
	next := int64(off + in.Len)
	z.tables.visit(in, z.a.Addr+Addr(next))
	switch in.Flow {
	case FlowJump, FlowCond, FlowLoop, FlowXBegin:
		z.jumps++
		z.branch(off, next+in.Rel)
	case FlowCall:
		if t := next + in.Rel; z.overwritten(t) {
			z.interior = off
		}
	case FlowRet:
		z.ret(off, in)
	case FlowJumpIndirect:
		z.a.IndirectJumps++
		switch {
		case z.tail.tailJump(in, z.tracked()):
			z.a.Tails = append(z.a.Tails, Tail{Off: off})
		case z.tail.pointerJump(in):
			z.pointerJumps++
			z.perhaps = append(z.perhaps, off)
		default:
			z.a.TableJumps++
			z.tables.jump(in)
			z.perhaps = append(z.perhaps, off)
		}
	}
	if z.need == shortLen {
		if in.RelSize > 0 {
			z.refs = append(z.refs, next+in.Rel)
		}
		if in.RIPRel {
			z.refs = append(z.refs, next+int64(in.Disp))
		}
	}
	if in.RelSize == 2 {
		z.refuse("a 16-bit branch at +%#x, which processors disagree about", off)
	}
	if in.RIPRel && z.overwritten(next+int64(in.Disp)) {
		z.refuse("the instruction at +%#x refers to the bytes that a jump would overwrite", off)
	}
	z.indexed = z.indexed || in.HasSIB && (in.SIB>>3&7 != 4 || in.Rex&2 != 0)
	if in.DispSize > 0 && in.Disp < 0 {
		if base, ok := in.baseReg(); ok && base == rsp {
			z.a.RedZone = true
		}
	}
	if z.stack.visit(in) {
		z.a.UsesReturn = true
	}
	z.tail.visit(in)
}

// overwritten reports whether an offset is one of the bytes that a jump would overwrite, but not the first.
func (z *analyzer) overwritten(t int64) bool {
	return t > int64(z.a.Off) && t < int64(z.a.Off+z.need)
}

func (z *analyzer) branch(from int, to int64) {
	switch {
	case z.a.Place && to == int64(z.a.Off):
	case !z.a.Place && (to == 0 || to == int64(z.a.Off)):
		z.loopFrom = max(z.loopFrom, from)
	case z.overwritten(to):
		if from < z.a.Off || from >= z.windowEnd || !z.boundary(to) {
			z.interior = from
		}
	case to < 0 || to >= int64(len(z.code)):
		z.a.Jumps = append(z.a.Jumps, z.a.Addr+Addr(to))
		z.a.Tails = append(z.a.Tails, Tail{from, z.a.Addr + Addr(to)})
	}
}

func (z *analyzer) boundary(off int64) bool {
	for _, b := range z.a.bounds[:z.a.nbounds] {
		if int64(z.a.Off)+int64(b) == off {
			return true
		}
	}
	return false
}

func (z *analyzer) ret(off int, in *Inst) {
	pop := 0
	switch {
	case in.is(0xC2):
		pop = int(binary.LittleEndian.Uint16(z.code[off+in.ImmOff:]))
	case !in.is(0xC3):
		return
	}
	if len(z.a.Rets) > 0 && pop != z.a.RetPop {
		pop = -1
	}
	z.a.RetPop = pop
	z.a.Rets = append(z.a.Rets, off)
}

// manyPointerJumps is where tail calls through pointers in memory begin to look like a threaded
// interpreter, which ends each of its operations with one.
const manyPointerJumps = 4

// decide weighs what walk found.
func (z *analyzer) decide(first *Inst, opt *Options) {
	if z.interior >= 0 {
		z.refuse("the branch at +%#x leads into the bytes that a jump would overwrite", z.interior)
	}
	if !z.indexed {
		for _, off := range z.perhaps {
			z.a.Tails = append(z.a.Tails, Tail{Off: off})
		}
		sorting.By(z.a.Tails, func(a, b Tail) int { return a.Off - b.Off })
	}
	if z.pointerJumps >= manyPointerJumps {
		z.a.TableJumps += z.pointerJumps
	}
	if z.a.TableJumps > 0 && !z.needsFlags() && (z.inside() > 0 || !z.tablesMiss()) && !z.tablesKnown(opt) {
		z.refuse("a jump table may lead into the bytes that a jump would overwrite")
	}
	z.a.Patch, z.a.PatchLen = PatchJump, z.need
	if z.trap != "" {
		z.a.Patch, z.a.PatchLen, z.a.Padded = PatchTrap, 1, false
		z.a.Reason = z.trap
		z.a.Displaced, z.a.nbounds = first.Len, 1
		z.a.EndsInCall = first.Flow == FlowCall || first.Flow == FlowCallIndirect
	}
	z.a.LoopsToEntry = !z.a.Place && (z.loopFrom >= z.a.Off+z.a.Displaced || z.a.TableJumps > 0 && !z.framing(first))
}

// immovable says why an instruction cannot run at another address, or "".
func immovable(in *Inst) string {
	switch {
	case in.RelSize == 2:
		return "a 16-bit branch"
	case in.RIPRel && in.Pfx&PfxAddrSize != 0:
		return "an EIP-relative operand"
	case in.Flow == FlowCallIndirect && (in.reg() == 3 || in.Pfx&PfxOpSize != 0):
		return "a far or 16-bit call"
	case in.Flow == FlowCallIndirect && in.mod() == 3 && in.rm() == rsp && in.Rex&1 == 0:
		return "a call to the stack pointer"
	}
	return ""
}

// isNop reports whether an instruction does nothing: 90, 66 90 and the like, 0F 1F.
func (in *Inst) isNop() bool {
	return in.is(0x90) && in.Rex&1 == 0 && in.Pfx&PfxRep == 0 || in.Enc == EncLegacy && in.Map == 1 && in.Op == 0x1F
}
