volatile int sink;

__attribute__((noinline)) static void here(void) { sink = 1; }
__attribute__((noinline, visibility("hidden"))) void hidden(void) { sink = 2; }
__attribute__((noinline, weak)) void weakly(void) { sink = 3; }

int main(void) {
	here();
	hidden();
	weakly();
	return 0;
}
