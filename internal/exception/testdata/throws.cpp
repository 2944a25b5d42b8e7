// Programs that end with an exception in flight, or with one that only looks so. The case is the first argument.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <vector>
#define KEEP __attribute__((noinline))
static volatile int zero = 0;
static bool is(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

struct Mine : std::runtime_error {
    int code; mutable std::string text;
    Mine(int c) : std::runtime_error("base text"), code(c) {}
    const char *what() const noexcept override { text = "mine " + std::to_string(code) + " " + std::runtime_error::what(); return text.c_str(); }
};
struct Left : virtual std::exception { int l = 1; };
struct Right : virtual std::exception { int r = 2; };
struct Diamond : Left, Right { const char *what() const noexcept override { return "diamond"; } };
struct Second { virtual ~Second() {} int s = 3; };
struct AtOffset : Second, std::logic_error { AtOffset() : std::logic_error("at an offset") {} };
struct Plain { int code; const char *name; bool on; double ratio; };
enum class Color { red = 1, blue = 5 };
namespace { struct Hidden : std::exception { const char *what() const noexcept override { return "hidden"; } }; }

KEEP void throwRuntime() { throw std::runtime_error("disk full"); } // THROW runtime
KEEP void throwMine() { throw Mine(7); } // THROW mine
KEEP void throwDiamond() { throw Diamond(); } // THROW diamond
KEEP void throwOffset() { throw AtOffset(); } // THROW offset
KEEP void throwHidden() { throw Hidden(); } // THROW hidden
KEEP void throwInt() { throw 42; } // THROW int
KEEP void throwText() { throw "just text"; } // THROW text
KEEP void throwString() { throw std::string("a string that is too long to be kept inside"); } // THROW string
KEEP void throwShort() { throw std::string("short"); } // THROW short
KEEP void throwPlain() { throw Plain{7, "seven", true, 0.5}; } // THROW plain
KEEP void throwColor() { throw Color::blue; } // THROW color
KEEP void throwPointer() { static Plain p; throw &p; } // THROW pointer
KEEP void throwSystem() { throw std::system_error(ENOENT, std::generic_category(), "open x"); } // THROW system
KEEP int throwRange(std::vector<int> &v) { return v.at((size_t)zero + 9); } // THROW range
KEEP void *throwAlloc() { return ::operator new((size_t)-1 / 2 - (size_t)zero); } // THROW alloc
KEEP void throwCast() { Second s; Second &r = s; struct D : Second {}; (void)dynamic_cast<D &>(r); } // THROW cast
KEEP void crash() { *(volatile int *)(long)zero = 1; }

struct Quiet { ~Quiet() { zero = zero + 0; } };
struct Crasher { ~Crasher() { crash(); } };
struct Thrower { ~Thrower() noexcept(true) { throwMine(); } };
struct Swallower { ~Swallower() { try { throwInt(); } catch (int) { crash(); } } };
KEEP void cannot() noexcept { throwRuntime(); zero = zero + 0; }
KEEP void withQuiet() { Quiet q; throwRuntime(); zero = zero + 0; }
KEEP void cannotQuiet() noexcept { withQuiet(); zero = zero + 0; }
KEEP void withCrasher() { Crasher c; throwMine(); }
KEEP void withThrower() { Thrower t; throwRuntime(); }
KEEP void withSwallower() { Swallower s; throwMine(); }
KEEP void withThread() { std::thread t([] { for (;;) std::this_thread::yield(); }); throwRuntime(); }
static std::exception_ptr kept;
KEEP void keep() { try { throwInt(); } catch (...) { kept = std::current_exception(); } }
KEEP void rethrows() { try { throwRuntime(); } catch (std::exception &) { throw; } } // THROW rethrow
KEEP void rethrowKept() { std::rethrow_exception(kept); } // THROW kept
KEEP void nested() { try { throwRuntime(); } catch (...) { std::throw_with_nested(Mine(9)); } }

int main(int, char **argv) {
    const char *c = argv[1];
    std::vector<int> v(3);
    if (is(c, "runtime")) throwRuntime(); if (is(c, "mine")) throwMine(); if (is(c, "diamond")) throwDiamond();
    if (is(c, "offset")) throwOffset(); if (is(c, "hidden")) throwHidden(); if (is(c, "int")) throwInt(); if (is(c, "text")) throwText();
    if (is(c, "string")) throwString(); if (is(c, "short")) throwShort(); if (is(c, "plain")) throwPlain(); if (is(c, "color")) throwColor();
    if (is(c, "pointer")) throwPointer(); if (is(c, "system")) throwSystem(); if (is(c, "range")) return throwRange(v);
    if (is(c, "alloc")) return throwAlloc() != nullptr; if (is(c, "cast")) throwCast();
    if (is(c, "thread")) { std::thread t(throwMine); t.join(); }
    if (is(c, "noexcept")) cannot(); if (is(c, "noexcept-cleanup")) cannotQuiet();
    if (is(c, "rethrow")) rethrows(); if (is(c, "nested")) nested();
    if (is(c, "kept")) { keep(); std::thread t(rethrowKept); t.join(); }
    try {
        if (is(c, "destructor")) withCrasher(); if (is(c, "destructor-throws")) withThrower();
        if (is(c, "destructor-handles")) withSwallower(); if (is(c, "destructor-thread")) withThread();
        if (is(c, "destructor-kept")) { keep(); withCrasher(); }
    } catch (std::exception &) {}
    // none of these has one in flight
    if (is(c, "handling")) try { throwMine(); } catch (std::exception &) { crash(); }
    if (is(c, "handled")) { try { throwMine(); } catch (std::exception &) {} crash(); }
    if (is(c, "holding")) { keep(); crash(); }
    if (is(c, "terminate")) try { throwMine(); } catch (...) { std::terminate(); }
    if (is(c, "terminate-alone")) std::terminate();
    if (is(c, "joinable")) std::thread([] { for (;;) std::this_thread::yield(); });
    if (is(c, "rethrow-nothing")) throw;
    if (is(c, "none")) crash();
    return 0;
}
