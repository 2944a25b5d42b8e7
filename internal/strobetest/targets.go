package strobetest

import (
	"slices"
	"testing"
)

// Target is one program below testdata/targets. Every target checks itself: it exits with Exit
// and prints the same on standard output every time, whoever watches.
type Target struct {
	Name  string
	Lang  string   // c, cpp, rust
	Files []string // below testdata/targets/LANG
	Libs  []string // C files built as shared libraries next to the program: x.c becomes x.so
	Flags []string // besides the variant's
	Args  []string // of a run that takes well under two seconds untraced
	Stdin string
	Exit  int
	// Not lists variants, or beginnings of their names, that it cannot be built or run with, and why.
	Not map[string]string
	// Blurred says that the output depends on timing; only the exit code is checked.
	Blurred bool
}

// Variant is one way to build targets of some languages.
type Variant struct {
	Name  string
	Langs []string
	C     string // C compiler
	CXX   string // C++ compiler
	Flags []string
	// Sanitizer says that the program carries a sanitizer's runtime: slow, and with its own signal handlers.
	Sanitizer bool
}

var (
	cBoth  = []string{"c", "cpp"}
	cOnly  = []string{"c"}
	rusts  = []string{"rust"}
	noMusl = "needs glibc"

	asanCancel = "its runtime takes the stack of a cancelled thread for still poisoned"
)

