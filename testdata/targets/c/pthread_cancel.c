// pthread_cancel of threads deep in functions: at a cancellation point while blocked (deferred), at a
// pthread_testcancel while busy, and asynchronously in a pure computation.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long cleanups;
static sem_t ready;
static volatile long spun;

__attribute__((noinline)) void cleanup(void *p) { __atomic_add_fetch((long *)p, 1, __ATOMIC_SEQ_CST); }

__attribute__((noinline)) long block(int n) {
	long r;
	pthread_cleanup_push(cleanup, &cleanups);
	if (n == 0) {
		sem_post(&ready);
		for (;;) pause();
	}
	r = block(n - 1) + 1;
	pthread_cleanup_pop(0);
	return r;
}

__attribute__((noinline)) long tick(long x) { return x * 3 + 1; }

__attribute__((noinline)) long busy(int n) {
	long r = 0;
	pthread_cleanup_push(cleanup, &cleanups);
	if (n == 0) {
		sem_post(&ready);
		for (;;) {
			r = tick(r);
			pthread_testcancel();
		}
	}
	r = busy(n - 1) + 1;
	pthread_cleanup_pop(0);
	return r;
}

__attribute__((noinline)) long compute(long x) {
	for (;;) spun = spun + x;
	return x;
}

static void *run_block(void *p) { (void)p; return (void *)block(9); }
static void *run_busy(void *p) { (void)p; return (void *)busy(9); }
static void *run_async(void *p) {
	(void)p;
	int old;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	sem_post(&ready);
	return (void *)compute(1);
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	void *(*kinds[])(void *) = {run_block, run_busy, run_async};
	long cancelled = 0;
	sem_init(&ready, 0, 0);
	for (int i = 0; i < rounds; i++)
		for (int k = 0; k < 3; k++) {
			pthread_t t;
			void *r;
			if (pthread_create(&t, NULL, kinds[k], NULL)) return 2;
			sem_wait(&ready);
			pthread_cancel(t);
			pthread_join(t, &r);
			cancelled += r == PTHREAD_CANCELED;
		}
	printf("rounds=%d cancelled=%ld cleanups=%ld\n", rounds, cancelled, cleanups);
	return cancelled == rounds * 3L && cleanups == rounds * 20L ? 0 : 1;
}
