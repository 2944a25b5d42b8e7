package native

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exception"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// thrown is an exception event's payload. Function, file and line are the throw site's.
type thrown struct {
	What      string           `json:"what"` // throw, rethrow, catch, uncaught; panic, caught
	Type      string           `json:"type,omitempty"`
	Message   string           `json:"message,omitempty"`
	Function  string           `json:"function,omitempty"`
	File      string           `json:"file,omitempty"`
	Line      int              `json:"line,omitempty"`
	Module    string           `json:"module,omitempty"` // where file is not known
	Via       string           `json:"via,omitempty"`    // the library's function that threw, called there
	CaughtIn  *exception.Place `json:"caughtIn,omitempty"`
	Exception string           `json:"exception,omitempty"` // the object's address: the same at its throw and its catch
	// of std::nested_exception: types and messages, down to the first cause
	Nested string `json:"nested,omitempty"`
	// Of an exception that was thrown again: where the first time, in a rethrow; where the last time, in what comes of it.
	ThrownAt   *exception.Place `json:"thrownAt,omitempty"`
	RethrownAt *exception.Place `json:"rethrownAt,omitempty"`
	Note       string           `json:"note,omitempty"`
}

// throwPlace is where a function of the runtime was called.
type throwPlace struct {
	place *exception.Place
	ends  bool // by the runtime itself, to end the program
}

// Bounds of what is remembered of a process.
const (
	maxPlaces = 1 << 14
	maxThrown = 1 << 12 // exceptions on their way
	maxPanics = 16      // panics of one thread on their way
)

