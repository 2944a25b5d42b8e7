//go:build linux && amd64

package corefile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// kernelCore runs a program to its death and returns the core that the kernel wrote.
func kernelCore(t *testing.T, program string, args ...string) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || bytes.ContainsAny(pattern, "|/") {
		strobetest.Lack(t, "the kernel does not write cores into the working directory: core_pattern is %q", pattern)
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$0" "$@"`, program}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("%s did not die: %s", program, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(found) != 1 {
		strobetest.Lack(t, "no core was written: %v, %s", err, out)
	}
	return found[0]
}

// gcore lets a program run until it writes a line, and has gdb write its core.
func gcore(t *testing.T, program string, args ...string) string {
	t.Helper()
	strobetest.NeedCommand(t, "gdb")
	strobetest.NeedPtrace(t)
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(t.TempDir(), "gcore")
	gdb := exec.Command("gdb", "-nx", "-batch", "-p", fmt.Sprint(cmd.Process.Pid), "-ex", "generate-core-file "+core)
	if b, err := gdb.CombinedOutput(); err != nil {
		t.Fatalf("gdb: %v\n%s", err, b)
	}
	return core
}

func open(t *testing.T, binary, core string) *Core {
	t.Helper()
	c, err := New("", t.TempDir(), nil).OpenCore(context.Background(),
		collector.CoreRequest{Core: core, Binary: binary, ProjectRoot: filepath.Dir(sourceOf(binary))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*Core)
}

// sourceOf is nothing that matters to these tests: their programs' source is not in a project.
func sourceOf(binary string) string { return filepath.Join(filepath.Dir(binary), "x") }

// told is a crash as tests ask it.
type told struct{ collector.Crash }

func crash(t *testing.T, c *Core) told {
	t.Helper()
	k, _, err := c.Crash(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return told{k}
}

// own are the lines of a stack that are in one source file.
func (k *told) own(file string) (lines []string) {
	for _, f := range k.Backtrace {
		if filepath.Base(f.File) == file {
			lines = append(lines, fmt.Sprintf("%d", f.Line))
		}
	}
	return lines
}

var gdbFrame = regexp.MustCompile(`(?m)^#\d+ .* at (\S+):(\d+)$`)

// gdbLines asks gdb for the same.
func gdbLines(t *testing.T, binary, core, file string) (lines []string) {
	t.Helper()
	strobetest.NeedCommand(t, "gdb")
	out, err := exec.Command("gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "echo BEGIN\\n", "-ex", "bt", binary,
		core).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	_, stack, _ := strings.Cut(string(out), "BEGIN\n")
	for _, m := range gdbFrame.FindAllStringSubmatch(stack, -1) {
		if filepath.Base(m[1]) == file {
			lines = append(lines, m[2])
		}
	}
	return lines
}

const threadsSource = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct point { int x, y; const char *name; struct point *next; };
struct point origin = {3, 4, "origin", 0};
static int counter = 42;
static __thread int mine = 7;
int table[4] = {10, 20, 30, 40};
volatile int zero;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
__attribute__((noinline)) int deref(int *p, struct point *q) {
	int local = q->x * 2;
	counter++;
	return *p + local; /* crash */
}
__attribute__((noinline)) int outer(int n, char *note) {
	struct point here = {n, n + 1, note, &origin};
	int r = deref((int *)(long)(n - 5), &here);
	return r + here.y;
}
static void *waiter(void *a) {
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&lock);
	return a;
}
static void *crosses(void *a) {
	pthread_mutex_lock(&other);
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&lock);
	return a;
}
int main(int argc, char **argv) {
	int threads = atoi(argv[1]);
	pthread_t t[64];
	mine = 9;
	pthread_mutex_lock(&lock);
	pthread_barrier_init(&ready, 0, threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], 0, i ? waiter : crosses, 0);
	pthread_barrier_wait(&ready);
	usleep(100000);
	char *heap = malloc(100);
	strcpy(heap, "on the heap");
	puts("ready");
	fflush(stdout);
	if (argc > 2) pthread_mutex_lock(&other);
	printf("%d\n", outer(5 + zero, heap));
}
`

// The same program in all the ways that change what a core holds: a kernel's core has the crash event that observing
// the program would have given, with gdb's stack, and its values can be read.
func TestCoresOfTheKernel(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O2", "gcc-O2-static", "gcc-O2-staticpie", "gcc-O0-nopie", "clang-O2"} {
		for _, threads := range []string{"0", "7"} {
			t.Run(variant+"-"+threads, func(t *testing.T) {
				program := strobetest.BuildSource(t, "c", variant, "dies", threadsSource)
				core := kernelCore(t, program, threads)
				c := open(t, program, core)
				k := crash(t, c)
				if k.Signal != "SIGSEGV" || k.Class != "null-pointer" || k.Code != "SEGV_MAPERR" || k.FaultAddress != "0x0" ||
					!k.Fatal {
					t.Errorf("crash = %s %s %s %s (%s)", k.Signal, k.Class, k.Code, k.FaultAddress, k.Reason)
				}
				if k.Function != "deref" || k.Line != 17 || filepath.Base(k.File) != "dies.c" {
					t.Errorf("place = %s %s:%d", k.Function, k.File, k.Line)
				}
				got, want := k.own("dies.c"), gdbLines(t, program, core, "dies.c")
				// gdb takes only lines that are statements of their own
				if strings.Contains(variant, "-O2") && len(got)*len(want) > 0 {
					got, want = got[1:], want[1:]
				}
				if !slices.Equal(got, want) || len(got) < 2 {
					t.Errorf("lines = %v, gdb has %v", got, want)
				}
				n := 0
				for _, th := range k.Threads {
					n += 1 + th.Alike
				}
				if fmt.Sprint(n) != threads {
					t.Errorf("%d other threads, want %s: %+v", n, threads, k.Threads)
				}
				if w := c.Describe().Warnings; len(w) > 0 {
					t.Errorf("warnings = %q", w)
				}
				readGlobals(t, c, strings.Contains(variant, "-O2"))
			})
		}
	}
}

func readGlobals(t *testing.T, c *Core, optimized bool) {
	t.Helper()
	got := inspected(t, c, 0, -1, "table", "origin", "origin.x * 10 + table[1]", "&origin == 0", "nothing", "counter",
		"mine")
	want := []string{"[10,20,30,40]", `{"x":3,"y":4,"name":"origin","next":null}`, "50", "false", "", "43", "9"}
	if optimized { // the last may not have been written yet, or not be there at all
		got, want = got[:5], want[:5]
	}
	for i := range want {
		if got[i] != want[i] && !(want[i] == "false" && got[i] == "0") {
			t.Errorf("value %d = %q, want %q", i, got[i], want[i])
		}
	}
}

// inspected reads expressions; what cannot be read is "".
func inspected(t *testing.T, c *Core, thread, frame int, exprs ...string) []string {
	t.Helper()
	q := collector.Inspection{ThreadID: thread, Frame: frame, Depth: 2}
	for _, e := range exprs {
		q.Targets = append(q.Targets, collector.InspectTarget{Expr: e})
	}
	readings, err := c.Inspect(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(readings))
	for i, r := range readings {
		if r.Err == nil {
			out[i] = string(r.Value.AppendJSON(nil))
		} else {
			t.Logf("%s: %v", exprs[i], r.Err)
		}
	}
	return out
}

func TestLocals(t *testing.T) {
	program := strobetest.BuildSource(t, "c", "gcc-O0", "dies", threadsSource)
	c := open(t, program, kernelCore(t, program, "2"))
	k := crash(t, c)
	local, _ := k.Locals.Get("local")
	null, has := k.Locals.Get("p")
	if string(local.AppendJSON(nil)) != "10" || !has || string(null.AppendJSON(nil)) != "null" {
		t.Errorf("locals = %s", k.Locals.AppendJSON(nil))
	}
	got := inspected(t, c, 0, -1, "q->name", "q->next->name", "local + counter", "*q", "p")
	for i, want := range []string{`"on the heap"`, `"origin"`, "53",
		`{"x":5,"y":6,"name":"on the heap","next":{"x":3,"y":4,"name":"origin","next":null}}`, "null"} {
		if got[i] != want {
			t.Errorf("value %d = %s, want %s", i, got[i], want)
		}
	}
	if got := inspected(t, c, 0, 2, "argv[1]", "threads", "$rip != 0"); got[0] != `"2"` || got[1] != "2" || got[2] == "0" {
		t.Errorf("main's = %q", got)
	}
	addr := strings.Trim(inspected(t, c, 0, -1, "&table")[0], `"`)
	var at uint64
	fmt.Sscanf(addr, "0x%x", &at)
	typed, err := c.Inspect(context.Background(), collector.Inspection{Frame: -1, Targets: []collector.InspectTarget{
		{Address: at, Type: "int[3]"}, {Address: at, Size: 8}, {Address: at + 4, Type: "int"}, {Address: at, Type: "int[x]"},
		{Address: at, Type: "struct nothing"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[10,20,30]", "0a00000014000000", "20"} {
		got := string(typed[i].Value.AppendJSON(nil))
		if typed[i].Bytes != nil {
			got = fmt.Sprintf("%x", typed[i].Bytes)
		}
		if got != want {
			t.Errorf("memory %d = %s (%v), want %s", i, got, typed[i].Err, want)
		}
	}
	if fault.CodeOf(typed[3].Err) != fault.ValidationError || fault.CodeOf(typed[4].Err) != fault.ValidationError {
		t.Errorf("types that are none: %v, %v", typed[3].Err, typed[4].Err)
	}
	bytes, err := c.Inspect(context.Background(),
		collector.Inspection{Frame: -1, Targets: []collector.InspectTarget{{Address: 1, Size: 4}, {Address: 1, Type: "int"}}})
	if err != nil || fault.CodeOf(bytes[0].Err) != fault.ReadFailed || fault.CodeOf(bytes[1].Err) != fault.ReadFailed {
		t.Errorf("address 1 = %+v, %v", bytes, err)
	}
	if _, err := c.Inspect(context.Background(),
		collector.Inspection{ThreadID: 1}); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("thread 1: %v", err)
	}
	if _, err := c.Inspect(context.Background(),
		collector.Inspection{Frame: 999}); fault.CodeOf(err) != fault.ValidationError {
		t.Errorf("frame 999: %v", err)
	}
}

// A core that gdb makes of a program that hangs: nothing crashed, and the deadlock is named.
func TestCoreOfARunningProgram(t *testing.T) {
	program := strobetest.BuildSource(t, "c", "gcc-O0", "dies", threadsSource)
	c := open(t, program, gcore(t, program, "3", "hang"))
	k := crash(t, c)
	if k.Fatal || k.Signal != "" || k.Class != "alive" || len(k.Backtrace) == 0 {
		t.Errorf("crash = %+v", k)
	}
	r, err := c.Threads(context.Background())
	if err != nil || r.ThreadCount != 4 || len(r.Deadlocks) != 1 || len(r.Deadlocks[0].Threads) != 2 {
		t.Errorf("threads = %+v, %v", r, err)
	}
	if text := r.Deadlocks[0].Text; !strings.Contains(text, "mutex lock") || !strings.Contains(text, "mutex other") {
		t.Errorf("deadlock = %s", text)
	}
	if d := c.Describe(); d.Fatal || !strings.Contains(d.Detail, "a debugger") ||
		!strings.Contains(d.Detail, "4 threads") {
		t.Errorf("description = %+v", d)
	}
	readRunning := inspected(t, c, 0, -1, "counter", "origin.name")
	if readRunning[0] != "42" || readRunning[1] != `"origin"` {
		t.Errorf("values = %q", readRunning)
	}
}

const throwsSource = `#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct order { int id; std::string who; std::vector<int> items; };
__attribute__((noinline)) void check(const order &o, int limit) {
	if ((int)o.items.size() > limit)
		throw std::out_of_range("order of " + o.who);
}
int main(int argc, char **) {
	order o{7, "ada", {1, 2, 3}};
	std::map<std::string, int> stock{{"nuts", 4}, {"bolts", 9}};
	check(o, argc);
	return stock.size();
}
`

func TestException(t *testing.T) {
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		program := strobetest.BuildSource(t, "cpp", variant, "throws", throwsSource)
		core := kernelCore(t, program)
		c := open(t, program, core)
		k := crash(t, c)
		if k.Signal != "SIGABRT" || k.ExceptionType != "std::out_of_range" || k.ExceptionMessage != "order of ada" {
			t.Errorf("%s: crash = %s %s %q (%s)", variant, k.Signal, k.ExceptionType, k.ExceptionMessage, k.Reason)
		}
		got, want := k.own("throws.cpp"), gdbLines(t, program, core, "throws.cpp")
		if variant == "gcc-O2" { // where code of a header is inlined, gdb has its line
			want = append([]string{"8"}, want[len(want)-1:]...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: lines = %v, gdb has %v", variant, got, want)
		}
		if variant == "gcc-O0" {
			if got := inspected(t, c, 0, -1, "o.who", "o.items", "limit", "o.items[2]"); !slices.Equal(got,
				[]string{`"ada"`, "[1,2,3]", "1", "3"}) {
				t.Errorf("values = %q", got)
			}
		}
	}
}

const panicsSource = `use std::collections::HashMap;
#[derive(Debug)]
pub struct Cart { pub owner: String, pub items: Vec<u32>, pub stock: HashMap<String, i32> }
#[inline(never)]
pub fn pick(cart: &Cart, at: usize) -> u32 {
    let wanted = at + 1;
    cart.items[wanted]
}
fn main() {
    let mut stock = HashMap::new();
    stock.insert("nuts".to_string(), 4);
    let cart = Cart { owner: "ada".into(), items: vec![5, 6, 7], stock };
    println!("{} {:?}", pick(&cart, std::env::args().count() + 8), cart);
}
`

func TestRust(t *testing.T) {
	for _, variant := range []string{"rust-debug", "rust-release"} {
		program := strobetest.BuildSource(t, "rust", variant, "panics", panicsSource, "-Cpanic=abort")
		core := kernelCore(t, program)
		c := open(t, program, core)
		k := crash(t, c)
		if k.Signal != "SIGABRT" || !k.Panicking || filepath.Base(k.File) != "panics.rs" {
			t.Errorf("%s: crash = %s, panicking %v, at %s:%d (%s)", variant, k.Signal, k.Panicking, k.File, k.Line, k.Reason)
		}
		if got, want := k.own("panics.rs"), gdbLines(t, program, core, "panics.rs"); !slices.Equal(got, want) ||
			len(got) < 2 {
			t.Errorf("%s: lines = %v, gdb has %v", variant, got, want)
		}
		if variant == "rust-debug" {
			if got := inspected(t, c, 0, -1, "cart.owner", "cart.items", "wanted"); !slices.Equal(got,
				[]string{`"ada"`, "[5,6,7]", "10"}) {
				t.Errorf("values = %q", got)
			}
		}
	}
}

const handlesSource = `#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int *where;
static void on(int sig) { (void)sig; if (write(2, "bye\n", 4)) abort(); }
__attribute__((noinline)) int breaks(int n) { return *where + n; }
int main(void) { signal(SIGSEGV, on); return breaks(3); }
`

// A handler that ends the process is told of, and the place is that which the signal interrupted.
func TestHandlerEnded(t *testing.T) {
	program := strobetest.BuildSource(t, "c", "gcc-O0", "handles", handlesSource)
	k := crash(t, open(t, program, kernelCore(t, program)))
	if k.Signal != "SIGSEGV" || k.Class != "null-pointer" || k.Function != "breaks" || k.EndedBy == "" {
		t.Errorf("crash = %s %s in %s, ended by %q", k.Signal, k.Class, k.Function, k.EndedBy)
	}
}
