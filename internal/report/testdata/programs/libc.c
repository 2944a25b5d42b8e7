// What glibc writes before it aborts.
#include <assert.h>
#include <error.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero;
__attribute__((noinline)) static void smash(int n) { char b[8]; memset(b, 'x', n); __asm__ volatile("" : : "r"(b) : "memory"); }
__attribute__((noinline)) static void fortify(const char *s) { char b[4]; strcpy(b, s); puts(b); }
static char *volatile a, *volatile b, *volatile c;
static void corruptTop(void) { a = malloc(24); memset(a + 24, 0x41, 16); b = malloc(5000); }
static void invalidSize(void) { a = malloc(24); b = malloc(24); memset(a + 24, 0xff, 8); free(b); }
static void doubleFree(void) { a = malloc(24); free(a); free(a); }
static void doubleFreeBig(void) { a = malloc(5000); b = malloc(24); free(a); free(a); }
static void invalidPointer(void) { a = malloc(24); free(a + 8); }
static void unlinkCorrupt(void) {
  a = malloc(2000); b = malloc(2000); c = malloc(24);
  free(a);
  *(long *)a = 0x41414141;
  *((long *)a + 1) = 0x41414141;
  b = malloc(2000);
}
static void realloced(void) { a = malloc(24); a = realloc(a + 8, 50); }

int main(int argc, char **argv) {
  const char *w = argc > 1 ? argv[1] : "";
  if (!strcmp(w, "assert")) assert(zero == 1 && "zero is one");
  if (!strcmp(w, "assert-perror")) { extern void __assert_perror_fail(int, const char *, unsigned, const char *); __assert_perror_fail(2, __FILE__, __LINE__, __func__); }
  if (!strcmp(w, "smash")) smash(40 + zero);
  if (!strcmp(w, "fortify")) fortify("longer than four");
  if (!strcmp(w, "percent-n")) { char f[] = "%n"; int x; printf(f, &x); }
  if (!strcmp(w, "top")) corruptTop();
  if (!strcmp(w, "size")) invalidSize();
  if (!strcmp(w, "double-free")) doubleFree();
  if (!strcmp(w, "double-free-big")) doubleFreeBig();
  if (!strcmp(w, "invalid-pointer")) invalidPointer();
  if (!strcmp(w, "unlink")) unlinkCorrupt();
  if (!strcmp(w, "realloc")) realloced();
  if (!strcmp(w, "abort")) abort();
  return 0;
}
