package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// goForms are the types of Go that are more than their members.
var goForms = []*formatter{goString, goSlice, goMap, goOldMap, goChan, goTime, goIface, goEface, goBig, goAtomic,
	goReflect}

// formattersOf are those of a language's libraries.
func formattersOf(lang symbol.Language) []*formatter {
	if lang == symbol.LangGo {
		return goForms
	}
	return formatters
}

// anyName is for those that a type is told by its members: types that are made of it have names of their own.
func anyName(string) bool { return true }

// goString is string, and types made of it.
var goString = &formatter{
	name:  "go string",
	match: anyName,
	form: func(f *form) bool {
		str, t, ok := f.Field("str")
		n, _, ok1 := f.Field("len")
		if !ok || !ok1 || t.Strip().Kind != symbol.KindPointer || f.T.Size != 16 {
			return false
		}
		f.P.Load(r0, str, 8)
		f.P.Load(r1, n, 8)
		return f.Text(t.Strip().Elem(), r0, r1)
	},
}

// goSlice is []T; bytes are text.
var goSlice = &formatter{
	name:  "go slice",
	match: anyName,
	form: func(f *form) bool {
		at, t, ok := f.Field("array")
		n, _, ok1 := f.Field("len")
		_, _, ok2 := f.Field("cap")
		if !ok || !ok1 || !ok2 || t.Strip().Kind != symbol.KindPointer || f.T.Size != 24 {
			return false
		}
		elem := t.Strip().Elem()
		f.P.Load(r0, at, 8)
		f.P.Load(r1, n, 8)
		if e := elem.Strip(); e.Kind == symbol.KindBase && e.Size == 1 && e.Encoding == symbol.EncUnsigned {
			return f.Text(elem, r0, r1)
		}
		return f.Span(elem, r0, r1)
	},
}

// goMap is what a map leads to since Go 1.24: tables of groups of eight slots, or, where it is small, one group.
//
//	map    used, directory or group, tables in the directory (0: a group)
//	table  groups: address, their number less one
//	group  a byte for each slot, below 128 where it is in use; slots of key and value
var goMap = &formatter{
	name:  "go map",
	match: func(name string) bool { return strings.HasPrefix(name, "map<") },
	form: func(f *form) bool {
		used, _, ok := f.Field("used")
		dir, dt, ok1 := f.Field("dirPtr")
		tables, _, ok2 := f.Field("dirLen")
		_, table, ok3 := pointerIn(dt) // to a pointer
		if !ok || !ok1 || !ok2 || !ok3 || table.Kind != symbol.KindPointer {
			return false
		}
		table = table.Elem().Strip()
		groups, gt, ok := field(table, "groups", "data")
		mask, _, ok1 := field(table, "groups", "lengthMask")
		if !ok || !ok1 || gt.Strip().Kind != symbol.KindPointer {
			return false
		}
		group := gt.Strip().Elem().Strip()
		ctrl, _, ok := field(group, "ctrl")
		slots, st, ok1 := field(group, "slots")
		if !ok || !ok1 || st.Strip().Kind != symbol.KindArray {
			return false
		}
		slot := st.Strip().Elem().Strip()
		if slot.Kind != symbol.KindStruct || len(slot.Fields()) < 2 || sizeOf(slot) <= 0 || sizeOf(group) <= 0 {
			return false
		}
		p := f.P
		p.Load(r0, used, 8)
		return f.Map(slot, r0, func() {
			f.upTo(r4, r0)
			p.Const(r11reg, 0x8080808080808080)
			p.Load(r1, dir, 8)
			p.Load(r2, tables, 8)
			whole, out := p.Label(), p.Label()
			p.JumpNot(r2, whole)
			p.Const(r3, 1)
			p.ALUImm(ring.ALUAdd, r5, r1, 0)
			f.goGroups(ctrl, slots, sizeOf(slot), sizeOf(group))
			p.Jump(out)
			p.Bind(whole)
			each := p.Here()
			p.JumpZero(r4, out)
			p.LoadMem(r6, r1, 0, 8)
			p.LoadMem(r5, r6, groups, 8)
			p.LoadMem(r3, r6, mask, 8)
			f.atMost(r3, maxGroups)
			p.ALUImm(ring.ALUAdd, r3, r3, 1)
			f.goGroups(ctrl, slots, sizeOf(slot), sizeOf(group))
			same := p.Here() // a table stands in the directory several times, one after the other
			p.ALUImm(ring.ALUAdd, r1, r1, 8)
			p.ALUImm(ring.ALUSub, r2, r2, 1)
			p.JumpZero(r2, out)
			p.LoadMem(r8reg, r1, 0, 8)
			p.ALU(ring.ALUEq, r8reg, r8reg, r6)
			p.JumpNot(r8reg, same)
			p.Jump(each)
			p.Bind(out)
		})
	},
}

