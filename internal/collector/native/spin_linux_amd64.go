package native

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/spin"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

var _ collector.Spinner = (*Runtime)(nil)

const (
	maxSpinning = 8                      // threads that run or sleep; more are not looked at
	spinStop    = 400 * time.Millisecond // that a thread may take to stop: it may wait for a CPU
)

// spinning is one thread that is looked at.
type spinning struct {
	p     *process
	view  *snapshot.Process
	tid   int
	regs  ptrace.Regs
	lo    uint64
	stack []byte
	res   spin.Result
	th    emulate.Thread
	sys   *spin.System
	code  *goroutine.Program // nil: no program of Go
	rest  *goroutine.Rest    // it is no thread, but a goroutine that stands aside; tid is its negative number
	hooks []patch            // of the target's, in a session
	brief *ptrace.Briefly    // else
}

// Spin says of each thread that runs, or sleeps for a while, whether it will ever leave its loop. They stand for as
// long as that takes, some tens of milliseconds, and are not changed.
func (rt *Runtime) Spin(ctx context.Context, pids []int, root string, before any) ([]collector.Loop, any, error) {
	t := bareTarget(rt, &collector.Command{ProjectRoot: root, Glance: true}, nil)
	var all []*spinning
	var tids []int
	var resting []*spinning // Go programs with goroutines that stand aside
	for _, pid := range pids {
		p, err := newProcess(t, pid)
		if err != nil {
			if hasEnded(pid) {
				continue
			}
			return nil, nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		defer p.mem.Close()
		list, err := tasks(pid)
		if err != nil {
			continue
		}
		view, err := p.view()
		if err != nil {
			return nil, nil, err
		}
		var code *goroutine.Program
		if isGo(view) {
			var file *os.File
			if code, file, _ = goroutine.OfProcess(pid, p.mem, nil); file != nil {
				defer file.Close()
				if r := (&spinning{p: p, view: view, code: code}); len(r.goroutines()) > 0 {
					resting = append(resting, r)
					tids = append(tids, r.waitingThreads(list)...)
				}
			}
		}
		for _, tid := range list {
			if !p.mayRun(tid) {
				continue
			}
			if all = append(all, &spinning{p: p, view: view, tid: tid, code: code}); len(all) > maxSpinning {
				return nil, nil, nil
			}
			if !slices.Contains(tids, tid) {
				tids = append(tids, tid)
			}
		}
	}
	if len(all) == 0 && len(resting) == 0 || ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	var out []collector.Loop
	var after any
	err := ptrace.Brief(tids, spinStop, func(b *ptrace.Briefly) {
		for _, r := range resting {
			all = append(all, r.goroutines()...)
		}
		var running []int // others know how to go on with what was interrupted, and for how long
		for _, s := range all {
			if s.brief = b; s.rest == nil && slices.Contains(b.Stopped, s.tid) {
				running = append(running, s.tid)
			}
		}
		out, after = examine(all, func(s *spinning) bool { return slices.Contains(b.Stopped, s.tid) },
			len(b.Stopped) == len(tids), before)
		for _, tid := range running {
			ptrace.HideBriefly(tid)
		}
	})
	for i := range out {
		if out[i].Why != "" && err != nil {
			out[i].Why += ": " + err.Error()
		}
	}
	return out, after, nil
}

// examine looks at threads that stand. whole: all that should stand do.
func examine(all []*spinning, stands func(s *spinning) bool, whole bool, before any) (out []collector.Loop, after any) {
	all = slices.DeleteFunc(all, (*spinning).schedules)
	out = []collector.Loop{}
	for _, s := range all {
		if s.res.Why = "it could not be stopped"; s.rest != nil || stands(s) {
			s.prove(whole, len(all) == 1)
			s.doubt()
		}
	}
	was, _ := before.(*interplay)
	now := together(all, was)
	livelock := now != nil && now.back(all)
	for _, s := range all {
		out = append(out, s.loop())
	}
	if now == nil {
		return out, nil
	}
	for i := range out {
		if out[i].Endless {
			out[i].Between = now.who
			out[i].Livelock = livelock
		}
	}
	return out, now
}

// mayRun reports whether a thread runs, or waits for a time only.
func (p *process) mayRun(tid int) bool {
	switch taskState(p.pid, tid) {
	case 'R':
		return true
	case 'S':
		s := seen{p: p, thread: &waits.Thread{}}
		return s.setCall(readCall(p.pid, tid)) && spin.Sleeping(uint64(s.thread.Syscall), s.thread.Args)
	}
	return false
}

// prove runs a copy of the stopped thread on. all: nothing else of the processes runs; alone: nothing else could.
func (s *spinning) prove(all, alone bool) {
	s.leave(func(m *unwind.Module) bool { return m.Mod.Path == "[vdso]" })
	if s.attempt(all, alone); s.res.Unknown {
		// It may be amid a function of a library that uses what the CPU has: once it is out of that, calls of it are
		// answered.
		at := s.regs.Rip
		s.leave(func(m *unwind.Module) bool { return at >= m.Lo && at < m.Hi })
		s.attempt(all, alone)
	}
}

// attempt reads the thread's registers, and runs a copy of it on.
func (s *spinning) attempt(all, alone bool) {
	regs, vec, err := s.registers()
	if err != nil {
		s.res = spin.Result{Why: "its registers cannot be read"}
		return
	}
	s.regs = regs
	s.lo, s.stack = s.p.copyStack(regs.Rsp, make([]byte, stackBytes))
	if s.rest == nil && ptrace.Interrupted(&regs) {
		s.res = spin.Result{Why: "it is in a system call"}
		return
	}
	if !all {
		s.res = spin.Result{Why: "another thread could not be stopped"}
		return
	}
	if nr := int64(regs.Orig_rax); nr >= 0 && int64(regs.Rax) < 0 && int64(regs.Rax) >= -4095 {
		if !spin.Sleeping(uint64(nr), [6]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9}) {
			s.res = spin.Result{Why: "it is in a system call"}
			return
		}
		regs.Rax = 0 // it sleeps to the end
	}
	s.th = emulated(&regs, vec)
	if s.sys == nil {
		s.sys = &spin.System{Memory: s.memory(), Outer: s.outer(), Text: sync.OnceValue(s.text), Alone: alone}
	}
	s.res = spin.Prove(s.sys, &s.th)
}

