package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// fat has an argument of 40 KB before its locals, and a function whose name takes a line of 300 bytes.
const fat = `
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Fat { std::string texts[64]; int numbers[4000]; };
template <class T> __attribute__((noinline)) int sum(const Fat &all, T *more, int k)
{
	int a = k + 1, b = a * 2, c = b + 3, d = c * 4, e = d - 5, f = e ^ 6;
	volatile int total = a + b + c + d + e + f + all.numbers[k] + (int)more->size();
	return total; // here
}
int main()
{
	static Fat all;
	getchar();
	for (int i = 0; i < 4000; i++) all.numbers[i] = i * 100000;
	for (int i = 0; i < 64; i++) all.texts[i] = std::string(100, 'a' + i % 26);
	std::map<std::string, std::vector<std::map<std::string, std::string>>> more;
	printf("%d\n", sum(all, &more, 5));
}
`

// TestPausedFat: an argument that is large leaves room for the others and the locals, and a name for the lines of a
// backtrace.
func TestPausedFat(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "fat", fat, args{"stdin": "pipe"})
	d.points(args{"add": []any{args{"file": "fat.cpp", "line": lineOf(fat, "// here")}}})
	d.input("\n")
	th := d.paused(1)[0]
	for name, want := range map[string]string{"a": "6", "b": "12", "c": "15", "d": "60", "e": "55", "f": "49",
		"total": "500197"} {
		if got := fmt.Sprint(th.Locals[name]); got != want {
			t.Errorf("%s is %s, want %s; locals %v", name, got, want, th.Locals)
		}
	}
	if got := fmt.Sprint(th.Arguments["k"]); got != "5" || th.Arguments["all"] == nil {
		t.Errorf("arguments %v", th.Arguments)
	}
	if len(th.Backtrace) < 2 || !strings.Contains(th.Backtrace[0], "sum (fat.cpp:") ||
		!strings.Contains(th.Backtrace[1], "main (fat.cpp:") {
		t.Errorf("backtrace %q", th.Backtrace)
	}
	d.next(args{})
}
