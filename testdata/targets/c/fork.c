// fork: parent and child go on in the same functions; the child's result comes back through its exit code
// and a pipe. Also a grandchild, and a child that ends with _exit in a deep frame.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n) { return n <= 1 ? 1 : work(n - 1) + n; }
__attribute__((noinline)) void leave_deep(int n, int code) {
	if (n == 0) _exit(code);
	leave_deep(n - 1, code);
	__asm__ volatile("");
}
__attribute__((noinline)) int child(int fd, int i) {
	int r = work(i + 10);
	if (i % 2) {
		pid_t p = fork();
		if (p == 0) leave_deep(8, work(3));
		int st;
		waitpid(p, &st, 0);
		r += WEXITSTATUS(st);
	}
	if (write(fd, &r, sizeof r) != sizeof r) return 1;
	return r % 100;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 20, sum = 0, codes = 0;
	int fd[2];
	if (pipe(fd)) return 2;
	for (int i = 0; i < rounds; i++) {
		fflush(stdout);
		pid_t p = fork();
		if (p < 0) return 3;
		if (p == 0) _exit(child(fd[1], i));
		sum += work(i);
		int st, r;
		if (waitpid(p, &st, 0) != p || !WIFEXITED(st)) return 4;
		if (read(fd[0], &r, sizeof r) != sizeof r || r % 100 != WEXITSTATUS(st)) return 5;
		codes += WEXITSTATUS(st);
		sum += r;
	}
	printf("rounds=%d sum=%d codes=%d\n", rounds, sum, codes);
	return 0;
}
