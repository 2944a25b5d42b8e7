package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct {
		src string
		pos int
		msg string
	}{
		{"", 0, "the expression is empty"},
		{"   ", 0, "the expression is empty"},
		{"(1 + 2", 6, "expected ')', the expression ends here"},
		{"(a b)", 3, "expected ')', found 'b'"},
		{"a +", 3, "expected an operand, the expression ends here"},
		{"a + * ", 6, "expected an operand, the expression ends here"},
		{"a ++", 4, "expected an operand, the expression ends here"},
		{"a[1", 3, "expected ']' behind the index, the expression ends here"},
		{"a.", 2, "expected a member's name behind '.', the expression ends here"},
		{"a->5x", 4, "expected the end of the expression, found 'x'"},
		{"a ? b", 5, "expected ':' of the conditional expression, the expression ends here"},
		{"a = 1", 2, "assignment is not possible here"},
		{"a; b", 1, "expected the end of the expression, found ';'"},
		{"f(x)", 1, "a call is not possible here"},
		{"a < b < c", 6, "comparisons cannot be chained"},
		{"'a", 0, "expected ' behind one character"},
		{"''", 0, "the character in quotes is missing"},
		{"\"abc", 0, "the text has no closing \""},
		{"1x", 1, "a number cannot end in \"x\""},
		{"09", 0, "the number 09 has a digit that base 8 does not have"},
		{"\xff", 0, "the expression is not valid UTF-8"},
		{"1 +\x00 2", 3, "unexpected '\\x00'"},
		{"alignof(int)", 0, "alignof is not part of the expression language"},
		{"(int *)", 7, "expected an operand behind the cast, the expression ends here"},
		{strings.Repeat("(", 5000), 4096, "the expression has 5000 bytes, more than 4096"},
		{strings.Repeat("(", 200) + "1", 100, "nested deeper than 200"},
		{strings.Repeat("!", 300) + "1", 199, "nested deeper than 200"},
		{"0b1f32", 0, "the number 0b1f32 cannot have the suffix f32"},
		{"0x", 0, "the number 0x has no digits"},
		{`"\q"`, 1, "unknown escape in a literal"},
		{`"\`, 1, "unknown escape in a literal"},
	} {
		_, err := Parse(tc.src, symbol.LangC)
		var bad *Error
		if !errors.As(err, &bad) || bad.Pos != tc.pos || bad.Msg != tc.msg {
			t.Errorf("Parse(%.40q) = %v, want position %d: %s", tc.src, err, tc.pos, tc.msg)
		}
	}
}

// FuzzParse also checks and evaluates what it can read, in a scope where every name is an integer.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a.b->c[1] + *p", "(uint64_t)x as u32", "a ? b : c && !d", `name == "ab\x41\u{e9}c"`,
		"T<int>::x::y", "file.c::v", "t.0.1",
		"1.5e3f + 0x1fu8 - 'a'", `r#"raw"# == s`, "((((1))))", "args[0] and not $return", "len(x) << 3",
		"static_cast<int*>(p)", "a<b>(c)", "-1 as *const u8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, lang := range []symbol.Language{symbol.LangC, symbol.LangRust} {
			s, err := Parse(src, lang)
			if err != nil {
				var bad *Error
				if !errors.As(err, &bad) || bad.Pos < 0 || bad.Pos > len(src) {
					t.Fatalf("%q: %#v", src, err)
				}
				continue
			}
			_ = s.Names()
			e, err := Check(s, anyName{})
			if err != nil {
				var bad *Error
				if !errors.As(err, &bad) || bad.Pos < 0 || bad.Pos > len(src) {
					t.Fatalf("%q: %#v", src, err)
				}
				continue
			}
			_, _ = e.Eval(&Env{})
		}
	})
}

// anyName knows every name as an unsigned integer of 64 bits.
type anyName struct{}

func (anyName) Lookup(name string) (Place, bool) {
	return Place{Kind: PlaceConst, Addr: uint64(len(name))}, true
}
func (anyName) Arg(i int) (Place, bool)                    { return Place{Kind: PlaceRegister, Reg: i}, true }
func (anyName) TypeNamed(name string) (*symbol.Type, bool) { return nil, false }
func (anyName) Near(name string) []string                  { return nil }

func TestNames(t *testing.T) {
	for src, want := range map[string]string{
		"file.c::count + 1":           "file.c::count",
		"Box<int>::made > ns::f":      "Box<int>::made ns::f",
		"::top && a < b && c > d":     "top a b c d",
		"a->b.c[i] + $return":         "a i $return",
		"Map<int, Key *>::size_ == x": "Map<int, Key *>::size_ x",
		"(T)x + (u)":                  "x u",
		"(a) - b":                     "a b",
		"x as *const Node == y":       "x y",
	} {
		s, err := Parse(src, symbol.LangCPP)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := strings.Join(s.Names(), " "); got != want {
			t.Errorf("Names(%s) = %s, want %s", src, got, want)
		}
	}
}
