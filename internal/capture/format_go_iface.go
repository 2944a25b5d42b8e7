package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
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

// goCase is a type that a value in an interface may be of.
type goCase struct {
	symbol.GoType
	rank   int
	number uint64 // from 1
	whole  bool   // the value is shown, too
	inside bool   // the word is the value itself, which is a pointer
}

// Bounds on the types that one interface is taken to hold: so many are shown with their value, so many by name.
const (
	maxGoValues = 40
	maxGoNames  = 160
)

// Types of the standard library that interfaces often hold.
var (
	goErrors = []string{"*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError",
		"syscall.Errno", "*io/fs.PathError", "*os.SyscallError", "*net.OpError", "*strconv.NumError",
		"*encoding/json.SyntaxError", "runtime.boundsError", "*runtime.TypeAssertionError", "runtime.plainError",
		"runtime.errorString", "*net/url.Error", "context.deadlineExceededError"}
	goPlain = []string{"int", "string", "bool", "float64", "int64", "uint64", "int32", "uint32", "uint8", "uint",
		"float32", "int8", "int16", "uint16", "uintptr", "[]uint8", "[]string", "[]int", "map[string]interface {}",
		"[]interface {}", "time.Duration", "time.Time"}
)

// goCases chooses what an interface of the program may hold, by what is most likely to be there: what everybody uses,
// then the program's own types.
func goCases(t *symbol.Type, methods bool) []goCase {
	often := goPlain
	if methods {
		often = nil
	}
	often = append(slices.Clone(goErrors), often...)
	rank := map[string]int{}
	for i, n := range often {
		rank[n] = i + 1
	}
	var list []goCase
	for _, g := range t.GoTypes() {
		c := goCase{GoType: g, rank: rank[g.Name]}
		s := g.Type.Strip()
		name := strings.TrimLeft(g.Name, "*")
		switch {
		case c.rank > 0:
		case strings.HasPrefix(name, "main."):
			c.rank = 1000
		case goOwn(name):
			c.rank = 2000 + strings.Count(name, "/")
		default:
			continue
		}
		if strings.Contains(name, "struct {") || strings.Contains(name, "func(") || s == nil {
			continue
		}
		c.inside = goDirect(s)
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b goCase) int { return cmp.Or(a.rank-b.rank, cmp.Compare(a.Name, b.Name)) })
	list = list[:min(len(list), maxGoNames)]
	for i := range list {
		list[i].number = uint64(i + 1)
		list[i].whole = i < maxGoValues && sizeOf(list[i].Type.Strip()) >= 0
	}
	return list
}

// goOwn reports a type of a module, rather than of the standard library: the first part of its path has a dot.
func goOwn(name string) bool {
	first, _, ok := strings.Cut(name, "/")
	return ok && strings.Contains(first, ".") && !strings.ContainsAny(first, "[ ") &&
		!strings.HasPrefix(name, "golang.org/x/")
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
	f.V.Class, f.V.Walk, f.V.Name = value.ClassDynamic, f.Words(), "interface"
	if f.dry {
		return
	}
	cases := goCases(f.T, methods)
	if f.index >= 0 {
		for i := range cases {
			c := &cases[i]
			v := value.Variant{Name: c.Name, Type: -1}
			switch {
			case c.whole && c.inside:
				v.Type = f.tt.at(c.Type, f.level)
			case c.whole:
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
	slices.SortFunc(cases, func(a, b goCase) int { return cmp.Compare(a.Key, b.Key) })
	if len(cases) > 0 {
		f.goSearch(cases, miss, end)
	}
	p.Bind(miss)
	p.Const(r2, 0)
	none := p.Label()
	p.JumpNot(r1, none)
	p.Const(r0, 0) // nil: there is no type
	p.Bind(none)
	f.dynWords(r0)
	p.Bind(end)
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
	f.dynWords(r0)
	t := c.Type.Strip()
	switch {
	case c.whole && c.inside:
		f.goInside(t)
	case c.whole && sizeOf(t) > 0:
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
