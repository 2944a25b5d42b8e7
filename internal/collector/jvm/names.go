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
