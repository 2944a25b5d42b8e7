package event

import (
	"strings"
	"unicode/utf8"
)

// ShortName fits a function's name into width: first without template arguments, then without its front.
func ShortName(name string, width int) string {
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	name = BareName(name)
	if n := utf8.RuneCountInString(name); n > width {
		r := []rune(name)
		return "…" + string(r[n-width+1:])
	}
	return name
}

// BareName returns a qualified name without template arguments: a<b>::c<d> is a::c. Angle brackets that are
// no arguments stay: operators, and the <T as Trait> that a Rust path begins with.
func BareName(name string) string {
	if !strings.Contains(name, "<") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		if depth == 0 && strings.HasPrefix(name[i:], "operator") && (i == 0 || !identByte(name[i-1])) {
			n := operatorLen(name[i:])
			b.WriteString(name[i : i+n])
			i += n - 1
			continue
		}
		switch {
		case c == '<' && (depth > 0 || opensArguments(b.String())):
			if depth == 0 { // a turbofish, Rust's foo::<T>
				s := strings.TrimSuffix(b.String(), "::")
				b.Reset()
				b.WriteString(s)
			}
			depth++
		case c == '>' && depth > 0 && name[i-1] != '-':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	if depth != 0 {
		return name
	}
	return b.String()
}

// opensArguments reports whether a < after s begins template arguments.
func opensArguments(s string) bool {
	if strings.HasSuffix(s, "::") {
		return len(s) > 2
	}
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	return c == '>' || c == '}' || c == ')' || identByte(c)
}

func identByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// operatorLen returns the length of the operator name that s begins with, or of the word "operator".
func operatorLen(s string) int {
	const word = "operator"
	for _, op := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(s[len(word):], op) {
			return len(word) + len(op)
		}
	}
	return len(word)
}
