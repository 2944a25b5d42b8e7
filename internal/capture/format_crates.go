package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// rustCrates knows types of crates that programs are full of, in the releases of the last years. Others of such crates
// have descriptions: natvis/builtin/rust.natvis.
var rustCrates = []*formatter{
	rustIOError, anyhowError,
	jsonValue, jsonNumber, jsonKind, jsonMap, tinyVec, tinyArray, arrayString,
	chronoDate, chronoTime, chronoNaive, chronoDateTime, chronoOffset, chronoDelta,
	timeDate, timeTime, timeOffset, timePlain, timeStamp, timeUTC, timeSpan,
	uuidForm, urlForm,
}

// crateType matches types of a crate, by the last part of their name.
func crateType(crate string, names ...string) func(string) bool {
	return func(name string) bool {
		head, _, _ := strings.Cut(name, "<")
		first, _, qualified := strings.Cut(head, "::")
		if !qualified || first != crate {
			return false
		}
		last := head[strings.LastIndex(head, "::")+2:]
		for _, n := range names {
			if last == n {
				return true
			}
		}
		return false
	}
}

// jsonValue is serde_json's Value: what it holds, as JSON has it.
var jsonValue = &formatter{name: "serde_json Value", match: crateType("serde_json", "Value"), form: rustPlain}

// jsonNumber is {n}, an enum of three numbers, or text where a program wants all digits.
var jsonNumber = &formatter{
	name:  "serde_json Number",
	match: crateType("serde_json", "Number"),
	form:  func(f *form) bool { return f.only("n") },
}

// jsonMap is {map}, a BTreeMap or an IndexMap.
var jsonMap = &formatter{
	name:  "serde_json Map",
	match: crateType("serde_json", "Map"),
	form:  func(f *form) bool { return f.only("map") },
}

// jsonKind is the enum in a Number.
var jsonKind = &formatter{
	name:  "serde_json number",
	match: func(name string) bool { return name == "serde_json::number::N" },
	form:  rustPlain,
}

// urlForm is {serialization, …}: the whole URL, and where its parts are.
var urlForm = &formatter{
	name:  "url Url",
	match: func(name string) bool { return name == "url::Url" },
	form:  func(f *form) bool { return f.only("serialization") },
}

// only shows the object as one of its members.
func (f *form) only(name string) bool {
	off, t, ok := f.Field(name)
	return ok && f.Alias(t, off)
}

// uuidForm is 16 bytes.
var uuidForm = &formatter{
	name:  "uuid Uuid",
	match: func(name string) bool { return name == "uuid::Uuid" },
	form: func(f *form) bool {
		f.V.Class = value.ClassUUID
		f.P.Return()
		return sizeOf(f.T) == 16
	},
}

// tinyVec is an enum of an ArrayVec and a Vec.
var tinyVec = &formatter{name: "tinyvec TinyVec", match: crateType("tinyvec", "TinyVec"), form: rustPlain}

// tinyArray is {len: u16, data: [T; N]}.
var tinyArray = &formatter{
	name:  "tinyvec ArrayVec",
	match: crateType("tinyvec", "ArrayVec"),
	form: func(f *form) bool {
		elem, ok := f.inside("len", "data")
		return ok && f.Span(elem, r0, r1)
	},
}

// arrayString is arrayvec's {xs: [MaybeUninit<u8>; N], len: u32}.
var arrayString = &formatter{
	name:  "arrayvec ArrayString",
	match: crateType("arrayvec", "ArrayString"),
	form: func(f *form) bool {
		elem, ok := f.inside("len", "xs")
		return ok && sizeOf(elem) == 1 && f.Text(elem, r0, r1)
	},
}

// inside sets r0 and r1 to the address and count of elements that lie in the object, at most as many as have room
// there.
func (f *form) inside(count, data string) (elem *symbol.Type, ok bool) {
	n, nt, ok := f.Field(count)
	off, dt, ok1 := f.Field(data)
	dt = dt.Strip()
	if !ok || !ok1 || dt == nil || dt.Kind != symbol.KindArray || dt.Elem() == nil {
		return nil, false
	}
	size, each := sizeOf(nt), sizeOf(dt.Elem())
	if size != 1 && size != 2 && size != 4 && size != 8 || each <= 0 {
		return nil, false
	}
	f.P.Addr(r0, off)
	f.P.Load(r1, n, size)
	f.atMost(r1, uint64(sizeOf(dt)/each))
	return dt.Elem().Strip(), true
}

