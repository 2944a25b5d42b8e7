#include <alloca.h>
#include <stdio.h>
#include <string.h>
struct point { short x, y; };
static int vla(int n) {
  int v[n];
  for (int i = 0; i < n; i++)
    v[i] = i * i;
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += v[i];
  return sum;
}
static int on_stack(int n) {
  char *p = alloca((size_t)n);
  memset(p, 3, (size_t)n);
  return p[0] + p[n - 1];
}
static int matrix(void) {
  int m[2][3] = {{1, 2, 3}, {4, 5, 6}};
  int t[3][2] = {{0}};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      t[j][i] = m[i][j];
  return t[2][0] * 10 + t[0][1];
}
static int points(int n) {
  struct point p[3] = {{1, 2}, {.y = 4}, {5, -6}};
  struct point *q = &p[n % 3];
  unsigned char bytes[4] = {1, 0x80, 0xff, 0};
  double d[2] = {0.5, -2.25};
  q->x += bytes[1];
  return q->x + q->y + (int)d[1];
}
int main(void) {
  int a = vla(3);
  int b = on_stack(16);
  int c = matrix();
  int d = points(2);
  const char *names[] = {"one", "two", NULL};
  int n = 0;
  for (const char **p = names; *p; p++)
    n += (int)strlen(*p);
  printf("%d %d %d %d %d\n", a, b, c, d, n);
  return 0;
}
