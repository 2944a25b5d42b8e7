#include <cstdio>
#include <new>
struct Item {
  int v;
  Item() : v(1) {}
  Item(int n) : v(n) {}
  Item(const Item &o) : v(o.v + 10) {}
  Item &operator=(const Item &o) {
    v = o.v;
    return *this;
  }
  ~Item() { v = -1; }
};
struct Pair {
  Item a, b;
  Pair(int x) : Pair(x, x + 1) {}
  Pair(int x, int y) : a(x), b(y) {}
};
struct Leaf {
  int base;
  explicit Leaf(int n) : base(n) {}
  int get() const { return base; }
};
struct Branch : Leaf {
  explicit Branch(int n) : Leaf(n) {}
  int extra = 5;
  int both() const { return get() + extra; }
};
static int by_value(Item i) {
  return i.v;
}
static int by_reference(const Item &i) {
  return i.v;
}
static Item temporary(int n) {
  return Item(n);
}
int main() {
  Item *many = new Item[2];
  many[1] = Item(4);
  int a = many[0].v + many[1].v;
  delete[] many;
  many = nullptr;
  alignas(Item) unsigned char room[sizeof(Item)] = {0};
  Item *placed = new (room) Item(6);
  int b = by_value(*placed) + by_reference(*placed);
  placed->~Item();
  Pair p(2);
  Branch r(3);
  int c = temporary(7).v + p.b.v + r.both();
  std::printf("%d %d %d\n", a, b, c);
  return 0;
}
