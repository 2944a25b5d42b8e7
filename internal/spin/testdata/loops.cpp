// Functions that never return, and functions that return after very long. None is called: the test runs them on in the interpreter.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#define NOINLINE extern "C" __attribute__((noinline, used))
static volatile uint64_t sink, zero;
static volatile double fsink;
static uint64_t table[256];
static char text[64] = "abcdefghijklmnop";
alignas(64) static unsigned char stack_area[1 << 16];
static const uint64_t far = 1ull << 40;

struct Bits { unsigned lo : 7, mid : 13, hi : 12; };

// Each of these gets somewhere: its state never repeats within the interpreter's patience.
NOINLINE void slow_up() { for (uint64_t i = 0; i < far; i++) sink = i; }
NOINLINE void slow_down() { for (uint64_t i = far; i; i--) ; }
NOINLINE void slow_memory() { static volatile uint64_t n; while (n++ < far) ; }
NOINLINE void slow_odd() { for (uint64_t i = 1; i != 0; i += 3) sink = 7; }
NOINLINE void slow_rotate() { uint64_t x = 1; for (uint64_t n = 0; n < far; n++) { x = x << 13 | x >> 51; x ^= n; sink = x; } }
NOINLINE void slow_lcg() { uint64_t x = 1; do x = x * 6364136223846793005ull + 1442695040888963407ull; while (x != 1); }
NOINLINE void slow_xorshift() { uint64_t x = 88172645463325252ull; do { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } while (x != 88172645463325252ull); }
NOINLINE void slow_words() { static volatile uint32_t w[4]; for (;;) { if (++w[0]) continue; if (++w[1]) continue; if (++w[2]) continue; return; } }
NOINLINE void slow_double() { double d = 0; while (d < 1e15) d += 1.25; fsink = d; }
NOINLINE void slow_float() { float f = 1; for (int i = 0; i < 2000000000; i++) { f = f * 1.0001f; if (f > 1e30f) f = 1; if (i == 1999999999) fsink = f; } }
NOINLINE void slow_wide() { unsigned __int128 n = 0; while (n < ((unsigned __int128)1 << 70)) n += 3; sink = (uint64_t)n; }
NOINLINE void slow_bits() { Bits b{}; uint64_t round = 0; for (;;) { if (++b.lo) continue; if (++b.mid) continue; if (++b.hi) continue; if (++round == far) return; } }
NOINLINE void slow_table() { uint64_t i = 0; while (table[i & 255] < far) { table[i & 255]++; i++; } }
NOINLINE void slow_bytes() { static unsigned char n[8]; for (;;) { int k = 0; while (k < 8 && ++n[k] == 0) k++; if (k == 8) return; } }
NOINLINE void slow_flags() { uint64_t lo = 0, hi = 0; for (;;) { lo += 0x123456789abcdefull; hi += lo < 0x123456789abcdefull; if (hi == far) return; } }
NOINLINE void slow_select() { uint64_t a = 0, b = 0; while (a + b < far) { bool odd = (a ^ b) & 1; a += odd; b += !odd; } }
NOINLINE void slow_divide() { uint64_t i = 0; while (i / 7 + i % 7 < far) i++; sink = i; }
NOINLINE void slow_copy() { static uint64_t from[8], to[8]; while (to[3] < far) { from[3]++; memcpy(to, from, sizeof to); } }
NOINLINE void slow_text() { static char digits[24] = "000000000000000000"; for (;;) { int k = 0; while (k < 18 && ++digits[k] > '9') digits[k++] = '0'; if (k == 18) return; if (strlen(digits) != 18) return; } }
NOINLINE void slow_compare() { static char a[12], b[12]; memset(b, 0x7f, 11); do { int k = 0; while (k < 11 && ++a[k] == 0x7f) a[k++] = 0; } while (memcmp(a, b, 11)); }
NOINLINE void slow_chase() { static struct Node { Node *next; uint64_t n; } ring[7]; for (int i = 0; i < 7; i++) ring[i].next = &ring[(i * 3 + 1) % 7]; for (Node *p = ring; p->n < far; p = p->next) p->n++; }
NOINLINE void slow_shift() { uint64_t x = 0, n = 0; while (n < far) { x = x >> 1 | (n & 1) << 63; n += 1 + (x & 1); } sink = x; }
NOINLINE void slow_switch() { uint64_t n = 0; for (;;) switch (n++ & 3) { case 0: sink = 1; break; case 1: sink = 2; break; case 2: if (n > far) return; break; default: sink = 3; } }
NOINLINE uint64_t deep(uint64_t n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
NOINLINE void slow_recursion() { sink = deep(70); }
NOINLINE void slow_sum() { double s = 0; for (uint64_t k = 1; s < 60; k++) s += 1.0 / double(k); fsink = s; }
NOINLINE void slow_convert() { int64_t i = 0; while (double(i) < 1e14 && (int64_t)(double(i) * 0.5) * 2 <= i) i++; sink = i; }
NOINLINE void slow_grow() { std::vector<int> v; while (v.size() < far) { v.push_back(1); if (v.size() == 1000) sink = sink + 1; if (v.size() > 2000) v.resize(1); if (sink > far) return; } }

// And each of these comes back to where it was.
NOINLINE void ever_empty() { for (;;) __asm__ volatile(""); }
NOINLINE void ever_wait() { while (!zero) ; }
NOINLINE void ever_count() { for (uint64_t n = 0; !zero; n++) sink = n; }
NOINLINE void ever_even() { uint8_t i = 0; while (i != 7) sink = i += 2; }
NOINLINE void ever_inner() { while (!zero) for (int i = 0; i < 10; i++) sink = i; }
NOINLINE void ever_swap() { uint64_t a = 1, b = 2; while (a != b) { uint64_t t = a; sink = a = b; b = t; } }
NOINLINE void ever_halve() { double x = 1; while (x != 0.3) x = x == 1 ? 0.5 : 1; }
NOINLINE void ever_random() { uint64_t x = 1; while (!zero) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; sink = x; } }
NOINLINE void ever_floats() { double sum = 0; while (!zero) { sum += 0.1; fsink = sum * 2; } }
NOINLINE void ever_text() { while (strcmp(text, "abc") != 0) sink = strlen(text); }
NOINLINE void ever_skip() { const char *p = text; while (*p) { sink = *p; if (*p == 'c') continue; p++; } }
NOINLINE void ever_string() { std::string s; while (s != "x") { s = "a string that is too long to be kept within"; s += text; sink = s.size(); } }
NOINLINE void ever_vector() { while (!zero) { std::vector<int> v; for (int i = 0; i < 20; i++) v.push_back(i); sink = v.size(); } }
NOINLINE void ever_recursion() { while (!zero) sink = deep(5); }
NOINLINE void ever_wide() { unsigned __int128 n = 1; while (!zero) { n = n * 3 + 1; sink = (uint64_t)(n >> 64); } }

