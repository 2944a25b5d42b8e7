#include <cstdio>
#include <type_traits>
template <class... Ts> static int sum(Ts... v) {
  return (v + ...);
}
template <class T, class... Rest> static int count(const T &, const Rest &...rest) {
  if constexpr (sizeof...(rest) > 0)
    return 1 + count(rest...);
  else
    return 1;
}
template <class D> struct Shape {
  int twice() const {
    int a = static_cast<const D *>(this)->area();
    return a * 2;
  }
};
struct Square : Shape<Square> {
  int side = 3;
  int area() const { return side * side; }
};
template <class T, int N> struct Stack {
  T v[N];
  int n = 0;
  void push(const T &x) {
    if (n < N)
      v[n++] = x;
  }
  T pop() { return v[--n]; }
};
template <class T> static T parse(int n) {
  if constexpr (std::is_same_v<T, double>)
    return n / 2.0;
  return T(n);
}
constexpr int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
template <class T> struct Traits { static const char *name() { return "any"; } };
template <> struct Traits<int> {
  static const char *name() {
    return "int";
  }
};
int main() {
  int a = sum(1, 2, 3);
  int b = count(1, 'x', 2.5);
  Square s;
  int c = s.twice();
  Stack<char, 2> st{};
  st.push('a');
  st.push('b');
  st.push('c');
  char top = st.pop();
  double d = parse<double>(5);
  long l = parse<long>(6);
  static_assert(factorial(4) == 24);
  int f = factorial(b);
  std::printf("%d %d %d %c %g %ld %d %s %s\n", a, b, c, top, d, l, f, Traits<int>::name(), Traits<char>::name());
  return 0;
}
