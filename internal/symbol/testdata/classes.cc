// Classes with virtual functions, and what derives from them.
struct Base {
  int b = 1;
  virtual ~Base() {}
  virtual int f() { return b; }
};
namespace {
struct Hidden : Base {
  int f() override { return 7; }
};
}
namespace ns {
struct Other {
  virtual ~Other() {}
};
struct Two : Base, Other {
  int f() override { return 9; }
};
}
struct Left : virtual Base {
  int l = 2;
};
struct Right : virtual Base {
  int r = 3;
};
struct Diamond : Left, Right {
  int d = 4;
};
template <class T, int N>
struct Row : Base {
  T v[N];
};
struct Plain {
  int x = 5;
};
struct Last : Plain, ns::Two {
  int z = 6;
};

__attribute__((noinline)) int call(Base* b, ns::Other* o) {
  asm volatile("" : "+r"(b), "+r"(o) : : "memory");
  return b->f() + (o != nullptr);
}

int main() {
  Hidden hidden;
  ns::Two two;
  Left left;
  Right right;
  Diamond diamond;
  Row<unsigned, 3> row;
  Last last;
  return call(&hidden, &two) + call(&left, &last) + call(&right, &two) + call(&diamond, &last) + call(&row, &last) + call(&last, &last);
}
