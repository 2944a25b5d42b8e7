// Functions with every shape of prologue, argument and result. Those named t_… are hooked; a suffix _sN
// says that N bytes of stack arguments belong to the function.
#define _GNU_SOURCE
#include <alloca.h>
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T __attribute__((noinline, noclone))
#define SHOW(...) printf(__VA_ARGS__)

volatile int sink, knob = 3;

T int t_leaf(int x) { return x + 1; }
T int t_zero(void) { asm volatile(""); return 0; }
T void t_nothing(void) { asm volatile(""); }
T int t_global(void) { return knob * 2; }
T void t_set(int x) { sink = x; }
T int t_fib(int n) { return n < 2 ? n : t_fib(n - 1) + t_fib(n - 2); }
T int t_deep(int n) { volatile char pad[40]; pad[n & 31] = n; return n == 0 ? 0 : t_deep(n - 1) + (pad[n & 31] == (char)n); }
T double t_mix(int a, double b, long c, float d, char e, double f) { return a + b * c - d * e + f; }
T long t_many_s32(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { return a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*i + 10*j; }
T long t_seven_s8(long a, long b, long c, long d, long e, long f, long g) { return a ^ b ^ c ^ d ^ e ^ f ^ g << 3; }
T long double t_ld_s32(long double a, long double b) { return a * b + 1; }
T _Complex long double t_cld_s32(_Complex long double a) { return a * 2; }
T __int128 t_i128(__int128 a, __int128 b) { return a * b; }
T double complex t_complex(double complex z) { return z * z; }

#define BIG(N) \
  struct big##N { unsigned char b[N]; }; \
  T unsigned t_sum##N##_s##N(int x, struct big##N s, int y) { unsigned r = x * 31 + y; for (int i = 0; i < N; i++) r = r * 33 + s.b[i]; return r; } \
  T struct big##N t_make##N(int x) { struct big##N s; for (int i = 0; i < N; i++) s.b[i] = x + i * 7; return s; } \
  static unsigned use##N(int x) { return t_sum##N##_s##N(x, t_make##N(x), x + 1); }
BIG(24) BIG(40) BIG(152) BIG(160) BIG(168) BIG(200) BIG(1000) BIG(2000)

struct pair { long a; double b; };
struct small { char c[3]; };
T struct pair t_pair(struct pair p) { return (struct pair){p.a + 1, p.b * 2}; }
T struct small t_small(struct small s) { s.c[1]++; return s; }

T long t_vsum_s2048(int n, ...) {
  va_list ap; va_start(ap, n); long r = 0;
  for (int i = 0; i < n; i++) r = i & 1 ? r + (long)(va_arg(ap, double) * 4) : r * 3 + va_arg(ap, int);
  va_end(ap); return r;
}
T int t_vformat_s2048(char *out, size_t n, const char *format, ...) {
  va_list ap; va_start(ap, format); int r = vsnprintf(out, n, format, ap); va_end(ap); return r;
}

T int t_odd(int n);
T int t_even(int n) { return n == 0 ? 1 : t_odd(n - 1); }
T int t_odd(int n) { return n == 0 ? 0 : t_even(n - 1); }
T long t_tail_pointer(long (*f)(long), long x) { return f(x * 2); }
T long t_identity(long x) { return x; }
struct ops { void *pad; long (*call)(struct ops *, long); };
T long t_op(struct ops *o, long x) { return o->pad ? x : x + 100; }
T long t_virtual(struct ops *o, long x) { return o->call(o, x); }

T int t_switch(int x, int y) {
  switch (x) { case 0: return y + 3; case 1: return y * 5; case 2: return y - 7; case 3: return y ^ 9; case 4: return y | 3; case 5: return -y; case 6: return y << 2; default: return x; }
}
T int t_interpret(const unsigned char *p, int acc) {
  for (;;) switch (*p++) { case 0: return acc; case 1: acc++; continue; case 2: acc *= 3; continue; case 3: acc -= 7; continue; case 4: continue; case 5: acc ^= 0x55; continue; case 6: p++; continue; }
}
T int t_goto(const unsigned char *p, int acc) {
  static void *const table[] = {&&end, &&inc, &&mul, &&dec};
  goto *table[*p++];
inc: acc++; goto *table[*p++];
mul: acc *= 3; goto *table[*p++];
dec: acc--; goto *table[*p++];
end: return acc;
}
T size_t t_strlen(const char *s) { const char *p = s; while (*p) p++; return p - s; }
T int t_loop(int *p) { do { p[0] += p[1]; p[1]--; } while (p[1] > 0); return p[0]; }
T int t_gcd(int a, int b) { return b == 0 ? a : t_gcd(b, a % b); }
T int t_alloca(int n) { char *p = alloca(n); memset(p, 7, n); int r = 0; for (int i = 0; i < n; i++) r += p[i]; return r; }
T int t_vla(int n) { int a[n]; for (int i = 0; i < n; i++) a[i] = t_leaf(i); return a[n - 1]; }
T void t_swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }

