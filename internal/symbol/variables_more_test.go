package symbol

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestVariablesAgree compares every variable of a real library with its symbol table.
func TestVariablesAgree(t *testing.T) {
	paths := []string{build(t, "vars.rs", "rustc", "--crate-name", "vars", "-g"),
		build(t, "vars.cc", "g++", "-std=c++17", "-g", "-static")}
	if *bigBinary != "" {
		paths = append(paths, strings.Split(*bigBinary, ",")...)
	}
	for _, p := range paths {
		m := open(t, p, Options{})
		file := p
		if m.DebugPath != "" {
			file = m.DebugPath
		}
		addr, thread := nmOf(t, file)
		start := time.Now()
		names := m.VariableNames()
		built := time.Since(start)
		at := map[Addr][]string{}
		for n, as := range addr {
			for _, a := range as {
				at[a] = append(at[a], n)
			}
		}
		agree, consts, found := 0, 0, map[string]bool{}
		for _, n := range names {
			vs := m.Variables(n)
			if len(vs) == 0 || vs[0].Name != n || vs[0].Type == nil {
				t.Errorf("%s: Variables(%q) = %v", filepath.Base(p), n, vs)
			}
			for _, v := range vs {
				base := plainName(lastSegment(v.Name))
				found[base] = true
				if v.Const != nil {
					consts++
					continue
				}
				if !slices.ContainsFunc(at[v.Addr], func(s string) bool {
					return strings.Contains(s, strings.TrimPrefix(base, "__EI_")) && (len(addr[s]) > 1 || thread[s] == v.TLS)
				}) { // glibc has aliases that DWARF calls __EI_ {
					t.Errorf("%s: %s is at %#x, where the symbols are %v", filepath.Base(p), v.Name, v.Addr, at[v.Addr])
				}
				agree++
			}
		}
		missing := 0
		for n := range addr {
			if !isMangled(n) && !found[trimNumber(n)] {
				missing++
			}
		}
		t.Logf("%s: %d names in %v; %d variables agree with symbols, %d are constants; %d types, %d removed; %d of %d "+
			"symbols have no variable",
			filepath.Base(p), len(names), built, agree, consts, len(m.nameTable().types), len(m.nameTable().removed), missing,
			len(addr))
		if agree == 0 {
			t.Errorf("%s: no variable agrees with a symbol", filepath.Base(p))
		}
	}
}

