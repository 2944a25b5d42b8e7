#include <pthread.h>
long hits;
static long work[2][64];
static void *w(void *a) {
	long id = (long)a;
	for (long i = 0; i < 3000000; i++) { // races: optimized, hits is read here
		work[id][i & 63] += i * 7;
		if ((i & 15) == 0)
			hits++; // races
	}
	return 0;
}
int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, w, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 7;
}
