// ucontext coroutines: stacks that switch in the middle of hooked frames, so that enters and exits of one
// thread are not nested by stack address.
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { N = 4, STACK = 1 << 16 };
static ucontext_t main_ctx, ctx[N];
static int done[N];
static long log_sum, yields;

__attribute__((noinline)) void yield(int id) {
	yields++;
	swapcontext(&ctx[id], &main_ctx);
}
__attribute__((noinline)) long visit(int id, int depth) {
	long s = depth;
	yield(id);
	if (depth) s += visit(id, depth - 1);
	yield(id);
	return s;
}
static void body(int id) {
	for (int i = 0; i < 20; i++) log_sum += visit(id, 5) * (id + 1);
	done[id] = 1;
}

int main(void) {
	for (int i = 0; i < N; i++) {
		getcontext(&ctx[i]);
		ctx[i].uc_stack.ss_sp = malloc(STACK);
		ctx[i].uc_stack.ss_size = STACK;
		ctx[i].uc_link = &main_ctx;
		makecontext(&ctx[i], (void (*)(void))body, 1, i);
	}
	for (int left = N; left;) {
		left = N;
		for (int i = 0; i < N; i++) {
			if (!done[i]) swapcontext(&main_ctx, &ctx[i]);
			left -= done[i];
		}
	}
	printf("sum=%ld yields=%ld\n", log_sum, yields);
	return log_sum == 20 * 15 * 10 && yields == N * 20 * 12 ? 0 : 1;
}
