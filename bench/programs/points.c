// points calls a small function in bursts and prints the median time of a call, for each line "calls bursts" of its
// input.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long sink;

__attribute__((noinline, noclone)) long work(long i, long j)
{
	sink += i ^ j;
	return i + j;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int order(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(int argc, char **argv)
{
	char line[64];
	long calls, bursts;
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	while (in && fgets(line, sizeof line, in) && sscanf(line, "%ld %ld", &calls, &bursts) == 2 && bursts <= 1000) {
		double took[1000];
		for (long b = 0; b < bursts; b++) {
			double from = now();
			for (long i = 0; i < calls; i++)
				work(i, b);
			took[b] = (now() - from) / calls;
			struct timespec pause = {0, 5000000}; // for who reads what was recorded
			nanosleep(&pause, 0);
		}
		qsort(took, bursts, sizeof *took, order);
		printf("ns %.2f\n", took[bursts / 2]);
		fflush(stdout);
	}
}
