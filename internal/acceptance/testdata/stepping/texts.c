#include <stdio.h>
#include <wchar.h>
static size_t length(const char *s) {
  const char *p = s;
  while (*p)
    p++;
  return (size_t)(p - s);
}
static char *copy(char *to, const char *from) {
  char *start = to;
  while ((*to++ = *from++))
    ;
  return start;
}
static int compare(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}
static void reverse(char *s, size_t n) {
  for (size_t i = 0, j = n - 1; i < j; i++, j--) {
    char c = s[i];
    s[i] = s[j];
    s[j] = c;
  }
}
static unsigned hash(const char *s) {
  unsigned h = 5381;
  for (; *s; s++) h = h * 33 + (unsigned char)*s;
  return h;
}
int main(void) {
  char text[8] = "";
  copy(text, "gr\xc3\xbc" "n");
  size_t n = length(text);
  int c = compare("abc", "abd");
  reverse(text, 3);
  unsigned h = hash("ab");
  wchar_t wide[4] = L"a\u20ac";
  char letter = 'z', low = '\x07';
  signed char minus = -5;
  unsigned char high = 200;
  int w = (int)wide[1] + letter + low + minus + high;
  printf("%zu %d %u %d\n", n, c, h, w);
  return 0;
}
