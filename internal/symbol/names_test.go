package symbol

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRustUnderscores keeps the underscores that are part of a name: the demangler drops the first of each part.
func TestRustUnderscores(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"_ZN6server1_69_$LT$impl$u20$serde_core..ser..Serialize$u20$for$u20$server..Note$GT$9serialize17h1d85d4311ba16833E",
			"server::_::<impl serde_core::ser::Serialize for server::Note>::serialize"},
		{"_ZN3std2io5stdio6_print17h66364b8e744f924bE", "std::io::stdio::_print"},
		{"_ZN4demo8__helper4_run17h66364b8e744f924bE", "demo::__helper::_run"},
		{"_ZN4demo5_step17h66364b8e744f924bE.llvm.123", "demo::_step"},
		{"_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$17h66364b8e744f924bE", "demo::main::{{closure}}"},
		{"_ZN49_$LT$demo..T$u20$as$u20$core..ops..drop..Drop$GT$4drop17h66364b8e744f924bE",
			"<demo::T as core::ops::drop::Drop>::drop"},
		{"_ZN5_demo4_funE", "_demo::_fun"}, // C++
	} {
		if name, _, ok := demangled(c.raw); !ok || name != c.want {
			t.Errorf("%s: %q, want %q", c.raw, name, c.want)
		}
	}
}

// TestSplitClone keeps apart what gcc adds to the name of a clone and Rust's module of that name.
func TestSplitClone(t *testing.T) {
	for _, c := range []struct{ raw, base string }{
		{"twice.clone.0", "twice"},
		{"deep.isra.0.cold", "deep"},
		{"_ZN65_$LT$alloc..rc..Rc$LT$T$C$A$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h66364b8e744f924bE",
			"_ZN65_$LT$alloc..rc..Rc$LT$T$C$A$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h66364b8e744f924bE"},
		{"_ZN4core..clone..Clone5clone17h66364b8e744f924bE.clone.1", "_ZN4core..clone..Clone5clone17h66364b8e744f924bE"},
	} {
		if base, suffix := splitClone(c.raw); base != c.base || base+suffix != c.raw {
			t.Errorf("splitClone(%s) = %s, %s, want %s", c.raw, base, suffix, c.base)
		}
	}
}

// TestNamesOfC: a C function may be called as if it were mangled; c++filt makes operator>= of _Zgetc.
func TestNamesOfC(t *testing.T) {
	const source = `int _Zgetc(int n) { return n; }
int _ZN4item3addEv(void) { return 1; }
int _R_use(void) { return 2; }
int main(void) { return _Zgetc(0) + _ZN4item3addEv() + _R_use() - 3; }
`
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2"}, {"-g", "-O2", "-flto"}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "names.c"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "gcc", append(flags, filepath.Join(dir, "names.c"), "-o", filepath.Join(dir, "names"))...)
		m := open(t, filepath.Join(dir, "names"), Options{})
		for _, want := range []string{"_Zgetc", "_ZN4item3addEv", "_R_use"} {
			i := slices.IndexFunc(m.Functions(), func(f Function) bool { return f.Raw == want })
			if i < 0 {
				if slices.Contains(flags, "-O0") {
					t.Errorf("%v: no %s", flags, want)
				}
				continue // inlined everywhere
			}
			if f := m.Functions()[i]; f.Name != want || f.Full() != want {
				t.Errorf("%v: %s is called %s, %s", flags, want, f.Name, f.Full())
			}
		}
	}
}
