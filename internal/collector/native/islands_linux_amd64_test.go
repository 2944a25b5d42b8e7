package native

import (
	"context"
	"fmt"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
)

const backProgram = `#include <pthread.h>
#include <stdio.h>
__attribute__((naked, noinline)) long back(long n)
{
	__asm__("push %rbx\n\t.cfi_adjust_cfa_offset 8\n\tmov %rdi,%rbx\n"
		"1:\tlea 1(%rbx),%rbx\n\ttest $3,%bl\n\tjne 1b\n\tlea (%rbx,%rbx,2),%rax\n\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.nops 8");
}
__attribute__((noinline)) long steady(long n) { __asm__ volatile(""); return n + 1; }
static long bad, calls;
static volatile int stop;
static void *loop(void *a)
{
	long wrong = 0, n = 0;
	for (; !stop; n++) wrong += back(n) != ((n >> 2) + 1) * 12 || steady(n) != n + 1;
	__atomic_fetch_add(&bad, wrong, __ATOMIC_SEQ_CST), __atomic_fetch_add(&calls, n, __ATOMIC_SEQ_CST);
	return a;
}
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, loop, 0);
	getchar();
	stop = 1;
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	printf("bad=%ld calls=%ld\n", bad, calls);
}
`

// TestShortJump: a function that jumps back to its own fifth byte has no room for a jump of five, and is hooked without
// a breakpoint instruction all the same, comes and goes while threads are in it, and does what it did. Keeps out: 44 µs
// a call of one function, which were most of what tracing all of Lua cost.
func TestShortJump(t *testing.T) {
	prog := build(t, "back.c", backProgram, "gcc", "-g", "-O2", "-pthread")
	sink := newSink(t)
	sink.keep, sink.block = false, true
	s := startTracing(t, testRuntime(t), sink, prog, collector.Tracing{Probes: []collector.Probe{{Pattern: "back"}}})
	waitFor(t, "calls", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.enters["back"] > 100 })
	if st := s.Status(); st.Hooked != 1 || st.Fallback != 0 {
		t.Errorf("%d hooked, %d by breakpoint", st.Hooked, st.Fallback)
	}
	for i := range 100 {
		tracing := collector.Tracing{Probes: []collector.Probe{{Pattern: "steady"}}}
		if i%2 == 1 {
			tracing.Probes = append(tracing.Probes, collector.Probe{Pattern: "back", Depth: 1 + i/2%2})
		}
		if _, err := s.SetTracing(context.Background(), tracing); err != nil {
			t.Fatal(fmt.Errorf("change %d: %w", i, err))
		}
	}
	s.stdin.WriteString("\n")
	s.wait(t)
	if out := s.stdout.String(); s.Exit() != (collector.ExitInfo{}) || number(out, "bad") != 0 ||
		number(out, "calls") == 0 {
		t.Errorf("the program ended with %+v and wrote %q", s.Exit(), out)
	}
	checkBalance(t, sink)
}
