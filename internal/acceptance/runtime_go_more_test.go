package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestGoTrees: a panic says in each call that it leaves what it was, and a function has what it captured as it is at
// the call.
func TestGoTrees(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	for _, c := range []struct {
		program string
		want    []string
	}{
		{"panics", []string{
			"do(n=0) ✗ runtime.errorString: invalid memory address or nil pointer dereference ",
			"do(n=1) ✗ runtime.plainError: assignment to entry in nil map ",
			"do(n=2) ✗ runtime.boundsError: index out of range [2] with length 0 ",
			"do(n=3) ✗ *runtime.TypeAssertionError: ", "do(n=4) ✗ *errors.errorString: plain error ",
			"do(n=5) ✗ *fmt.wrapError: wrapped: file does not exist ", `do(n=6) ✗ *main.E: Code=7, Why="custom" `,
			"do(n=7) ✗ main.T: a=1, b=2 ", "do(n=8) ✗ panic: 42 ", "do(n=9) ✗ runtime.errorString: integer divide by zero ",
			"do(n=10) ✗ runtime.boundsError: slice bounds out of range [10:0] ", "do(n=11) ✗ ", "try(n=11) → 11 ", `"66\n"`,
		}},
		{"closures", []string{
			`counter.func1(by=1, n=0, step=3, a={name: "three", total: 0}) → 3 `,
			`counter.func1(by=2, n=3, step=3, a={name: "three", total: 3}) → 9 `,
			`main.func1(i=1, s="b", ok=true, seen={a: 0}, pre=["p", "q"])`, "main.func2(id=7, ok=true, done={len: 0",
			"main.func3(seen={a: 0, b: 1}, ok=false)",
		}},
		{"generics", []string{
			"main.Sum[go.shape.int](types=int, list=[1, 2, 3]) → 6 ",
			"main.Sum[go.shape.float64](types=main.Celsius, list=[1.5, 2]) → 3.5 ",
			`(types=string,int,main.P, m={a: 1}, f=main.main.func1) → [{Name: "a", Age: 1}] `,
			`.Push(types=main.P, s={items: []}, v={Name: "x", Age: 1}) `,
			`.Pop(types=main.P, s={items: [{Name: "x", Age: 1}]}) → {v: {Name: "x", Age: 1}, ok: true} `,
			`(types=main.P,*main.P, a={Name: "q", Age: 2}, b={Name: "r", Age: 3}) → {First: {Name: "q", Age: 2}, ` +
				`Second: {Name: "r", Age: 3}} `,
			"main.Same[go.shape.*uint8](types=*int, v=0x", "main.Same[go.shape.*uint8](types=*main.P, v=0x",
		}},
		{"library", []string{
			`reflected(v={type: "main.P", value: {Name: "refl", Age: 4}}) `, "reflected(v=7) ", "reflected(v=null) ",
			`reflected(v={type: "*main.P", value: {Name: "at", Age: 5}}) `,
			`reflected(v={type: "*main.P", value: {Name: "in", Age: 6}}) `, `typed(t="main.P") `,
			`atomics(i=42, b=1, p={Name: "atom", Age: 1}, v="val") `,
			"locks(m={mu: {state: 1, sema: 0}}, w={state: ", `valued(ctx={type: "*context.valueCtx", value: {Context: `,
			`key: {type: "main.key" …+1}, val: "me"}`,
			`renamed(ok=true, short="h", name="Help") `, `renamed(ok=true, short="o", name="") `,
			`times(t="2024-02-29T12:30:00.0000005Z", b=-123456789012345678901234567890) `,
		}},
	} {
		bin, root := goProgram(t, c.program)
		l := s.Launch(t, bin, root, nil, args{"trace": []string{"@usercode"}})
		s.WaitEnd(t, l.SessionID, endLimit)
		tree := s.Query(t, l.SessionID, args{"view": "tree", "unfold": true, "limit": 500}).Tree
		for _, want := range c.want {
			if !strings.Contains(tree, want) {
				t.Errorf("%s: no %q in\n%s", c.program, want, tree)
			}
		}
	}
}

// TestGoStripped: without debug information methods that an interface may call have their values, from what Go's runtime
// knows of types, and others at least what they are called on. What is shown is what the same program shows with it.
func TestGoStripped(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	trees := map[string]string{}
	for name, flags := range map[string][]string{"full": nil, "bare": {"-ldflags=-s -w"}} {
		bin, root := goProgram(t, "stripped", flags...)
		l := s.Launch(t, bin, root, nil, args{"trace": []string{"main.**"}, "serializationDepth": 3})
		s.WaitEnd(t, l.SessionID, endLimit)
		trees[name] = s.Query(t, l.SessionID, args{"view": "tree", "unfold": true, "limit": 500}).Tree
	}
	for _, want := range []struct{ full, bare string }{
		{`(*Square).Area(s={Side: 3, Name: "sq"}, scale=2) → 18 `, `(*Square).Area(recv={Side: 3, Name: "sq"}, arg0=2) → 18 `},
		{`Circle.Area(c={R: 1.5`, `Circle.Area(recv={R: 1.5, Tags: ["a", "b"]}, arg0=2) → 8 `},
		{`(*Store).Put(s={items: {}}, key="k", value={type: "main.Circle", value: {R: 1.5, Tags: ["a", "b"]}}) → null `,
			`(*Store).Put(recv={items: {}}, arg0="k", arg1={type: "main.Circle", value: {R: 1.5, Tags: ["a", "b"]}}) → null `},
		{`(*Store).Put(s={items: {k: {type: "main.Circle"`, `(*Store).Put(recv={items: {k: {type: "main.Circle"`},
		{`value=null) → {type: "*main.Full", value: {N: 2}} `, `arg1=null) → {type: "*main.Full", value: {N: 2}} `},
		{`(*Store).grow(s={items: {`, `(*Store).grow(recv={items: {`},
	} {
		if !strings.Contains(trees["full"], want.full) {
			t.Errorf("with debug information: no %q in\n%s", want.full, trees["full"])
		}
		if !strings.Contains(trees["bare"], want.bare) {
			t.Errorf("without: no %q in\n%s", want.bare, trees["bare"])
		}
	}
}
