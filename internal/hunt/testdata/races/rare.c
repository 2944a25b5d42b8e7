#include <pthread.h>
static long errors, table[4096];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *w(void *a) {
	unsigned long x = (unsigned long)a * 77 + 1, local = 0;
	for (long i = 0; i < 4000000; i++) {
		x = x * 6364136223846793005UL + 1;
		local += x >> 33;
		if ((x >> 40) % 2000 == 0)
			errors++; // races
		if ((i & 255) == 0) {
			pthread_mutex_lock(&m);
			table[x >> 52]++;
			pthread_mutex_unlock(&m);
		}
	}
	return (void *)local;
}
int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, w, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
