// Calls two small functions in a loop and says how many nanoseconds a call took, that is one pair of enter and
// exit. usage: spin count N | spin ms N | spin burst N REPEATS PAUSE_MS
// burst runs N rounds, pauses so that whoever records can catch up, and repeats; it reports the median burst and the fastest.
// The result line goes to stderr, since it differs from run to run.
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

static int compare(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static int burst(long n, int repeats, long pause_ms) {
	static double took[1000];
	int x = 1;
	if (repeats < 1 || repeats > 1000) return 2;
	for (int r = 0; r < repeats; r++) {
		long long start = now();
		for (long i = 0; i < n; i++) x = branch(x, (int)i) & 0xffff;
		took[r] = (double)(now() - start) / (n * 2);
		struct timespec ts = {pause_ms / 1000, pause_ms % 1000 * 1000000L};
		nanosleep(&ts, NULL);
	}
	qsort(took, repeats, sizeof *took, compare);
	printf("bursts=%d rounds=%ld x=%d\n", repeats, n, x);
	fprintf(stderr, "pairs=%ld ns_per_pair=%.4f fastest=%.4f\n", n * 2 * repeats, took[repeats / 2], took[0]);
	return 0;
}

int main(int argc, char **argv) {
	int by_time = argc > 1 && !strcmp(argv[1], "ms");
	long limit = argc > 2 ? atol(argv[2]) : 1000000, n = 0;
	if (argc > 4 && !strcmp(argv[1], "burst")) return burst(limit, atoi(argv[3]), atol(argv[4]));
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
	fprintf(stderr, "pairs=%ld ns_per_pair=%.4f\n", n * 2, (double)took / (n * 2));
	return 0;
}
