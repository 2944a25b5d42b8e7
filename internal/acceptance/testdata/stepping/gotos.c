#include <stdio.h>
#include <stdlib.h>
static int again(int n) {
  int tries = 0;
again:
  tries++;
  if (n-- > 0)
    goto again;
  return tries;
}
static int cleanup(int fail) {
  int r = -1;
  char *a = malloc(8), *b = NULL;
  if (!a)
    goto out;
  if (fail)
    goto free_a;
  b = malloc(8);
  r = 0;
  free(b);
  b = NULL;
free_a:
  free(a);
  a = NULL;
out:
  return r;
}
static int interpret(const unsigned char *code) {
  static void *const labels[] = {&&halt, &&push, &&add, &&twice};
  int stack[4] = {0}, n = 0;
  const unsigned char *at = code;
#define NEXT goto *labels[*at++]
  NEXT;
push:
  stack[n++] = *at++;
  NEXT;
add:
  n--;
  stack[n - 1] += stack[n];
  NEXT;
twice:
  stack[n - 1] *= 2;
  NEXT;
halt:
  return stack[0];
}
int main(void) {
  static const unsigned char code[] = {1, 3, 1, 4, 2, 3, 0};
  int a = again(2);
  int b = cleanup(1) + cleanup(0);
  int c = interpret(code);
  if (a > 100)
    goto end;
  printf("%d %d %d\n", a, b, c);
end:
  return 0;
}
