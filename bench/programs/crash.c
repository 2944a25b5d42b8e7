// crash: eight threads, of which one says what time it is and then writes to null.
// frames N: what glibc's backtrace and, with -DLIBUNWIND, libunwind cost for each frame of a stack of N; stop N: dies
// at its end.
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef LIBUNWIND
#include <libunwind.h>
#endif

static volatile long sink;
static long *volatile nothing;
static volatile int ready;

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) void mark(long at) { __asm__ volatile("" : : "r"(at)); }
__attribute__((noinline)) void fault(void) {
	mark(now());
	*nothing = 1;
}
__attribute__((noinline)) long work(int level) {
	if (level > 0)
		return work(level - 1) + 1;
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}
static void *thread(void *p) {
	sink = work((int)(long)p);
	return p;
}
static int crash(void) {
	pthread_t t;
	for (long i = 0; i < 7; i++)
		pthread_create(&t, NULL, thread, (void *)(10 + i));
	while (ready < 7)
		usleep(1000);
	usleep(200000); // until the question waits
	fault();
	return 0;
}

enum { turns = 200, most = 1100 };

static long unwind(void) {
#ifdef LIBUNWIND
	unw_context_t context;
	unw_cursor_t c;
	long n = 1;
	unw_getcontext(&context);
	unw_init_local(&c, &context);
	while (unw_step(&c) > 0)
		n++;
	return n;
#else
	void *list[most];
	return backtrace(list, most);
#endif
}
static int stop;
__attribute__((noinline)) int recurse(int n) {
	if (n > 0) {
		int r = recurse(n - 1) + 1;
		sink = r;
		return r;
	}
	if (stop)
		*nothing = 1;
	long best = 1L << 60, frames = unwind(); // the first loads what it needs
	for (int i = 0; i < turns; i++) {
		long start = now();
		frames = unwind();
		long took = now() - start;
		best = took < best ? took : best;
	}
	printf("%.1f\n", (double)best / frames);
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 2)
		return crash();
	stop = argv[1][0] == 's';
	return recurse(atoi(argv[2])) < 0;
}
