package inspect

import (
	"encoding/hex"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// maxInstruction is the length of the longest.
const maxInstruction = 15

// read reads code as the program's file has it: without what stands there for breakpoints. It gives what there is.
func (c coder) read(at uint64, n int) []byte {
	if m := c.module(at); m != nil {
		for k := n; k > 0; k-- {
			if b, err := m.Mod.BytesAt(symbol.Addr(at-m.Bias), k); err == nil {
				return b
			}
		}
	}
	b := make([]byte, n)
	for ; n > 0; n-- {
		if c.p.Mem.Read(at, b[:n]) == nil {
			return b[:n]
		}
	}
	return nil
}

// decode is the instruction at an address; of length 0: there is none.
func (c coder) decode(at uint64) (in x86asm.Inst, b []byte) {
	b = c.read(at, maxInstruction)
	in, err := x86asm.Decode(b, 64)
	if err != nil || in.Len > len(b) {
		return x86asm.Inst{}, b[:min(1, len(b))]
	}
	return in, b[:in.Len]
}

// instructions are so many from one on, counted from that at an address. Where there are none, bytes stand for them, so
// that there are always as many.
func (c coder) instructions(at uint64, from, count int) []collector.Instruction {
	var starts []uint64
	if from < 0 {
		starts = c.before(at, -from)
	}
	for skip := from; len(starts) < count; skip-- {
		if skip <= 0 {
			starts = append(starts, at)
		}
		in, _ := c.decode(at)
		at += uint64(max(in.Len, 1))
	}
	out := make([]collector.Instruction, count)
	for i := range out {
		out[i] = c.instruction(starts[i])
	}
	return out
}

// before are the n instructions before an address, by decoding from the beginnings of the functions there.
func (c coder) before(at uint64, n int) []uint64 {
	var out []uint64 // the last first
	for len(out) < n {
		_, f, off := c.function(at - 1)
		lo := at - 1 - off
		if f == nil || off > maxBehind {
			lo = at - 1
		}
		var starts []uint64
		a := lo
		for a < at {
			starts = append(starts, a)
			in, _ := c.decode(a)
			if in.Len == 0 || a+uint64(in.Len) > at { // data, or at is amid one
				in.Len = 1
			}
			a += uint64(in.Len)
		}
		slices.Reverse(starts)
		out, at = append(out, starts...), lo
	}
	out = out[:n]
	slices.Reverse(out)
	return out
}

// maxBehind bounds the code of a function that is decoded to find the instruction before one.
const maxBehind = 1 << 20

func (c coder) instruction(at uint64) collector.Instruction {
	in, b := c.decode(at)
	out := collector.Instruction{Address: fmt.Sprintf("0x%x", at), Bytes: hex.EncodeToString(b)}
	out.Symbol, _ = c.symbol(at)
	if m, f, off := c.function(at); f != nil {
		if off > 0 {
			out.Symbol += fmt.Sprintf("+0x%x", off)
		}
		if row, ok := m.Mod.Row(symbol.Addr(at - m.Bias)); ok && row.Line > 0 {
			out.File, out.Line = row.File, row.Line
		}
	}
	if in.Len > 0 {
		out.Text = x86asm.GNUSyntax(in, at, c.symbol)
	}
	return out
}

// symbol names an address: the function or variable that has it.
func (c coder) symbol(at uint64) (name string, start uint64) {
	m, f, off := c.function(at)
	switch {
	case f != nil:
		return f.Name, at - off
	case m == nil:
		return "", 0
	}
	if name, a, ok := m.Mod.DataAt(symbol.Addr(at - m.Bias)); ok {
		return name, uint64(a) + m.Bias
	}
	return "", 0
}

// calls are the functions with source that the line calls which has an address, from there on: those whose calls name
// them.
func (c coder) calls(at uint64) (out []collector.Location) {
	m, f, _ := c.function(at)
	if f == nil {
		return nil
	}
	first, ok := m.Mod.Row(symbol.Addr(at - m.Bias))
	if !ok || first.Line == 0 {
		return nil
	}
	for end := uint64(f.High) + m.Bias; at < end; {
		in, _ := c.decode(at)
		if in.Len == 0 {
			break
		}
		here := at
		at += uint64(in.Len)
		rel, direct := in.Args[0].(x86asm.Rel)
		if in.Op != x86asm.CALL || !direct {
			continue
		}
		if row, ok := m.Mod.Row(symbol.Addr(here - m.Bias)); !ok || row.File != first.File || row.Line != first.Line {
			continue
		}
		to := at + uint64(int64(rel))
		of, g, off := c.function(to)
		if g == nil || off != 0 || !g.HasDWARF || of.Mod.InstalledApart() {
			continue
		}
		one := collector.Location{Function: g.Name, File: g.File, Line: g.Line, Address: fmt.Sprintf("0x%x", to)}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}
