// Structs of 200 bytes by value and returned, small ones in registers, mixed classes, many stack arguments.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct big { long v[25]; };
struct odd { char c[37]; };
struct two { long a; double b; };
struct flt { float x, y, z; };
struct one { char c; };
struct ld { long double d; };

__attribute__((noinline)) struct big grow(struct big b, long k) {
	for (int i = 0; i < 25; i++) b.v[i] += k * i;
	return b;
}
__attribute__((noinline)) long total(struct big a, struct big b, int i, struct odd o) {
	long s = i;
	for (int k = 0; k < 25; k++) s += a.v[k] * 2 - b.v[k];
	for (int k = 0; k < 37; k++) s += o.c[k];
	return s;
}
__attribute__((noinline)) struct two two(struct two t, double d, long l) { t.a += l; t.b *= d; return t; }
__attribute__((noinline)) struct flt flt(struct flt f) { f.x += f.y; f.y += f.z; f.z += f.x; return f; }
__attribute__((noinline)) struct one one(struct one o) { o.c++; return o; }
__attribute__((noinline)) struct ld ld(struct ld a, long double b) { a.d += b; return a; }
__attribute__((noinline)) long double real(long double a, double b, float c) { return a * b + c; }
__attribute__((noinline)) double many(int a, double b, long c, double d, int e, double f, long g, double h, int i,
                                      double j, long k, double l, int m, double n, long o, double p, int q, double r,
                                      float s, char t, short u) {
	return a + b * 2 + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u;
}
__attribute__((noinline)) __int128 wide(__int128 a, long b, __int128 c) { return a * b + c; }

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 500;
	struct big b = {{0}};
	struct odd o;
	struct two t = {1, 1.0};
	struct flt f = {1, 2, 3};
	struct one c = {0};
	struct ld d = {0};
	long s = 0;
	double m = 0;
	long double r = 0;
	__int128 w = 1;
	memset(&o, 3, sizeof o);
	for (int i = 0; i < rounds; i++) {
		b = grow(b, i);
		s ^= total(b, grow(b, 1), i, o);
		t = two(t, i % 2 ? 0.5 : 2.0, i);
		struct flt g = flt(f);
		m += many(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 'a', -5) + g.z;
		c = one(c);
		d = ld(d, 0.5L);
		r += real(1.5L, i, 0.25f);
		w = wide(w, 7, i) % (((__int128)1 << 100) + 9);
	}
	printf("rounds=%d s=%ld t=%ld,%.3f m=%.3f c=%d ld=%.2Lf r=%.2Lf w=%llx:%llx\n", rounds, s, t.a, t.b, m, c.c, d.d, r,
	       (unsigned long long)(w >> 64), (unsigned long long)w);
	return 0;
}
