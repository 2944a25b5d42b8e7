package native

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// function is one function of one file as it will be hooked, at link-time addresses. Shared by all processes of a
// session.
type function struct {
	sym      *symbol.Function
	mod      *symbol.Module
	want     want
	code     []byte
	analysis hook.Analysis
	plan     *capture.Function
	kind     hook.Kind
	rets     bool        // EnterOnly: exits by int3 at each ret and tail call
	parts    []part      // EnterOnly: where those are
	planErr  error       // what was wrong with its debug information
	reason   string      // why it cannot be hooked; then nothing else is valid
	golang   *goFunction // of a function of Go's; analysis is not valid then

	// How the collector makes event.Ret.
	retSize   int
	retSigned bool
	retScalar bool
	retAlone  bool  // the whole exit payload is that word
	codeStep  uint8 // payloads hold addresses of code, which get names: value.Layout.CodeStep

	redacted [2]int // secrets that a call leaves out, at its enter and at its exit

	planned atomic.Int64 // calls, of want.planned

	whole sync.Once // the plan's layout
	once  sync.Once
	id    event.FuncID
	fame  *fame // never nil
}

// Functions that return twice, or on another stack, or have no caller: a frame of ours below them would be
// returned into when it is gone.
var noFrame = map[string]string{
	"setjmp": "returns twice", "_setjmp": "returns twice", "sigsetjmp": "returns twice", "__sigsetjmp": "returns twice",
	"vfork": "returns twice", "__vfork": "returns twice", "getcontext": "returns twice", "savectx": "returns twice",
	"clone": "returns on another stack", "__clone": "returns on another stack", "clone3": "returns on another stack",
	"__clone3": "returns on another stack",
	"_start":   "is the program's entry point, which has no caller", "__restore_rt": "is entered by the kernel",
	"__fentry__": "has a calling convention of its own",
	"mcount":     "has a calling convention of its own", "_mcount": "has a calling convention of its own",
}

// maxTableBytes is how much is read for one table of a switch.
const maxTableBytes = 64 << 10

// analysisOptions is what is known of a module's code, for functions of it.
func analysisOptions(mod *symbol.Module, targets []hook.Addr) hook.Options {
	return hook.Options{
		Targets: targets,
		Data:    func(a hook.Addr) []byte { return mod.Constants(symbol.Addr(a), maxTableBytes) },
		InCode:  func(a hook.Addr) bool { return mod.IsCode(symbol.Addr(a)) },
	}
}

// compile decides how a function is hooked and what is recorded of it.
func compile(mod *symbol.Module, f *symbol.Function, w want, pad int, targets []hook.Addr,
	o capture.Options) *function {
	fn := &function{sym: f, mod: mod, want: w}
	if why, no := noFrame[f.Raw]; no {
		fn.reason = "cannot be hooked safely: it " + why
		return fn
	}
	if f.Ifunc {
		fn.reason = "is an indirect function's resolver, which runs before the program is relocated"
		return fn
	}
	if onGoroutine(mod, f) {
		fn.compileGo(pad, o)
		return fn
	}
	code, err := mod.BytesAt(f.Low, int(f.Size())+pad)
	if err != nil {
		pad = 0
		code, err = mod.Code(f)
	}
	if err != nil || len(code) == 0 {
		fn.reason = "its code is not in the file"
		return fn
	}
	fn.code = code
	fn.analysis = hook.Analyze(code, hook.Addr(f.Low), pad, analysisOptions(mod, targets))
	if fn.analysis.Patch == hook.PatchNone {
		fn.reason = fn.analysis.Reason
		return fn
	}
	if r := mod.EntryRule(f.Low); r.Known && r.Signal {
		fn.reason = "is entered by the kernel, to return from a signal handler"
		return fn
	}
	fn.plan, fn.planErr = capture.Compile(mod, f, o) // usable also with an error
	fn.kind = hook.CallThrough
	if fn.needsNoFrame() {
		fn.kind, fn.rets = hook.EnterOnly, true
		fn.parts = partsOf(mod, code, fn.analysis)
	}
	return fn
}

// ready makes the function's layout whole, once, when something of it is seen. It returns fn.
func (fn *function) ready() *function {
	fn.whole.Do(func() {
		if fn.plan != nil {
			fn.plan.Complete()
			fn.settleResult()
		}
	})
	return fn
}

// allReady makes all layouts whole, by the descriptions of types that held when the plans were made.
func (t *target) allReady() {
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for _, fn := range t.functions {
		fn.ready()
	}
}

// settleResult notes what the plan says of the result.
func (fn *function) settleResult() {
	fn.retSize, fn.retSigned, fn.retScalar = fn.plan.Layout.ScalarRet()
	fn.codeStep = fn.plan.Layout.CodeStep()
	fn.redacted = [2]int{fn.plan.Layout.Redacted(false), fn.plan.Layout.Redacted(true)}
	fn.retAlone = fn.retScalar && fn.codeStep == 0 && fn.plan.Plan.ExitGPRs == 1 && len(fn.plan.Plan.Exit) == 0
}

// onGoroutine reports whether a function may run on a goroutine's stack, which ends a few hundred bytes below any
// moment's stack pointer. C code that a Go program calls runs on a thread's own.
func onGoroutine(mod *symbol.Module, f *symbol.Function) bool {
	if !mod.Go {
		return false
	}
	switch f.Language {
	case symbol.LangC, symbol.LangCPP, symbol.LangRust:
		return false
	}
	return true
}

