#include <stdio.h>
volatile int sink;
__attribute__((noinline)) static int last(int a, int b) {
  sink = a;
  return a - b;
}
__attribute__((noinline)) static int middle(int a, int b) {
  sink = b;
  return last(b, a);
}
__attribute__((noinline)) static int first(int n) {
  sink = n;
  return middle(n, n * 2);
}
__attribute__((noinline)) static int sum(int n, int acc) {
  if (n == 0)
    return acc;
  return sum(n - 1, acc + n);
}
__attribute__((noinline)) static void quiet(int n) {
  if (n > 0)
    last(n, 1);
}
__attribute__((noinline)) static int choose(int (*f)(int, int), int n) {
  sink = n;
  return f(n, 3);
}
int main(void) {
  int a = first(4);
  int b = sum(3, 0);
  quiet(2);
  int c = choose(last, 9);
  c += choose(middle, a);
  printf("%d %d %d\n", a, b, c);
  return 0;
}
