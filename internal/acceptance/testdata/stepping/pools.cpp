#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
static std::atomic<bool> stop;
static std::atomic<long> turns;
static std::mutex m;
static int shared;
static int work(int n) {
  int r = n + 1;
  return r;
}
static void adds(int times) {
  for (int i = 0; i < times; i++) {
    m.lock();
    shared += work(i);
    m.unlock();
  }
}
int main() {
  std::thread a([] {
    while (!stop.load())
      turns.fetch_add(1);
  });
  std::thread b(adds, 50);
  int r = work(1);
  m.lock();
  r += work(2);
  m.unlock();
  b.join();
  stop = true;
  a.join();
  std::printf("%d %d\n", r, shared);
  return 0;
}
