#include <coroutine>
#include <cstdio>
struct Numbers {
  struct promise_type {
    int now = 0;
    Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) {
      now = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> h;
};
static Numbers upto(int n) {
  for (int i = 0; i < n; i++)
    co_yield i * 2;
}
int main() {
  Numbers g = upto(2);
  int sum = 0;
  g.h.resume();
  sum += g.h.promise().now;
  g.h.resume();
  sum += g.h.promise().now;
  g.h.resume();
  bool done = g.h.done();
  g.h.destroy();
  std::printf("%d %d\n", sum, done);
  return 0;
}
