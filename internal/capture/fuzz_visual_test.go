package capture

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// describedTypes takes objects for descriptions to be of: T of every pattern below, and what they lead to.
const describedTypes = `
namespace my {
struct Node { Node *next, *prev; int key; const char *text; double d; unsigned bits : 3, more : 29; };
template <class A, class B> struct T { A *first; B second; unsigned long n; Node *head; Node in; union { long l; A *p; } u; T *self; unsigned char raw[16]; };
struct Base { int kept; Node *list; }; struct Derived : Base { T<int, Base> part; };
enum class E : short { one = 1, two };
struct Empty {};
}
void f_int(my::T<int, my::E> *t) {}
void f_nested(const my::T<my::T<int, int>, my::Empty> &t, my::T<char, my::Derived> v) {}
void f_base(my::Base *b, my::Derived &d, my::Node n) {}
int main() { my::Derived d{}; f_int(0); f_nested({}, {}); f_base(0, d, {}); }
`

// words are what expressions and elements of hostile descriptions are made of.
var words = []string{"first", "second", "n", "head", "in", "u", "self", "raw", "next", "prev", "key", "text", "d",
	"bits", "kept", "list", "part", "$T1", "$T2", "$T9",
	"$i", "$j", "this", "*this", "0", "1", "-1", "18446744073709551615", "0x7fffffffffffffff", "1e300", "'c'", "\"s\"",
	"sizeof(*this)", "(my::Node*)", "(char*)", "($T1*)", "f()", "g(1,2)",
	"i", "j", "my::E::two", "nullptr", "&", "*", "->", ".", "[", "]", "(", ")", "+", "-", "/", "%", "<<", ">>", "?", ":",
	"&&", "||", "!", "==", "<", ",x", ",s", ",su", ",[n]", ",[99999999999]", ",view(v)", ",na", ",!"}

