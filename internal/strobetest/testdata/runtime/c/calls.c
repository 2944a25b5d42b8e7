/* Calls of every kind, each once: calls.py and calls.js are the same. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static jmp_buf caught;

int add(int a, int b) { return a + b; }
void nothing(void) {}
int leaf(int n) { return n + 1; }
int mid(int n) { return leaf(n + 1); }
int outer(int n) { return mid(n + 1); }
int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
int odd(int n);
int even(int n) { return n == 0 ? 1 : odd(n - 1); }
int odd(int n) { return n == 0 ? 0 : even(n - 1); }
void thrower(int n) { longjmp(caught, n); }
int catcher(int n) {
	if (setjmp(caught)) return -1;
	thrower(n);
	return 0;
}
void deep(int n) { thrower(n); }
void deeper(int n) { deep(n); }
int through(int n) {
	if (setjmp(caught)) return -2;
	deeper(n);
	return 0;
}
void says(void) { write(1, "mine\n", 5); }
void warns(void) { write(2, "warned\n", 7); }
void step(int i) { (void)i; }
void slow(void) { usleep(30000); }
int apply(int (*f)(int, int), int n) { return f(n, n); }
struct Order { int id; };
int Order_total(struct Order *self, int n) { return self->id + n; }

void run(void) {
	add(1, 2);
	nothing();
	outer(1);
	fact(5);
	even(4);
	catcher(7);
	through(8);
	says();
	warns();
	for (int i = 0; i < 3; i++) {
		char line[] = {'0' + i, '\n'};
		step(i);
		write(1, line, 2);
	}
	slow();
	apply(add, 21);
	struct Order order = {5};
	Order_total(&order, 3);
}
int main(void) {
	run();
	return 0;
}
