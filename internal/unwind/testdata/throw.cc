#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// Exceptions in flight, virtual calls, templates, lambdas and destructors.

namespace shop {
struct Item {
	std::string name;
	int price;
};

class Base {
public:
	virtual ~Base() {}
	virtual int total(const std::vector<Item> &items, int *where) = 0;
};

template <typename T> inline T add(T a, T b, int *where)
{
	if (a > 40)
		*where = a;
	return a + b;
}

class Cart : public Base {
public:
	int limit = 3;
	int total(const std::vector<Item> &items, int *where) override
	{
		int sum = 0;
		for (auto &i : items)
			sum = add<int>(sum, i.price, where);
		return sum;
	}
};

struct Guard {
	~Guard() { if (flag) *flag = 9; }
	int *flag;
};

__attribute__((noinline)) void check(int n)
{
	if (n > 0)
		throw std::runtime_error("too much");
}
}

__attribute__((noinline)) static int run(shop::Base *b, std::vector<shop::Item> &items, int *where)
{
	auto f = [&](int n) { return b->total(items, where) + n; };
	std::function<int(int)> g = f;
	return g(4);
}

__attribute__((noinline)) static void unwinding(int n)
{
	shop::Guard g{(int *)8};
	shop::check(n);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "virtual";
	std::vector<shop::Item> items{{"apple", 30}, {"pear", 20}, {"plum", 5}};
	shop::Cart cart;
	int r = 0;
	if (!std::strcmp(kind, "virtual"))
		r = run(&cart, items, nullptr);
	else if (!std::strcmp(kind, "uncaught"))
		shop::check(argc);
	else if (!std::strcmp(kind, "in-flight")) {
		try {
			unwinding(argc);
		} catch (std::exception &e) {
			r = 1;
		}
	} else if (!std::strcmp(kind, "sort")) {
		std::sort(items.begin(), items.end(), [](const shop::Item &a, const shop::Item &b) {
			if (a.price == 5 || b.price == 5)
				shop::check(1);
			return a.price < b.price;
		});
	}
	std::printf("%d\n", r);
	return 0;
}
