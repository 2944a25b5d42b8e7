package jvm

import (
	"strings"
)

// shown is a class's name as functions have it: java/util/Map$Entry is java.util.Map.Entry. What has no name of its
// own keeps its number: Main$1. StrobeLayout.java does the same with classes of values.
func shown(class string) string {
	b := []byte(strings.ReplaceAll(class, "/", "."))
	for i := 1; i+1 < len(b); i++ {
		before, after := b[i-1], b[i+1]
		if b[i] == '$' && before != '$' && before != '.' &&
			(after >= 'a' && after <= 'z' || after >= 'A' && after <= 'Z' || after == '_') {
			b[i] = '.'
		}
	}
	return string(b)
}

// methodName is a method's name as functions have it: constructors are new, static initialisers static, and what javac
// made of a lambda is named below the method that it stands in. StrobeCrash.java does the same with frames.
func methodName(name string) string {
	switch name {
	case "<init>":
		return "new"
	case "<clinit>":
		return "static"
	}
	if rest, ok := strings.CutPrefix(name, "lambda$"); ok {
		if i := strings.LastIndexByte(rest, '$'); i > 0 {
			return methodName(rest[:i]) + ".lambda" + rest[i:]
		}
	}
	return name
}

// globbed reports whether a glob stands for a text: docs/agentlink.md, Globs.
func globbed(glob, s string, sep byte) bool {
	for glob != "" {
		switch {
		case strings.HasPrefix(glob, "**"):
			rest := glob[2:]
			if rest != "" && rest[0] == sep && globbed(rest[1:], s, sep) {
				return true // between two separators also for nothing
			}
			for i := 0; i <= len(s); i++ {
				if globbed(rest, s[i:], sep) {
					return true
				}
			}
			return false
		case glob[0] == '*':
			for i := 0; i <= len(s); i++ {
				if globbed(glob[1:], s[i:], sep) {
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

// named reports whether a glob stands for a function's name: for the whole, or for its end from a package or class on.
func named(glob, name string) bool {
	for {
		if globbed(glob, name, '.') {
			return true
		}
		_, rest, ok := strings.Cut(name, ".")
		if !ok || !strings.Contains(rest, ".") {
			return false
		}
		name = rest
	}
}
