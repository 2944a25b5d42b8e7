// Replaces itself by execve, three generations, also from a thread that is not the first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;
static char self[4096], next[16];

__attribute__((noinline)) int work(int n) { return n <= 1 ? 1 : work(n - 1) + n; }
static void *replace(void *p) {
	char *args[] = {self, next, NULL};
	execve(self, args, environ);
	return p;
}

int main(int argc, char **argv) {
	int generation = argc > 1 ? atoi(argv[1]) : 0;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0) return 2;
	self[n] = 0;
	printf("generation %d pid same work=%d\n", generation, work(10 + generation));
	fflush(stdout);
	if (generation == 3) return 0;
	snprintf(next, sizeof next, "%d", generation + 1);
	if (generation == 1) {
		pthread_t t;
		pthread_create(&t, NULL, replace, NULL);
		pthread_join(t, NULL);
		return 3;
	}
	replace(NULL);
	return 4;
}
