// C++20 coroutines: frames on the heap, functions that suspend in the middle and are resumed elsewhere.
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

struct Generator {
	struct promise_type {
		long value = 0;
		std::exception_ptr error;
		Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long v) { value = v; return {}; }
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit Generator(std::coroutine_handle<promise_type> h) : h(h) {}
	Generator(Generator &&o) noexcept : h(std::exchange(o.h, {})) {}
	~Generator() { if (h) h.destroy(); }
	[[gnu::noinline]] bool next() {
		h.resume();
		if (h.done() && h.promise().error) std::rethrow_exception(h.promise().error);
		return !h.done();
	}
};

[[gnu::noinline]] long step(long v) { return v * 3 % 101; }

Generator count(long from, long to, bool fail) {
	for (long i = from; i < to; i++) co_yield step(i);
	if (fail) throw 13;
}
Generator twice(long n) {
	Generator a = count(0, n, false), b = count(n, 2 * n, false);
	while (a.next()) {
		b.next();
		co_yield a.h.promise().value + b.h.promise().value;
	}
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	long s = 0, caught = 0;
	for (int i = 0; i < rounds; i++) {
		Generator g = twice(10);
		while (g.next()) s += g.h.promise().value;
		Generator f = count(0, 3, true);
		try {
			while (f.next()) s += f.h.promise().value;
		} catch (int v) {
			caught += v;
		}
	}
	printf("rounds=%d s=%ld caught=%ld\n", rounds, s, caught);
	return caught == rounds * 13L ? 0 : 1;
}
