// As faults.c, of what checkers find: AddressSanitizer and UndefinedBehaviorSanitizer end a program, or let it go on.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include "ways.h"

static volatile int sink;
static int *volatile kept;

NOINLINE void use_after_free(int index) {
	int *list = new int[64];
	kept = list;
	delete[] list;
	sink = kept[index]; //@ use-after-free: heap-use-after-free index=42
	KEEP(index);
}
NOINLINE void overflow(int index) {
	kept = new int[8];
	sink = kept[index - 32]; //@ heap-overflow: heap-buffer-overflow index=42
	KEEP(index);
}
NOINLINE void stack_overflow(int index) {
	int list[8] = {1};
	kept = list;
	sink = kept[index - 34]; //@ stack-buffer: stack-buffer-overflow index=42
	KEEP(index);
}
NOINLINE void null(int index) {
	kept = nullptr;
	*kept = index; //@ null: null-pointer index=42
	KEEP(index);
}
NOINLINE void double_free(int index) {
	kept = new int(index);
	delete kept;
	delete kept; //@ double-free: double-free index=42
	KEEP(index);
}
NOINLINE void signed_overflow(int index) {
	volatile int most = 2147483647;
	sink = most + index; //@ signed-overflow: signed-integer-overflow most=2147483647
	KEEP(index);
}
NOINLINE void shift(int index) {
	volatile int by = index;
	sink = 1 << by; //@ shift: shift-out-of-bounds by=42
}
static int shared;
NOINLINE void race(int index) {
	std::thread t([=] { shared = index; }); //@ race-other: data-race
	shared = index + 1; //@ race: data-race
	t.join();
	sink = shared;
}
NOINLINE void leak(int index) {
	kept = new int[index]; //@ leak: leak
	kept = nullptr;
	std::exit(0);
}

static const struct way ways[] = {
	{"use-after-free", use_after_free}, {"heap-overflow", overflow}, {"stack-buffer", stack_overflow}, {"null", null},
	{"double-free", double_free}, {"signed-overflow", signed_overflow}, {"shift", shift}, {"race", race}, {"leak", leak}, {NULL, NULL},
};

int main(int argc, char **argv) {
	std::puts("begins");
	std::fflush(stdout);
	return run(ways, argv[1], 2);
}
