// Ends as asked, five frames deep. usage: ending exit CODE | signal NUMBER | abort | segv | fpe | ill | quick | main CODE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero;

__attribute__((noinline)) int end(const char *how, int n) {
	fflush(stdout);
	if (!strcmp(how, "exit")) exit(n);
	if (!strcmp(how, "quick")) _exit(n);
	if (!strcmp(how, "signal")) kill(getpid(), n);
	if (!strcmp(how, "abort")) abort();
	if (!strcmp(how, "segv")) *(volatile int *)(long)(16 + zero) = 1;
	if (!strcmp(how, "fpe")) return 1 / zero;
	if (!strcmp(how, "ill")) __builtin_trap();
	return n;
}
__attribute__((noinline)) int deep(int level, const char *how, int n) {
	int r = level ? deep(level - 1, how, n) : end(how, n);
	__asm__ volatile("");
	return r;
}

int main(int argc, char **argv) {
	printf("before the end\n");
	return deep(4, argc > 1 ? argv[1] : "main", argc > 2 ? atoi(argv[2]) : 0);
}