// needsNoFrame reports whether a frame below the function could change what it does: hand-written code that does not
// keep to the calling convention. Exported functions keep to it, because anybody may call them.
func (fn *function) needsNoFrame() bool {
	if fn.analysis.UsesReturn || !fn.plan.FrameSafe {
		return true
	}
	if r := fn.mod.EntryRule(fn.sym.Low); r.Known && !r.CallFrame {
		return true
	}
	if fn.sym.HasDWARF && fn.sym.Language != symbol.LangAsm {
		return false
	}
	return !exported(fn.mod, fn.sym)
}

// eventFunction is how the timeline names it.
func (fn *function) eventFunction() event.Function {
	name, raw := publicName(fn.sym)+fn.sym.CoroutinePart(), fn.sym.Raw
	if raw == name {
		raw = ""
	}
	return event.Function{Name: name, Raw: raw, File: fn.sym.File, Line: fn.sym.Line, Module: fn.mod.Path,
		Language: string(fn.sym.Language), Layout: fn.plan.Layout.Marshal(), Code: fn.codeStep}
}

// register gives the function its ID in the session.
func (fn *function) register(sink collector.Sink) event.FuncID {
	fn.once.Do(func() { fn.id = sink.Function(fn.ready().eventFunction()) })
	return fn.id
}

// ret normalizes the result word of an exit's payload.
func (fn *function) ret(word int64) int64 { return value.Normalize(word, fn.retSize, fn.retSigned) }

type functionKey struct {
	mod  *symbol.Module
	low  symbol.Addr
	want want // zero where it is the function that matters, however it is recorded
}

// want is how a function is recorded.
type want struct {
	depth   int
	given   bool // the depth was asked for
	out     bool
	planned bool   // calls are counted and not delivered
	watches string // labels and expressions, each behind a NUL

	panics    uint8 // of goPanic: panicsAside or panicsToo
	golang    goSeen
	described int // generation of the user's descriptions of types
}

// options are what the compiler of plans makes of it. modules are where a watch's variables are looked for.
func (w want) options(walks *capture.Walks, modules []*symbol.Module) capture.Options {
	o := capture.Options{Depth: w.depth, Walks: walks, Out: w.out, Modules: modules}
	parts := strings.Split(w.watches, "\x00")
	for i := 1; i+1 < len(parts); i += 2 {
		o.Watches = append(o.Watches, capture.Watch{Label: parts[i], Expr: parts[i+1]})
	}
	return o
}

// planAlone is how many functions compiled at once get their layouts only when they are called.
const planAlone = 500

// compileAll compiles functions on all CPUs, using what was compiled before.
func (t *target) compileAll(mod *symbol.Module, fns []symbol.Function, wanted map[int]want,
	modules []*symbol.Module) []*function {
	out := make([]*function, 0, len(wanted))
	type job struct {
		i, pad int
		want   want
		at     int
	}
	var jobs []job
	t.fnMu.Lock()
	for i, w := range wanted {
		if f := t.functions[functionKey{mod, fns[i].Low, w}]; f != nil {
			out = append(out, f)
			continue
		}
		pad := 0
		if i+1 < len(fns) && fns[i+1].Low > fns[i].High {
			pad = int(min(fns[i+1].Low-fns[i].High, 64))
		}
		jobs = append(jobs, job{i: i, want: w, pad: pad, at: len(jobs)})
	}
	t.fnMu.Unlock()
	made := make([]*function, len(jobs))
	var targets []hook.Addr
	if len(jobs) > 0 {
		targets = jumpTargets(mod)
	}
	onAllCPUs(len(jobs), func(k int) {
		w := jobs[k].want
		o := w.options(t.walks, modules)
		o.PlanAlone = len(jobs) > planAlone
		made[k] = compile(mod, &fns[jobs[k].i], w, jobs[k].pad, targets, o)
	})
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for k, f := range made {
		f.fame = t.fames.of(functionKey{mod: mod, low: f.sym.Low})
		t.functions[functionKey{mod, fns[jobs[k].i].Low, jobs[k].want}] = f
		out = append(out, f)
	}
	return out
}

// compiled reports whether functions of a file have been compiled as they are wanted.
func (t *target) compiled(mod *symbol.Module, wanted map[int]want) bool {
	fns := mod.Functions()
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	for i, w := range wanted {
		if t.functions[functionKey{mod, fns[i].Low, w}] == nil {
			return false
		}
	}
	return true
}

// onAllCPUs calls fn for 0 to n-1, on several goroutines where that pays.
func onAllCPUs(n int, fn func(k int)) {
	var wg sync.WaitGroup
	workers := min(runtime.NumCPU(), n/64+1)
	for w := range workers {
		wg.Go(func() {
			for k := w; k < n; k += workers {
				fn(k)
			}
		})
	}
	wg.Wait()
}

type jumpsKey struct{}

// jumpTargets returns, in ascending order, where hand-written functions of a file jump to outside themselves: such a
// place inside the first bytes of another function must not be overwritten. Compilers make no such jumps, so functions
// with debug information in another language than assembler are not read.
func jumpTargets(mod *symbol.Module) []hook.Addr {
	return mod.Memo(jumpsKey{}, func() any { return findJumps(mod) }).([]hook.Addr)
}

func findJumps(mod *symbol.Module) []hook.Addr {
	fns := mod.Functions()
	found := make([][]hook.Addr, len(fns))
	onAllCPUs(len(fns), func(k int) {
		if fns[k].HasDWARF && fns[k].Language != symbol.LangAsm {
			return
		}
		if code, err := mod.Code(&fns[k]); err == nil && len(code) > 0 {
			a := hook.Analyze(code, hook.Addr(fns[k].Low), 0, hook.Options{})
			found[k] = a.Jumps
		}
	})
	list := slices.Concat(found...)
	slices.Sort(list)
	return slices.Compact(list)
}
