//go:build linux && amd64

package unwind

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// place returns where a function of the program itself is.
func place(t *testing.T, s *stopped, name string) (lo, hi uint64) {
	t.Helper()
	m := &s.mods[0]
	a, size, ok := m.Mod.Symbol(name)
	if !ok {
		t.Fatalf("no symbol %s", name)
	}
	return uint64(a) + m.Bias, uint64(a) + m.Bias + size
}

// TestStubs walks through frames as our stubs make them, and from instructions displaced into them.
func TestStubs(t *testing.T) {
	for _, opt := range []string{"-O0", "-O2"} {
		bin := build(t, "crash.c", "gcc", opt)
		s := crash(t, bin, "stub")
		lo, hi := place(t, s, "stub")
		u := New(s, s.mods, Options{Stub: func(pc uint64) (uint64, bool) { return 0, pc >= lo && pc < hi }})
		got := u.Walk(s.regs)
		for i, f := range got.Frames {
			if f.Function == "stub" {
				t.Errorf("%s: a stub is shown:\n%s", opt, show(got))
			}
			if f.Function != "in_stub" {
				continue
			}
			if next := got.Frames[i+1]; next.Function != "main" || next.Trust != TrustCFI || next.Index != f.Index+1 {
				t.Errorf("%s: in_stub was called by %s (%v), want main", opt, next.Function, next.Trust)
			}
			if opt == "-O0" {
				for _, l := range u.Locals(&got.Frames[i]) {
					if n, ok := number(u, &l); l.Name == "b" && (!ok || n != 4) {
						t.Errorf("in_stub's b = %d, %v, want 4", n, ok)
					}
				}
			}
		}
		if got.End != EndOutermost {
			t.Errorf("%s: the stack ends %s: %s\n%s", opt, got.End, got.Reason, show(got))
		}

		s = crash(t, bin, "displaced")
		at, end := place(t, s, "displaced")
		entry, _ := place(t, s, "divide")
		got = Walk(s, s.regs, s.mods, Options{Stub: func(pc uint64) (uint64, bool) {
			if pc >= at && pc < end {
				return entry + pc - at, true
			}
			return 0, false
		}})
		if len(got.Frames) < 3 || got.Frames[0].Function != "divide" || got.Frames[0].PC != entry ||
			got.Frames[1].Function != "main" || got.Frames[1].Line == 0 {
			t.Errorf("%s: from a displaced instruction:\n%s", opt, show(got))
		}
	}
}

// memoryOf is memory with the same bytes over and over.
type memoryOf []byte

func (m memoryOf) Read(addr uint64, b []byte) error {
	for i := range b {
		b[i] = m[(addr+uint64(i))%uint64(len(m))]
	}
	return nil
}

func FuzzCFI(f *testing.F) {
	f.Add([]byte{0x0c, 7, 8, 0x90, 1}, []byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6}, uint64(0x1004), []byte("stack"))
	f.Add([]byte{0x0f, 6, 0x77, 8, 0x80, 0, 0x3f, 0x22}, []byte{0x0a, 0x0b, 0x16, 16, 2, 0x77, 0}, uint64(0x1000),
		[]byte{1})
	f.Fuzz(func(t *testing.T, initial, code []byte, pc uint64, mem []byte) {
		if len(mem) == 0 {
			return
		}
		e := symbol.FrameEntry{Lo: 0x1000, Hi: 0x2000, Initial: initial, Code: code, CodeAlign: 1, DataAlign: -8, RAReg: 16}
		w, err := execute(&e, pc)
		if err != nil {
			return
		}
		var regs Regs
		for i := range numRegs {
			regs.Set(i, pc*uint64(i+1))
		}
		u := New(memoryOf(mem), nil, Options{})
		u.apply(&w, &regs, 0)
	})
}

func FuzzExpression(f *testing.F) {
	f.Add([]byte{0x91, 0x6c}, []byte("m"))
	f.Add([]byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, []byte("m"))
	f.Add([]byte{0x30, 0x2f, 0xfc, 0xff}, []byte{0}) // a loop
	f.Add([]byte{0x50, 0x93, 4, 0x93, 4, 0x31, 0x9f, 0x9d, 3, 2}, []byte{7})
	f.Fuzz(func(t *testing.T, expr, mem []byte) {
		if len(mem) == 0 {
			return
		}
		var regs Regs
		for i := range numRegs {
			regs.Set(i, uint64(i)<<12)
		}
		u := New(memoryOf(mem), nil, Options{})
		e := evaluator{mem: &u.mem, regs: &regs, hasCFA: true, base: func() (uint64, error) { return 64, nil }}
		p := e.place(expr, nil)
		u.Value(p, 64)
	})
}

// FuzzMemory walks a real module's code over any registers and any stack.
func FuzzMemory(f *testing.F) {
	bin := build(f, "crash.c", "gcc", "-O2")
	m := module(f, bin)
	lo, hi := m.TextRange()
	f.Add(uint64(lo)+100, uint64(0x7000), uint64(0x7010), []byte("12345678"))
	f.Fuzz(func(t *testing.T, pc, rsp, rbp uint64, mem []byte) {
		if len(mem) == 0 {
			return
		}
		var regs Regs
		regs.Set(regRIP, uint64(lo)+pc%uint64(hi-lo))
		regs.Set(regRSP, rsp)
		regs.Set(regRBP, rbp)
		u := New(memoryOf(mem), []Module{{Mod: m, Lo: 0, Hi: uint64(hi)}}, Options{MaxFrames: 64})
		s := u.Walk(regs)
		if len(s.Frames) > 64 || s.End == "" {
			t.Errorf("%d frames, end %q", len(s.Frames), s.End)
		}
		for i := range s.Frames {
			u.Locals(&s.Frames[i])
		}
	})
}