// exceptionStop puts an exception on the timeline: its thread stands at a function of a runtime. It returns what that
// is, nil for nothing. Tracer thread only.
func (t *target) exceptionStop(th *thread, p *process, regs *ptrace.Regs, kind throwKind) *thrown {
	st := p.throws.Load()
	if st == nil || p.dead.Load() {
		return nil
	}
	at := t.rt.clock.Now()
	s := throwStop{p: p, st: st, regs: regs, tid: th.tid, r: st.files.Reader(p.mem)}
	e := s.read(kind)
	if e == nil || st.silent {
		return e
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	if !th.named {
		th.named = true
		th.id = t.sink.Thread(event.Thread{PID: int32(th.p.pid), TID: int32(th.tid), Name: th.p.threadName(th.p.pid, th.tid)})
	}
	t.pend(at, event.Event{Kind: event.Exception, Thread: th.id, Payload: b})
	return e
}

// throwStop is one stop of a thread at the entry of a function of a runtime.
type throwStop struct {
	p    *process
	st   *throwState
	regs *ptrace.Regs
	tid  int
	r    *exception.Reader
}

// read says what happens there; nil: nothing that is an exception.
func (s *throwStop) read(kind throwKind) *thrown {
	fs := s.regs.Fs_base
	switch kind {
	case throwCxx:
		e, ok := s.r.Object(s.regs.Rdi, s.regs.Rsi, fs)
		if !ok {
			e = &exception.Exception{Object: s.regs.Rdi, Note: "its type_info cannot be read"}
		}
		return s.throw("throw", e)
	case throwAgain:
		e, ok := s.r.BeingHandled(fs)
		if !ok || s.reportsEnd() {
			return nil // throw; without an exception, or a foreign one
		}
		return s.throw("rethrow", e)
	case throwPointer:
		e, ok := s.r.Held(s.regs.Rdi, fs)
		if !ok {
			return nil
		}
		return s.throw("rethrow", e)
	case throwPrimary:
		e, ok := s.r.Kept(s.regs.Rdi, fs)
		if !ok {
			return nil
		}
		return s.throw("rethrow", e)
	case throwCatch:
		return s.caught()
	case throwPanic, throwPanicAgain:
		return s.panicked(kind)
	case throwPanicCaught:
		return s.panicCaught()
	}
	return nil
}

func describe(e *exception.Exception) *thrown {
	out := &thrown{Type: e.Type, Message: e.Message, Exception: fmt.Sprintf("0x%x", e.Object), Note: e.Note}
	for n := e.Nested; n != nil; n = n.Nested {
		if out.Nested != "" {
			out.Nested += "; caused by "
		}
		out.Nested += n.Text()
	}
	return out
}

func (e *thrown) at(p *exception.Place) {
	if p != nil {
		e.Function, e.File, e.Line, e.Module, e.Via = p.Function, p.File, p.Line, p.Module, p.Via
	}
}

func (s *throwStop) throw(what string, e *exception.Exception) *thrown {
	out := describe(e)
	out.What = what
	out.at(s.caller().place)
	if len(s.st.thrown) >= maxThrown {
		clear(s.st.thrown) // their catches are reported without the throw site
	}
	first := s.st.thrown[e.Object]
	if what != "rethrow" || first == nil {
		s.st.thrown[e.Object] = out
		return out
	}
	// What comes of it was thrown where it was thrown first: a rethrow is no cause.
	out.ThrownAt = first.site()
	kept := *first
	kept.RethrownAt = out.site()
	s.st.thrown[e.Object] = &kept
	return out
}

// site is where an exception was thrown.
func (e *thrown) site() *exception.Place {
	return &exception.Place{Function: e.Function, File: e.File, Line: e.Line, Module: e.Module, Via: e.Via}
}

// caught is the beginning of a handler, or of the end: the runtime calls the same function before std::terminate.
func (s *throwStop) caught() *thrown {
	out := &thrown{}
	switch class, object := s.r.Class(s.regs.Rdi, s.regs.Fs_base); class {
	case "":
		return nil // pthread_exit or pthread_cancel passes a catch (...)
	case "rust":
		out.Type = "Rust panic"
	case "foreign":
		out.Type = "exception of another language"
	default:
		if s.reportsEnd() {
			return nil
		}
		if from := s.st.thrown[object]; from != nil {
			*out = *from
		} else {
			out = describe(s.r.Header(s.regs.Rdi, s.regs.Fs_base))
		}
	}
	out.What = "catch"
	if where := s.caller(); where.ends {
		out.What = "uncaught"
		s.st.ended[s.tid] = true
	} else {
		out.CaughtIn = where.place
	}
	return out
}

// reportsEnd: the C++ library's own terminate handler throws the exception again, to print its what().
func (s *throwStop) reportsEnd() bool {
	return s.st.ended[s.tid] && !exception.HasPlace(s.frames(nearFrames))
}

// panicked is a Rust panic on its way to its hook, or one that is resumed without.
func (s *throwStop) panicked(kind throwKind) *thrown {
	out := &thrown{What: "panic", Type: "panic", Exception: fmt.Sprintf("0x%x", s.regs.Rdi)}
	if kind == throwPanicAgain {
		out.What = "rethrow"
		out.Message = s.r.PayloadText(s.regs.Rdi, s.regs.Rsi, s.regs.Fs_base)
	} else {
		out.Message = s.r.PanicMessage(s.regs.Rdi, s.regs.Rsi, s.regs.Fs_base)
	}
	out.at(s.panicSite())
	if kind == throwPanic {
		for _, arg := range []uint64{s.regs.Rdx, s.regs.Rcx} { // before Rust 1.81 the message was between
			if p, ok := s.r.PanicPlace(arg); ok {
				if !strings.HasSuffix(out.File, p.File) { // its own path is absolute
					out.File = p.File
				}
				out.Line = p.Line
				break
			}
		}
	}
	if list := s.st.panics[s.tid]; !s.st.silent && len(list) < maxPanics && len(s.st.panics) < maxThrown {
		s.st.panics[s.tid] = append(list, out)
	}
	return out
}

// panicCaught is catch_unwind with a panic in its hands.
func (s *throwStop) panicCaught() *thrown {
	out := &thrown{What: "caught", Type: "panic"}
	if list := s.st.panics[s.tid]; len(list) > 0 {
		*out = *list[len(list)-1]
		out.What = "caught"
		if list = list[:len(list)-1]; len(list) == 0 {
			delete(s.st.panics, s.tid)
		} else {
			s.st.panics[s.tid] = list
		}
	}
	out.CaughtIn = s.panicSite()
	return out
}

// How many frames are looked at to find who called a function of a runtime.
const (
	nearFrames  = 2 // the function and its caller
	someFrames  = 12
	panicFrames = 40 // formatting and the machinery stand between
)

// frames are the nearest frames of the thread, without the function that it stands in.
func (s *throwStop) frames(n int) []unwind.Frame {
	regs := regsOf(s.regs)
	regs.Set(16, s.regs.Rip)
	st := unwind.Walk(s.p.mem, regs, s.st.mods, unwind.Options{Stub: s.p.stubs(), Nearest: n})
	for i := range st.Frames {
		if !st.Frames[i].Inlined {
			return st.Frames[i+1:]
		}
	}
	return nil
}

// caller is where the function was called: looked up once for each place that has source.
func (s *throwStop) caller() throwPlace {
	var ret [8]byte
	if s.p.mem.Read(s.regs.Rsp, ret[:]) != nil {
		return throwPlace{}
	}
	key := uint64(0)
	for i, c := range ret {
		key |= uint64(c) << (8 * i)
	}
	if known, ok := s.st.places[key]; ok {
		return known
	}
	near := s.frames(nearFrames)
	where := throwPlace{place: exception.PlaceOf(near)}
	if !exception.HasPlace(near) { // a library's function that throws, or the runtime itself
		far := s.frames(someFrames)
		return throwPlace{exception.PlaceOf(far), exception.Ends(far)}
	}
	where.ends = exception.Ends(near)
	if len(s.st.places) >= maxPlaces {
		clear(s.st.places)
	}
	s.st.places[key] = where
	return where
}

// panicSite is the nearest function that is no part of Rust's panic machinery.
func (s *throwStop) panicSite() *exception.Place {
	frames := s.frames(panicFrames)
	for i := range frames {
		if !exception.PanicMachinery(frames[i].Function) {
			return exception.PlaceOf(frames[i:])
		}
	}
	return nil
}
