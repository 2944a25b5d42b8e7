#include <stdio.h>
static int outer(int n) {
  int calls = 0;
  int add(int by) {
    calls++;
    return n + by;
  }
  int twice(int by) {
    int r = add(by);
    return add(r);
  }
  int a = add(1);
  int b = twice(2);
  return a * 100 + b * 10 + calls;
}
static int largest(const int *v, int n) {
  int m = v[0];
  for (int i = 1; i < n; i++)
    m = ({ int x = v[i]; x > m ? x : m; });
  return m;
}
static int each(int n, int (*f)(int)) {
  int r = 0;
  for (int i = 0; i < n; i++)
    r += f(i);
  return r;
}
static void leave(int *p) {
  *p += 1;
}
static int left;
static int scoped(int n) {
  __attribute__((cleanup(leave))) int a = n;
  left = a;
  if (n > 1)
    return a * 2;
  return a;
}
int main(void) {
  int v[] = {2, 9, 4};
  int base = 5;
  int plus(int n) { return n + base; }
  int a = outer(1);
  int b = largest(v, 3);
  int c = each(2, plus);
  int d = scoped(1) + scoped(2);
  printf("%d %d %d %d %d\n", a, b, c, d, left);
  return 0;
}
