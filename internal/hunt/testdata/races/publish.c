#include <pthread.h>
#include <stdlib.h>
struct data {
	long v[8];
};
static struct data *published;
static int ready;
static long sink;
static void *make(void *a) {
	for (int i = 0; i < 100000; i++) {
		struct data *d = calloc(1, sizeof *d);
		for (int k = 0; k < 8; k++)
			d->v[k] = i;
		published = d; // races
		ready = 1;     // races
		for (volatile int z = 0; z < 20; z++)
			;
	}
	return 0;
}
static void *use(void *a) {
	long s = 0;
	for (int i = 0; i < 1000000; i++) {
		if (*(volatile int *)&ready) { // races
			struct data *d = *(struct data *volatile *)&published; // races
			s += d->v[i & 7];
		}
	}
	sink = s;
	return 0;
}
int main(void) {
	pthread_t t[2];
	pthread_create(&t[0], 0, make, 0);
	pthread_create(&t[1], 0, use, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
