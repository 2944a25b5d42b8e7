package capture

import "testing"

// TestRustNames reads the names that rustc gives to references and to types of its library.
func TestRustNames(t *testing.T) {
	for _, c := range []struct{ name, referent, trait string }{
		{"&str", "str", ""},
		{"&mut [alloc::string::String]", "[alloc::string::String]", ""},
		{"*const std::path::Path", "std::path::Path", ""},
		{"alloc::boxed::Box<[u8], alloc::alloc::Global>", "[u8]", ""},
		{"alloc::boxed::Box<dyn core::fmt::Debug, alloc::alloc::Global>", "dyn core::fmt::Debug", "core::fmt::Debug"},
		{"alloc::boxed::Box<(dyn core::any::Any + core::marker::Send), alloc::alloc::Global>",
			"(dyn core::any::Any + core::marker::Send)", "core::any::Any"},
		{"&dyn core::ops::function::Fn<(i32,), Output=i32>", "dyn core::ops::function::Fn<(i32,), Output=i32>",
			"core::ops::function::Fn"},
		{"alloc::vec::Vec<u8, alloc::alloc::Global>", "", ""},
		{"", "", ""},
	} {
		if got := rustReferent(c.name); got != c.referent {
			t.Errorf("rustReferent(%q) = %q, want %q", c.name, got, c.referent)
		}
		if got := rustTrait(rustReferent(c.name)); got != c.trait {
			t.Errorf("rustTrait of %q = %q, want %q", c.name, got, c.trait)
		}
	}
	for _, c := range []struct {
		name string
		want bool
	}{
		{"alloc::vec::Vec<u8, alloc::alloc::Global>", true}, {"hashbrown::raw::Vec", true}, {"mine::Vec<u8>", false},
		{"Vec<alloc::vec::Vec>", false}, {"alloc::vec::Vector", false},
		{"alloc::vec::into_iter::IntoIter<alloc::vec::Vec>", false}, {"", false},
	} {
		if got := rustType("Vec")(c.name); got != c.want {
			t.Errorf("rustType(Vec)(%q) = %v, want %v", c.name, got, c.want)
		}
	}
}

// FuzzRustNames looks for names that the matchers do not survive: they come from the program's file.
func FuzzRustNames(f *testing.F) {
	for _, s := range []string{"&str", "alloc::boxed::Box<dyn a::B<c>, d>", "a::{closure_env#0}", "<", "::", "core::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, k := range rustStd {
			k.match(name)
		}
		rustTrait(rustReferent(name))
	})
}
