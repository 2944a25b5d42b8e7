// Objects of the program's own: what points to what. The depth is 6.
#include "show.h"
#include <cinttypes>


using std::string;
constexpr int max_depth = 6;

string circular(const void* p) {
  char b[64];
  std::snprintf(b, sizeof b, "\"<circular ref to 0x%" PRIxPTR ">\"", uintptr_t(p));
  return b;
}
const string too_deep = "\"<max depth 6 reached>\"";

// Path shows what a pointer leads to, knows the objects on the way there, and stops at the depth.
struct Path {
  std::set<const void*> objects;
  int depth = 0;
  template <class T> string follow(const T* p) {
    if (!p) return "null";
    if (objects.count(p)) return circular(p);
    if (depth == max_depth) return too_deep;
    depth++;
    objects.insert(p);
    string s = inside(*p);
    objects.erase(p);
    depth--;
    return s;
  }
  template <class T> string inside(const T& v);
};

struct Link {
  int n;
  Link* next;
};
template <> string Path::inside(const Link& l) { return "{\"n\":" + show(l.n) + ",\"next\":" + follow(l.next) + "}"; }

struct Tree {
  const char* name;
  Tree *left, *right;
  short weights[3];
};
template <> string Path::inside(const Tree& t) {
  return "{\"name\":" + (t.name ? show(string(t.name)) : "null") + ",\"left\":" + follow(t.left) + ",\"right\":" + follow(t.right) +
         ",\"weights\":" + show(t.weights) + "}";
}

struct Leaf {
  double value;
};
struct Shared {
  const Leaf *one, *same, *none;
};
template <> string Path::inside(const Leaf& l) { return "{\"value\":" + show(l.value) + "}"; }
template <> string Path::inside(const Shared& s) {
  return "{\"one\":" + follow(s.one) + ",\"same\":" + follow(s.same) + ",\"none\":" + follow(s.none) + "}";
}

struct Pointers {
  Leaf* leaves[4];
  std::vector<Leaf*> more;
  std::unique_ptr<Pointers> child;
};
template <> string Path::inside(const Pointers& p) {
  string out = "{\"leaves\":[";
  for (int i = 0; i < 4; i++) out += (i ? "," : "") + follow(p.leaves[i]);
  out += "],\"more\":[";
  for (size_t i = 0; i < p.more.size(); i++) out += (i ? "," : "") + follow(p.more[i]);
  return out + "],\"child\":" + follow(p.child.get()) + "}";
}

struct D6 { int v; };
struct D5 { D6* p; int v; };
struct D4 { D5& p; int v; };
struct D3 { D4* p; int v; };
struct D2 { std::unique_ptr<D3> p; int v; };
struct D1 { D2* p; int v; };
#define LEVEL(type) \
  template <> string Path::inside(const type& d) { return "{\"p\":" + follow(&*d.p) + ",\"v\":" + show(d.v) + "}"; }
template <> string Path::inside(const D6& d) { return "{\"v\":" + show(d.v) + "}"; }
LEVEL(D5)
template <> string Path::inside(const D4& d) { return "{\"p\":" + follow(&d.p) + ",\"v\":" + show(d.v) + "}"; }
LEVEL(D3)
LEVEL(D2)
LEVEL(D1)

struct Graph { // of named nodes, in a container
  string name;
  std::vector<Graph*> edges;
};
template <> string Path::inside(const Graph& g) {
  string out = "{\"name\":" + show(g.name) + ",\"edges\":[";
  for (size_t i = 0; i < g.edges.size(); i++) out += (i ? "," : "") + follow(g.edges[i]);
  return out + "]}";
}

