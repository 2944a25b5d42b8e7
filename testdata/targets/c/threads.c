// Eight threads in small functions. Every counter is exact, so a lost or doubled call shows.
// usage: threads [rounds per thread, default 20000; 0: until standard input says something or ends]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, EVERY = 4096 };

struct worker {
	long steps, sum, milestones, rounds;
};

static int stop;

__attribute__((noinline)) long add(long a, long b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) long twice(long a) { __asm__ volatile(""); return add(a, a); }
// Called seldom: its count can be compared while the others' hooks come and go.
__attribute__((noinline)) long milestone(struct worker *w, long i) { __asm__ volatile(""); return i + ++w->milestones; }
__attribute__((noinline)) long step(struct worker *w, long i) {
	w->steps++;
	w->sum = add(w->sum, twice(i) % 7);
	if (i % EVERY == 0) milestone(w, i);
	return i + 1;
}

static void *run(void *arg) {
	struct worker *w = arg;
	for (long i = 0; w->rounds ? i < w->rounds : !__atomic_load_n(&stop, __ATOMIC_RELAXED);) i = step(w, i);
	return w;
}

// What sum must be after n steps.
static long expected(long n) {
	long s = n / 7 * 21;
	for (long i = n / 7 * 7; i < n; i++) s += 2 * i % 7;
	return s;
}

int main(int argc, char **argv) {
	long rounds = argc > 1 ? atol(argv[1]) : 20000, steps = 0, sum = 0, milestones = 0, want = 0, want_milestones = 0;
	pthread_t threads[THREADS];
	struct worker workers[THREADS] = {0};
	for (int i = 0; i < THREADS; i++) {
		workers[i].rounds = rounds;
		if (pthread_create(&threads[i], NULL, run, &workers[i])) return 2;
	}
	if (!rounds) {
		puts("ready");
		fflush(stdout);
		getchar();
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < THREADS; i++) {
		void *ret;
		pthread_join(threads[i], &ret);
		if (ret != &workers[i]) return 3;
		steps += workers[i].steps;
		sum += workers[i].sum;
		milestones += workers[i].milestones;
		want += expected(workers[i].steps);
		want_milestones += (workers[i].steps + EVERY - 1) / EVERY;
	}
	int ok = sum == want && milestones == want_milestones && (!rounds || steps == rounds * THREADS);
	printf("threads=%d step=%ld twice=%ld add=%ld milestone=%ld sum=%ld ok=%d\n", THREADS, steps, steps, steps * 2, milestones, sum, ok);
	return ok ? 0 : 1;
}
