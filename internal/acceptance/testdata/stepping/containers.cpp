#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Order {
  int id;
  std::string who;
  std::vector<int> cents;
};
static int total(const Order &o) {
  int sum = 0;
  for (int c : o.cents)
    sum += c;
  return sum;
}
static std::string label(const Order &o, int sum) {
  std::string text = o.who;
  text += ": " + std::to_string(sum);
  return text;
}
int main() {
  std::vector<Order> orders;
  orders.push_back({1, "Hanna", {120, 80}});
  orders.push_back({2, "a name that is too long to be kept within", {5}});
  std::map<std::string, int> by;
  for (const Order &o : orders) {
    int sum = total(o);
    by[label(o, sum)] = sum;
  }
  int most = 0;
  for (const auto &[name, sum] : by)
    if (sum > most)
      most = sum;
  std::printf("%d %zu\n", most, by.size());
  return 0;
}
