package agentlink

import "strings"

// Globbed reports whether a glob stands for a text: docs/agentlink.md, Globs.
func Globbed(glob, s string, sep byte) bool {
	for glob != "" {
		switch {
		case strings.HasPrefix(glob, "**"):
			rest := glob[2:]
			if rest != "" && rest[0] == sep && Globbed(rest[1:], s, sep) {
				return true // between two separators also for nothing
			}
			for i := 0; i <= len(s); i++ {
				if Globbed(rest, s[i:], sep) {
					return true
				}
			}
			return false
		case glob[0] == '*':
			for i := 0; i <= len(s); i++ {
				if Globbed(glob[1:], s[i:], sep) {
					return true
				}
				if i < len(s) && s[i] == sep {
					return false
				}
			}
			return false
		case s == "" || glob[0] != s[0] && (glob[0] != '?' || s[0] == sep):
			return false
		}
		glob, s = glob[1:], s[1:]
	}
	return s == ""
}

// Named reports whether a glob stands for a function's name: for the whole, or for its end from a package or class on.
func Named(glob, name string) bool {
	for {
		if Globbed(glob, name, '.') {
			return true
		}
		_, rest, ok := strings.Cut(name, ".")
		if !ok || !strings.Contains(rest, ".") {
			return false
		}
		name = rest
	}
}
