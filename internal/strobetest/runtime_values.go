package strobetest

import (
	"strings"
	"testing"
)

// valueCase is one kind of value: what its function's argument and result look like.
type valueCase struct{ function, behaviour, want string }

var valueCases = []valueCase{
	{"small", "an integer is a number", "42"},
	{"negative", "a negative integer is a number", "-7"},
	{"large", "an integer of 64 bits is exact", "9223372036854775807"},
	{"huge", "an integer of any size is exact", "1000000000000000000000000000000"},
	{"fraction", "a float is a number", "0.5"},
	{"notNumber", "NaN is told", `"NaN"`},
	{"infinite", "infinity is told", `"Infinity"`},
	{"text", "a text is Unicode", `"naïve 😀"`},
	{"nulText", "a text may contain NUL", `"a\u0000b"`},
	{"surrogate", "half a surrogate pair in a text harms nothing", `"a�b"`},
	{"longText", "a text of 1,025 bytes is cut at 1,024, and says by how much", `"` + strings.Repeat("a", 1024) +
		`…(+1 bytes)"`},
	{"binary", "bytes are text and escapes", `"b\"\\x00\\xff\""`},
	{"truth", "a boolean is one", "true"},
	{"missing", "nothing is null", "null"},
	{"listed", "a list is one, with values of all kinds", `[1,"two",null]`},
	{"mapped", "a mapping has its keys", `{"a":1,"b":[2]}`},
	{"mixed", "what is nested deeper than asked says so", `{"a":[{"b":"<max depth 3 reached>"}]}`},
}

func valueBehaviours(t *testing.T, r *suite) {
	p := r.runs(t, "values")
	tl := p.timeline(t)
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	for _, c := range valueCases {
		want := c.want
		if r.sub.Lang == "go" && c.function == "mapped" { // what an interface holds has its type, where its form does not say
			want = `{"a":1,"b":{"type":"[]int","value":[2]}}`
		}
		is(c.behaviour, func(t *testing.T) { wantCall(t, tl.one(t, c.function), "x", want, want) })
	}
	has := func(t *testing.T, function string, parts ...string) {
		t.Helper()
		v := tl.one(t, function).arg("x")
		for _, part := range parts {
			if !strings.Contains(v, part) {
				t.Errorf("%s has no %s: %.300s", function, part, v)
			}
		}
	}
	is("a text of a megabyte is cut, and says so", func(t *testing.T) {
		has(t, "hugeText", strings.Repeat("a", 1024)+"…(+")
		if n := len(tl.one(t, "hugeText").arg("x")); n > 1100 {
			t.Errorf("%d bytes of it", n)
		}
	})
	is("an object has its fields", func(t *testing.T) { has(t, "instance", `"id":7`, `"name":"pear"`) })
	is("an object has its class", func(t *testing.T) { has(t, "instance", `"$class":`, `Item"`) })
	is("a circle of references is told", func(t *testing.T) { has(t, "cycle", "<circular ref to 0x") })
	is("objects are followed as deep as asked", func(t *testing.T) {
		has(t, "nested", `"id":0`, `"id":2`, "<max depth 3 reached>")
		if strings.Contains(tl.one(t, "nested").arg("x"), `"id":3`) {
			t.Error("deeper than 3")
		}
	})
	is("a list of 101 elements is cut at 100, and says so",
		func(t *testing.T) { has(t, "many", "98,99,\"…(+1 elements)\"]") })
	is("a big structure is bounded, and says so", func(t *testing.T) {
		if v := tl.one(t, "big").arg("x"); len(v) > 40<<10 || !strings.Contains(v, "<max depth") &&
			!strings.Contains(v, "…") {
			t.Errorf("%d bytes: %.200s", len(v), v)
		}
	})
	is("a function is told by its name", func(t *testing.T) { has(t, "func", r.spell("values", "small")) })
	is("no code of the program runs for its values", func(t *testing.T) {
		if st := p.status(t); st.ExitCode == nil || *st.ExitCode != 0 || len(tl.of("hostile")) == 0 {
			t.Errorf("ended %+v", st)
		}
	})
	is("values are those at the call, whatever changes them later", func(t *testing.T) {
		has(t, "changed", `"id":7`)
		if v := tl.one(t, "changed").result(); !strings.Contains(v, `"id":99`) {
			t.Errorf("result %s", v)
		}
	})
}
