// How C++ programs end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace app { struct Failure : std::runtime_error { using runtime_error::runtime_error; }; struct Plain { int code; }; }
struct Base { Base() { call(); } void call() { pure(); } virtual void pure() = 0; virtual ~Base() {} };
struct Derived : Base { void pure() override {} };
struct Noisy { ~Noisy() noexcept(false) { throw std::logic_error("from a destructor"); } };
static void noThrow() noexcept { throw std::out_of_range("index 7"); }
struct Ugly : std::exception { const char *what() const noexcept override { throw app::Failure("in what"); } };

int main(int argc, char **argv) {
  const char *w = argc > 1 ? argv[1] : "";
  if (!strcmp(w, "throw")) throw app::Failure("could not open the ledger");
  if (!strcmp(w, "lines")) throw std::runtime_error("first line\nsecond line\n\nfourth line");
  if (!strcmp(w, "empty")) throw std::runtime_error("");
  if (!strcmp(w, "int")) throw 42;
  if (!strcmp(w, "plain")) throw app::Plain{3};
  if (!strcmp(w, "terminate")) std::terminate();
  if (!strcmp(w, "pure")) { Derived d; }
  if (!strcmp(w, "noexcept")) noThrow();
  if (!strcmp(w, "destructor")) try { Noisy n; throw 1; } catch (...) {}
  if (!strcmp(w, "what")) throw Ugly();
  if (!strcmp(w, "thread")) { std::thread t([] { throw std::invalid_argument("in a thread"); }); t.join(); }
  if (!strcmp(w, "joinable")) { std::thread t([] {}); }
  if (!strcmp(w, "at")) { std::vector<int> v(3); return v.at(7); }
  if (!strcmp(w, "null-string")) { const char *p = argc > 5 ? "" : nullptr; std::string s(p); }
  if (!strcmp(w, "vector")) { std::vector<int> v(3); return v[argc + 5]; }
  if (!strcmp(w, "front")) { std::vector<int> v; return v.front(); }
  if (!strcmp(w, "optional")) { std::optional<int> v; return *v; }
  if (!strcmp(w, "unique")) { std::unique_ptr<std::string> p; return p->size(); }
  if (!strcmp(w, "view")) { std::string_view p("ab"); return p[argc + 3]; }
  if (!strcmp(w, "two")) { std::thread a([] { throw app::Failure("a"); }), b([] { throw app::Failure("b"); }); a.join(); b.join(); }
  if (!strcmp(w, "recursive")) {
    std::set_terminate([] { throw; });
    throw app::Failure("outer");
  }
  return 0;
}
