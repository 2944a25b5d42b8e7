package snapshot

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/exception"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

// Death is how a process comes to its end, as far as the kernel tells.
type Death struct {
	Signal *Signal // that ends it; nil: it ends by exiting
	Thread *Thread // that receives the signal, or exits
	Others []*Thread
	// Caught is a signal that the thread's handler took before, nil for none. It is what ended the process if its
	// handler has not returned.
	Caught *Caught
	// Alive says that nothing ends the process: it was looked at while it ran.
	Alive bool
	// Panics says that the thread begins to panic (Rust), which may end the process.
	Panics bool
	// Panic is what the thread's last panic said, where it exits: it may do so in the program's own panic hook.
	Panic string
}

// Caught is a signal as a handler took it.
type Caught struct {
	Signal Signal
	Thread Thread // as it was interrupted
	// Where the process ends without a signal of its handler's thread that is a crash itself:
	EndedBy int  // the signal that ends it, 0: it exits
	Waits   bool // another thread or process ends it, while the handler waits
}

// Limits of a crash event.
const (
	headFrames   = 32 // frames shown at either end of a stack
	tailFrames   = 16
	otherFrames  = 16
	maxOthers    = 64
	maxWalked    = 256 // other threads whose stacks are walked
	placeDepth   = 3   // pointers followed of values where the program crashed
	callerDepth  = 2   // and of its callers'
	manyAlike    = 20  // frames of one function that are called recursion
	maxPlaceJSON = 4 << 10
	maxNested    = 8
)

// Crash describes why a process dies; nil where it only exits, and no signal has to do with it. What a sanitizer ends
// has neither signal nor class: the report that it wrote has.
func (p *Picture) Crash(d *Death) *crash.Crash {
	stack, u := p.Stack(p.atTrap(d))
	c := &crash.Crash{Fatal: true}
	sig, th, from := d.Signal, d.Thread, 0
	if at := p.caughtBelow(&stack, d.Caught); at > 0 {
		c.Handler = p.handler(stack.Frames[:at])
		c.EndedBy = p.endOfHandler(d)
		sig, from = &d.Caught.Signal, at
		th = &Thread{TID: d.Thread.TID, Name: d.Thread.Name, Regs: d.Caught.Thread.Regs, FS: d.Thread.FS}
	} else if d.sentAgain() {
		sig, c.EndedBy = &d.Caught.Signal, "the handler sent "+sig.Name()+" again"
	}
	var f fault
	switch {
	case d.Alive:
		f, c.Fatal = fault{class: classAlive, words: "the process did not crash: a debugger wrote the core while it ran"},
			false
	case d.Panics:
	case sig == nil:
		from = checked(stack.Frames)
		if from == 0 && d.Panic != "" {
			from = slices.IndexFunc(stack.Frames, func(f unwind.Frame) bool { return exception.CallsHook(f.Function) })
			f, c.EndedBy = fault{class: classPanic, words: "panic: " + d.Panic}, "the panic hook ended the process"
			c.Handler = p.handler(stack.Frames[:max(from, 0)])
		} else if at := exception.Ending(&stack); from == 0 && at > 0 {
			from, f = at, fault{class: classTerminate, words: "std::terminate was called without an exception"}
			c.EndedBy, c.Handler = "the terminate handler ended the process", p.handler(stack.Frames[:at])
		}
		if from <= 0 { // it only exits
			return nil
		}
		th = &Thread{TID: th.TID, Name: th.Name, Regs: stack.Frames[from].Regs, FS: th.FS}
	default:
		f = p.explain(sig, th)
		c.Signal, c.Code = sig.Name(), sig.codeName()
	}
	c.Class, c.Reason, c.Access = f.class, f.words, f.access
	if f.has {
		c.FaultAddress = crash.Address(f.addr)
	}
	c.Registers = registers(&th.Regs)
	inner := stack
	if c.Class != classTerminate { // of that, the frames between say why
		inner.Frames = stack.Frames[from:]
	}
	if p.thrown(c, &inner, th); c.Class == classPanic {
		c.ExceptionMessage = d.Panic
	}
	p.stackOf(c, u, &stack, from)
	p.others(c, d.Others)
	return c
}

// atTrap returns the thread that receives a signal: of a breakpoint instruction, where that is, since the processor
// stops behind it, which may be another line.
func (p *Picture) atTrap(d *Death) *Thread {
	pc, ok := d.Thread.Regs.Get(16)
	var b [1]byte
	if d.Signal == nil || d.Signal.Number != sigTRAP || !d.Signal.raised() || !ok || p.Mem.Read(pc-1, b[:]) != nil ||
		b[0] != 0xcc {
		return d.Thread
	}
	at := *d.Thread
	at.Regs.Set(16, pc-1)
	return &at
}

