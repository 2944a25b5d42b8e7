#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int words(char *text) {
  int n = 0;
  char *save = NULL;
  for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
    n += (int)strlen(w);
  return n;
}
static char *upper(const char *s) {
  char *copy = strdup(s);
  for (char *p = copy; *p; p++)
    *p = (char)toupper((unsigned char)*p);
  return copy;
}
static long number(const char *s) {
  char *end = NULL;
  errno = 0;
  long v = strtol(s, &end, 0);
  return errno || *end ? -1 : v;
}
int main(int argc, char **argv) {
  char text[] = "ab cde f";
  int n = words(text);
  char *u = upper("xy");
  long a = number("0x10"), b = number("12z");
  double r = sqrt(2.25 * argc) + fabs(-1.5);
  char line[64] = "";
  int len = snprintf(line, sizeof line, "%d %s %ld %ld %.2f", n, u, a, b, r);
  memset(text, 'x', sizeof text - 1);
  puts(line);
  free(u);
  u = NULL;
  return argv[0] && len > 0 && text[0] == 'x' ? 0 : 1;
}