static jmp_buf env;
T void t_jump(int n) { if (n == 0) longjmp(env, 42); t_jump(n - 1); sink = n; }
T int t_catch(int n) { int r = setjmp(env); if (r) return r; t_jump(n); return 0; }

static volatile int signals;
T void t_handler(int sig) { signals += t_leaf(sig); }
T uint64_t t_thread_work(uint64_t x, int n) { for (int i = 0; i < n; i++) x = x * 6364136223846793005ull + t_leaf(i); return x; }
T void *t_thread(void *arg) { return (void *)t_thread_work((uint64_t)arg, 20000); }

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
T int t_callback(const void *a, const void *b) { return compare(a, b); }

void run_asm(void);

void run_corpus(void) {
  SHOW("leaf %d %d %d\n", t_leaf(4), t_zero(), t_global());
  t_nothing(); t_set(9);
  SHOW("fib %d deep %d sink %d\n", t_fib(15), t_deep(1000), sink);
  SHOW("mix %.4f many %ld seven %ld\n", t_mix(1, 2.5, 3, 4.5f, 5, 6.25), t_many_s32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), t_seven_s8(1, 2, 3, 4, 5, 6, 7));
  _Complex long double cl = t_cld_s32(1.5L + 2.25L * I);
  SHOW("ld %.3Lf cld %.3Lf %.3Lf i128 %d z %.2f\n", t_ld_s32(1.5L, 2.25L), creall(cl), cimagl(cl), (int)(t_i128((__int128)1 << 70, 12) >> 68), cimag(t_complex(1 + 2 * I)));
  SHOW("big %u %u %u %u %u %u %u %u\n", use24(1), use40(2), use152(3), use160(4), use168(5), use200(6), use1000(7), use2000(8));
  struct pair p = t_pair((struct pair){4, 1.25});
  SHOW("pair %ld %.2f small %d\n", p.a, p.b, t_small((struct small){{1, 2, 3}}).c[1]);
  SHOW("va %ld\n", t_vsum_s2048(20, 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5, 11, 12.5, 13, 14.5, 15, 16.5, 17, 18.5, 19, 20.5));
  char text[200];
  t_vformat_s2048(text, sizeof text, "%d %s %.2f %ld %c %d %d %d %.1Lf %s", 1, "two", 3.0, 4l, '5', 6, 7, 8, 9.5L, "ten");
  SHOW("format %s\n", text);
  SHOW("tail %d %ld\n", t_even(30001), t_tail_pointer(t_identity, 21));
  struct ops o = {0, t_op};
  SHOW("virtual %ld\n", t_virtual(&o, 5));
  for (int i = 0; i < 9; i++) SHOW("switch %d\n", t_switch(i, 40 + i));
  static const unsigned char program[] = {1, 2, 4, 3, 5, 6, 0, 1, 1, 2, 0};
  static const unsigned char threaded[] = {1, 2, 3, 3, 2, 1, 0};
  SHOW("interpret %d %d goto %d\n", t_interpret(program, 5), t_interpret(program + 3, 1), t_goto(threaded, 2));
  int pair[2] = {1, 6};
  SHOW("strlen %zu loop %d gcd %d\n", t_strlen("a string of some length"), t_loop(pair), t_gcd(1071, 462));
  int a = 1, b = 2; t_swap(&a, &b);
  SHOW("alloca %d vla %d swap %d %d\n", t_alloca(300), t_vla(30), a, b);
  for (int i = 0; i < 20; i++) SHOW("catch %d\n", t_catch(i));
  signal(SIGUSR1, t_handler);
  for (int i = 0; i < 10; i++) raise(SIGUSR1);
  SHOW("signals %d\n", signals);
  pthread_t threads[4]; uint64_t total = 0;
  for (uint64_t i = 0; i < 4; i++) pthread_create(&threads[i], 0, t_thread, (void *)i);
  for (int i = 0; i < 4; i++) { void *r; pthread_join(threads[i], &r); total += (uint64_t)r; }
  SHOW("threads %lx\n", total);
  int numbers[50];
  for (int i = 0; i < 50; i++) numbers[i] = i * 7919 % 101;
  qsort(numbers, 50, sizeof *numbers, t_callback);
  for (int i = 0; i < 50; i++) SHOW("%d ", numbers[i]);
  SHOW("\n");
  run_asm();
}
