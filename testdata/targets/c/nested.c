// gcc's nested functions (trampolines on the stack) and indirect calls of many kinds, also through qsort.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long apply(long (*f)(long), long n) {
	long s = 0;
	for (long i = 0; i < n; i++) s += f(i);
	return s;
}
__attribute__((noinline)) static long square(long x) { return x * x; }
__attribute__((noinline)) static long cube(long x) { return x * x * x; }
__attribute__((noinline)) static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline)) static long outer(long k) {
	long calls = 0;
	__attribute__((noinline)) long inner(long x) {
		calls++;
		return x * k;
	}
	return apply(inner, 10) + calls;
}
#else
static long bound;
__attribute__((noinline)) static long inner(long x) { return x * bound; }
__attribute__((noinline)) static long outer(long k) {
	bound = k;
	return apply(inner, 10) + 10;
}
#endif

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	long (*ops[])(long) = {square, cube};
	long s = 0;
	int v[100];
	for (int i = 0; i < rounds; i++) s += outer(i) + apply(ops[i & 1], 20);
	for (int i = 0; i < 100; i++) v[i] = (i * 7919) % 101;
	qsort(v, 100, sizeof *v, compare);
	for (int i = 1; i < 100; i++)
		if (v[i - 1] > v[i]) return 1;
	printf("rounds=%d s=%ld\n", rounds, s);
	return 0;
}
