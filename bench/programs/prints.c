// Prints 100 MB in lines of some 80 bytes, as logs are, over as many milliseconds of CPU time as its argument says.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
	double all = argc > 1 ? atof(argv[1]) : 0;
	const long most = 100l * 1000 * 1000;
	long wrote = 0;
	for (long i = 0; wrote < most; i++) {
		wrote += printf("2026-01-01 12:00:%02ld worker %ld: handled request %ld of client %ld in %ld us\n",
			i % 60, i % 8, i, i % 977, i % 1313);
		while (i % 1000 == 0 && ms() < all * (double)wrote / (double)most) {
		}
	}
	return 0;
}
