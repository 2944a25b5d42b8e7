package capture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Functions of Go's. Debug information says where parameters are at the entry, and nothing of results: both follow from
// ABIInternal (cmd/compile/abi-internal.md, "Function call argument and result passing"), of which what debug
// information says is a check. Where they differ, nothing is captured.

// goRegs are the integer registers of ABIInternal, in order: those that records of Go's functions begin with.
var goRegs = []uint8{ring.RegRAX, ring.RegRBX, ring.RegRCX, ring.RegRDI, ring.RegRSI, ring.RegR8, ring.RegR9,
	ring.RegR10, ring.RegR11}

const goFloats = 15 // X0 to X14

// CompileGo is Compile for a function of Go's, whose entry and returns are patched behind the check of its stack.
func CompileGo(m *symbol.Module, f *symbol.Function, o Options) (*Function, error) {
	out := &Function{Layout: &value.Layout{}}
	if !f.HasDWARF {
		return out, nil
	}
	sig, err := m.Signature(f)
	if err != nil {
		return out, fmt.Errorf("read signature of %s: %w", f.Name, err)
	}
	if sig.Bare {
		return out, nil
	}
	out.HasDWARF = true
	params, results := goParams(sig)
	a := &goAssign{dict: -1}
	homes, order := a.all(f, params)
	if !goAgrees(sig, params, homes) {
		for i := range homes {
			homes[i] = nowhere
		}
		order = false
	}
	if dicts := goInstances(m, f); a.dict >= 0 || len(dicts) > 0 {
		for _, list := range [][]symbol.Param{params, results} {
			for i := range list {
				list[i].Type = goReal(m, list[i].Type, dicts)
			}
		}
	}
	b := newBuilder(sig, o)
	b.order = goRegs
	var dict home
	if a.dict >= 0 && order {
		dict.add(place{source: source{kind: srcGPR, reg: goRegs[a.dict]}, size: 8})
		b.need(&dict)
	}
	for i := range params {
		b.need(&homes[i])
	}
	captured := goCaptured(sig)
	for i := range captured {
		b.need(&captured[i])
	}
	b.emitEnter()
	names := paramNames(&symbol.Signature{Params: params})
	if len(dict.places) > 0 {
		b.argument(goUnique("types", names), goDictionary, &dict)
	}
	for i := range params {
		b.argument(goName(names[i], "~p", "arg"), params[i].Type, &homes[i])
	}
	for i := range captured {
		c := &sig.Captured[i]
		b.argument(goUnique(c.Name, names), c.Type, &captured[i])
	}
	if len(results) > 0 { // of several that have names each is known by its own; else they go together, an error as well
		first := &results[0]
		named := len(results) > 1 && first.Name != "" && !strings.HasPrefix(first.Name, "~")
		b.secretResult = !named && (b.types.returnsSecret(f.Name, first.Type) || b.types.secret(first.Name, first.Type))
	}
	b.goResults(results, a.results(results), order)
	out.Plan, out.Layout = b.close()
	return out, nil
}

// goParams tells parameters from results. The compiler lists results of functions with defer twice.
func goParams(sig *symbol.Signature) (params, results []symbol.Param) {
	seen := map[string]bool{}
	for _, p := range sig.Params {
		switch {
		case p.Name == goDict: // told of unoptimised code only: all has it alike
		case !p.Result:
			params = append(params, p)
		case p.Name != "" && seen[p.Name]:
		default:
			seen[p.Name] = true
			results = append(results, p)
		}
	}
	return params, results
}

// goDict is what an instance of a generic function is given to know its types.
const goDict = ".dict"

// goCaptured is where a function has what it captured: RDX leads to that at its entry.
func goCaptured(sig *symbol.Signature) (homes []home) {
	for _, c := range sig.Captured {
		h := home{indirect: true, off: int32(c.Off)}
		h.add(place{source: source{kind: srcGPR, reg: ring.RegRDX}, size: 8})
		if sizeOf(goStrip(c.Type)) < 0 {
			h = nowhere
		}
		homes = append(homes, h)
	}
	return homes
}

// goUnique is the name of what was captured: what is called as a parameter is hidden by that.
func goUnique(name string, taken []string) string {
	for slices.Contains(taken, name) {
		name = "outer " + name
	}
	return name
}

// goName is what a parameter without a name is shown as.
func goName(name, prefix, instead string) string {
	if rest, ok := strings.CutPrefix(name, prefix); ok {
		return instead + rest
	}
	return name
}

// goAssign is the state of the assignment: registers that are taken, and bytes of stack.
type goAssign struct {
	ints, floats int
	stack        int64
	dict         int // the register, of ints, that an instance of a generic function has its dictionary in; -1: none
}

// all assigns parameters. ok: all of them have a known size.
func (a *goAssign) all(f *symbol.Function, params []symbol.Param) (homes []home, ok bool) {
	homes, ok = make([]home, len(params)), true
	dict := goDictAt(f.Name)
	for i := range params {
		if i == dict {
			a.dict = a.ints
			a.ints++
		}
		homes[i] = a.assign(params[i].Type)
		ok = ok && !homes[i].missing
	}
	if dict == len(params) { // none, or the receiver alone
		a.dict = a.ints
	}
	if !ok { // what comes behind it cannot be known
		for i := range homes {
			homes[i] = nowhere
		}
	}
	return homes, ok
}

