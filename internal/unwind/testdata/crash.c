#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A crash behind inlined, static and indirect calls; argv[1] says which kind.

struct point {
	int x, y;
	const char *name;
};

volatile int sink;
volatile int zero;
int *volatile null_pointer;

__attribute__((noinline)) void do_abort(int n)
{
	if (n > 0)
		abort();
}

static inline __attribute__((always_inline)) int inner_inlined(int *p, int k)
{
	int before = k * 3;
	*p = before; // the fault
	return before;
}

static inline __attribute__((always_inline)) int outer_inlined(int *p, int k)
{
	int step = k + 1;
	return inner_inlined(p, step) + step;
}

__attribute__((noinline)) int leaf(struct point *pt, int *p)
{
	int local = pt->x + pt->y;
	sink = local;
	return outer_inlined(p, local) + pt->x;
}

__attribute__((noinline)) int middle(int a, long b, struct point *pt)
{
	char text[32];
	snprintf(text, sizeof text, "%d-%ld", a, b);
	sink = text[0];
	int r = leaf(pt, null_pointer) + a;
	sink = text[1];
	return r;
}

int (*volatile indirect)(int, long, struct point *) = middle;

static void on_signal(int sig)
{
	volatile int keep = sig;
	do_abort(keep);
	sink = keep;
}

static void install(int flags)
{
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	sa.sa_flags = flags;
	sigaction(SIGSEGV, &sa, 0);
	sigaction(SIGUSR1, &sa, 0);
}

static void on_stack(void)
{
	stack_t st = {0};
	st.ss_size = 1 << 16;
	st.ss_sp = malloc(st.ss_size);
	sigaltstack(&st, 0);
	install(SA_ONSTACK);
}

__attribute__((noinline)) int recurse(int n)
{
	volatile char pad[16];
	pad[0] = n;
	if (n == 0)
		*null_pointer = 1;
	int r = recurse(n - 1) + pad[0];
	sink = r;
	return r;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	if (x == 5)
		do_abort(1);
	return x < y ? -1 : x > y;
}

__attribute__((noinline)) int divide(int a, int b)
{
	int q = a / b;
	sink = q;
	return q + 1;
}

static void *thread(void *arg)
{
	struct point *pt = arg;
	long r = indirect(pt->x, 3, pt);
	sink = (int)r;
	return (void *)r;
}

// The return address is overwritten.
static volatile int smash_at;
static volatile long *smash_to;
__attribute__((noinline)) int smash(int n)
{
	volatile long room[2];
	smash_to = room;
	for (smash_at = 0; smash_at < 12; smash_at = smash_at + 1)
		smash_to[smash_at] = 0x4141414141414141;
	return (int)room[1];
}

// What our stubs look like, without unwind tables.
__asm__(".text\n.globl stub\n.type stub,@function\n"
	"stub: push %rbp\n mov %rsp,%rbp\n sub $48,%rsp\n call in_stub\n leave\n ret\n"
	".size stub,.-stub\n.globl displaced\n.type displaced,@function\n"
	"displaced: mov (%rdi),%eax\n ret\n.size displaced,.-displaced\n");
int stub(int, int);
int displaced(void *);

__attribute__((noinline, used)) int in_stub(int a, int b)
{
	int both = a + b;
	do_abort(both);
	sink = both;
	return both;
}

int main(int argc, char **argv)
{
	struct point pt = {argc * 20, 22, "here"};
	const char *kind = argc > 1 ? argv[1] : "null";
	int r = 0;
	if (!strcmp(kind, "null"))
		r = indirect(7, 8, &pt);
	else if (!strcmp(kind, "call-null"))
		((void (*)(void))null_pointer)();
	else if (!strcmp(kind, "call-wild"))
		((void (*)(void))0x123456789000)();
	else if (!strcmp(kind, "abort"))
		do_abort(argc);
	else if (!strcmp(kind, "handler")) {
		install(0);
		r = indirect(7, 8, &pt);
	} else if (!strcmp(kind, "altstack")) {
		on_stack();
		r = indirect(7, 8, &pt);
	} else if (!strcmp(kind, "raise")) {
		on_stack();
		raise(SIGUSR1);
	} else if (!strcmp(kind, "handler-call-null")) {
		on_stack();
		((void (*)(void))null_pointer)();
	} else if (!strcmp(kind, "deep"))
		r = recurse(argc > 2 ? atoi(argv[2]) : 99999);
	else if (!strcmp(kind, "overflow"))
		r = recurse(-1);
	else if (!strcmp(kind, "qsort")) {
		int v[] = {3, 9, 5, 1, 7};
		qsort(v, 5, sizeof v[0], compare);
	} else if (!strcmp(kind, "strlen"))
		r = (int)strlen((const char *)null_pointer);
	else if (!strcmp(kind, "divide"))
		r = divide(argc, zero);
	else if (!strcmp(kind, "thread")) {
		pthread_t t;
		pthread_create(&t, 0, thread, &pt);
		pthread_join(t, 0);
	} else if (!strcmp(kind, "vdso"))
		r = clock_gettime(CLOCK_MONOTONIC, (struct timespec *)null_pointer + 1);
	else if (!strcmp(kind, "smash"))
		r = smash(argc);
	else if (!strcmp(kind, "stub"))
		r = stub(argc, 4) + argc;
	else if (!strcmp(kind, "displaced"))
		r = displaced(null_pointer) + argc;
	else if (!strcmp(kind, "free"))
		free((char *)&pt + 1);
	sink = r;
	printf("%d\n", r);
	return 0;
}

// What is on the stack below main is 0 for whoever looks: else it differs from run to run what lies in a variable that
// is not set yet.
__attribute__((constructor)) static void clear_stack(void) {
  volatile char below[65536];
  for (unsigned i = 0; i < sizeof below; i++) below[i] = 0;
}
