package native

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exception"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// With the pattern @exceptions an int3 stands at the functions of the C++ and Rust runtimes that throw and catch.
// Whoever meets it is stopped for as long as it takes to read the exception, and goes on at the displaced instruction.
// An exception costs microseconds anyway, and what() can be known in no other way than by running it, which must not
// happen in the program.

// throwKind is which of those functions this is.
type throwKind uint32

const (
	throwNone        throwKind = iota
	throwCxx                   // __cxa_throw(object, type, destructor)
	throwAgain                 // __cxa_rethrow()
	throwPointer               // std::rethrow_exception(exception_ptr), by reference
	throwPrimary               // __cxa_rethrow_primary_exception(object)
	throwCatch                 // __cxa_begin_catch(unwind exception)
	throwPanic                 // std::panicking::panic_with_hook(payload, vtable, location)
	throwPanicAgain            // std::panicking::resume_unwind(payload, vtable)
	throwPanicCaught           // std::panicking::catch_unwind::cleanup(exception)
)

// hookException marks the own hook of an exception function; its index is the kind.
const hookException = 1 << 17

// throwFunction is a function of a runtime in one module.
type throwFunction struct {
	kind throwKind
	addr symbol.Addr
	size uint64
}

// libstdc++'s function; libc++'s is a wrapper of __cxa_rethrow_primary_exception.
const rethrowException = "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"

// throwFunctions finds the functions of a module that throw and catch. Only a module that has all of a runtime counts:
// AddressSanitizer has a __cxa_throw of its own, which calls the real one.
func throwFunctions(mod *symbol.Module) (out []throwFunction) {
	add := func(kind throwKind, name string) bool {
		a, size, ok := mod.Symbol(name)
		if ok {
			out = append(out, throwFunction{kind, a, size})
		}
		return ok
	}
	if add(throwCatch, "__cxa_begin_catch") {
		if !add(throwCxx, "__cxa_throw") {
			return nil
		}
		add(throwAgain, "__cxa_rethrow")
		if !add(throwPointer, rethrowException) {
			add(throwPrimary, "__cxa_rethrow_primary_exception")
		}
	} else {
		add(throwPointer, rethrowException)
	}
	for fns, i := mod.Functions(), 0; i < len(fns); i++ {
		if fns[i].Language != symbol.LangRust {
			continue
		}
		if kind := rustThrow(fns[i].Name); kind != throwNone {
			out = append(out, throwFunction{kind, fns[i].Low, fns[i].Size()})
		}
	}
	return out
}

// rustThrow knows the names of the standard library's functions, of several versions.
func rustThrow(name string) throwKind {
	switch name {
	case "std::panicking::panic_with_hook", "std::panicking::rust_panic_with_hook":
		return throwPanic
	case "std::panicking::resume_unwind", "std::panicking::rust_panic_without_hook":
		return throwPanicAgain
	case "std::panicking::catch_unwind::cleanup", "std::panicking::try::cleanup":
		return throwPanicCaught
	}
	return throwNone
}

// exceptionsWanted reports whether a pattern asks for exceptions. probeMu is held.
func (t *target) exceptionsWanted() bool {
	return slices.ContainsFunc(t.probes, func(pr probe) bool { return pr.pat.Exceptions() })
}

