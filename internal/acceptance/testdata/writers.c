// Writes lines that say who wrote them, in as many ways as there are: writers MODE. Each line is "P<pid> T<tid> S<stream> <n> …".
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int line(char *b, int stream, int n, int pad) {
	int k = sprintf(b, "P%d T%ld S%d %d ", getpid(), syscall(SYS_gettid), stream, n);
	memset(b + k, 'a' + n % 26, pad);
	b[k + pad] = '\n';
	return k + pad + 1;
}
static void whole(int fd, const char *b, size_t n) {
	while (n > 0) {
		ssize_t k = write(fd, b, n);
		if (k < 0 && errno == EAGAIN) {
			struct pollfd p = {fd, POLLOUT, 0};
			poll(&p, 1, -1);
		} else if (k < 0 && errno != EINTR) {
			_exit(9);
		}
		if (k > 0) b += k, n -= k;
	}
}
void say(int how, int stream, int n) {
	char b[4096];
	int k = line(b, stream, n, n % 40), p[2];
	switch (how % 6) {
	case 0: whole(stream, b, k); break;
	case 1: fwrite(b, 1, k, stream == 1 ? stdout : stderr); if (n % 3 == 0) fflush(stdout); break;
	case 2: { struct iovec v[3] = {{b, 5}, {b + 5, 0}, {b + 5, k - 5}}; if (writev(stream, v, 3) != k) _exit(9); } break;
	case 3: { int fd = dup(stream); whole(fd, b, k); close(fd); } break;
	case 4: { int fd = memfd_create("x", 0); off_t o = 0; whole(fd, b, k); if (sendfile(stream, fd, &o, k) != k) _exit(9); close(fd); } break;
	case 5: pipe(p); whole(p[1], b, k); if (splice(p[0], 0, stream, 0, k, 0) != k) _exit(9); close(p[0]); close(p[1]); break;
	}
}
static void *many(void *arg) {
	for (int i = 0; i < 120; i++) say(i / 2, 1 + i % 2, i);
	return arg;
}
static void noise(int sig) { (void)sig; }

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "threads";
	char b[4096];
	if (!strcmp(mode, "threads")) {
		pthread_t t[4];
		for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, many, 0);
		for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	} else if (!strcmp(mode, "fork")) {
		for (int i = 0; i < 3; i++)
			if (fork() == 0) { many(0); fflush(stdout); _exit(0); }
		many(0);
		while (wait(0) > 0) {}
	} else if (!strcmp(mode, "exec")) {
		for (int i = 0; i < 4; i++) {
			say(0, 1, i);
			if (vfork() == 0) { execl("/proc/self/exe", argv[0], "child", (char *)0); _exit(9); }
			wait(0);
			say(0, 2, i);
		}
		execl("/proc/self/exe", argv[0], "child", (char *)0);
	} else if (!strcmp(mode, "child")) {
		many(0);
	} else if (!strcmp(mode, "aside")) { // to a file and back, and a child whose output goes elsewhere
		for (int i = 0; i < 40; i++) {
			say(0, 1, i);
			int keep = dup(1), fd = memfd_create("x", 0);
			dup2(fd, 1);
			say(0, 1, i);
			if (i % 8 == 0) {
				if (fork() == 0) { execl("/proc/self/exe", argv[0], "quiet", (char *)0); _exit(9); }
				wait(0);
			}
			dup2(keep, 1);
			close(keep);
			close(fd);
			say(0, 1, i + 100);
		}
	} else if (!strcmp(mode, "quiet")) {
		for (int i = 0; i < 10; i++) say(0, 1, i);
	} else if (!strcmp(mode, "full")) { // as much as goes in, from three threads of two processes, without waiting
		fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
		if (fork() == 0) {
			for (int i = 0; i < 3000; i++) whole(1, b, line(b, 1, i, 1000));
			_exit(0);
		}
		for (int i = 0; i < 3000; i++) whole(1, b, line(b, 1, i, 900));
		wait(0);
	} else if (!strcmp(mode, "huge")) {
		size_t size = 0;
		char *big = malloc(12 << 20);
		for (int i = 0; size < 8 << 20; i++) size += line(big + size, 1, i, 60);
		whole(1, big, size);
		say(0, 1, 7);
	} else if (!strcmp(mode, "signals")) { // writes that signals cut
		struct sigaction sa = {.sa_handler = noise};
		sigaction(SIGALRM, &sa, 0);
		struct itimerval it = {{0, 1000}, {0, 1000}};
		setitimer(ITIMER_REAL, &it, 0);
		char *big = malloc(3 << 20);
		for (int r = 0; r < 4; r++) {
			size_t size = 0;
			for (int i = 0; size < 2 << 20; i++) size += line(big + size, 1, i, 50);
			whole(1, big, size);
		}
	}
	return 0;
}