// emulated is a thread for the interpreter.
func emulated(regs *ptrace.Regs, vec ptrace.Vectors) emulate.Thread {
	return emulate.Thread{RIP: regs.Rip, Flags: regs.Eflags, XMM: vec, FSBase: regs.Fs_base, GSBase: regs.Gs_base,
		Reg: [16]uint64{regs.Rax, regs.Rcx, regs.Rdx, regs.Rbx, regs.Rsp, regs.Rbp, regs.Rsi, regs.Rdi, regs.R8, regs.R9,
			regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15}}
}

// registers are the thread's.
func (s *spinning) registers() (regs ptrace.Regs, vec ptrace.Vectors, err error) {
	if s.rest != nil {
		r := ptrace.Regs{Rip: s.rest.PC, Rsp: s.rest.SP, Rbp: s.rest.BP, R14: uint64(s.rest.Addr), Orig_rax: ^uint64(0)}
		return r, vec, nil
	}
	if regs, err = ptrace.GetRegs(s.tid); err == nil {
		vec, err = ptrace.GetVectors(s.tid)
	}
	return regs, vec, err
}

// text finds the library's functions on texts and memory. Indirect ones are asked which of their forms they chose.
func (s *spinning) text() map[uint64]string {
	out := map[uint64]string{}
	for i := range s.view.Modules {
		m := &s.view.Modules[i]
		for _, name := range emulate.Textual() {
			a, _, ok := m.Mod.Symbol(name)
			if !ok {
				continue
			}
			at := uint64(a) + m.Bias
			if m.Mod.Indirect(name) {
				var err error
				if at, err = emulate.New(s.p.mem, s.regs.Fs_base, emulate.Limits{}).Call(at); err != nil {
					continue
				}
			}
			out[at] = name
		}
	}
	return out
}

