#include <stdio.h>
static int counter = 3;
static const int limit = 5;
static _Thread_local int mine = 7;
int shared_value;
static int next(void) {
  static int calls;
  static const char *const names[] = {"a", "b"};
  calls++;
  shared_value += names[calls & 1][0];
  return calls;
}
static int shadow(int n) {
  int r = n;
  {
    int n = r * 2;
    {
      int r = n + 1;
      n = r;
    }
    r = n;
  }
  return r + n;
}
static int local(void) {
  mine++;
  int before = mine;
  mine *= 2;
  return before + mine;
}
int main(void) {
  int a = next();
  a += next();
  int b = shadow(2);
  int c = local();
  while (counter < limit)
    counter++;
  volatile int v = counter;
  v = v + 1;
  printf("%d %d %d %d %d\n", a, b, c, v, shared_value);
  return 0;
}
