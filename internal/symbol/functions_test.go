package symbol

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// variants are ways to build shapes.cc whose debug information differs in shape.
var variants = []struct {
	name, compiler string
	flags          []string
}{
	{"gcc4-O0", "g++", []string{"-gdwarf-4", "-O0"}},
	{"gcc5-O0", "g++", []string{"-gdwarf-5", "-O0"}},
	{"gcc3-O0", "g++", []string{"-gdwarf-3", "-gstrict-dwarf", "-O0"}},
	{"gcc5-O2", "g++", []string{"-gdwarf-5", "-O2"}},
	{"gcc4-O2", "g++", []string{"-gdwarf-4", "-O2"}},
	{"clang4-O0", "clang++", []string{"-gdwarf-4", "-O0"}},
	{"clang5-O0", "clang++", []string{"-gdwarf-5", "-O0"}},
	{"clang5-O2", "clang++", []string{"-gdwarf-5", "-O2"}},
	{"gcc-gz", "g++", []string{"-g", "-gz", "-O0"}},
	{"gcc-gz-gnu", "g++", []string{"-g", "-gz=zlib-gnu", "-O0"}},
	{"gcc-split5", "g++", []string{"-gdwarf-5", "-gsplit-dwarf", "-O0"}},
	{"gcc-split4", "g++", []string{"-gdwarf-4", "-gsplit-dwarf", "-O0"}},
	{"gcc-split5-O2", "g++", []string{"-gdwarf-5", "-gsplit-dwarf", "-O2"}},
	{"clang-split5", "clang++", []string{"-gdwarf-5", "-gsplit-dwarf", "-O0"}},
	{"clang-split5-O2", "clang++", []string{"-gdwarf-5", "-gsplit-dwarf", "-O2"}},
	{"gcc-types4", "g++", []string{"-gdwarf-4", "-fdebug-types-section", "-O0"}},
	{"gcc-types5", "g++", []string{"-gdwarf-5", "-fdebug-types-section", "-O0"}},
	{"gcc-lto", "g++", []string{"-g", "-O2", "-flto"}},
	{"gcc-nopie", "g++", []string{"-g", "-no-pie", "-O0"}},
	{"gcc-static", "g++", []string{"-g", "-static", "-O0"}},
	{"gcc-sections", "g++", []string{"-g", "-O0", "-ffunction-sections", "-Wl,--gc-sections"}},
	{"gcc-dwarf64", "g++", []string{"-gdwarf-5", "-gdwarf64", "-O0"}},
}

type nmSym struct {
	addr, size uint64
	typ, name  string
}

// nm returns the code symbols of a file.
func nm(t *testing.T, path string) []nmSym {
	t.Helper()
	var out []nmSym
	for line := range strings.Lines(run(t, "nm", "-S", path)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.Contains("tTwWi", f[len(f)-2]) {
			continue
		}
		s := nmSym{typ: f[len(f)-2], name: f[len(f)-1]}
		s.addr, _ = strconv.ParseUint(f[0], 16, 64)
		if len(f) == 4 {
			s.size, _ = strconv.ParseUint(f[1], 16, 64)
		}
		out = append(out, s)
	}
	return out
}

// filtParams demangles without parameters, as the binutils do.
func filtParams(t *testing.T, raw []string) []string {
	t.Helper()
	cmd := exec.Command("c++filt", "-p")
	cmd.Stdin = strings.NewReader(strings.Join(raw, "\n"))
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func TestFunctionsAgreeWithNm(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			path := build(t, "shapes.cc", v.compiler, v.flags...)
			m := open(t, path, Options{})
			if p := m.Problems(); len(p) > 0 {
				t.Errorf("Problems = %q", p)
			}
			if !m.HasDWARF {
				t.Error("HasDWARF = false")
			}
			checkNm(t, m, path)
			for _, want := range []string{"geo::by_value", "geo::many", "geo::Box<int>::get", "plain_c", "main"} {
				fs := byName(m, want)
				if len(fs) == 0 {
					t.Errorf("no function %s", want)
					continue
				}
				if f := fs[0]; !f.HasDWARF || filepath.Base(f.File) != "shapes.cc" || !filepath.IsAbs(f.File) || f.Line == 0 {
					t.Errorf("%s: HasDWARF=%v at %s:%d", want, f.HasDWARF, f.File, f.Line)
				}
			}
		})
	}
}