union Number {
  int32_t i;
  float f;
  struct { uint16_t low, high; } halves;
};
struct Tagged {
  enum Kind { Int, Float } kind;
  Number number;
  union { char c; uint8_t byte; };
  unsigned bits : 3, others : 5;
};
template <> string Path::inside(const Tagged& t) {
  return string("{\"kind\":") + (t.kind == Tagged::Int ? "\"Int\"" : "\"Float\"") + ",\"number\":{\"i\":" + show(t.number.i) + ",\"f\":" +
         show(t.number.f) + ",\"halves\":{\"low\":" + show(t.number.halves.low) + ",\"high\":" + show(t.number.halves.high) +
         "}},\"c\":" + show(t.c) + ",\"byte\":" + show(t.byte) + ",\"bits\":" + show(unsigned(t.bits)) + ",\"others\":" +
         show(unsigned(t.others)) + "}";
}

ALONE void take_link(const Link* v) { KEEP(v); }
ALONE void take_link_reference(const Link& v) { KEEP(&v); }
ALONE void pass_link(Link v) { READ(v) }
ALONE Link* make_link(Link* v) { KEEP(v); return v; }
ALONE void take_tree(const Tree* v) { KEEP(v); }
ALONE void take_shared(const Shared* v) { KEEP(v); }
ALONE void take_pointers(const Pointers& v) { KEEP(&v); }
ALONE void take_deep(const D1* v) { KEEP(v); }
ALONE void take_graph(const Graph* v) { KEEP(v); }
ALONE void take_tagged(const Tagged* v) { KEEP(v); }
ALONE void pass_tagged(Tagged v) { READ(v) }

template <class T> void followed(const char* name, const T* v) { expect(name, "v", Path().follow(v)); }

void links() {
  Link a{1, nullptr}, b{2, &a}, c{3, &b};
  followed("take_link", &c);
  take_link(&c);
  followed("take_link_reference", &c);
  take_link_reference(c);
  expect("pass_link", "v", Path().inside(c));
  pass_link(c);
  expect("make_link", "return", Path().follow(&c));
  make_link(&c);
  a.next = &c;
  followed("take_link", &b);
  take_link(&b);
  a.next = &a;
  followed("take_link", &a);
  take_link(&a);
  Link many[12];
  for (int i = 0; i < 12; i++) many[i] = {i, i < 11 ? &many[i + 1] : nullptr};
  for (int i = 4; i < 8; i++) {
    followed("take_link", &many[i]);
    take_link(&many[i]);
  }
}

void trees() {
  Tree leaf{"leaf", nullptr, nullptr, {1, 2, 3}}, twig{nullptr, &leaf, nullptr, {4, 5, 6}}, other{"", nullptr, &twig, {}};
  Tree root{"root", &other, &leaf, {-1, -2, -3}};
  followed("take_tree", &root);
  take_tree(&root);
  leaf.left = &root;
  followed("take_tree", &root);
  take_tree(&root);
  Leaf one{0.5}, two{-2};
  Shared shared{&one, &one, nullptr};
  followed("take_shared", &shared);
  take_shared(&shared);
  Pointers child{{&two, &two, nullptr, &one}, {}, nullptr};
  Pointers p{{&one, nullptr, &two, &one}, {&two, nullptr}, std::make_unique<Pointers>(std::move(child))};
  followed("take_pointers", &p);
  take_pointers(p);
  D6 d6{6};
  D5 d5{&d6, 5};
  D4 d4{d5, 4};
  D2 d2{std::make_unique<D3>(D3{&d4, 3}), 2};
  D1 d1{&d2, 1};
  followed("take_deep", &d1);
  take_deep(&d1);
  Graph x{"x", {}}, y{"y", {&x}}, z{"z", {&x, &y}};
  followed("take_graph", &z);
  take_graph(&z);
  x.edges = {&z, nullptr, &x};
  followed("take_graph", &z);
  take_graph(&z);
}

void unions() {
  Tagged t{};
  t.kind = Tagged::Float;
  t.number.f = 1.5;
  t.c = 'A';
  t.bits = 5;
  t.others = 17;
  followed("take_tagged", &t);
  take_tagged(&t);
  expect("pass_tagged", "v", Path().inside(t));
  pass_tagged(t);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  links();
  trees();
  unions();
  return end();
}