// hostile makes an expression, mostly one that means something.
func hostile(rng *rand.Rand) string {
	good := []string{"n", "first[$i]", "head->key", "in.next", "self->n", "*self", "n * 1000000", "$i < 3 ? n : first[0]",
		"u.l % n", "raw,[n]s", "text,s", "head", "second", "kept", "list", "n - 1",
		"1 << n", "n / 0", "f()", "g(n, $i)", "i", "i + 1", "(char*)&raw", "*(my::Node**)&raw", "(($T1*)first)[$i]",
		"self->self->self->self", "bits", "d", "&in", "next", "key", "prev->next"}
	if rng.IntN(4) > 0 {
		return good[rng.IntN(len(good))]
	}
	var b strings.Builder
	for range 1 + rng.IntN(9) {
		b.WriteString(words[rng.IntN(len(words))])
	}
	return b.String()
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace

// element makes a random element, with what its kind needs, most of the time.
func element(rng *rand.Rand, depth int) string {
	x := func() string { return escape(hostile(rng)) }
	cond := func() string {
		if rng.IntN(3) == 0 {
			return ` Condition="` + x() + `"`
		}
		return ""
	}
	inner := func() string {
		var b strings.Builder
		for range rng.IntN(3) {
			if depth > 0 {
				b.WriteString(element(rng, depth-1))
			}
		}
		return b.String()
	}
	switch rng.IntN(16) {
	case 0, 1:
		return "<DisplayString" + cond() + ">a {" + x() + "} {{ {" + x() + "}</DisplayString>"
	case 2:
		return "<StringView" + cond() + ">" + x() + "</StringView>"
	case 3:
		return "<Intrinsic Name=\"f\" Expression=\"" + x() + "\"/>"
	case 4:
		return "<Intrinsic Name=\"g\" Expression=\"" + x() + "\"><Parameter Name=\"p\" Type=\"int\"/></Intrinsic>"
	case 5:
		return "<SmartPointer>" + x() + "</SmartPointer>"
	case 6:
		return "<Item Name=\"" + x() + "\"" + cond() + ">" + x() + "</Item>"
	case 7:
		return "<ArrayItems" + cond() + "><Rank>" + []string{"1", "2", "n", "99"}[rng.IntN(4)] + "</Rank><Size>" + x() +
			"</Size><ValuePointer>" + x() + "</ValuePointer></ArrayItems>"
	case 8:
		return "<IndexListItems" + cond() + "><Size>" + x() + "</Size><ValueNode Name=\"[{" + x() + "}]\">" + x() +
			"</ValueNode></IndexListItems>"
	case 9:
		return "<LinkedListItems><HeadPointer>" + x() + "</HeadPointer><NextPointer>next</NextPointer><ValueNode>" + x() +
			"</ValueNode></LinkedListItems>"
	case 10:
		return "<TreeItems><Size>" + x() + "</Size><HeadPointer>" + x() +
			"</HeadPointer><LeftPointer>next</LeftPointer><RightPointer>prev</RightPointer><ValueNode>" + x() +
			"</ValueNode></TreeItems>"
	case 11, 12:
		return "<CustomListItems><Variable Name=\"i\" InitialValue=\"" + x() + "\"/>" + inner() + "<Loop" + cond() + ">" +
			inner() + "<Exec>i++</Exec><Item>" + x() + "</Item></Loop></CustomListItems>"
	case 13:
		return "<If Condition=\"" + x() + "\">" + inner() + "<Break/></If><Else>" + inner() + "</Else>"
	case 14:
		return "<Synthetic Name=\"s\"><DisplayString>" + x() + "</DisplayString><Expand>" + inner() + "</Expand></Synthetic>"
	}
	return "<Expand>" + inner() + element(rng, max(depth-1, 0)) + "<ExpandedItem>" + x() + "</ExpandedItem></Expand>"
}

// hostileFile makes a whole file of descriptions of describedTypes.
func hostileFile(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString("<AutoVisualizer>")
	for _, name := range []string{"my::T&lt;*&gt;", "my::T&lt;*,*&gt;", "my::T&lt;int,*&gt;", "my::Base", "my::Node",
		"my::Derived", "my::Empty", "my::T&lt;*&gt;"} {
		fmt.Fprintf(&b, `<Type Name="%s" Priority="%s" Inheritable="%v">`, name,
			[]string{"Low", "Medium", "High"}[rng.IntN(3)], rng.IntN(2) == 0)
		for range 1 + rng.IntN(4) {
			e := element(rng, 3)
			if rng.IntN(2) == 0 {
				e = "<Expand>" + e + "</Expand>"
			}
			b.WriteString(e)
		}
		b.WriteString("</Type>")
	}
	return b.String() + "</AutoVisualizer>"
}

// FuzzDescriptions compiles descriptions of any kind for the types of a program, walks objects whose memory holds
// anything, and shows what came of it: nothing panics, no file costs more than a moment, and what is shown is JSON
// within the limits of an event.
func FuzzDescriptions(f *testing.F) {
	m, err := symbol.Open(build(f, "described.cc", describedTypes, "g++", "-g", "-O0", "-std=c++17"), symbol.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.Close() })
	for seed := range uint64(60) {
		f.Add(seed, "")
	}
	one := func(body string) string {
		return `<AutoVisualizer><Type Name="my::T&lt;*&gt;">` + body + `</Type><Type Name="my::Node">` + body +
			`</Type></AutoVisualizer>`
	}
	for _, text := range []string{
		one(strings.Repeat("<Expand><Synthetic Name='s'>", 300) + strings.Repeat("</Synthetic></Expand>", 300)),
		one("<DisplayString>" + strings.Repeat("{n}", 500) + "</DisplayString>"),
		one("<DisplayString>{" + strings.Repeat("(", 5000) + "n" + strings.Repeat(")", 5000) + "}</DisplayString>"),
		one("<DisplayString>{" + strings.Repeat("-", 20000) + "n}</DisplayString>"),
		one("<DisplayString>{*this}</DisplayString>"), one("<DisplayString>{*self}{self->in}</DisplayString>"),
		one("<Expand><ExpandedItem>*this</ExpandedItem></Expand>"),
		one("<Intrinsic Name='f' Expression='f()+f()'/><DisplayString>{f()}</DisplayString>"),
		one("<Intrinsic Name='f' Expression='g()+g()+g()'/><Intrinsic Name='g' " +
			"Expression='f()+f()'/><DisplayString>{f()}</DisplayString>"),
		one("<Expand><ArrayItems><Size>-1</Size><ValuePointer>first</ValuePointer></ArrayItems></Expand>"),
		one("<Expand><ArrayItems><Rank>3</Rank><Size>n*n*n</Size><ValuePointer>raw</ValuePointer></ArrayItems></Expand>"),
		one("<Expand><CustomListItems><Loop><Item>self</Item></Loop></CustomListItems></Expand>"),
		one("<Expand><CustomListItems MaxItemsPerView='-5'>" + strings.Repeat("<Loop>", 400) + "<Item>n</Item>" +
			strings.Repeat("</Loop>", 400) + "</CustomListItems></Expand>"),
		one("<Expand><Item Name='x'>in,view(a)</Item></Expand>"), one("<StringView>raw,[n]su</StringView>"),
		one("<DisplayString>{u.l/0} {n%0}</DisplayString>"),
		`<!DOCTYPE a [<!ENTITY b "&c;&c;"><!ENTITY c "&b;&b;">]><AutoVisualizer><Type Name="&b;"/></AutoVisualizer>`,
		`<AutoVisualizer>` + strings.Repeat(`<Type Name="my::T&lt;`+strings.Repeat("*,", 200)+
			`*&gt;"><DisplayString>{$T64}</DisplayString></Type>`, 50) + `</AutoVisualizer>`,
	} {
		f.Add(uint64(1), text)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		rng := rand.New(rand.NewPCG(seed, 7))
		if text == "" {
			text = hostileFile(rng)
		}
		file, err := natvis.Parse("hostile.natvis", []byte(text))
		if err != nil {
			return
		}
		start := time.Now()
		set := natvis.NewSet(file)
		walks := NewWalks(set, nil)
		for i, fn := range m.Functions() {
			if !strings.HasPrefix(fn.Name, "f_") {
				continue
			}
			c, err := Compile(m, &m.Functions()[i], Options{Depth: 1 + int(seed%6), Walks: walks})
			if err != nil {
				t.Fatalf("%s: %v", fn.Name, err)
			}
			walkAnything(t, rng, c, walks, nil)
		}
		set.Summary()
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%d bytes of descriptions took %v", len(text), took)
		}
	})
}

