// A family: processes made in every way that there is. Each calls work a number of times that it knows and writes
// "PID CALLS" into a file, for the observer to compare.
//
//	tree REPORT MODE [ARGUMENT]
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *report, *self = "/proc/self/exe";
static volatile int sink;

__attribute__((noinline)) int work(int x) { sink += x; return x + 1; }

__attribute__((noinline)) int many(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) s = work(s);
	return s;
}

static void tell(int calls) {
	char line[64];
	int n = snprintf(line, sizeof line, "%d %d\n", (int)syscall(SYS_getpid), calls);
	int fd = open(report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, n) != n) abort();
	close(fd);
}

static void leaf(int n) { many(n); tell(n); }

static void reap(pid_t pid, int code) {
	int st;
	pid_t got;
	while ((got = waitpid(pid, &st, 0)) < 0 && errno == EINTR) {}
	if (got != pid || !WIFEXITED(st) || WEXITSTATUS(st) != code) {
		fprintf(stderr, "child %d ended as %x (%d), not %d\n", pid, st, got, code);
		_exit(1);
	}
}

// forked is called by hooked functions: frames of its parent stand on the child's stack.
__attribute__((noinline)) pid_t forked(int n) {
	pid_t pid = fork();
	if (!pid) leaf(n);
	return pid;
}

static pid_t image(const char *n) { // fork and exec of this program
	pid_t pid = fork();
	if (!pid) {
		leaf(2);
		execl(self, "tree", report, "leaf", n, NULL);
		_exit(127);
	}
	return pid;
}

static int in_clone(void *n) { // on a stack of its own
	leaf((int)(long)n);
	syscall(SYS_exit_group, 5);
	return 0;
}

static pid_t cloned(int flags, int n) {
	char *stack = mmap(0, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = clone(in_clone, stack + (1 << 18), flags, (void *)(long)n);
	if (pid < 0) { perror("clone"); exit(1); }
	return pid;
}

static void *exec_here(void *arg) {
	leaf(3);
	execl(self, "tree", report, "leaf", "40", NULL);
	return arg;
}

static void *spin(void *arg) {
	for (int i = 0; i < 50; i++) many(1);
	__atomic_add_fetch((int *)arg, 50, __ATOMIC_SEQ_CST);
	return arg;
}

static pid_t handled;
static void handler(int sig) {
	(void)sig;
	handled = fork();
	if (!handled) { leaf(13); _exit(3); }
}

static void bomb(int depth) { // 2 children each
	pid_t kids[2];
	for (int i = 0; i < 2 && depth; i++) {
		kids[i] = fork();
		if (!kids[i]) { bomb(depth - 1); _exit(depth & 7); }
		if (kids[i] < 0) { perror("fork"); _exit(1); }
	}
	leaf(depth + 1);
	for (int i = 0; i < 2 && depth; i++) reap(kids[i], depth & 7);
}

static void forks(int n) {
	for (int i = 0; i < n; i++) {
		pid_t pid = forked(i);
		if (!pid) _exit(9);
		reap(pid, 9);
		many(1);
	}
	tell(n);
}

static void vforks(int n) {
	volatile int i;
	for (i = 0; i < n; i++) {
		many(1);
		pid_t pid = vfork();
		if (!pid) {
			leaf(4); // before its exec, in the parent's memory
			if (i & 1) _exit(7);
			execl(self, "tree", report, "leaf", "8", NULL);
			_exit(127);
		}
		reap(pid, 7);
		many(1);
	}
	tell(2 * n);
}

static void spawns(int n) {
	char *args[] = {"tree", (char *)report, "leaf", "6", NULL};
	for (int i = 0; i < n; i++) {
		pid_t pid;
		if (posix_spawn(&pid, self, NULL, NULL, args, environ)) exit(1);
		reap(pid, 7);
	}
	leaf(5);
}

static void clones(void) {
	pid_t a = cloned(CLONE_VM | SIGCHLD, 300), b = cloned(CLONE_VM | CLONE_FILES | SIGCHLD, 400);
	many(500);
	reap(a, 5);
	reap(b, 5);
	reap(cloned(CLONE_VFORK | SIGCHLD, 21), 5); // its own memory, though made as by vfork
	reap(cloned(CLONE_VM | CLONE_VFORK | SIGCHLD, 22), 5);
	reap(cloned(CLONE_FILES | CLONE_FS | SIGCHLD, 23), 5);
	many(10);
	tell(510);
}

static void siblings(void) { // CLONE_PARENT: the child's child is ours
	int fd[2];
	pid_t grand = 0;
	if (pipe(fd)) exit(1);
	pid_t pid = fork();
	if (!pid) {
		grand = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
		if (!grand) { leaf(14); _exit(4); }
		if (write(fd[1], &grand, sizeof grand) != sizeof grand) _exit(1);
		leaf(15);
		_exit(2);
	}
	if (read(fd[0], &grand, sizeof grand) != sizeof grand) exit(1);
	reap(pid, 2);
	reap(grand, 4);
	leaf(16);
}

static void nameless(void) { // exec of a program that has no name, behind one that fails
	int in = open(self, O_RDONLY), out = memfd_create("program", MFD_CLOEXEC);
	char buf[65536];
	for (ssize_t k; (k = read(in, buf, sizeof buf)) > 0;)
		if (write(out, buf, k) != k) exit(1);
	pid_t pid = fork();
	if (!pid) {
		char *args[] = {"tree", (char *)report, "leaf", "17", NULL};
		execl("/no/such/program", "x", NULL);
		leaf(3);
		fexecve(out, args, environ);
		_exit(127);
	}
	reap(pid, 7);
	tell(0);
}

static void in_handlers(int n) {
	signal(SIGUSR1, handler);
	for (int i = 0; i < n; i++) {
		raise(SIGUSR1);
		reap(handled, 3);
		many(1);
	}
	tell(n);
}

static void beside_threads(int n) {
	pthread_t th[4];
	int sum = 0;
	for (int i = 0; i < 4; i++) pthread_create(&th[i], NULL, spin, &sum);
	for (int i = 0; i < n; i++) {
		pid_t pid = forked(2);
		if (!pid) _exit(6);
		reap(pid, 6);
	}
	for (int i = 0; i < 4; i++) pthread_join(th[i], NULL);
	tell(sum);
}

static void doubles(int n) { // the one in the middle dies at once
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (!pid) {
			if (!fork()) { leaf(19); _exit(0); }
			if (i & 1) kill(getpid(), SIGKILL);
			_exit(0);
		}
		int st;
		waitpid(pid, &st, 0);
	}
	leaf(18);
}

