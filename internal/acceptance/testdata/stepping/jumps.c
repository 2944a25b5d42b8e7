#include <setjmp.h>
#include <stdio.h>
static jmp_buf outer;
static volatile int reached;
__attribute__((noinline)) static void deep(int n) {
  reached = n;
  if (n == 0)
    longjmp(outer, 7);
  deep(n - 1);
  reached = -1;
}
__attribute__((noinline)) static int guarded(int n) {
  volatile int before = n;
  int code = setjmp(outer);
  if (code == 0) {
    deep(before);
    return -1;
  }
  return code + before;
}
__attribute__((noinline)) static int retries(void) {
  jmp_buf here;
  volatile int tries = 0;
  setjmp(here);
  tries++;
  if (tries < 3)
    longjmp(here, 1);
  return tries;
}
int main(void) {
  int a = guarded(2);
  int b = retries();
  printf("%d %d %d\n", a, b, reached);
  return 0;
}
