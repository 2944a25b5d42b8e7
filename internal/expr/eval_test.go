package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// evalCase is an expression and its value as JSON; or, behind "error: ", a part of its message.
type evalCase struct{ src, want string }

func runCases(t *testing.T, p *target, lang symbol.Language, cases []evalCase) {
	t.Helper()
	for _, tc := range cases {
		got := evalText(p, lang, tc.src)
		if part, ok := strings.CutPrefix(tc.want, "error: "); ok {
			if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, part) {
				t.Errorf("%s = %s, want an error with %q", tc.src, got, part)
			}
			continue
		}
		if got != tc.want {
			t.Errorf("%s = %s, want %s", tc.src, got, tc.want)
		}
	}
}

func evalText(p *target, lang symbol.Language, src string) string {
	e, err := New(src, lang, p)
	if err != nil {
		var bad *Error
		if !errors.As(err, &bad) || bad.Pos < 0 || bad.Pos > len(src) {
			return "bad error " + err.Error()
		}
		return "error: " + err.Error() + " | " + bad.Hint
	}
	r, err := e.Eval(p.env())
	if err != nil {
		var bad *EvalError
		if !errors.As(err, &bad) {
			return "bad error " + err.Error()
		}
		return "error: " + err.Error()
	}
	if r.Object {
		return "object of " + r.Type.String()
	}
	return string(r.Value.AppendJSON(nil))
}