// goDictAt is before which parameter an instance of a generic function is given its dictionary: a method behind its
// receiver. -1: it is none. What such a function has inside, F[…].func1, has it from there.
func goDictAt(name string) int {
	if !strings.Contains(name, "[go.shape.") {
		return -1
	}
	if strings.HasSuffix(name, "]") {
		return 0
	}
	at := strings.LastIndexAny(name, "])")
	method, ok := strings.CutPrefix(name[at+1:], ".")
	if !ok || strings.Contains(method, ".") {
		return -1
	}
	for _, made := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(method, made); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return -1
		}
	}
	return 1
}

// assign gives a value its place at the entry.
func (a *goAssign) assign(t *symbol.Type) home {
	size := sizeOf(goStrip(t))
	if t == nil || size < 0 {
		return nowhere
	}
	if size == 0 {
		return home{}
	}
	was := *a
	h := home{}
	if a.register(&h, t, 0, 0) {
		h.fill(size)
		return h
	}
	*a = was
	align := goAlign(t, 0)
	a.stack = (a.stack + align - 1) &^ (align - 1)
	h = home{}
	h.add(place{source: source{kind: srcStack, off: int32(a.stack)}, size: uint32(size)})
	a.stack += size
	if size > 1<<20 {
		return nowhere
	}
	return h
}

// fill adds the padding at a value's end.
func (h *home) fill(size int64) {
	have := int64(0)
	for _, p := range h.places {
		have += int64(p.size)
	}
	if size > have {
		h.add(place{size: uint32(size - have)})
	}
}

// register assigns a value that lies at off in the one at hand, all of it or, false, nothing that counts.
func (a *goAssign) register(h *home, t *symbol.Type, off int64, depth int) bool {
	s := goStrip(t)
	if s == nil || depth > maxTypeDepth {
		return false
	}
	size := sizeOf(s)
	switch s.Kind {
	case symbol.KindStruct:
		for _, f := range s.Fields() {
			if !a.register(h, f.Type, off+f.Off, depth+1) {
				return false
			}
		}
		return true
	case symbol.KindArray:
		return s.Count == 0 || s.Count == 1 && a.register(h, s.Elem(), off, depth+1)
	case symbol.KindBase:
		switch s.Encoding {
		case symbol.EncFloat:
			return a.float(h, off, size)
		case symbol.EncComplex:
			return a.float(h, off, size/2) && a.float(h, off+size/2, size/2)
		}
	case symbol.KindPointer, symbol.KindReference, symbol.KindFunction, symbol.KindEnum:
	default:
		return false
	}
	if size <= 0 || size > 8 || a.ints == len(goRegs) {
		return false
	}
	h.fill(off)
	h.add(place{source: source{kind: srcGPR, reg: goRegs[a.ints]}, size: uint32(size)})
	a.ints++
	return true
}

func (a *goAssign) float(h *home, off, size int64) bool {
	if size != 4 && size != 8 || a.floats == goFloats {
		return false
	}
	h.fill(off)
	h.add(place{source: source{kind: srcXMM, reg: uint8(a.floats)}, size: uint32(size)})
	a.floats++
	return true
}

// goStrip takes names off a type. A function is a pointer to what it captured.
func goStrip(t *symbol.Type) *symbol.Type {
	s := t.Strip()
	if s != nil && s.Kind == symbol.KindFunction {
		return goFunc
	}
	return s
}

// goFunc is how a function is passed.
var goFunc = symbol.MadePointer(nil)

func goAlign(t *symbol.Type, depth int) int64 {
	s := goStrip(t)
	if s == nil || depth > maxTypeDepth {
		return 8
	}
	switch s.Kind {
	case symbol.KindStruct:
		align := int64(1)
		for _, f := range s.Fields() {
			align = max(align, goAlign(f.Type, depth+1))
		}
		return align
	case symbol.KindArray:
		return goAlign(s.Elem(), depth+1)
	case symbol.KindBase:
		if s.Encoding == symbol.EncComplex {
			return s.Size / 2
		}
	}
	return min(max(sizeOf(s), 1), 8)
}

// results assigns what the function returns: registers anew, and stack behind that of the parameters.
func (a *goAssign) results(results []symbol.Param) []home {
	r := goAssign{stack: (a.stack + 7) &^ 7}
	homes := make([]home, len(results))
	for i := range results {
		homes[i] = r.assign(results[i].Type)
	}
	return homes
}

