// SIGPROF at 1 kHz on CPU time while functions are called, ended by the handler's own count or after two
// seconds of wall time. How many calls fit is not printed: it differs.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static volatile unsigned sink;

__attribute__((noinline)) unsigned hash(unsigned x) { return (x ^ (x >> 15)) * 0x2c1b3c6du; }
__attribute__((noinline)) unsigned both(unsigned x) { return hash(x) + hash(~x); }
static void on_prof(int sig) {
	sink = both(sig);
	ticks = ticks + 1;
}

static void *run(void *p) {
	unsigned bad = 0, x = 1;
	struct timespec end, now;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 2;
	do {
		for (int i = 0; i < 1000; i++) {
			unsigned want = (x ^ (x >> 15)) * 0x2c1b3c6du + (~x ^ (~x >> 15)) * 0x2c1b3c6du, got = both(x);
			bad += got != want;
			x = got + 1;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (ticks < 200 && (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)));
	*(unsigned *)p = bad;
	return p;
}

int main(void) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_prof;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &sa, NULL);
	struct itimerval it = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_PROF, &it, NULL);
	pthread_t t[2];
	unsigned bad[2] = {1, 1};
	for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, &bad[i]);
	for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_PROF, &it, NULL);
	printf("bad=%u ticked=%d\n", bad[0] + bad[1], ticks > 0);
	return bad[0] + bad[1] ? 1 : 0;
}
