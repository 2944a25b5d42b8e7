#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() {}
  virtual int area() const = 0;
  virtual const char *name() const { return "shape"; }
};
struct Square : Shape {
  int side;
  explicit Square(int s) : side(s) {}
  int area() const override {
    return side * side;
  }
};
struct Tagged { virtual int tag() { return 1; } virtual ~Tagged() {} };
struct Box : Tagged, Shape {
  int w = 2, h = 3;
  int area() const override {
    int a = w * h;
    return a;
  }
  const char *name() const override { return "box"; }
  int tag() override { return 2; }
};
static int apply(int (*f)(int), int n) {
  return f(n);
}
static int negate(int n) {
  return -n;
}
struct Guard {
  int *at;
  explicit Guard(int *p) : at(p) { ++*at; }
  ~Guard() { --*at; }
};
static int guarded(int n) {
  int level = 0;
  {
    Guard g(&level);
    if (n > 2)
      return level + 10;
  }
  return level;
}
int main() {
  Square s(4);
  Box b;
  const Shape *all[] = {&s, &b};
  int total = 0;
  for (const Shape *p : all)
    total += p->area();
  Tagged *t = &b;
  total += t->tag();
  total += apply(negate, total);
  auto half = [&](int n) {
    return n / 2;
  };
  total += half(30);
  total += guarded(1) + guarded(3);
  std::printf("%d %s\n", total, all[1]->name());
  return 0;
}
