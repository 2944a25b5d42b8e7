package natvis

import (
	"fmt"
	"strings"
)

// specs are the format specifiers that are known; those with false change nothing that is shown here.
var specs = map[string]bool{
	"d": true, "o": true, "x": true, "X": true, "h": true, "H": true, "xb": true, "hb": true, "Xb": true, "Hb": true,
	"b": true, "bb": true,
	"e": false, "g": false, "f": false, "c": true, "s": true, "sb": true, "s8": true, "s8b": true, "su": true, "sub": true,
	"bstr": true,
	"s32":  true, "s32b": true, "en": false, "hv": false, "na": false, "nd": false, "nr": false, "hr": false, "wc": false,
	"wm": false, "wr": false,
	"handle": false, "expand": false,
}

// parseExpr reads an expression with its format specifiers. problem is what of them is not known.
func parseExpr(text string) (e *Expr, problem string) {
	text = strings.TrimSpace(text)
	e = &Expr{Text: text}
	at := lastComma(text)
	if at < 0 {
		return e, ""
	}
	f, ok, unknown := parseFormat(strings.TrimSpace(text[at+1:]))
	if !ok {
		return e, ""
	}
	if unknown != "" {
		problem = fmt.Sprintf("the format specifier %q is not known", unknown)
	}
	e.Text, e.Format = strings.TrimSpace(text[:at]), f
	return e, problem
}

// lastComma finds the last comma outside of brackets and quotes, -1 if there is none.
func lastComma(s string) int {
	depth, last := 0, -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case ',':
			if depth == 0 {
				last = i
			}
		}
	}
	return last
}

// parseFormat reads specifiers, which follow each other without anything between. ok is false if this is something
// else, such as the second argument of a template.
func parseFormat(s string) (f Format, ok bool, unknown string) {
	for s != "" {
		s = strings.TrimSpace(s)
		switch {
		case s[0] == '[':
			end := closing(s)
			if end < 0 {
				return f, false, ""
			}
			f.Size, s = strings.TrimSpace(s[1:end]), s[end+1:]
		case s[0] == '!':
			f.Raw, s = true, s[1:]
		case strings.HasPrefix(s, "view("):
			end := strings.IndexByte(s, ')')
			if end < 0 {
				return f, false, ""
			}
			f.View, s = strings.TrimSpace(s[len("view("):end]), s[end+1:]
		case strings.HasPrefix(s, "nvo"):
			f.Raw, s = true, s[len("nvo"):]
		case '0' <= s[0] && s[0] <= '9': // a fixed number of elements, as an old way to write [n]
			n := 0
			for n < len(s) && '0' <= s[n] && s[n] <= '9' {
				n++
			}
			f.Size, s = s[:n], s[n:]
		default:
			n := 0
			for k := min(len(s), 6); k > 0; k-- {
				if _, known := specs[s[:k]]; known {
					n = k
					break
				}
			}
			if n == 0 {
				if isWord(s) {
					return f, true, s
				}
				return f, false, ""
			}
			if specs[s[:n]] {
				f.Spec = s[:n]
			}
			s = s[n:]
		}
	}
	return f, true, ""
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if !wordByte(s[i]) {
			return false
		}
	}
	return len(s) < 8
}

// closing finds the bracket that closes the one that s begins with.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// parseText reads the text of a DisplayString: {expression} and {{, }}.
func parseText(s string) (parts []Part, problem string) {
	text := ""
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"):
			text += s[i : i+1]
			i++
		case s[i] == '{':
			end := closing(s[i:])
			if end < 0 {
				return append(parts, Part{Text: text + s[i:]}), "a brace is not closed"
			}
			e, p := parseExpr(s[i+1 : i+end])
			if p != "" {
				problem = p
			}
			if text != "" {
				parts = append(parts, Part{Text: text})
			}
			parts, text = append(parts, Part{Expr: e}), ""
			i += end
		default:
			text += s[i : i+1]
		}
		if len(parts) > maxParts {
			return parts, fmt.Sprintf("it has more than %d parts", maxParts)
		}
	}
	if text != "" {
		parts = append(parts, Part{Text: text})
	}
	return parts, problem
}

// maxParts bounds the parts of one text.
const maxParts = 64