const (
	r8reg reg = 8 + iota
	r9reg
	r10reg
	r11reg
	r12reg
)

// goGroups pushes the slots in use of r3 groups from r5 on, at most r4.
func (f *form) goGroups(ctrl, slots, slot, group int64) {
	p := f.P
	each, done := p.Here(), p.Label()
	p.JumpZero(r3, done)
	p.LoadMem(r8reg, r5, ctrl, 8)
	p.ALUImm(ring.ALUXor, r8reg, r8reg, -1)
	p.ALU(ring.ALUAnd, r8reg, r8reg, r11reg)
	p.ALUImm(ring.ALUAdd, r9reg, r5, slots)
	one, skip, next := p.Here(), p.Label(), p.Label()
	p.JumpZero(r8reg, next)
	p.JumpZero(r4, done)
	p.ALUImm(ring.ALUAnd, r10reg, r8reg, 0x80)
	p.JumpZero(r10reg, skip)
	p.Push(r9reg)
	p.ALUImm(ring.ALUSub, r4, r4, 1)
	p.Bind(skip)
	p.ALUImm(ring.ALUAdd, r9reg, r9reg, slot)
	p.ALUImm(ring.ALUShr, r8reg, r8reg, 8)
	p.Jump(one)
	p.Bind(next)
	p.ALUImm(ring.ALUAdd, r5, r5, group)
	p.ALUImm(ring.ALUSub, r3, r3, 1)
	p.Jump(each)
	p.Bind(done)
}

// goOldMap is what a map leads to before Go 1.24: buckets of eight keys and eight values, with more behind them. While
// it grows some are still in the old buckets.
var goOldMap = &formatter{
	name:  "go map of before 1.24",
	match: func(name string) bool { return strings.HasPrefix(name, "hash<") },
	form: func(f *form) bool {
		n, _, ok := f.Field("count")
		flags, _, ok1 := f.Field("flags")
		log, _, ok2 := f.Field("B")
		now, bt, ok3 := f.Field("buckets")
		old, _, ok4 := f.Field("oldbuckets")
		if !ok || !ok1 || !ok2 || !ok3 || !ok4 || bt.Strip().Kind != symbol.KindPointer {
			return false
		}
		b := goBucket{t: bt.Strip().Elem().Strip()}
		if !b.find() {
			return false
		}
		p := f.P
		p.Load(r0, n, 8)
		return f.Pairs(b.key, b.val, r0, func() {
			out := p.Label()
			f.upTo(r4, r0)
			p.Load(r2, log, 1)
			p.Const(r3, 1)
			p.ALU(ring.ALUShl, r3, r3, r2)
			p.ALUImm(ring.ALUAdd, r5, r3, 0)
			p.Load(r1, now, 8)
			f.goBuckets(&b)
			p.Load(r1, old, 8)
			p.JumpZero(r1, out)
			p.Load(r2, flags, 1)
			p.ALUImm(ring.ALUAnd, r2, r2, goSameSize)
			p.ALUImm(ring.ALUAdd, r3, r5, 0)
			half := p.Label()
			p.JumpNot(r2, half)
			p.ALUImm(ring.ALUShr, r3, r3, 1)
			p.Bind(half)
			f.goBuckets(&b)
			p.Bind(out)
		})
	},
}

const (
	goSameSize = 8 // runtime.sameSizeGrow
	goMinTop   = 5 // runtime.minTopHash: what is less marks a cell that is empty, or was moved
)

type goBucket struct {
	t, key, val                    *symbol.Type
	tops, keys, vals, more, kn, vn int64
}

func (b *goBucket) find() bool {
	var ok, ok1, ok2, ok3 bool
	var kt, vt *symbol.Type
	b.tops, _, ok = field(b.t, "tophash")
	b.keys, kt, ok1 = field(b.t, "keys")
	b.vals, vt, ok2 = field(b.t, "values")
	b.more, _, ok3 = field(b.t, "overflow")
	if !ok || !ok1 || !ok2 || !ok3 || kt.Strip().Kind != symbol.KindArray || vt.Strip().Kind != symbol.KindArray {
		return false
	}
	b.key, b.val = kt.Strip().Elem(), vt.Strip().Elem()
	b.kn, b.vn = sizeOf(b.key.Strip()), sizeOf(b.val.Strip())
	return b.kn >= 0 && b.vn >= 0 && sizeOf(b.t) > 0
}

