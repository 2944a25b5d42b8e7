package query

import (
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// argPlan is how the argument asked for is compared in one function's enters.
type argPlan struct {
	record.Argument
	there  bool  // the function has it
	ranged bool  // an integer: lo and hi decide
	lo, hi int64 // of a ranged one
}

// planArgument returns the plan for a function.
func (a *asker) planArgument(id event.FuncID) argPlan {
	arg, ok := a.fn(id).Argument(a.req.Argument.Name)
	p := argPlan{Argument: arg, there: ok}
	if unsigned, ok := arg.Integer(); ok {
		var nothing bool
		if p.lo, p.hi, nothing, p.ranged = a.arg.bounds(unsigned); nothing {
			p.lo, p.hi = 1, 0
		}
	}
	return p
}

func (a *asker) argumentMatches(row *store.Row) bool {
	if int(row.Func) >= len(a.args) {
		return false
	}
	p := &a.args[row.Func]
	if !p.there {
		return false
	}
	if p.ranged {
		if n, ok := p.Int(row); ok {
			return n >= p.lo && n <= p.hi
		}
	}
	v, ok := p.Value(row)
	return ok && a.arg.match(v)
}

// withArgument returns the functions of among (nil: all) that have the parameter asked for, and plans for them.
func (a *asker) withArgument(among *store.Bits) *store.Bits {
	set := &store.Bits{}
	a.args = make([]argPlan, len(a.fns))
	for i := range a.fns {
		if among != nil && !among.Has(uint32(i)) {
			continue
		}
		if a.args[i] = a.planArgument(event.FuncID(i)); a.args[i].there {
			set.Set(uint32(i))
		}
	}
	return set
}
