#include <stdarg.h>
#include <stdio.h>
static int sum(int n, ...) {
  int total = 0;
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < n; i++)
    total += va_arg(ap, int);
  va_end(ap);
  return total;
}
static double mixed(const char *kinds, ...) {
  double total = 0;
  va_list ap;
  va_start(ap, kinds);
  for (const char *k = kinds; *k; k++) {
    switch (*k) {
    case 'i':
      total += va_arg(ap, int);
      break;
    case 'd':
      total += va_arg(ap, double);
      break;
    case 's':
      total += va_arg(ap, const char *)[0];
      break;
    }
  }
  va_end(ap);
  return total;
}
static int format(char *to, size_t size, const char *how, ...) {
  va_list ap;
  va_start(ap, how);
  int n = vsnprintf(to, size, how, ap);
  va_end(ap);
  return n;
}
int main(void) {
  int a = sum(3, 10, 20, 30);
  double d = mixed("ids", 1, 2.5, "A");
  char line[32] = "";
  int n = format(line, sizeof line, "%d-%s-%g", a, "x", d);
  printf("%s %d\n", line, n);
  return 0;
}
