// As faults.c, of signals, threads, processes and libraries. "lives" in a way's name: it survives, and no crash is to be told.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ways.h"

static volatile int sink;
static long *volatile nothing;
static char *library;
static jmp_buf back;

NOINLINE void null_exit(int index) {
	*nothing = index; //@ in-handler,altstack,handler-exit,handler-reraise,handler-default,handler-abort,handler-kill,handler-waits,handler-faults,thread-handler,fork,vfork,threads,fork-thread: null-pointer index=42
	KEEP(index);
}
NOINLINE void die(int index) {
	null_exit(index);
	sink = index;
}

static void on(int sig, void (*f)(int), int flags) {
	struct sigaction sa = {.sa_handler = f, .sa_flags = flags};
	sigaction(sig, &sa, NULL);
}

static void say(const char *s) { (void)!write(1, s, strlen(s)); }

static void dies_inside(int sig) {
	die(42);
	sink = sig;
}
static void in_handler(int index) {
	on(SIGUSR1, dies_inside, 0);
	raise(SIGUSR1);
	sink = index;
}
static void altstack(int index) {
	stack_t st = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&st, NULL);
	on(SIGUSR1, dies_inside, SA_ONSTACK);
	raise(SIGUSR1);
	sink = index;
}

static void exits(int sig) {
	say("handled\n");
	_exit(1);
}
static void raises_again(int sig) {
	say("handled\n");
	signal(sig, SIG_DFL);
	raise(sig);
}
static void resets(int sig) {
	say("handled\n");
	signal(sig, SIG_DFL);
}
static void aborts(int sig) {
	say("handled\n");
	abort();
}
static void handler_exit(int index) { on(SIGSEGV, exits, 0), die(index); }
static void handler_reraise(int index) { on(SIGSEGV, raises_again, 0), die(index); }
static void handler_default(int index) { on(SIGSEGV, resets, 0), die(index); }
static void handler_abort(int index) { on(SIGSEGV, aborts, 0), die(index); }

static void kills(int sig) {
	say("handled\n");
	kill(getpid(), SIGKILL);
}
static void faults(int sig) {
	say("handled\n");
	*nothing = sig;
}
static int told[2];
static void tells(int sig) {
	say("handled\n");
	(void)!write(told[1], &sig, 1);
	for (;;)
		pause();
}
static void *ends(void *p) {
	(void)!read(told[0], p, 1);
	_exit(6);
}
static void handler_kill(int index) { on(SIGSEGV, kills, 0), die(index); }
static void handler_faults(int index) { on(SIGSEGV, faults, 0), die(index); }
static void handler_waits(int index) {
	static char c;
	static pthread_t t;
	(void)!pipe(told);
	pthread_create(&t, NULL, ends, &c);
	on(SIGSEGV, tells, 0), die(index);
}

static void *dying(void *p) {
	die(42);
	return p;
}
static void thread_handler(int index) {
	pthread_t t;
	on(SIGSEGV, raises_again, 0);
	pthread_create(&t, NULL, dying, NULL);
	pthread_join(t, NULL);
	sink = index;
}

static volatile int working;
static void *works(void *p) {
	__atomic_fetch_add(&working, 1, __ATOMIC_SEQ_CST);
	for (;;)
		sink++;
	return p;
}
static void threads(int index) {
	pthread_t t;
	for (int i = 0; i < 6; i++)
		pthread_create(&t, NULL, works, NULL);
	while (working < 6)
		usleep(1000);
	pthread_create(&t, NULL, dying, NULL);
	pthread_join(t, NULL);
	sink = index;
}

static void reap(pid_t child) {
	int st = 0;
	while (waitpid(child, &st, 0) < 0 && errno == EINTR)
		;
	printf("child ended by signal %d\n", WTERMSIG(st));
	fflush(stdout);
	exit(3);
}
static void forks(int index) {
	pid_t child = fork();
	if (!child) {
		die(index);
		_exit(0);
	}
	reap(child);
}
static void vforks(int index) {
	pid_t child = vfork();
	if (!child) {
		die(index);
		_exit(0);
	}
	reap(child);
}
static void fork_thread(int index) {
	pid_t child = fork();
	if (!child) {
		pthread_t t;
		pthread_create(&t, NULL, dying, NULL);
		pthread_join(t, NULL);
	}
	reap(child);
}

