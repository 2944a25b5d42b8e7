package acceptance

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const stepThreads = `#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int go_on, worked, ended;
static void tick(void) {
  __sync_fetch_and_add(&worked, 1); // tick
}
static void *worker(void *arg) {
  for (int i = 0; i < 4; i++)
    tick();
  __sync_fetch_and_add(&ended, 1);
  return arg;
}
static int slow(int fd) {
  char c;
  int n = read(fd, &c, 1); // blocks
  return n + c; // after read
}
static int spin(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += i & 3; // one line
  return sum; // spun
}
static void *last(void *arg) {
  int *p = arg; // begins
  *p = 7;
  return arg; // ends
}
int main(void) {
  pthread_t t[4], l;
  int v = 0;
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0); // creates
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0); // joins
  int s = spin(300); // spins
  pthread_create(&l, 0, last, &v); // starts
  pthread_join(l, 0); // joined
  int n = slow(0); // reads
  printf("%d %d %d\n", worked, n, s + v); // prints
  return 0;
}
`

// stepped is a program under the debugger's tools, from main on.
func stepped(t *testing.T, s *strobetest.Strobe, name, source string, launch args, at string) *debugged {
	t.Helper()
	launch["stopOnEntry"] = true
	d := debug(t, s, "gcc-O0", name, source, launch)
	d.points(args{"add": []args{{"file": name + ".cpp", "line": lineOf(source, at)}}})
	d.resume("continue", at, source)
	return d
}

// resume steps or continues, and checks the line where the program pauses then: the one that has a text.
func (d *debugged) resume(action, want, source string) standing {
	d.t.Helper()
	var st standing
	d.s.Call(d.t, "debug_continue", args{"sessionId": d.id, "action": action, "waitMs": 15000}, &st)
	if len(st.PausedThreads) == 0 || st.PausedThreads[len(st.PausedThreads)-1].Line != lineOf(source, want) {
		d.t.Fatalf("%s: %+v, want line %d (%s)", action, st, lineOf(source, want), want)
	}
	return st
}

// TestStepsAmongThreads steps over calls that start and await threads, which meet their own breakpoints; over one that
// blocks; until a line; and a thread to its end.
func TestStepsAmongThreads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := strings.Replace(stepThreads, "int *p = arg;", "int *p = (int *)arg;", 1)
	d := stepped(t, s, "stepthreads", source, args{"stdin": "pipe", "trace": []string{"tick", "slow", "spin"}},
		"// creates")
	d.points(args{"add": []args{{"function": "tick", "message": "tick"}}})
	d.resume("step-over", "// joins", source)
	first := d.resume("step-over", "// spins", source) // the loop is one line, as for gdb
	if r := first.PausedThreads[0].Reason; r != "step" {
		t.Errorf("paused by %q", r)
	}
	var st standing
	until := "stepthreads.cpp:" + strconv.Itoa(lineOf(source, "// starts"))
	s.Call(t, "debug_continue", args{"sessionId": d.id, "until": until, "waitMs": 15000}, &st)
	if len(st.PausedThreads) != 1 || st.PausedThreads[0].Reason != "until" ||
		st.PausedThreads[0].Line != lineOf(source, "// starts") {
		t.Fatalf("until %s: %+v", until, st)
	}
	d.resume("step-over", "// joined", source)
	d.resume("step-over", "// reads", source)
	d.resume("step-into", "// blocks", source)
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "step-over", "waitMs": 100}, &st)
	if st.Status != "running" {
		t.Fatalf("a step that blocks: %+v", st)
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": d.id, "text": "A"}, &struct{}{})
	strobetest.Eventually(t, endLimit, "the step's end", func() bool {
		var now standing
		s.Call(t, "debug_session", args{"action": "status", "sessionId": d.id}, &now)
		return len(now.PausedThreads) == 1 && now.PausedThreads[0].Line == lineOf(source, "// after read")
	})
	d.resume("step-out", "// reads", source)
	d.resume("step-over", "// prints", source)
	s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "continue", "waitMs": 15000}, &st)
	if st.Status != "exited" {
		t.Errorf("at the end: %+v", st)
	}
	s.WaitEnd(t, d.id, endLimit)
	if out := s.Output(t, d.id, "stdout"); !strings.HasPrefix(out, "16 66 ") {
		t.Errorf("it wrote %q", out)
	}
	if n := s.Query(t, d.id, args{"eventType": "logpoint", "limit": 1}).TotalCount; n != 16 {
		t.Errorf("%d logpoints of threads that ran meanwhile, want 16", n)
	}
}

