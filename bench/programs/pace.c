// Makes calls at a given rate from several threads and counts them.
// usage: pace THREADS PAIRS_PER_MS MILLISECONDS | pace THREADS 0 PAIRS
// With a rate each thread makes its share of PAIRS_PER_MS calls, sleeps to the next millisecond, and catches up when
// it is behind; without one it makes PAIRS calls as fast as it can.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct node { long weight; struct node *next; };

__attribute__((noinline)) int leaf(int a, int b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) long walk(struct node *n, int depth) {
	__asm__ volatile("");
	return n->weight + leaf(depth, 7);
}
__attribute__((noinline)) int check(const struct node *n, long limit, unsigned flags) {
	__asm__ volatile("");
	return n->weight < limit || flags;
}
__attribute__((noinline)) long step(struct node *n, int i) {
	__asm__ volatile("");
	return walk(n, i & 0xfff) + check(n, i, 3) - 1;
}

enum { PAIRS = 4 }; // calls of one step, with its own

static int threads;
static long rate, amount;
static long made[64]; // pairs, by thread
static struct timespec begin;

static void *work(void *arg) {
	long id = (long)arg, share = rate / threads;
	enum { NODES = 1 << 14 };
	struct node *nodes = malloc(NODES * sizeof *nodes);
	for (int i = 0; i < NODES; i++) nodes[i] = (struct node){random() & 0xfffff, &nodes[(i + 1) % NODES]};
	long sum = 0, n = 0;
	unsigned seed = (unsigned)id;
	if (!rate) {
		for (; n < amount; n += PAIRS)
				seed = seed * 1664525 + 1013904223, sum += step(&nodes[seed >> 18], (int)(seed >> 8));
	} else {
		struct timespec at = begin;
		for (long ms = 1; ms <= amount; ms++) {
			for (long until = share * ms; n + PAIRS <= until; n += PAIRS)
				seed = seed * 1664525 + 1013904223, sum += step(&nodes[seed >> 18], (int)(seed >> 8));
			if ((at.tv_nsec += 1000000) >= 1000000000) { at.tv_sec++; at.tv_nsec -= 1000000000; }
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		}
	}
	made[id] = n;
	free(nodes);
	return (void *)sum;
}

int main(int argc, char **argv) {
	if (argc < 4) return 2;
	threads = atoi(argv[1]);
	rate = atol(argv[2]);
	amount = atol(argv[3]);
	if (threads < 1 || threads > 64) return 2;
	pthread_t t[64];
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)i);
	long pairs = 0;
	for (int i = 0; i < threads; i++) pthread_join(t[i], NULL), pairs += made[i];
	struct timespec end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("pairs=%ld ms=%ld\n", pairs, (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	return 0;
}