static void sigsys(int index) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	volatile int seen = index;
	sink = getppid(); //@ sigsys: forbidden-system-call seen=42
	sink = seen;
}
static void xcpu(int index) {
	struct rlimit l = {1, 5};
	volatile int seen = index;
	setrlimit(RLIMIT_CPU, &l);
	while (seen) sink++; //@ xcpu: resource-limit seen=42
}
static void xfsz(int index) {
	struct rlimit l = {4096, 4096};
	char name[] = "/tmp/strobe-crash-XXXXXX", page[4096] = "";
	volatile int seen = index;
	setrlimit(RLIMIT_FSIZE, &l);
	int fd = mkstemp(name);
	unlink(name);
	(void)!write(fd, page, sizeof page);
	sink = write(fd, page, sizeof page); //@ xfsz: resource-limit seen=42
	sink = seen;
}
static void raises(int index) {
	volatile int seen = index;
	raise(SIGSEGV); //@ raise: sent seen=42
	sink = seen;
}
static void assassin(pid_t parent) {
	prctl(PR_SET_NAME, "assassin");
	kill(parent, SIGSEGV);
	_exit(0);
}
static void killed(int index) {
	volatile int seen = index;
	pid_t parent = getpid();
	for (int child = fork();; pause()) if (!child) assassin(parent); else sink = seen; //@ killed: sent seen=42
}
static void in_library(int index) {
	void *h = dlopen(library, RTLD_NOW);
	if (!h)
		say(dlerror());
	int (*f)(int) = (int (*)(int))dlsym(h, "library_entry");
	sink = f(index); //@ stripped: null-pointer index=42
	KEEP(index);
}

static void jumps(int sig) { siglongjmp(back, sig); }
static void lives_longjmp(int index) {
	on(SIGSEGV, jumps, SA_NODEFER);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			die(index);
	say("survived\n");
}
static char *page;
static void repairs(int sig) { mprotect(page, 4096, PROT_READ | PROT_WRITE); }
static void lives_repaired(int index) {
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	on(SIGSEGV, repairs, 0);
	page[index] = 7;
	printf("survived %d\n", page[index]);
}
static void lives_abort(int index) {
	on(SIGABRT, jumps, 0);
	if (!sigsetjmp(back, 1))
		abort();
	say("survived\n");
}
static void lives_ignored(int index) {
	signal(SIGFPE, SIG_IGN);
	kill(getpid(), SIGFPE);
	raise(SIGFPE);
	say("survived\n");
}
static void lives_exit(int index) { exit(3); }
static void lives_later_exit(int index) {
	lives_longjmp(index);
	exit(4);
}
static void lives_kill(int index) { kill(getpid(), SIGKILL), pause(); }
static void lives_later_kill(int index) {
	lives_longjmp(index);
	lives_kill(index);
}
static void lives_term(int index) { kill(getpid(), SIGTERM), pause(); }
static void lives_int(int index) { kill(getpid(), SIGINT), pause(); }
static void other_crash(int index) {
	lives_longjmp(index);
	volatile int seen = index;
	signal(SIGSEGV, SIG_DFL);
	if (seen)
		abort(); //@ later-abort: abort seen=42
}

static const struct way ways[] = {
	{"in-handler", in_handler}, {"altstack", altstack}, {"handler-exit", handler_exit}, {"handler-reraise", handler_reraise},
	{"handler-default", handler_default}, {"handler-abort", handler_abort}, {"thread-handler", thread_handler}, {"threads", threads},
	{"fork", forks}, {"vfork", vforks}, {"fork-thread", fork_thread}, {"sigsys", sigsys}, {"xcpu", xcpu}, {"xfsz", xfsz},
	{"raise", raises}, {"killed", killed}, {"library", in_library}, {"stripped", in_library}, {"lives-longjmp", lives_longjmp},
	{"lives-repaired", lives_repaired}, {"lives-abort", lives_abort}, {"lives-ignored", lives_ignored}, {"lives-exit", lives_exit},
	{"lives-later-exit", lives_later_exit}, {"lives-term", lives_term}, {"lives-int", lives_int}, {"lives-kill", lives_kill},
	{"later-abort", other_crash}, {"handler-kill", handler_kill}, {"handler-waits", handler_waits}, {"handler-faults", handler_faults},
	{"lives-later-kill", lives_later_kill}, {NULL, NULL},
};

int main(int argc, char **argv) {
	puts("begins");
	fflush(stdout);
	library = argv[2];
	return run(ways, argv[1], 2);
}
