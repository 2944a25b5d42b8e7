#include <cstdio>
static int alive, log_at;
static int log_of[16];
static void note(int v) {
  log_of[log_at++] = v;
}
struct Part {
  int id;
  explicit Part(int n) : id(n) {
    alive++;
    if (n == 3)
      throw n;
  }
  ~Part() {
    note(id);
    alive--;
  }
};
struct Whole {
  Part a, b;
  Whole(int x, int y) : a(x), b(y) {
    note(100);
  }
};
struct Swallows {
  ~Swallows() {
    try {
      throw 9;
    } catch (int n) {
      note(n);
    }
  }
};
__attribute__((noinline)) static int builds(int y) {
  try {
    Whole w(1, y);
    return w.b.id;
  } catch (int n) {
    return -n;
  }
}
__attribute__((noinline)) static int array() {
  try {
    Part *p = new Part(3);
    return p->id;
  } catch (...) {
    note(7);
  }
  return 0;
}
__attribute__((noinline)) static void leaves() {
  Swallows s;
  note(50);
}
__attribute__((noinline)) static int checked(int n) {
  if (n > 1)
    throw n;
  return n;
}
static inline int tried(int n) { // catches within main, if inlined
  try {
    return checked(n);
  } catch (int e) {
    if (e > 2)
      throw;
    return -e;
  }
}
int main() {
  int sum = 0;
  for (int i = 1; i < 4; i++) {
    try {
      sum += tried(i);
    } catch (int e) {
      note(e);
    }
  }
  note(sum);
  int a = builds(2);
  int b = builds(3);
  int c = array();
  leaves();
  std::printf("%d %d %d %d %d\n", a, b, c, alive, log_at);
  return 0;
}
