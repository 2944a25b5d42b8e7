// Makes calls of two small functions, one with a text, as fast as it can, and takes the time.
// usage: pair CALLS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) int leaf(int a, int b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) int text(const char *s, int n) { __asm__ volatile("" ::: "memory"); return s[n & 7]; }

int main(int argc, char **argv) {
	long calls = argc > 1 ? atol(argv[1]) / 2 * 2 : 0, sum = 0;
	struct timespec a, b;
	if (calls < 2) {
		fprintf(stderr, "usage: pair CALLS (2 or more)\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long i = 0; i < calls / 2; i++) {
		sum += leaf((int)i, (int)sum);
		sum += text("a text of some length, as programs have", (int)i);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	printf("pairs=%ld ns_per_pair=%.1f fastest=%.1f sum=%ld\n", calls, ns / (double)calls, ns / (double)calls, sum & 1);
	return 0;
}
