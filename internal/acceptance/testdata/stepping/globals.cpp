#include <cstdio>
static int order[8], at;
static int note(int v) {
  order[at++] = v;
  return v;
}
struct Global {
  int v;
  explicit Global(int n) : v(note(n)) {}
  ~Global() { note(-v); }
};
static Global early(1);
namespace shop {
static int price = 20;
static Global &lazy() {
  static Global g(2);
  return g;
}
inline int twice() { return price * 2; }
} // namespace shop
struct Counted {
  static int count;
  int id = ++count;
};
int Counted::count = 10;
thread_local Global mine(3);
static int touch() {
  return mine.v;
}
int main() {
  int a = shop::lazy().v;
  a += shop::lazy().v;
  shop::price += shop::twice();
  Counted c, d;
  int b = touch();
  b += touch();
  Global *heap = new Global(4);
  delete heap;
  heap = nullptr;
  std::printf("%d %d %d %d %d\n", a, b, d.id, at, shop::price + c.id);
  return 0;
}
