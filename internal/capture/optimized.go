package capture

import (
	"strings"
	"sync"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// hint says how a function was compiled, as far as its signature shows.
type hint uint8

const (
	hintNone hint = iota
	hintPlain
	hintOptimized
)

// signatureHint reads the locations of parameters: unoptimised code has each in a frame slot, optimised
// code in registers, in lists, or nowhere. What is passed by pointer says nothing: LLVM follows that
// pointer through registers, or drops it, at -O0 too.
func signatureHint(sig *symbol.Signature) hint {
	out := hintNone
	for i := range sig.Params {
		p := &sig.Params[i]
		if sizeOf(p.Type) == 0 || passedByPointer(sig, p.Type) {
			continue
		}
		e := p.Loc.Expr
		if p.Loc.Kind != symbol.LocExpr || len(e) == 0 || e[0] >= opReg0 && e[0] < opReg0+32 || e[0] == opRegx {
			return hintOptimized
		}
		out = hintPlain
	}
	return out
}

func passedByPointer(sig *symbol.Signature, t *symbol.Type) bool {
	if sig.Language != symbol.LangRust {
		return byReference(t)
	}
	r := reprOf(t, 0)
	return r.kind == reprUnsure || r.kind == reprMemory && sizeOf(t) > 8
}

// looksOptimized finds optimised code where the producer does not name its flags, as LLVM's do not.
func looksOptimized(m *symbol.Module, f *symbol.Function, sig *symbol.Signature, code []byte) bool {
	if strings.HasPrefix(sig.Producer, "GNU ") {
		return sig.Optimized
	}
	if sig.Language != symbol.LangRust && len(sig.FrameBase) == 1 && sig.FrameBase[0] == opReg0+rsp {
		return true // clang keeps a frame pointer at -O0
	}
	if sig.Language == symbol.LangRust {
		return fileHints.of(m, f.File) != hintPlain || leavesByJump(code)
	}
	switch signatureHint(sig) {
	case hintPlain:
		return leavesByJump(code)
	case hintOptimized:
		return true
	}
	return leavesByJump(code) || fileHints.of(m, f.File) != hintPlain
}

// fileHints remembers how the functions of a source file were compiled, for functions that show nothing by
// themselves. Kept for a few modules; a lost entry is only computed again.
var fileHints hintCache

type hintCache struct {
	mu      sync.Mutex // a leaf; held while a file's first functions are read
	modules map[*symbol.Module]map[string]hint
	byFile  map[*symbol.Module]map[string][]*symbol.Function
}

// maxHintModules and maxHintFunctions bound the cache and the work for one file.
const (
	maxHintModules   = 8
	maxHintFunctions = 40
)

func (c *hintCache) of(m *symbol.Module, file string) hint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.modules[m] == nil {
		if len(c.modules) >= maxHintModules || c.modules == nil {
			c.modules, c.byFile = map[*symbol.Module]map[string]hint{}, map[*symbol.Module]map[string][]*symbol.Function{}
		}
		index := map[string][]*symbol.Function{}
		fns := m.Functions()
		for i := range fns {
			if f := &fns[i]; f.HasDWARF && len(index[f.File]) < maxHintFunctions {
				index[f.File] = append(index[f.File], f)
			}
		}
		c.modules[m], c.byFile[m] = map[string]hint{}, index
	}
	if h, ok := c.modules[m][file]; ok {
		return h
	}
	var votes [hintOptimized + 1]int
	for _, f := range c.byFile[m][file] {
		if sig, err := m.Signature(f); err == nil {
			votes[signatureHint(sig)]++
		}
	}
	out := hintNone
	switch { // single signatures mislead: repr(C) changes how a type is passed without a sign in DWARF
	case votes[hintOptimized] > 0 && 4*votes[hintOptimized] > votes[hintPlain]:
		out = hintOptimized
	case votes[hintPlain] > 0:
		out = hintPlain
	}
	c.modules[m][file] = out
	return out
}

// leavesByJump reports a jump out of the function: a tail call, which unoptimised code has none of.
func leavesByJump(code []byte) bool {
	size := int64(len(code))
	for at := int64(0); at < size; {
		in, err := decode(code[at:])
		if err != nil || in.Len <= 0 {
			return false
		}
		at += int64(in.Len)
		if in.Op != x86asm.JMP {
			continue
		}
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			if to := at + int64(rel); to < 0 || to >= size {
				return true
			}
		}
	}
	return false
}