func TestCanonicalName(t *testing.T) {
	for in, want := range map[string]string{
		"unsigned": "unsigned int", "long unsigned int": "unsigned long", "unsigned long": "unsigned long",
		"long int":           "long",
		"short unsigned int": "unsigned short", "long long int": "long long", "signed char": "signed char", "char": "char",
		"unsigned  char": "unsigned char", "long double": "long double", "_Bool": "bool", "signed": "int", "int": "int",
		"x":                                 "x",
		"vector<int, std::allocator<int> >": "vector<int,std::allocator<int>>", "A<const char *>": "A<const char*>",
		"Arr<int, 4UL>": "Arr<int,4>", "Arr<int, 4ul>": "Arr<int,4>", "A<struct B>": "A<B>",
		"HashMap<&str, u32>":    "HashMap<&str,u32>",
		"(anonymous namespace)": "(anonymous namespace)", "": "", "__int128 unsigned": "unsigned __int128",
		"structure x":   "structure x",
		"fn(u8) -> u16": "fn(u8)->u16", "A<long unsigned int, 0x1fUL>": "A<unsigned long,0x1f>",
	} {
		if got := canonicalName(in); got != want {
			t.Errorf("canonicalName(%q) = %q, want %q", in, got, want)
		}
		if again := canonicalName(want); again != want {
			t.Errorf("canonicalName(%q) = %q: not stable", want, again)
		}
	}
	for in, want := range map[string][]string{
		"a::b": {"a", "b"}, "a<b::c>::d": {"a<b::c>", "d"}, "operator<::x": {"operator<", "x"},
		"A::operator<<::x":       {"A", "operator<<", "x"},
		"a::operator()(b::c)::d": {"a", "operator()(b::c)", "d"}, "<T as a::B>::c": {"<T as a::B>", "c"}, "a": {"a"},
		"":                   {""},
		"f<fn() -> x::y>::z": {"f<fn() -> x::y>", "z"},
	} {
		if got := splitName(in); !slices.Equal(got, want) {
			t.Errorf("splitName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFixedPlace(t *testing.T) {
	u := &unit{addrSize: 8, sec: &infoSec{file: &dwarfFile{addr: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0}}}}
	for in, want := range map[string]fixedPlace{
		"\x03\x10\x20\x00\x00\x00\x00\x00\x00":         {kind: placeAddr, val: 0x2010},
		"\x03\x10\x20\x00\x00\x00\x00\x00\x00\x23\x08": {kind: placeAddr, val: 0x2018},
		"\xa1\x01":                 {kind: placeAddr, val: 0x200},
		"\xfb\x00":                 {kind: placeAddr, val: 0x100},
		"\xa1\x01\x34\x22":         {kind: placeAddr, val: 0x204},
		"\x0c\x10\x00\x00\x00\x9b": {kind: placeTLS, val: 16},
		"\x0e\x10\x00\x00\x00\x00\x00\x00\x00\xe0": {kind: placeTLS, val: 16},
		"\xa2\x01\xe0": {kind: placeTLS, val: 0x200},
		"\xfc\x00\xe0": {kind: placeTLS, val: 0x100},
		"\x09\xff\x9f": {kind: placeConst, val: ^uint64(0)},
		"\x35\x9f":     {kind: placeConst, val: 5},
		"\x9e\x02ab":   {kind: placeConst, b: []byte("ab")},
		"":             {},
		"\x91\x10":     {}, // DW_OP_fbreg
		"\x50":         {}, // DW_OP_reg0
		"\x03\x10\x20\x00\x00\x00\x00\x00\x00\x93\x04": {}, // DW_OP_piece
		"\x03\x10\x20": {},
		"\xa1\x01\x9f": {}, // an address as a value
		"\x35":         {}, // a number is no place
		"\x9e\x7fab":   {},
		"\x03\x10\x20\x00\x00\x00\x00\x00\x00\x06": {}, // DW_OP_deref
	} {
		got := u.fixedPlace([]byte(in))
		if want.kind == placeNone {
			want = fixedPlace{}
		}
		if got.kind == placeNone {
			got = fixedPlace{}
		}
		if !got.equal(want) {
			t.Errorf("fixedPlace(%x) = %+v, want %+v", in, got, want)
		}
	}
	if got := (fixedPlace{kind: placeConst, val: ^uint64(0)}).bytes(16); len(got) != 16 || got[15] != 0xff {
		t.Errorf("a constant of 16 bytes is %x", got)
	}
}

func FuzzFixedPlace(f *testing.F) {
	f.Add([]byte("\x03\x10\x20\x00\x00\x00\x00\x00\x00\x23\x08"))
	f.Add([]byte("\xa2\x01\xe0\x9e\x02ab"))
	u := &unit{addrSize: 8, sec: &infoSec{file: &dwarfFile{addr: make([]byte, 64)}}}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := u.fixedPlace(b)
		if p.kind == placeConst {
			p.bytes(int64(len(b)))
		}
	})
}

