// Virtual calls, multiple and virtual inheritance (thunks), member pointers, std::function, templates,
// lambdas, operators, namespaces, static initialisation order: the names and the calls of ordinary C++.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace shop {
namespace {
[[gnu::noinline]] int hidden(int x) { return x ^ 0x5a; }
}
struct Shape {
	virtual ~Shape() = default;
	virtual long area() const = 0;
	virtual Shape *clone() const = 0;
};
struct Named {
	std::string name;
	virtual ~Named() = default;
	virtual std::string label() const { return name; }
};
struct Square : Shape, Named {
	long side;
	explicit Square(long s) : side(s) { name = "square"; }
	[[gnu::noinline]] long area() const override { return side * side; }
	[[gnu::noinline]] Square *clone() const override { return new Square(*this); }
	[[gnu::noinline]] std::string label() const override { return name + std::to_string(side); }
};
struct Rect : Shape, Named {
	long a, b;
	Rect(long a, long b) : a(a), b(b) { name = "rect"; }
	[[gnu::noinline]] long area() const override { return a * b; }
	[[gnu::noinline]] Rect *clone() const override { return new Rect(*this); }
};
struct Base { long v = 3; virtual ~Base() = default; virtual long get() { return v; } };
struct Left : virtual Base { long get() override { return v + 1; } };
struct Right : virtual Base { long r = 9; };
struct Bottom : Left, Right { [[gnu::noinline]] long get() override { return v + r; } };

template <typename T> struct Stack {
	std::vector<T> items;
	[[gnu::noinline]] void push(T v) { items.push_back(std::move(v)); }
	[[gnu::noinline]] T pop() { T v = std::move(items.back()); items.pop_back(); return v; }
};
template <typename A, typename B> [[gnu::noinline]] auto blend(A a, B b) -> decltype(a + b) { return a * 2 + b; }
} // namespace shop

struct Money {
	long cents;
	[[gnu::noinline]] Money operator+(const Money &o) const { return {cents + o.cents}; }
	[[gnu::noinline]] bool operator<(const Money &o) const { return cents < o.cents; }
	[[gnu::noinline]] explicit operator double() const { return cents / 100.0; }
	[[gnu::noinline]] Money &operator+=(long c) { cents += c; return *this; }
};

struct Static {
	int value;
	[[gnu::noinline]] explicit Static(int v) : value(v) {}
};
static Static one(1), two(one.value + 1), three(two.value + 1);

static long drive(int i) {
	std::vector<std::unique_ptr<shop::Shape>> shapes;
	shapes.emplace_back(new shop::Square(i % 10));
	shapes.emplace_back(new shop::Rect(i % 7, 3));
	long s = 0;
	for (auto &p : shapes) {
		std::unique_ptr<shop::Shape> c(p->clone());
		s += c->area();
		if (auto *n = dynamic_cast<shop::Named *>(c.get())) s += (long)n->label().size();
	}
	shop::Bottom b;
	shop::Base *base = &b;
	shop::Left *left = &b;
	s += base->get() + left->get();
	long (shop::Shape::*area)() const = &shop::Shape::area;
	s += (shapes[0].get()->*area)();
	shop::Stack<int> si;
	shop::Stack<std::string> ss;
	si.push(i);
	ss.push(std::string(i % 30, 'x'));
	s += si.pop() + (long)ss.pop().size() + shop::blend(2, 3) + (long)shop::blend(1.5, i) + shop::hidden(i);
	std::function<int(int)> f = [i](int x) { return x + i; };
	s += f(2);
	std::map<std::string, Money> m;
	m["a"] += i;
	m["b"] = m["a"] + Money{250};
	s += m["a"] < m["b"] ? (long)(double)m["b"] : 0;
	std::vector<int> v(20);
	std::iota(v.begin(), v.end(), i);
	std::sort(v.begin(), v.end(), [](int x, int y) { return x % 5 != y % 5 ? x % 5 < y % 5 : x < y; });
	return s + v[3];
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	long s = 0;
	for (int i = 0; i < rounds; i++) s += drive(i);
	printf("rounds=%d s=%ld statics=%d\n", rounds, s, three.value);
	return three.value == 3 ? 0 : 1;
}
