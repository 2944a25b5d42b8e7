// What debug_query must show for an object, computed from the object itself through its public interface. A program of
// this folder begins with this file: the test puts it in the place of the #include, so that one file is all there is.
#pragma once
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#if __cplusplus >= 202002L
#include <span>
#endif
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#if defined(__clang__)
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif
#define KEEP(x) asm volatile("" : : "g"(x) : "memory")

constexpr size_t max_text = 1024, max_elements = 100;

inline std::string escape(std::string_view s) {
  std::string out;
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c < 0x20 || c == 0x7f) {
      char b[8];
      std::snprintf(b, sizeof b, "\\u%04x", c);
      out += b;
    } else {
      out += char(c);
    }
  }
  return out;
}

inline std::string quote(std::string_view s) { return '"' + escape(s) + '"'; }

inline std::string show_text(std::string_view s) {
  if (s.size() <= max_text) return quote(s);
  size_t n = max_text;
  while (n > 0 && (s[n] & 0xc0) == 0x80) n--;
  return quote(std::string(s.substr(0, n)) + "…(+" + std::to_string(s.size() - n) + " bytes)");
}

// utf8 appends a character of up to 21 bits.
inline void utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xc0 | c >> 6);
    out += char(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += char(0xe0 | c >> 12);
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  } else {
    out += char(0xf0 | c >> 18);
    out += char(0x80 | (c >> 12 & 63));
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  }
}

template <class C> std::string narrow(std::basic_string_view<C> s) {
  std::string out;
  for (size_t i = 0; i < s.size(); i++) {
    char32_t c = s[i];
    if (sizeof(C) == 2 && c >= 0xd800 && c < 0xdc00 && i + 1 < s.size())
      c = 0x10000 + ((c - 0xd800) << 10) + (char32_t(s[++i]) - 0xdc00);
    utf8(out, c);
  }
  return out;
}

template <class T, class = void> struct Show;
template <class T> std::string show(const T& v) { return Show<std::remove_cv_t<T>>::of(v); }

template <class T>
constexpr bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T> constexpr bool is_character =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <> struct Show<bool> {
  static std::string of(bool v) { return v ? "true" : "false"; }
};
template <class T> struct Show<T, std::enable_if_t<is_character<T>>> {
  static std::string of(T v) { return quote(narrow(std::basic_string_view<T>(&v, 1))); }
};
template <class T>
struct Show<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>>> {
  static std::string of(T v) { return std::to_string(v); }
};
template <class T> struct Show<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static std::string of(T v) {
    char b[64];
    std::snprintf(b, sizeof b, "%.17g", double(v));
    return b;
  }
};

template <class C, class Tr, class A> struct Show<std::basic_string<C, Tr, A>> {
  static std::string of(const std::basic_string<C, Tr, A>& v) { return show(std::basic_string_view<C>(v.data(), v.size())); }
};
template <class C> struct Show<std::basic_string_view<C>> {
  static std::string of(std::basic_string_view<C> v) {
    if constexpr (sizeof(C) == 1) return show_text(std::string_view(reinterpret_cast<const char*>(v.data()), v.size()));
    else return show_text(narrow(v));
  }
};

template <class It> std::string show_range(It it, size_t n) {
  std::string out = "[";
  for (size_t i = 0; i < n; i++, ++it) {
    if (i) out += ",";
    if (i == max_elements) {
      out += "\"…(+" + std::to_string(n - i) + " elements)\"";
      break;
    }
    out += show(*it);
  }
  return out + "]";
}

template <class K> constexpr bool is_plain_key = is_text<K> || std::is_arithmetic_v<K> || std::is_enum_v<K>;

// unquoted is a JSON value as the name of a member.
inline std::string unquoted(std::string s) { return s[0] == '"' ? s : '"' + s + '"'; }

template <class M> std::string show_map(const M& m, bool multi) {
  using K = typename M::key_type;
  bool plain = is_plain_key<K> && !multi;
  std::string out = plain ? "{" : "[";
  size_t i = 0;
  for (auto& [k, v] : m) {
    if (i) out += ",";
    if (i == max_elements) {
      std::string rest = "+" + std::to_string(m.size() - i) + " elements";
      out += plain ? "\"…\":\"" + rest + "\"" : "\"…(" + rest + ")\"";
      break;
    }
    i++;
    if (plain) out += unquoted(show(k)) + ":" + show(v);
    else out += "[" + show(k) + "," + show(v) + "]";
  }
  return out + (plain ? "}" : "]");
}

#define SHOW_RANGE(type)                                                                                   \
  template <class... A> struct Show<type<A...>> {                                                          \
    static std::string of(const type<A...>& v) { return show_range(v.begin(), std::distance(v.begin(), v.end())); } \
  };