// maxLeaving bounds the instructions that a thread is made to run to leave code that its copy cannot run: the vDSO,
// whose data cannot be read from outside and where most loops that look at the clock are met, and functions of a
// library that are written for one CPU.
const maxLeaving = 600

// leave steps the thread on while it is in a module.
func (s *spinning) leave(in func(m *unwind.Module) bool) {
	if s.p.t.tracer != nil || s.rest != nil { // a target's stops are not ours alone
		return
	}
	var m *unwind.Module
	for i := range s.view.Modules {
		if in(&s.view.Modules[i]) {
			m = &s.view.Modules[i]
		}
	}
	if m == nil {
		return
	}
	for range maxLeaving {
		regs, err := ptrace.GetRegs(s.tid)
		if err != nil || regs.Rip < m.Lo || regs.Rip >= m.Hi || int64(regs.Orig_rax) >= 0 && int64(regs.Rax) < 0 &&
			int64(regs.Rax) >= -4095 || !s.brief.Step(s.tid, spinStop) {
			return
		}
	}
}

// spinMemory is a process's memory that knows what others may change.
type spinMemory struct {
	unwind.Memory
	shared  []mapping
	patches []patch
}

// patch is what the program has where a hook stands.
type patch struct {
	addr uint64
	orig []byte
}

// patches are the places where hooks stand. Tracer thread only.
func (p *process) patches() (out []patch) {
	if p.hooks.Load() == nil {
		return nil
	}
	for _, h := range *p.hooks.Load() {
		if h == nil {
			continue
		}
		for _, s := range h.sites {
			if s.active {
				out = append(out, patch{s.addr, s.orig})
			}
		}
	}
	return out
}

func (m *spinMemory) Read(addr uint64, b []byte) error {
	if err := m.Memory.Read(addr, b); err != nil {
		return err
	}
	for _, p := range m.patches {
		if p.addr < addr+uint64(len(b)) && addr < p.addr+uint64(len(p.orig)) {
			for i, c := range p.orig {
				if at := p.addr + uint64(i) - addr; at < uint64(len(b)) {
					b[at] = c
				}
			}
		}
	}
	return nil
}

func (m *spinMemory) Outside(addr uint64) bool {
	return slices.ContainsFunc(m.shared, func(r mapping) bool { return addr >= r.lo && addr < r.hi })
}

func (s *spinning) memory() *spinMemory {
	m := &spinMemory{Memory: s.p.mem, patches: s.hooks}
	if text, err := mapsText(s.p.pid); err == nil {
		for _, r := range parseMaps(text) {
			if r.shared || strings.HasPrefix(r.path, "[vvar") {
				m.shared = append(m.shared, r)
			}
		}
	}
	return m
}

// outer are the vDSO's functions that tell the time.
func (s *spinning) outer() map[uint64]emulate.Outer {
	out := s.goOuter()
	for i := range s.view.Modules {
		m := &s.view.Modules[i]
		if m.Mod.Path != "[vdso]" {
			continue
		}
		for _, f := range m.Mod.Functions() {
			at := uint64(f.Low) + m.Bias
			switch strings.TrimPrefix(f.Name, "__vdso_") {
			case "clock_gettime":
				out[at] = emulate.Outer{Arg: 1, Bytes: 16}
			case "gettimeofday":
				out[at] = emulate.Outer{Arg: 0, Bytes: 16}
			case "time":
				out[at] = emulate.Outer{Arg: 0, Bytes: 8, Result: true}
			}
		}
	}
	return out
}

// maxLoopFunctions is how many functions of a loop are named.
const maxLoopFunctions = 8