// thrown adds the exception that is in flight in the crashed thread, if there is one.
func (p *Picture) thrown(c *crash.Crash, stack *unwind.Stack, th *Thread) {
	e, ok := exception.InFlight(p.Mem, p.Modules, stack, th.FS)
	if !ok || e.Type == "" {
		return
	}
	c.ExceptionType, c.ExceptionMessage, c.ThrownAt = e.Type, e.Message, (*crash.Place)(e.ThrowPoint)
	for n := e.Nested; n != nil && len(c.Nested) < maxNested; n = n.Nested {
		c.Nested = append(c.Nested, n.Text())
	}
	if c.Class != classAbort && c.Class != classTerminate {
		return
	}
	what := e.Type
	if e.Message != "" {
		what += ": " + e.Message
	}
	switch e.State {
	case exception.Uncaught:
		c.Class, c.Reason = classException, "uncaught exception "+what
	case exception.Terminate:
		c.Class, c.Reason = classException, "exception "+what+
			" was about to leave a function that may not throw (noexcept, or a destructor)"
	}
}

// handler is the frames of a handler as lines.
func (p *Picture) handler(frames []unwind.Frame) (lines []string) {
	for i := range frames {
		if i == headFrames {
			return append(lines, fmt.Sprintf("… %d more", len(frames)-i))
		}
		f := p.Frame(&frames[i])
		lines = append(lines, f.Text())
	}
	return lines
}

// endOfHandler says how a process ended whose handler had not returned.
func (p *Picture) endOfHandler(d *Death) string {
	by := Signal{Number: d.Caught.EndedBy}
	words := "the handler ended the process"
	switch {
	case d.Signal != nil && d.Signal.raised():
		return words + " by " + d.Signal.Name() + ", a fault of its own: " + p.explain(d.Signal, d.Thread).words
	case d.Signal != nil:
		by = *d.Signal
	case d.Caught.Waits:
		words = "the process was ended while the handler waited"
	}
	if by.Number != 0 {
		words += " by " + by.Name()
	}
	return words
}

// sentAgain reports a signal that its own handler sent: it comes when the handler returns, to where the thread was
// interrupted.
func (d *Death) sentAgain() bool {
	if d.Caught == nil || d.Signal == nil || d.Signal.raised() || d.Signal.Number != d.Caught.Signal.Number ||
		d.Signal.Sender != "" {
		return false
	}
	for _, r := range []int{7, 16} {
		now, ok := d.Thread.Regs.Get(r)
		if then, same := d.Caught.Thread.Regs.Get(r); !ok || !same || now != then {
			return false
		}
	}
	return true
}

// caughtBelow returns the index of the frame that a signal interrupted, when its handler is still running; 0 if not.
func (p *Picture) caughtBelow(s *unwind.Stack, c *Caught) int {
	if c == nil {
		return 0
	}
	pc, _ := c.Thread.Regs.Get(16)
	sp, _ := c.Thread.Regs.Get(7)
	for i := 1; i < len(s.Frames); i++ {
		f := &s.Frames[i]
		fpc, _ := f.Regs.Get(16)
		fsp, _ := f.Regs.Get(7)
		if s.Frames[i-1].Signal && (fsp == sp && fpc == pc || p.ours(pc) && fsp >= sp && fsp-sp < stubStack) {
			return i
		}
	}
	return 0
}

// stubStack bounds the stack that a hook's frames take, which stacks do not show.
const stubStack = 16 << 10

// ours reports whether pc is in code that we put into the process.
func (p *Picture) ours(pc uint64) bool {
	if p.Stub == nil {
		return false
	}
	_, in := p.Stub(pc)
	return in
}

// stackOf fills in the backtrace from a frame on, with the values of the frames shown.
func (p *Picture) stackOf(c *crash.Crash, u *unwind.Unwinder, stack *unwind.Stack, from int) {
	frames := stack.Frames[from:]
	c.FramesOmitted = stack.Elided
	if stack.End != unwind.EndOutermost {
		c.StackEnd = stack.Reason
	}
	c.Recursion = recursion(frames, stack.Elided)
	place := p.Place(frames, c.Class == classException)
	c.Panicking = slices.ContainsFunc(frames,
		func(f unwind.Frame) bool { return exception.Panics(f.Function) || exception.Panics(f.Raw) })
	budget := maxStackValues
	for i := range frames {
		f := &frames[i]
		if i >= headFrames && i < len(frames)-tailFrames && i != place {
			c.FramesOmitted++
			continue
		}
		out := p.Frame(f)
		out.Index -= frames[0].Index
		if i == place {
			budget -= p.Values(u, f, &out, placeDepth, budget)
			c.Function, c.File, c.Line = out.Function, out.File, out.Line
			c.Locals = p.placeValues(u, frames, i, &out, c.Class == classOverflow)
			for len(c.Locals) > 0 && len(c.Locals.AppendJSON(nil)) > maxPlaceJSON {
				c.Locals = c.Locals[:len(c.Locals)-1]
			}
		} else if budget > 0 && !library(f.File) {
			budget -= p.Values(u, f, &out, callerDepth, budget)
		}
		c.Backtrace = append(c.Backtrace, out)
	}
}

