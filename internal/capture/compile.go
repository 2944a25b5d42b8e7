// Package capture owns the way from debug information to a capture plan: which registers, stack bytes
// and pointees the agent must copy at a function's entry and return, and the value.Layout by which
// those bytes become values later.
//
// It stands between symbol, which describes functions, and ring, whose operations the agent runs;
// collector/native compiles a plan once per hooked function. Everything here is pure.
//
// Invariant: a value is right or it is <optimized out>, never wrong. Where sources of truth differ,
// the stronger wins: a location that holds at the entry address; the stores that an unoptimised
// prologue makes into the DWARF frame slots; the System V classification, trusted alone only in
// C and C++ of gcc, and unoptimised of clang. What none of them settles is not captured.
//
// Where a place is taken, and what proves it:
//
//	argument  location list at the entry address        the entry covers it (location.go)
//	          one location, a frame slot                the prologue's first store there (prologue.go stored)
//	          one location, a register                  the prologue's moves into it (register.go); LLVM: untouched there
//	          one location, the caller's area           CFA or rbp as base, and read; gcc: always passed (compile.go
//	                                                    fromStack)
//	          none, gcc                                 the convention, unless a clone or another parameter differs
//	                                                    (convention.go)
//	          none, Rust -O0, by pointer                the neighbours' registers (rust.go)
//	          float without a prototype                 a double, by the convention (register.go promote)
//	          hidden pointer, optimised                 the code reads the object (live.go)
//	result    C and C++ of gcc, unoptimised clang       the convention; a class as DWARF says, else the code (hidden.go)
//	          clones of gcc's (.isra, .part)            a caller reads the registers (callers.go)
//	          optimised LLVM                            other modules call it, or a caller reads the registers
//	                                                    (callers.go)
//	          optimised LLVM, in memory                 rdi goes back in rax, or is filled and kept from the entry
//	                                                    (hidden_store.go)
//	          Rust                                      what both ABIs agree on; else what the code writes
//	                                                    (rust_result.go)
//	          parts of coroutines                       none
//
// TestPrinted and TestCorpus compare all of it with programs that are generated and print or know their values.
package capture

