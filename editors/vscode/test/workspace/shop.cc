#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace shop {

struct Item {
  std::string name;
  int price;
  int count;
};

int tier_for(int points) {
  if (points < 0) throw std::out_of_range("points below zero");
  return points >= 1000 ? 2 : points >= 100 ? 1 : 0;
}

int total(const std::vector<Item>& items) {
  int sum = 0;
  for (const Item& item : items) {
    sum += item.price * item.count;
  }
  return sum;
}

}  // namespace shop

int main() {
  std::vector<shop::Item> items = {{"café", 250, 2}, {"tea", 180, 1}, {"cake", 420, 3}};
  int points = 0;
  for (int day = 0; day < 5; ++day) {
    points += shop::total(items) / 10;
    std::printf("day %d: %d points, tier %d\n", day, points, shop::tier_for(points));
  }
  try {
    shop::tier_for(-126);
  } catch (const std::out_of_range& e) {
    std::printf("caught %s\n", e.what());
  }
  return 0;
}