func checkNm(t *testing.T, m *Module, path string) {
	t.Helper()
	at := map[Addr]*Function{}
	var last Addr
	for i := range m.Functions() {
		f := &m.Functions()[i]
		if f.Low < last {
			t.Fatalf("functions are not sorted at %#x", f.Low)
		}
		last = f.Low + 1
		at[f.Low] = f
	}
	checked := 0
	for _, s := range nm(t, path) {
		if s.size == 0 || isFragment(s.name) || !m.im.inCodeSection(s.addr) {
			continue
		}
		f := at[Addr(s.addr)]
		if f == nil {
			t.Errorf("nm has %s at %#x, Functions has not", s.name, s.addr)
			continue
		}
		checked++
		if f.Size() < s.size {
			t.Errorf("%s: size %d, nm says %d", s.name, f.Size(), s.size)
		}
		if g, off, ok := m.Lookup(Addr(s.addr + s.size - 1)); !ok || g.Low != f.Low || off != s.size-1 {
			t.Errorf("Lookup(%#x) = %v+%d, want %s", s.addr+s.size-1, g, off, s.name)
		}
		if code, err := m.Code(f); err != nil || len(code) != int(f.Size()) {
			t.Errorf("Code(%s) = %d bytes, %v", f.Name, len(code), err)
		}
		if f.HasDWARF {
			if _, err := m.Signature(f); err != nil {
				t.Errorf("Signature(%s): %v", f.Name, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d symbols compared", checked)
	}
}

func TestNamesAgreeWithFilt(t *testing.T) {
	path := build(t, "shapes.cc", "g++", "-g", "-static", "-O0")
	m := open(t, path, Options{})
	var raw []string
	var fs []*Function
	for i := range m.Functions() {
		if f := &m.Functions()[i]; isMangled(f.Raw) && !strings.Contains(f.Raw, "Ss") { // binutils spell std::string out
			base, _ := splitClone(f.Raw)
			raw, fs = append(raw, base), append(fs, f)
		}
	}
	differ := 0
	for i, want := range filtParams(t, raw) {
		// Binutils write "> >" and keep "[abi:…]" where the demangler does; compare without spaces.
		got, want := strings.ReplaceAll(fs[i].Name, " ", ""), strings.ReplaceAll(want, " ", "")
		if got != want {
			if differ++; differ <= 10 {
				t.Logf("%s: got %s, c++filt -p says %s", fs[i].Raw, got, want)
			}
		}
	}
	if limit := len(raw) / 50; differ > limit || len(raw) < 300 {
		t.Errorf("%d of %d names differ, want at most %d", differ, len(raw), limit)
	}
}

func TestLinesAgreeWithAddr2line(t *testing.T) {
	for _, flags := range [][]string{{"-gdwarf-4", "-O0"}, {"-gdwarf-5", "-O0"}, {"-gdwarf-5", "-O2"}} {
		path := build(t, "shapes.cc", "g++", flags...)
		m := open(t, path, Options{})
		args := []string{"-e", path}
		var addrs []Addr
		for _, f := range m.Functions() {
			if f.HasDWARF {
				addrs = append(addrs, f.Low)
			}
		}
		for _, a := range addrs {
			args = append(args, fmt.Sprintf("%#x", uint64(a)))
		}
		for i, line := range strings.Split(strings.TrimSpace(run(t, "llvm-addr2line", args...)), "\n") {
			line, _, _ = strings.Cut(line, " (disc")
			file, n, ok := m.LineFor(addrs[i])
			got := fmt.Sprintf("%s:%d", file, n)
			if want := filepath.Clean(line); !ok || got != want {
				t.Errorf("%v: LineFor(%#x) = %s, addr2line says %s", flags, addrs[i], got, want)
			}
		}
	}
}

func TestLambdaAndAnonymousNamespace(t *testing.T) {
	m := open(t, build(t, "shapes.cc", "g++", "-gdwarf-5", "-O0"), Options{})
	f := one(t, m, "main::{lambda(int)#1}::operator()")
	if filepath.Base(f.File) != "shapes.cc" || f.Line == 0 {
		t.Errorf("lambda is at %s:%d", f.File, f.Line)
	}
	if f := one(t, m, "geo::(anonymous namespace)::hidden"); f.Line != 38 {
		t.Errorf("hidden is at line %d, want 38", f.Line)
	}
	if f := one(t, m, "geo::Box<int>::as<double>"); f.Full() != "double geo::Box<int>::as<double>(double)" {
		t.Errorf("Full = %s", f.Full())
	}
}

func TestModuleProperties(t *testing.T) {
	pie := open(t, build(t, "values.c", "gcc", "-g", "-O2"), Options{})
	if !pie.PIE || pie.Static || !strings.HasSuffix(pie.Interp, "ld-linux-x86-64.so.2") || pie.Language != LangC ||
		!strings.HasPrefix(pie.Compiler, "GNU C") || len(pie.BuildID) != 40 {
		t.Errorf("PIE program: %+v %q", pie.Interp, pie.Compiler)
	}
	lo, hi := pie.TextRange()
	main := one(t, pie, "main")
	if main.Low < lo || main.High > hi || len(pie.Segments()) < 3 {
		t.Errorf("TextRange = %#x-%#x, main at %#x", lo, hi, main.Low)
	}
	if a, size, ok := pie.Symbol("global_table"); !ok || size != 16 || a == 0 {
		t.Errorf("Symbol(global_table) = %#x, %d, %v", a, size, ok)
	}
	if _, _, ok := pie.Symbol("no_such_symbol"); ok {
		t.Error("Symbol finds what is not there")
	}
	if f := one(t, pie, "die"); !f.NoReturn {
		t.Error("die is not NoReturn")
	}
	static := open(t, build(t, "shapes.cc", "g++", "-g", "-static", "-O0"), Options{})
	if !static.Static || static.Interp != "" {
		t.Errorf("static program: Static=%v Interp=%q", static.Static, static.Interp)
	}
	ifuncs := 0
	for _, f := range static.Functions() {
		if f.Ifunc {
			ifuncs++
		}
		if f.Fragment {
			t.Errorf("Functions holds the fragment %s", f.Raw)
		}
	}
	if ifuncs == 0 {
		t.Error("no indirect functions in a static program")
	}
	if rust := open(t, build(t, "enums.rs", "rustc", "-g"), Options{}); rust.Language != LangRust ||
		!strings.Contains(rust.Compiler, "rustc") {
		t.Errorf("Rust program: %s %s", rust.Language, rust.Compiler)
	}
}

func TestColdPartsAreFragments(t *testing.T) {
	m := open(t, build(t, "values.c", "gcc", "-g", "-O2"), Options{})
	cold := 0
	for _, s := range nm(t, m.Path) {
		if !isFragment(s.name) {
			continue
		}
		cold++
		f, _, ok := m.Lookup(Addr(s.addr))
		if !ok || !f.Fragment || m.FunctionAt(Addr(s.addr)) != nil {
			t.Errorf("Lookup(%s) = %+v, want a fragment", s.name, f)
		}
	}
	s := open(t, build(t, "shapes.cc", "g++", "-gdwarf-5", "-O2"), Options{})
	for _, sym := range nm(t, s.Path) {
		if isFragment(sym.name) {
			cold++
			f, _, ok := s.Lookup(Addr(sym.addr))
			if !ok || !f.Fragment || s.FunctionAt(Addr(sym.addr)) != nil {
				t.Errorf("Lookup(%s) = %+v, want a fragment", sym.name, f)
			}
		}
	}
	if cold == 0 {
		t.Error("the compiler made no cold parts: the test tests nothing")
	}
}

func TestUnhookable(t *testing.T) {
	m := open(t, build(t, "values.c", "gcc", "-g", "-O2"), Options{})
	reason := func(pattern string) string {
		p, err := ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, u := range m.Unhookable(NewSieve([]*Pattern{p}, "")) {
			out = append(out, u.Function+": "+u.Reason)
		}
		slices.Sort(out)
		return strings.Join(out, "; ")
	}
	if got := reason("gone"); !strings.HasPrefix(got, "gone: ") || !strings.Contains(got, "inlined") {
		t.Errorf("Unhookable(gone) = %q", got)
	}
	if got := reason("@file:values.c"); !strings.Contains(got, "gone: ") || strings.Contains(got, "puts: ") {
		t.Errorf("Unhookable(@file:values.c) = %q", got)
	}
	if got := reason("puts"); !strings.Contains(got, "declared") {
		t.Errorf("Unhookable(puts) = %q", got)
	}
	if got := reason("main"); got != "" {
		t.Errorf("Unhookable(main) = %q, want none", got)
	}
	dropped := open(t, build(t, "values.c", "gcc", "-g", "-O0", "-ffunction-sections", "-Wl,--gc-sections", "-DUNUSED"),
		Options{})
	for _, f := range dropped.Functions() {
		if f.Low == 0 {
			t.Errorf("%s has address 0", f.Name)
		}
	}
}