#define F(x) {#x, (void *)x}
static const struct { const char *name; void *at; } functions[] = {
	F(slow_up), F(slow_down), F(slow_memory), F(slow_odd), F(slow_rotate), F(slow_lcg), F(slow_xorshift), F(slow_words), F(slow_double), F(slow_float), F(slow_wide), F(slow_bits),
	F(slow_table), F(slow_bytes), F(slow_flags), F(slow_select), F(slow_divide), F(slow_copy), F(slow_text), F(slow_compare), F(slow_chase), F(slow_shift), F(slow_switch),
	F(slow_recursion), F(slow_sum), F(slow_convert), F(slow_grow),
	F(ever_empty), F(ever_wait), F(ever_count), F(ever_even), F(ever_inner), F(ever_swap), F(ever_halve), F(ever_random), F(ever_floats), F(ever_text), F(ever_skip), F(ever_string),
	F(ever_vector), F(ever_recursion), F(ever_wide),
};
static const struct { const char *name; void *at; } library[] = {
	{"memcpy", (void *)memcpy}, {"memmove", (void *)memmove}, {"memset", (void *)memset}, {"memcmp", (void *)memcmp}, {"strlen", (void *)(size_t (*)(const char *))strlen},
	{"strcmp", (void *)strcmp}, {"memchr", (void *)(void *(*)(void *, int, size_t))memchr},
};

int main() {
	uint64_t fs;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	printf("fs %#lx\nstack %#lx\n", (unsigned long)fs, (unsigned long)(stack_area + sizeof stack_area - 4096));
	{ std::string warm(100, 'x'); std::vector<int> v(100); sink = strlen(text) + warm.size() + v.size() + strcmp(text, warm.c_str()) + memcmp(text, warm.data(), 9); fsink = std::sqrt(double(sink)); }
	for (auto &l : library) printf("lib:%s %#lx\n", l.name, (unsigned long)l.at);
	for (auto &f : functions) printf("%s %#lx\n", f.name, (unsigned long)f.at);
	puts("ready 0");
	fflush(stdout);
	char c;
	return read(0, &c, 1) < 0;
}
