// Calls the hand-written functions in asm_funcs.S and checks every result.
#include <stdio.h>
#include <stdlib.h>

void tiny1(void);
void tiny2(void);
long tiny3(void), tiny4(long), loop_head(long), loop_second(long), use_private(long), use_carry(long);
long alias_one(long), alias_two(long), first_entry(long), second_entry(long), pop_and_jump(long), rip_first(long);
long jump_first(long, long, long, long), call_first(long);
void *return_address(void);

static long failed;
static void check(const char *what, long got, long want) {
	if (got != want && failed++ < 20) printf("%s = %ld, want %ld\n", what, got, want);
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 500;
	long in_main = 0;
	for (long i = 1; i <= rounds; i++) {
		tiny1();
		tiny2();
		check("tiny3", tiny3(), 0);
		check("tiny4", tiny4(i), i);
		check("loop_head", loop_head(i % 50 + 1), 77);
		check("loop_second", loop_second(i % 50 + 1), (i % 50 + 1) * (i % 50 + 2) / 2);
		check("use_private", use_private(i), 24 + 5 * i);
		check("use_carry", use_carry(i), 1000 + (i % 2 == 0));
		check("alias_one", alias_one(i), i + 1);
		check("alias_two", alias_two(i), i + 1);
		check("first_entry", first_entry(i), 2 * (i + 100));
		check("second_entry", second_entry(i), 2 * i);
		check("pop_and_jump", pop_and_jump(i), i + 5);
		check("rip_first", rip_first(i), 0x1234 + i);
		check("jump_first", jump_first(i, 0, 0, 0), 9);
		check("jump_first", jump_first(i, 0, 0, 1), i);
		check("call_first", call_first(i), i);
		in_main += return_address() != NULL;
	}
	printf("rounds=%d failed=%ld addresses=%ld\n", rounds, failed, in_main);
	return failed ? 1 : 0;
}
