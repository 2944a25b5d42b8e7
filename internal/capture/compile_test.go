package capture

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

func open(t testing.TB, bin string) *symbol.Module {
	t.Helper()
	m, err := symbol.Open(bin, symbol.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func find(t testing.TB, m *symbol.Module, name string) *symbol.Function {
	t.Helper()
	fns := m.Functions()
	for i := range fns {
		if fns[i].Name == name {
			return &fns[i]
		}
	}
	t.Fatalf("no function %s", name)
	return nil
}

const basics = `
#include <setjmp.h>
#include <stdarg.h>
struct big { long a[100]; };
struct pair { int x, y; };
int plain(int a, double b, const char *s) { return a; }
int sum(int n, ...) { return n; }
int old(a, b) int a, b; { return a + b; }
long eight(long a, long b, long c, long d, long e, long f, long g, short h) { return h; }
long byvalue(struct big b, long x) { return b.a[0] + x; }
struct big returned(void) { struct big b = {{0}}; return b; }
int pointer(struct pair *p, void (*f)(int), int *out) { return p->x; }
void nothing(void) {}
void unnamed(int a, int b) {}
int main(void) { struct big b = {{1}}; struct pair p = {1, 2}; int o; plain(1, 2, "x"); sum(1, 2); old(1, 2); nothing(); unnamed(1, 2);
  eight(1, 2, 3, 4, 5, 6, 7, 8); byvalue(b, 1); returned(); return pointer(&p, 0, &o); }
`

func TestPlans(t *testing.T) {
	m := open(t, build(t, "a.c", basics, "gcc", "-g", "-O0", "-w"))
	for _, c := range []struct {
		name              string
		gprs, exit, stack int
		enter, leave      []byte // operations
		args              int
	}{
		{"plain", 2, 1, 0, []byte{ring.OpXMM, ring.OpRoot}, nil, 3},
		{"sum", 1, 1, GuessedStack, nil, nil, 1},
		{"old", 2, 1, GuessedStack, nil, nil, 2},
		{"eight", 6, 1, 16, []byte{ring.OpStack}, nil, 8},
		{"byvalue", 1, 1, 800, []byte{ring.OpStack}, nil, 2},
		{"returned", 0, 1, 0, nil, []byte{ring.OpRoot}, 0},
		{"pointer", 3, 1, 0, []byte{ring.OpRoot}, nil, 3},
		{"nothing", 0, 0, 0, nil, nil, 0},
		{"unnamed", 2, 0, 0, nil, nil, 2},
	} {
		f, err := Compile(m, find(t, m, c.name), Options{Depth: 3, Walks: NewWalks(nil, nil)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p := f.Plan
		if p.EnterGPRs != c.gprs || p.ExitGPRs != c.exit || f.StackBytes != c.stack || len(f.Layout.Args) != c.args ||
			!f.HasDWARF {
			t.Errorf("%s: %d, %d registers, %d stack bytes, %d arguments; want %d, %d, %d, %d", c.name, p.EnterGPRs, p.ExitGPRs,
				f.StackBytes, len(f.Layout.Args), c.gprs, c.exit, c.stack, c.args)
		}
		if got := codes(p.Enter); got != string(c.enter) {
			t.Errorf("%s: enter operations %v, want %v", c.name, p.Enter, c.enter)
		}
		if got := codes(p.Exit); got != string(c.leave) {
			t.Errorf("%s: exit operations %v, want %v", c.name, p.Exit, c.leave)
		}
	}
}

func codes(ops []ring.Op) string {
	s := ""
	for _, o := range ops {
		s += string(rune(o.Code))
	}
	return s
}

func TestWithoutDebugInfo(t *testing.T) {
	m := open(t, build(t, "a.c", basics, "gcc", "-O1", "-w"))
	f, err := Compile(m, find(t, m, "plain"), Options{Depth: 1, Walks: NewWalks(nil, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if f.HasDWARF || f.StackBytes != GuessedStack || !f.FrameSafe || len(f.Layout.Args) != 0 || f.Plan.MaxEnter != 0 {
		t.Errorf("got %+v", f)
	}
	if f, _ := Compile(m, &symbol.Function{Name: "setjmp"}, Options{Depth: 1, Walks: NewWalks(nil, nil)}); f.FrameSafe {
		t.Error("setjmp may have a frame")
	}
}

// TestStatuses keeps the copy in package value equal to the agent's table.
func TestStatuses(t *testing.T) {
	l := &value.Layout{OnEnter: value.Shape{GPRs: 1, Nodes: true}, Depth: 1,
		Args:  []value.Field{{Name: "s", Pieces: []value.Piece{{Size: 8}}}},
		Types: []value.Type{{Class: value.ClassCString, Size: 8, Elem: -1}}}
	for status, want := range map[byte]string{ring.StatusOK: `"hi"`, ring.StatusUnreadable: "0x10 <unreadable>",
		ring.StatusCut: `"hi…(+7 bytes)"`} {
		p := []byte{16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, value.WalkText, 0, 1, status}
		if status == ring.StatusCut {
			p = append(p, 9, 0, 0, 0, 0, 0, 0, 0)
		}
		p = append(p, 'h', 'i', 0, 0, 0, 0, 0, 0)
		if got := l.Enter(p)[0].Value.String(); got != want {
			t.Errorf("status %d shows %s, want %s", status, got, want)
		}
	}
}

func TestNamedParams(t *testing.T) {
	for full, want := range map[string]int{
		"f()": 0, "f(int)": 1, "f(int, std::map<int, long>)": 2, "f": -1, "a::g(void (*)(int, int), char) const": 2,
		"h(int (&) [3])": 1,
	} {
		if got := namedParams(full); got != want {
			t.Errorf("namedParams(%q) = %d, want %d", full, got, want)
		}
	}
}

func FuzzCode(f *testing.F) {
	f.Add([]byte("\x55\x48\x89\xe5\x89\x7d\xfc\x8b\x45\xfc\x5d\xc3"), []byte{0x91, 0x6c})
	f.Add([]byte("\x48\x83\xec\x28\x48\x89\xf8\xe8\x00\x00\x00\x00\xc3"), []byte{0x55, 0x93, 0x08, 0x61, 0x93, 0x08})
	f.Add([]byte("\xf3\x0f\x1e\xfa\xc3"), []byte{0xa3, 0x01, 0x55, 0x9f})
	f.Fuzz(func(t *testing.T, code, expr []byte) {
		p := readPrologue(code)
		fr := p.frame(expr)
		l := evaluate(expr, 16, fr)
		p.stored(l.slot, 16)
		p.wholeFrame(code)
		readResults(code)
		readsBehind(code, &usage{})
		between(code, int64(len(expr)))
		findLeas(code, 0, func(symbol.Addr) {})
		returnsFirst(code)
		readsRegister(code, rdi)
		usesObject(code, rdi, 16)
		leavesByJump(code)
		namedParams(string(expr))
	})
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct {
		name, file string
		command    []string
	}{{"plain", "plain.c", []string{"gcc", "-g", "-w"}}, {"gcc-O0", "a.c", []string{"gcc", "-g", "-w"}},
		{"clang-O2", "a.c", []string{"clang", "-g", "-O2", "-w"}}, {"rust", "a.rs", []string{"rustc", "-g"}}} {
		b.Run(c.name, func(b *testing.B) {
			source, _ := sigcorpus.GenerateC(1, 200, false)
			if c.file == "plain.c" {
				source = "int f(int a, int b) { return a + b; }\nint main(void) { return f(1, 2); }\n"
			}
			if c.file == "a.rs" {
				source, _ = sigcorpus.GenerateRust(1, 100)
			}
			m := open(b, build(b, c.file, source, c.command...))
			fns := m.Functions()
			b.ReportAllocs()
			walks := NewWalks(nil, nil)
			for i := 0; b.Loop(); i++ {
				f, err := Compile(m, &fns[i%len(fns)], Options{Depth: 1, Walks: walks})
				if err != nil {
					b.Fatal(err)
				}
				f.Layout.Marshal()
			}
		})
	}
}