SHOW_RANGE(std::deque)
SHOW_RANGE(std::list)
SHOW_RANGE(std::forward_list)
SHOW_RANGE(std::set)
SHOW_RANGE(std::multiset)
SHOW_RANGE(std::unordered_set)
SHOW_RANGE(std::unordered_multiset)
SHOW_RANGE(std::initializer_list)
template <class T, class A> struct Show<std::vector<T, A>> {
  static std::string of(const std::vector<T, A>& v) { return show_range(v.begin(), v.size()); }
};
template <class A> struct Show<std::vector<bool, A>> {
  static std::string of(const std::vector<bool, A>& v) {
    std::vector<char> bits(v.begin(), v.end());
    std::string out = "[";
    for (size_t i = 0; i < v.size(); i++) {
      if (i) out += ",";
      if (i == max_elements) {
        out += "\"…(+" + std::to_string(v.size() - i) + " elements)\"";
        break;
      }
      out += bits[i] ? "true" : "false";
    }
    return out + "]";
  }
};
template <class T, size_t n> struct Show<std::array<T, n>> {
  static std::string of(const std::array<T, n>& v) { return show_range(v.begin(), n); }
};
template <class T, size_t n> struct Show<T[n]> {
  static std::string of(const T (&v)[n]) { return show_range(v, n); }
};
#if __cplusplus >= 202002L
template <class T, size_t n> struct Show<std::span<T, n>> {
  static std::string of(std::span<T, n> v) { return show_range(v.begin(), v.size()); }
};
#endif
#define SHOW_MAP(type, multi)                                                             \
  template <class... A> struct Show<type<A...>> {                                         \
    static std::string of(const type<A...>& v) { return show_map(v, multi); }             \
  };
SHOW_MAP(std::map, false)
SHOW_MAP(std::multimap, true)
SHOW_MAP(std::unordered_map, false)
SHOW_MAP(std::unordered_multimap, true)

template <class A, class B> struct Show<std::pair<A, B>> {
  static std::string of(const std::pair<A, B>& v) { return "[" + show(v.first) + "," + show(v.second) + "]"; }
};
template <class... A> struct Show<std::tuple<A...>> {
  static std::string of(const std::tuple<A...>& v) {
    std::string out;
    std::apply([&](auto&... e) { ((out += "," + show(e)), ...); }, v);
    return "[" + (out.empty() ? out : out.substr(1)) + "]";
  }
};
template <class T> struct Show<std::optional<T>> {
  static std::string of(const std::optional<T>& v) { return v ? show(*v) : "null"; }
};
template <> struct Show<std::monostate> {
  static std::string of(std::monostate) { return "{}"; }
};
template <class... A> struct Show<std::variant<A...>> {
  static std::string of(const std::variant<A...>& v) {
    if (v.valueless_by_exception()) return "null";
    return std::visit([](auto& e) { return show(e); }, v);
  }
};
template <class T, class D> struct Show<std::unique_ptr<T, D>> {
  static std::string of(const std::unique_ptr<T, D>& v) { return v ? show(*v) : "null"; }
};
template <class T> struct Show<std::shared_ptr<T>> {
  static std::string of(const std::shared_ptr<T>& v) {
    if (!v) return "null";
    return "{\"value\":" + show(*v) + ",\"useCount\":" + std::to_string(v.use_count()) + "}";
  }
};
template <class T> struct Show<std::weak_ptr<T>> {
  static std::string of(const std::weak_ptr<T>& v) {
    auto p = v.lock();
    if (!p) return "null";
    return "{\"value\":" + show(*p) + ",\"useCount\":" + std::to_string(p.use_count() - 1) + "}";
  }
};
template <class T> struct Show<std::reference_wrapper<T>> {
  static std::string of(std::reference_wrapper<T> v) { return show(v.get()); }
};
template <class T> struct Show<std::complex<T>> {
  static std::string of(std::complex<T> v) { return "[" + show(v.real()) + "," + show(v.imag()) + "]"; }
};
template <size_t n> struct Show<std::bitset<n>> {
  static std::string of(const std::bitset<n>& v) { return quote(v.to_string()); }
};
template <class T> struct Show<std::atomic<T>> {
  static std::string of(const std::atomic<T>& v) { return show(v.load()); }
};
template <> struct Show<std::any> {
  static std::string of(const std::any& v) {
    if (!v.has_value()) return "null";
    int status = 0;
    char* s = abi::__cxa_demangle(v.type().name(), nullptr, nullptr, &status);
    std::string out = "{\"type\":" + quote(s ? s : v.type().name());
    if (auto p = std::any_cast<int>(&v)) out += ",\"value\":" + show(*p);
    if (auto p = std::any_cast<double>(&v)) out += ",\"value\":" + show(*p);
    if (auto p = std::any_cast<bool>(&v)) out += ",\"value\":" + show(*p);
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
    if (auto p = std::any_cast<std::string>(&v)) out += ",\"value\":" + show(*p);
#endif
    out += "}";
    std::free(s);
    return out;
  }
};
template <> struct Show<std::filesystem::path> {
  static std::string of(const std::filesystem::path& v) { return show(v.native()); }
};
template <> struct Show<std::thread::id> {
  static std::string of(const std::thread::id& v) {
    static_assert(sizeof v == sizeof(pthread_t));
    return std::to_string(*reinterpret_cast<const pthread_t*>(&v));
  }
};

