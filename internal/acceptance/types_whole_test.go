package acceptance

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// wholeCPP has values of which once a part was not shown, or stray memory with it.
const wholeCPP = `
#include <any>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <string>
#include <memory>
struct Base { int x = 1; double y = 2.5; virtual ~Base() {} };
struct L : virtual Base { int l = 2; };
struct R : virtual Base { int r = 3; };
struct D : L, R { int d = 4; };
struct Plain { int p = 7; };
struct E : virtual Plain, D { int e = 5; };
struct Holder { D d; Base *b; };
unsigned char bytes[2000], gap[4] = {0, 1, 0, 2};
D global;
D *gD = &global;
__attribute__((noinline)) void vbase(D *d, const L &l, Base *b, D v) { asm volatile("" : : "g"(&v) : "memory"); }
__attribute__((noinline)) void vmore(E *e, Plain *p, R *r, Holder h) { asm volatile("" : : "g"(&h) : "memory"); }
struct Made { std::string name; int n; double after; Made(const char *s, int k); template <class T> Made(T t); ~Made() {} };
Made::Made(const char *s, int k) : name(s), n(k), after(2) {}
template <class T> Made::Made(T t) : name("t"), n(t), after(3) {}
namespace ns { template <class T> struct Box { T t; std::string s; Box(T v) : t(v), s("boxed") {} }; }
__attribute__((noinline)) void made(Made *m, const ns::Box<int> &b) { asm volatile("" : : "g"(m) : "memory"); }
__attribute__((noinline)) void stray() { char b[2000]; memset(b, 'A', sizeof b); asm volatile("" : : "g"(b) : "memory"); }
__attribute__((noinline)) void bad(Made *m, const char *s, const Made &r, const wchar_t *w) { asm volatile("" : : "g"(m) : "memory"); }
struct Has { Made *m; const std::string *s; int **p; };
__attribute__((noinline)) void wild(Made *m, const char *s, const Made &r, const std::string *t, int **p, Has h) { asm volatile("" : : "g"(m), "g"(&h) : "memory"); }
__attribute__((noinline)) void wide(const wchar_t *w, const char16_t *u, char32_t *c, const wchar_t *none, const wchar_t *empty) { asm volatile("" : : "g"(w) : "memory"); }
__attribute__((noinline)) void any(const std::any &i, const std::any &d, const std::any *none) { asm volatile("" : : "g"(&i) : "memory"); }
__attribute__((noinline)) void text(const std::any &s) { asm volatile("" : : "g"(&s) : "memory"); }
__attribute__((noinline)) void where(sockaddr *a, const sockaddr_in6 *b, sockaddr_un *u, sockaddr_storage *s, sockaddr *none, sockaddr *x) {
  asm volatile("" : : "g"(a) : "memory");
}
void addresses() {
  sockaddr_in a{}; a.sin_family = AF_INET; a.sin_port = htons(4242); a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 b{}; b.sin6_family = AF_INET6; b.sin6_port = htons(53); inet_pton(AF_INET6, "fe80::1:2", &b.sin6_addr); b.sin6_scope_id = 3;
  sockaddr_un u{}, h{}; u.sun_family = h.sun_family = AF_UNIX; strcpy(u.sun_path, "/tmp/some.sock"); strcpy(h.sun_path + 1, "hidden");
  sockaddr_storage st{}; memcpy(&st, &h, sizeof h);
  sockaddr x{}; x.sa_family = 1234;
  where((sockaddr *)&a, &b, &u, &st, nullptr, &x);
  bind(-1, (sockaddr *)&a, sizeof a);
}
int main() {
  stray(); Made m("made", 4); stray(); ns::Box<int> box(7); stray(); Made t(5L); made(&m, box);
  bad((Made *)0x10, (const char *)0x1234, *(Made *)0x5678, (const wchar_t *)0x9000);
  Has has{(Made *)-4L, (const std::string *)0xfffd000000000010, (int **)0xbad0000000000008};
  wild((Made *)-1L, (const char *)0xdeadbeefdeadbeef, *(Made *)0x8000000000000000, (const std::string *)-2L, (int **)-8L, has);
  char32_t c[] = U"thirty-two"; wide(L"wide \u00e4 text", u"sixteen \u00f6", c, nullptr, L"");
  std::any i = 5, f = 2.5, s = std::string("a text in an any, longer than a short one"), none; any(i, f, &none); text(s);
  addresses();
  for (int i = 0; i < 2000; i++) bytes[i] = i * 3;
  bytes[0] = 0;
  D d; d.x = 11; vbase(&d, d, &d, d);
  E e; e.x = 9; global.x = 42; Holder h; h.b = &e; vmore(&e, &e, &e, h);
}
`

