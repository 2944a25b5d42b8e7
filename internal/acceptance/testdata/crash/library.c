// A shared library that crashes.
static int *volatile nothing;
__attribute__((noinline)) static int deep(int level, int index) {
	int r = 0;
	if (level > 0)
		r = deep(level - 1, index) + 1;
	else
		r = *nothing + index; //@ library: null-pointer index=42
	__asm__ volatile("" : : "r"(index), "r"(r));
	return r;
}
int library_entry(int index) { return deep(3, index) + 1; }
