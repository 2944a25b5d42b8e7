// As faults.c, of C++.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#include "ways.h"

static volatile int sink;
static int *volatile nothing;

namespace shop {

struct refused : std::runtime_error {
	int code;
	explicit refused(int code) : std::runtime_error("order refused"), code(code) {}
};

struct plain {
	int number;
};

struct shape {
	shape() { measure(); }
	virtual ~shape() {}
	NOINLINE void measure() { sink = area(); } //@ pure: pure-virtual-call
	virtual int area() = 0;
};
struct square : shape {
	int area() override { return 4; }
};

struct careless {
	int index;
	~careless() {
		*nothing = index; //@ destructor: null-pointer ~this={"index":42}
		KEEP(index);
	}
};

struct order {
	std::string name;
	int total;
	NOINLINE int sum(int tax) {
		volatile int seen = tax;
		sink = total + seen; //@ null-this: null-pointer seen=42
		return seen;
	}
};

} // namespace shop

NOINLINE void throw_error(int index) {
	volatile int seen = index;
	if (seen)
		throw std::runtime_error("no stock of item " + std::to_string(seen)); //@ throw,thread,caught-then-throw,noexcept: uncaught-exception seen=42
}
NOINLINE void throw_own(int index) {
	volatile int seen = index;
	if (seen)
		throw shop::refused(seen); //@ throw-own: uncaught-exception seen=42
}
NOINLINE void throw_plain(int index) {
	volatile int seen = index;
	if (seen)
		throw shop::plain{seen}; //@ throw-plain: uncaught-exception seen=42
}
NOINLINE void throw_int(int index) {
	volatile int seen = index;
	if (seen)
		throw index; //@ throw-int: uncaught-exception seen=42
}
NOINLINE void promises(int index) noexcept { volatile int seen = index; throw_error(seen); } //@ noexcept-unwound: uncaught-exception seen=42
NOINLINE void terminates(int index) {
	volatile int seen = index;
	if (seen)
		std::terminate(); //@ terminate: terminate seen=42
}
NOINLINE void pure(int index) {
	volatile int seen = index;
	shop::square s;
	sink = seen + s.area();
}
NOINLINE void out_of_range(int index) {
	std::map<int, int> m{{1, 2}};
	volatile int seen = index;
	sink = m.at((int)seen); //@ map-at: uncaught-exception seen=42
}
NOINLINE void bad_element(int index) {
	static std::vector<int> *volatile list = new std::vector<int>;
	sink = (*list)[index]; //@ vector: null-pointer index=42
	KEEP(index);
}
NOINLINE void moved(int index) {
	auto p = std::make_unique<shop::order>();
	auto q = std::move(p);
	sink = p->sum(index) + q->sum(index);
}
NOINLINE void unwinds(int index) {
	shop::careless c{index};
	throw_error(index);
	sink = c.index;
}
NOINLINE void destructor(int index) {
	try {
		unwinds(index);
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
}
NOINLINE void in_thread(int index) {
	std::thread t(throw_error, index);
	t.join();
}
NOINLINE void forgotten_thread(int index) {
	volatile int seen = index;
	std::thread t([] { pause(); });
	sink = seen;
} //@ joinable: terminate seen=42
NOINLINE void catches(int index) {
	try {
		throw_error(index);
	} catch (const std::exception &e) {
		std::puts(e.what());
		std::fflush(stdout);
	}
}
NOINLINE void caught_then_null(int index) {
	catches(index);
	*nothing = index; //@ caught-then-null: null-pointer index=42
	KEEP(index);
}
NOINLINE void in_catch(int index) {
	try {
		throw_error(index);
	} catch (const std::exception &e) {
		*nothing = index; //@ in-catch: null-pointer index=42
		KEEP(index);
	}
}
NOINLINE void caught_then_throw(int index) {
	catches(index);
	throw_error(index);
}
NOINLINE void rethrows(int index) {
	try {
		throw_own(index);
	} catch (const std::exception &e) {
		volatile int seen = index;
		if (seen)
			throw; //@ rethrow: uncaught-exception seen=42
	}
}
NOINLINE void no_memory(int index) {
	volatile size_t n = (size_t)1 << 60;
	volatile int seen = index;
	nothing = new int[n / 8]; //@ no-memory: uncaught-exception seen=42
	sink = seen;
}

static const struct way ways[] = {
	{"throw", throw_error}, {"throw-own", throw_own}, {"throw-plain", throw_plain}, {"throw-int", throw_int}, {"noexcept", promises},
	{"terminate", terminates}, {"pure", pure}, {"map-at", out_of_range}, {"vector", bad_element}, {"null-this", moved},
	{"destructor", destructor}, {"thread", in_thread}, {"joinable", forgotten_thread}, {"lives-caught", catches},
	{"caught-then-null", caught_then_null}, {"in-catch", in_catch}, {"caught-then-throw", caught_then_throw}, {"rethrow", rethrows},
	{"no-memory", no_memory}, {NULL, NULL},
};

int main(int argc, char **argv) {
	std::puts("begins");
	std::fflush(stdout);
	return run(ways, argv[1], 2);
}