import (
	"fmt"
	"sort"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Function is what the collector needs to hook one function with its values.
type Function struct {
	Plan   ring.Plan
	Layout *value.Layout
	// StackBytes is how much of the caller's argument area belongs to the call: the hook copies it. Exact
	// for prototyped functions, GuessedStack where nothing says.
	StackBytes int
	// FrameSafe reports that a frame may stand between the caller and the function: not so for functions
	// that return twice or look at their caller's frame, such as setjmp and vfork.
	FrameSafe bool
	HasDWARF  bool
	// WatchErrors says why watches are read at neither end of a call of this function, by label.
	WatchErrors map[string]error
	// Finish are the watches that FinishRecord computes; nil for most functions.
	Finish []Finish

	complete func() *value.Layout // makes one that has the forms of all types; nil: it is whole
}

// Complete makes a layout whole that was left short by Options.PlanAlone. Where the debug information cannot be read
// any more, the short one stays, which names the types that it does not have. It is not for concurrent use.
func (f *Function) Complete() {
	if f.complete == nil {
		return
	}
	if whole := f.complete(); whole != nil {
		f.Layout = whole
	}
	f.complete = nil
}

// GuessedStack is the window of stack arguments for functions whose parameters are not known.
const GuessedStack = 2048

// Limits on what one value copies.
const (
	maxObject = 4096 // bytes of a struct, union or array
	maxString = value.MaxText
	maxStack  = 4096 // bytes of stack arguments in a record
)

// twice are functions that return a second time through a saved context, or run in their caller's.
var twice = map[string]bool{
	"setjmp": true, "_setjmp": true, "__sigsetjmp": true, "sigsetjmp": true, "vfork": true, "__vfork": true,
	"__libc_vfork": true,
	"getcontext":   true, "swapcontext": true, "makecontext": true, "__makecontext": true, "__getcontext": true,
	"savectx": true, "_start": true, "returns_twice": true,
}

// Options say how much of a call is captured.
type Options struct {
	Depth int    // how many pointers are followed, one behind the other: 1 to 10
	Walks *Walks // the session's walk programs, to which those of the function's types are added

	// PlanAlone leaves out of the layout, until Complete, types that other functions have and what pointers lead to: of
	// thousands of functions few are called, and layouts take time and memory. Until then Walks.Describe must not be
	// called.
	PlanAlone bool

	Out     bool             // read what pointer arguments lead to again at the exit
	Watches []Watch          // read at both ends of each call
	Modules []*symbol.Module // where variables are looked for
}

// Compile makes the plan for one function. It never fails: without debug information the plan is
// empty and the stack window a guess. The error tells what was wrong with the debug information;
// the Function is usable all the same.
func Compile(m *symbol.Module, f *symbol.Function, o Options) (*Function, error) {
	out := &Function{Layout: &value.Layout{}, StackBytes: GuessedStack, FrameSafe: !twice[f.Name] &&
		f.Language != symbol.LangGo}
	if !f.HasDWARF {
		bareWatches(out, f, &symbol.Signature{Language: f.Language}, o)
		return out, nil
	}
	sig, err := m.Signature(f)
	if err != nil {
		return out, fmt.Errorf("read signature of %s: %w", f.Name, err)
	}
	if sig.Bare {
		bareWatches(out, f, sig, o)
		return out, nil
	}
	code, err := m.Code(f)
	if err != nil {
		return out, fmt.Errorf("read code of %s: %w", f.Name, err)
	}
	out.HasDWARF = true
	use := described(m, f, sig, code)
	compile(out, sig, f, code, &use, o)
	if o.PlanAlone {
		o.PlanAlone = false
		out.complete = func() *value.Layout {
			whole, err := Compile(m, f, o)
			if err != nil {
				return nil
			}
			return whole.Layout
		}
	}
	return out, nil
}

// described completes a signature, which is the caller's alone, by what the code says.
func described(m *symbol.Module, f *symbol.Function, sig *symbol.Signature, code []byte) (use usage) {
	sig.Optimized = looksOptimized(m, f, sig, code)
	promote(sig)
	if (needsProof(sig) || lostResult(sig.Clone)) && sig.Return != nil {
		use = usageOf(m, f, sig)
	}
	return use
}

// compile fills in out from a signature and the function's code.
func compile(out *Function, sig *symbol.Signature, f *symbol.Function, code []byte, use *usage, o Options) {
	result := locateResult(sig, f, code, use)
	homes, stack := locateParams(sig, f, code, result)
	out.StackBytes = stack
	b := newBuilder(sig, o)
	for i := range sig.Params {
		b.need(&homes[i])
	}
	b.emitEnter()
	names := paramNames(sig)
	for i := range sig.Params {
		if i == 0 && constructs(sig, f) {
			b.unmade(names[i], sig.Params[i].Type, &homes[i])
			continue
		}
		b.argument(names[i], sig.Params[i].Type, &homes[i])
	}
	b.secretResult = b.types.returnsSecret(f.Name, sig.Return)
	b.result(sig.Return, result)
	if o.Out {
		b.outs(sig, names, homes)
	}
	if len(o.Watches) > 0 {
		out.WatchErrors = b.watches(f, sig, names, homes, result, o)
	}
	out.Finish = b.finish
	out.Plan, out.Layout = b.close()
}

// paramNames names parameters uniquely: unnamed ones by position.
func paramNames(sig *symbol.Signature) []string {
	names := make([]string, len(sig.Params))
	seen := map[string]bool{}
	for i := range sig.Params {
		n := sig.Params[i].Name
		if n == "" {
			n = fmt.Sprintf("arg%d", i)
		}
		for base, k := n, 2; seen[n]; k++ {
			n = fmt.Sprintf("%s#%d", base, k)
		}
		seen[n] = true
		names[i] = n
	}
	return names
}

// locateParams decides where every parameter is at the entry, and the bytes of stack arguments.
func locateParams(sig *symbol.Signature, f *symbol.Function, code []byte, result resultHome) ([]home, int) {
	entry := entryFrame(sig)
	pro := readPrologue(code)
	body := pro.frame(sig.FrameBase)
	abi := assignment{}
	if sig.Language != symbol.LangRust && sig.Language != symbol.LangGo {
		abi = assign(sig.Params, result.memory || result.missing && byReferenceResult(sig))
		if n := namedParams(f.Full()); n >= 0 && n != declaredParams(sig) { // clang leaves out unused classes
			abi.sure, abi.homes = false, nil
		}
	}
	homes := make([]home, len(sig.Params))
	top := int64(0)
	for i := range sig.Params {
		guess := nowhere
		if abi.homes != nil && sig.Clone == "" {
			guess = abi.homes[i]
		}
		homes[i] = locateParam(&sig.Params[i], sig, entry, body, pro, guess, code)
		if homes[i].missing {
			homes[i] = fromLater(&sig.Params[i], sig, f, code)
		}
		if h := &homes[i]; h.indirect && sig.Optimized && !objectThere(h, sig, sizeOf(sig.Params[i].Type), code) {
			*h = nowhere
		}
	}
	fillConvention(sig, homes, &abi, code)
	if sig.Language == symbol.LangRust && !sig.Optimized {
		fillRust(f, sig, homes, result)
	}
	for i := range homes {
		for _, p := range homes[i].places {
			if p.kind == srcStack {
				top = max(top, int64(p.off)+int64(p.size))
			}
		}
	}
	return homes, stackBytes(sig, &abi, top)
}

func byReferenceResult(sig *symbol.Signature) bool {
	return sig.Return != nil && sysvResult(sig.Return).memory
}

// stackBytes is how much of the caller's frame belongs to the call.
func stackBytes(sig *symbol.Signature, abi *assignment, top int64) int {
	up8 := func(n int64) int { return int((n + 7) &^ 7) }
	switch {
	case sig.Variadic || sig.Language == symbol.LangGo, sig.Language != symbol.LangRust && !abi.sure,
		!sig.Prototyped && sig.Language == symbol.LangC:
		return max(GuessedStack, up8(top))
	case sig.Clone != "":
		// a clone takes parts of its parameters one by one, up to eight of each
		return max(up8(top), up8(abi.stack), 64*len(sig.Params))
	case sig.Language == symbol.LangRust:
		return max(up8(top), rustStack(sig))
	}
	return max(up8(top), up8(abi.stack))
}

// locateParam finds one parameter. guess is where the calling convention puts it.
func locateParam(p *symbol.Param, sig *symbol.Signature, entry, body frame, pro *prologue, guess home,
	code []byte) home {
	full := sizeOf(p.Type)
	if full < 0 {
		return nowhere
	}
	if full == 0 {
		return home{}
	}
	size := uint32(min(full, 1<<30))
	switch p.Loc.Kind {
	case symbol.LocConst:
		h := home{}
		h.add(place{source: source{kind: srcConst}, size: size, bytes: fit(p.Loc.Const, size)})
		return h
	case symbol.LocEntry:
		l := evaluate(p.Loc.Expr, size, entry)
		if !l.inFrame && !l.missing && !entryFrameOnly(&l, sig) && !onStack(&l.home) {
			return l.home
		}
		l = evaluate(p.Loc.Expr, size, body)
		return fromBody(&l, p, sig, pro, guess, size, code)
	case symbol.LocExpr:
		l := evaluate(p.Loc.Expr, size, body)
		return fromBody(&l, p, sig, pro, guess, size, code)
	case symbol.LocMissing, symbol.LocNone:
		if !sig.Optimized && sig.Clone == "" && byReference(p.Type) {
			return guess
		}
	}
	return nowhere
}

// entryFrameOnly reports a stack place that was computed from a frame base which is a plain register:
// compilers mean the register behind the prologue, whatever range the location has.
func entryFrameOnly(l *located, sig *symbol.Signature) bool {
	for _, p := range l.places {
		if p.kind == srcStack && len(sig.FrameBase) == 1 && sig.FrameBase[0] != opCallFrameCFA {
			return true
		}
	}
	return false
}

// fromBody settles a parameter whose location holds behind the prologue.
func fromBody(l *located, p *symbol.Param, sig *symbol.Signature, pro *prologue, guess home, size uint32,
	code []byte) home {
	trusted := !sig.Optimized && sig.Clone == "" && !guess.missing
	switch {
	case p.Type == promotedFloat && (l.inFrame || !sig.Optimized): // what the function keeps is rounded
		if trusted {
			return guess
		}
		return nowhere
	case l.inFrame && l.indirect:
		h := pro.stored(l.slot, 8)
		if h.complete() {
			h.indirect, h.off = true, l.off
			return h
		}
	case l.inFrame:
		h := pro.stored(l.slot, size)
		switch {
		case h.complete():
			return h
		case trusted && (h.missing || h.agrees(&guess, size)):
			return guess
		case !h.missing && sig.Clone == "" && (!sig.Optimized || h.lacksPadding(p.Type)):
			return h // padding is not stored
		}
		return nowhere
	case !l.missing && onStack(&l.home):
		return fromStack(l, p, sig, pro, guess, size, code)
	case !l.missing && !l.indirect:
		if p.Loc.Kind != symbol.LocExpr || !inRegister(&l.home) {
			return l.home
		}
		return fromRegister(l, sig, &guess, size, trusted, code, pro)
	case !l.missing && l.indirect && len(l.places) == 1 && gprIndex(l.places[0].reg) >= 0:
		return l.home // the hidden pointer stays where the caller put it
	}
	if trusted {
		return guess
	}
	return nowhere
}

// fromStack settles a parameter that the location puts into the caller's argument area.
func fromStack(l *located, p *symbol.Param, sig *symbol.Signature, pro *prologue, guess home, size uint32,
	code []byte) home {
	off := int64(l.places[0].off)
	if sig.Optimized && !callFrameBase(sig) && passedByPointer(sig, p.Type) {
		return nowhere // LLVM names the stack word that has the hidden pointer as if it were the object
	}
	h := pro.stored(off, min(size, 8))
	if !sig.Optimized && h.complete() && h.places[0].kind == srcGPR { // the home area of another convention
		return nowhere
	}
	rbpBased := framePointer(sig) && pro.gpr[rbp].frame
	known := pro.wholeFrame(code)
	switch {
	case sig.Optimized && !keepsConvention(sig) && (!known || !pro.reads(off, size)):
		return nowhere // callers that know the function do not pass what is never read
	case callFrameBase(sig), rbpBased, known, !guess.missing && guess.agrees(&l.home, size):
		return l.home
	}
	return nowhere
}

// objectThere reports whether callers of optimised code have put together the object that a hidden pointer
// leads to.
func objectThere(h *home, sig *symbol.Signature, size int64, code []byte) bool {
	switch {
	case len(h.places) != 1 || h.places[0].kind != srcGPR:
		return false
	case needsProof(sig):
		return readsRegister(code, h.places[0].reg)
	}
	return usesObject(code, h.places[0].reg, size)
}

// callFrameBase reports a frame base that is the CFA itself, so that no prologue enters the account.
func callFrameBase(sig *symbol.Signature) bool {
	return len(sig.FrameBase) == 1 && sig.FrameBase[0] == opCallFrameCFA
}

// framePointer reports a frame base that is rbp, which does not move behind the prologue.
func framePointer(sig *symbol.Signature) bool {
	return len(sig.FrameBase) == 1 && sig.FrameBase[0] == opReg0+rbp
}

func inRegister(h *home) bool {
	for _, p := range h.places {
		if p.kind == srcGPR || p.kind == srcXMM {
			return true
		}
	}
	return false
}

func onStack(h *home) bool { return len(h.places) > 0 && h.places[0].kind == srcStack }

// sortedKeys keeps plans the same from run to run.
func sortedKeys(m map[uint8]uint32) []uint8 {
	out := make([]uint8, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}
