// Memory errors, by name: each is what one kind of AddressSanitizer or valgrind report is about.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

int table[10];
static volatile int zero;

__attribute__((noinline)) static int use_after_free(void) {
  int *p = malloc(40);
  p[3] = 7;
  free(p);
  return p[3 + zero];
}
static void *freer(void *p) { free(p); return 0; }
__attribute__((noinline)) static void free_in_thread(void) {
  char *p = malloc(16);
  pthread_t t;
  pthread_create(&t, 0, freer, p);
  pthread_join(t, 0);
  p[5 + zero] = 1;
}
__attribute__((noinline)) static int heap_overflow(void) {
  int *p = malloc(40);
  memset(p, 0, 40);
  int r = p[10 + zero];
  free(p);
  return r;
}
__attribute__((noinline)) static int stack_overflow(int i) {
  int local[8];
  memset(local, 0, sizeof local);
  return local[i];
}
__attribute__((noinline)) static int global_overflow(int i) { return table[i]; }
__attribute__((noinline)) static void double_free(void) {
  void *volatile p = malloc(24);
  free(p);
  free(p);
}
__attribute__((noinline)) static void bad_free(void) {
  int *p = malloc(24);
  int *volatile q = p + 2;
  free(q);
}
static int *volatile escaped;
__attribute__((noinline)) static void keep(void) { int x = 3; escaped = &x + zero; }
__attribute__((noinline)) static int use_after_scope(void) {
  { int x = 9; escaped = &x + zero; }
  return *escaped;
}
__attribute__((noinline)) static int null_deref(int *p) { return *p; }
__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < 3; i++) { void *volatile p = malloc(100); p = 0; (void)p; }
  void **volatile q = malloc(8);
  *q = malloc(32);
  q = 0;
}
__attribute__((noinline)) static int recurse(int n) { volatile char b[256]; b[0] = n; return n < 0 ? 0 : recurse(n + 1) + b[0]; }
__attribute__((noinline)) static void overlap(void) {
  char b[32] = "0123456789abcdef";
  memcpy(b + 4 + zero, b, 10 + zero);
  puts(b);
}
__attribute__((noinline)) static int uninit(int n) {
  int *p = malloc(40);
  if (p[n]) puts("set");
  free(p);
  return 0;
}
__attribute__((noinline)) static void wild_write(void) { *(volatile int *)0x7000 = 1; }
__attribute__((noinline)) static void huge(void) { volatile size_t n = (size_t)1 << 50; void *volatile p = malloc(n); (void)p; }

int main(int argc, char **argv) {
  setvbuf(stdout, 0, _IONBF, 0);
  const char *w = argc > 1 ? argv[1] : "";
  if (!strcmp(w, "use-after-free")) return use_after_free();
  if (!strcmp(w, "free-in-thread")) free_in_thread();
  if (!strcmp(w, "heap-overflow")) return heap_overflow();
  if (!strcmp(w, "stack-overflow")) return stack_overflow(9 + zero);
  if (!strcmp(w, "global-overflow")) return global_overflow(11 + zero);
  if (!strcmp(w, "double-free")) double_free();
  if (!strcmp(w, "bad-free")) bad_free();
  if (!strcmp(w, "use-after-scope")) return use_after_scope();
  if (!strcmp(w, "null")) return null_deref(0);
  if (!strcmp(w, "leak")) leak();
  if (!strcmp(w, "recurse")) return recurse(0);
  if (!strcmp(w, "overlap")) overlap();
  if (!strcmp(w, "uninit")) return uninit(3 + zero);
  if (!strcmp(w, "wild-write")) wild_write();
  if (!strcmp(w, "huge")) huge();
  return 0;
}
