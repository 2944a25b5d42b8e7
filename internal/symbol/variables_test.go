package symbol

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// nmOf returns the addresses that nm gives for symbols, and all symbols that hold a text.
func nmOf(t *testing.T, path string) (addr map[string][]Addr, thread map[string]bool) {
	t.Helper()
	addr, thread = map[string][]Addr{}, map[string]bool{}
	for line := range strings.Lines(run(t, "readelf", "-sW", path)) {
		f := strings.Fields(line)
		if len(f) < 8 || f[6] == "UND" || f[3] != "OBJECT" && f[3] != "TLS" && f[3] != "NOTYPE" {
			continue
		}
		v, err := strconv.ParseUint(f[1], 16, 64)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(f[7], "@")
		if !slices.Contains(addr[name], Addr(v)) {
			addr[name] = append(addr[name], Addr(v))
		}
		thread[name] = f[3] == "TLS"
	}
	return addr, thread
}

// symbolFor finds the symbol of a variable: one of exactly that name, else the only one that has all of the parts.
func symbolFor(t *testing.T, addr map[string][]Addr, want string) (name string, a Addr) {
	t.Helper()
	if as := addr[want]; len(as) == 1 {
		return want, as[0]
	}
	var found []string
	for n := range addr {
		all := true
		for _, p := range strings.Split(want, "*") {
			all = all && strings.Contains(n, p)
		}
		if all {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		t.Fatalf("symbols for %q: %v, want one", want, found)
	}
	return found[0], addr[found[0]][0]
}

// check compares the first answer for a name with the symbol table.
func check(t *testing.T, m *Module, addr map[string][]Addr, thread map[string]bool, name, full, sym string) {
	t.Helper()
	vs := m.Variables(name)
	if len(vs) == 0 {
		if len(addr[sym]) == 0 && len(m.OptimizedOut(name)) > 0 {
			return // the linker or LTO removed it
		}
		t.Errorf("Variables(%q) is empty; names: %q; optimized out: %v", name, Suggest(m.VariableNames(), name),
			m.OptimizedOut(name))
		return
	}
	raw, want := symbolFor(t, addr, sym)
	v := vs[0]
	if v.Addr != want || v.TLS != thread[raw] || v.Name != full || v.Const != nil {
		t.Errorf("Variables(%q)[0] = %s at %#x, thread %v, const %v; want %s at %#x, thread %v (%s)", name, v.Name, v.Addr,
			v.TLS, v.Const, full, want, thread[raw], raw)
	}
	if v.Type == nil || v.Type.Kind == KindUnknown {
		t.Errorf("Variables(%q)[0] has no type", name)
	}
	if v.Line == 0 || !filepath.IsAbs(v.File) {
		t.Errorf("Variables(%q)[0] is declared at %s:%d", name, v.File, v.Line)
	}
}

// dwarfFlags are the flavours that every C and C++ test runs in.
var dwarfFlags = [][]string{
	{"-gdwarf-5", "-O0"}, {"-gdwarf-5", "-O2"}, {"-gdwarf-4", "-O2"}, {"-gdwarf-3", "-O0"},
	{"-gdwarf-2", "-gno-strict-dwarf", "-O0"},
	{"-gdwarf-5", "-O2", "-gsplit-dwarf"}, {"-gdwarf-4", "-O0", "-gsplit-dwarf"},
	{"-gdwarf-4", "-O0", "-fdebug-types-section"},
	{"-gdwarf-5", "-O0", "-fdebug-types-section"}, {"-gdwarf-5", "-O0", "-static"}, {"-gdwarf-5", "-O2", "-no-pie"},
	{"-gdwarf-5", "-O2", "-fPIC", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"},
	{"-gdwarf-5", "-O2", "-flto"},
}

func eachFlavour(t *testing.T, source string, compilers []string, extra []string,
	fn func(t *testing.T, m *Module, path string)) {
	for _, cc := range compilers {
		for _, flags := range dwarfFlags {
			if strings.HasPrefix(cc, "clang") && (slices.Contains(flags, "-gno-strict-dwarf") ||
				slices.Contains(flags, "-flto")) {
				continue // gcc's own; LLVM's needs a linker plugin
			}
			t.Run(cc+" "+strings.Join(flags, " "), func(t *testing.T) {
				p := build(t, source, cc, append(slices.Clone(flags), extra...)...)
				fn(t, open(t, p, Options{}), p)
			})
		}
	}
}

func TestVariablesCPP(t *testing.T) {
	eachFlavour(t, "vars.cc", []string{"g++", "clang++"}, []string{"-std=c++17"},
		func(t *testing.T, m *Module, path string) {
			addr, thread := nmOf(t, path)
			inline, anon := "ns::v1::inlined", "ns::(anonymous namespace)::hidden"
			if vs := m.Variables("inlined"); len(vs) > 0 && vs[0].Name == "ns::inlined" {
				inline = "ns::inlined" // gcc with DWARF 2 and LTO know no inline namespaces
			}
			for _, c := range []struct{ name, full, sym string }{
				{"ns::x", "ns::x", "_ZN2ns1xE"},
				{"x", "x", "x"}, {"::x", "x", "x"},
				{"hidden", anon, "_GLOBAL__N_1*6hiddenE"},
				{"ns::hidden", anon, "_GLOBAL__N_1*6hiddenE"},
				{anon, anon, "_GLOBAL__N_1*6hiddenE"},
				{"inlined", inline, "_ZN2ns2v17inlinedE"},
				{"C::n", "ns::C::n", "_ZN2ns1C1nE"},
				{"ns::C::own", "ns::C::own", "_ZN2ns1C3ownE"},
				{"In::deep", "ns::C::In::deep", "_ZN2ns1C2In4deepE"},
				{"ns::Tm<int>::v", "ns::Tm<int>::v", "_ZN2ns2TmIiE1vE"},
				{"Tm< double >::v", "ns::Tm<double>::v", "_ZN2ns2TmIdE1vE"},
				{"Tm<char>::q", "ns::Tm<char>::q", "_ZN2ns2TmIcE1qE"},
				{"Tm::q", "ns::Tm<char>::q", "_ZN2ns2TmIcE1qE"}, // the only one
				{"tls_first", "tls_first", "tls_first"},
				{"tls_static", "tls_static", "_ZL10tls_static"},
				{"tls_wide", "tls_wide", "tls_wide"},
				{"stat", "stat", "_ZL4stat"}, {"vars.cc::stat", "stat", "_ZL4stat"}, {"testdata/vars.cc::stat", "stat", "_ZL4stat"},
				{"col", "col", "col"}, {"refers", "refers", "refers"}, {"table", "table", "table"},
				{"vt<int>", "ns::vt<int>", "_ZN2ns2vtIiEE"}, {"ns::vt", "ns::vt<int>", "_ZN2ns2vtIiEE"},
				{"bump::calls", "bump::calls", "_ZZ4bumpiE5calls"}, {"calls", "bump::calls", "_ZZ4bumpiE5calls"},
				{"bump::nested", "bump::nested", "_ZZ4bumpiE6nested"},
				{"M::f::in_method", "M::f::in_method", "_ZZN1M1fEvE9in_method"},
				{"tls_method", "M::f::tls_method", "_ZZN1M1fEvE10tls_method"},
				{"M::g::in_static", "M::g::in_static", "_ZZN1M1gEvE9in_static"},
				{"vars.cc::M::g::in_static", "M::g::in_static", "_ZZN1M1gEvE9in_static"},
			} {
				check(t, m, addr, thread, c.name, c.full, c.sym)
			}
			if vs := m.Variables("in_lambda"); len(vs) == 0 || !strings.HasPrefix(vs[0].Name, "main::") {
				t.Errorf("Variables(in_lambda) = %v", vs)
			} else if _, a := symbolFor(t, addr, "in_lambda"); vs[0].Addr != a {
				t.Errorf("in_lambda is at %#x, want %#x", vs[0].Addr, a)
			}
			for _, wrong := range []string{"", "::", "nothing", "ns::", "Tm::v", "other.cc::stat", "ns::C", "x::", "lambda",
				"argc", "C::x"} {
				if vs := m.Variables(wrong); len(vs) != 0 {
					t.Errorf("Variables(%q) = %v, want none", wrong, vs)
				}
			}
			constants(t, m, addr)
			if got := m.Variables("table")[0].Type; got.Strip().Kind != KindArray || got.Strip().Count != 3 {
				t.Errorf("table has type %s", got)
			}
			names := m.VariableNames()
			if !slices.IsSorted(names) || !slices.Contains(names, "ns::C::In::deep") {
				t.Errorf("VariableNames() = %q", names)
			}
		})
}

// constants checks what has a value and perhaps no address.
func constants(t *testing.T, m *Module, addr map[string][]Addr) {
	t.Helper()
	for name, want := range map[string]string{
		"ns::C::k": "\x2a\x00\x00\x00", "kconst": "\x9d\xff\xff\xff", "ns::C::d": "\x00\x00\x00\x00\x00\x00\xf8\x3f",
	} {
		vs := m.Variables(name)
		if len(vs) != 1 {
			if name == "ns::C::d" && len(vs) == 0 && len(m.OptimizedOut(name)) == 0 && m.dwarf().secs[0].units[0].version < 4 {
				continue // never written before DWARF 4
			}
			t.Errorf("Variables(%q) = %v, want one", name, vs)
			continue
		}
		got := vs[0].Const
		if got == nil {
			b, err := m.BytesAt(vs[0].Addr, len(want))
			if err != nil {
				t.Errorf("read %s: %v", name, err)
			}
			got = b
		}
		if string(got) != want {
			t.Errorf("%s = %x at %#x, want %x", name, got, vs[0].Addr, want)
		}
	}
}

func TestVariablesC(t *testing.T) {
	strobetest.NeedTime(t)
	dir := t.TempDir()
	nodbg := filepath.Join(dir, "nodbg.c")
	if err := os.WriteFile(nodbg, []byte("int no_debug_info = 4;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cc := range []string{"gcc", "clang"} {
		for _, flags := range [][]string{{"-gdwarf-5", "-O0"}, {"-gdwarf-5", "-O2"}, {"-gdwarf-4", "-O2"},
			{"-gdwarf-2", "-O0"}} {
			t.Run(cc+" "+strings.Join(flags, " "), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "prog")
				src, err := filepath.Abs("testdata/vars.c")
				if err != nil {
					t.Fatal(err)
				}
				copied := filepath.Join(filepath.Dir(out), "second.c")
				text, err := os.ReadFile(src)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(copied, text, 0o600); err != nil {
					t.Fatal(err)
				}
				run(t, cc, append(slices.Clone(flags), "-c", "-DOTHER", "-o", out+"2.o", copied)...)
				run(t, cc, append(slices.Clone(flags), "-c", "-o", out+"1.o", src)...)
				run(t, cc, "-g0", "-c", "-o", out+"3.o", nodbg)
				run(t, cc, "-o", out, out+"1.o", out+"2.o", out+"3.o")
				m := open(t, out, Options{})
				addr, thread := nmOf(t, out)
				for _, c := range []struct{ name, full, sym string }{
					{"owned", "owned", "owned"}, {"no_debug_info", "no_debug_info", "no_debug_info"}, {"stderr", "stderr", "stderr"},
					{"head", "head", "head"}, {"big", "big", "big"}, {"only", "only", "only"},
					{"per_thread", "per_thread", "per_thread"},
					{"per_thread_static", "per_thread_static", "per_thread_static"},
				} {
					if cc == "clang" && (c.name == "no_debug_info" || c.name == "stderr") {
						continue // clang describes no declarations
					}
					check(t, m, addr, thread, c.name, c.full, c.sym)
				}
				for _, c := range []struct {
					name string
					n    int
					val  byte
				}{{"shared_name", 2, 0}, {"second.c::shared_name", 1, 20}, {"vars.c::shared_name", 1, 10}, {"main::calls", 1, 100},
					{"second.c::shared", 0, 0}} {
					vs := m.Variables(c.name)
					if len(vs) != c.n {
						t.Errorf("Variables(%q) = %v, want %d", c.name, vs, c.n)
						continue
					}
					if c.n == 1 {
						if b, err := m.BytesAt(vs[0].Addr, 1); err != nil || b[0] != c.val || vs[0].External {
							t.Errorf("%s at %#x holds %v, %v; want %d", c.name, vs[0].Addr, b, err, c.val)
						}
					}
				}
				if got := len(m.Variables("calls")); got != 2 {
					t.Errorf("%d variables are named calls, want 2", got)
				}
			})
		}
	}
}

func TestVariablesRust(t *testing.T) {
	for _, flags := range [][]string{{"-g"}, {"-g", "-O"}, {"-g", "-O", "-Csymbol-mangling-version=v0"},
		{"-g", "-Clto=thin", "-O"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			p := build(t, "vars.rs", "rustc", append([]string{"--crate-name", "vars"}, flags...)...)
			m := open(t, p, Options{})
			addr, thread := nmOf(t, p)
			for _, c := range []struct{ name, full, sym string }{
				{"COUNT", "vars::COUNT", "4vars*5COUNT"}, {"vars::COUNT", "vars::COUNT", "4vars*5COUNT"},
				{"crate::COUNT", "vars::COUNT", "4vars*5COUNT"},
				{"vars::RAW", "vars::RAW", "4vars*3RAW"}, {"inner::PAIR", "vars::inner::PAIR", "5inner*4PAIR"},
				{"SHAPE", "vars::inner::SHAPE", "5inner*5SHAPE"}, {"bump::CALLS", "vars::bump::CALLS", "4bump*5CALLS"},
				{"DEPTH", "vars::DEPTH", "4vars*5DEPTH*RUST_STD_INTERNAL_VAL"},
				{"vars::TEXT", "vars::TEXT", "4vars*4TEXT*RUST_STD_INTERNAL_VAL"},
			} {
				check(t, m, addr, thread, c.name, c.full, c.sym)
				if vs := m.Variables(c.name); len(vs) != 1 {
					t.Errorf("Variables(%q) has %d answers: %v", c.name, len(vs), vs)
				}
			}
			for _, c := range []struct {
				name string
				kind Kind
				size int64
			}{{"Pair", KindStruct, 8}, {"inner::Shape", KindStruct, 8}, {"u32", KindBase, 4}, {"&str", KindStruct, 16},
				{"Vec<u64>", KindStruct, 24}, {"alloc::vec::Vec<u64, alloc::alloc::Global>", KindStruct, 24},
				{"Option<u8>", KindStruct, 2}} {
				ts := m.TypesNamed(c.name)
				if len(ts) == 0 || ts[0].Kind != c.kind || ts[0].Size != c.size {
					t.Errorf("TypesNamed(%q) = %v, want kind %d, %d bytes", c.name, ts, c.kind, c.size)
				}
			}
		})
	}
}