// rustIOError is std::io::Error on systems with 64 bits: a word whose lowest two bits say what it is.
//
//	00 the address of a SimpleMessage    10 an error of the system, in the upper half
//	01 that of a Custom, plus one        11 an ErrorKind, in the upper half
var rustIOError = &formatter{
	name:  "rust io::Error",
	match: func(name string) bool { return name == "std::io::error::Error" },
	form: func(f *form) bool {
		off, to, ok := rustPointer(f.T)
		if !ok || to != nil && sizeOf(to) != 0 || sizeOf(f.T) != 8 {
			return false
		}
		named := func(name string) *symbol.Type {
			return pick(f.T.Namesakes("std::io::error::"+name), "std::io::error::"+name)
		}
		message, custom := named("SimpleMessage"), named("Custom")
		_, kind, _ := field(message, "kind")
		if kind == nil {
			_, kind, _ = field(custom, "kind")
		}
		if kind == nil {
			kind = named("ErrorKind")
		}
		f.ioErrorWords(off, message, custom)
		if f.dry || f.index < 0 {
			return true
		}
		errno := f.tt.add(value.Type{Class: value.ClassErrno, Size: 4, Elem: -1})
		f.V.Variants = []value.Variant{{Type: f.pointee(message)}, {Type: f.pointee(custom)},
			{Type: errno, Values: []uint64{1}}, {Type: -1, Values: []uint64{1}}}
		if kind != nil {
			f.V.Variants[3].Type = f.Elem(kind)
		}
		return true
	},
}

// ioErrorWords writes the number of what the word at off is, and an address or a number.
func (f *form) ioErrorWords(off int64, message, custom *symbol.Type) {
	f.V.Class, f.V.Walk = value.ClassDynamic, f.Words()
	p, end := f.P, f.P.Label()
	p.Load(r0, off, 8)
	p.ALUImm(ring.ALUAnd, r1, r0, 3)
	for tag, t := range []*symbol.Type{message, custom, nil, nil} {
		next := p.Label()
		p.ALUImm(ring.ALUEq, r3, r1, int64(tag))
		p.JumpZero(r3, next)
		p.Const(r2, uint64(tag+1))
		switch tag {
		case 1:
			p.ALUImm(ring.ALUSub, r0, r0, 1)
		case 2, 3:
			p.ALUImm(ring.ALUShr, r0, r0, 32)
		}
		f.dynWords(r0)
		if s := t.Strip(); !f.dry && t != nil && sizeOf(s) > 0 {
			p.Node(f.tt.walks.id(s, walkObject), r0, noReg, sizeOf(s), true)
		}
		p.Jump(end)
		p.Bind(next)
	}
	p.Bind(end)
}

// anyhowError is anyhow's Error and eyre's Report: the address of {vtable, …, _object: E}, in which a table of
// functions says what E is: a message, {context, error}, or an error's own type.
var anyhowError = &formatter{
	name:  "anyhow Error",
	match: func(name string) bool { return name == "anyhow::Error" || name == "eyre::Report" },
	form: func(f *form) bool {
		off, impl, ok := rustPointer(f.T)
		table, tt, ok1 := rustMember(impl, "vtable")
		at, _, ok2 := field(impl, "_object")
		if !ok || !ok1 || !ok2 || tt.Kind != symbol.KindPointer {
			return false
		}
		slot, _, ok := field(tt.Elem().Strip(), "object_downcast")
		if !ok {
			return false
		}
		p, none := f.P, f.P.Label()
		p.Load(r0, off, 8)
		p.Const(r1, 0)
		p.JumpZero(r0, none)
		p.LoadMem(r1, r0, table, 8)
		p.ALUImm(ring.ALUAdd, r0, r0, at)
		p.Bind(none)
		f.V.Class, f.V.Walk = value.ClassDynamic, f.Words()
		if !f.dry {
			crate, _, _ := strings.Cut(f.T.QualifiedName(), "::")
			names := erased(f.T, crate, slot)
			f.dynamic(&dynTypes{names: names, byName: variantsOf(names)})
			f.dynamicWalk(erasedCases(f.T, crate, slot), r0, r1)
		}
		return true
	},
}