const (
	wholeD = `"x":11,"y":2.5,"l":2,"r":3,"d":4}`
	wholeE = `"p":7,"x":9,"y":2.5,"l":2,"r":3,"d":4,"e":5}`
)

const wholeRust = `
use std::hint::black_box; use std::marker::PhantomData; use std::rc::Rc;
#[derive(Clone, Copy)] pub struct Unit;
#[derive(Clone, Copy)] pub struct Tag<T>(PhantomData<T>);
pub enum One { Only }
pub struct Has { u: Unit, n: i32, e: (), a: [u32; 0], t: (Unit, i32) }
#[inline(never)] pub fn empty(unit: Unit, tag: Tag<i32>, n: i32, nothing: (), only: One, none: [u8; 0]) -> i32 { black_box(n) }
#[inline(never)] pub fn within(h: &Has, o: Option<Unit>, b: Box<Unit>, r: Rc<Unit>, v: &Vec<Unit>, f: &dyn Fn(i32) -> i32) -> i32 { black_box(h.n + f(1)) }
#[inline(never)] pub fn held(p: *const i32) -> i32 { let unit = Unit; let tag = Tag::<u8>(PhantomData); black_box((&unit, &tag)); unsafe { std::ptr::read_volatile(p) } }
fn main() {
  let h = Has { u: Unit, n: 4, e: (), a: [], t: (Unit, 3) };
  empty(Unit, Tag(PhantomData), 3, (), One::Only, []);
  within(&h, Some(Unit), Box::new(Unit), Rc::new(Unit), &vec![Unit, Unit], &|x| x + 1);
  held(8 as *const i32);
}
`

// wholeValue is what a call must show of one argument.
type wholeValue struct{ function, arg, want string }

