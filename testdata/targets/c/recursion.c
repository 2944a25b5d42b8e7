// 100,000 frames deep in small frames: fits the usual 8 MB stack with room for what a tracer adds, if
// that is under 48 bytes a frame. Also mutual recursion and a tree.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long down(long n) {
	if (n == 0) return 0;
	long r = down(n - 1);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}
__attribute__((noinline)) int is_odd(int n);
__attribute__((noinline)) int is_even(int n) {
	int r = n == 0 ? 1 : is_odd(n - 1);
	__asm__ volatile("" : "+r"(r));
	return r;
}
__attribute__((noinline)) int is_odd(int n) {
	int r = n == 0 ? 0 : is_even(n - 1);
	__asm__ volatile("" : "+r"(r));
	return r;
}
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv) {
	int depth = argc > 1 ? atoi(argv[1]) : 100000;
	long a = down(depth), again = down(depth);
	printf("down=%ld again=%ld even=%d fib=%d\n", a, again, is_even(1001), fib(20));
	return a == depth && again == depth ? 0 : 1;
}
