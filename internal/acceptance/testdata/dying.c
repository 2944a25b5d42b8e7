// Dies in the way of its first argument, the microseconds of the second after its start; threads call w1 all the time.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile long counter;
__attribute__((noinline, noclone)) long w0(long n) { __asm__ volatile(""); return n * 2 + 1; }
__attribute__((noinline, noclone)) long w1(long n) { counter = n; return w0(n) ^ n; }
static void *loop(void *a) { for (long i = (long)a;; i++) w1(i); return a; }
static void *one(void *a) { w1(1); return a; }
static void *births(void *a) { for (pthread_t t;;) if (!pthread_create(&t, 0, one, 0)) pthread_join(t, 0); return a; }
static void *forks(void *a) { for (int st;;) { pid_t p = fork(); if (p == 0) _exit(w1(1) & 1); if (p > 0) waitpid(p, &st, 0); } return a; }
static void nap(long us) { struct timespec t = {us / 1000000, us % 1000000 * 1000}; while (nanosleep(&t, &t)) ; }
static char how;
static pthread_t other;
static void die(void)
{
	switch (how) {
	case 'k': kill(getpid(), SIGKILL); break;
	case 'K': for (;;) kill(getpid(), SIGKILL);
	case 's': pthread_kill(other, SIGSEGV); break;
	case 'n': *(volatile int *)0 = 1; break;
	case 'a': abort();
	case 't': kill(getpid(), SIGTERM); break;
	case 'x': execl("/bin/true", "true", (char *)0); break;
	default: syscall(SYS_exit_group, 3);
	}
	nap(5000000);
	_exit(4);
}
static void *late(void *us) { nap((long)us); die(); return 0; }
int main(int argc, char **argv)
{
	long us = argc > 2 ? atol(argv[2]) : 1000;
	pthread_t t;
	how = argc > 1 ? argv[1][0] : 'k';
	for (long i = 0; i < 4; i++) pthread_create(&other, 0, loop, (void *)i);
	pthread_create(&t, 0, births, 0);
	if (us & 1) pthread_create(&t, 0, forks, 0);
	if (us % 3 == 0) { // its first thread ends first
		pthread_create(&t, 0, late, (void *)us);
		if (us % 2) pthread_exit(0);
		for (;;) pause();
	}
	nap(us);
	die();
}
