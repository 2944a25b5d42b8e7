package acceptance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const placesProgram = `#include <cstdio>
#include <cstring>
struct Flags { unsigned a : 3, b : 5; int c : 7; bool d : 1; unsigned long long wide : 40; };
struct Inner { int x; double y; };
struct Outer { Inner in; char name[8]; int list[3]; Flags bits; };
Flags flags{1, 2, -3, false, 5};
Outer outer{{1, 2}, "one", {1, 2, 3}, {1, 1, 1, true, 1}};
unsigned char big[200000];
volatile int sink, one = 1;
volatile long hundred = 100;
struct Pair { long first; int second; };
__attribute__((noinline)) int deep(int n) { sink = n; return n + 1; }
__attribute__((noinline)) int leaf(int n) {
  int m = deep(n);
  asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15"); // a function that needs these saves them
  return m + sink;
}
__attribute__((noinline)) long middle(long kept, int n) {
  long r = leaf(n);
  return kept + r; // kept waits in a register that leaf saves
}
__attribute__((noinline)) double scale(double v, float w) { return v * 2 + w; }
__attribute__((noinline)) long sum(Pair p, const char *label) { return p.first + p.second + (long)strlen(label); }
int main() {
  for (unsigned i = 0; i < sizeof big; i++) big[i] = i * 7;
  long r = middle(hundred, one);
  double s = scale(1.5 * one, 0.25f * one);
  long t = sum(Pair{hundred - 60, one + one}, one ? "label" : "");
  printf("%ld %g %ld | %u %u %d %d %llu | %d %g %s %d %d\n", r, s, t, flags.a, flags.b, flags.c, flags.d, (unsigned long long)flags.wide,
    outer.in.x, outer.in.y, outer.name, outer.list[1], outer.bits.c);
}
`

// memory calls debug_memory.
func (d *debugged) memory(a args) []memoryValue {
	d.t.Helper()
	a["sessionId"] = d.id
	var r struct{ Results []memoryValue }
	if err := d.s.Try("debug_memory", a, &r); err != nil {
		d.t.Fatal(err)
	}
	return r.Results
}

func named(exprs ...string) (out []args) {
	for _, e := range exprs {
		out = append(out, args{"variable": e})
	}
	return out
}

// TestMemoryPlaces writes values where compilers keep them: in registers, those of outer frames that a callee has
// saved, in vector registers, in bit-fields and structs; and the program goes on with them.
func TestMemoryPlaces(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O2", "clang-O2", "gcc-O0"} {
		t.Run(variant, func(t *testing.T) {
			d := debug(t, s, variant, "places", placesProgram, args{"stopOnEntry": true})
			d.points(args{"add": []args{{"function": "deep"}, {"function": "scale"}, {"function": "sum"}}})
			th := d.next(args{}).PausedThreads[0]
			frame := 0
			for i, l := range th.Backtrace {
				if strings.Contains(l, "middle") {
					frame = i
				}
			}
			write := func(frame int, expr string, v any, previous, want string) {
				t.Helper()
				got := d.memory(args{"action": "write", "threadId": th.ThreadID, "frame": frame,
					"targets": []args{{"expression": expr, "value": v}}})[0]
				if string(got.Previous) != previous || string(got.Value)+string(got.Fields) != want || got.Error != "" {
					t.Errorf("%s = %v: %s, before %s, %s; want %s, before %s", expr, v, string(got.Value)+string(got.Fields),
						got.Previous, got.Error, want, previous)
				}
			}
			write(frame, "kept", 1000, "100", "1000")
			write(0, "flags.a", 7, "1", "7")
			write(0, "flags.b", 31, "2", "31")
			write(0, "flags.c", -64, "-3", "-64")
			write(0, "flags.d", true, "false", "true")
			write(0, "flags.wide", 1099511627775, "5", "1099511627775")
			write(0, "outer.in", args{"x": -5, "y": 2.5}, `{"x":1,"y":2}`, `{"x":-5,"y":2.5}`)
			write(0, "outer", args{"name": "other", "bits": args{"c": 9}, "list": []int{7, 8, 9}},
				`{"in":{"x":-5,"y":2.5},"name":"one","list":[1,2,3],"bits":{"a":1,"b":1,"c":1,"d":true,"wide":1}}`,
				`{"in":{"x":-5,"y":2.5},"name":"other","list":[7,8,9],"bits":{"a":1,"b":1,"c":9,"d":true,"wide":1}}`)
			for _, bad := range []struct {
				expr  string
				value any
			}{{"flags.a", 8}, {"flags.c", 64}, {"flags.c", -65}, {"flags.b", -1}, {"outer.in", args{"z": 1}},
				{"outer.list", []int{1}}} {
				if got := d.memory(args{"action": "write",
					"targets": []args{{"expression": bad.expr, "value": bad.value}}})[0]; !strings.HasPrefix(got.Error,
					"VALIDATION_ERROR") {
					t.Errorf("%s = %v: %+v", bad.expr, bad.value, got)
				}
			}
			d.next(args{})
			write(0, "v", 10.5, "1.5", "10.5")
			write(0, "w", 0.5, "0.25", "0.5")
			d.next(args{})
			write(0, "p.first", 50, "40", "50")
			d.points(args{"remove": []string{"all"}})
			d.next(args{"waitMs": 0})
			s.WaitEnd(t, d.id, endLimit)
			if out := s.Output(t, d.id, "stdout"); out != "1003 21.5 57 | 7 31 -64 1 1099511627775 | -5 2.5 other 8 9\n" {
				t.Errorf("output %q", out)
			}
		})
	}
}

