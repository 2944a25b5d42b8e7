package expr

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// inRegisters has variables of a program where a call passes them.
type inRegisters struct {
	*target
	at   map[string]Place
	regs map[int]uint64
}

func (r *inRegisters) Lookup(name string) (Place, bool) {
	if p, ok := r.at[name]; ok {
		return p, true
	}
	return r.target.Lookup(name)
}

func (r *inRegisters) Reg(n int) (uint64, bool) { v, ok := r.regs[n]; return v, ok }
func (r *inRegisters) CFA() (uint64, bool)      { return 0, false }
func (r *inRegisters) FS() (uint64, bool)       { return 0, false }

// words returns the words that a variable has in memory.
func (p *target) words(t *testing.T, name string, n int) []uint64 {
	t.Helper()
	b := make([]byte, 8*n)
	if err := p.Read(p.vars[name].Addr, b); err != nil {
		t.Fatal(err)
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out
}

// TestRegisters reads a &str and an Option in two registers each, as Rust passes them, and says what it
// cannot read.
func TestRegisters(t *testing.T) {
	p := start(t, "vars.rs", "rustc", "-C", "opt-level=0")
	text := p.words(t, "text", 2)
	r := &inRegisters{target: p, regs: map[int]uint64{5: text[0], 4: text[1], 1: 1, 2: 7}}
	two := func(a, b Place, size int64) []Piece { return []Piece{{a, size}, {b, size}} }
	reg := func(n int) Place { return Place{Kind: PlaceRegister, Reg: n} }
	r.at = map[string]Place{
		"s":    {Kind: PlacePieces, Pieces: two(reg(5), reg(4), 8), Type: p.vars["text"].Type},
		"opt":  {Kind: PlacePieces, Pieces: two(reg(1), reg(2), 4), Type: p.vars["some"].Type},
		"gone": {Kind: PlaceMissing, Type: p.vars["num"].Type},
		"half": {Kind: PlacePieces, Pieces: two(reg(5), Place{}, 8), Type: p.vars["text"].Type},
		"big":  {Kind: PlacePieces, Pieces: two(reg(5), reg(4), 4), Type: p.vars["big"].Type},
		"$rdi": reg(5),
	}
	env := &Env{Memory: p, Frame: r}
	for _, tc := range []struct {
		src, want string
		code      fault.Code
	}{
		{`s == "static text"`, "true", ""}, {"len(s)", "11", ""}, {"s", `"static text"`, ""}, {"opt.Some.0", "7", ""},
		{"opt == None", "false", ""}, {"$rdi == 0", "false", ""},
		{"gone", "", fault.OptimizedOut}, {"len(half)", "", fault.ValidationError}, {"half.length", "", fault.OptimizedOut},
		{"big", "", fault.Unsupported}, {"opt", "", fault.Unsupported}, {"&s", "", fault.ValidationError},
	} {
		e, err := New(tc.src, symbol.LangRust, r)
		if tc.code != "" {
			var bad *Error
			if !errors.As(err, &bad) || bad.Fault().Code != tc.code {
				t.Errorf("%s: %v, want %s", tc.src, err, tc.code)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.src, err)
			continue
		}
		res, err := e.Eval(env)
		if got := string(res.Value.AppendJSON(nil)); err != nil || got != tc.want {
			t.Errorf("%s = %s, %v, want %s", tc.src, got, err, tc.want)
		}
		if e.IsText() {
			continue // as a whole in registers: no address to put out
		}
		prog, ok := e.Compile()
		if !ok {
			t.Errorf("%s does not compile", tc.src)
			continue
		}
		want, _ := e.Word(env)
		if got, err := emulate(prog.Ops, env); err != nil || got != want {
			t.Errorf("%s compiled = %d, %v, want %d", tc.src, got, err, want)
		}
	}
}

// TestNotHere evaluates where there is no frame, module or memory.
func TestNotHere(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	scope := places{p, p.mod}
	for _, tc := range []struct {
		src    string
		reason Reason
		code   fault.Code
	}{
		{"reg32", NotHere, fault.Unsupported}, {"cfa16", NotHere, fault.Unsupported}, {"tls", NotHere, fault.Unsupported},
		{"biased", NotHere, fault.Unsupported},
		{"i32", Unreadable, fault.ReadFailed}, {"1 / (2 - 2)", DivideByZero, fault.ValidationError}, {"1.5", 0, ""},
	} {
		e, err := New(tc.src, symbol.LangC, scope)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Eval(&Env{})
		var bad *EvalError
		if tc.reason == 0 {
			if err != nil {
				t.Errorf("%s: %v", tc.src, err)
			}
			continue
		}
		if !errors.As(err, &bad) || bad.Reason != tc.reason || bad.Fault().Code != tc.code {
			t.Errorf("%s: %v, want reason %d, %s", tc.src, err, tc.reason, tc.code)
		}
	}
}

// TestCondition takes scalars as conditions and nothing else.
func TestCondition(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	for _, tc := range []struct {
		src  string
		want bool
		ok   bool
	}{
		{"i32", true, true}, {"no", false, true}, {"list", true, true}, {"nothing", false, true}, {"f32", true, true},
		{"-0.0", false, true}, {"0.0f", false, true}, {"str", true, true}, {"'a'", true, true},
		{"head", false, false}, {"text", false, false}, {`"a"`, false, false}, {"$threadName", false, false},
		{"head.wide", false, false},
	} {
		e, err := New(tc.src, symbol.LangC, p)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type().Kind() != KindObject && e.Type().Kind() != KindText {
			if got, err := e.Truth(p.env()); err != nil || got != tc.want && tc.ok {
				t.Errorf("Truth(%s) = %v, %v, want %v", tc.src, got, err, tc.want)
			}
		}
		c, err := e.Condition()
		if !tc.ok {
			var bad *Error
			if !errors.As(err, &bad) {
				t.Errorf("%s is taken as a condition", tc.src)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.src, err)
			continue
		}
		if got, err := c.Truth(p.env()); err != nil || got != tc.want {
			t.Errorf("%s = %v, %v, want %v", tc.src, got, err, tc.want)
		}
	}
}
