// Eight threads in small functions. Every counter is exact, so a lost or doubled call shows.
// usage: threads [rounds per thread, default 20000]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8 };

struct worker {
	long calls, sum;
	int id, rounds;
};

__attribute__((noinline)) long add(long a, long b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) long twice(long a) { __asm__ volatile(""); return add(a, a); }
__attribute__((noinline)) int step(struct worker *w, int i) {
	w->calls += 3;
	w->sum = add(w->sum, twice(i) % 7);
	return i + 1;
}

static void *run(void *arg) {
	struct worker *w = arg;
	for (int i = 0; i < w->rounds;) i = step(w, i);
	return w;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 20000;
	pthread_t threads[THREADS];
	struct worker workers[THREADS] = {0};
	long calls = 0, sum = 0;
	for (int i = 0; i < THREADS; i++) {
		workers[i].id = i;
		workers[i].rounds = rounds;
		if (pthread_create(&threads[i], NULL, run, &workers[i])) return 2;
	}
	for (int i = 0; i < THREADS; i++) {
		void *ret;
		pthread_join(threads[i], &ret);
		if (ret != &workers[i]) return 3;
		calls += workers[i].calls;
		sum += workers[i].sum;
	}
	long want = 0;
	for (int i = 0; i < rounds; i++) want += 2L * i % 7;
	printf("threads=%d rounds=%d step=%ld twice=%ld add=%ld sum=%ld\n", THREADS, rounds,
	       calls / 3, calls / 3, calls / 3 * 2, sum);
	return sum == want * THREADS && calls == 3L * THREADS * rounds ? 0 : 1;
}