// FuzzNameQuery asks a real module for anything.
func FuzzNameQuery(f *testing.F) {
	for _, s := range []string{"ns::Tm<int>::v", "vars.cc::stat", "unsigned long int", "a<<b>>::", "operator<::x", ")(",
		"::::", "x<", ">-"} {
		f.Add(s)
	}
	m, err := Open(build(f, "vars.cc", "g++", "-std=c++17", "-gdwarf-5", "-O0"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer m.Close()
	f.Fuzz(func(t *testing.T, s string) {
		if got := strings.Join(splitName(s), "::"); got != s {
			t.Errorf("splitName(%q) lost something: %q", s, got)
		}
		canonicalName(s)
		for _, v := range m.Variables(s) {
			if v.Name == "" || v.Type == nil {
				t.Errorf("Variables(%q) has %+v", s, v)
			}
		}
		m.TypesNamed(s)
		m.OptimizedOut(s)
	})
}

// TestVariableMutations damages the debug sections and symbols of real programs and asks for every name.
func TestVariableMutations(t *testing.T) {
	programs := []string{
		build(t, "vars.cc", "g++", "-std=c++17", "-gdwarf-5", "-O0"),
		build(t, "vars.cc", "g++", "-std=c++17", "-gdwarf-4", "-O0", "-fdebug-types-section"),
		build(t, "vars.cc", "clang++", "-std=c++17", "-gdwarf-5", "-O2"),
		build(t, "vars.cc", "g++", "-std=c++17", "-gdwarf-2", "-gno-strict-dwarf", "-O0"),
	}
	rnd := rand.New(rand.NewPCG(2, uint64(*mutations)))
	path := filepath.Join(t.TempDir(), "prog")
	for _, src := range programs {
		good, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, src, Options{})
		for n := range *mutations {
			bad := slices.Clone(good)
			for range rnd.IntN(12) + 1 {
				name := []string{".debug_info", ".debug_info", ".debug_abbrev", ".debug_str", ".symtab", ".strtab", ".debug_addr",
					".debug_types"}[rnd.IntN(8)]
				i := m.im.find(name)
				if i < 0 {
					continue
				}
				s := &m.im.sects[i]
				bad[s.off+rnd.Uint64N(s.size)] = []byte{0, 0xff, byte(rnd.Uint32()), byte(rnd.IntN(64))}[rnd.IntN(4)]
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if d, err := Open(path, Options{DebugDirs: []string{}}); err == nil {
				askAll(d)
				d.Close()
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%s, damage %d: took %v", filepath.Base(src), n, took)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// askAll asks a module for all of its names, and for some types.
func askAll(m *Module) {
	for _, n := range m.VariableNames() {
		for _, v := range m.Variables(n) {
			walkType(v.Type, map[*Type]bool{})
		}
	}
	for _, n := range []string{"C", "ns::Two", "int", "Color", "uint8_t", "M"} {
		for _, t := range m.TypesNamed(n) {
			walkType(t, map[*Type]bool{})
		}
	}
	m.OptimizedOut("refers")
	m.TLSOffset()
}

// TestVariablesConcurrently asks from several goroutines while the module is closed.
func TestVariablesConcurrently(t *testing.T) {
	m := open(t, build(t, "vars.cc", "g++", "-std=c++17", "-gdwarf-5", "-O0"), Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { askAll(m) })
	}
	wg.Wait()
	for range 4 {
		wg.Go(func() { askAll(m) })
	}
	m.Close()
	wg.Wait()
	closed := open(t, m.Path, Options{})
	closed.Close()
	if vs := closed.Variables("x"); vs != nil {
		t.Errorf("a closed module has %v", vs)
	}
}

// TestVariablesElsewhere looks in what is not an ordinary program: a shared library, and a program whose
// debug information is in another file.
func TestVariablesElsewhere(t *testing.T) {
	lib := open(t, build(t, "vars.cc", "g++", "-std=c++17", "-g", "-shared", "-fPIC"), Options{})
	if off, ok := lib.TLSOffset(); ok {
		t.Errorf("TLSOffset() of a shared library = %d, true", off)
	}
	addr, thread := nmOf(t, lib.Path)
	check(t, lib, addr, thread, "tls_first", "tls_first", "tls_first")
	check(t, lib, addr, thread, "C::n", "ns::C::n", "_ZN2ns1C1nE")

	prog := build(t, "vars.cc", "g++", "-std=c++17", "-g")
	addr, thread = nmOf(t, prog)
	dir := t.TempDir()
	bare, debug := filepath.Join(dir, "bare"), filepath.Join(dir, "bare.debug")
	run(t, "objcopy", "--only-keep-debug", prog, debug)
	run(t, "objcopy", "--strip-all", prog, bare)
	split := open(t, bare, Options{SymbolsPath: debug})
	check(t, split, addr, thread, "tls_first", "tls_first", "tls_first")
	check(t, split, addr, thread, "ns::hidden", "ns::(anonymous namespace)::hidden", "_GLOBAL__N_1*6hiddenE")

	plain := open(t, build(t, "vars.cc", "g++", "-std=c++17", "-g0"), Options{})
	if n := plain.VariableNames(); len(n) != 0 || plain.Variables("x") != nil || plain.TypesNamed("int") != nil {
		t.Errorf("without debug information there are %q", n)
	}
	if off, ok := plain.TLSOffset(); !ok || off >= 0 {
		t.Errorf("TLSOffset() without debug information = %d, %v", off, ok)
	}
}

// BenchmarkNameTable builds the table of a large program; -big names one.
func BenchmarkNameTable(b *testing.B) {
	path := bigProgram(b)
	for b.Loop() {
		b.StopTimer()
		m, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if len(m.TypesNamed("int")) == 0 {
			b.Error(fmt.Errorf("no int in %s", path))
		}
		b.StopTimer()
		m.Close()
		b.StartTimer()
	}
}
