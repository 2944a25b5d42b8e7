#include <cstdio>
#include <initializer_list>
#include <utility>
struct Count {
  int n;
  struct It {
    int at;
    int operator*() const { return at; }
    It &operator++() {
      at++;
      return *this;
    }
    bool operator!=(const It &o) const { return at != o.at; }
  };
  It begin() const { return {0}; }
  It end() const { return {n}; }
};
struct Point {
  int x, y;
};
static int sum(std::initializer_list<int> list) {
  int r = 0;
  for (int n : list)
    r += n;
  return r;
}
static std::pair<int, long> both(int n) {
  return {n, n * 2L};
}
int main() {
  int total = 0;
  for (int i : Count{2})
    total += i;
  Point points[] = {{1, 2}, {3, 4}};
  for (auto &[x, y] : points) {
    x += y;
    total += x;
  }
  for (const auto &p : points) total += p.y;
  total += sum({1, 2, 3});
  auto [a, b] = both(4);
  if (int twice = total * 2; twice > 10)
    total = twice;
  for (char c : "ab")
    total += c;
  std::printf("%d %d %ld\n", total, a, b);
  return 0;
}
