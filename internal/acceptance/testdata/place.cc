// A program in which much happens at the same few functions, and which checks every result: threads that call them all the time, and what the
// letters of its first argument add. It runs for the milliseconds of the second, prints how many results were wrong, and exits with 5 if none.
//
//	S signals to the process and to threads   H a handler that leaves by siglongjmp   B threads born and dying   F fork   P vfork and exec
//	D dlopen and dlclose (third argument)     E exceptions   J longjmp   W writes of watched   X exec of itself, halfway   Z its first thread ends first
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FN __attribute__((noinline, noclone))
extern char **environ;
extern "C" {
volatile long watched;
static std::atomic<bool> stop;
static std::atomic<long> bad, handled;
FN long wa(long n) { __asm__ volatile(""); return n * 2 + 1; }
FN long wb(long n) { __asm__ volatile(""); return wa(n) ^ n; }
FN long ws(long n, const char *s) { __asm__ volatile(""); return wb(n) + s[n & 3]; }
FN long wr(long n) { __asm__ volatile(""); return n <= 0 ? 0 : 1 + wr(n - 1); }
FN double wd(double x) { __asm__ volatile(""); return x * 0.5 + 1; }
FN long wf(long n) { __asm__ volatile(""); return n * 7; } // may be forced to return 77
FN void wc(long n) { watched = n; }
__attribute__((naked, noinline)) long wk(long n) // jumps back to its fifth byte: three times the next multiple of 4
{
	__asm__("push %rbx\n\t.cfi_adjust_cfa_offset 8\n\tmov %rdi,%rbx\n"
		"1:\tlea 1(%rbx),%rbx\n\ttest $3,%bl\n\tjne 1b\n\tlea (%rbx,%rbx,2),%rax\n\tpop %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.nops 8");
}
FN long wt(long n) { if (n % 16 == 3) throw n; return n + 1; }
FN void wj(jmp_buf *to, long n) { if (n % 8 == 5) longjmp(*to, 1); __asm__ volatile(""); }
}

static void check(bool ok) { if (!ok) bad++; }

static void calls(long i)
{
	check(wa(i) == i * 2 + 1);
	check(wb(i) == ((i * 2 + 1) ^ i));
	check(ws(i, "abcd") == ((i * 2 + 1) ^ i) + "abcd"[i & 3]);
	check(wr(i % 9) == i % 9);
	check(wk(i) == ((i >> 2) + 1) * 12);
	check(wd(double(i)) == double(i) * 0.5 + 1);
	long f = wf(i);
	check(f == i * 7 || f == 77);
}

static void *loop(void *a)
{
	static char stacks[8][65536];
	long i = (long)a;
	if (i & 1) {
		stack_t s = {};
		s.ss_sp = stacks[i & 7], s.ss_size = sizeof stacks[0];
		sigaltstack(&s, nullptr);
	}
	for (; !stop; i++) calls(i);
	return nullptr;
}

static void *one(void *a) { return (void *)wb((long)a); }

static void nap(long us) { timespec t = {0, us * 1000}; while (nanosleep(&t, &t)) ; }

static void *births(void *)
{
	for (long n = 1; !stop; n++) {
		pthread_t t;
		void *r;
		if (pthread_create(&t, nullptr, one, (void *)n)) continue;
		pthread_join(t, &r);
		check((long)r == ((n * 2 + 1) ^ n));
		nap(300);
	}
	return nullptr;
}

static int waited(pid_t p)
{
	int st = -1;
	while (waitpid(p, &st, 0) < 0 && errno == EINTR) ;
	return st;
}

static void *forks(void *)
{
	for (long n = 1; !stop; n++, nap(4000)) {
		pid_t p = fork();
		if (p == 0) _exit(wb(n) & 63);
		if (p > 0) check(WEXITSTATUS(waited(p)) == (((n * 2 + 1) ^ n) & 63));
	}
	return nullptr;
}

static void *spawns(void *self)
{
	for (long n = 1; !stop; n++, nap(15000)) {
		char *v[] = {(char *)self, (char *)"quick", nullptr};
		pid_t p;
		if (posix_spawn(&p, (char *)self, nullptr, nullptr, v, environ)) continue;
		check(waited(p) == 0);
	}
	return nullptr;
}

static void *libraries(void *path)
{
	while (!stop) {
		void *h = dlopen((char *)path, RTLD_NOW);
		auto f = h ? (long (*)(long))dlsym(h, "qwork") : nullptr;
		check(f != nullptr);
		for (long k = 0; f && k < 20; k++) check(f(k) == k * 5 + 1);
		if (h) dlclose(h);
		nap(2000);
	}
	return nullptr;
}

