package expr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// leaves are what generated expressions are made of, by what they are.
type leaves struct {
	lang                                symbol.Language
	ints, bools, floats, ptrs, structs  []string // ptrs: to structs with the members below
	texts, arrays, intMembers, pointers []string // pointers: members that lead to another struct of the kind
	types                               []string
}

var (
	leavesC = leaves{lang: symbol.LangC,
		ints: []string{"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "c", "wc", "bits", "$thread", "$pid", "args[4]",
			"head.in.raw[2]", "*numbers", "list->many[1].x", "len(str)", "len(text)", "reg32", "reg8", "cfa16", "tls", "konst",
			"half", "derefd", "biased", "grid[1][2]", "head.wide as u64"},
		bools: []string{"yes", "no", "head.ok"},
		floats: []string{"f32", "f64", "head.weight", "head.as_float", "list->weight", "list->next->weight", "xmm", "xmmf",
			"2.5", "0.1f"},
		ptrs:    []string{"list", "&head", "&tail", "regptr", "((struct node *)raw)", "((struct node *)wild)"},
		structs: []string{"head", "tail", "*list"},
		texts: []string{"text", "full", "str", "nothing", "wild", "head.name", "tail.title", "list->title",
			"head.in.raw"},
		arrays:     []string{"numbers", "grid[2]", "head.in.raw", "str", "((unsigned short *)raw)", "((int *)regptr)"},
		intMembers: []string{"id", "level", "delta", "low", "mid", "high", "as_int", "color", "in.x", "many[2].raw[3]", "ok"},
		pointers:   []string{"next"},
		types: []string{"int", "unsigned", "uint8_t", "signed char", "short", "unsigned long", "int64_t", "bool", "char",
			"uint16_t"}}
	leavesCPP = leaves{lang: symbol.LangCPP,
		ints: []string{"number", "item.ref", "item.base_id", "item.mixed", "item.count", "item.mode", "ints[2]",
			"ints[number]", "arr[1]", "len(ints)", "len(longText)", "len(view)", "wide", "unique->base_id", "shared->ref",
			"items[0]->mixed", "names[1][0]"},
		bools:  []string{"unique != nullptr", "none == nullptr", "true"},
		floats: []string{"1.5", "0.1f", "(double)number", "(float)ints[2]"},
		ptrs:   []string{"ptr", "&item", "items[0]", "items[1]", "items[number]"}, structs: []string{"item", "*ptr"},
		texts: []string{"shortText", "longText", "empty", "accents", "view", "names[0]", "item.name", "ptr->name",
			"unique->name", "names[number]"},
		arrays:     []string{"ints", "arr", "((int *)ptr)", "shortText", "view"},
		intMembers: []string{"base_id", "mixed", "ref", "mode", "name[1]"}, pointers: []string{},
		types: []string{"int", "unsigned", "uint8_t", "signed char", "short", "unsigned long", "bool", "char", "char16_t"}}
	leavesRust = leaves{lang: symbol.LangRust,
		ints: []string{"num", "(byte as i32)", "(big as i32)", "(ch as i32)", "v[2]", "v[num]", "points[1].x",
			"(points[0].pair.0 as i32)", "(slice[1] as i32)", "(len(slice) as i32)", "(len(owned) as i32)", "boxed.x",
			"counted.y", "tuple.0", "*link", "node.at.y", "(level as i32)", "$thread", "(wide as i32)", "some.Some.0",
			"nope.Some.0", "next.Some.0.x", "last.Some.0.y", "circle.Circle.0", "(rect.Rect.w as i32)"},
		bools: []string{"flag", "tuple.1.1", "level == Level::Low", "circle == Circle", "hollow == Shape::Empty",
			"next == null", "some != None", "ord.Some.0 == None"}, floats: []string{"f", "1.5", "(num as f64)", "(wide as f64)"},
		ptrs: []string{"boxed", "(&node.at)", "(&points[0] as *const Point)"}, structs: []string{"node.at", "points[0]"},
		texts:      []string{"text", "owned", "none", "node.name", "node.tag", "strs[0]", "strs[num]", "bad.Err.0"},
		arrays:     []string{"v", "slice", "arr"},
		intMembers: []string{"x", "y"}, pointers: []string{}, types: []string{"u8", "i32", "u64", "i16", "usize"}}
)

// sourceMaker writes random expressions.
type sourceMaker struct {
	*rand.Rand
	leaves
}

func (m *sourceMaker) one(of []string) string { return of[m.IntN(len(of))] }

var literals = []string{"0", "1", "2", "3", "7", "8", "31", "63", "100", "127", "255", "256", "1000", "65535",
	"2147483647", "0x7fffffff"}

