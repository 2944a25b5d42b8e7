package record

import (
	"encoding/binary"
	"iter"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Function is a traced function and what its calls' values are. Immutable; safe for concurrent use.
//
// Rows are those of its own enters and exits, with their payloads. What is not known is not there: no members, false.
type Function struct {
	event.Function
	Ret    value.RetClass // how much of a result Row.Ret holds
	layout *value.Layout  // nil: nothing is known of its values
}

var unknown = &Function{Function: event.Function{Name: "?"}, Ret: value.RetSigned}

func newFunction(f event.Function) *Function {
	fn := &Function{Function: f, Ret: value.RetSigned} // only exits that have event.HasRet count
	if len(f.Layout) == 0 {
		return fn
	}
	if l, err := value.Unmarshal(f.Layout); err == nil {
		fn.layout, fn.Ret = l, l.RetClass()
	}
	return fn
}

// withAddresses returns f with values that show the addresses of objects.
func (f *Function) withAddresses() *Function {
	if f.layout == nil {
		return f
	}
	out := *f
	out.layout = f.layout.WithAddresses()
	return &out
}

// Known reports whether the session says how the function's values read. Without that a result is the register's
// number.
func (f *Function) Known() bool { return f.layout != nil }

// Parameters lists the function's parameters, as far as they are known.
func (f *Function) Parameters() []value.Parameter {
	if f.layout == nil {
		return nil
	}
	return f.layout.Parameters()
}

// ParameterName is that of the i-th of Parameters.
func (f *Function) ParameterName(i int) string { return f.layout.Args[i].Name }

// TypeNames are the names of all types that the function's values may have.
func (f *Function) TypeNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		if f.layout == nil {
			return
		}
		for i := range f.layout.Types {
			if !yield(f.layout.Types[i].Name) {
				return
			}
		}
	}
}

// Arguments returns the arguments of a call in parameter order.
func (f *Function) Arguments(enter *store.Row) value.Object {
	if f.layout == nil {
		return nil
	}
	return f.layout.Enter(enter.Payload)
}

// Result returns what a call returned; false where there is nothing to know: void, or a frame that was left otherwise.
func (f *Function) Result(exit *store.Row) (value.Value, bool) {
	if exit.Flags&(event.Unwound|event.Lost) != 0 {
		return value.Value{}, false
	}
	has := exit.Flags&event.HasRet != 0
	if f.layout == nil {
		return value.NewInt(exit.Ret), has
	}
	if has { // without rendering it, which takes most of the time of who looks at every call
		switch f.Ret {
		case value.RetSigned:
			return value.NewInt(exit.Ret), true
		case value.RetUnsigned:
			return value.NewUint(uint64(exit.Ret)), true
		}
	}
	return f.layout.Exit(exit.Payload, exit.Ret, has)
}

// Thrown returns what left a call in short, as Type: message, and the value itself's JSON; "" where that is not known.
func (f *Function) Thrown(exit *store.Row) (short string, v value.Value) {
	if f.layout == nil || exit.Flags&event.Unwound == 0 || exit.Flags&event.AtEnd != 0 {
		return "", v
	}
	v, ok := f.layout.Thrown(exit.Payload)
	if !ok && f.layout.IsTree() {
		return "closed", v // a generator that nobody read to its end
	}
	if !ok {
		return "", v
	}
	return v.Exception(), v
}

// ResultOf returns a result by Row.Ret alone, where Ret says that this holds it.
func (f *Function) ResultOf(ret int64) (value.Value, bool) {
	return f.Result(&store.Row{Ret: ret, Flags: event.HasRet})
}

// Out returns what the pointer arguments of a call led to at its exit, where that was recorded.
func (f *Function) Out(exit *store.Row) value.Object {
	if f.layout == nil {
		return nil
	}
	return f.layout.Outs(exit.Payload)
}

// Watches returns the watched variables at an enter or an exit.
func (f *Function) Watches(row *store.Row) value.Object {
	if f.layout == nil {
		return nil
	}
	return f.layout.WatchValues(row.Payload, row.Kind == event.FunctionExit)
}

// Argument is a way to one argument of a function's calls, or to a part of it.
type Argument struct {
	fn    *Function
	index int
	rest  string // path below it

	// An integer in one word is read without rendering it.
	off, size int // in the payload; size 0: it is none
	signed    bool
}

// Argument finds the parameter that a path such as "p.x" begins with; false: there is none.
func (f *Function) Argument(path string) (Argument, bool) {
	if f.layout == nil {
		return Argument{}, false
	}
	i, rest, ok := f.layout.ArgIndex(path)
	if !ok {
		return Argument{}, false
	}
	a := Argument{fn: f, index: i, rest: rest}
	if off, size, signed, ok := f.layout.ScalarArg(i); ok && rest == "" {
		a.off, a.size, a.signed = off, size, signed
	}
	return a, true
}

// Integer reports whether the argument is an integer that Int reads, and whether that has its 64 bits as an unsigned
// one's.
func (a *Argument) Integer() (unsigned64, ok bool) { return !a.signed && a.size == 8, a.size > 0 }

// Int returns an integer without rendering it; false where only Value can tell.
func (a *Argument) Int(enter *store.Row) (int64, bool) {
	if a.size == 0 || a.off+8 > len(enter.Payload) {
		return 0, false
	}
	return value.Normalize(int64(binary.LittleEndian.Uint64(enter.Payload[a.off:])), a.size, a.signed), true
}

// Value returns the argument, or the part of it; false where the call has none.
func (a *Argument) Value(enter *store.Row) (value.Value, bool) {
	if n, ok := a.Int(enter); ok {
		if a.signed {
			return value.NewInt(n), true
		}
		return value.NewUint(uint64(n)), true
	}
	v, ok := a.fn.layout.EnterArg(enter.Payload, a.index)
	if !ok {
		return value.Value{}, false
	}
	return v.Path(a.rest)
}