// TestMemoryBytes reads bytes: in the answer, as a hexdump, and many of them into a file that goes with the session.
func TestMemoryBytes(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "places", placesProgram)
	d := &debugged{t, s, s.Launch(t, path, filepath.Dir(path), nil, args{"stopOnEntry": true}).SessionID}
	d.points(args{"add": []args{{"function": "deep"}}})
	d.next(args{})
	address := d.memory(args{"targets": named("big[16]")})[0].Address
	want := make([]byte, 200000)
	for i := range want {
		want[i] = byte(i * 7)
	}
	got := d.memory(args{"targets": []args{
		{"address": address, "size": 8}, {"address": address, "size": 20, "type": "hexdump"},
		{"address": address, "size": 150000, "type": "bytes"}, {"address": address, "size": 64 << 20},
		{"address": "0x10", "size": 4},
	}})
	if v := string(got[0].Value); v != `"`+hex.EncodeToString(want[16:24])+`"` {
		t.Errorf("8 bytes: %s", v)
	}
	var lines string
	json.Unmarshal(got[1].Value, &lines) //nolint:errcheck // compared next
	if want := address + "  " + fmt.Sprintf("% x", want[16:32]) + "  pw~............."; !strings.HasPrefix(lines, want) ||
		strings.Count(lines, "\n") != 1 {
		t.Errorf("hexdump:\n%s\nwant\n%s", lines, want)
	}
	b, err := os.ReadFile(got[2].File)
	if err != nil || string(b) != string(want[16:150016]) || !strings.HasPrefix(got[2].Preview, address) ||
		len(got[2].Value) > 0 {
		t.Errorf("150000 bytes: %+v, %v", got[2], err)
	}
	if info, err := os.Stat(got[2].File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if !strings.HasPrefix(got[3].Type, "byte[") || got[3].Type == "byte[67108864]" { // up to the end of what is mapped
		t.Errorf("beyond the end: %+v", got[3])
	}
	if !strings.HasPrefix(got[4].Error, "READ_FAILED") {
		t.Errorf("at 0x10: %+v", got[4])
	}
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": d.id}, &struct{}{})
	if _, err := os.Stat(got[2].File); !os.IsNotExist(err) {
		t.Errorf("the file is there after the session: %v", err)
	}
}

// TestMemoryOfEvents reads values as events recorded them, while the program runs and after it.
func TestMemoryOfEvents(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "places", placesProgram, args{"stopOnEntry": true, "trace": []string{"sum", "middle"}})
	s.Call(t, "debug_trace", args{"sessionId": d.id,
		"watches": args{"add": []args{{"expr": "outer.in.y", "label": "y", "on": []string{"sum"}}}}}, &struct{}{})
	d.points(args{"add": []args{{"function": "scale"}, {"function": "leaf", "message": "leaf {n}"}}})
	d.next(args{})
	d.next(args{})
	s.WaitEnd(t, d.id, endLimit)
	id := func(kind, function string) int64 {
		t.Helper()
		a := args{"eventType": kind}
		if function != "" {
			a["function"] = args{"equals": function}
		}
		p := s.Query(t, d.id, a)
		if len(p.Events) == 0 {
			t.Fatalf("no %s of %s", kind, function)
		}
		return int64(p.Events[len(p.Events)-1].ID)
	}
	for _, c := range []struct {
		kind, function, name, want string
	}{
		{"function_enter", "sum", "p.first", "40"}, {"function_enter", "sum", "p", `{"first":40,"second":2}`},
		{"function_enter", "sum", "label", `"label"`},
		{"function_enter", "sum", "y", "2"}, {"function_exit", "sum", "$return", "47"},
		{"function_exit", "sum", "p.second", "2"}, {"function_exit", "sum", "y", "2"},
		{"function_enter", "middle", "kept", "100"}, {"function_exit", "middle", "$return", "103"}, {"pause", "", "v", "1.5"},
		{"pause", "", "function", `"scale"`},
		{"logpoint", "", "message", `"leaf 1"`},
	} {
		got := d.memory(args{"eventId": id(c.kind, c.function), "targets": named(c.name)})[0]
		if v := string(got.Value) + string(got.Fields); v != c.want {
			t.Errorf("%s of %s: %s = %s %s, want %s", c.kind, c.function, c.name, v, got.Error, c.want)
		}
	}
	all := d.memory(args{"eventId": id("function_exit", "sum")})
	if len(all) != 4 { // $return, y, p, label
		t.Errorf("all of an exit: %+v", all)
	}
	if got := d.memory(args{"eventId": id("function_enter", "sum"), "targets": named("q")})[0]; !strings.HasPrefix(
		got.Error, "VALIDATION_ERROR") || !strings.Contains(got.Error, "p, label") {
		t.Errorf("an unknown name: %+v", got)
	}
	refused(t, s, "debug_memory", args{"sessionId": d.id, "eventId": 1 << 40, "targets": named("p")}, "VALIDATION_ERROR",
		"no event")
	refused(t, s, "debug_memory", args{"sessionId": d.id, "eventId": 1, "action": "write", "targets": named("p")},
		"VALIDATION_ERROR")
}
