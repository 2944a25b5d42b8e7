package step

import "testing"

// rows of a function at 0x100 with a call of an inlined one in the middle, as a line table has them.
var testRows = []Place{
	{Lo: 0x100, Hi: 0x104, Line: Line{"a.c", 10}, Stmt: true},
	{Lo: 0x104, Hi: 0x108, Line: Line{"a.c", 11}, Stmt: true},
	{Lo: 0x108, Hi: 0x10c, Line: Line{"a.c", 12}, Stmt: false},
	{Lo: 0x10c, Hi: 0x110, Line: Line{"a.c", 11}, Stmt: true},
	{Lo: 0x110, Hi: 0x114, Line: Line{"a.c", 3}, Stmt: true}, // inlined, called at line 13
	{Lo: 0x114, Hi: 0x118, Line: Line{"a.c", 4}, Stmt: true}, // likewise
	{Lo: 0x118, Hi: 0x11c, Line: Line{"a.c", 0}},
	{Lo: 0x11c, Hi: 0x120, Line: Line{"a.c", 14}, Stmt: true},
}

// place is where a thread stands at pc in the function's activation with a CFA.
func place(t *testing.T, pc, cfa uint64) *Place {
	t.Helper()
	for _, r := range testRows {
		if pc < r.Lo || pc >= r.Hi {
			continue
		}
		p := r
		p.PC, p.Frame = pc, Frame{CFA: cfa, Chain: []uint64{1}}
		if pc >= 0x110 && pc < 0x118 {
			p.Frame.Chain, p.Calls = []uint64{1, 2}, []Line{{"a.c", 13}}
			if pc == 0x110 {
				p.Starts = 1
			}
		}
		return &p
	}
	t.Fatalf("no row at %#x", pc)
	return nil
}

// walk steps along addresses and returns where the step ends, 0 for not at all.
func walk(t *testing.T, k Kind, from uint64, skip int, way ...uint64) (pc uint64, left int) {
	t.Helper()
	s := Begin(k, place(t, from, 0x1000), skip)
	for _, pc := range way {
		if v, left := s.At(place(t, pc, 0x1000)); v == Stop {
			return pc, left
		}
	}
	return 0, 0
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     Kind
		from     uint64
		skip     int
		way      []uint64
		want     uint64
		wantSkip int
	}{
		{"to the next statement", Over, 0x100, 0, []uint64{0x102, 0x104}, 0x104, 0},
		{"not to what is no statement, and not to the same line behind it", Over, 0x104, 0,
			[]uint64{0x106, 0x108, 0x10a, 0x10c, 0x10e}, 0, 0},
		{"to the call of an inlined function", Over, 0x10c, 0, []uint64{0x10e, 0x110}, 0x110, 1},
		{"over an inlined function", Over, 0x110, 1, []uint64{0x112, 0x114, 0x116, 0x118, 0x11c}, 0x11c, 0},
		{"along an inlined function", Over, 0x110, 0, []uint64{0x112, 0x114}, 0x114, 0},
		{"into the middle of an inlined function", Into, 0x10c, 0, []uint64{0x10e, 0x114}, 0x114, 0},
		{"past code without a line", Over, 0x114, 0, []uint64{0x116, 0x118, 0x11a, 0x11c}, 0x11c, 0},
		{"into the middle of what is no statement, and to the line that it began in anew", Over, 0x104, 0,
			[]uint64{0x106, 0x10a, 0x10c}, 0x10c, 0},
		{"into the middle of a line, and to the next", Over, 0x100, 0, []uint64{0x106, 0x10c, 0x110}, 0x110, 1},
	} {
		if pc, skip := walk(t, c.kind, c.from, c.skip, c.way...); pc != c.want || skip != c.wantSkip {
			t.Errorf("%s: ends at %#x skipping %d, want %#x skipping %d", c.name, pc, skip, c.want, c.wantSkip)
		}
	}
}

// TestStepBackToCaller: a function returns into the middle of its caller's statement, which is finished.
func TestStepBackToCaller(t *testing.T) {
	s := Begin(Over, place(t, 0x11c, 0x900), 0)
	for _, c := range []struct {
		pc   uint64
		want Verdict
	}{{0x106, Go}, {0x108, Go}, {0x10c, Go}, {0x110, Stop}} {
		if v, _ := s.At(place(t, c.pc, 0x1000)); v != c.want {
			t.Fatalf("At(%#x) = %v, want %v", c.pc, v, c.want)
		}
	}
	out := BeginOut(place(t, 0x112, 0x1000), 0)
	if v, _ := out.At(place(t, 0x114, 0x1000)); v != Go {
		t.Errorf("out of an inlined call ends within it")
	}
	if v, _ := out.At(place(t, 0x11c, 0x1000)); v != Stop {
		t.Errorf("out of an inlined call does not end behind it")
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		code string
		want Class
		len  int
	}{
		{"\xe8\x01\x02\x03\x04", Call, 5}, {"\xff\xd0", Call, 2}, {"\xc3", Return, 1}, {"\xf3\xa4", Repeats, 2},
		{"\xa4", Plain, 1},
		{"\x9c", Pushes, 1}, {"\x90", Plain, 1}, {"\xeb\xfe", Plain, 2}, {"\x0f\x05", Plain, 2}, {"", Plain, 0},
		{"\x06", Plain, 0},
	} {
		if got, n := Classify([]byte(c.code)); got != c.want || n != c.len {
			t.Errorf("Classify(% x) = %v, %d, want %v, %d", c.code, got, n, c.want, c.len)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add([]byte("\xf2\x48\xa7"))
	f.Add([]byte("\x66\x9c"))
	f.Fuzz(func(t *testing.T, code []byte) {
		if _, n := Classify(code); n < 0 || n > len(code) || n > 15 {
			t.Errorf("Classify(% x) has length %d", code, n)
		}
	})
}
