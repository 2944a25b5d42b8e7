package value

import (
	"strings"
	"testing"
)

func TestTreeForms(t *testing.T) {
	l := NewTree([]string{"a", "b"}, 3)
	for _, c := range []struct{ in, json, short string }{
		{`{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`, `a=1, b="x"`},
		{`{"a":-5.5,"b":null}`, `{"a":-5.5,"b":null}`, `a=-5.5, b=null`},
		{`{"a":123456789012345678901234567890123456789012345678901234567890}`,
			`{"a":"123456789012345678901234567890123456789012345678901234567890"}`,
			`a=123456789012345678901234567890123456789012345678901234567890`},
		{`{"a":3.0,"b":3,"c":-0.0,"d":1e+22}`, `{"a":3.0,"b":3,"c":-0.0,"d":1e+22}`, `a=3.0, b=3, c=-0.0, d=1e+22`},
		{`{"a":{"$":"float","v":"NaN"},"b":{"$":"float","v":"-Infinity"}}`, `{"a":"NaN","b":"-Infinity"}`,
			`a=NaN, b=-Infinity`},
		{`{"a":{"$":"text","v":"abc","more":7}}`, `{"a":"abc…(+7 bytes)"}`, `a="abc…(+7 bytes)"`},
		{`{"a":{"$":"list","v":[1,2],"more":98}}`, `{"a":[1,2,"…(+98 elements)"]}`, `a=[1, 2 …+98]`},
		{`{"a":{"$":"dict","v":[["k",1],["$",2]]}}`, `{"a":{"k":1,"$":2}}`, `a={k: 1, $: 2}`},
		{`{"a":{"$":"dict","v":[[[1,2],1]],"more":3}}`, `{"a":[[[1,2],1],"…(+3 elements)"]}`, `a=[[[1, 2], 1] …+3]`},
		{`{"a":{"$":"obj","t":"shop.Order","v":{"id":7}}}`, `{"a":{"$class":"shop.Order","id":7}}`, `a=Order{id: 7}`},
		{`{"a":{"$":"name","v":"shop.total"}}`, `{"a":"shop.total"}`, `a=shop.total`},
		{`{"a":{"$":"depth","t":"Order"}}`, `{"a":"<max depth 3 reached>"}`, `a=<max depth 3 reached>`},
		{`{"a":{"$":"cycle","a":"0x7f"}}`, `{"a":"<circular ref to 0x7f>"}`, `a=<circular ref to 0x7f>`},
		{`{"a":{"$":"shape","t":"numpy.ndarray","v":"(3, 4) float64"}}`, `{"a":"numpy.ndarray(3, 4) float64"}`,
			`a=numpy.ndarray(3, 4) float64`},
		{`{"a":"\u00e9\ud83d\ude00\ud800x"}`, "{\"a\":\"é😀\uFFFDx\"}", "a=\"é😀\uFFFDx\""},
		{`{"a":{"$":"new","x":1}}`, `{"a":{"x":1}}`, `a={x: 1}`},
	} {
		o := l.Enter([]byte(c.in))
		if got := string(o.AppendJSON(nil)); got != c.json {
			t.Errorf("%s reads as %s, want %s", c.in, got, c.json)
		}
		if got := o.Short(200); got != c.short {
			t.Errorf("%s in short: %s, want %s", c.in, got, c.short)
		}
	}
}

// TestTreeLayout: a layout of trees is kept as others are, and what it reads cannot be told from theirs.
func TestTreeLayout(t *testing.T) {
	l, err := Unmarshal(NewTree([]string{"a", "ab"}, 5).Marshal())
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(`{"a":{"$":"obj","t":"C","v":{"x":[4,5]}},"ab":2}`)
	i, rest, ok := l.ArgIndex("a.x[1]")
	if !ok || i != 0 {
		t.Fatalf("index %d, %v", i, ok)
	}
	v, ok := l.EnterArg(payload, i)
	if !ok {
		t.Fatal("no first argument")
	}
	if at, ok := v.Path(rest); !ok || at.String() != "5" {
		t.Errorf("a.x[1] is %v, %v", at, ok)
	}
	if _, ok := l.EnterArg(payload, 2); ok {
		t.Error("a third argument")
	}
	if v, ok := l.Exit([]byte(`[1]`), 0, false); !ok || v.String() != "[1]" {
		t.Errorf("result %v, %v", v, ok)
	}
	if v, ok := l.Exit(nil, 0, false); ok {
		t.Errorf("a result without a payload: %v", v)
	}
	if v, ok := l.Thrown([]byte(`{"$":"obj","t":"ValueError","v":{}}`)); !ok ||
		!strings.Contains(v.String(), "ValueError") {
		t.Errorf("thrown %v, %v", v, ok)
	}
	if l.Depth != 5 || l.CodeStep() != 0 || l.Outs(payload) != nil || l.WatchValues(payload, false) != nil {
		t.Errorf("layout %+v", l)
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"$":"dict","v":[["k",1],[2]]}],"b":"\ud800\u12"}`))
	f.Add([]byte(strings.Repeat("[", 300)))
	f.Add([]byte(`{"$":"obj","v":[],"more":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := NewTree([]string{"a", "b"}, 3)
		l.Enter(b).Short(100)
		if v, ok := l.Exit(b, 0, true); ok {
			if _, err := ParseJSON(v.AppendJSON(nil)); err != nil {
				t.Errorf("%q gives %s: %v", b, v.AppendJSON(nil), err)
			}
		}
	})
}

func TestExceptionInOneLine(t *testing.T) {
	v, _ := NewTree(nil, 2).Thrown([]byte(`{"$":"obj","t":"Error","v":{"message":"expected 5\n\nreceived 4\r"}}`))
	if got := v.Exception(); got != `Error: expected 5\n\nreceived 4\r` {
		t.Errorf("%q", got)
	}
}

func TestBytesOfTree(t *testing.T) {
	for text, want := range map[string]string{
		`{"$":"bytes","v":"aGVsbG8K"}`:         `b"hello\n"`,
		`{"$":"bytes","v":"//4A","more":7}`:    `b"\xff\xfe\x00"…(+7 bytes)`,
		`{"$":"bytes","v":""}`:                 `b""`,
		`{"$":"bytes","v":"w6QiXA=="}`:         `b"ä\"\\"`,
		`{"$":"bytes","v":"no base64 at all"}`: `<unreadable>`,
	} {
		v, _ := NewTree(nil, 2).Exit([]byte(text), 0, true)
		if got := v.Short(200); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
