// longjmp over ten frames, again and again; also sigsetjmp, and functions that call setjmp themselves.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf env;
static sigjmp_buf senv;
static long entered, returned;

__attribute__((noinline)) int deep(int n) {
	volatile int local = n;
	entered++;
	if (n == 0) longjmp(env, 42);
	int r = deep(n - 1) + local;
	returned++;
	return r;
}

__attribute__((noinline)) int deep_sig(int n) {
	entered++;
	if (n == 0) siglongjmp(senv, 7);
	int r = deep_sig(n - 1);
	returned++;
	return r + 1;
}

// Calls setjmp in a hooked frame and returns through it twice.
__attribute__((noinline)) int catcher(int n) {
	int r = setjmp(env);
	if (r == 0) return deep(n);
	return r + n;
}

__attribute__((noinline)) int catcher_sig(int n) {
	int r = sigsetjmp(senv, 1);
	if (r == 0) return deep_sig(n);
	return r * n;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 500;
	long sum = 0;
	for (int i = 0; i < rounds; i++) sum += catcher(10) + catcher_sig(10);
	printf("rounds=%d sum=%ld entered=%ld returned=%ld\n", rounds, sum, entered, returned);
	return sum == rounds * 122L && entered == rounds * 22L && returned == 0 ? 0 : 1;
}