// walkAnything runs the plan of a function over memory of any content, and shows the arguments.
func walkAnything(t *testing.T, rng *rand.Rand, c *Function, walks *Walks, memory []byte) {
	s := &machineState{memory: fuzzedMemory(rng, memory), cfa: rng.Uint64() >> 25}
	for i := range s.gpr {
		s.gpr[i] = rng.Uint64() >> 25
	}
	payload := s.run(argGPRs[:c.Plan.EnterGPRs], c.Plan.Enter, walks, c.Plan.Depth)
	if len(payload) > ring.MaxPayload+64 {
		t.Fatalf("%d bytes, at most %d", len(payload), ring.MaxPayload)
	}
	b := c.Layout.Enter(payload).AppendJSON(nil)
	if !json.Valid(b) {
		t.Fatalf("no JSON: %.200q", b)
	}
	if l, err := value.Unmarshal(c.Layout.Marshal()); err != nil || string(l.Enter(payload).AppendJSON(nil)) != string(b) {
		t.Fatalf("a layout that was stored shows other values: %v", err)
	}
}

// fuzzedMemory reads as anything at all, with holes; small counts and near pointers are likely, and words of memory, if
// there are any.
func fuzzedMemory(rng *rand.Rand, memory []byte) func(addr uint64, n int) []byte {
	return func(addr uint64, n int) []byte {
		if addr>>40 != 0 || addr%7 == 3 {
			return nil
		}
		b := make([]byte, n)
		for i := 0; i+8 <= n; i += 8 {
			w := rng.Uint64() >> (rng.Uint64() % 64)
			if len(memory) >= 8 && rng.IntN(2) == 0 {
				w = binary.LittleEndian.Uint64(memory[rng.IntN(len(memory)-7):])
			}
			if rng.IntN(3) == 0 {
				w = addr + uint64(rng.IntN(64))*8
			}
			binary.LittleEndian.PutUint64(b[i:], w)
		}
		return b
	}
}