func TestEvalC(t *testing.T) {
	p := start(t, "vars.c", "gcc", "-O0")
	runCases(t, p, symbol.LangC, []evalCase{
		{"1", "1"}, {"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"0x10 + 010 + 0b11", "27"}, {"10 / 3", "3"}, {"-10 / 3", "-3"},
		{"-10 % 3", "-1"},
		{"10u / 3", "3"}, {"-1 < 1u", "false"}, {"-1 < 1", "true"}, {"-1L < 1u", "true"}, {"1 << 31", "-2147483648"},
		{"1u << 31", "2147483648"},
		{"2147483647 + 1", "-2147483648"}, {"2147483648 + 1", "2147483649"}, {"~0", "-1"}, {"~0u", "4294967295"},
		{"!5", "false"}, {"!0", "true"},
		{"1 ? 2 : 3", "2"}, {"0 ? 2 : 1 ? 4 : 5", "4"}, {"1 && 0 || 1", "true"}, {"not 1 == 2", "true"},
		{"1 and not 0", "true"}, {"0 or 0", "false"},
		{"5 & 3 == 3", "1"}, {"(5 & 3) == 1", "true"}, {"6 ^ 3", "5"}, {"6 | 1", "7"}, {"-8 >> 1", "-4"}, {"1 << 33", "2"},
		{"'a'", `"a"`}, {"'a' + 1", "98"},
		{"'\\n' == 10", "true"}, {"1.5 + 1", "2.5"}, {"7 / 2.0", "3.5"}, {"(int)3.9", "3"}, {"(unsigned char)300", "44"},
		{"(signed char)200", "-56"},
		{"1e3", "1000"}, {"true", "true"}, {"null", "null"}, {`"a" == "a"`, "true"}, {`"a" "b"`, "error: expected the end"},
		{"1 / 0", "error: division by zero"},
		{"1 % (1 - 1)", "error: division by zero"}, {"1'000'000", "1000000"},
		{"18446744073709551615", "18446744073709551615"}, {"18446744073709551616", "error: too large"},
		{"i8", "-128"}, {"u8", "255"}, {"i16", "-32768"}, {"u16", "65535"}, {"i32", "-2147483648"}, {"u32", "4294967295"},
		{"i64", "-9223372036854775808"},
		{"u64", "18446744073709551615"}, {"c", `"x"`}, {"c == 'x'", "true"}, {"yes", "true"}, {"no || yes", "true"},
		{"wc", "8364"}, {"wc == L'€'", "true"},
		{"f32", "0.1"}, {"f64", "1e+300"}, {"f32 == 0.1f", "true"}, {"f32 == 0.1", "false"}, {"u8 + 1", "256"},
		{"i8 - 1", "-129"}, {"u8 * u8", "65025"},
		{"-u8", "-255"}, {"~u8", "-256"}, {"u32 + 1", "0"}, {"u32 + 1l", "4294967296"}, {"u64 + 1", "0"},
		{"i64 - 1", "9223372036854775807"}, {"i64 / -1", "-9223372036854775808"},
		{"i32 / -1", "-2147483648"}, {"i32 < u32", "true"}, {"-1 > u32", "false"}, {"-1 == u32", "true"},
		{"-1L == u32", "false"}, {"u16 == 65535", "true"},
		{"list->id", "-3"}, {"list.id", "-3"}, {"head->id", "-3"}, {"(*list).id", "-3"}, {"list[0].id", "-3"},
		{"list->next->id", "7"}, {"list->next->next", "null"},
		{"list->next->next->id", "error: null pointer"}, {"list->level", "200"}, {"list->delta", "-100"}, {"head.low", "5"},
		{"head.mid", "-9"}, {"head.high", "1094624909430"},
		{"head.low + head.mid", "-4"}, {"head.mid < head.low", "true"}, {"&head.low", "error: bit-field"},
		{"head.name", `"head of the list"`}, {"tail.name", `"tail"`},
		{"list->title", `"a title"`}, {"tail.title", "null"}, {"*list->title", `"a"`}, {"list->title[2]", `"t"`},
		{"head.in.x", "42"}, {"head.in.raw[3]", "250"}, {"head.many[3].raw[1]", "8"},
		{"head.many[i8 + 130].x", "30"}, {"head.as_int", "1065353216"}, {"head.as_float", "1"}, {"head.weight", "2.25"},
		{"head.weight * 2 == 4.5", "true"},
		{"head.color", `"GREEN"`}, {"head.color == GREEN", "true"}, {"tail.color == BLUE", "true"},
		{"GREEN == head.color", "true"}, {`head.color == "GREEN"`, "true"},
		{`head.color == "PURPLE"`, "error: is no text | Its names are RED, GREEN, BLUE"},
		{"head.color == PURPLE", "error: PURPLE is not known"}, {"head.color + 1", "6"}, {"bits", `"FLAG_A|FLAG_B"`},
		{"bits & FLAG_A", "1"},
		{"bits == FLAG_A", "false"}, {"head.ok", "true"}, {"head.fn == null", "true"}, {"head.fn", "null"},
		{"head.wide", "18446744073709551621"}, {"(int)head.wide", "5"}, {"head.wide + 1", "error: 128-bit"},
		{"head.ext", "1.5"}, {"head.ext + 1", "error: cannot be computed with"}, {"head.in", "object of inner_t"},
		{"head.many", "object of inner_t[4]"}, {"*list", "object of node"},
		{"numbers[3]", "9"}, {"*(numbers + 4)", "16"}, {"4[numbers]", "16"}, {"*numbers", "0"},
		{"&numbers[3] - &numbers[1]", "2"}, {"grid[1][2]", "12"}, {"*grid[2]", "20"}, {"**grid", "0"},
		{"numbers[numbers[2]]", "16"}, {"&numbers[2] > numbers", "true"}, {"*(&numbers[2] - 1)", "1"}, {"len(numbers)", "10"},
		{"len(grid[0])", "4"},
		{"text", `"abc"`}, {"full", `"wxyz"`}, {"len(text)", "3"}, {"len(full)", "4"}, {"len(str)", "12"},
		{`text == "abc"`, "true"}, {`"abc" == text`, "true"}, {`text == "abcd"`, "false"}, {`text == "ab"`, "false"},
		{`full == "wxyz"`, "true"}, {`full == "wxyzz"`, "false"}, {`full != "wxy"`, "true"},
		{`str == "hello, world"`, "true"}, {`str == "hello"`, "false"}, {`nothing == "x"`, "false"},
		{`nothing != "x"`, "true"},
		{"page", `"` + strings.Repeat("y", 1024) + `…(+476 bytes)"`},
		{"paged", `"` + strings.Repeat("y", 1024) + `…(+475 bytes)"`},
		{"endless", `"` + strings.Repeat("e", 1024) + `…(+≥65536 bytes)"`},
		{"len(page)", "1499"}, {"len(paged)", "1499"}, {"len(endless)", "error: longer than 2048 bytes"},
		{"nothing == null", "true"}, {"str != NULL && str[0] == 'h'", "true"}, {"nothing", "null"},
		{"wild", `"0x8 <unreadable>"`}, {`wild == "a"`, "error: null pointer"}, {"*wild", "error: null pointer"},
		{"len(nothing)", "error: null pointer"},
		{`str < "x"`, "error: == and != only"}, {`i32 == "x"`, "error: int is no text"}, {"str == text", "false"},
		{`head.in.raw == "\x01\x02\x03\xfa"`, "true"},
		{"*raw", "error: points to no known type"}, {"((struct node *)raw)->id", "-3"},
		{"((node*)raw)->next->name", `"tail"`}, {"(struct node *)raw == list", "true"},
		{"raw == list && raw == &head", "true"}, {"secret->x", "error: declared only"}, {"*(int *)raw", "-3"},
		{"((int *)raw)[0]", "-3"}, {"(uint64_t)raw == (uint64_t)&head", "true"}, {"(int)(char)u16", "-1"},
		{"(u8)(x)", "error: x is not known"},
		{"(long)i32 - 1", "-2147483649"}, {"(unsigned short)i32", "0"}, {"(bool)i32", "true"}, {"(float)1 / 3", "0.33333334"},
		{"(double)1 / 3", "0.3333333333333333"}, {"i32 as uint8_t", "0"},
		{"u16 as uint8_t + 1", "256"}, {"static_cast<unsigned char>(u16)", "255"}, {"uint8_t(u16) == 255", "true"},
		{"(i32) - 1", "2147483647"}, {"(int) - 1", "-1"}, {"(inner_t)raw", "error: cannot be cast"},
		{"$thread", "77"}, {"$pid", "66"}, {"$threadName", `"worker-1"`}, {`$threadName == "worker-1"`, "true"},
		{`"x" == $threadName`, "false"}, {"$return", "error: no result"}, {"$rax", "error: $rax is not known"},
		{"args[0]->id", "-3"}, {"args[99]", "error: no argument 99"}, {"args", "error: args must"}, {"$args[3]", "-128"},
		{"args[i8]", "error: must be a number"},
		{"lst->id", "error: Did you mean list"}, {"list->idd", "error: node has no member idd | Did you mean id?"},
		{"list->nme", "error: Did you mean name"}, {"head.in.zebra", "error: It has x, raw"},
		{"head + 1", "error: is a struct, not a number"}, {"numbers + numbers", "error: cannot be done"},
		{"list + 1.5", "error: cannot be done"}, {"head && 1", "error: neither true nor false"}, {"str + 1 == str", "false"},
		{"(i32 ? list : 0)->id", "-3"}, {"(yes ? head : tail).id", "-3"}, {"(no ? head : tail).id", "7"},
		{"no ? 1 : 2.5", "2.5"}, {"yes ? 1 : 2u", "1"}, {"yes ? 'a' : 98", "97"},
		{"len(i32)", "error: len of"}, {"list->next[0].id", "7"}, {"*&head.id", "-3"}, {"&*list == list", "true"},
		{"&5", "error: only what is in memory"}, {"i32 = 5", "error: assignment"},
		{"probe(1)", "error: a call is not possible"},
	}[:])
}
