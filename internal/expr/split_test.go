package expr

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// readLeaves does what the agent does for a Split.
func readLeaves(t *testing.T, s *Split, env *Env) (words []uint64, valid []bool) {
	t.Helper()
	for _, l := range s.Leaves {
		w, ok := uint64(0), false
		if l.Program == nil {
			w, ok = env.Frame.Reg(l.Reg)
		} else {
			ops, err := l.Program.Relocated(bias)
			if err != nil {
				t.Fatal(err)
			}
			w, err = emulate(ops, env)
			if errors.Is(err, errProgram) {
				t.Fatal(err)
			}
			ok = err == nil
		}
		words, valid = append(words, w), append(valid, ok)
	}
	return words, valid
}

// splitOn computes e from its leaves, and says how that went: the word that Eval has, or its error; where the
// error is that of a leaf, there is none but that it was unreadable.
func splitOn(t *testing.T, e *Expr, env *Env) string {
	t.Helper()
	s, err := e.Split()
	var refused *Error
	if errors.As(err, &refused) && refused.Code == fault.Unsupported && refused.Msg != "" && refused.Hint != "" {
		return "split: refused"
	}
	if err != nil || len(s.Leaves) > MaxLeaves {
		t.Fatalf("%s: %v", e.Source, err)
	}
	words, valid := readLeaves(t, s, env)
	got, gotErr := s.Finish(words, valid, env.ThreadName)
	want, wantErr := e.Word(env)
	var bad, is *EvalError
	switch {
	case wantErr == nil && gotErr == nil && got == want:
		return "split: equal"
	case errors.As(wantErr, &is) && errors.As(gotErr, &bad) && (bad.Reason == Unreadable || *bad == *is):
		return "split: errors"
	}
	t.Fatalf("%s: evaluated to %#x, %v; from %x, %v to %#x, %v", e.Source, want, wantErr, words, valid, got, gotErr)
	return ""
}

// TestSplit shows what is read in the target and what is refused.
func TestSplit(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	frame := frame{p.vars["tail"].Addr + 64, p.vars["tail"].Addr}
	for _, tc := range []struct {
		src    string
		leaves int
		want   uint64
		fails  bool
	}{
		{"f64 > 1.0 ? list->id : list->next->id", 3, ^uint64(2), false},
		{"f64 * 2 == f64 + f64", 1, 1, false},
		{"xmm < 0 && head.level + i16 * 3 > 5", 2, 0, false},
		{`$threadName == "worker"`, 0, 1, false},
		{`$threadName == "worker" || list->next->next->weight > 0.5`, 1, 1, false}, // what cannot be read is not needed
		{`$threadName != "worker" || list->next->next->weight > 0.5`, 1, 0, true},
		{"(int)(list->weight * 100)", 1, 225, false},
	} {
		e, err := New(tc.src, symbol.LangC, places{p, p.mod})
		if err != nil {
			t.Fatalf("%s: %v", tc.src, err)
		}
		s, err := e.Split()
		if err != nil {
			t.Errorf("%s: %v", tc.src, err)
			continue
		}
		env := &Env{Memory: p, Frame: frame, Bias: bias, ThreadName: "worker"}
		words, valid := readLeaves(t, s, env)
		got, err := s.Finish(words, valid, "worker")
		if (err != nil) != tc.fails || got != tc.want || len(s.Leaves) != tc.leaves {
			t.Errorf("%s: %d leaves, %#x, %v, want %d, %#x", tc.src, len(s.Leaves), got, err, tc.leaves, tc.want)
		}
	}
	for _, src := range []string{"numbers[(int)f64]", "f64 > 1 ? head : tail", "$threadName", `"text"`,
		"*(f32 > 1 ? &head.id : &tail.id) * 0.5"} {
		e, err := New(src, symbol.LangC, places{p, p.mod})
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		var refused *Error
		if _, err := e.Split(); !errors.As(err, &refused) || refused.Code != fault.Unsupported || refused.Hint == "" {
			t.Errorf("%s: %v, want it refused", src, err)
		} else {
			t.Logf("%s: %v: %s", src, refused, refused.Hint)
		}
	}
}

// TestSplitOnGarbage gives words of the wrong number, as a payload cut short has.
func TestSplitOnGarbage(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	e, err := New("f64 * 2 + f32", symbol.LangC, p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Split()
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]uint64{nil, {1}, {1, 2, 3}} {
		if _, err := s.Finish(words, []bool{true}, ""); err == nil {
			t.Errorf("%d words: no error", len(words))
		}
	}
}

// bytesAt is memory of one piece.
type bytesAt struct {
	addr uint64
	b    []byte
}

func (m bytesAt) Read(addr uint64, b []byte) error {
	if addr < m.addr || addr+uint64(len(b)) > m.addr+uint64(len(m.b)) || addr+uint64(len(b)) < addr {
		return io.EOF
	}
	copy(b, m.b[addr-m.addr:])
	return nil
}

// TestTextsAgree compares texts of many lengths, with and without their own, at the end of what can be read, by
// evaluation and by program.
func TestTextsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	lengths := []int{0, 1, 7, 8, 9, 64, 100, maxTextCmpNUL - 1, maxTextCmpNUL, maxTextCmpNUL + 1, maxTextCmp - 1,
		maxTextCmp, maxTextCmp + 1, 5000}
	const at = 0x10000
	counts := map[string]int{}
	for range 20000 {
		mem := bytesAt{at, make([]byte, 12000)}
		size := lengths[r.IntN(len(lengths))]
		for i := range mem.b {
			mem.b[i] = "abc"[r.Uint64N(3)]
		}
		second := 6000
		if r.IntN(3) == 0 { // up to the end of memory, or beyond
			second = min(12000-size+r.IntN(3)-1, 12000)
		}
		copy(mem.b[second:], mem.b[:size])
		if r.IntN(2) == 0 && second+size < len(mem.b) {
			mem.b[second+size] = 0
		}
		switch r.IntN(4) {
		case 0:
			mem.b[min(second+r.IntN(size+1), len(mem.b)-1)] = "a\x00"[r.IntN(2)]
		case 1: // a NUL in both
			k := r.IntN(size + 1)
			mem.b[k], mem.b[min(second+k, len(mem.b)-1)] = 0, 0
		}
		x := &textRef{ptr: constant(at), count: constant(uint64(size)), max: -1}
		y := &textRef{ptr: constant(at + uint64(second)), max: -1}
		switch r.IntN(5) {
		case 0:
			y.max = int64(size + r.IntN(3) - 1)
		case 1, 2:
			y.count = constant(uint64(max(size-r.IntN(8)/7, 0)))
		case 3:
			y.ptr = constant(uint64(at*r.IntN(3)/2 + second*r.IntN(2)))
		}
		if r.IntN(2) == 0 {
			x, y = y, x
		}
		e := &Expr{Source: "x == y", typ: typeBool, val: build(node{op: opTextCmp, x: x, y: y})}
		how := agreeOn(t, e, &Env{Memory: mem})
		if w, err := e.Word(&Env{Memory: mem}); err == nil && w == 1 {
			how = "alike"
		}
		counts[how]++
	}
	t.Log(counts)
	if counts["alike"] < 2000 || counts["equal"] < 2000 || counts["errors"] < 1000 {
		t.Errorf("the texts have become one-sided: %v", counts)
	}
}
