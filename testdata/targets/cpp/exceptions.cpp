// C++ exceptions through ten frames: plain, rethrown, from a function-try block, through noexcept(false)
// destructors, with destructors counted, nested, by exception_ptr, and in eight threads at once.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local long made, destroyed;

struct Guard {
	int n;
	explicit Guard(int n) : n(n) { made++; }
	__attribute__((noinline)) ~Guard() { destroyed++; }
};
struct Odd : std::runtime_error {
	int depth;
	Odd(int d) : std::runtime_error("odd " + std::to_string(d)), depth(d) {}
};

[[gnu::noinline]] int deep(int n, int kind) {
	Guard g(n);
	if (n == 0) {
		if (kind == 0) throw 42;
		if (kind == 1) throw Odd(kind);
		if (kind == 2) throw std::string("text of some length, on the heap");
		return 7;
	}
	int r = deep(n - 1, kind);
	return r + g.n;
}
[[gnu::noinline]] int rethrow(int n, int kind) {
	try {
		return deep(n, kind);
	} catch (const std::exception &) {
		throw;
	} catch (int v) {
		throw v + 1;
	}
}
[[gnu::noinline]] int function_try(int kind) try {
	Guard g(1);
	return rethrow(10, kind);
} catch (int v) {
	return v * 2;
} catch (const Odd &o) {
	return o.depth + 1000;
}

struct Member {
	Guard g;
	int v;
	Member(int kind);
};
Member::Member(int kind) try : g(kind), v(deep(3, kind)) {
} catch (...) {
	throw std::logic_error("member");
}

[[gnu::noinline]] int nested(int kind) {
	try {
		try {
			Member m(kind);
			return m.v;
		} catch (const std::logic_error &e) {
			std::throw_with_nested(std::runtime_error(e.what()));
		}
	} catch (const std::exception &e) {
		try {
			std::rethrow_if_nested(e);
		} catch (const std::logic_error &) {
			return 5;
		}
	}
	return 6;
}
[[gnu::noinline]] int carried(int kind) {
	std::exception_ptr p;
	try {
		deep(10, kind);
	} catch (...) {
		p = std::current_exception();
	}
	try {
		if (p) std::rethrow_exception(p);
	} catch (const std::string &s) {
		return (int)s.size();
	} catch (...) {
		return 1;
	}
	return 0;
}

static long run(int rounds) {
	long sum = 0;
	for (int i = 0; i < rounds; i++) {
		for (int kind = 0; kind < 4; kind++) {
			try {
				sum += function_try(kind);
			} catch (const std::string &s) {
				sum += s.size();
			}
			sum += nested(kind) + carried(kind);
		}
	}
	return made == destroyed ? sum : -1;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	long alone = run(rounds);
	std::vector<std::thread> threads;
	std::vector<long> sums(8);
	for (int i = 0; i < 8; i++) threads.emplace_back([&sums, i, rounds] { sums[i] = run(rounds); });
	for (auto &t : threads) t.join();
	bool same = alone > 0;
	for (long s : sums) same = same && s == alone;
	printf("rounds=%d sum=%ld same=%d\n", rounds, alone, same);
	return same ? 0 : 1;
}
