package symbol

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

func TestPatternMatch(t *testing.T) {
	const (
		cc = LangCPP
		rs = LangRust
		gg = LangGo
	)
	tests := []struct {
		pattern string
		lang    Language
		yes, no []string
	}{
		{"main", LangC, []string{"main"}, []string{"domain", "main2", "ns::main", "main::x"}},
		{"foo::bar", cc, []string{"foo::bar", "foo::bar<int>", "foo<int>::bar", "foo<a::b>::bar<c>",
			"foo::(anonymous namespace)::bar", "foo::bar[abi:cxx11]"},
			[]string{"foo::bar::baz", "x::foo::bar", "foo::barn", "foobar"}},
		{"foo<int>::bar", cc, []string{"foo<int>::bar", "foo<int>::bar<char>"}, []string{"foo<long>::bar", "foo::bar"}},
		{"foo<*>::bar", cc, []string{"foo<int>::bar", "foo<a::b<c>, d>::bar"}, []string{"foo::bar"}},
		{"foo<a<b> >::x", cc, []string{"foo<a<b>>::x", "foo<a<b> >::x"}, []string{"foo<a<c>>::x"}},
		{"foo<unsigned int>::x", cc, []string{"foo<unsigned int>::x"}, []string{"foo<unsigned>::x"}},
		{"foo::*", cc, []string{"foo::a", "foo::Bar<std::string, x::y>", "foo::{lambda(a::b)#1}", "foo::operator<<"},
			[]string{"foo::a::b", "foo", "food::a"}},
		{"foo::**", cc, []string{"foo::a", "foo::a::b", "foo::a<x>::b::c"}, []string{"foo", "food::a"}},
		{"**::run", cc, []string{"a::run", "a::b<c>::run", "a::run<int>"}, []string{"run", "a::runs", "a::run::b"}},
		{"**run", cc, []string{"run", "a::run", "a::b::rerun"}, []string{"run2"}},
		{"*", cc, []string{"a", "a<b::c>", "operator<", "operator new"}, []string{"a::b"}},
		{"**", cc, []string{"a", "a::b", "a<b>::c"}, nil},
		{"a::*::c", cc, []string{"a::b::c", "a::b<x::y>::c", "a::(anonymous namespace)::c"}, []string{"a::c", "a::b::b::c"}},
		{"a::**::c", cc, []string{"a::c", "a<int>::c", "a::b::c", "a::b::b::c", "a::c::c", "a::b<x::y>::c"},
			[]string{"a", "c", "ac", "a::bc", "ab::c", "a::c::d", "a::xc", "a::b::xc"}},
		{"a::**::c::**::d", cc, []string{"a::c::d", "a::x::c::d", "a::c::x::d", "a::x::y::c::x::y::d", "a::c::c::d::d"},
			[]string{"a::d", "a::c", "a::xc::d", "a::c::xd"}},
		{"a::**::**::c", cc, []string{"a::c", "a::x::c"}, []string{"a::xc"}},
		{"**::b::**::c*", cc, []string{"a::b::c", "a::b::x::cat", "a::x::b::c"}, []string{"b::c", "a::b::x"}},
		{"get?", cc, []string{"getX", "get1"}, []string{"get", "getXY"}},
		{"*size*", cc, []string{"size", "max_size", "resize_it"}, []string{"push<size_t>", "a::size"}},
		{"*a*b::c*d", cc, []string{"xaxb::cxd", "ab::cd", "aabb::ccdd"}, []string{"ab::c", "ba::cd"}},
		{"operator*", cc, []string{"operator*", "operator*<int>"}, []string{"operator+", "operator*=", "operators"}},
		{"V::operator*=", cc, []string{"V::operator*="}, []string{"V::operator*"}},
		{"V::operator**", cc, []string{"V::operator*", "V::operator<", "V::operator()", "V::operator bool",
			"V::operator new[]"}, []string{"V::x"}},
		{"V::operator<", cc, []string{"V::operator<", "V<int>::operator<", "V::operator< <int>"},
			[]string{"V::operator<<", "V::operator<="}},
		{"V::operator<<", cc, []string{"V::operator<<", "V::operator<< <char>"}, []string{"V::operator<"}},
		{"operator<=>", cc, []string{"operator<=>"}, []string{"operator<="}},
		{"V::operator->", cc, []string{"V::operator->", "V<x>::operator->"}, []string{"V::operator->*"}},
		{"V::operator()", cc, []string{"V::operator()", "V::operator()<int>"}, []string{"V::operator[]"}},
		{"V::operator[]", cc, []string{"V::operator[]"}, []string{"V::operator()"}},
		{"V::operator bool", cc, []string{"V::operator bool"}, []string{"V::operator int"}},
		{"V::operator std::string", cc, []string{"V::operator std::string"}, []string{"V::string"}},
		{"V::operator void (*)(int)", cc, []string{"V::operator void (*)(int)"}, []string{"V::operator void (*)(char)"}},
		{"f(int)::{lambda(int)#1}::operator void (*)(int)() const", cc,
			[]string{"f(int)::{lambda(int)#1}::operator void (*)(int)"}, []string{"f(int)::{lambda(int)#1}::operator int"}},
		{"f(a) const::{lambda(int)#1}::operator()", cc, []string{"f(a) const::{lambda(int)#1}::operator()"},
			[]string{"f(b) const::{lambda(int)#1}::operator()"}},
		{"a::b<c> const& ns::g<int>(int)", cc, []string{"ns::g<int>"}, []string{"ns::g<char>", "a::b<c>"}},
		{"bool ns::operator!=<x y>(x y)", cc, []string{"ns::operator!=<x y>"}, []string{"ns::operator==<x y>"}},
		{"non-virtual thunk to a::b(int)", cc, []string{"non-virtual thunk to a::b(int)"}, []string{"a::b"}},
		{"V::*", cc, []string{"V::operator std::string", "V::~V", `V::operator""_x`}, nil},
		{"V::~V", cc, []string{"V::~V", "V<int>::~V"}, []string{"V::V"}},
		{"main::{lambda(int)#1}::operator()", cc, []string{"main::{lambda(int)#1}::operator()"},
			[]string{"main::{lambda(int)#2}::operator()"}},
		{"main::**", cc, []string{"main::{lambda(int)#1}::operator()"}, []string{"main"}},
		{"(anonymous namespace)::f", cc, []string{"(anonymous namespace)::f"}, []string{"f", "a::f"}},
		{"f", cc, []string{"f", "(anonymous namespace)::f"}, []string{"a::f"}},
		{"::f", cc, []string{"f"}, []string{"a::f"}},
		{"a::T::f", rs, []string{"a::T::f", "<a::T as b::Trait>::f", "<a::T<X> as b::Trait<Y>>::f", "<a::T>::f",
			"b::<impl c::Tr for a::T>::f"},
			[]string{"<a::U as b::Trait>::f"}},
		{"b::Trait::f", rs, []string{"<a::T as b::Trait>::f", "<&a::T as b::Trait<X>>::f"},
			[]string{"<a::T as b::Other>::f"}},
		{"core::str::len", rs, []string{"core::str::<impl str>::len"}, []string{"core::str::is_empty"}},
		{"<a::T as b::Trait>::*", rs, []string{"<a::T as b::Trait>::f"}, []string{"<a::T as b::Trait>::f::{{closure}}"}},
		{"a::f", rs, []string{"a::f", "a::f::<i32>"}, []string{"a::f::{{closure}}", "a::f::{closure#0}"}},
		{"a::f::*", rs, []string{"a::f::{{closure}}", "a::f::{closure#0}"}, []string{"a::f"}},
		{"a::f::{{closure}}", rs, []string{"a::f::{{closure}}"}, []string{"a::f::{{closure}}::{{closure}}"}},
		{"core::ptr::drop_in_place", rs, []string{"core::ptr::drop_in_place<alloc::string::String>",
			"core::ptr::drop_in_place::<a::T>"}, nil},
		{"main.*", gg, []string{"main.main", "main.Map[go.shape.int]"},
			[]string{"main.(*T).M", "main.main.func1", "x/main.f"}},
		{"main.(*T).M", gg, []string{"main.(*T).M", "main.(*T[go.shape.int]).M"}, []string{"main.(*U).M", "main.T.M"}},
		{"main.**", gg, []string{"main.main.func1", "main.(*T).M"}, []string{"x/main.f"}},
		{"**(*T).M", gg, []string{"main.(*T).M", "github.com/a/b.(*T).M"}, []string{"main.f", "main.(*U).M"}},
		{"**(*T).M", cc, nil, []string{"f", "g::h", "M"}},
		{"(*T).M", cc, nil, []string{"f", "T::M"}},
		{"github.com/a/b.F", gg, []string{"github.com/a/b.F"}, []string{"github.com/a/b.G"}},
		{"github.com/a/b/**", gg, []string{"github.com/a/b.F", "github.com/a/b.(*T).M", "github.com/a/b/c.F"},
			[]string{"github.com/a/bc.F", "github.com/a.F"}},
		{"github.com/**", gg, []string{"github.com/a/b.F"}, []string{"gitlab.com/a/b.F"}},
		{"github.com/*/b.F", gg, []string{"github.com/a/b.F"}, []string{"github.com/a/c/b.F"}},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		for _, n := range tt.yes {
			if !p.MatchName(n, tt.lang) {
				t.Errorf("%q does not match %q", tt.pattern, n)
			}
		}
		for _, n := range tt.no {
			if p.MatchName(n, tt.lang) {
				t.Errorf("%q matches %q", tt.pattern, n)
			}
		}
	}
}

