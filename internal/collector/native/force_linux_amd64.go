package native

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/inspect"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// A forcing point stands at the entry of functions and makes each call that comes there return at once with a given
// value, or go on with other arguments.

// forced is what one function's calls are made to do.
type forced struct {
	returns bool
	reg     int // of the result
	result  []byte
	args    []forcedArg
}

type forcedArg struct {
	name string
	at   expr.Place
	b    []byte
}

// forces reports a point that changes calls.
func (pt *point) forces() bool { return pt.Return != "" || pt.SetArguments != "" }

// forceRank orders points at one place: arguments are set before a call is made to return, and it reaches the other
// points only if it is not.
func (pt *point) forceRank() int {
	switch {
	case pt.Return != "":
		return 1
	case pt.forces():
		return 0
	}
	return 2
}

// arguments are the values of parameters by name.
func (pt *point) arguments() (values map[string]json.RawMessage) {
	json.Unmarshal([]byte(pt.SetArguments), &values) // checked when it was asked for
	return values
}

// start is where in a function a point stands: of one that forces, at its entry.
func (pt *point) start(mod *symbol.Module, f *symbol.Function) symbol.Addr {
	if !pt.forces() {
		return bodyStart(mod, f)
	}
	if b, err := mod.BytesAt(f.Low, 4); err == nil && string(b) == "\xf3\x0f\x1e\xfa" && f.Size() > 4 {
		return f.Low + 4
	}
	return f.Low
}

// newForced works out how a function is forced, or says why it cannot be.
func (pt *point) newForced(mod *symbol.Module, a symbol.Addr) (*forced, error) {
	f, _, ok := mod.Lookup(a)
	if !ok {
		return nil, fault.New(fault.ValidationError, "Give a function.", "there is no function at %#x", uint64(a))
	}
	e, err := capture.EntryOf(mod, f)
	if err != nil {
		return nil, fault.New(fault.Unsupported, "Build it with -g.", "force %s: %w", f.Name, err)
	}
	out := &forced{returns: pt.Return != ""}
	if out.returns {
		reg, t, err := e.Result()
		switch {
		case err != nil:
			return nil, fault.New(fault.Unsupported, "Force a function whose result is a number, a pointer or an enum.",
				"force %s: %w", f.Name, err)
		case t == nil && pt.Return != "null":
			return nil, fault.New(fault.ValidationError, "Give null: the call returns without doing anything.",
				"%s returns nothing", f.Name)
		case t != nil:
			if out.result, err = encodeForced("the result of "+f.Name, t, []byte(pt.Return)); err != nil {
				return nil, err
			}
			out.reg = reg
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pt.arguments())) {
		at, ok := e.Argument(name)
		if !ok {
			return nil, fault.New(fault.ValidationError, "Take one of them.", "%s has no parameter %q, only %q", f.Name, name,
				e.Names())
		}
		apart := at.Kind != expr.PlaceRegister && at.Kind != expr.PlaceCFAOffset
		if st := at.Type.Strip(); apart && st != nil &&
			(st.Kind == symbol.KindStruct || st.Kind == symbol.KindUnion || st.Size > 8) {
			return nil, fault.New(fault.Unsupported,
				"Set a breakpoint there and write it with debug_memory while the call is paused.",
				"parameter %q of %s, of type %s, is in several registers", name, f.Name, at.Type)
		}
		if apart {
			return nil, fault.New(fault.OptimizedOut, "Force its caller, or build with -O0.",
				"parameter %q of %s is not in one place at the entry", name, f.Name)
		}
		b, err := encodeForced(fmt.Sprintf("parameter %q of %s", name, f.Name), at.Type, pt.arguments()[name])
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, forcedArg{name, at, b})
	}
	return out, nil
}

// encodeForced makes a value's bytes. What is behind a reference or a pointer is not the call's own.
func encodeForced(what string, t *symbol.Type, raw json.RawMessage) ([]byte, error) {
	st := t.Strip()
	var text string
	isText := json.Unmarshal(raw, &text) == nil && string(raw) != "null"
	_, notAddress := strconv.ParseUint(text, 0, 64)
	switch {
	case st == nil:
	case st.Kind == symbol.KindStruct || st.Kind == symbol.KindUnion:
		return nil, fault.New(fault.Unsupported,
			"Set a breakpoint there and write what the call was given, or after step-out what took its result, with "+
				"debug_memory.", "%s is of type %s, which is no single value", what, t)
	case (st.Kind == symbol.KindReference || st.Kind == symbol.KindRValueReference) && (!isText || notAddress != nil):
		return nil, fault.New(fault.ValidationError,
			"Give the address of one as text, such as 0x7f0012345678, or write what it refers to with debug_memory.",
			"%s is a reference, not a value", what)
	case st.Kind == symbol.KindPointer && isText && notAddress != nil:
		return nil, fault.New(fault.ValidationError, "Give null, or the address of something that is in the program.",
			"%s is a pointer, not a value", what)
	}
	return inspect.Encode(t, raw)
}