// exceptionHooks makes the hooks of all modules' exception functions and returns them; nothing is patched yet. Without
// the pattern, those are where the program's own panics go through. probeMu is held.
func (t *target) exceptionHooks(ctx context.Context, p *process) ([]*hooked, error) {
	old := p.exceptionHooksMade()
	var all []*hooked
	var mods []unwind.Module
	every, silent := t.exceptionsSeen(), !t.exceptionsWanted()
	for i, m := range p.modules {
		if !every && i > 0 {
			break
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		mods = append(mods, unwind.Module{Mod: mod, Bias: m.bias, Lo: m.lo, Hi: m.hi})
		for _, f := range t.throwFunctionsOf(mod) {
			if !every && f.kind != throwPanic {
				continue
			}
			addr := uint64(f.addr) + m.bias
			h := old[addr]
			if h == nil {
				if h, err = p.exceptionHook(ctx, m, f); err != nil {
					t.warn(fmt.Sprintf("exceptions in %s are not recorded: 0x%x %v", m.path, addr, err))
					continue
				}
			}
			all = append(all, h)
		}
	}
	if have := p.throws.Load(); have == nil || have.silent != silent || !slices.Equal(have.mods, mods) {
		st := newThrowState(mods)
		st.silent = silent
		p.throws.Store(st)
	}
	return all, nil
}

// exceptionHooksMade are the hooks of exception functions by address, also those that are out of place.
func (p *process) exceptionHooksMade() map[uint64]*hooked {
	made := map[uint64]*hooked{}
	for _, h := range *p.hooks.Load() {
		if h != nil && h.own != nil && h.own.flags == hookException && p.unwindID[h.own.addr] {
			made[h.own.addr] = h
		}
	}
	return made
}

// throwFunctionsOf is throwFunctions, which looks at each module once.
func (t *target) throwFunctionsOf(mod *symbol.Module) []throwFunction {
	t.fnMu.Lock()
	found, ok := t.throwFns[mod]
	t.fnMu.Unlock()
	if !ok {
		found = throwFunctions(mod)
		t.fnMu.Lock()
		t.throwFns[mod] = found
		t.fnMu.Unlock()
	}
	return found
}

// exceptionHook makes the hook of one function: an int3 that leads to the displaced instructions.
func (p *process) exceptionHook(ctx context.Context, m *loaded, f throwFunction) (*hooked, error) {
	addr := uint64(f.addr) + m.bias
	code, pad := ownCode(m.mod, f.addr, f.size)
	an := hook.Analyze(code, hook.Addr(addr), pad, hook.Options{})
	if an.Patch == hook.PatchNone {
		return nil, fmt.Errorf("cannot be patched: %s", an.Reason)
	}
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, 256)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	id := uint32(len(*p.hooks.Load()))
	w := &stubWriter{p: p, a: a, at: a.next}
	stub, err := w.add(hook.Spec{Kind: hook.EnterOnly, ID: id, Code: code, Analysis: &an,
		EnterSlot: a.slot(slotEnterOnly)})
	if err != nil {
		return nil, err
	}
	to := uint64(stub.Relocated)
	s := &site{addr: uint64(an.Site()), patch: []byte{int3}, orig: make([]byte, 1), to: to, behind: to, throw: f.kind}
	h := &hooked{id: id, sites: []*site{s}, own: &ownHook{hookException, uint32(f.kind), addr}}
	p.unwindID[addr] = true
	w.hooks = append(w.hooks, h)
	return h, w.flush()
}

// exceptionSites adds what @exceptions needs to a change of hooks, and takes out of want the functions that are its
// own. It reports whether exceptions are recorded. probeMu is held.
func (t *target) exceptionSites(ctx context.Context, p *process, want map[*hooked]bool) error {
	hooks, err := t.exceptionHooks(ctx, p)
	if err != nil {
		return err
	}
	at := map[uint64]bool{}
	for _, h := range hooks {
		want[h] = true
		at[h.sites[0].addr] = true
	}
	for h := range want {
		if h.fn != nil && slices.ContainsFunc(h.sites, func(s *site) bool { return at[s.addr] }) {
			if !t.exceptionsSeen() { // what was asked for goes before what was not
				for _, own := range hooks {
					delete(want, own)
				}
				return nil
			}
			delete(want, h)
			t.warn(fmt.Sprintf("%s is not traced while @exceptions is, or a breakpoint there: it is where exceptions are seen",
				h.fn.sym.Name))
		}
	}
	return nil
}

// countExceptions says what became of @exceptions. probeMu is held.
func (t *target) countExceptions() (hooks int, warning string) {
	seen := map[*symbol.Module]bool{}
	for _, p := range t.processes() {
		for _, h := range *p.hooks.Load() {
			if h != nil && h.active() && (h.own != nil && h.own.flags == hookException || h.fn != nil && h.fn.want.panics != 0) {
				hooks++
			}
		}
		for _, m := range p.modules {
			seen[m.mod] = true
		}
	}
	if hooks == 0 && len(seen) > 0 {
		warning = fmt.Sprintf("@exceptions: none of %d modules has a C++ or Rust runtime by its symbols (__cxa_throw, "+
			"std::panicking); a stripped static program does not show them", len(seen))
	}
	return hooks, warning
}