func TestPatternParameters(t *testing.T) {
	m := open(t, build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"), Options{})
	tests := []struct {
		pattern string
		want    int
	}{
		{"geo::Box<int>::get(int) const", 1},
		{"geo::Box<int>::get(int)", 1},
		{"geo::Box::get(int)", 2},
		{"geo::Box::get(long)", 0},
		{"geo::by_value(geo::Point, geo::Bits, geo::Either, geo::Color)", 1},
		{"geo::by_value(geo::Point,geo::Bits,geo::Either,geo::Color)", 1},
		{"geo::by_value(geo::Point)", 0},
		{"geo::Box<int>::as<double>(double)", 1},
		{"geo::Box::operator()(int)", 1}, {"geo::Box::operator()(double)", 0},
		{"geo::Box::operator bool() const", 1},
		{"geo::variadic(char const*, ...)", 1},
		{"plain_c(int, int)", 1},
		{"_ZN3geo8variadicEPKcz", 1},
		{"geo::*(int)", 2}, // hidden, squash
		{"geo::Box::operator**", 4},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		var got []string
		for i := range m.Functions() {
			if f := &m.Functions()[i]; p.Match(f, "") {
				got = append(got, f.Full())
			}
		}
		if len(got) != tt.want {
			t.Errorf("%q matches %q, want %d", tt.pattern, got, tt.want)
		}
	}
}

func TestPatternFiles(t *testing.T) {
	f := func(file string) *Function { return &Function{Name: "x", Raw: "x", File: file} }
	tests := []struct {
		pattern, root, file string
		want                bool
	}{
		{"@usercode", "/w/p", "/w/p/src/a.c", true},
		{"@usercode", "/w/p/", "/w/p/a.c", true},
		{"@usercode", "/w/p", "/w/project/a.c", false},
		{"@usercode", "/w/p", "", false},
		{"@usercode", "", "/w/p/a.c", false},
		{"@file:parse", "/w/p", "/lib/parser.c", true},
		{"@file:parse", "/w/p", "/lib/lexer.c", false},
		{"@exceptions", "/w/p", "/w/p/exceptions.c", false},
		{"file:src/*.c", "/w/p", "/w/p/src/a.c", true},
		{"file:src/*.c", "/w/p", "/w/p/src/x/a.c", false},
		{"file:src/**/*.c", "/w/p", "/w/p/src/x/y/a.c", true},
		{"file:src/**/*.c", "/w/p", "/w/p/src/a.c", true},
		{"file:src/**/*.c", "/w/p", "/w/p/srcx/a.c", false},
		{"file:**/foo.c", "/w/p", "/w/p/foo.c", true},
		{"file:**/foo.c", "/w/p", "/w/p/barfoo.c", false},
		{"file:src/**", "/w/p", "/w/p/src/x/a.c", true},
		{"file:/usr/**/*.h", "/w/p", "/usr/include/c++/12/bits/x.h", true},
		{"file:a?.[c]", "/w/p", "/w/p/ab.[c]", true},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		if got := p.Match(f(tt.file), tt.root); got != tt.want {
			t.Errorf("%q on %q under %q = %v, want %v", tt.pattern, tt.file, tt.root, got, tt.want)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	tests := []struct {
		pattern string
		pos     int
	}{
		{"", 1}, {"  ", 1}, {"!", 2}, {"foo::", 4}, {"foo::::bar", 6}, {"a:::b", 4}, {"foo<int", 4}, {"foo>", 4}, {"a***", 2},
		{"foo(int", 4}, {"foo)", 4}, {"@user", 1}, {"!@exceptions", 2}, {"@file:", 7}, {"file:", 6}, {"a\nb", 2},
		{"!foo<", 5}, {"  foo::", 6}, {"::", 1},
		{strings.Repeat("x", maxPattern+1), maxPattern + 1},
	}
	for _, tt := range tests {
		_, err := ParsePattern(tt.pattern)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.InvalidPattern || f.Hint == "" {
			t.Errorf("ParsePattern(%q) = %v, want INVALID_PATTERN", tt.pattern, err)
			continue
		}
		if want := fmt.Sprintf("position %d:", tt.pos); !strings.Contains(f.Msg, want) {
			t.Errorf("ParsePattern(%q) = %v, want %s", tt.pattern, err, want)
		}
	}
}

func TestPatternSet(t *testing.T) {
	s, err := ParseSet([]string{"a::**", "b", "!a::secret::*"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a::x": true, "b": true, "a::secret::y": false, "a::secret::y::z": true,
		"c": false} {
		if got := s.Match(&Function{Name: name, Raw: name}, ""); got != want {
			t.Errorf("Match(%q) = %v, want %v", name, got, want)
		}
	}
	only, err := ParseSet([]string{"!a"})
	if err != nil {
		t.Fatal(err)
	}
	if only.Match(&Function{Name: "b", Raw: "b"}, "") {
		t.Error("a set of exclusions alone matches")
	}
	if _, err := ParseSet([]string{"a", "b::"}); err == nil {
		t.Error("ParseSet accepts a bad pattern")
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"audio::Mixer::process", "audio::Mixer::prepare", "main", "parse_config", "net::Socket::connect",
		"geo::Box<int>::get", "process_all", "a/web.(*conn).loop", "github.com/x/y/server.(*conn).loop"}
	for pattern, want := range map[string]string{
		"audio::Mixer::proces": "audio::Mixer::process",
		"Mixer::process":       "audio::Mixer::process",
		"Audio::mixer::*":      "",
		"prase_config":         "parse_config",
		"mian":                 "main",
		"Socket::connect":      "net::Socket::connect",
		"geo::Box::gett":       "geo::Box<int>::get",
		"proces_all(int)":      "process_all",
		"server.(*conn).loop":  "github.com/x/y/server.(*conn).loop",
	} {
		got := Suggest(names, pattern)
		if want == "" {
			continue
		}
		if len(got) == 0 || got[0] != want {
			t.Errorf("Suggest(%q) = %q, want %q first", pattern, got, want)
		}
	}
	if got := Suggest(names, "zzzzzzzzzzzz"); len(got) != 0 {
		t.Errorf("Suggest of nonsense = %q", got)
	}
	fns := []Function{{Name: "github.com/x/y/server.(*conn).loop", Language: LangGo},
		{Name: "github.com/x/y/server.(*conn).end", Language: LangGo}, {Name: "audio::Mixer::process"}}
	for pattern, want := range map[string]string{"server.(*conn).*": "**/server.(*conn).* 2", "Mixer::*": "**::Mixer::* 1",
		"mixer::*": " 0", "**Mixer::x*": " 0", "audio::*": " 0"} {
		if wider, n := Within(fns, pattern, ""); fmt.Sprint(wider, " ", n) != want {
			t.Errorf("Within(%q) = %q, %d, want %s", pattern, wider, n, want)
		}
	}
	many := make([]string, 100000)
	for i := range many {
		many[i] = fmt.Sprintf("mod%d::Class%d::method_%d", i%97, i%1013, i)
	}
	if got := Suggest(many, "mod1::Clas5::methd_500"); len(got) == 0 {
		t.Error("no suggestion in 100,000 names")
	}
}

func BenchmarkPatternMatch(b *testing.B) {
	fs := make([]Function, 50000)
	for i := range fs {
		n := fmt.Sprintf("mod%d::Class%d<std::vector<int> >::method_%d", i%97, i%1013, i)
		fs[i] = Function{Name: n, Raw: n, File: "/w/p/src/a.cc", Language: LangCPP}
	}
	for _, text := range []string{"mod5::**", "mod5::Class*::method_*7", "**", "mod3::Class3::method_3", "@usercode"} {
		p, err := ParsePattern(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(text, "/", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				match := p.Matcher("/w/p")
				for i := range fs {
					match(&fs[i])
				}
			}
		})
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a::*", "operator*", "foo<int>::bar(int) const", "main.(*T).M", "<a as b>::c", "file:**/x",
		"!@usercode", "a<<b", "operator<", "{}::("} {
		f.Add(s, "a::b<c>::operator<(int)")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(name) > 1<<12 {
			return
		}
		p, err := ParsePattern(pattern)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidPattern {
				t.Fatalf("ParsePattern(%q) = %v", pattern, err)
			}
			return
		}
		for _, lang := range []Language{LangCPP, LangGo, LangRust} {
			p.Match(&Function{Name: name, Raw: name, File: name, Language: lang}, "/w")
		}
		Suggest([]string{name}, pattern)
	})
}

// TestPatternOfWhatIsInAFunction: the name that is shown of a lambda, or of a member of a class within a function, is a
// pattern that matches it, lists of parameters in it and all.
func TestPatternOfWhatIsInAFunction(t *testing.T) {
	for _, raw := range []string{"_ZZ1fiEN1L1gEv", "_ZZ4mainENKUlPciE_clES_i",
		"_ZZN3fmt2v96detail18for_each_codepointIZNS1_13compute_widthENS0_17basic_string_viewIcEEE17count_code_pointsEEvS4_" +
			"T_ENKUlPKcS8_E_clES8_S8_"} {
		name, lang, ok := demangled(raw)
		f := &Function{Name: name, Raw: raw, Language: lang}
		if p, err := ParsePattern(name); err != nil || !ok || !p.Match(f, "") {
			t.Errorf("%s is not matched by its own name %s: %v", raw, name, err)
		}
	}
	f := &Function{Name: "f(int)::L::g", Raw: "_ZZ1fiEN1L1gEv", Language: LangCPP}
	for pattern, want := range map[string]bool{"f(int)::L::g": true, "f(int)::L::g()": true, "f(int)::**": true,
		"f(long)::L::g": false, "f(int)::L::g(int)": false} {
		if p, err := ParsePattern(pattern); err != nil || p.Match(f, "") != want {
			t.Errorf("%s: %v, want %v", pattern, !want, want)
		}
	}
}
