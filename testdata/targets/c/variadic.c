// Variadic functions: 20 arguments, integers and doubles mixed, a va_list passed on, long doubles and
// structs through the dots, and the C library's own.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { long a, b; };
struct big { long v[6]; };

__attribute__((noinline)) double vmixed(const char *spec, va_list ap) {
	double s = 0;
	int k = 1;
	for (; *spec; spec++, k++) switch (*spec) {
		case 'i': s += k * va_arg(ap, int); break;
		case 'l': s += k * (double)va_arg(ap, long); break;
		case 'd': s += k * va_arg(ap, double); break;
		case 'L': s += k * (double)va_arg(ap, long double); break;
		case 's': s += k * (double)strlen(va_arg(ap, char *)); break;
		case 'p': { struct pair p = va_arg(ap, struct pair); s += k * (double)(p.a - p.b); break; }
		case 'b': { struct big b = va_arg(ap, struct big); s += k * (double)(b.v[0] + b.v[5]); break; }
		}
	return s;
}
__attribute__((noinline)) double mixed(const char *spec, ...) {
	va_list ap;
	va_start(ap, spec);
	double s = vmixed(spec, ap);
	va_end(ap);
	return s;
}
__attribute__((noinline)) long sum20(int n, ...) {
	va_list ap;
	va_start(ap, n);
	long s = 0;
	for (int i = 0; i < n; i++) s = s * 3 + va_arg(ap, long);
	va_end(ap);
	return s;
}
__attribute__((noinline, format(printf, 3, 4))) int format(char *buf, size_t n, const char *f, ...) {
	va_list ap, copy;
	va_start(ap, f);
	va_copy(copy, ap);
	int want = vsnprintf(NULL, 0, f, copy);
	va_end(copy);
	int got = vsnprintf(buf, n, f, ap);
	va_end(ap);
	return want == got ? got : -1;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	double d = 0;
	long l = 0;
	char buf[512];
	struct pair p = {9, 4};
	struct big b = {{1, 2, 3, 4, 5, 6}};
	for (int i = 0; i < rounds; i++) {
		d += mixed("ididididididididididididid", i, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12, 12.5, 13, 13.5);
		d += mixed("ipbLslpbd", i, p, b, 2.25L, "seven!!", 1L << 40, p, b, 0.125);
		l ^= sum20(20, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L, 12L, 13L, 14L, 15L, 16L, 17L, 18L, 19L, (long)i);
		if (format(buf, sizeof buf, "%d %s %.3f %c %ld %x %.2Lf %d %d %d %d %d %d %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f",
		           i, "text", 1.5, 'c', 99L, 255, 3.25L, 1, 2, 3, 4, 5, 6, 1., 2., 3., 4., 5., 6., 7., 8., 9.) < 0) return 1;
	}
	printf("rounds=%d d=%.3f l=%ld %s\n", rounds, d, l, buf);
	return 0;
}
