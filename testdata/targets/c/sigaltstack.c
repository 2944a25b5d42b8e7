// Signal handlers on an alternate stack that call functions, while the main loop is in the same functions:
// raise() for exact counts, and an interval timer to interrupt at any instruction.
// SA_RESTART is set and nothing here blocks, so the result does not depend on when the timer fires.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t raised, ticks, wrong_stack;
static char *stack;
static size_t stack_size = 1 << 16;

__attribute__((noinline)) unsigned mix(unsigned x) { return x * 1664525u + 1013904223u; }
__attribute__((noinline)) unsigned mix2(unsigned x) { return mix(x) ^ (mix(x + 1) >> 3); }

__attribute__((noinline)) void note(int sig) {
	char here;
	if (&here < stack || &here >= stack + stack_size) wrong_stack = wrong_stack + 1;
	if (sig == SIGUSR1) raised = raised + 1;
	else ticks = ticks + 1;
}

static void handler(int sig) {
	volatile unsigned r = mix2(sig);
	(void)r;
	note(sig);
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 200000;
	stack = malloc(stack_size);
	stack_t ss = {.ss_sp = stack, .ss_size = stack_size};
	sigaltstack(&ss, NULL);
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = handler;
	sa.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	struct itimerval it = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_REAL, &it, NULL);
	unsigned x = 1, want = 1;
	for (int i = 0; i < rounds; i++) {
		x = mix2(x);
		want = (want * 1664525u + 1013904223u) ^ (((want + 1) * 1664525u + 1013904223u) >> 3);
		if (i % 1000 == 0) raise(SIGUSR1);
		if (x != want) {
			printf("round %d: got %u, want %u\n", i, x, want);
			return 1;
		}
	}
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_REAL, &it, NULL);
	printf("rounds=%d x=%u raised=%d off the alternate stack=%d\n", rounds, x, (int)raised, (int)wrong_stack);
	return raised == (rounds + 999) / 1000 && wrong_stack == 0 ? 0 : 1;
}
