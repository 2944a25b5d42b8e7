package hook

import "strings"

// IsFragment reports whether a symbol is a piece that gcc split off a function, foo.cold: it is
// jumped to from the middle of foo, with foo's frame in place, and must not be hooked. (foo.part.0,
// foo.isra.0 and foo.constprop.0 are functions. So are clang's foo.cold.1, but they look the same as
// gcc's older foo.cold.1, and count as fragments.)
func IsFragment(name string) bool {
	i := strings.LastIndex(name, ".cold")
	if i < 0 {
		return false
	}
	rest := name[i+len(".cold"):]
	return rest == "" || rest[0] == '.' && strings.Trim(rest[1:], "0123456789") == ""
}
