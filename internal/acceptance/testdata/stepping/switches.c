#include <stdio.h>
enum kind { NUMBER, PLUS = 5, MINUS, STAR = 40, END = -1 };
static int falls(int n) {
  int r = 0;
  switch (n) {
  case 1:
    r += 1;
  case 2:
    r += 2;
    break;
  case 3: {
    int twice = n * 2;
    r = twice;
  }
  default:
    r += 100;
  }
  return r;
}
static const char *range(int c) {
  switch (c) {
  case 'a' ... 'f': return "hex";
  case '0' ... '9': return "digit";
  }
  return "other";
}
static int apply(enum kind k, int a, int b) {
  switch (k) {
  case PLUS: return a + b;
  case MINUS: return a - b;
  case STAR:
    switch (b) {
    case 0: return 0;
    default: return a * b;
    }
  case NUMBER:
  case END:
    break;
  }
  return -1;
}
static int duff(const char *from, char *to, int n) {
  int rounds = (n + 3) / 4;
  switch (n % 4) {
  case 0: do { *to++ = *from++;
  case 3:      *to++ = *from++;
  case 2:      *to++ = *from++;
  case 1:      *to++ = *from++;
          } while (--rounds > 0);
  }
  return rounds;
}
int main(void) {
  int a = falls(1) + falls(2);
  a += falls(3);
  const char *s = range('c');
  const char *d = range('7');
  enum kind k = STAR;
  int b = apply(k, 4, 5);
  b += apply(END, 1, 1);
  char text[8] = "";
  int r = duff("strobe", text, 6);
  printf("%d %s %s %d %d %s\n", a, s, d, b, r, text);
  return 0;
}
