#include <pthread.h>
#include <stdint.h>

extern int goDown(int n);

__attribute__((noinline)) int cDown(int n) { return n <= 0 ? 0 : goDown(n - 1) + 1; }

__attribute__((noinline)) int cSum(int a, int b) { return a + b; }

static void *run(void *arg) {
	intptr_t sum = 0;
	for (int i = 0; i < 50; i++) sum += cDown(6);
	return (void *)sum;
}

int threads(int n) {
	pthread_t t[16];
	intptr_t all = 0;
	for (int i = 0; i < n; i++) pthread_create(&t[i], 0, run, 0);
	for (int i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		all += (intptr_t)r;
	}
	return all;
}
