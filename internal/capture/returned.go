package capture

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// ReturnRegs are the registers in which a function's result can be, of a thread that has just returned from it.
type ReturnRegs struct {
	RAX, RDX uint64
	XMM      [2][16]byte
	ST       [2][16]byte // the top of the x87 stack
}

// Result reads what a function has returned. False: it returns nothing, or what it returns is not known.
func (r *Reader) Result(m *symbol.Module, f *symbol.Function, regs *ReturnRegs) (value.Value, bool) {
	if !f.HasDWARF {
		return value.Value{}, false
	}
	sig, err := m.Signature(f)
	if err != nil || sig.Bare {
		return value.Value{}, false
	}
	code, err := m.Code(f)
	if err != nil {
		return value.Value{}, false
	}
	use := described(m, f, sig, code)
	home := locateResult(sig, f, code, &use)
	t := sig.Return
	switch {
	case home.void:
		return value.Value{}, false
	case home.missing:
		return value.OptimizedOut, true
	// also saved: the convention wants the address in rax, which only a clone may forget, whose results are missing
	case home.memory:
		return r.Object(t, sig.Language, regs.RAX), true
	}
	var b []byte
	var gone []bool
	for i := range min(home.x87, len(regs.ST)) {
		b = append(b, regs.ST[i][:]...)
	}
	for _, p := range home.places {
		from := regs.of(p.source)
		for i := int(p.off); i < int(p.off)+int(p.size); i++ {
			lost := i >= len(from)
			if gone = append(gone, lost); lost {
				b = append(b, 0)
			} else {
				b = append(b, from[i])
			}
		}
	}
	for len(gone) < len(b) {
		gone = append(gone, false)
	}
	return r.Parts(t, sig.Language, b, gone), true
}

// of returns the bytes of a register, none of one that a result is not in.
func (regs *ReturnRegs) of(s source) []byte {
	switch {
	case s.kind == srcGPR && s.reg == rax:
		return binary.LittleEndian.AppendUint64(nil, regs.RAX)
	case s.kind == srcGPR && s.reg == rdx:
		return binary.LittleEndian.AppendUint64(nil, regs.RDX)
	case s.kind == srcXMM && int(s.reg) < len(regs.XMM):
		return regs.XMM[s.reg][:]
	}
	return nil
}