// TestStepsOfTracedFunctions steps through functions that are traced, which must look as if they were not.
func TestStepsOfTracedFunctions(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := stepSource(t, "basics.c")
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		path := strobetest.BuildSource(t, "c", variant, "basics", source)
		for _, way := range stepWays {
			want := stepThrough(t, s, path, "main", way)
			if d := difference(want, stepThrough(t, s, path, "main", way, "**")); d != "" {
				t.Errorf("%s %s, traced: %s", variant, way, d)
			}
		}
	}
}

// TestStepToTheEnd steps a thread off its end while others live, then the program off its own.
func TestStepToTheEnd(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := strings.Replace(stepThreads, "int *p = arg;", "int *p = (int *)arg;", 1)
	d := stepped(t, s, "stepthreads", source, args{"stdin": "pipe"}, "// begins")
	d.resume("step-over", "*p = 7;", source)
	d.resume("step-over", "// ends", source)
	var st standing
	for range 2 {
		s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "step-over", "waitMs": 15000}, &st)
		if st.Status != "paused" {
			break
		}
	}
	if st.Status != "running" || len(st.PausedThreads) > 0 {
		t.Fatalf("behind the thread's end: %+v", st)
	}
	d.points(args{"add": []args{{"function": "slow"}}})
	s.Call(t, "debug_session", args{"action": "input", "sessionId": d.id, "text": "A"}, &struct{}{})
	s.WaitEnd(t, d.id, endLimit)
}

