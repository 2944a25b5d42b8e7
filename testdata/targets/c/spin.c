// Calls two small functions in a loop for a time or a count, and says how many nanoseconds a pair of calls
// took. usage: spin count N | spin ms N. The result line goes to stderr, since it differs from run to run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((noinline)) int leaf(int a, int b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) int branch(int a, int b) { __asm__ volatile(""); return leaf(a, b) ^ b; }

static long long now(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv) {
	int by_time = argc > 1 && !strcmp(argv[1], "ms");
	long limit = argc > 2 ? atol(argv[2]) : 1000000, n = 0;
	long long start = now(), end = start + limit * 1000000LL;
	int x = 1;
	if (by_time)
		do {
			for (int i = 0; i < 1000; i++, n++) x = branch(x, i) & 0xffff;
		} while (now() < end);
	else
		for (; n < limit; n++) x = branch(x, (int)n) & 0xffff;
	long long took = now() - start;
	if (by_time) printf("ran\n");
	else printf("rounds=%ld x=%d\n", n, x);
	fprintf(stderr, "pairs=%ld ns_per_pair=%.2f\n", n * 2, (double)took / (n * 2));
	return 0;
}
