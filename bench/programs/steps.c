// steps has lines to step over: plain ones, and one with a call.
#include <stdio.h>

static volatile long sink;

static long small(long i) { return i ^ 3; }

static void lines(long n)
{
	for (long i = 0; i < n; i++) {
		long a = i * 2;
		long b = a + i;
		sink = b;
		sink += small(b);
		sink -= a;
	}
}

int main(void)
{
	lines(1000000000);
	printf("%ld\n", sink);
}
