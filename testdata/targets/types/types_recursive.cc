// Types that contain themselves: through a container, over other types, and over templates.
#include "show.h"

using namespace std::literals;
using std::string;
using std::vector;

struct Tree {
  int n;
  vector<Tree> kids;
};
template <> struct Show<Tree> {
  static string of(const Tree& t) { return "{\"n\":" + show(t.n) + ",\"kids\":" + show(t.kids) + "}"; }
};
struct Names {
  string text;
  std::map<string, Names> kids;
};
template <> struct Show<Names> {
  static string of(const Names& t) { return "{\"text\":" + show(t.text) + ",\"kids\":" + show(t.kids) + "}"; }
};
struct Chain {
  int n;
  std::list<Chain> kids;
  std::unique_ptr<Chain> next;
};
template <> struct Show<Chain> {
  static string of(const Chain& t) {
    return "{\"n\":" + show(t.n) + ",\"kids\":" + show(t.kids) + ",\"next\":" + show(t.next) + "}";
  }
};
struct Json {
  std::variant<std::nullptr_t, bool, double, string, vector<Json>, std::map<string, Json>> v;
};
template <> struct Show<std::nullptr_t> {
  static string of(std::nullptr_t) { return "null"; }
};
template <> struct Show<Json> {
  static string of(const Json& j) { return "{\"v\":" + show(j.v) + "}"; }
};
struct Even;
struct Odd {
  int n;
  vector<Even> evens;
};
struct Even {
  string s;
  std::shared_ptr<Odd> odd;
  vector<std::pair<int, vector<Odd>>> odds;
};
template <> struct Show<Odd> {
  static string of(const Odd& t) { return "{\"n\":" + show(t.n) + ",\"evens\":" + show(t.evens) + "}"; }
};
template <> struct Show<Even> {
  static string of(const Even& t) {
    return "{\"s\":" + show(t.s) + ",\"odd\":" + show(t.odd) + ",\"odds\":" + show(t.odds) + "}";
  }
};
template <class T> struct Rose {
  T at;
  vector<Rose<T>> kids;
};
template <class T> struct Show<Rose<T>> {
  static string of(const Rose<T>& t) { return "{\"at\":" + show(t.at) + ",\"kids\":" + show(t.kids) + "}"; }
};

CASE(tree, (T_tree{1, {{2, {}}, {3, {{4, {}}}}}}), Tree)
CASE(names, (T_names{"a", {{"b", {"c", {{"d", {}}}}}, {"e", {}}}}), Names)
Chain chain() {
  Chain c{1, {}, std::make_unique<Chain>()};
  c.kids.emplace_back().n = 5;
  c.next->n = 6;
  c.next->kids.emplace_back().n = 7;
  return c;
}
CASE(chain, chain(), Chain)
CASE(json, (Json{vector<Json>{{true}, {"x"s}, {std::map<string, Json>{{"k", {1.5}}, {"n", {nullptr}}}}}}), Json)
CASE(odd, (Odd{1, {{"a", std::make_shared<Odd>(Odd{2, {}}), {{3, {{4, {}}}}}}, {"b", {}, {}}}}), Odd)
CASE(rose, (Rose<Tree>{{1, {{2, {}}}}, {{{3, {}}, {}}}}), Rose<Tree>)
CASE(rose_rose, (Rose<Rose<int>>{{1, {{2, {}}}}, {{{3, {}}, {}}}}), Rose<Rose<int>>)
CASE(trees, (vector<Tree>{{1, {{2, {}}}}, {3, {}}}), vector<Tree>)

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(tree)
  RUN(names)
  RUN(chain)
  RUN(json)
  RUN(odd)
  RUN(rose)
  RUN(rose_rose)
  RUN(trees)
  return end();
}
