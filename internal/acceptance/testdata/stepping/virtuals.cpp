#include <cstdio>
struct Animal {
  int legs = 4;
  virtual ~Animal() = default;
  virtual int sound() const { return 1; }
  int walk() const { return legs; }
};
struct Flyer {
  int wings = 2;
  virtual ~Flyer() = default;
  virtual int fly() = 0;
};
struct Bat : Animal, Flyer {
  int sound() const override { return 7; }
  int fly() override {
    int r = wings * legs;
    return r;
  }
};
struct Device {
  int id = 1;
  virtual int power() { return id; }
  virtual ~Device() = default;
};
struct Printer : virtual Device {
  int pages = 2;
  int power() override { return pages + id; }
};
struct Scanner : virtual Device {
  int dots = 3;
};
struct Copier : Printer, Scanner {
  int power() override {
    return Printer::power() + dots;
  }
};
__attribute__((noinline)) static int ask(const Animal &a) {
  return a.sound() + a.walk();
}
__attribute__((noinline)) static int lift(Flyer *f) {
  int n = f->fly();
  return n + 1;
}
__attribute__((noinline)) static int use(Device &d) {
  return d.power();
}
__attribute__((noinline)) static int cast(Animal *a) {
  Flyer *f = dynamic_cast<Flyer *>(a);
  return f ? f->wings : 0;
}
int main() {
  Animal plain;
  Bat bat;
  Copier copier;
  int a = ask(plain) + ask(bat);
  int b = lift(&bat);
  int c = use(copier);
  int d = cast(&bat) + cast(&plain);
  int (Animal::*m)() const = &Animal::sound;
  int e = (bat.*m)();
  std::printf("%d %d %d %d %d\n", a, b, c, d, e);
  return 0;
}
