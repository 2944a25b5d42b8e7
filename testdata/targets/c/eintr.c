// Threads blocked in epoll_wait, nanosleep, read, futex and poll for the time given; each counts EINTR. A
// tracer that interrupts a blocked thread shows here. usage: eintr [milliseconds, default 300]
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static int ms = 300, quiet[2], end_pipe[2];
static long interrupted[5], calls;
static sem_t never;

__attribute__((noinline)) long work(long x) { return x * 2 + 1; }

static void *in_epoll(void *p) {
	(void)p;
	int fd = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN}, out;
	epoll_ctl(fd, EPOLL_CTL_ADD, quiet[0], &ev);
	if (epoll_wait(fd, &out, 1, ms) < 0 && errno == EINTR) interrupted[0]++;
	close(fd);
	return NULL;
}
static void *in_sleep(void *p) {
	(void)p;
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
	if (nanosleep(&ts, NULL) < 0 && errno == EINTR) interrupted[1]++;
	return NULL;
}
static void *in_read(void *p) {
	(void)p;
	char c;
	if (read(end_pipe[0], &c, 1) < 0 && errno == EINTR) interrupted[2]++;
	return NULL;
}
static void *in_sem(void *p) {
	(void)p;
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	if (ts.tv_nsec >= 1000000000L) ts.tv_sec++, ts.tv_nsec -= 1000000000L;
	if (sem_timedwait(&never, &ts) < 0 && errno == EINTR) interrupted[3]++;
	return NULL;
}
static void *in_poll(void *p) {
	(void)p;
	struct pollfd fd = {quiet[0], POLLIN, 0};
	if (poll(&fd, 1, ms) < 0 && errno == EINTR) interrupted[4]++;
	return NULL;
}

int main(int argc, char **argv) {
	if (argc > 1) ms = atoi(argv[1]);
	if (pipe(quiet) || pipe(end_pipe)) return 2;
	sem_init(&never, 0, 0);
	void *(*kinds[])(void *) = {in_epoll, in_sleep, in_read, in_sem, in_poll};
	pthread_t t[5];
	for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, kinds[i], NULL);
	struct timespec start, now;
	long x = 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 100; i++) x = work(x) & 0xffff, calls++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
	if (write(end_pipe[1], "x", 1) != 1) return 3;
	for (int i = 0; i < 5; i++) pthread_join(t[i], NULL);
	printf("epoll=%ld nanosleep=%ld read=%ld futex=%ld poll=%ld\n", interrupted[0], interrupted[1], interrupted[2],
	       interrupted[3], interrupted[4]);
	return calls > 0 ? 0 : 1;
}