template <class R, intmax_t num, intmax_t den> struct Show<std::chrono::duration<R, std::ratio<num, den>>> {
  static std::string unit() {
    struct { intmax_t n, d; const char* name; } units[] = {
        {1, 1000000000, "ns"}, {1, 1000000, "us"}, {1, 1000, "ms"}, {1, 1, "s"}, {60, 1, "min"}, {3600, 1, "h"}, {86400, 1, "d"}};
    for (auto& u : units)
      if (u.n == num && u.d == den) return u.name;
    std::string s = "[" + std::to_string(num);
    if (den != 1) s += "/" + std::to_string(den);
    return s + "]s";
  }
  static std::string of(std::chrono::duration<R, std::ratio<num, den>> v) {
    char b[64];
    if (std::is_floating_point_v<R>) std::snprintf(b, sizeof b, "%.15g", double(v.count()));
    else std::snprintf(b, sizeof b, "%lld", (long long)v.count());
    return quote(b + unit());
  }
};
template <class C, class D> struct Show<std::chrono::time_point<C, D>> {
  static std::string of(std::chrono::time_point<C, D> v) {
    using namespace std::chrono;
    if constexpr (!std::is_same_v<C, system_clock>) return show(v.time_since_epoch());
    long long ns = duration_cast<nanoseconds>(v.time_since_epoch()).count();
    long long s = ns / 1000000000, rest = ns % 1000000000;
    if (rest < 0) s--, rest += 1000000000;
    time_t t = s;
    char b[64], f[16] = "";
    strftime(b, sizeof b, "%Y-%m-%dT%H:%M:%S", gmtime(&t));
    if (rest) {
      std::snprintf(f, sizeof f, ".%09lld", rest);
      for (size_t n = std::string(f).size(); f[n - 1] == '0'; n--) f[n - 1] = 0;
    }
    return quote(std::string(b) + f + "Z");
  }
};

inline FILE* expectations = stdout;

// expect prints what the next call of a function must show as argument arg, or as its result ("return"): how is "want", or
// "like" for text that must be a part of what is shown, or "has" for an object that may have more members.
inline void expect(const std::string& name, const char* arg, std::string want, const char* how = "want") {
  if (want == "null" && name.rfind("point_", 0) == 0) want = "{\"*\":null}";  // the pointer itself is not null
  std::fprintf(expectations, "{\"case\":%s,\"arg\":%s,\"%s\":%s}\n", quote(name).c_str(), quote(arg).c_str(), how, want.c_str());
}

// also prints text that must be a part of what the line before is about.
inline void also(const char* text) { std::fprintf(expectations, "{\"also\":%s}\n", quote(text).c_str()); }

// begin sends the expectations to the file that the program's argument names, if there is one.
inline void begin(int argc, char** argv) {
  if (argc > 1) expectations = std::fopen(argv[1], "w");
  if (!expectations) std::abort();
}

inline int end() { return std::fclose(expectations) != 0; }

// READ reads all of an object: an optimizing compiler that sees a function which does not may leave out to make it.
#define READ(v)                                          \
  {                                                      \
    char copy[sizeof v];                                 \
    std::memcpy(copy, (const void*)&v, sizeof v);        \
    KEEP(copy);                                          \
  }

// CASE makes the functions of one type: an object by reference, pointer and value, and as the result.
#define CASE_FIXED(name, init, ...)                          \
  using T_##name = __VA_ARGS__;                              \
  ALONE T_##name make_##name() {                             \
    KEEP(0);                                                 \
    return init;                                             \
  }                                                          \
  ALONE void take_##name(const T_##name& v) { KEEP(&v); }    \
  ALONE void point_##name(const T_##name* v) { KEEP(v); }

#define CASE(name, init, ...)             \
  CASE_FIXED(name, init, __VA_ARGS__)     \
  ALONE void pass_##name(T_##name v) { READ(v) }

#define RUN_FIXED(name)                              \
  T_##name v_##name = make_##name();                 \
  expect("make_" #name, "return", show(v_##name));   \
  expect("take_" #name, "v", show(v_##name));        \
  take_##name(v_##name);                             \
  expect("point_" #name, "v", show(v_##name));       \
  point_##name(&v_##name);

#define RUN(name)                                \
  {                                              \
    RUN_FIXED(name)                              \
    expect("pass_" #name, "v", show(v_##name));  \
    pass_##name(std::move(v_##name));            \
  }
