// Functions of many kinds. The program prints where each is and what it gave, then waits for its stdin to close.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>
#include <unistd.h>
#define KEEP extern "C" __attribute__((noinline, used)) uint64_t
static thread_local uint64_t counter = 41;
static int table[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
KEEP sums(uint64_t a, uint64_t b) {
    uint64_t r = a + b * 3 - (a >> 5) + (b << 7);
    r ^= (int64_t)a >> 3; r = (r << 13) | (r >> 51);
    return r * 0x9e3779b97f4a7c15u + (uint32_t)(a - b) + (int16_t)b + (uint8_t)(a ^ b);
}
KEEP divides(uint64_t a, uint64_t b) {
    int64_t x = (int64_t)a, y = (int64_t)b; b |= 1;
    int32_t p = (int32_t)a; int32_t q = (int32_t)(b | 3); int16_t s = (int16_t)a; uint8_t u = (uint8_t)a;
    unsigned __int128 wide = (unsigned __int128)a * b;
    return a / b + a % b + (y ? (uint64_t)(x / (y | 1)) : 7) + (uint64_t)(p / (q ? q : 1)) + s / 7 + u % 10 + (uint64_t)(wide >> 64) + (uint64_t)((__int128)x * y >> 64);
}
KEEP branches(uint64_t a, uint64_t b) {
    uint64_t r = 0;
    for (uint64_t i = 0; i < a % 13 + 3; i++) {
        switch ((a + i * b) % 9) {
        case 0: r += 5; break;
        case 1: r ^= i; break;
        case 2: r -= a; break;
        case 3: r = r * 3 + 1; break;
        case 4: r += (int32_t)b < (int32_t)i; break;
        case 5: r += b > a ? b : a; break;
        case 6: r |= 1ull << (i & 63); break;
        default: r += table[(a ^ i) & 15];
        }
    }
    return r;
}
KEEP recurse(uint64_t a, uint64_t b) { a %= 11; return a < 2 ? b + a : recurse(a - 1, b) + recurse(a - 2, b); }
KEEP bitwise(uint64_t a, uint64_t b) {
    return (a ? __builtin_ctzll(a) : 3) + (b ? __builtin_clzll(b) : 4) * 100 + __builtin_popcountll(a ^ b) * 7 + __builtin_bswap64(a) + __builtin_bswap32((uint32_t)b)
        + ((a >> (b & 63)) & 1) + (uint16_t)((uint16_t)a << 8 | (uint16_t)a >> 8);
}
KEEP doubles(uint64_t a, uint64_t b) {
    double x = (double)(int64_t)a / 3.0 + (double)(int32_t)b, y = x > 0 ? x * 0.5 : -x;
    float f = (float)y + 0.25f; if (f < 7.5f) f *= 2;
    return (uint64_t)(int64_t)(x * 1e-6) + (uint64_t)(int32_t)(f * 1e-9f) + (y != x) + (uint64_t)(int64_t)__builtin_sqrt(y);
}
KEEP statics(uint64_t a, uint64_t) { counter += a & 7; table[a & 15] += 2; uint64_t r = counter; for (int v : table) r = r * 5 + (uint64_t)v; return r; }
KEEP atomics(uint64_t a, uint64_t b) {
    uint64_t x = a; uint64_t old = __atomic_fetch_add(&x, b, __ATOMIC_SEQ_CST), want = a + b;
    bool swapped = __atomic_compare_exchange_n(&x, &want, old, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return __atomic_exchange_n(&x, 9, __ATOMIC_SEQ_CST) + swapped + __atomic_or_fetch(&x, b, __ATOMIC_SEQ_CST);
}
KEEP texts(uint64_t a, uint64_t b) {
    char buf[64]; std::string s = "value "; s += std::to_string(a % 100000); s.append(b % 40, 'x');
    std::strcpy(buf, "head:"); std::strncat(buf, s.c_str(), 50);
    uint64_t r = std::strlen(buf); for (const char *p = buf; *p; p++) r = r * 31 + (unsigned char)*p;
    std::string t = s.substr(2, 5) + "/" + s; return r + t.size() * 1000 + (s.find("lue") == 2) + (t < s) + (uint64_t)(std::memchr(buf, 'x', r % 5 + 10) != nullptr);
}
KEEP copies(uint64_t a, uint64_t b) {
    struct big { uint64_t w[9]; } x, y; for (int i = 0; i < 9; i++) x.w[i] = a + b * (uint64_t)i;
    y = x; std::memset(x.w, (int)a, 40); uint64_t r = 0; for (int i = 0; i < 9; i++) r = r * 7 + x.w[i] + y.w[8 - i];
    return r + (std::memcmp(&x, &y, sizeof x) < 0);
}
KEEP sorted(uint64_t a, uint64_t b) {
    std::vector<uint64_t> v; for (uint64_t i = 0; i < 12; i++) v.push_back((a * (i + 1) + b) % 101);
    std::sort(v.begin(), v.end()); uint64_t r = 0; for (auto x : v) r = r * 101 + x; return r;
}
static const uint8_t bytes[80] = "the quick brown fox jumps over the lazy dog, and again and again";
KEEP vectors(uint64_t a, uint64_t b) {
    uint8_t out[64]; uint64_t n = 0; for (int i = 0; i < 64; i++) out[i] = (uint8_t)((bytes[i] + a) ^ (b >> (i & 7)));
    for (int i = 0; i < 64; i++) n += out[i] > 100; uint32_t s = 0; for (int i = 0; i < 64; i++) s += (uint32_t)out[i] * 3;
    int16_t w[32]; std::memcpy(w, out, 64); int16_t top = w[0]; for (int i = 0; i < 32; i++) top = std::max(top, w[i]);
    return n * 1000000 + s + (uint16_t)top;
}
struct shape { virtual ~shape() {} virtual const char *what() const = 0; };
struct circle : shape { std::string s = "circle of radius 5, a rather long name"; const char *what() const override { return s.c_str(); } };
struct fail : std::runtime_error { int code; mutable std::string text; fail(int c) : std::runtime_error("fail"), code(c) {}
    const char *what() const noexcept override { text = "code " + std::to_string(code) + ": " + std::runtime_error::what(); return text.c_str(); } };
static circle round_; static fail broken(77); static std::system_error sys(2, std::generic_category(), "open x"); static std::out_of_range range("index 9 >= 3");
KEEP what(uint64_t a, uint64_t) {
    const shape *volatile s = &round_; const std::exception *volatile e[] = {&broken, &sys, &range};
    return (uint64_t)(a % 4 == 0 ? s->what() : e[a % 4 - 1]->what());
}
static void row(const char *name, uint64_t (*f)(uint64_t, uint64_t), bool text) {
    static const uint64_t v[] = {0, 1, 2, 3, 7, 0x7f, 0x80, 0xff, 1000, 0x7fffffff, 0x80000000, 0xfffffffe, 0x123456789abcdefull, 0x8000000000000000ull, ~0ull, 0xdeadbeefcafef00dull};
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < (text ? 1 : 4); k++) {
            uint64_t a = v[i], b = v[(i * 5 + k * 3 + 1) % 16];
            if (name[0] == 's' && name[2] == 'a') { a = 0; b = 0; } // it changes what it works on
            uint64_t r = f(a, b);
            if (text) std::printf("%s %p %lu %lu %s\n", name, (void *)f, a, b, (const char *)r);
            else std::printf("%s %p %lu %lu %lu\n", name, (void *)f, a, b, r);
        }
}
extern "C" void *__cxa_get_globals_fast(); extern "C" unsigned own_globals();
int main() {
    setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
#define ROW(f) row(#f, f, false)
    ROW(sums); ROW(divides); ROW(branches); ROW(recurse); ROW(bitwise); ROW(doubles); ROW(atomics); ROW(texts); ROW(copies); ROW(sorted); ROW(vectors);
    row("what", what, true);
    for (int k = 0; k < 2; k++) { uint64_t now = counter; int copy[16]; std::memcpy(copy, table, sizeof copy); uint64_t r = statics(5, 0); counter = now; std::memcpy(table, copy, sizeof copy);
        std::printf("statics %p 5 0 %lu\n", (void *)statics, r); }
    void *g = __cxa_get_globals_fast(); std::printf("globals %p 0 0 %lu\n", (void *)__cxa_get_globals_fast, (uint64_t)g);
    void *fs; __asm__("mov %%fs:0, %0" : "=r"(fs)); std::printf("fs %p 0 0 0\n", fs);
#define LIB(f) std::printf("lib:" #f " %p 0 0 0\n", (void *)f)
    LIB(memcpy); LIB(memmove); LIB(memset); LIB(memcmp); LIB(malloc); LIB(free); LIB(strcpy);
    std::printf("lib:strlen %p 0 0 0\n", (void *)(size_t (*)(const char *))strlen);
    std::printf("lib:strncat %p 0 0 0\n", (void *)strncat);
    std::printf("lib:memchr %p 0 0 0\n", (void *)(const void *(*)(const void *, int, size_t))memchr);
    std::printf("lib:_Znwm %p 0 0 0\nlib:_ZdlPv %p 0 0 0\n", (void *)(void *(*)(size_t)) operator new, (void *)(void (*)(void *)) operator delete);
    std::printf("ready 0x0 0 0 0\n"); std::fflush(stdout);
    char c; while (read(0, &c, 1) > 0) {}
    std::fflush(stdout); _exit(0);
}
