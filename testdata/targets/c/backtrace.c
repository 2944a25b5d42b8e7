// backtrace() from ten frames deep. Addresses in the text of this program are counted: a tracer may add
// frames of its own, but it may not hide or invent one of ours.
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

extern char __executable_start, etext;
static int own;

__attribute__((noinline)) int measure(void) {
	void *pc[128];
	int n = backtrace(pc, 128), in_text = 0;
	for (int i = 0; i < n; i++) in_text += (char *)pc[i] >= &__executable_start && (char *)pc[i] < &etext;
	return in_text;
}

__attribute__((noinline)) int down(int n) {
	int r = n == 0 ? measure() : down(n - 1);
	own++;
	__asm__ volatile("");
	return r;
}

__attribute__((noinline)) int from_bottom(int depth) {
	int r = down(depth);
	__asm__ volatile("");
	return r;
}

int main(void) {
	int d1 = from_bottom(1), d11 = from_bottom(11), d30 = from_bottom(30), again = from_bottom(11);
	printf("frames added by 10 calls: %d, by 29: %d, steady: %d, calls: %d\n", d11 - d1, d30 - d1, d11 == again, own);
	return d11 - d1 == 10 && d30 - d1 == 29 && d11 == again ? 0 : 1;
}
