#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static int ready;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
__attribute__((noinline)) int is_ready(void) { return __atomic_load_n(&ready, __ATOMIC_SEQ_CST); }
static void *w(void *a) {
	pthread_mutex_lock(&m);
	if (!ready) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 60000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_sec++;
			t.tv_nsec -= 1000000000;
		}
		int r = pthread_cond_timedwait(&c, &m, &t);
		if (r && !ready) {
			pthread_mutex_unlock(&m);
			return (void *)1;
		}
	}
	pthread_mutex_unlock(&m);
	return 0;
}
int main() {
	pthread_t a;
	pthread_create(&a, 0, w, 0);
	struct timespec d = {0, 1500000};
	nanosleep(&d, 0);
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_mutex_unlock(&m);
	pthread_cond_signal(&c);
	void *r;
	pthread_join(a, &r);
	return r != 0;
}
