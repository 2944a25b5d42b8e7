package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// goIface is an interface with methods: a table, whose second word leads to the type, and the value.
var goIface = &formatter{
	name:  "go interface",
	match: func(name string) bool { return name == "runtime.iface" },
	form: func(f *form) bool {
		tab, _, ok := f.Field("tab")
		data, _, ok1 := f.Field("data")
		if !ok || !ok1 {
			return false
		}
		f.P.Load(r1, tab, 8)
		none := f.P.Label()
		f.P.JumpZero(r1, none)
		f.P.LoadMem(r1, r1, 8, 8)
		f.P.Bind(none)
		f.P.Load(r0, data, 8)
		f.goDynamic(true)
		return true
	},
}

// goEface is any: the type and the value.
var goEface = &formatter{
	name:  "go any",
	match: func(name string) bool { return name == "runtime.eface" },
	form: func(f *form) bool {
		typ, _, ok := f.Field("_type")
		data, _, ok1 := f.Field("data")
		if !ok || !ok1 {
			return false
		}
		f.P.Load(r1, typ, 8)
		f.P.Load(r0, data, 8)
		f.goDynamic(false)
		return true
	},
}

// goReflect is reflect.Value: the type, and the value or where that is.
var goReflect = &formatter{
	name:  "go reflected",
	match: func(name string) bool { return name == "reflect.Value" },
	form: func(f *form) bool {
		typ, _, ok := f.Field("typ_")
		at, _, ok1 := f.Field("ptr")
		flag, _, ok2 := f.Field("flag")
		if !ok || !ok1 || !ok2 {
			return false
		}
		const indirect = 1 << 7
		f.P.Load(r1, typ, 8)
		f.P.Load(r0, at, 8)
		f.P.Load(r7, flag, 8)
		f.P.ALUImm(ring.ALUAnd, r7, r7, indirect)
		f.reflected = true
		f.goDynamic(false)
		return true
	},
}

// goCase is a type that a value in an interface may be of.
type goCase struct {
	symbol.GoType
	rank   int
	number uint64 // from 1
	inside bool   // the word is the value itself, which is a pointer
}

// maxGoValues bounds the types of which an interface shows the value. Of all others it shows the name.
const maxGoValues = 44

// Types of the standard library that interfaces often hold.
var (
	goErrors = []string{"*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError", "syscall.Errno",
		"*io/fs.PathError", "*os.SyscallError", "*net.OpError", "*strconv.NumError", "runtime.boundsError",
		"*runtime.TypeAssertionError", "*runtime.PanicNilError", "*context.valueCtx",
		"runtime.plainError", "runtime.errorString"}
	goPlain = []string{"int", "string", "bool", "float64", "int64", "uint64", "int32", "uint32", "uint8", "uint",
		"float32", "int8", "int16", "uint16", "uintptr", "[]uint8", "[]string", "[]int", "time.Duration", "time.Time"}
)

type goCasesKey struct {
	t       *symbol.Type
	methods bool
}

// goCases chooses of which types an interface of the program shows the values: those that everybody uses, the program's
// own errors, and some more of its own.
func (f *form) goCases(methods bool) []goCase {
	key := goCasesKey{f.T, methods}
	if known, ok := f.tt.walks.goCases.Load(key); ok {
		return known.([]goCase)
	}
	list := findGoCases(f.T, methods)
	f.tt.walks.goCases.Store(key, list)
	return list
}

func findGoCases(t *symbol.Type, methods bool) []goCase {
	often := slices.Clone(goErrors)
	if !methods {
		often = append(often, goPlain...)
	}
	rank := map[string]int{}
	for i, n := range often {
		rank[n] = i + 1
	}
	errs, module := t.GoErrors(), t.GoModule()
	var list []goCase
	for _, g := range t.GoTypes() {
		c := goCase{GoType: g, rank: rank[g.Name]}
		s := g.Type.Strip()
		name := strings.TrimLeft(g.Name, "*")
		own := strings.HasPrefix(name, "main.") || module != "" && strings.HasPrefix(name, module)
		switch {
		case c.rank > 0:
		case own && errs[g.Name]:
			c.rank = 1000 + strings.Count(name, "/")
		case own && !methods && !strings.ContainsAny(name, "{[("):
			c.rank = 2000 + strings.Count(name, "/")
		default:
			continue
		}
		if s == nil || sizeOf(s) < 0 {
			continue
		}
		c.inside = goDirect(s)
		list = append(list, c)
	}
	sorting.By(list, func(a, b goCase) int { return cmp.Or(a.rank-b.rank, cmp.Compare(a.Name, b.Name)) })
	list = list[:min(len(list), maxGoValues)]
	for i := range list {
		list[i].number = uint64(i + 1)
	}
	return list
}