// loop is what is told of the thread.
func (s *spinning) loop() collector.Loop {
	l := collector.Loop{PID: s.p.pid, ThreadID: s.tid, Endless: s.res.Endless, Why: s.res.Why, Sleeps: s.res.Sleeps,
		Length: s.res.Length}
	if s.regs.Rip == 0 {
		return l
	}
	var calls []uint64
	if s.code != nil && s.code.Has(s.regs.Rip) {
		calls = s.goStack(&l)
	} else {
		calls = s.stackOf(&l)
	}
	named := &lineSet{}
	for _, pc := range s.res.Places {
		scopes, _ := s.scopes(pc)
		for _, sc := range scopes {
			named.add(sc)
		}
	}
	l.Functions = named.functions(maxLoopFunctions)
	l.On = s.polled()
	l.Owner = s.owner(calls)
	return l
}

// stackOf is where the thread was met; it returns where the functions there begin, innermost first.
func (s *spinning) stackOf(l *collector.Loop) (calls []uint64) {
	u := unwind.New(&stackMemory{mem: s.p.mem, lo: s.lo, copy: s.stack}, s.view.Modules,
		unwind.Options{Stub: s.view.Stub, MaxFrames: maxThreadFrames})
	one := &seen{p: s.p, thread: &waits.Thread{PID: s.p.pid, TID: s.tid}}
	one.take(u.Walk(regsOf(&s.regs)), u)
	l.Backtrace = one.thread.Backtrace(s.view.Project)
	for i := range one.stack.Frames {
		_, low := s.scopes(one.stack.Frames[i].PC)
		calls = append(calls, low)
	}
	return calls
}

// scopes are the functions at an address, innermost first, and the first address of the one that is not inlined.
func (s *spinning) scopes(pc uint64) (scopes []symbol.Scope, low uint64) {
	if scopes, low, ok := s.goScopes(pc); ok {
		return scopes, low
	}
	for i := range s.view.Modules {
		m := &s.view.Modules[i]
		if pc < m.Lo || pc >= m.Hi {
			continue
		}
		f, _, ok := m.Mod.Lookup(symbol.Addr(pc - m.Bias))
		if ok {
			low = uint64(f.Low) + m.Bias
		}
		if scopes = m.Mod.InlinedAt(symbol.Addr(pc - m.Bias)); len(scopes) == 0 && ok {
			scopes = []symbol.Scope{{Function: f.Name}}
		}
		return scopes, low
	}
	return nil, 0
}

// owner is the function that has the whole loop: of the outermost frame with code in it, the innermost of the functions
// inlined there that all of that code belongs to.
func (s *spinning) owner(calls []uint64) *collector.LoopFunction {
	chains := map[uint64][][]symbol.Scope{} // by the function that is not inlined
	for _, pc := range s.res.Places {
		if scopes, low := s.scopes(pc); len(scopes) > 0 {
			chains[low] = append(chains[low], scopes)
		}
	}
	for _, low := range slices.Backward(calls) {
		all := chains[low]
		if len(all) == 0 {
			continue
		}
		depth := 0
		for common(all, depth+1) {
			depth++
		}
		lines := &lineSet{}
		for _, c := range all {
			lines.add(c[len(c)-1-depth])
		}
		return &lines.functions(1)[0]
	}
	return nil
}

// common reports whether chains have the same function at a depth from outside.
func common(all [][]symbol.Scope, depth int) bool {
	for _, c := range all {
		if len(c) <= depth || c[len(c)-1-depth].Function != all[0][len(all[0])-1-depth].Function {
			return false
		}
	}
	return true
}

// lineSet gathers the lines of functions, in the order in which they come.
type lineSet struct{ list []collector.LoopFunction }

func (l *lineSet) add(sc symbol.Scope) {
	i := slices.IndexFunc(l.list, func(f collector.LoopFunction) bool {
		return f.Name == sc.Function && f.File == sc.File
	})
	if i < 0 {
		l.list = append(l.list, collector.LoopFunction{Name: sc.Function, File: sc.File, First: sc.Line, Last: sc.Line})
		return
	}
	f := &l.list[i]
	f.First, f.Last = min(f.First, sc.Line), max(f.Last, sc.Line)
}

func (l *lineSet) functions(most int) []collector.LoopFunction {
	return l.list[:min(len(l.list), most)]
}
