#include <stdio.h>
static inline __attribute__((always_inline)) int add(int a, int b) {
  int r = a + b;
  return r * 2;
}
static inline __attribute__((always_inline)) int twice(int a) {
  int once = add(a, 1);
  return add(once, a);
}
__attribute__((noinline)) static int outer(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += twice(i);
    if (sum > 100) break;
  }
  return sum;
}
__attribute__((noinline)) static int tail(int n) {
  return outer(n + 1);
}
volatile int sink;
__attribute__((noinline)) static void store(int v) {
  sink = v;
}
int main(void) {
  int n = outer(3);
  store(n);
  n += tail(n & 1);
  store(n);
  int m = add(n, sink);
  store(m);
  printf("%d\n", m);
  return 0;
}
