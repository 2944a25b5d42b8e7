// Variables of C for the symbol tests; the file is compiled twice, as two units.
#include <stdio.h>
#include <stdint.h>

typedef uint8_t byte_t;
struct node {
  struct node *next;
  unsigned long id;
};
extern FILE *stderr;
#ifdef OTHER
static int shared_name = 20;
int owned = 5;
struct only_other {
  short s;
} only = {3};
static _Thread_local int per_thread_other = 6;
int other(void) {
  static int calls = 0;
  return shared_name++ + ++calls + ++per_thread_other + only.s;
}
#else
extern int owned;
extern int no_debug_info;
static int shared_name = 10;
static volatile const int constant = 77;
struct node head = {0, 3};
byte_t bytes[10];
unsigned long long big = 1ULL << 40;
long double wide = 1.5L;
_Thread_local int per_thread = 1;
static _Thread_local int per_thread_static = 2;
int other(void);
int main(void) {
  static int calls = 100;
  extern int owned;
  shared_name += other();
  calls += owned + no_debug_info;
  per_thread += per_thread_static++;
  fprintf(stderr, "%d\n", shared_name + calls + per_thread + constant + (int)head.id + bytes[1] + (int)big + (int)wide);
  return 0;
}
#endif
