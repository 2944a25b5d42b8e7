// vfork+exec, posix_spawn and fork+exec of itself; the child calls functions between vfork and exec, on
// the parent's stack.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile long calls;

__attribute__((noinline)) int prepare(int x) { calls++; return x + 1; }
__attribute__((noinline)) int work(int n) { return n <= 1 ? 1 : work(n - 1) + n; }

__attribute__((noinline)) pid_t start_vfork(char *self, char *arg) {
	char *args[] = {self, "child", arg, NULL};
	pid_t p = vfork();
	if (p == 0) {
		if (prepare(1) != 2) _exit(99);
		execve(self, args, environ);
		_exit(98);
	}
	return p;
}

__attribute__((noinline)) pid_t start_fail(void) {
	char *args[] = {"/does/not/exist", NULL};
	pid_t p = vfork();
	if (p == 0) {
		execve(args[0], args, environ);
		_exit(prepare(40));
	}
	return p;
}

__attribute__((noinline)) pid_t start_spawn(char *self, char *arg) {
	char *args[] = {self, "child", arg, NULL};
	pid_t p;
	return posix_spawn(&p, self, NULL, NULL, args, environ) ? -1 : p;
}

static int wait_code(pid_t p) {
	int st;
	if (p < 0 || waitpid(p, &st, 0) != p || !WIFEXITED(st)) return -1;
	return WEXITSTATUS(st);
}

int main(int argc, char **argv) {
	if (argc == 3 && !strcmp(argv[1], "child")) return work(atoi(argv[2]));
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0) return 2;
	self[n] = 0;
	int sum = 0;
	for (int i = 0; i < rounds; i++) {
		char arg[16];
		snprintf(arg, sizeof arg, "%d", i % 15);
		int a = wait_code(start_vfork(self, arg)), b = wait_code(start_spawn(self, arg)), c = wait_code(start_fail());
		if (a != b || a < 0 || c != 41) {
			printf("round %d: vfork %d, spawn %d, no exec %d\n", i, a, b, c);
			return 1;
		}
		sum += a + b + c;
	}
	printf("rounds=%d sum=%d prepared=%ld\n", rounds, sum, calls);
	return calls == 2L * rounds ? 0 : 1;
}
