// A byte-code interpreter with computed goto: indirect jumps inside a function whose first instructions are
// hooked, and a switch with a jump table beside it.
#include <stdio.h>
#include <stdlib.h>

enum { INC, DEC, DBL, JNZ, HALT };

__attribute__((noinline)) long interpret(const unsigned char *code, long acc, long n) {
	static const void *const labels[] = {&&inc, &&dec, &&dbl, &&jnz, &&halt};
	const unsigned char *pc = code;
	goto *labels[*pc];
inc:
	acc++;
	goto *labels[*++pc];
dec:
	n--;
	goto *labels[*++pc];
dbl:
	acc = acc * 2 % 1000003;
	goto *labels[*++pc];
jnz:
	if (n) {
		pc = code;
		goto *labels[*pc];
	}
	goto *labels[*++pc];
halt:
	return acc;
}

__attribute__((noinline)) long table(int op, long a) {
	switch (op) {
	case 0: return a + 1;
	case 1: return a - 3;
	case 2: return a * 5;
	case 3: return a ^ 0x55;
	case 4: return a / 3;
	case 5: return -a;
	case 6: return a * 2;
	case 7: return a % 11;
	default: return 0;
	}
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 2000;
	static const unsigned char code[] = {INC, DBL, DEC, JNZ, HALT};
	long x = 1, y = 7;
	for (int i = 0; i < rounds; i++) {
		x = interpret(code, x, 10);
		y = table(i % 9, y + i);
	}
	printf("rounds=%d x=%ld y=%ld\n", rounds, x, y);
	return 0;
}
