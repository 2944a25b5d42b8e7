// Calls one small function in bursts, as testdata/targets/c/spin.c does, and says what a call took.
// usage: values KIND CALLS REPEATS PAUSE_MS; KIND: scalars, text, vector, nested or hot
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

struct Low { int a, b; const char *text; };
struct Mid { int a, b; Low *low; };
struct Top { int a, b; Mid *mid; };

__attribute__((noinline)) int scalars(int a, int b) { __asm__ volatile(""); return a + b; }
__attribute__((noinline)) int text(const char *s) { __asm__ volatile("" : : "r"(s) : "memory"); return 1; }
__attribute__((noinline)) int items(const std::vector<int> &v) { __asm__ volatile("" : : "r"(&v) : "memory"); return (int)v.size(); }
__attribute__((noinline)) int nested(const Top *t) { __asm__ volatile("" : : "r"(t) : "memory"); return t->a; }
__attribute__((noinline)) int hot(int a) { __asm__ volatile(""); return a + 1; }

static long long now() {
	timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc < 5) return 2;
	const char *kind = argv[1];
	long calls = atol(argv[2]), repeats = atol(argv[3]), pause_ms = atol(argv[4]);
	if (calls < 1 || repeats < 1 || repeats > 10000) return 2;
	std::vector<int> v{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	Low low{1, 2, "the innermost"};
	Mid mid{3, 4, &low};
	Top top{5, 6, &mid};
	std::vector<double> took;
	int x = 0;
	for (long r = 0; r < repeats; r++) {
		long long start = now();
		if (!strcmp(kind, "scalars")) for (long i = 0; i < calls; i++) x += scalars(x, (int)i);
		else if (!strcmp(kind, "text")) for (long i = 0; i < calls; i++) x += text("a text of forty bytes, which is usual here");
		else if (!strcmp(kind, "vector")) for (long i = 0; i < calls; i++) x += items(v);
		else if (!strcmp(kind, "nested")) for (long i = 0; i < calls; i++) x += nested(&top);
		else if (!strcmp(kind, "hot")) for (long i = 0; i < calls; i++) x = hot(x) & 0xffff;
		else return 2;
		took.push_back((double)(now() - start) / calls);
		timespec ts{pause_ms / 1000, pause_ms % 1000 * 1000000L};
		nanosleep(&ts, nullptr);
	}
	std::sort(took.begin(), took.end());
	printf("x=%d\n", x);
	fprintf(stderr, "pairs=%ld ns_per_pair=%.4f fastest=%.4f\n", calls * repeats, took[took.size() / 2], took[0]);
}
