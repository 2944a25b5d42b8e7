// One SCHED_FIFO thread that wakes each millisecond and calls 50 functions, while other threads compute and call
// without a rest. Says how late its work was done: a deadline is missed where it ends behind the next waking.
// usage: realtime SECONDS BUSY_THREADS
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TEN(m, p) m(p##0) m(p##1) m(p##2) m(p##3) m(p##4) m(p##5) m(p##6) m(p##7) m(p##8) m(p##9)
#define FIFTY(m) TEN(m, 1) TEN(m, 2) TEN(m, 3) TEN(m, 4) TEN(m, 5)
#define DEFINE(n) __attribute__((noinline)) int voice##n(int x) { __asm__ volatile(""); return x * n + 1; }
#define CALL(n) sum += voice##n(sum);
FIFTY(DEFINE)
__attribute__((noinline)) int busy(int x) { __asm__ volatile(""); return x + 1; }

static volatile int over;

static void *compute(void *arg) {
	int x = (int)(long)arg;
	while (!over) {
		for (int i = 0; i < 2000; i++) { // some 10 us between calls
			__asm__ volatile("");
			x += i;
		}
		x = busy(x);
	}
	return NULL;
}

static long since(struct timespec from) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc < 3) {
		fprintf(stderr, "usage: realtime SECONDS BUSY_THREADS\n");
		return 2;
	}
	long periods = atol(argv[1]) * 1000, threads = atol(argv[2]);
	pthread_t t[16];
	if (threads > 16) threads = 16;
	for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, compute, (void *)i);
	struct sched_param p = {50};
	if (sched_setscheduler(0, SCHED_FIFO, &p)) {
		perror("realtime: sched_setscheduler");
		return 3;
	}
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	long late = 0, work = 0, worst = 0, longest = 0, lateWork = 0;
	int sum = 1;
	for (long i = 0; i < periods; i++) {
		if ((next.tv_nsec += 1000000) >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		long woke = since(next);
		FIFTY(CALL)
		long done = since(next);
		if (done > 1000000) {
			late++;
			lateWork += done - woke > 1000000;
		}
		if (done > worst) worst = done;
		if (done - woke > longest) longest = done - woke;
		work += done - woke;
		if (done > 1000000) clock_gettime(CLOCK_MONOTONIC, &next); // what comes then is not late for this
	}
	over = 1;
	for (long i = 0; i < threads; i++) pthread_join(t[i], NULL);
	printf("periods=%ld missed=%ld missed_working=%ld worst_us=%ld longest_us=%ld mean_ns=%ld sum=%d\n", periods, late,
	       lateWork, worst / 1000, longest / 1000, work / periods, sum & 1);
	return 0;
}
