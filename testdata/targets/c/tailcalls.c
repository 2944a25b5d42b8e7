// Mutual tail calls, a million of them. At -O2 they are jumps and the stack does not grow; at -O0 the count
// is cut so that the recursion fits. clang's musttail forces jumps at every level.
#include <stdio.h>
#include <stdlib.h>

#if defined(__clang__)
#define TAIL __attribute__((musttail)) return
#define LIMIT 1000000
#elif defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("optimize-sibling-calls") // -O1 does not have it
#define TAIL return
#define LIMIT 1000000
#else
#define TAIL return
#define LIMIT 20000
#endif

static long hops;
__attribute__((noinline)) long ping(long n, long acc);
__attribute__((noinline)) long pang(long n, long acc);

__attribute__((noinline)) long pong(long n, long acc) {
	hops++;
	if (n == 0) return acc;
	TAIL pang(n - 1, acc ^ n);
}
__attribute__((noinline)) long pang(long n, long acc) {
	hops++;
	if (n == 0) return acc + 1;
	TAIL ping(n - 1, acc + 3);
}
__attribute__((noinline)) long ping(long n, long acc) {
	hops++;
	if (n == 0) return acc + 2;
	TAIL pong(n - 1, acc + n);
}

// A tail call through a pointer, and a function that is nothing but one.
__attribute__((noinline)) long indirect(long (*f)(long, long), long n) { return f(n, 5); }
__attribute__((noinline)) long only_jump(long n, long acc) { return ping(n, acc); }

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : LIMIT, m = n > 999 ? 999 : n;
	long a = ping(n, 0), h = hops;
	long b = indirect(ping, m), c = only_jump(m, 1);
	int ok = h == n + 1 && hops == n + 2 * m + 3;
	// The count differs between builds; the check above and these small results do not.
	printf("ok=%d b=%ld c=%ld parity=%ld\n", ok, b, c, a & 0);
	return ok ? 0 : 1;
}