// goAgrees reports whether debug information has the parameters where the convention puts them, as far as it tells. It
// leaves out padding, so that registers are compared in their order. A parameter that it has in registers of others,
// wholly or in part, which those have by the convention, tells nothing: of one that the function sets to another
// (name = short, b = b[:n]) the compiler says so.
func goAgrees(sig *symbol.Signature, params []symbol.Param, homes []home) bool {
	fr := entryFrame(sig)
	told := make([][]place, len(params)) // registers, by debug information
	kept, strays := map[source]bool{}, []int{}
	for i := range params {
		p, h := &params[i], &homes[i]
		size := sizeOf(goStrip(p.Type))
		if p.Loc.Kind != symbol.LocEntry && p.Loc.Kind != symbol.LocExpr || h.missing || size <= 0 || len(p.Loc.Expr) == 0 {
			continue
		}
		l := evaluate(p.Loc.Expr, uint32(min(size, 1<<30)), fr)
		if l.missing || l.indirect || p.Loc.Kind == symbol.LocExpr && l.inFrame {
			continue
		}
		told[i] = slices.DeleteFunc(slices.Clone(l.places), func(q place) bool {
			return q.kind != srcGPR && q.kind != srcXMM
		})
		if !goInOrder(told[i], h.places) {
			strays = append(strays, i)
			continue
		}
		for _, q := range told[i] {
			kept[source{kind: q.kind, reg: q.reg}] = true
		}
	}
	for _, i := range strays {
		if slices.ContainsFunc(told[i], func(q place) bool {
			return !kept[source{kind: q.kind, reg: q.reg}] && !goInOrder([]place{q}, homes[i].places)
		}) {
			return false
		}
	}
	return true
}

// goInOrder reports whether registers are among others, in their order.
func goInOrder(some, all []place) bool {
	for _, q := range some {
		at := slices.IndexFunc(all, func(p place) bool { return p.kind == q.kind && p.reg == q.reg })
		if at < 0 {
			return false
		}
		all = all[at+1:]
	}
	return true
}

// goResults plans what is captured at a return: one value, or all of them as one of their own.
func (b *builder) goResults(results []symbol.Param, homes []home, known bool) {
	s := &b.exit
	if len(results) == 0 {
		s.begin(0)
		return
	}
	t, h := results[0].Type, homes[0]
	if b.secretResult {
		s.begin(0)
		b.lay.Ret = &value.Field{Name: "return", Type: b.types.redacted(t)}
		return
	}
	if len(results) > 1 {
		t, h = goTuple(results, homes)
	}
	f := value.Field{Name: "return", Type: b.types.of(t, b.depth)}
	gprs := 0
	wide := map[uint8]uint32{}
	lo, hi := int64(-1), int64(0)
	for _, p := range h.places {
		switch p.kind {
		case srcGPR:
			gprs = max(gprs, b.gprIndex(p.reg)+1)
		case srcXMM:
			wide[p.reg] = 8
		case srcStack:
			if lo < 0 || int64(p.off) < lo {
				lo = int64(p.off) &^ 7
			}
			hi = max(hi, int64(p.off)+int64(p.size))
		}
	}
	if h.missing || !known || hi-max(lo, 0) > maxStack {
		s.begin(0)
		f.Missing = true
		b.lay.Ret = &f
		return
	}
	s.begin(gprs)
	b.plan.ExitGPRs, b.lay.OnExit.GPRs = gprs, gprs
	for _, x := range sortedKeys(wide) {
		s.xmms[x] = s.fix(ring.Op{Code: ring.OpXMM, Src: x, Size: 8}, 8)
		b.plan.ExitVec = true
	}
	if lo >= 0 {
		n := uint32(hi-lo+7) &^ 7
		s.stack = s.fix(ring.Op{Code: ring.OpStack, Off: int32(lo), Size: n}, n)
	}
	for _, p := range h.places {
		f.Pieces = append(f.Pieces, b.exitPiece(p, lo))
	}
	b.lead(s, &f, t)
	b.lay.Ret = &f
}

func (b *builder) exitPiece(p place, lo int64) value.Piece {
	s := &b.exit
	out := value.Piece{Chunk: value.PieceMissing, Size: p.size}
	switch p.kind {
	case srcGPR:
		out.Chunk, out.Off = 0, uint32(b.gprIndex(p.reg)*8)+uint32(p.off)
	case srcXMM:
		out.Chunk, out.Off = s.xmms[p.reg], uint32(p.off)
	case srcStack:
		out.Chunk, out.Off = s.stack, uint32(int64(p.off)-lo)
	}
	return out
}

// goTuple puts several results together: by name where all have one, else as a list.
func goTuple(results []symbol.Param, homes []home) (*symbol.Type, home) {
	var fields []symbol.Field
	var all home
	end := int64(0)
	named := true
	for i := range results {
		named = named && results[i].Name != "" && !strings.HasPrefix(results[i].Name, "~")
	}
	for i := range results {
		size, align := max(sizeOf(goStrip(results[i].Type)), 0), goAlign(results[i].Type, 0)
		end = (end + align - 1) &^ (align - 1)
		all.fill(end)
		all.missing = all.missing || homes[i].missing
		name := fmt.Sprintf("__%d", i)
		if named {
			name = results[i].Name
		}
		fields = append(fields, symbol.Field{Name: name, Type: results[i].Type, Off: end})
		for _, p := range homes[i].places {
			all.add(p)
		}
		end += size
	}
	return symbol.MadeStruct("", fields, end), all
}
