// Ends in the way that argv[1] names. Where a crash happens, a comment names the ways that crash there, the class of
// the crash, and a variable that is worth seeing there with its value:   //@ way,way: class name=value
// A tilde before the name: only where the compiler did not optimize.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ways.h"

struct item {
	long id;
	long pad[2];
	int count;
};

typedef int (*callee)(int);

static volatile int sink;
static volatile int zero;
static struct item *volatile no_item;
static callee volatile no_call;
static char *volatile text;
static const char constant[] = "constant";

NOINLINE static void null_read(int index) {
	sink = *(long *)no_item + index; //@ null-read: null-pointer index=42
	KEEP(index);
}

NOINLINE static void null_write(int index) {
	struct item *it = no_item;
	it->id = index; //@ null-write,static,handler-exit,handler-reraise,handler-default,handler-abort,handler-reraise-thread: null-pointer index=42
	KEEP(index);
}

NOINLINE static void null_member(int index) {
	struct item *it = no_item;
	it->count = index; //@ null-member: null-pointer index=42
	KEEP(index);
}

NOINLINE static void null_call(int index) {
	volatile int seen = index;
	callee f = no_call;
	sink = f(index + 1) + seen; //@ null-call: null-pointer seen=42
	KEEP(index);
}

NOINLINE static void unmapped(int index) {
	char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[index] = 1;
	munmap(page, 1 << 16);
	sink = page[index]; //@ unmapped: unmapped-address index=42
	KEEP(index);
}

NOINLINE static void wild(int index) {
	int *volatile p = (int *)0xdeadbeefdeadbee0;
	*p = index; //@ wild: wild-pointer index=42
	KEEP(index);
}

NOINLINE static void write_constant(int index) {
	char *volatile p = (char *)constant;
	p[1] = index; //@ write-constant: protection index=42
	KEEP(index);
}

NOINLINE static void guard(int index) {
	char *page = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[index] = 1; //@ guard: guard-page index=42
	KEEP(index);
}

static char data[64] = {(char)0x90, (char)0xc3};

NOINLINE static void execute_data(int index) {
	volatile int seen = index;
	callee volatile f = (callee)data;
	sink = f(index) + seen; //@ execute-data: execute-data seen=42
	KEEP(index);
}

NOINLINE static void call_garbage(int index) {
	volatile int seen = index;
	callee volatile f = (callee)0x123456789000;
	sink = f(index) + seen; //@ call-garbage: unmapped-address seen=42
	KEEP(index);
}

NOINLINE static void call_wild(int index) {
	volatile int seen = index;
	callee volatile f = (callee)0x4141414141414141;
	sink = f(index) + seen; //@ call-wild: wild-pointer seen=42
	KEEP(index);
}

// On one line: any of its instructions may be the one that has no more stack.
NOINLINE static int recurse(int seed, int level) { volatile int kept = seed; volatile char room[200]; room[level & 127] = seed; int r = recurse(seed, level + 1) + room[level & 63]; KEEP(seed); return r + kept; } //@ overflow-main,overflow-thread,overflow-altstack: stack-overflow kept=42

static void *recurse_thread(void *p) {
	sink = recurse(*(int *)p, 0);
	return p;
}

static void overflow_thread(int seed) {
	pthread_t t;
	pthread_create(&t, NULL, recurse_thread, &seed);
	pthread_join(t, NULL);
}

// One frame that is larger than the whole stack.
NOINLINE static int large(int n) { volatile char room[64 << 20]; room[n] = n; return room[n]; } //@ large-frame,large-frame-thread: stack-overflow

static void large_frame(int index) { sink = large(index); }

static void *large_thread(void *p) {
	sink = large(*(int *)p);
	return p;
}

static void large_frame_thread(int index) {
	pthread_t t;
	pthread_create(&t, NULL, large_thread, &index);
	pthread_join(t, NULL);
}

NOINLINE static void misaligned(int index) {
	char *volatile p = data;
	__asm__ volatile("movaps %%xmm0, 0(%0)" : : "r"((((uintptr_t)p + 15) & -16) + 1) : "memory"); //@ misaligned: misaligned-address index=42
	KEEP(index);
}

NOINLINE static void wide_local(int index) {
	char room[9000];
	memset(room, 'x', sizeof room);
	strcpy(room, "wide open");
	text = room;
	no_item->id = index; //@ wide-local: null-pointer room="wide open"
	sink = room[index];
}

NOINLINE static void privileged(int index) {
	__asm__ volatile("hlt"); //@ privileged: illegal-instruction index=42
	KEEP(index);
}

static void say_and_exit(int sig) {
	(void)!write(1, "handled\n", 8);
	_exit(1);
}

