#include <stdio.h>
static int skips(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (i == 1)
      continue;
    if (i == 4)
      break;
    sum += i;
  }
  return sum;
}
static int downs(int n) {
  int steps = 0;
  do {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  } while (n != 1 && steps < 5);
  return steps;
}
static int table(int rows, int cols) {
  int sum = 0;
  for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) sum += i * j;
  return sum;
}
static int nested(void) {
  int found = 0;
  for (int i = 1; i < 3; i++) {
    int j = i;
    while (j--)
      if ((i + j) % 2)
        found++;
      else
        found += 10;
  }
  return found;
}
static int forever(void) {
  int n = 0;
  for (;;) {
    if (++n > 2)
      return n;
  }
}
int main(void) {
  int a = skips(6);
  int b = downs(6);
  int c = table(2, 3);
  int d = nested();
  int e = forever();
  for (a = 0; a < 2; a++)
    ;
  printf("%d %d %d %d %d\n", a, b, c, d, e);
  return 0;
}
