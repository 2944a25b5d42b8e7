#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
struct cell {
	long v;
	struct cell *next;
};
static struct cell *queue;
static long taken, sides[2];
static int over;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *give(void *a) {
	for (int i = 0; i < 40000; i++) {
		struct cell *x = malloc(sizeof *x);
		x->v = i;
		sides[0]++; // beside the other's, in one line of the cache
		pthread_mutex_lock(&m);
		x->next = queue;
		queue = x;
		pthread_mutex_unlock(&m);
		pthread_cond_signal(&c);
	}
	pthread_mutex_lock(&m);
	over = 1;
	pthread_mutex_unlock(&m);
	pthread_cond_signal(&c);
	return 0;
}
static void *take(void *a) {
	for (;;) {
		pthread_mutex_lock(&m);
		while (!queue && !over)
			pthread_cond_wait(&c, &m);
		struct cell *x = queue;
		if (x)
			queue = x->next;
		pthread_mutex_unlock(&m);
		if (!x)
			return 0;
		sides[1]++;
		taken += x->v++;
		free(x);
	}
}
int main(void) {
	pthread_t t[2];
	pthread_create(&t[0], 0, give, 0);
	pthread_create(&t[1], 0, take, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	return taken == 40000L * 39999 / 2 && sides[0] == sides[1] ? 3 : 1;
}
