// Errors between threads, for ThreadSanitizer.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

int counter;
static void bump() { for (int i = 0; i < 1000; i++) counter++; }
static void race() {
  std::thread a(bump), b(bump);
  a.join();
  b.join();
}
static void heapRace() {
  int *p = new int(1);
  std::thread t([p] { *p = 2; });
  *p = 3;
  t.join();
  delete p;
}
static void order() {
  std::mutex m, n;
  std::thread a([&] { std::lock_guard<std::mutex> x(m); std::lock_guard<std::mutex> y(n); });
  a.join();
  std::thread b([&] { std::lock_guard<std::mutex> x(n); std::lock_guard<std::mutex> y(m); });
  b.join();
}
static void *idle(void *) { return nullptr; }
static void threadLeak() { pthread_t t; pthread_create(&t, nullptr, idle, nullptr); usleep(100000); }
static void useAfterFree() {
  int *volatile p = new int(1);
  std::thread t([p] { delete p; });
  usleep(100000);
  *p = 2;
  t.join();
}
static void unlockTwice() { static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&m); }

int main(int argc, char **argv) {
  const char *w = argc > 1 ? argv[1] : "";
  if (!strcmp(w, "race")) race();
  if (!strcmp(w, "heap-race")) heapRace();
  if (!strcmp(w, "order")) order();
  if (!strcmp(w, "thread-leak")) threadLeak();
  if (!strcmp(w, "use-after-free")) useAfterFree();
  if (!strcmp(w, "unlock-twice")) unlockTwice();
  if (!strcmp(w, "null")) { int *volatile p = nullptr; *p = 1; }
  return 0;
}
