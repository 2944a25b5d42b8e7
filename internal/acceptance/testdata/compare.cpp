// What comparisons are made of. Each way of running it does the same but for one thing, which its second argument decides.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#define KEEP __attribute__((noinline))

struct Item { std::string name; int price; };
struct Node { Node *next; void *owner; int value; };

static int rate = 7, leaves;
static bool odd;

namespace shop {
KEEP int taxed(int price) { return price * rate; }
KEEP int price_of(const Item &item) { return taxed(item.price); }
KEEP int total(const std::vector<Item> &items) {
  int sum = 0;
  for (const Item &i : items) sum += price_of(i);
  return sum;
}
KEEP void set_rate(int) {}
KEEP bool valid(int n) { return n >= 0; }
KEEP void store(int n) { asm volatile("" : : "r"(n)); }
KEEP int save(int n) {
  if (!valid(n)) return -1;
  if (odd && n == 3) return 0;
  store(n);
  return 1;
}
KEEP int fib(int n) { return n < 2 ? n + (odd && ++leaves == 40) : fib(n - 1) + fib(n - 2); }
KEEP int step(int i) { return i ^ 1; }
KEEP int parse(const char *text) {
  if (odd && text[0] == 'f') throw std::runtime_error(std::string("cannot read ") + text);
  return int(strlen(text));
}
KEEP int read_all(const char *text) {
  try {
    return parse(text);
  } catch (const std::exception &) {
    return -1;
  }
}
KEEP void *keep(Node *n, void *p, uint64_t self, int pid) { n->owner = p; return n; (void)self; (void)pid; }
KEEP void name_file(const char *path) { asm volatile("" : : "r"(path)); }
KEEP int handle(int n) { return n + 1; }
KEEP void show(const std::string &text, int *array) { asm volatile("" : : "r"(&text), "r"(array)); }
struct Wide { char text[700]; int numbers[90]; };
KEEP int wide(const Wide &w) { return w.numbers[80]; }
static std::atomic<int> next_task;
KEEP void serve() {
  for (int n; (n = next_task++) < 400;) {
    handle(odd && n == 321 ? -1 : n);
    if (n % 8 == 0) usleep(unsigned(rand() % 300));
  }
}
} // namespace shop

static void *pool(void *) { shop::serve(); return nullptr; }

static void *work(void *arg) {
  for (int i = 0; i < 200; i++) {
    int n = i;
    if (odd && i == 150 && arg) n = 1000;
    shop::handle(n);
    if (i % 16 == 0) usleep(rand() % 300);
  }
  return nullptr;
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  odd = argc > 2 && !strcmp(argv[2], "odd");
  if (what == "argument") {
    std::vector<Item> items;
    for (int i = 0; i < 30; i++) items.push_back({"item " + std::to_string(i), odd && i == 23 ? 12 : 10});
    shop::total(items);
  } else if (what == "state") {
    if (odd) rate = 8;
    shop::set_rate(1);
    shop::total({{"one", 5}, {"two", 6}});
  } else if (what == "missing") {
    for (int i = 0; i < 5; i++) shop::save(i);
  } else if (what == "recursion") {
    shop::fib(12);
  } else if (what == "threads") {
    srand(unsigned(getpid()));
    pthread_t a, b;
    pthread_create(&a, nullptr, work, nullptr);
    pthread_create(&b, nullptr, work, &a);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
  } else if (what == "pool") {
    srand(unsigned(getpid()));
    pthread_t all[4];
    for (pthread_t &t : all) pthread_create(&t, nullptr, pool, nullptr);
    for (pthread_t t : all) pthread_join(t, nullptr);
  } else if (what == "many") {
    for (int i = 0; i < 100000; i++) shop::step(odd && i == 99990 ? 5 : i);
  } else if (what == "pointers") {
    char path[] = "/tmp/strobe-compare-XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) { unlink(path); close(fd); }
    shop::name_file(path);
    for (int i = 0; i < 20; i++) {
      free(malloc(16 + size_t(getpid()) % 64 * 16));
      Node *n = new Node{nullptr, nullptr, i};
      shop::keep(n, malloc(100), uint64_t(pthread_self()), int(getpid()));
      shop::keep(n, n, uint64_t(time(nullptr)), int(getpid()));
    }
  } else if (what == "exception") {
    shop::read_all("three");
    shop::read_all("four");
  } else if (what == "wide") {
    shop::Wide w;
    memset(&w, 0, sizeof w);
    memset(w.text, 'x', sizeof w.text - 1);
    for (int i = 0; i < 90; i++) w.numbers[i] = i * 1000003;
    if (odd) w.text[600] = 'y', w.numbers[77] = 1;
    shop::wide(w);
  }
  puts("done");
}