// TestStepAndLeave lets a program go while a step runs, and while a thread is paused behind one.
func TestStepAndLeave(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := strings.Replace(stepThreads, "int *p = arg;", "int *p = (int *)arg;", 1)
	for _, inStep := range []bool{true, false} {
		d := stepped(t, s, "stepthreads", source, args{"stdin": "pipe"}, "// reads")
		pid := s.Status(t, d.id).PIDs[0]
		if inStep {
			var st standing
			s.Call(t, "debug_continue", args{"sessionId": d.id, "action": "step-over", "waitMs": 50}, &st)
		} else {
			d.resume("step-into", "// blocks", source)
		}
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": d.id, "kill": false, "retain": true}, &struct{}{})
		state := func() string {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			_, rest, _ := strings.Cut(string(b), ") ")
			return rest[:min(1, len(rest))]
		}
		strobetest.Eventually(t, endLimit, "it runs by itself: it waits for input, or has read its end", func() bool {
			return state() == "S" || state() == "" || state() == "Z"
		})
		if state() == "S" { // nobody else ends it
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// TestStepWithoutRegisters steps over calls while data breakpoints have all debug registers.
func TestStepWithoutRegisters(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := strings.Replace(strings.Replace(stepThreads, "int *p = arg;", "int *p = (int *)arg;", 1),
		"static volatile int go_on,", "static volatile long a1, a2, a3, a4; static volatile int go_on,", 1)
	d := stepped(t, s, "stepregs", source, args{"stdin": "pipe"}, "// spins")
	var data []args
	for _, v := range []string{"a1", "a2", "a3", "a4"} {
		data = append(data, args{"variable": v})
	}
	d.points(args{"add": data})
	d.resume("step-into", "int sum = 0;", source)
	d.resume("step-out", "// spins", source)
	d.resume("step-over", "// starts", source)
	d.resume("step-over", "// joined", source)
}

// TestStepsToHandlers steps over and out of calls that throw and that longjmp, and into a handler of a signal's
// breakpoint. Where gdb needs symbols of libgcc to see this, and loses the program, these are the lines.
func TestStepsToHandlers(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	source := stepSource(t, "throws.cpp")
	for _, variant := range []string{"gcc-O0", "clang-O0", "gcc-O2-static"} {
		if variant == "gcc-O2-static" { // inlined into main: only that it ends as it should
			stops := stepThrough(t, s, strobetest.BuildSource(t, "cpp", variant, "throws", source), "main", "next")
			if stops[len(stops)-1] != "end" || len(stops) < 6 {
				t.Errorf("%s: %v", variant, stops)
			}
			continue
		}
		d := debug(t, s, variant, "throws", source, args{"stopOnEntry": true})
		d.points(args{"add": []args{{"function": "caught"}, {"function": "jumped"}, {"function": "on_signal"}}})
		d.resume("continue", "int count = 0;", source)
		d.resume("step-over", "count += through(n", source)
		d.resume("step-over", "} catch (const", source)
		at := d.pause("step-over")
		for range 2 { // clang has the comparison of types at the function's last line
			if at.Line != lineOf(source, "count += 10;") {
				at = d.pause("step-over")
			}
		}
		if at.Line != lineOf(source, "count += 10;") {
			t.Errorf("%s: in the handler: %+v", variant, at)
		}
		d.resume("continue", "int back = setjmp", source)
		d.resume("step-over", "if (back)", source)
		d.resume("step-over", "jump(n);", source)
		over := d.pause("step-over")
		if over.Function != "jumped" || over.Line > lineOf(source, "if (back)") || over.Line < lineOf(source, "int back") {
			t.Errorf("%s: over a longjmp: %+v", variant, over)
		}
		d.points(args{"remove": []string{"bp-1", "bp-2"}})
		d.resume("continue", "handled = handled + 1;", source)
		if p := d.pause("step-out"); p.Function == "on_signal" {
			t.Errorf("%s: out of a handler: %+v", variant, p)
		}
		var st standing
		s.Call(t, "debug_continue", args{"sessionId": d.id, "waitMs": 15000}, &st)
		if st.Status != "exited" || st.ExitCode == nil || *st.ExitCode != 0 {
			t.Errorf("%s: at the end: %+v", variant, st)
		}
	}
}

// pause steps, and returns the pause that follows.
func (d *debugged) pause(action string) pausedThread {
	d.t.Helper()
	var st standing
	d.s.Call(d.t, "debug_continue", args{"sessionId": d.id, "action": action, "waitMs": 15000}, &st)
	if len(st.PausedThreads) != 1 {
		d.t.Fatalf("%s: %+v", action, st)
	}
	return st.PausedThreads[0]
}

const stepForks = `#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
static int child() {
  jmp_buf env;
  if (!setjmp(env)) longjmp(env, 1);
  try {
    throw std::runtime_error("x");
  } catch (...) {
    return 3;
  }
  return 4;
}
static int both() {
  int pid = fork();
  if (!pid) _exit(child());
  int st = 0;
  waitpid(pid, &st, 0);
  return WEXITSTATUS(st);
}
int main() {
  int n = both(); // forks
  std::printf("%d\n", n); // forked
}
`

// TestStepOverFork steps over a call whose child throws and jumps, with the parent's step on its way.
func TestStepOverFork(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := stepped(t, s, "stepforks", stepForks, args{}, "// forks")
	d.resume("step-over", "// forked", stepForks)
	var st standing
	s.Call(t, "debug_continue", args{"sessionId": d.id, "waitMs": 15000}, &st)
	s.WaitEnd(t, d.id, endLimit)
	if out := s.Output(t, d.id, "stdout"); out != "3\n" {
		t.Errorf("it wrote %q", out)
	}
}

const stepBehind = `#include <cstdio>
#define FIVE ".byte 0x0f, 0x1f, 0x44, 0, 0\n" // a nop that a jump replaces whole
__attribute__((naked, noinline)) static long kept() {
  __asm__("sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n movq $0x1ff, (%rsp)");
  __asm__(FIVE "pushf\n pop %rax"); // pushes
  __asm__("pop %rax\n .cfi_adjust_cfa_offset -8\n ret"); // pops
}
static inline __attribute__((always_inline)) long raised(long n) {
  __asm__ volatile("add $1, %0" : "+r"(n)); // raises
  __asm__ volatile("add $2, %0" : "+r"(n)); // raises on
  return n;
}
int main() {
  long k = kept(), n = 3;
  __asm__ volatile(FIVE : "+r"(n)); // begins
  n = raised(n); // calls
  __asm__ volatile("" : "+r"(n)); // behind
  std::printf("%#lx %ld\n", k, n); // prints
}
`

// TestStepBehindCopies steps on behind the copy of an instruction that a breakpoint's jump replaced: the way back from
// it is no instruction of the program. It once counted as one: a step out of a call inlined right there ended before
// anything had run, and a pushf there lost a bit of what lay on the stack.
func TestStepBehindCopies(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O2", "behind", stepBehind, args{"stopOnEntry": true})
	r := d.points(args{"add": []args{{"file": "behind.cpp", "line": lineOf(stepBehind, "// pushes")},
		{"file": "behind.cpp", "line": lineOf(stepBehind, "// begins")}}})
	for _, b := range r.Breakpoints {
		if !b.InTarget {
			t.Fatalf("no jump is where one is wanted: %+v", b)
		}
	}
	d.resume("continue", "// pushes", stepBehind)
	d.resume("step-over", "// pops", stepBehind)
	d.resume("continue", "// begins", stepBehind)
	d.resume("step-over", "// calls", stepBehind)
	d.resume("step-into", "// raises", stepBehind)
	if st := d.resume("step-out", "// prints", stepBehind); st.PausedThreads[0].Function != "main" {
		t.Errorf("stepped out to %+v", st.PausedThreads[0])
	}
	d.next(args{})
	s.WaitEnd(t, d.id, endLimit)
	if out := s.Output(t, d.id, "stdout"); out != "0x1ff 6\n" {
		t.Errorf("it wrote %q", out)
	}
}

const stepTicks = `#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile long ticks;
static void tick(int sig) { ticks += sig != 0; }
static int sum(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += i;
  return s;
}
int main(int argc, char **) {
  signal(SIGALRM, tick);
  struct itimerval t = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  if (argc > 1)
    setitimer(ITIMER_REAL, &t, 0); // begins
  int a = sum(2);
  a += sum(3);
  a += sum(2);
  setitimer(ITIMER_REAL, &none, 0);
  printf("%d %d\n", a, ticks > 3);
  return 0;
}
`

// TestStepsAmongTicks steps a program that a timer interrupts each millisecond: it goes where it goes without. The
// processor's resume flag, which a signal's return brought back, once let the thread run past the break that waited
// there, to its end.
func TestStepsAmongTicks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	var ways [2][]int
	for i, argv := range [][]string{nil, {"ticks"}} {
		d := debug(t, s, "gcc-O0", "ticks", stepTicks, args{"stopOnEntry": true}, argv...)
		d.points(args{"add": []args{{"function": "main"}}})
		for action := "continue"; len(ways[i]) < 100; action = "step-into" {
			st := d.next(args{"action": action})
			if len(st.PausedThreads) == 0 {
				break
			}
			if line := st.PausedThreads[0].Line; line != lineOf(stepTicks, "// begins") { // for the other alone
				ways[i] = append(ways[i], line)
			}
		}
		s.WaitEnd(t, d.id, endLimit)
		if out, want := s.Output(t, d.id, "stdout"), fmt.Sprintf("5 %d\n", i); out != want {
			t.Errorf("%q wrote %q, want %q", argv, out, want)
		}
	}
	if len(ways[0]) < 30 || fmt.Sprint(ways[0]) != fmt.Sprint(ways[1]) {
		t.Errorf("among ticks it steps\n%v, without\n%v", ways[1], ways[0])
	}
}
