// Shortest ways through a small road map, kept in containers of boost and abseil.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <boost/circular_buffer.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/optional.hpp>
#include <boost/variant.hpp>

namespace roads {

struct Road { int to; double km; };
struct Closed { std::string why; };
using Surface = boost::variant<int, std::string, Closed>;
struct Town { std::string name; absl::InlinedVector<Road, 4> roads; boost::optional<int> people; Surface surface; };

class Map {
 public:
  int Add(absl::string_view name, boost::optional<int> people, Surface surface) {
    auto [at, fresh] = index_.try_emplace(std::string(name), (int)towns_.size());
    if (fresh) towns_.push_back(Town{std::string(name), {}, people, surface});
    return at->second;
  }
  absl::Status Connect(absl::string_view line) {
    std::vector<std::string> part = absl::StrSplit(line, ' ');
    if (part.size() != 3) return absl::InvalidArgumentError(absl::StrCat("no road: ", line));
    auto a = index_.find(part[0]), b = index_.find(part[1]);
    if (a == index_.end() || b == index_.end()) return absl::NotFoundError(part[a == index_.end() ? 0 : 1]);
    double km = std::stod(part[2]);
    towns_[a->second].roads.push_back({b->second, km});
    towns_[b->second].roads.push_back({a->second, km});
    return absl::OkStatus();
  }
  absl::StatusOr<double> Way(absl::string_view from, absl::string_view to, boost::container::small_vector<int, 8>& path) const {
    auto a = index_.find(from), b = index_.find(to);
    if (a == index_.end()) return absl::NotFoundError(from);
    if (b == index_.end()) return absl::NotFoundError(to);
    boost::container::flat_map<int, double> far;
    std::vector<int> before(towns_.size(), -1);
    std::vector<bool> done(towns_.size());
    far[a->second] = 0;
    for (;;) {
      int best = Nearest(far, done);
      if (best < 0) return absl::UnavailableError("no way");
      if (best == b->second) break;
      done[best] = true;
      for (const Road& r : towns_[best].roads) Relax(far, before, best, r);
    }
    for (int at = b->second; at >= 0; at = before[at]) path.push_back(at);
    std::reverse(path.begin(), path.end());
    return far[b->second];
  }
  const Town& At(int i) const { return towns_[i]; }

 private:
  static int Nearest(const boost::container::flat_map<int, double>& far, const std::vector<bool>& done) {
    int best = -1;
    for (auto& f : far)
      if (!done[f.first] && (best < 0 || f.second < far.at(best))) best = f.first;
    return best;
  }
  void Relax(boost::container::flat_map<int, double>& far, std::vector<int>& before, int at, const Road& r) const {
    if (boost::get<Closed>(&towns_[r.to].surface)) return;
    double km = far[at] + r.km;
    auto known = far.find(r.to);
    if (known != far.end() && known->second <= km) return;
    far[r.to] = km;
    before[r.to] = at;
  }
  absl::flat_hash_map<std::string, int> index_;
  std::vector<Town> towns_;
};

}  // namespace roads

int main() {
  roads::Map m;
  boost::circular_buffer<std::string> last(3);
  m.Add("Aue", 12000, 7); m.Add("Bern", boost::none, std::string("tar")); m.Add("Cham", 4000, 1);
  m.Add("Dorf", 300, roads::Closed{"flood"}); m.Add("Egg", boost::none, 3);
  for (const char* line : {"Aue Bern 12.5", "Bern Cham 3", "Aue Cham 20", "Cham Dorf 1", "Dorf Egg 1", "Cham Egg 30", "Egg", "Aue Zug 1"}) {
    absl::Status s = m.Connect(line);
    last.push_back(line);
    if (!s.ok()) std::printf("%s\n", s.ToString().c_str());
  }
  for (auto [from, to] : {std::pair{"Aue", "Egg"}, {"Bern", "Dorf"}, {"Egg", "Aue"}, {"Aue", "Ulm"}}) {
    boost::container::small_vector<int, 8> path;
    absl::StatusOr<double> km = m.Way(from, to, path);
    if (!km.ok()) { std::printf("%s to %s: %s\n", from, to, std::string(km.status().message()).c_str()); continue; }
    std::printf("%s to %s: %g km by %s\n", from, to, *km,
                absl::StrJoin(path, ", ", [&](std::string* o, int i) { absl::StrAppend(o, m.At(i).name); }).c_str());
  }
  std::printf("%s\n", absl::StrJoin(last, "; ").c_str());
  return 0;
}
