// Threads that end in pthread_exit, ten frames deep, with clean-up handlers and thread-specific data.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long cleanups, destroyed, entered;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

static void count(long *n) {
	pthread_mutex_lock(&mu);
	++*n;
	pthread_mutex_unlock(&mu);
}

__attribute__((noinline)) void cleanup(void *p) { count(p); }
__attribute__((noinline)) void destroy(void *p) { (void)p; count(&destroyed); }

__attribute__((noinline)) int leave(int n, void *result) {
	int r;
	count(&entered);
	pthread_cleanup_push(cleanup, &cleanups);
	if (n == 0) pthread_exit(result);
	r = leave(n - 1, result) + 1;
	pthread_cleanup_pop(0);
	return r;
}

static void *run(void *arg) {
	pthread_setspecific(key, arg);
	leave(9, arg);
	return NULL;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 50;
	pthread_key_create(&key, destroy);
	for (int i = 0; i < rounds; i++) {
		pthread_t t[4];
		int v[4];
		for (int k = 0; k < 4; k++)
			if (pthread_create(&t[k], NULL, run, &v[k])) return 2;
		for (int k = 0; k < 4; k++) {
			void *r;
			pthread_join(t[k], &r);
			if (r != &v[k]) return 3;
		}
	}
	printf("rounds=%d entered=%ld cleanups=%ld destroyed=%ld\n", rounds, entered, cleanups, destroyed);
	return entered == rounds * 40L && cleanups == rounds * 40L && destroyed == rounds * 4L ? 0 : 1;
}
