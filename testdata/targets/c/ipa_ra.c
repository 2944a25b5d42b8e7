// gcc -O2 knows which caller-saved registers a static function leaves alone (-fipa-ra) and keeps values in
// them across the call. A hook that clobbers any register breaks the sums below.
#include <stdio.h>
#include <stdlib.h>

static long table[64];

__attribute__((noinline)) static int small(int x) { return x * 2 + 1; }
__attribute__((noinline)) static void touch(int i) { table[i & 63]++; }
__attribute__((noinline)) static double half(double x) { return x * 0.5; }

__attribute__((noinline)) long many_live(long a, long b, long c, long d, long e, long f) {
	long s = 0;
	for (int i = 0; i < 20; i++) {
		long g = a + b, h = c ^ d, k = e - f;
		touch(i);
		s += g * 3 + h + k;
		s += small(i);
		a += g & 7;
		c += h & 3;
		e += k & 1;
	}
	return s + a + b + c + d + e + f;
}

__attribute__((noinline)) double many_floats(double a, double b, double c, double d, double e, double f, double g) {
	double s = 0;
	for (int i = 0; i < 20; i++) {
		touch(i);
		s += a * b + c * d + e * f + g;
		s += half(i);
		a += 0.5;
		c -= 0.25;
	}
	return s + b + d + e + f;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 500;
	long s = 0, t = 0;
	double d = 0;
	for (int i = 0; i < rounds; i++) {
		s = s % 1000003 * 31 + many_live(i, 2, 3, 4, 5, 6);
		d += many_floats(i, 2, 3, 4, 5, 6, 7);
	}
	for (int i = 0; i < 64; i++) t += table[i];
	printf("rounds=%d s=%ld d=%.3f touched=%ld\n", rounds, s, d, t);
	return t == rounds * 40L ? 0 : 1;
}