// goBuckets pushes the keys and values of r3 buckets from r1 on, and of what is chained to them, at most r4.
func (f *form) goBuckets(b *goBucket) {
	p := f.P
	each, done, next := p.Here(), p.Label(), p.Label()
	p.JumpZero(r3, done)
	p.ALUImm(ring.ALUAdd, r6, r1, 0)
	chain := p.Here()
	p.JumpZero(r6, next)
	p.LoadMem(r8reg, r6, b.tops, 8)
	p.ALUImm(ring.ALUAdd, r9reg, r6, b.keys)
	p.ALUImm(ring.ALUAdd, r10reg, r6, b.vals)
	p.Const(r11reg, 8)
	cell, skip, over := p.Here(), p.Label(), p.Label()
	p.JumpZero(r11reg, over)
	p.JumpZero(r4, done)
	p.ALUImm(ring.ALUAnd, r12reg, r8reg, 0xff)
	p.ALUImm(ring.ALUULt, r12reg, r12reg, goMinTop)
	p.JumpNot(r12reg, skip)
	p.Push(r9reg)
	p.Push(r10reg)
	p.ALUImm(ring.ALUSub, r4, r4, 1)
	p.Bind(skip)
	p.ALUImm(ring.ALUShr, r8reg, r8reg, 8)
	p.ALUImm(ring.ALUAdd, r9reg, r9reg, b.kn)
	p.ALUImm(ring.ALUAdd, r10reg, r10reg, b.vn)
	p.ALUImm(ring.ALUSub, r11reg, r11reg, 1)
	p.Jump(cell)
	p.Bind(over)
	p.LoadMem(r6, r6, b.more, 8)
	p.Jump(chain)
	p.Bind(next)
	p.ALUImm(ring.ALUAdd, r1, r1, sizeOf(b.t))
	p.ALUImm(ring.ALUSub, r3, r3, 1)
	p.Jump(each)
	p.Bind(done)
}

// goChan is what a channel leads to: how much is in it.
var goChan = &formatter{
	name:  "go channel",
	match: func(name string) bool { return strings.HasPrefix(name, "hchan<") },
	form: func(f *form) bool {
		n, nt, ok := f.Field("qcount")
		size, st, ok1 := f.Field("dataqsiz")
		closed, ct, ok2 := f.Field("closed")
		if !ok || !ok1 || !ok2 {
			return false
		}
		f.V.Class = value.ClassStruct
		for _, m := range []struct {
			name string
			off  int64
			t    *symbol.Type
		}{{"len", n, nt}, {"cap", size, st}, {"closed", closed, ct}} {
			f.V.Fields = append(f.V.Fields, value.TypeField{Name: m.name, Type: f.Elem(m.t), Off: uint32(m.off)})
		}
		return true
	},
}

// goTime is time.Time.
var goTime = &formatter{
	name:  "go time",
	match: func(name string) bool { return name == "time.Time" },
	form: func(f *form) bool {
		wall, wt, ok := f.Field("wall")
		ext, et, ok1 := f.Field("ext")
		if !ok || !ok1 || wall != 0 || ext != 8 {
			return false
		}
		f.V.Class = value.ClassCalendar
		f.V.Fields = []value.TypeField{{Name: value.GoWall, Type: f.Elem(wt)}, {Name: value.GoExt, Type: f.Elem(et), Off: 8}}
		f.P.Return()
		return true
	},
}

// goAtomic is a type of sync/atomic: a number, a pointer, or any.
var goAtomic = &formatter{
	name:  "go atomic",
	match: func(name string) bool { return strings.HasPrefix(name, "sync/atomic.") },
	form: func(f *form) bool {
		at, t, ok := f.Field("v")
		if !ok {
			return false
		}
		if fs := f.T.Fields(); fs[0].Type.Strip().Kind == symbol.KindArray { // [0]*T, which says to what
			t = fs[0].Type.Strip().Elem()
		}
		return f.Alias(t, at)
	},
}

// goBig is big.Int, which a pointer leads to.
var goBig = &formatter{
	name:  "go big integer",
	match: func(name string) bool { return name == "math/big.Int" },
	form: func(f *form) bool {
		neg, _, ok := f.Field("neg")
		at, t, ok1 := f.Field("abs", "array")
		n, _, ok2 := f.Field("abs", "len")
		if !ok || !ok1 || !ok2 || t.Strip().Kind != symbol.KindPointer {
			return false
		}
		f.P.Load(r0, at, 8)
		f.P.Load(r1, n, 8)
		if !f.Span(t.Strip().Elem(), r0, r1) {
			return false
		}
		f.V.Class, f.V.Discr = value.ClassBig, value.TypeField{Type: -1, Off: uint32(neg)}
		return true
	},
}

// goFuncValue is a function as a value: a pointer to what it captured, which begins with the address of its code.
var goFuncValue = &formatter{
	name:  "go function",
	match: func(string) bool { return false },
	form: func(f *form) bool {
		none := f.P.Label()
		f.P.Load(r0, 0, 8)
		f.P.JumpZero(r0, none)
		f.P.LoadMem(r0, r0, 0, 8)
		f.P.Bind(none)
		return f.words(value.ClassCallable, r0)
	},
}
