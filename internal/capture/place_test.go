package capture

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// anyMemory has some word at every address.
type anyMemory struct{}

func (anyMemory) Read(addr uint64, b []byte) error {
	for i := range b {
		at := addr + uint64(i)
		b[i] = byte((at >> 3 * 0x9E3779B97F4A7C15) >> (8 * (at & 7)))
	}
	return nil
}

// fixedRegs is a frame of an unwinder as expressions see it.
type fixedRegs struct{ r unwind.Regs }

func (f fixedRegs) Reg(n int) (uint64, bool) { return f.r.Get(n) }
func (f fixedRegs) CFA() (uint64, bool)      { return 0, false }
func (f fixedRegs) FS() (uint64, bool)       { return 0, false }

// TestPlacesAgree compares where variables are, at every statement of programs, with what the unwinder computes for a
// thread that stands there with the same registers.
func TestPlacesAgree(t *testing.T) {
	for _, b := range []struct{ target, variant string }{{"exceptions", "gcc-O0"}, {"exceptions", "gcc-O2"},
		{"generators", "gcc-O2"}, {"values", "rust-release"}} {
		t.Run(b.target+"-"+b.variant, func(t *testing.T) {
			m, err := symbol.Open(strobetest.Build(t, b.target, b.variant), symbol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			c := placeTally{t: t, m: m, rnd: rand.New(rand.NewPCG(1, 2))}
			fns := m.Functions()
			for i := range fns {
				if !fns[i].HasDWARF || c.seen > 20000 {
					continue
				}
				for _, s := range m.Statements(fns[i].Low, fns[i].High) {
					c.at(s.Addr)
				}
			}
			t.Logf("%d variables at statements: %d the same, %d gone in both, %d computed by the tracer alone", c.seen, c.same,
				c.gone, c.unclear)
			if c.same == 0 || c.unclear > c.seen/3 {
				t.Error("too few places are known")
			}
		})
	}
}

type placeTally struct {
	t                         *testing.T
	m                         *symbol.Module
	rnd                       *rand.Rand
	seen, same, gone, unclear int
}

func (c *placeTally) at(a symbol.Addr) {
	var regs unwind.Regs
	for i := range 16 {
		regs.Set(i, 0x10000+c.rnd.Uint64N(1<<40)&^15)
	}
	regs.Set(6, regs.Val[7]+0x400) // the frame is above the stack pointer
	regs.Set(16, uint64(a))
	u := unwind.New(anyMemory{}, []unwind.Module{{Mod: c.m, Lo: 0, Hi: 1 << 32}}, unwind.Options{MaxFrames: 16})
	st := u.Walk(regs)
	if len(st.Frames) == 0 {
		return
	}
	scope := NewPointScope(c.m, a, 0, nil)
	locals := u.Locals(&st.Frames[0])
	for i := range locals {
		l := &locals[i]
		if size := sizeOf(l.Type); l.Name == "" || size < 1 || size > 8 || l.Type.Strip().Kind != symbol.KindBase {
			continue
		}
		c.seen++
		one := *scope
		one.Locals, one.unclear = []symbol.Local{l.Local}, ""
		one.Locals[0].Name = "x"
		e, err := expr.New("x", scope.Language, &one)
		if err != nil {
			if l.Place.Kind == unwind.PlaceNone {
				c.gone++
			} else {
				c.unclear++
			}
			continue
		}
		c.compare(a, l, e, regs)
	}
}

func (c *placeTally) compare(a symbol.Addr, l *unwind.Local, e *expr.Expr, regs unwind.Regs) {
	env := &expr.Env{Memory: anyMemory{}, Frame: fixedRegs{regs},
		Bias: func(*symbol.Module) (uint64, bool) { return 0, true }}
	at, inMemory, err := e.Addr(env)
	switch {
	case err == nil && inMemory && l.Place.Kind == unwind.PlaceMemory:
		if at != l.Place.Addr {
			c.t.Errorf("%#x: %s is at %#x, the unwinder has %#x (% x)", uint64(a), l.Name, at, l.Place.Addr, l.Loc.Expr)
			return
		}
		c.same++
	case l.Place.Kind == unwind.PlaceRegister && l.Place.Reg < 16 || l.Place.Kind == unwind.PlaceConst:
		w, err := e.Word(env)
		var want [8]byte
		copy(want[:sizeOf(l.Type)], l.Place.Bytes)
		size := uint(8 * sizeOf(l.Type))
		if e.Type().Kind() == expr.KindBool && binary.LittleEndian.Uint64(want[:]) != 0 {
			want = [8]byte{1}
		}
		if err != nil || w<<(64-size) != binary.LittleEndian.Uint64(want[:])<<(64-size) {
			c.t.Errorf("%#x: %s = %#x, %v, the unwinder has % x (% x)", uint64(a), l.Name, w, err, l.Place.Bytes, l.Loc.Expr)
			return
		}
		c.same++
	default:
		c.unclear++
	}
}

// FuzzPlacer runs any location expression over steps, and what they come to as an expression.
func FuzzPlacer(f *testing.F) {
	for _, code := range []string{"\x91\x70", "\x50", "\x70\x08\x06\x23\x04", "\x73\x00\x31\x1c\x9f",
		"\x30\x9f\x93\x04\x51\x93\x04", "\x03\x00\x10\x00\x00\x00\x00\x00\x00", "\x12\x16\x14", "\x9e\x03abc",
		"\x70\x00\x12\x1e\x12\x1e\x12\x1e\x12\x1e\x9f"} {
		f.Add([]byte(code))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		p := &placer{mod: &symbol.Module{}, cfa: []expr.Step{{Kind: expr.StepReg, Reg: 7, N: 16}},
			base: []expr.Step{{Kind: expr.StepReg, Reg: 6}}}
		s := &PointScope{}
		s.Locals = []symbol.Local{{Name: "x", Loc: symbol.Location{Kind: symbol.LocExpr, Expr: code}}}
		s.Place = func(l *symbol.Local) expr.Place { at, _ := p.place(l); return at }
		e, err := expr.New("x == 1", symbol.LangC, s)
		if err == nil {
			e.AtPoint().Compile()
		}
	})
}
