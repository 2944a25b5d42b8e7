package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shownProgram = `#include <map>
#include <string>
#include <unistd.h>
enum Flags { F_A = 1, F_B = 2, F_C = 4 };
enum class Wide : unsigned char { low = 1, high = 200 };
enum Huge : unsigned { HUGE_NONE = 0 };
Flags flags = Flags(F_A | F_C);
Wide wide = Wide::low;
Huge huge;
double rate = 1;
volatile bool done;
bool plain;
int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
char text[16] = "hello", full[4] = {'a', 'b', 'c', 'd'};
short row[3] = {1, 2, 3};
int (*rows)[3] = grid;
std::string words = "two words";
struct Node { int id; char c; } nodes[2] = {{1, 'a'}, {2, 'b'}};
__int128 big = (__int128)1 << 100;
unsigned char gap[6] = {0, 1, 0, 200, 5, 0};
signed char low[3] = {0, -1, 3};
std::map<std::string, int> counts = {{"one", 1}};
int main() { while (!done) usleep(1000); }
`

// TestMemoryAsShown writes values as they are shown, and arrays of a type at an address.
func TestMemoryAsShown(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "shown", shownProgram, nil)
	one := func(action string, target args) memoryValue {
		t.Helper()
		var r struct{ Results []memoryValue }
		s.Call(t, "debug_memory", args{"sessionId": d.id, "action": action, "targets": []args{target}}, &r)
		return r.Results[0]
	}
	at := func(name string) string { return one("read", args{"variable": name}).Address }
	for _, c := range []struct {
		name, typ string // typ: at the variable's address
		value     any    // written, unless nil
		want      string // of the value, or of the error's beginning
	}{
		{"gap", "", nil, "[0,1,0,200,5,0]"}, {"low", "", nil, "[0,-1,3]"}, {"gap", "unsigned char[4]", nil, "[0,1,0,200]"},
		{"flags", "", "F_A|F_B", `"F_A|F_B"`},
		{"flags", "", "F_A|nothing", "VALIDATION_ERROR"},
		{"wide", "", 200, `"high"`},
		{"wide", "", "low", `"low"`},
		{"wide", "", 256, "VALIDATION_ERROR"},
		{"huge", "", 4294967295, "4294967295"},
		{"rate", "", "-Infinity", `"-Infinity"`},
		{"rate", "", "NaN", `"NaN"`},
		{"rate", "", "none", "VALIDATION_ERROR"},
		{"plain", "", 2, "VALIDATION_ERROR"},
		{"plain", "", 1, "true"},
		{"text", "char[16]", nil, `"hello"`},
		{"text", "char[16]", "other", `"other"`},
		{"text", "char[4]", "other", "VALIDATION_ERROR"},
		{"full", "char[4]", nil, `"abcd"`},
		{"row", "short[3]", []int{7, -8, 9}, "[7,-8,9]"},
		{"row", "short[3]", []int{7, 8}, "VALIDATION_ERROR"},
		{"grid", "int[2][3]", nil, "[[1,2,3],[4,5,6]]"},
		{"grid", "int[2][3]", [][]int{{6, 5, 4}, {3, 2, 1}}, "[[6,5,4],[3,2,1]]"},
		{"grid", "int[2][3]", [][]int{{1, 2, 3}, {4, 5, 6}}, "[[1,2,3],[4,5,6]]"},
		{"grid", "int[2][x]", nil, "VALIDATION_ERROR"},
		{"grid", "[[i32; 3]; 2]", nil, "[[1,2,3],[4,5,6]]"},
		{"nodes", "struct Node[2]", nil, `[{"id":1,"c":"a"},{"id":2,"c":"b"}]`},
		{"words", "std::string", nil, `"two words"`},
		{"big", "__int128", nil, "1267650600228229401496703205376"},
		{"big", "u128", "0xffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"},
		{"big", "", "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"},
		{"big", "", "170141183460469231731687303715884105728", "VALIDATION_ERROR"},
		{"row", "short[3]", []int{7, 8, 70000}, "VALIDATION_ERROR"},
	} {
		target, action := args{"variable": c.name}, "read"
		if c.typ != "" {
			target = args{"address": at(c.name), "type": c.typ}
		}
		if c.value != nil {
			target["value"], action = c.value, "write"
		}
		if got := one(action, target); string(got.Value)+got.Error != c.want &&
			(got.Error == "" || !strings.HasPrefix(got.Error, c.want)) {
			t.Errorf("%s %s %v: %s %s, want %s", action, c.name, c.value, got.Value, got.Error, c.want)
		}
	}
	for e, want := range map[string]string{"*(int (*)[3])&grid[1]": "[4,5,6]", "((int (*)[3])rows)[1][2]": "6",
		"&words": `"` + at("words") + `"`, "&grid[1][1]": `"0x`} {
		if got := one("read", args{"expression": e}); !strings.HasPrefix(string(got.Value), want) {
			t.Errorf("%s: %s %s, want %s", e, got.Value, got.Error, want)
		}
	}
	if got, whole := one("read", args{"address": at("rows"), "type": "int (*)[3]"}), at("grid"); string(got.Value) != `"`+
		whole+`"` {
		t.Errorf("an int (*)[3] is %s %s, want %s", got.Value, got.Error, whole)
	}
	if got := one("read", args{"variable": "grid"}); got.Type != "int[2][3]" || string(got.Value) != "[[1,2,3],[4,5,6]]" {
		t.Errorf("grid is %+v, want an int[2][3]", got)
	}
	if got := one("read", args{"variable": "counts"}); got.Type != "map<std::string, int>" ||
		string(got.Fields) != `{"one":1}` {
		t.Errorf("counts is %+v, want a map<std::string, int>", got)
	} else if again := one("read", args{"address": got.Address, "type": got.Type}); string(again.Fields) != `{"one":1}` {
		t.Errorf("by its type's name: %+v", again)
	}
	one("write", args{"variable": "done", "value": true})
	s.WaitEnd(t, d.id, endLimit)
}
