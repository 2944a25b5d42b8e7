// What the crashing programs share.
#define NOINLINE __attribute__((noinline))
// Keeps a value alive until here.
#define KEEP(x) __asm__ volatile("" : : "r"(x))

struct way {
	const char *name;
	void (*go)(int);
};

void null_exit(int index);
void die(int index);

// Calls a way from a few calls below main.
NOINLINE static int run(const struct way *ways, const char *name, int level) {
	if (level > 0) {
		int r = 0;
		r = run(ways, name, level - 1) + 1;
		KEEP(level);
		return r - 1;
	}
	for (; ways->name; ways++)
		if (!strcmp(ways->name, name)) {
			ways->go(42);
			return 0;
		}
	return 99;
}