static void overflow_altstack(int seed) {
	stack_t st = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&st, NULL);
	struct sigaction sa = {.sa_handler = say_and_exit, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &sa, NULL);
	sink = recurse(seed, 0);
}

NOINLINE static void bus(int index) {
	char name[] = "/tmp/strobe-crash-XXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	(void)!ftruncate(fd, 8192);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p[4096] = 1;
	(void)!ftruncate(fd, 0);
	p[index] = 1; //@ bus: bus-error index=42
	KEEP(index);
}

NOINLINE static void divide(int index) {
	int by = zero;
	sink = index / by; //@ divide: division-by-zero index=42
	KEEP(index);
}

NOINLINE static void divide_min(int index) {
	volatile int least = -2147483647 - 1, by = -1;
	sink = least / by; //@ divide-min: arithmetic index=42
	KEEP(index);
}

NOINLINE static void trap(int index) {
	volatile int seen = index;
	if (seen)
		__builtin_trap(); //@ trap: illegal-instruction seen=42
}

NOINLINE static void breakpoint(int index) {
	__asm__ volatile("int3"); //@ int3: trap index=42
	KEEP(index);
}

NOINLINE static void call_abort(int index) {
	volatile int seen = index;
	if (seen)
		abort(); //@ abort: abort seen=42
}

NOINLINE static void fails_assert(int index) {
	volatile int seen = index;
	assert(seen == 43); //@ assert: assertion seen=42
}

NOINLINE static void double_free(int index) {
	volatile int seen = index;
	text = malloc(40);
	free(text);
	free(text); //@ double-free: double-free seen=42
	sink = seen;
}

NOINLINE static void bad_free(int index) {
	volatile int seen = index;
	text = malloc(40);
	free(text + 16); //@ bad-free: invalid-pointer seen=42
	sink = seen;
}

NOINLINE static void corrupt_heap(int index) {
	volatile int seen = index;
	text = malloc(24);
	for (int i = 24; i < 64; i++)
		text[i] = 'A';
	text = malloc(5000); //@ heap-corruption: heap-corruption seen=42
	sink = seen;
}

NOINLINE static void fill(char *room, int n) {
	for (int i = 0; i < n; i++)
		((char *volatile)room)[i] = 'A';
	text = room;
}

NOINLINE static void smash(int index) {
	char room[16];
	fill(room, index);
	sink = room[3];
} //@ smash: stack-smashing

NOINLINE static void fortify(int index) {
	volatile int seen = index;
	char room[8];
	size_t n = seen;
	memset(room, 'x', n); //@ fortify: buffer-overflow seen=42
	text = room;
	sink = text[0];
}

NOINLINE static int compares(const void *a, const void *b) {
	int x = *(const int *)a, y = *(const int *)b;
	if (x + y == 42)
		*(volatile long *)no_item = x; //@ qsort: null-pointer x=21
	KEEP(x);
	return x - y;
}

static void in_qsort(int index) {
	int list[] = {21, 21, 21, 21};
	qsort(list, 4, sizeof list[0], compares);
	sink = list[0] + index;
}

static void at_exit(void) { null_exit(42); }

NOINLINE void null_exit(int index) {
	no_item->id = index; //@ atexit,constructor: null-pointer index=42
	KEEP(index);
}

static void exits(int index) {
	atexit(at_exit);
	exit(index);
}

__attribute__((constructor)) static void early(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "constructor"))
		null_exit(42);
}

NOINLINE void die(int index) { null_write(index); }

static const struct way ways[] = {
	{"null-read", null_read}, {"null-write", null_write}, {"null-member", null_member}, {"null-call", null_call},
	{"unmapped", unmapped}, {"wild", wild}, {"write-constant", write_constant}, {"guard", guard}, {"execute-data", execute_data},
	{"call-garbage", call_garbage}, {"call-wild", call_wild}, {"overflow-main", NULL}, {"overflow-thread", overflow_thread},
	{"overflow-altstack", overflow_altstack}, {"bus", bus}, {"divide", divide}, {"divide-min", divide_min}, {"trap", trap},
	{"int3", breakpoint}, {"abort", call_abort}, {"assert", fails_assert}, {"double-free", double_free}, {"bad-free", bad_free},
	{"heap-corruption", corrupt_heap}, {"smash", smash}, {"fortify", fortify}, {"qsort", in_qsort}, {"atexit", exits},
	{"constructor", die}, {"large-frame", large_frame}, {"large-frame-thread", large_frame_thread}, {"misaligned", misaligned},
	{"privileged", privileged}, {"wide-local", wide_local}, {NULL, NULL},
};

int main(int argc, char **argv) {
	puts("begins");
	fflush(stdout);
	if (!strcmp(argv[1], "overflow-main"))
		sink = recurse(42, 0);
	return run(ways, argv[1], 2);
}
