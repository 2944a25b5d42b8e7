// busy does in threads what must not change under a hunt: signals that come at any moment, children by fork, vfork and
// posix_spawn, a program run in its place at last.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ticks, sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tick(int n) { ticks = ticks + (n == SIGALRM); }

__attribute__((noinline)) void add(int n)
{
	pthread_mutex_lock(&lock);
	sum += n;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	for (int i = 0; i < 300; i++) add((int)(long)arg);
	return 0;
}

static int child(int how)
{
	char *argv[] = {"sh", "-c", "exit 5", 0};
	extern char **environ;
	pid_t pid = 0;
	if (how == 0) {
		if (!(pid = fork())) _exit(sum >= 0 ? 5 : 1);
	} else if (how == 1) {
		if (!(pid = vfork())) {
			execv("/bin/sh", argv);
			_exit(9);
		}
	} else if (posix_spawn(&pid, "/bin/sh", 0, 0, argv, environ)) {
		return 8;
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0) continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		printf("in its place\n");
		return 7;
	}
	struct sigaction on = {.sa_handler = tick, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &on, 0);
	struct itimerval each = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &each, 0);
	pthread_t t[4];
	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)(i + 1));
	int ends[6];
	for (int i = 0; i < 6; i++) ends[i] = child(i % 3);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	setitimer(ITIMER_REAL, &never, 0);
	raise(SIGTRAP == 5 ? SIGCHLD : SIGTRAP);
	printf("sum %d, children %d %d %d %d %d %d, ticks %d\n", sum, ends[0], ends[1], ends[2], ends[3], ends[4], ends[5],
		   ticks > 0);
	fflush(stdout);
	char *again[] = {argv[0], "again", 0};
	execv(argv[0], again);
	return 1;
}