// Variants lists the ways to build, compiler by compiler.
var Variants = []Variant{
	{Name: "gcc-O0", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O0"}},
	{Name: "gcc-O1", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O1"}},
	{Name: "gcc-O2", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2"}},
	{Name: "gcc-O3", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O3"}},
	{Name: "clang-O0", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O0"}},
	{Name: "clang-O1", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O1"}},
	{Name: "clang-O2", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O2"}},
	{Name: "clang-O3", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O3"}},
	{Name: "gcc-O2-cet", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-fcf-protection=full"}},
	{Name: "gcc-O0-cet", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O0", "-fcf-protection=full"}},
	{Name: "clang-O2-cet", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O2", "-fcf-protection=full"}},
	{Name: "gcc-O2-fp", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-fno-omit-frame-pointer"}},
	{Name: "gcc-O2-lto", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-flto"}},
	{Name: "gcc-O2-nopie", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-fno-pie", "-no-pie"}},
	{Name: "gcc-O0-nopie", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O0", "-fno-pie", "-no-pie"}},
	{Name: "gcc-O2-static", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-static"}},
	{Name: "gcc-O2-staticpie", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-static-pie"}},
	{Name: "gcc-O2-dwarf4", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O2", "-gdwarf-4"}},
	{Name: "gcc-asan", Langs: cBoth, C: "gcc", CXX: "g++", Flags: []string{"-O1", "-fsanitize=address"}, Sanitizer: true},
	{Name: "gcc-ubsan", Langs: cBoth, C: "gcc", CXX: "g++",
		Flags: []string{"-O1", "-fsanitize=undefined", "-fno-sanitize-recover"}, Sanitizer: true},
	{Name: "clang-asan", Langs: cBoth, C: "clang", CXX: "clang++", Flags: []string{"-O1", "-fsanitize=address"},
		Sanitizer: true},
	{Name: "musl-O2", Langs: cOnly, C: "musl-gcc", Flags: []string{"-O2"}},
	{Name: "musl-O2-static", Langs: cOnly, C: "musl-gcc", Flags: []string{"-O2", "-static"}},
	{Name: "rust-debug", Langs: rusts},
	{Name: "rust-release", Langs: rusts, Flags: []string{"-O"}},
	{Name: "rust-static", Langs: rusts, Flags: []string{"-O", "-Ctarget-feature=+crt-static"}},
}

// Targets is the corpus.
var Targets = []Target{
	{Name: "threads", Lang: "c", Files: []string{"threads.c"}, Args: []string{"3000"}},
	{Name: "longjmp", Lang: "c", Files: []string{"longjmp.c"}},
	{Name: "pthread_exit", Lang: "c", Files: []string{"pthread_exit.c"}},
	{Name: "pthread_cancel", Lang: "c", Files: []string{"pthread_cancel.c"},
		Not: map[string]string{"gcc-asan": asanCancel, "clang-asan": asanCancel}},
	{Name: "backtrace", Lang: "c", Files: []string{"backtrace.c"}, Not: map[string]string{"musl": noMusl}},
	{Name: "sigaltstack", Lang: "c", Files: []string{"sigaltstack.c"}, Args: []string{"30000"},
		Not: map[string]string{"gcc-asan": "its runtime moves locals off the stack",
			"clang-asan": "its runtime moves locals off the stack"}},
	{Name: "fork", Lang: "c", Files: []string{"fork.c"}},
	{Name: "vfork_exec", Lang: "c", Files: []string{"vfork_exec.c"}},
	{Name: "alloca", Lang: "c", Files: []string{"alloca.c"}},
	{Name: "recursion", Lang: "c", Files: []string{"recursion.c"}},
	{Name: "variadic", Lang: "c", Files: []string{"variadic.c"}},
	{Name: "bigstruct", Lang: "c", Files: []string{"bigstruct.c"}},
	{Name: "tailcalls", Lang: "c", Files: []string{"tailcalls.c"},
		Not: map[string]string{"clang-asan": "musttail cannot be combined with it"}},
	{Name: "computed_goto", Lang: "c", Files: []string{"computed_goto.c"}},
	{Name: "asm", Lang: "c", Files: []string{"asm_main.c", "asm_funcs.S"}},
	{Name: "ipa_ra", Lang: "c", Files: []string{"ipa_ra.c"}},
	{Name: "dlopen", Lang: "c", Files: []string{"dlopen.c"}, Libs: []string{"dlopen_lib.c"}, Flags: []string{"-ldl"},
		Not: map[string]string{"musl": "its dlclose keeps the library", "gcc-O2-static": "no dlopen",
			"gcc-O2-staticpie": "no dlopen"}},
	{Name: "tls_ctors", Lang: "c", Files: []string{"tls_ctors.c"}},
	{Name: "nested", Lang: "c", Files: []string{"nested.c"}},
	{Name: "coroutines", Lang: "c", Files: []string{"coroutines.c"},
		Not: map[string]string{"musl": noMusl, "gcc-asan": "its runtime does not know the stacks",
			"clang-asan": "its runtime does not know the stacks"}},
	{Name: "sigprof", Lang: "c", Files: []string{"sigprof.c"}},
	{Name: "eintr", Lang: "c", Files: []string{"eintr.c"}},
	{Name: "echo_stdin", Lang: "c", Files: []string{"echo_stdin.c"}, Stdin: "one\ntwo words\n\nlast without newline"},
	{Name: "output", Lang: "c", Files: []string{"output.c"}},
	{Name: "ending", Lang: "c", Files: []string{"ending.c"}, Args: []string{"exit", "7"}, Exit: 7},
	{Name: "exec_self", Lang: "c", Files: []string{"exec_self.c"}},
	{Name: "spin", Lang: "c", Files: []string{"spin.c"}, Args: []string{"count", "20000"}},
	{Name: "locked", Lang: "c", Files: []string{"locked.c"}},
	{Name: "loaded", Lang: "c", Files: []string{"loaded.c"}, Blurred: true},
	{Name: "exceptions", Lang: "cpp", Files: []string{"exceptions.cpp"}, Flags: []string{"-std=c++17"}},
	{Name: "virtuals", Lang: "cpp", Files: []string{"virtuals.cpp"}, Flags: []string{"-std=c++17"}},
	{Name: "generators", Lang: "cpp", Files: []string{"generators.cpp"}, Flags: []string{"-std=c++20"}},
	{Name: "panics", Lang: "rust", Files: []string{"panics.rs"}},
	{Name: "values", Lang: "rust", Files: []string{"values.rs"}},
	// hash seeds, addresses
	{Name: "types_library", Lang: "rust", Files: []string{"types_library.rs", "types_want.rs"}, Blurred: true},
	{Name: "types_broken", Lang: "rust", Files: []string{"types_broken.rs"}},
	{Name: "types_own", Lang: "rust", Files: []string{"types_own.rs", "types_want.rs"}, Blurred: true},
}

// TargetNamed returns the target of that name.
func TargetNamed(name string) (Target, bool) {
	i := slices.IndexFunc(Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return Targets[i], true
}

// VariantNamed returns the variant of that name.
func VariantNamed(name string) (Variant, bool) {
	i := slices.IndexFunc(Variants, func(v Variant) bool { return v.Name == name })
	if i < 0 {
		return Variant{}, false
	}
	return Variants[i], true
}

// Variants lists the names of the variants that t is built with.
func (t Target) Variants() []string {
	var names []string
	for _, v := range Variants {
		if slices.Contains(v.Langs, t.Lang) && t.not(v.Name) == "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// spread is how many variants besides gcc's two plain ones a usual run takes of a target, by language: few enough that
// all targets are built and traced in a minute, and so many that a language's targets meet all of its variants between
// them.
var spread = map[string]int{"c": 3, "cpp": 7, "rust": 2}

// SomeVariants lists the variants that a usual run takes: two plain ones, and others that differ from target to target.
// make soak takes all.
func (t Target) SomeVariants(tb testing.TB) []string {
	tb.Helper()
	if Soaks(tb, "all variants of each target") {
		return t.Variants()
	}
	return t.some()
}

func (t Target) some() []string {
	plain := func(v string) bool { return v == "gcc-O0" || v == "gcc-O2" }
	others := slices.DeleteFunc(t.Variants(), plain)
	of := slices.DeleteFunc(slices.Clone(Targets), func(o Target) bool { return o.Lang != t.Lang })
	at := slices.IndexFunc(of, func(o Target) bool { return o.Name == t.Name })
	names := slices.DeleteFunc(t.Variants(), func(v string) bool { return !plain(v) })
	for i := range min(spread[t.Lang], len(others)) {
		names = append(names, others[(at*spread[t.Lang]+i)%len(others)])
	}
	return names
}

// not returns why t cannot be built with that variant, or "".
func (t Target) not(variant string) string {
	for prefix, why := range t.Not {
		if variant == prefix || len(variant) > len(prefix) && variant[:len(prefix)+1] == prefix+"-" {
			return why
		}
	}
	return ""
}
