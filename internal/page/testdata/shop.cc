#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <chrono>
namespace shop {
struct Item { std::string name; int price; };
int tier_for(int points) { return points > 100 ? 2 : points > 10 ? 1 : 0; }
long price(const Item &item, int n) { volatile long sum = 0; for (int i = 0; i < n * 300; i++) sum = sum + item.price; return sum / 300; }
int depth(int n) { if (n == 0) return tier_for(50); return depth(n - 1) + 1; }
long total(const std::vector<Item> &items, int round) { long sum = 0; for (auto &i : items) sum += price(i, 1 + round % 5); return sum + depth(round % 7); }
bool check(int n) { if (n % 50 == 49) throw std::runtime_error("too many"); return n % 3 == 0; }
void work(int id, int rounds) {
  std::vector<Item> items{{"pear", 3}, {"fig", 5}, {"plum", 7}};
  for (int i = 0; i < rounds; i++) {
    total(items, i + id);
    try { check(i); } catch (std::exception &e) { std::fprintf(stderr, "worker %d: %s\n", id, e.what()); }
    if (i % 20 == 0) { std::printf("worker %d at %d\n", id, i); std::fflush(stdout); std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
  }
}
}
int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::stoi(argv[1]) : 200;
  std::vector<std::thread> all;
  for (int i = 0; i < 4; i++) all.emplace_back(shop::work, i, rounds);
  for (auto &t : all) t.join();
  std::puts("done");
}