static void *throws(void *)
{
	for (long n = 1; !stop; n++) {
		long got = 0;
		try { got = wt(n); } catch (long v) { got = -v; }
		check(got == (n % 16 == 3 ? -n : n + 1));
		if (n % 64 == 0) nap(100);
	}
	return nullptr;
}

static void *jumps(void *)
{
	static thread_local jmp_buf back;
	for (volatile long n = 1; !stop; n++) {
		if (setjmp(back) == 0) {
			wj(&back, n);
			check(n % 8 != 5);
		} else {
			check(n % 8 == 5);
		}
	}
	return nullptr;
}

static void *writes(void *)
{
	for (long n = 1; !stop; n++, nap(3000)) {
		wc(n);
		check(watched == n);
	}
	return nullptr;
}

static sigjmp_buf out;
static volatile sig_atomic_t inside;

static void *left(void *) // by its handler, from wherever it is
{
	volatile long n = 0;
	sigset_t only;
	sigemptyset(&only), sigaddset(&only, SIGALRM), sigaddset(&only, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &only, nullptr);
	if (sigsetjmp(out, 1)) n = n + 1;
	while (!stop) {
		inside = 1;
		for (long i = 0; i < 1000 && !stop; i++) check(wa(i) == i * 2 + 1);
	}
	inside = 0;
	return nullptr;
}

static void leave(int) { if (inside) siglongjmp(out, 1); }
static void handle(int) { handled += wa(1) == 3; long f = wf(2); check(f == 14 || f == 77); }

int main(int argc, char **argv)
{
	if (argc == 2) { for (long i = 0; i < 50; i++) calls(i); return bad != 0; }
	const char *how = argv[1];
	char self[4096];
	self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
	auto has = [&](char c) { return strchr(how, c) != nullptr; };
	struct sigaction sa = {};
	sa.sa_handler = handle, sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGALRM, &sa, nullptr), sigaction(SIGUSR1, &sa, nullptr);
	sa.sa_handler = leave;
	sigaction(SIGUSR2, &sa, nullptr);
	timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double end = double(now.tv_sec) + double(now.tv_nsec) / 1e9 + atof(argv[2]) / 1000 / (has('X') ? 2 : 1);
	pthread_t t[16], thrown = {}, loops[3];
	int n = 0;
	for (long i = 0; i < 3; i++) pthread_create(&loops[i], nullptr, loop, (void *)i);
	if (has('B')) pthread_create(&t[n++], nullptr, births, nullptr);
	if (has('F')) pthread_create(&t[n++], nullptr, forks, nullptr);
	if (has('P')) pthread_create(&t[n++], nullptr, spawns, self);
	if (has('D')) pthread_create(&t[n++], nullptr, libraries, argv[3]);
	if (has('E')) pthread_create(&t[n++], nullptr, throws, nullptr);
	if (has('J')) pthread_create(&t[n++], nullptr, jumps, nullptr);
	if (has('W')) pthread_create(&t[n++], nullptr, writes, nullptr);
	if (has('H')) pthread_create(&thrown, nullptr, left, nullptr);
	itimerval every = {{0, 2000}, {0, 2000}}, never = {};
	if (has('S')) setitimer(ITIMER_REAL, &every, nullptr);
	for (long k = 0;; k++) {
		nap(1500);
		if (has('S')) pthread_kill(loops[k % 3], SIGUSR1);
		if (has('H')) pthread_kill(thrown, SIGUSR2);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (double(now.tv_sec) + double(now.tv_nsec) / 1e9 > end) break;
	}
	stop = true;
	for (auto &l : loops) pthread_join(l, nullptr);
	for (int i = 0; i < n; i++) pthread_join(t[i], nullptr);
	if (has('H')) pthread_join(thrown, nullptr);
	setitimer(ITIMER_REAL, &never, nullptr);
	if (has('X') && !bad) {
		char rest[64];
		snprintf(rest, sizeof rest, "%s", how);
		*strchr(rest, 'X') = 'W';
		execl(self, self, rest, argv[2], argv[3], (char *)nullptr);
	}
	printf("bad %ld\n", bad.load());
	fflush(stdout);
	if (has('Z')) {
		pthread_t last;
		pthread_create(&last, nullptr, [](void *) -> void * { nap(20000); exit(bad ? 9 : 5); }, nullptr);
		pthread_exit(nullptr);
	}
	return bad ? 9 : 5;
}
