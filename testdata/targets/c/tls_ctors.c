// Constructors and destructors in order, thread-local variables, atexit, functions called before main.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static char order[64];
static int at;
static __thread long counter = 100;

__attribute__((noinline)) void mark(char c) { order[at++] = c; }
__attribute__((constructor(101))) static void first(void) { mark('1'); }
__attribute__((constructor(102))) static void second(void) { mark('2'); }
__attribute__((constructor)) static void third(void) { mark('3'); }
__attribute__((destructor)) static void last(void) {
	mark('d');
	order[at] = 0;
	printf("order=%s\n", order);
	fflush(stdout);
}
static void at_exit(void) { mark('x'); }

__attribute__((noinline)) long bump(long by) { return counter += by; }
static void *run(void *p) {
	for (int i = 0; i < 1000; i++) bump((long)p);
	return (void *)counter;
}

int main(void) {
	pthread_t t[4];
	long sum = 0;
	mark('m');
	atexit(at_exit);
	for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("sum=%ld own=%ld\n", sum, counter);
	return sum == 400 + 10000 && counter == 100 ? 0 : 1;
}
