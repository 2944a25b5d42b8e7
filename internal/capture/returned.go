package capture

import (
	"encoding/binary"
	"slices"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// ReturnRegs are the registers in which a function's result can be, of a thread that has just returned from it.
type ReturnRegs struct {
	RAX, RDX uint64
	XMM      [16][16]byte
	ST       [2][16]byte // the top of the x87 stack
	Go       [9]uint64   // those of Go's convention, in its order: RAX, RBX, RCX, RDI, RSI, R8 to R11
	SP       uint64
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
	if f.Language == symbol.LangGo {
		return r.goResult(m, sig, f, regs)
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

// goResult is Result for a function of Go's: one value, or several as one.
func (r *Reader) goResult(m *symbol.Module, sig *symbol.Signature, f *symbol.Function, regs *ReturnRegs) (value.Value,
	bool) {
	params, results := goParams(sig)
	for i, dicts := 0, goInstances(m, f); i < len(results); i++ {
		results[i].Type = goReal(m, results[i].Type, dicts)
	}
	if len(results) == 0 {
		return value.Value{}, false
	}
	a := &goAssign{}
	_, known := a.all(f, params)
	homes := a.results(results)
	t, h := results[0].Type, homes[0]
	if len(results) > 1 {
		t, h = goTuple(results, homes)
	}
	if h.missing || !known {
		return value.OptimizedOut, true
	}
	var b []byte
	for _, p := range h.places {
		from := make([]byte, p.size)
		switch p.kind {
		case srcGPR:
			word := regs.Go[slices.Index(goRegs, p.reg)]
			copy(from, binary.LittleEndian.AppendUint64(nil, word)[p.off:])
		case srcXMM:
			copy(from, regs.XMM[p.reg][p.off:])
		case srcStack: // SP is behind the return address
			if err := r.mem.Read(regs.SP+uint64(p.off), from); err != nil {
				return value.OptimizedOut, true
			}
		}
		b = append(b, from...)
	}
	return r.Parts(t, sig.Language, b, make([]bool, len(b))), true
}