func (m *sourceMaker) int(depth int) string {
	if depth <= 0 {
		if m.IntN(3) == 0 {
			return m.one(literals)
		}
		return m.one(m.ints)
	}
	switch m.IntN(12) {
	case 0:
		return fmt.Sprintf("%s%s", m.one([]string{"-", "~", "+"}[:2+m.IntN(2)]), "("+m.int(depth-1)+")")
	case 1:
		if m.lang == symbol.LangRust {
			return fmt.Sprintf("((%s) as %s as i32)", m.int(depth-1), m.one(m.types))
		}
		return fmt.Sprintf("(%s)(%s)", m.one(m.types), m.int(depth-1))
	case 2:
		if m.lang == symbol.LangRust {
			return m.int(depth - 1)
		}
		return fmt.Sprintf("(%s ? %s : %s)", m.bool(depth-1), m.int(depth-1), m.int(depth-1))
	case 3:
		return fmt.Sprintf("%s.%s", m.pointer(depth-1), m.one(m.intMembers))
	case 4:
		return fmt.Sprintf("%s[%s]", m.one(m.arrays), m.int(depth-1))
	case 5:
		if m.lang != symbol.LangRust {
			return fmt.Sprintf("(%s) - (%s)", m.pointer(depth-1), m.pointer(depth-1))
		}
		return m.one(m.structs) + "." + m.one(m.intMembers)
	case 6:
		if m.lang != symbol.LangRust {
			return fmt.Sprintf("(%s && %s) + %s", m.bool(depth-1), m.bool(depth-1), m.int(depth-1))
		}
	case 7:
		if m.lang != symbol.LangRust {
			return fmt.Sprintf("*(%s + %s)", m.one(m.arrays), m.int(depth-1))
		}
	}
	op := m.one([]string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"})
	return fmt.Sprintf("(%s %s %s)", m.int(depth-1), op, m.int(depth-1))
}

func (m *sourceMaker) pointer(depth int) string {
	if depth <= 0 || len(m.pointers) == 0 {
		return m.one(m.ptrs)
	}
	switch m.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s)->%s", m.pointer(depth-1), m.one(m.pointers))
	case 1:
		return fmt.Sprintf("(%s + %s)", m.pointer(depth-1), m.int(depth-1))
	case 2:
		return fmt.Sprintf("(%s ? %s : %s)", m.bool(depth-1), m.pointer(depth-1), m.pointer(depth-1))
	}
	return m.one(m.ptrs)
}

var textLiterals = []string{`""`, `"abc"`, `"abcd"`, `"wxyz"`, `"hello, world"`, `"hello"`, `"head of the list"`,
	`"apple"`, `"short"`, `"one"`, `"uno"`, `"root"`, `"a tag"`, `"owned text"`,
	`"a text that is too long for the inside of a string"`, `"a view"`, `"abcdefghij\u00e9"`, `"a\x00b"`}

func (m *sourceMaker) bool(depth int) string {
	if depth <= 0 {
		return m.one(m.bools)
	}
	switch m.IntN(9) {
	case 0:
		return "!(" + m.bool(depth-1) + ")"
	case 1:
		return fmt.Sprintf("(%s %s %s)", m.bool(depth-1), m.one([]string{"&&", "||", "and", "or", "==", "!=", "&", "|", "^"}),
			m.bool(depth-1))
	case 2:
		return fmt.Sprintf("%s %s %s", m.one(m.texts), m.one([]string{"==", "!="}), m.one(textLiterals))
	case 3:
		return fmt.Sprintf("(%s %s %s)", m.pointer(depth-1), m.one([]string{"==", "!=", "<", ">="}),
			m.one([]string{m.pointer(depth - 1), "null"}))
	case 4:
		return fmt.Sprintf("(%s %s %s)", m.float(depth-1), m.one([]string{"<", "<=", ">", ">=", "==", "!="}),
			m.one([]string{m.float(depth - 1), m.int(depth - 1)}))
	case 5:
		return m.one([]string{fmt.Sprintf("$threadName %s %s", m.one([]string{"==", "!="}),
			m.one([]string{`"main"`, `"worker"`})),
			fmt.Sprintf("%s %s %s", m.one(m.texts), m.one([]string{"==", "!="}), m.one(m.texts))})
	}
	return fmt.Sprintf("(%s %s %s)", m.int(depth-1), m.one([]string{"==", "!=", "<", "<=", ">", ">="}), m.int(depth-1))
}

// float writes an expression with floats, and what depends on them.
func (m *sourceMaker) float(depth int) string {
	if depth <= 0 {
		return m.one(m.floats)
	}
	b := m.float(depth - 1)
	if m.lang != symbol.LangRust {
		switch m.IntN(8) {
		case 0:
			return fmt.Sprintf("(%s ? %s : %s)", m.bool(depth-1), m.float(depth-1), b)
		case 1:
			return fmt.Sprintf("(float)(%s)", b)
		case 2:
			return fmt.Sprintf("(int)(%s) * %s", b, m.float(depth-1))
		case 3:
			return "-(" + b + ")"
		}
		if m.IntN(3) == 0 {
			b = m.int(depth - 1)
		}
	}
	return fmt.Sprintf("(%s %s %s)", m.float(depth-1), m.one([]string{"+", "-", "*", "/"}), b)
}

