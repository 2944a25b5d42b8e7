// Classes behind pointers to their bases: hidden ones, instances of templates, virtual bases, objects that lead back to themselves,
// and memory that is no object at all.
#include "show.h"

using std::string;

struct Base {
  int b = 1;
  string name = "base";
  virtual ~Base() = default;
  virtual int number() const { return b; }
};
namespace {
struct Hidden : Base {
  Base* self = this;
  int number() const override { return 7; }
};
}
template <class T, int N>
struct Row : Base {
  T v[N] = {N};
  int number() const override { return N; }
};
struct Other {
  const char* o = "other";
  virtual ~Other() = default;
};
struct Two : Base, Other {
  Other* back = this;
  Base* forth = this;
  int type = 9;
  std::vector<int> list{1, 2};
};
struct Last : Two {
  Two* next = nullptr;
};
struct Left : virtual Base {
  int l = 2;
};
struct Right : virtual Base {
  int r = 3;
};
struct Diamond : Left, Right {
  int d = 4;
  Left* left = this;
};
struct Plain {
  int x = 5;
};
struct Late : Plain { // the base's objects have no virtual pointer
  int y = 6;
  virtual ~Late() = default;
};

ALONE void take_base(const Base* v) { KEEP(v); }
ALONE void take_other(const Other& v) { KEEP(&v); }
ALONE void take_left(const Left* v) { KEEP(v); }
ALONE void take_plain(const Plain* v) { KEEP(v); }
ALONE void take_both(const Other* part, const Base* v) { KEEP(part); KEEP(v); }
ALONE void take_list(const std::vector<int>& part, const Two* v) { KEEP(&part); KEEP(v); }
ALONE Base* make_base(Base* v) {
  KEEP(v);
  return v;
}

void hidden() {
  Hidden h;
  string text = "{\"$type\":\"(anonymous namespace)::Hidden\",\"b\":1,\"name\":\"base\"}";
  expect("take_base", "v", text, "has");
  also("\"self\":\"<circular ref to 0x");
  take_base(&h);
  expect("make_base", "v", text, "has");
  make_base(&h);
  expect("make_base", "return", text, "has");
  make_base(&h);
  Row<int, 3> row;
  expect("take_base", "v", "{\"b\":1,\"name\":\"base\",\"v\":[3,0,0]}", "has");
  also("Row<int, 3>");
  take_base(&row);
}

void several() {
  Last last;
  last.next = &last;
  string text = "{\"$type\":\"Last\",\"b\":1,\"name\":\"base\",\"o\":\"other\",\"type\":9,\"list\":[1,2]}";
  expect("take_base", "v", text, "has");
  also("\"back\":\"<circular ref to 0x");
  also("\"forth\":\"<circular ref to 0x");
  also("\"next\":\"<circular ref to 0x");
  take_base(&last);
  expect("take_other", "v", text, "has");
  take_other(last);
  expect("take_both", "part", text, "has");
  take_both(&last, &last);
  expect("take_both", "v", text, "has");
  take_both(&last, &last);
  Two two; // its own type: nothing is said of it
  expect("take_list", "v", "{\"b\":1,\"name\":\"base\",\"type\":9,\"list\":[1,2],\"o\":\"other\"}", "has");
  take_list(two.list, &two);
}

void bases() {
  Diamond d;
  expect("take_base", "v", "{\"$type\":\"Diamond\",\"b\":1,\"name\":\"base\",\"l\":2,\"r\":3,\"d\":4}", "has");
  take_base(&d);
  expect("take_left", "v", "{\"$type\":\"Diamond\",\"b\":1,\"name\":\"base\",\"l\":2,\"r\":3,\"d\":4}", "has");
  take_left(&d);
  Late late;
  expect("take_plain", "v", "{\"x\":5}");
  KEEP(&late);
  take_plain(&late);
}

void damaged() {
  alignas(64) static char junk[4096];
  std::memset(junk, 0x41, sizeof junk);
  auto base = reinterpret_cast<Base*>(junk);
  expect("take_base", "v", "{\"b\":1094795585}", "has");
  take_base(base);
  std::memset(junk, 0, sizeof junk);
  expect("take_base", "v", "{\"b\":0}", "has");
  take_base(base);
  void* inside = junk + 64;
  std::memcpy(junk, &inside, sizeof inside);
  expect("take_base", "v", "{\"b\":0}", "has");
  take_base(base);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  hidden();
  several();
  bases();
  damaged();
  return end();
}
