#include <cstdio>
struct Money {
  long cents;
  Money(long c = 0) : cents(c) {}
  Money operator+(const Money &o) const {
    return Money(cents + o.cents);
  }
  Money &operator+=(const Money &o) {
    cents += o.cents;
    return *this;
  }
  Money operator-() const { return Money(-cents); }
  bool operator<(const Money &o) const { return cents < o.cents; }
  explicit operator bool() const { return cents != 0; }
  Money &operator++() {
    cents++;
    return *this;
  }
  Money operator++(int) {
    Money old = *this;
    ++*this;
    return old;
  }
  long operator()(int n) const { return cents * n; }
};
static Money operator*(int n, const Money &m) {
  return Money(n * m.cents);
}
struct Row {
  int v[3] = {1, 2, 3};
  int &operator[](int i) {
    return v[i];
  }
  const int *begin() const { return v; }
};
static Money pay(Money m, int times = 2) {
  Money sum;
  for (int i = 0; i < times; i++)
    sum += m;
  return sum;
}
int main() {
  Money a(5), b = 7;
  Money c = a + b + -Money(1);
  c += 3 * a;
  Money d = c++;
  if (d < c)
    ++d;
  if (!d)
    return 1;
  Row r;
  r[1] = 10;
  r[0] += r[1];
  Money p = pay(a) + pay(b, 1);
  std::printf("%ld %ld %ld %d %ld\n", c.cents, d.cents, p.cents, *r.begin(), p(2));
  return 0;
}