func (m *sourceMaker) source() string {
	depth := m.IntN(5)
	switch m.IntN(10) {
	case 8, 9:
		return m.float(depth)
	case 0, 1, 2, 3:
		return m.int(depth)
	case 4:
		return m.pointer(depth)
	case 5:
		return m.one([]string{m.one(m.structs), m.one(m.texts), m.one(m.floats), m.one(m.arrays)})
	}
	return m.bool(depth)
}

// damaged is a target's memory where some words are others and some spans cannot be read, the same
// ones for the same seed.
type damaged struct {
	of   Memory
	seed uint64
}

func (d *damaged) Read(addr uint64, b []byte) error {
	if err := d.of.Read(addr, b); err != nil || d.seed == 0 {
		return err
	}
	const span = 32 // bytes that are there or not; text straddles them often
	for at := addr &^ (span - 1); at < addr+uint64(len(b)); at += span {
		if mix(at^d.seed)%24 == 0 {
			return io.EOF
		}
	}
	for i := range b {
		a := addr + uint64(i)
		if h := mix(a&^7 ^ d.seed*3); h%16 == 0 {
			var w [8]byte
			binary.LittleEndian.PutUint64(w[:], mix(h)>>(h>>58))
			b[i] = w[a&7]
		}
	}
	return nil
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// places moves some variables of the C program to where compilers keep them.
type places struct {
	*target
	mod *symbol.Module
}

func (p places) Lookup(name string) (Place, bool) {
	typ := func(n string) *symbol.Type { return p.vars[n].Type }
	switch name {
	case "reg32":
		return Place{Kind: PlaceRegister, Reg: 5, Type: typ("i32")}, true
	case "reg8":
		return Place{Kind: PlaceRegister, Reg: 4, Type: typ("u8")}, true
	case "regptr":
		return Place{Kind: PlaceRegister, Reg: 1, Type: typ("list")}, true
	case "cfa16":
		return Place{Kind: PlaceCFAOffset, Off: -24, Type: typ("i16")}, true
	case "xmm":
		return Place{Kind: PlaceRegister, Reg: 18, Type: typ("f64")}, true
	case "xmmf":
		return Place{Kind: PlaceRegister, Reg: 25, Type: typ("f32")}, true
	case "tls":
		return Place{Kind: PlaceFSOffset, Off: 16, Type: typ("u64")}, true
	case "konst":
		return Place{Kind: PlaceConst, Addr: 0xfffffffff0, Type: typ("i8")}, true
	case "half": // the upper half of a pair in two registers
		return Place{Kind: PlacePieces, Pieces: []Piece{{Place{Kind: PlaceRegister, Reg: 8}, 2},
			{Place{Kind: PlaceRegister, Reg: 9}, 8}}, Type: typ("u16")}, true
	case "derefd":
		return Place{Kind: PlaceAddress, Addr: p.vars["list"].Addr, Deref: true, Type: typ("i32")}, true
	case "biased":
		return Place{Kind: PlaceAddress, Addr: p.vars["i64"].Addr - testBias, Module: p.mod, Type: typ("i64")}, true
	}
	return p.target.Lookup(name)
}

const testBias = 0x12345000

func bias(*symbol.Module) (uint64, bool) { return testBias, true }

type frame struct{ cfa, reg uint64 }

func (f frame) Reg(n int) (uint64, bool) {
	if n == 1 {
		return f.reg, true
	}
	if n >= 25 {
		return uint64(math.Float32bits(float32(n) * 0.125)), n < 33
	}
	if n >= 17 {
		return math.Float64bits(float64(n) * -1.25), true
	}
	return mix(uint64(n)), true
}
func (f frame) CFA() (uint64, bool) { return f.cfa, true }
func (f frame) FS() (uint64, bool)  { return f.cfa - 64, true }

// TestEvalAndCompileAgree evaluates random expressions over sound and damaged memory and runs their
// programs, those of their parts where there is none for the whole: the same word, or an error of both.
func TestEvalAndCompileAgree(t *testing.T) {
	for _, tc := range []struct {
		leaves
		p *target
	}{
		{leavesC, start(t, "vars.c", "gcc", "-O0")},
		{leavesCPP, start(t, "vars.cpp", "g++", "-O0", "-std=c++17")},
		{leavesCPP, start(t, "vars.cpp", "clang++", "-O0", "-std=c++17", "-stdlib=libc++", "-fstandalone-debug")},
		{leavesRust, start(t, "vars.rs", "rustc", "-C", "opt-level=0")},
	} {
		t.Run(string(tc.lang), func(t *testing.T) {
			const wanted = 12000
			agree(t, tc.p, &sourceMaker{rand.New(rand.NewPCG(1, 2)), tc.leaves}, wanted)
		})
	}
}

func agree(t *testing.T, p *target, m *sourceMaker, wanted int) {
	var scope Scope = places{p, p.mod}
	f := frame{cfa: 8, reg: 8}
	if v, ok := p.vars["tail"]; ok {
		f = frame{v.Addr + 64, v.Addr}
	}
	counts := map[string]int{}
	for done := 0; done < wanted; {
		src := m.source()
		e, err := New(src, m.lang, scope)
		if err != nil {
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("%s: %v", src, err)
			}
			if counts["refused"]++; counts["refused"] > 3*wanted {
				t.Fatalf("too many are refused, the last: %s: %v", src, err)
			}
			continue
		}
		done++
		for _, seed := range []uint64{0, m.Uint64() | 1} {
			env := &Env{Memory: &damaged{p, seed}, Frame: f, Bias: bias, ThreadID: 77, PID: 66, ThreadName: "worker"}
			counts[agreeOn(t, e, env)]++
		}
	}
	t.Logf("%d expressions: %v", wanted, counts)
	if counts["equal"] < wanted/2 || counts["errors"] < wanted/20 || counts["split: equal"] < wanted/20 ||
		counts["split: errors"] < wanted/200 {
		t.Errorf("the generator has become one-sided: %v", counts)
	}
}

