package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// cMaker writes C expressions whose value C defines (with -fwrapv): no division by what may be zero, no
// shift by the width or more, no float that its integer cannot hold.
type cMaker struct{ *rand.Rand }

func (m cMaker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m cMaker) expr(depth int) string {
	if depth == 0 {
		return m.one("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "c", "yes", "no", "wc", "head.low", "head.mid",
			"head.level", "head.delta",
			"list->next->id", "head.color", "tail.color", "bits", "numbers[3]", "grid[1][2]", "text[1]", "1", "2u", "3l",
			"0x80000000", "4294967295", "'z'", "'\\xff'", "0ul", "u16 as uint8_t")
	}
	a := func() string { return m.expr(m.IntN(depth)) }
	switch m.IntN(10) {
	case 0:
		return m.one("-", "~", "!", "+") + "(" + a() + ")"
	case 1:
		return "(" + m.one("int", "unsigned", "long", "unsigned long", "short", "unsigned char", "signed char", "_Bool",
			"char", "uint16_t", "int64_t") + ")(" + a() + ")"
	case 2:
		return "(" + a() + " ? " + a() + " : " + a() + ")"
	case 3:
		return "(" + a() + m.one(" << ", " >> ") + "(" + a() + " & 31))"
	case 4:
		return "(" + a() + m.one(" / ", " % ") + m.one("7", "3u", "1000l", "255ul", "(u8 | 1)") + ")"
	case 5:
		return "(" + a() + m.one(" && ", " || ") + a() + ")"
	case 6:
		return "(" + a() + m.one(" == ", " != ", " < ", " <= ", " > ", " >= ") + a() + ")"
	}
	return "(" + a() + m.one(" + ", " - ", " * ", " & ", " | ", " ^ ") + a() + ")"
}

func (m cMaker) float(depth int) string {
	if depth == 0 {
		return m.one("f32", "1.5f", "0.1", "2.0f", "head.weight", "tail.weight", "(float)"+m.expr(1), "(double)"+m.expr(1),
			"head.as_float")
	}
	b := m.float(m.IntN(depth))
	if m.IntN(3) == 0 {
		b = m.expr(m.IntN(depth))
	}
	return "(" + m.float(m.IntN(depth)) + m.one(" + ", " - ", " * ", " / ") + b + ")"
}

// TestArithmeticIsC asks the C compiler for the value and the type of random expressions. It leaves out
// bit-fields wider than int: gcc computes with them in their own width, clang and C++ in that of
// their type, as we do.
func TestArithmeticIsC(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	m := cMaker{rand.New(rand.NewPCG(3, 4))}
	const count = 3000
	var sources []string
	var c strings.Builder
	include, err := filepath.Abs("testdata/vars.c")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&c, "#define main vars_main\n#include %q\n#undef main\n#include <string.h>\n", include)
	c.WriteString("static void num(unsigned long v, int size, int sign) { printf(\"%lx %d %d\\n\", v, size, sign); }\n" +
		"static void flo(double v, int size) { unsigned long b; memcpy(&b, &v, 8); printf(\"%lx %d 0\\n\", b, size); }\n")
	for i := range count {
		if i%100 == 0 {
			if i > 0 {
				c.WriteString("}\n")
			}
			fmt.Fprintf(&c, "static void part%d(void) {\n", i/100)
		}
		if i%4 == 3 {
			src := m.float(m.IntN(4))
			sources = append(sources, src)
			src = strings.ReplaceAll(src, "u16 as uint8_t", "(uint8_t)u16")
			fmt.Fprintf(&c, "flo(%s, sizeof(%s));\n", src, src)
			continue
		}
		src := m.expr(m.IntN(6))
		sources = append(sources, src)
		src = strings.ReplaceAll(src, "u16 as uint8_t", "(uint8_t)u16")
		fmt.Fprintf(&c, "num((unsigned long)(%s), sizeof(+(%s)), (__typeof__(+(%s)))-1 < 0);\n", src, src, src)
	}
	c.WriteString("}\nint main(void) {\n")
	for i := range count / 100 {
		fmt.Fprintf(&c, "part%d();\n", i)
	}
	c.WriteString("}\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "ask.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("gcc", "-w", "-O0", "-fwrapv", "-o", filepath.Join(dir, "ask"),
		file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.2000s", err, b)
	}
	out, err := exec.Command(filepath.Join(dir, "ask")).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != count {
		t.Fatalf("%d answers, want %d", len(lines), count)
	}
	for i, src := range sources {
		compareWithC(t, p, src, string(lines[i]))
	}
}

func compareWithC(t *testing.T, p *target, src, answer string) {
	t.Helper()
	var want uint64
	var size int64
	var sign int
	if _, err := fmt.Sscanf(answer, "%x %d %d", &want, &size, &sign); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	s, err := Parse(src, symbol.LangC)
	if err != nil {
		t.Errorf("%s: %v", src, err)
		return
	}
	e, err := Check(s, p)
	if err != nil {
		t.Errorf("%s: %v", src, err)
		return
	}
	got, err := e.Word(p.env())
	if err != nil {
		t.Errorf("%s: %v", src, err)
		return
	}
	typ := e.Type()
	switch {
	case typ.Kind() == KindFloat:
		if size == 4 {
			got = math.Float64bits(float64(math.Float32frombits(uint32(got))))
		}
		if typ.Size() != size || !sameFloat(math.Float64frombits(got), math.Float64frombits(want)) {
			t.Errorf("%s = %v of %d bytes, C has %v of %d", src, math.Float64frombits(got), typ.Size(),
				math.Float64frombits(want), size)
		}
	case got != want:
		t.Errorf("%s = %#x (%s), C has %#x", src, got, typ, want)
	case s.root.kind == astBinary && !isComparison(s.root.text) && s.root.text != "&&" && s.root.text != "||":
		if typ.Size() != size || typ.Signed() != (sign == 1) {
			t.Errorf("%s is of %d bytes, signed %v; C has %d, %v", src, typ.Size(), typ.Signed(), size, sign == 1)
		}
	}
}

// sameFloat takes -0 for 0: gcc folds 0.0 - x to -x for an x that was an integer.
func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
