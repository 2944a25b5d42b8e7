#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <stdexcept>
static jmp_buf env;
static volatile int handled;
static void on_signal(int) {
  handled = handled + 1;
}
struct Noisy {
  int *n;
  ~Noisy() { ++*n; }
};
static int deep(int n) {
  if (n == 0)
    throw std::runtime_error("deep");
  return deep(n - 1) + 1;
}
static int through(int n, int *count) {
  Noisy a{count};
  return deep(n);
}
static int caught(int n) {
  int count = 0;
  try {
    count += through(n, &count);
    count += 100;
  } catch (const std::exception &e) {
    count += 10;
  }
  return count;
}
static void jump(int n) {
  if (n > 1)
    longjmp(env, n);
}
static int jumped(int n) {
  int back = setjmp(env);
  if (back)
    return back;
  jump(n);
  return 0;
}
int main() {
  int a = caught(2);
  int b = jumped(3);
  int c = jumped(1);
  std::signal(SIGUSR1, on_signal);
  std::raise(SIGUSR1);
  int d = handled;
  std::printf("%d %d %d %d\n", a, b, c, d);
  return 0;
}