// agreeOn evaluates e and runs its program in env, and says how that went.
func agreeOn(t *testing.T, e *Expr, env *Env) string {
	t.Helper()
	var bad *EvalError
	if _, err := e.Eval(env); err != nil && !errors.As(err, &bad) {
		t.Fatalf("%s: %v", e.Source, err)
	}
	prog, ok := e.Compile()
	if !ok {
		return splitOn(t, e, env)
	}
	ops, err := prog.Relocated(bias)
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Word(env)
	got, runErr := emulate(ops, env)
	switch {
	case errors.Is(runErr, errProgram) || err != nil && !errors.As(err, &bad):
		t.Fatalf("%s: %v, %v", e.Source, err, runErr)
	case err != nil && runErr != nil:
		return "errors"
	case err != nil || runErr != nil || got != want:
		t.Fatalf("%s: evaluated to %#x, %v; compiled to %#x, %v\n%s", e.Source, want, err, got, runErr, listing(prog))
	}
	return "equal"
}

// FuzzEval looks for expressions and damage that generated ones do not come to.
func FuzzEval(f *testing.F) {
	p := start(f, "vars.c", "gcc", "-O0")
	m := &sourceMaker{rand.New(rand.NewPCG(5, 6)), leavesC}
	for range 200 {
		f.Add(m.source(), m.Uint64())
	}
	tail := p.vars["tail"].Addr
	f.Fuzz(func(t *testing.T, src string, seed uint64) {
		e, err := New(src, symbol.LangC, places{p, p.mod})
		if err == nil {
			agreeOn(t, e, &Env{Memory: &damaged{p, seed}, Frame: frame{tail + 64, tail}, Bias: bias, ThreadID: 77, PID: 66,
				ThreadName: "worker"})
		}
	})
}

func BenchmarkEval(b *testing.B) {
	p := start(b, "vars.c", "gcc", "-O0")
	e, err := New(`list->next->id > 5 && list->next->name == "tail"`, symbol.LangC, p)
	if err != nil {
		b.Fatal(err)
	}
	env := &Env{Memory: stillMemory{p, map[uint64][]byte{}}}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := e.Truth(env); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

// stillMemory reads each page once.
type stillMemory struct {
	of    Memory
	pages map[uint64][]byte
}

func (s stillMemory) Read(addr uint64, b []byte) error {
	for n := 0; n < len(b); {
		at := addr + uint64(n)
		page := s.pages[at>>12]
		if page == nil {
			page = make([]byte, 4096)
			if err := s.of.Read(at&^4095, page); err != nil {
				return err
			}
			s.pages[at>>12] = page
		}
		n += copy(b[n:], page[at&4095:])
	}
	return nil
}

func BenchmarkNew(b *testing.B) {
	p := start(b, "vars.c", "gcc", "-O0")
	b.ReportAllocs()
	for b.Loop() {
		e, err := New(`list->next->id > 5 && list->next->name == "tail"`, symbol.LangC, p)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := e.Compile(); !ok {
			b.Fatal("not compiled")
		}
	}
}

func listing(p *Program) string {
	var b strings.Builder
	for i, op := range p.Ops {
		fmt.Fprintf(&b, "%3d %+v\n", i, op)
	}
	return b.String()
}