static void outlive(int n) { // children in sessions of their own, that stay
	for (int i = 0; i < n; i++)
		if (!fork()) {
			setsid();
			prctl(PR_SET_NAME, "outlives");
			leaf(3);
			for (;;) { usleep(2000); many(1); }
		}
	leaf(2);
}

static void become_daemon(const char *flag) {
	leaf(1);
	if (daemon(1, 1)) exit(1);
	leaf(33);
	while (access(flag, F_OK)) usleep(1000); // until the observer has seen it
	leaf(34);
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	report = argv[1];
	const char *mode = argv[2];
	int n = argc > 3 ? atoi(argv[3]) : 0;
	if (!strcmp(mode, "leaf")) { leaf(n); return 7; }
	else if (!strcmp(mode, "fork")) forks(n);
	else if (!strcmp(mode, "exec")) { for (int i = 0; i < n; i++) reap(image("11"), 7); tell(0); }
	else if (!strcmp(mode, "spawn")) spawns(n);
	else if (!strcmp(mode, "vfork")) vforks(n);
	else if (!strcmp(mode, "clone")) clones();
	else if (!strcmp(mode, "sibling")) siblings();
	else if (!strcmp(mode, "thread-exec")) {
		pthread_t th;
		pthread_create(&th, NULL, exec_here, NULL);
		for (;;) pause();
	}
	else if (!strcmp(mode, "memfd")) nameless();
	else if (!strcmp(mode, "signal")) in_handlers(n);
	else if (!strcmp(mode, "threads")) beside_threads(n);
	else if (!strcmp(mode, "bomb")) bomb(n);
	else if (!strcmp(mode, "double")) doubles(n);
	else if (!strcmp(mode, "daemon")) become_daemon(argv[3]);
	else if (!strcmp(mode, "outlive")) outlive(n);
	else return 2;
	return 0;
}
