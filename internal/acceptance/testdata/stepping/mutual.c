#include <stdio.h>
struct pair { int a, b; };
static int odd(int n);
__attribute__((noinline)) static int even(int n) {
  if (n == 0)
    return 1;
  return odd(n - 1);
}
__attribute__((noinline)) static int odd(int n) {
  if (n == 0)
    return 0;
  return even(n - 1);
}
__attribute__((noinline)) static int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__attribute__((noinline)) static struct pair swap(struct pair p, int times) {
  struct pair q = {p.b, p.a};
  if (times > 0)
    return swap(q, times - 1);
  return q;
}
static int hanoi(int n, int from, int to) {
  if (n == 0) return 0;
  int by = 6 - from - to;
  int moves = hanoi(n - 1, from, by);
  moves += 1;
  return moves + hanoi(n - 1, by, to);
}
int main(void) {
  int e = even(3);
  int a = ackermann(1, 1);
  struct pair p = swap((struct pair){1, 2}, 2);
  int h = hanoi(2, 1, 3);
  printf("%d %d %d %d %d\n", e, a, p.a, p.b, h);
  return 0;
}
