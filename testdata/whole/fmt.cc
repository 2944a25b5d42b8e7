// A report by {fmt}: numbers, texts, ranges, a type of its own, errors.
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/color.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

struct Place { std::string name; double north, east; };
template <> struct fmt::formatter<Place> : fmt::formatter<std::string> {
  template <typename C> auto format(const Place& p, C& c) const {
    return formatter<std::string>::format(fmt::format("{}@{:.2f},{:.2f}", p.name, p.north, p.east), c);
  }
};

int main() {
  std::map<std::string, std::vector<int>> m{{"a", {1, 2}}, {"b", {}}};
  fmt::print("{:>8}|{:<8}|{:^8}|{:08.3f}|{:#x}|{:+d}\n", "right", "left", "mid", 3.14159, 255, 7);
  fmt::print("{} {}\n", m, fmt::join(std::vector<double>{1.5, 2, 1e300}, "; "));
  fmt::print("{:*^30}\n", Place{"Bern", 46.948, 7.4474});
  fmt::print("{:%H:%M:%S} {}\n", std::chrono::seconds(3661), std::chrono::milliseconds(42));
  try {
    fmt::print(fmt::runtime("{:d}\n"), "text");
  } catch (const fmt::format_error& e) {
    fmt::print("refused: {}\n", e.what());
  }
  fmt::print(fmt::fg(fmt::color::red), "{:e} {}\n", 12345.678, fmt::format(FMT_COMPILE("{}"), 42));
  return 0;
}