// eventsOfStop bounds the events of one stop: the CPU has four debug registers.
const eventsOfStop = 4

// maxPending bounds the events that wait for the drain goroutine, which looks every few milliseconds.
const maxPending = 1 << 16

// pendingEvent is an event that the tracer made, in the clock of the records it belongs among.
type pendingEvent struct {
	at uint64 // ticks
	e  event.Event
}

// pend hands an event to the drain goroutine, which puts it among the calls. Tracer thread only.
func (t *target) pend(at uint64, e event.Event) {
	t.pendMu.Lock()
	defer t.pendMu.Unlock()
	if len(t.pending) >= maxPending {
		t.pendLost++
		return
	}
	t.pending = append(t.pending, pendingEvent{at, e})
}

// mayPend reports whether there is room for the events of a stop. Tracer thread only.
func (t *target) mayPend() bool {
	t.pendMu.Lock()
	defer t.pendMu.Unlock()
	return len(t.pending) < maxPending-eventsOfStop
}

// takePending gets what was handed over so far: at a round's beginning, before the rings are swept, so that what each
// thread had recorded before is in the spool then.
func (t *target) takePending() (events []pendingEvent, lost int64) {
	t.pendMu.Lock()
	defer t.pendMu.Unlock()
	events, lost = t.pending, t.pendLost
	t.pending, t.pendLost = nil, 0
	return events, lost
}

// putPending puts the exceptions up to a moment among the events.
func (d *drainer) putPending(until uint64) int {
	n := 0
	for ; n < len(d.pending) && d.pending[n].at <= until; n++ {
		e := d.pending[n].e
		e.TS = d.ts(d.pending[n].at)
		d.events = append(d.events, e)
	}
	d.pending = slices.Delete(d.pending, 0, n)
	return n
}

// dropPending says that exceptions came faster than they could be stored.
func (d *drainer) dropPending(lost int64) {
	b, err := json.Marshal(map[string]any{"count": lost, "what": "exceptions",
		"reason": "they came faster than they could be stored"})
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: d.t.sink.Now(), Kind: event.Dropped, Thread: event.NoThread, Payload: b})
	d.t.sink.Dropped(lost)
}

// restPending is the end of a round: where no calls are left to read, all exceptions are put.
func (d *drainer) restPending(lost int64) int {
	n := 0
	if len(d.active) == 0 && !d.stuck {
		n = d.putPending(math.MaxUint64)
	}
	if lost > 0 {
		d.dropPending(lost)
	}
	return n
}

// lastPending delivers what was handed over while a process ended.
func (d *drainer) lastPending() {
	more, lost := d.t.takePending()
	if d.pending = append(d.pending, more...); len(d.pending) == 0 && lost == 0 {
		return
	}
	d.active, d.events, d.stuck = d.active[:0], d.events[:0], false
	d.restPending(lost)
	d.t.sink.Events(d.events)
}

// throwState is what is known of a process's modules for reading exceptions. Tracer thread only, but for mods.
type throwState struct {
	mods   []unwind.Module
	files  *exception.Modules
	places map[uint64]throwPlace
	thrown map[uint64]*thrown // by object
	panics map[int][]*thrown  // by thread, the newest last
	ended  map[int]bool       // threads whose exception nobody caught
	silent bool               // nobody asked: panics are seen for the sake of their end
}

func newThrowState(mods []unwind.Module) *throwState {
	return &throwState{mods: mods, files: exception.NewModules(mods), places: map[uint64]throwPlace{},
		thrown: map[uint64]*thrown{}, panics: map[int][]*thrown{}, ended: map[int]bool{}}
}

// forked is what a child begins with: the same code, and what was on its way in its parent's only thread. st may be
// nil.
func (st *throwState) forked() *throwState {
	if st == nil {
		return nil
	}
	c := newThrowState(st.mods)
	c.silent = st.silent
	maps.Copy(c.thrown, st.thrown)
	c.places = maps.Clone(st.places)
	return c
}
