package query

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// argPlan is how the argument asked for is read from one function's enters.
type argPlan struct {
	index int    // of the parameter, -1 for none
	rest  string // path below it

	// A plain integer in one register is read without rendering it.
	off, size int // in the payload; size 0: render
	signed    bool
	ranged    bool // lo and hi decide
	lo, hi    int64
}

// planArgument returns the plan for a function.
func (a *asker) planArgument(id event.FuncID) argPlan {
	none := argPlan{index: -1}
	l := a.fn(id).layout
	if l == nil {
		return none
	}
	i, rest, ok := l.ArgIndex(a.req.Argument.Name)
	if !ok {
		return none
	}
	p := argPlan{index: i, rest: rest}
	f := &l.Args[i]
	if rest != "" || f.Missing || len(f.Pieces) != 1 || f.Type < 0 || int(f.Type) >= len(l.Types) {
		return p
	}
	piece, typ := f.Pieces[0], &l.Types[f.Type]
	if piece.Chunk != 0 || piece.Size == 0 || piece.Size > 8 || piece.Size != typ.Size || int64(piece.Off)+8 > int64(8*l.OnEnter.GPRs) ||
		typ.Class != value.ClassInt && typ.Class != value.ClassUint {
		return p
	}
	p.off, p.size, p.signed = int(piece.Off), int(piece.Size), typ.Class == value.ClassInt
	lo, hi, nothing, ok := a.arg.bounds(!p.signed && p.size == 8)
	if p.ranged = ok; nothing {
		lo, hi = 1, 0
	}
	p.lo, p.hi = lo, hi
	return p
}

func (a *asker) argumentMatches(row *store.Row) bool {
	if int(row.Func) >= len(a.args) {
		return false
	}
	p := &a.args[row.Func]
	if p.index < 0 {
		return false
	}
	if p.size > 0 && p.off+8 <= len(row.Payload) {
		n := value.Normalize(int64(binary.LittleEndian.Uint64(row.Payload[p.off:])), p.size, p.signed)
		switch {
		case p.ranged:
			return n >= p.lo && n <= p.hi
		case p.signed:
			return a.arg.match(value.NewInt(n))
		}
		return a.arg.match(value.NewUint(uint64(n)))
	}
	v, ok := a.fn(row.Func).layout.EnterArg(row.Payload, p.index)
	if !ok {
		return false
	}
	if v, ok = v.Path(p.rest); !ok {
		return false
	}
	return a.arg.match(v)
}

// withArgument returns the functions of among (nil: all) that have the parameter asked for, and plans for them.
func (a *asker) withArgument(among *store.Bits) *store.Bits {
	set := &store.Bits{}
	a.args = make([]argPlan, len(a.fns))
	for i := range a.fns {
		a.args[i].index = -1
		if among != nil && !among.Has(uint32(i)) {
			continue
		}
		if a.args[i] = a.planArgument(event.FuncID(i)); a.args[i].index >= 0 {
			set.Set(uint32(i))
		}
	}
	return set
}