// TestWholeValues: nothing of a value is left out or made up.
func TestWholeValues(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d, e := `{`+wholeD, `{`+wholeE
	for _, variant := range []string{"gcc-O0", "clang-O0"} {
		checkWhole(t, s, "cpp", variant, wholeCPP, []wholeValue{
			{"vbase", "d", d}, {"vbase", "l", `{"$type":"D",` + wholeD}, {"vbase", "b", `{"$type":"D",` + wholeD},
			{"vbase", "v", d},
			{"vmore", "e", e}, {"vmore", "p", `{"p":7}`}, {"vmore", "r", `{"$type":"E",` + wholeE},
			{"made", "m", `{"name":"made","n":4,"after":2}`}, {"made", "b", `{"t":7,"s":"boxed"}`},
			{"Made", "this", `"<Made at 0x#>"`},
			{"Box", "this", `"<Box<int> at 0x#>"`}, {"bad", "m", `"0x10 <unreadable>"`}, {"bad", "s", `"0x1234 <unreadable>"`},
			{"bad", "r", `"0x5678 <unreadable>"`}, {"bad", "w", `"0x9000"`},
			{"wild", "m", `"0xffffffffffffffff <unreadable>"`}, {"wild", "s", `"0xdeadbeefdeadbeef <unreadable>"`},
			{"wild", "r", `"0x8000000000000000 <unreadable>"`}, {"wild", "t", `"0xfffffffffffffffe <unreadable>"`},
			{"wild", "p", `"0xfffffffffffffff8"`},
			{"wild", "h",
				`{"m":"0xfffffffffffffffc <unreadable>","s":"0xfffd000000000010 <unreadable>","p":"0xbad0000000000008"}`},
			{"wide", "w", `"wide ä text"`}, {"wide", "u", `"sixteen ö"`}, {"wide", "c", `"thirty-two"`},
			{"wide", "none", "null"}, {"wide", "empty", `""`},
			{"any", "i", `{"type":"int","value":5}`}, {"any", "d", `{"type":"double","value":2.5}`},
			{"any", "none", `{"*":null}`},
			{"text", "s", `{"type":"std::string","value":"a text in an any, longer than a short one"}`},
			{"where", "a", `{"family":"AF_INET","address":"127.0.0.1","port":4242}`},
			{"where", "b", `{"family":"AF_INET6","address":"fe80::1:2%3","port":53}`},
			{"where", "u", `{"family":"AF_UNIX","path":"/tmp/some.sock"}`},
			{"where", "s", `{"family":"AF_UNIX","path":"@hidden"}`},
			{"where", "none", "null"}, {"where", "x", `{"family":1234}`},
			{"vmore", "h", `{"d":{"x":1,"y":2.5,"l":2,"r":3,"d":4},"b":{"$type":"E",` + wholeE + `}`},
		})
	}
	checkWhole(t, s, "rust", "rust-debug", wholeRust, []wholeValue{
		{"empty", "unit", "{}"}, {"empty", "tag", "{}"}, {"empty", "n", "3"}, {"empty", "nothing", "null"},
		{"empty", "only", `"Only"`}, {"empty", "none", "[]"},
		{"within", "h", `{"u":{},"n":4,"e":null,"a":[],"t":[{},3]}`}, {"within", "o", "{}"}, {"within", "b", "{}"},
		{"within", "r", `{"value":{},"strong":1,"weak":0}`}, {"within", "v", "[{},{}]"}, {"held", "p", `"0x8"`},
		{"crash", "unit", "{}"}, {"crash", "tag", "{}"},
	})
}

func checkWhole(t *testing.T, s *strobetest.Strobe, lang, variant, source string, want []wholeValue) {
	t.Helper()
	var flags []string
	if lang == "cpp" {
		flags = []string{"-std=gnu++17"}
	}
	path := strobetest.BuildSource(t, lang, variant, "whole", source, flags...)
	root, err := strobetest.CacheDir() // where the sources are
	if err != nil {
		t.Fatal(err)
	}
	l := s.Launch(t, path, root, nil, args{"trace": []string{"@usercode"}, "onFullBuffer": "block",
		"serializationDepth": 3})
	defer s.Stop(t, l.SessionID)
	s.WaitEnd(t, l.SessionID, endLimit)
	seen := graphCalls(t, s, l.SessionID)
	for _, c := range crashesOf(t, s, l.SessionID) {
		seen["crash"] = append(seen["crash"], c.Locals)
	}
	for _, w := range want {
		e := expectation{Want: json.RawMessage(w.want)}
		switch calls := seen[w.function]; {
		case len(calls) == 0:
			t.Errorf("%s %s: %s was not called", lang, variant, w.function)
		case !e.holds(plainValue(string(calls[0][w.arg]))):
			t.Errorf("%s %s: %s %s = %s, want %s", lang, variant, w.function, w.arg, calls[0][w.arg], w.want)
		}
	}
}

var (
	someAddress = regexp.MustCompile(` at 0x[0-9a-f]+>`)
	longString  = regexp.MustCompile(`std::(__cxx11::)?basic_string<char, [^"]*>`)
)

// plainValue leaves out what differs from run to run.
func plainValue(s string) string {
	return longString.ReplaceAllString(someAddress.ReplaceAllString(s, " at 0x#>"), "std::string")
}
