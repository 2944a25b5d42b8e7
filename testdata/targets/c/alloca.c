// alloca and variable-length arrays: frames of unknown size, checked byte by byte.
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) unsigned sum(const unsigned char *p, size_t n) {
	unsigned s = 0;
	for (size_t i = 0; i < n; i++) s = s * 31 + p[i];
	return s;
}
__attribute__((noinline)) unsigned with_alloca(size_t n, int depth) {
	unsigned char *p = alloca(n + 1);
	memset(p, depth + 1, n);
	unsigned before = sum(p, n);
	unsigned below = depth ? with_alloca(n * 2 % 997 + 1, depth - 1) : 1;
	return before == sum(p, n) ? before ^ below : 0xdead;
}
__attribute__((noinline)) unsigned with_vla(int n, int depth) {
	unsigned char a[n], b[n * 2];
	memset(a, n, sizeof a);
	memset(b, depth, sizeof b);
	unsigned below = depth ? with_vla(n % 200 + 7, depth - 1) : 3;
	return sum(a, sizeof a) + sum(b, sizeof b) + below;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	unsigned x = 0;
	for (int i = 0; i < rounds; i++) x = x * 7 + with_alloca(i * 13 % 500, 9) + with_vla(i % 90 + 1, 9);
	printf("rounds=%d x=%08x\n", rounds, x);
	return 0;
}
