#include <cstdio>
#include <utility>
static int depth;
struct Lock {
  int *n;
  explicit Lock(int *p) : n(p) { ++*n; }
  Lock(Lock &&o) noexcept : n(std::exchange(o.n, nullptr)) {}
  Lock(const Lock &) = delete;
  ~Lock() {
    if (n)
      --*n;
  }
};
static int scopes(int n) {
  Lock outer(&depth);
  for (int i = 0; i < n; i++) {
    Lock inner(&depth);
    if (i == 1)
      return depth;
  }
  return -depth;
}
static Lock make() {
  Lock l(&depth);
  return l;
}
static int moved() {
  Lock a = make();
  Lock b(std::move(a));
  return depth + (a.n ? 10 : 0);
}
struct Base {
  virtual ~Base() { depth += 100; }
};
struct Derived : Base {
  int v = 3;
  ~Derived() override { depth += v; }
};
struct Owner {
  Base *p;
  void reset() {
    delete p;
    p = nullptr;
  }
  ~Owner() { reset(); }
};
static int owned() {
  Owner p{new Derived};
  p.reset();
  return depth;
}
int main() {
  int a = scopes(1);
  int b = scopes(3);
  int c = moved();
  int d = owned();
  std::printf("%d %d %d %d\n", a, b, c, d);
  return 0;
}
