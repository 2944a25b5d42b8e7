package symbol

import "testing"

func TestCastIn(t *testing.T) {
	for _, c := range []struct{ name, of, trait string }{
		{"a::B as c::D", "a::B", "c::D"},
		{"a::B<<c::D as e::F>::G> as h::I<<j as k>::L>", "a::B<<c::D as e::F>::G>", "h::I<<j as k>::L>"},
		{"fn(i32) -> a::B as core::fmt::Debug", "fn(i32) -> a::B", "core::fmt::Debug"},
		{"u8 as _", "u8", "_"},
	} {
		at := castIn(c.name)
		if at < 0 || c.name[:at] != c.of || c.name[at+len(" as "):] != c.trait {
			t.Errorf("castIn(%q) = %d, want %q as %q", c.name, at, c.of, c.trait)
		}
	}
	for _, name := range []string{"", "a", "a<b as c>", "as", " as", ">", "<", "->"} {
		if at := castIn(name); at >= 0 {
			t.Errorf("castIn(%q) = %d, want none", name, at)
		}
	}
}