// placeValues are the values of the frame where the program crashed. At the end of a stack those are not there, or not
// yet written: then those of the call that the same function made before.
func (p *Picture) placeValues(u *unwind.Unwinder, frames []unwind.Frame, i int, f *crash.Frame,
	overflow bool) value.Object {
	values := append(slices.Clone(f.Arguments), f.Locals...)
	lost := func(m value.Member) bool { return m.Value.Equal(value.Unreadable) }
	if !overflow && !slices.ContainsFunc(values, lost) || i+1 >= len(frames) || frames[i+1].Function != f.Function {
		return values
	}
	var caller crash.Frame
	p.Values(u, &frames[i+1], &caller, placeDepth, maxFrameValues)
	before := append(slices.Clone(caller.Arguments), caller.Locals...)
	for k := range before {
		if v := &before[k].Value; v.Equal(value.OptimizedOut) || v.Equal(value.Unreadable) {
			if j := slices.IndexFunc(values, func(m value.Member) bool { return m.Name == before[k].Name }); j >= 0 {
				*v = values[j].Value
			}
		}
	}
	return before
}

// Place returns the frame that a reader wants to see first: the innermost of the user's code. Of an exception that
// nobody caught, it is where it was thrown, and not the handler of std::terminate.
func (p *Picture) Place(frames []unwind.Frame, thrown bool) int {
	first, lined, named, from := -1, -1, -1, 0
	if thrown {
		from = 1 + slices.IndexFunc(frames, func(f unwind.Frame) bool {
			return strings.HasPrefix(f.Function, "__cxa_throw") || strings.HasPrefix(f.Function, "__cxa_rethrow")
		})
	}
	for i := from; i < len(frames); i++ {
		f := &frames[i]
		if f.Signal {
			continue
		}
		if named < 0 && f.Function != "" {
			named = i
		}
		if f.Line == 0 {
			continue
		}
		if first < 0 && p.inProject(f.File) {
			first = i
		}
		if lined < 0 && !library(f.File) {
			lined = i
		}
	}
	for _, i := range []int{first, lined, named} {
		if i >= 0 {
			return i
		}
	}
	return 0
}

// library reports source that is not the user's: headers and runtimes of the system and of toolchains.
func library(file string) bool {
	for _, dir := range []string{"/usr/include/", "/usr/lib/", "/usr/src/", "/rustc/", "/build/", "./", "../"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return strings.Contains(file, "/lib/rustlib/") || strings.Contains(file, "/.cargo/registry/") || !filepath.IsAbs(file)
}

// recursion names the function that fills a stack, "" if none does.
func recursion(frames []unwind.Frame, elided int) string {
	count := map[string]int{}
	best := ""
	for i := range frames {
		n := frames[i].Function
		if n == "" {
			continue
		}
		if count[n]++; best == "" || count[n] > count[best] {
			best = n
		}
	}
	if count[best] < manyAlike {
		return ""
	}
	if elided > 0 {
		return fmt.Sprintf("%s, in a stack of %d frames", best, len(frames)+elided)
	}
	return fmt.Sprintf("%s, %d frames deep", best, count[best])
}

// others adds the threads that did not crash, those with the same stack once.
func (p *Picture) others(c *crash.Crash, threads []*Thread) {
	at := map[string]int{}
	for i, th := range threads {
		if i >= maxWalked {
			c.MoreThreads += len(threads) - i
			return
		}
		lines := p.Lines(th, otherFrames)
		key := strings.Join(lines, "\n")
		if j, ok := at[key]; ok {
			c.Threads[j].Alike++
			continue
		}
		if len(c.Threads) >= maxOthers {
			c.MoreThreads++
			continue
		}
		at[key] = len(c.Threads)
		c.Threads = append(c.Threads, crash.Thread{ThreadID: th.TID, Name: th.Name, Backtrace: lines})
	}
}

// Lines is a thread's stack in at most n lines.
func (p *Picture) Lines(th *Thread, n int) []string {
	stack, _ := p.Stack(th)
	lines := []string{}
	for i := range stack.Frames {
		if i == n {
			return append(lines, fmt.Sprintf("… %d more", len(stack.Frames)-n+stack.Elided))
		}
		f := p.Frame(&stack.Frames[i])
		lines = append(lines, f.Text())
	}
	return lines
}

// UserCode reports a frame of the user's: of a file in the project, or of none in a library.
func (p *Picture) UserCode(f *unwind.Frame) bool {
	return !f.Signal && f.Line > 0 && (p.inProject(f.File) || !library(f.File))
}

func (p *Picture) inProject(file string) bool {
	return p.Project != "" && strings.HasPrefix(file, strings.TrimSuffix(p.Project, "/")+"/")
}
