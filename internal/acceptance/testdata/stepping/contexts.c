#include <stdio.h>
#include <ucontext.h>
static ucontext_t home, other;
static char stack[64 << 10];
static int values[4], count;
static void give(int v) {
  values[count++] = v;
  swapcontext(&other, &home);
}
static void generate(void) {
  for (int i = 0; i < 2; i++)
    give(i * 10);
  count = 100;
}
int main(void) {
  int got = 0;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = sizeof stack;
  other.uc_link = &home;
  makecontext(&other, generate, 0);
  while (count < 100) {
    swapcontext(&home, &other);
    got++;
  }
  printf("%d %d\n", got, values[1]);
  return 0;
}
