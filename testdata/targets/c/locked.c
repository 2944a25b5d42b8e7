// Mutexes, condition variables and atomics between four threads: a queue with one producer and three
// consumers, every item accounted for.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 16, CONSUMERS = 3 };
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int queue[SIZE], head, count, closed;
static long total;

__attribute__((noinline)) void push(int v) {
	pthread_mutex_lock(&mu);
	while (count == SIZE) pthread_cond_wait(&full, &mu);
	queue[(head + count++) % SIZE] = v;
	pthread_cond_signal(&empty);
	pthread_mutex_unlock(&mu);
}
__attribute__((noinline)) int pop(int *v) {
	pthread_mutex_lock(&mu);
	while (count == 0 && !closed) pthread_cond_wait(&empty, &mu);
	int ok = count > 0;
	if (ok) {
		*v = queue[head];
		head = (head + 1) % SIZE;
		count--;
		pthread_cond_signal(&full);
	}
	pthread_mutex_unlock(&mu);
	return ok;
}
static void *consume(void *p) {
	int v;
	while (pop(&v)) __atomic_add_fetch(&total, v, __ATOMIC_RELAXED);
	return p;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 5000;
	pthread_t t[CONSUMERS];
	for (int i = 0; i < CONSUMERS; i++) pthread_create(&t[i], NULL, consume, NULL);
	for (int i = 1; i <= n; i++) push(i);
	pthread_mutex_lock(&mu);
	closed = 1;
	pthread_cond_broadcast(&empty);
	pthread_mutex_unlock(&mu);
	for (int i = 0; i < CONSUMERS; i++) pthread_join(t[i], NULL);
	printf("items=%d total=%ld\n", n, total);
	return total == (long)n * (n + 1) / 2 ? 0 : 1;
}