func TestTypesNamedCPP(t *testing.T) {
	eachFlavour(t, "vars.cc", []string{"g++", "clang++"}, []string{"-std=c++17"},
		func(t *testing.T, m *Module, path string) {
			typeUnits := strings.Contains(t.Name(), "types-section") // where clang gives nested types no names around them
			for _, c := range []struct {
				name, full string
				kind       Kind
				size       int64
			}{
				{"C", "ns::C", KindStruct, 1}, {"ns::C", "ns::C", KindStruct, 1}, {"struct ns::C", "ns::C", KindStruct, 1},
				{"ns::C::In", "ns::C::In", KindStruct, 1}, {"Color", "Color", KindEnum, 1}, {"const Color", "Color", KindEnum, 1},
				{"Tm<int>", "ns::Tm<int>", KindStruct, 1}, {"Two<int, unsigned long>", "*", KindStruct, 16},
				{"Two<int>", "*", KindStruct, 16}, {"ns::Two", "*", KindStruct, 16},
				{"Two<int,long unsigned int>", "*", KindStruct, 16},
				{"int", "int", KindBase, 4}, {"unsigned long int", "*", KindBase, 8}, {"unsigned long", "*", KindBase, 8},
				{"char", "char", KindBase, 1}, {"uint8_t", "*", KindTypedef, 1}, {"Opaque", "Opaque", KindStruct, -1},
				{"unsigned char", "unsigned char", KindBase, 1}, {"signed int", "int", KindBase, 4}, {"long", "*", KindBase, 8},
			} {
				ts := m.TypesNamed(c.name)
				if len(ts) == 0 || ts[0].Kind != c.kind || ts[0].Size != c.size || c.full != "*" && !typeUnits &&
					ts[0].QualifiedName() != c.full {
					t.Errorf("TypesNamed(%q) = %v, want %s, kind %d, %d bytes", c.name, ts, c.full, c.kind, c.size)
				}
			}
			for _, wrong := range []string{"", "Tm", "nothing", "x", "ns", "struct", "C::", "int*"} {
				if ts := m.TypesNamed(wrong); len(ts) != 0 {
					t.Errorf("TypesNamed(%q) = %v, want none", wrong, ts)
				}
			}
		})
}

// TestTLSOffset runs programs that say where their thread-locals are.
func TestTLSOffset(t *testing.T) {
	eachFlavour(t, "vars.cc", []string{"g++", "clang++"}, []string{"-std=c++17"},
		func(t *testing.T, m *Module, path string) {
			off, ok := m.TLSOffset()
			if !ok || off >= 0 {
				t.Fatalf("TLSOffset() = %d, %v", off, ok)
			}
			main := one(t, m, "main").Low
			out, err := exec.Command(path).Output()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for sc := bufio.NewScanner(strings.NewReader(string(out))); sc.Scan(); n++ {
				name, num, _ := strings.Cut(sc.Text(), " ")
				want, err := strconv.ParseInt(num, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				v := m.Variables(name)[0]
				got := off + int64(v.Addr)
				if !v.TLS {
					got = int64(v.Addr) - int64(main)
				}
				if got != want {
					t.Errorf("%s is at %d, the program says %d", name, got, want)
				}
			}
			if n != 6 {
				t.Errorf("the program printed %d lines", n)
			}
		})
}