// goDirect reports a type whose values are one pointer: an interface has that itself.
func goDirect(t *symbol.Type) bool {
	for range maxTypeDepth {
		switch t = t.Strip(); {
		case t == nil:
			return false
		case t.Kind == symbol.KindPointer || t.Kind == symbol.KindFunction:
			return true
		case t.Kind == symbol.KindStruct && t.Size == 8 && len(t.Fields()) == 1:
			t = t.Fields()[0].Type
		case t.Kind == symbol.KindArray && t.Count == 1:
			t = t.Elem()
		default:
			return false
		}
	}
	return false
}

// goDynamic shows the value at the address in r0, or that r0 itself is, whose type's description is at r1.
func (f *form) goDynamic(methods bool) {
	f.V.Class, f.V.Walk, f.V.Name, f.V.Plain = value.ClassDynamic, f.Words(), "interface", true
	if f.dry {
		return
	}
	cases := slices.Clone(f.goCases(methods))
	level := f.level
	defer func() { f.level = level }()
	f.level = min(level, 1) // a layout has all of these types
	if f.index >= 0 {
		for i := range cases {
			c := &cases[i]
			v := value.Variant{Name: c.Name}
			if c.inside {
				v.Type = f.tt.at(c.Type, f.level)
			} else {
				v.Type = f.pointee(c.Type)
			}
			f.V.Variants = append(f.V.Variants, v)
		}
	}
	p, end, miss := f.P, f.P.Label(), f.P.Label()
	p.JumpZero(r1, miss)
	p.LoadMem(r3, r1, 16, 4)
	p.ALUImm(ring.ALUShl, r3, r3, 32)
	p.LoadMem(r4, r1, 40, 4)
	p.ALU(ring.ALUOr, r3, r3, r4)
	sorting.By(cases, func(a, b goCase) int { return cmp.Compare(a.Key, b.Key) })
	if len(cases) > 0 {
		f.goSearch(cases, miss, end)
	}
	p.Bind(miss)
	p.Const(r2, 0)
	none := p.Label()
	p.JumpNot(r1, none)
	p.Const(r0, 0) // nil: there is no type
	p.Bind(none)
	f.goWords()
	p.Bind(end)
}

func (f *form) goWords() {
	f.P.Open(f.V.Walk)
	f.P.Push(r2)
	f.P.Push(r0)
	f.P.Push(r1)
	f.P.Close()
}

// goSearch looks for r3 among the keys of cases, which are in order.
func (f *form) goSearch(cases []goCase, miss, end label) {
	p := f.P
	if len(cases) > 1 {
		mid, right := len(cases)/2, p.Label()
		p.Const(r4, cases[mid].Key)
		p.ALU(ring.ALUULt, r5, r3, r4)
		p.JumpZero(r5, right)
		f.goSearch(cases[:mid], miss, end)
		p.Bind(right)
		f.goSearch(cases[mid:], miss, end)
		return
	}
	c := &cases[0]
	p.Const(r4, c.Key)
	p.ALU(ring.ALUEq, r5, r3, r4)
	p.JumpZero(r5, miss)
	p.Const(r2, c.number)
	if f.reflected && c.inside {
		word := p.Label()
		p.JumpZero(r7, word)
		p.LoadMem(r0, r0, 0, 8)
		p.Bind(word)
	}
	f.goWords()
	t := c.Type.Strip()
	switch {
	case c.inside:
		f.goInside(t)
	case sizeOf(t) > 0:
		p.Node(f.tt.walks.id(t, walkObject), r0, noReg, sizeOf(t), true)
	}
	p.Jump(end)
}

// goInside follows the pointer that r0 is.
func (f *form) goInside(t *symbol.Type) {
	for range maxTypeDepth {
		switch t = t.Strip(); {
		case t == nil:
			return
		case t.Kind == symbol.KindStruct && len(t.Fields()) == 1:
			t = t.Fields()[0].Type
		case t.Kind == symbol.KindArray && t.Count == 1:
			t = t.Elem()
		case t.Kind == symbol.KindPointer && f.tt.followable(t):
			e := t.Elem().Strip()
			if size := sizeOf(e); size > 0 {
				f.P.Node(f.tt.pointeeWalk(e), r0, noReg, size, true)
			}
			return
		default:
			return
		}
	}
}