// force changes a waiting thread's call as a point wants it, and says so on the timeline. True: the call has returned.
func (t *target) force(c *pause, look *pauseLook, pt *point, ps *pointSite) (returned bool) {
	m := c.p.memory().moduleAt(ps.at)
	if m == nil || m.mod == nil {
		return false
	}
	f, err := pt.newForced(m.mod, symbol.Addr(ps.at-m.bias))
	if err == nil {
		err = t.tracer.Do(context.Background(), func() error {
			if c.stale(t) {
				return ptrace.ErrGone
			}
			return c.apply(f)
		})
	}
	c.located(look)
	members := map[string]any{"breakpointId": pt.ID}
	switch {
	case err != nil:
		members["error"] = err.Error()
	case f.returns:
		members["message"], members["forced"] = "forced to return "+pt.Return, "return"
	default:
		members["message"], members["forced"] = "forced "+pt.SetArguments, "argument"
	}
	t.Flush(context.Background())
	t.pointEvent(event.Logpoint, c, members)
	return err == nil && f.returns
}

// apply changes a thread that stands at the entry of a function. Tracer thread only.
func (c *pause) apply(f *forced) error {
	regs, err := ptrace.GetRegs(c.th.tid)
	if err != nil {
		return err
	}
	for _, a := range f.args {
		if a.at.Kind == expr.PlaceCFAOffset {
			if err := c.p.mem.Write(regs.Rsp+8+uint64(a.at.Off), a.b); err != nil {
				return err
			}
			continue
		}
		if a.at.Reg >= 17 {
			var v [16]byte
			copy(v[:], a.b)
			if err := ptrace.SetVector(c.th.tid, a.at.Reg-17, v); err != nil {
				return err
			}
			continue
		}
		*general(&regs, a.at.Reg) = word(a.b)
	}
	if f.returns {
		if ptrace.ShadowStack(c.th.tid) {
			return fmt.Errorf("the processor's shadow stack does not let a call be skipped")
		}
		var back [8]byte
		if err := c.p.mem.Read(regs.Rsp, back[:]); err != nil {
			return err
		}
		regs.Rip, regs.Rsp = binary.LittleEndian.Uint64(back[:]), regs.Rsp+8
		if f.reg >= 17 {
			var v [16]byte
			copy(v[:], f.result)
			if err := ptrace.SetVector(c.th.tid, 0, v); err != nil {
				return err
			}
		} else if f.result != nil {
			regs.Rax = word(f.result)
		}
	}
	return ptrace.SetRegs(c.th.tid, &regs)
}

func word(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// general is a general register by its DWARF number.
func general(regs *ptrace.Regs, n int) *uint64 {
	return [...]*uint64{&regs.Rax, &regs.Rdx, &regs.Rcx, &regs.Rbx, &regs.Rsi, &regs.Rdi, &regs.Rbp, &regs.Rsp, &regs.R8,
		&regs.R9, &regs.R10, &regs.R11, &regs.R12, &regs.R13, &regs.R14, &regs.R15}[n]
}

// holds evaluates a point's condition for a thread that came there. At a function's entry, parameters are where the
// caller put them.
func (t *target) holds(c *pause, look *pauseLook, pt *point, ps *pointSite) (bool, error) {
	if !pt.forces() {
		return look.truth(pt.Condition)
	}
	pic, err := look.picture()
	if err != nil {
		return false, err
	}
	m := c.p.memory().moduleAt(ps.at)
	if m == nil || m.mod == nil {
		return false, fmt.Errorf("its module is gone")
	}
	f, _, _ := m.mod.Lookup(symbol.Addr(ps.at - m.bias))
	if f == nil {
		return false, fmt.Errorf("its function is gone")
	}
	e, err := capture.EntryOf(m.mod, f)
	if err != nil {
		return false, err
	}
	scope, lang := e.Scope(c.p.memory().watchable(m.mod))
	cond, err := expr.New(pt.Condition, lang, scope)
	if err != nil {
		return false, err
	}
	return cond.Truth(&expr.Env{Memory: pic.Mem, Frame: entryFrame{c.seen}, ThreadID: c.th.tid, PID: c.p.pid,
		ThreadName: c.seen.Name,
		Bias: func(mod *symbol.Module) (uint64, bool) {
			for i := range pic.Modules {
				if pic.Modules[i].Mod == mod {
					return pic.Modules[i].Bias, true
				}
			}
			return 0, false
		}})
}

// entryFrame is a thread that stands at the entry of a function, as expressions see it.
type entryFrame struct{ th *snapshot.Thread }

// Reg implements expr.Frame.
func (e entryFrame) Reg(n int) (uint64, bool) {
	if n >= 17 && n < 33 && e.th.XMM != nil {
		return binary.LittleEndian.Uint64(e.th.XMM[n-17][:]), true
	}
	return e.th.Regs.Get(n)
}

// CFA implements expr.Frame.
func (e entryFrame) CFA() (uint64, bool) {
	sp, ok := e.th.Regs.Get(7)
	return sp + 8, ok
}

// FS implements expr.Frame.
func (e entryFrame) FS() (uint64, bool) { return e.th.FS, e.th.FS != 0 }
