package symbol

import (
	"bytes"
	"strings"
)

// The tokens of a normalized name or pattern; all other bytes stand for themselves.
const (
	tokSep   = 0x01 // a separator between segments: :: or Go's .
	tokOpen  = 0x02 // arguments begin: <
	tokClose = 0x03 // arguments end: >
	tokStar  = 0x04 // *
	tokAll   = 0x05 // **
	tokAny   = 0x06 // ?
	tokSlash = 0x07 // Go's and paths' /
	tokMid   = 0x08 // ** between two separators; one of them follows: a::**::b is also a::b
)

const anonymous = "(anonymous namespace)"

// operators are the symbols that may follow "operator", longer ones first.
var operators = []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "==", "!=", "&&", "||",
	"++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "+", "-", "*", "/", "%", "^", "&", "|", "~", "!",
	"=", ","}

// normalize turns a demangled name into tokens. With strip, arguments are left out.
func normalize(dst []byte, name string, strip bool) []byte {
	segStart := true
	for i := 0; i < len(name); {
		switch c := name[i]; {
		case c == ':' && i+1 < len(name) && name[i+1] == ':':
			i += 2
			if i < len(name) && name[i] == '<' && !strings.HasPrefix(name[i:], "<impl ") && strings.Contains(name, "::<") &&
				turbofish(name[i:]) {
				continue // foo::<T>: arguments follow, no new segment
			}
			dst = append(dst, tokSep)
			segStart = true
			continue
		case segStart && c == 'o' && isOperator(name[i:]):
			n, whole := operatorLen(name[i:])
			dst = squeeze(dst, name[i:i+n])
			i += n
			for !whole && i+1 < len(name) && name[i] == ' ' && name[i+1] == '<' {
				i++
			}
		case c == '<':
			n := closing(name[i:])
			if segStart {
				dst = squeeze(dst, name[i:i+n])
			} else if !strip {
				dst = append(dst, tokOpen)
				dst = squeeze(dst, name[i+1:max(i+1, i+n-1)])
				dst = append(dst, tokClose)
			}
			i += n
		case strings.HasPrefix(name[i:], "[abi:"):
			i += closing(name[i:])
		case c == '(' || c == '{' || c == '[':
			n := closing(name[i:])
			dst = squeeze(dst, name[i:i+n])
			i += n
		case c == ' ' && !(i > 0 && i+1 < len(name) && identByte(name[i-1]) && identByte(name[i+1])):
			i++
			continue
		default:
			dst = append(dst, c)
			i++
		}
		segStart = false
	}
	return dst
}

// turbofish reports whether "<…>" at the start of s ends a segment: generic arguments of the one before.
// "<impl …>" and "<A as B>" are segments of their own.
func turbofish(s string) bool { return !strings.Contains(s[:closing(s)], " as ") }

// dropAnonymous removes anonymous namespaces from a normalized name.
func dropAnonymous(n []byte) []byte {
	return []byte(strings.ReplaceAll(string(n), "(anonymous namespace)\x01", ""))
}

// normalizeGo does the same for Go names: segments end at "." and "/", type arguments are in [].
func normalizeGo(dst []byte, name string, strip bool) []byte {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; c {
		case '.':
			dst = append(dst, tokSep)
		case '/':
			dst = append(dst, tokSlash)
		case '[':
			n := closing(name[i:])
			if !strip {
				dst = append(dst, tokOpen)
				dst = append(dst, name[i+1:max(i+1, i+n-1)]...)
				dst = append(dst, tokClose)
			}
			i += n - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// squeeze appends s without spaces that do not part two words.
func squeeze(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' && !(i > 0 && i+1 < len(s) && identByte(s[i-1]) && identByte(s[i+1])) {
			continue
		}
		dst = append(dst, s[i])
	}
	return dst
}

func identByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isOperator reports whether a segment is an operator function, not a name like operators.
func isOperator(s string) bool {
	const word = "operator"
	return strings.HasPrefix(s, word) && len(s) > len(word) && !identByte(s[len(word)]) && s[len(word)] != ':'
}

// operatorLen returns the length of an operator's name without template arguments. whole is set for
// conversion operators, whose type runs to the end.
func operatorLen(s string) (n int, whole bool) {
	n = len("operator")
	rest := s[n:]
	for _, w := range []string{" new[]", " delete[]", " new", " delete", " co_await"} {
		if strings.HasPrefix(rest, w) && (len(rest) == len(w) || !identByte(rest[len(w)])) {
			return n + len(w), false
		}
	}
	if strings.HasPrefix(rest, `""`) {
		n += 2
		for n < len(s) && (s[n] == ' ' || identByte(s[n])) {
			n++
		}
		return n, false
	}
	if rest[0] == ' ' {
		return len(s), true
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return n + len(op), false
		}
	}
	return n, false
}

// closing returns the length of the bracketed text that s begins with, brackets included; all of s
// when it is not closed. The > of -> and => closes nothing, nor that of .>, as older names of Rust have the arrow.
func closing(s string) int {
	var stack [64]byte
	depth := 0
	for i := 0; i < len(s); i++ {
		var want byte
		switch s[i] {
		case '<':
			want = '>'
		case '(':
			want = ')'
		case '[':
			want = ']'
		case '{':
			want = '}'
		case '>', ')', ']', '}':
			if s[i] == '>' && i > 0 && strings.IndexByte("-=.", s[i-1]) >= 0 {
				continue
			}
			if depth > 0 && stack[depth-1] != s[i] {
				if s[i] == '>' {
					continue // a comparison inside ()
				}
				for depth > 0 && stack[depth-1] == '>' { // a < that was a comparison
					depth--
				}
			}
			if depth > 0 {
				depth--
			}
			if depth == 0 {
				return i + 1
			}
			continue
		default:
			continue
		}
		if depth == len(stack) {
			return len(s)
		}
		stack[depth] = want
		depth++
	}
	return len(s)
}

// paramList returns the parameter list of a full name, with what follows it ("(int) const"). The
// return types of template functions, which stand in front, may hold parentheses too, and so may
// segments: the list is the last bracket at the top level.
func paramList(full string) (string, bool) {
	at := -1
	for i := 0; i < len(full); {
		switch c := full[i]; {
		case c == 'o' && (i == 0 || !identByte(full[i-1])) && isOperator(full[i:]):
			n, whole := operatorLen(full[i:])
			if whole { // a conversion: its list is the last one
				if j := strings.IndexByte(full[i:], '('); j >= 0 {
					n = j
				}
			}
			i += n
		case c == '(':
			if !strings.HasPrefix(full[i:], anonymous) {
				at = i
			}
			i += closing(full[i:])
		case c == '<' || c == '{' || c == '[':
			i += closing(full[i:])
		default:
			i++
		}
	}
	if at < 0 {
		return "", false
	}
	return full[at:], true
}

// implNames returns other names for functions of Rust impl blocks.
func implNames(name string) []string {
	head, rest := "", name
	if i := strings.Index(name, "::<impl "); i >= 0 && !strings.HasPrefix(name, "<") {
		head, rest = name[:i], name[i+2:]
	}
	n := closing(rest)
	if n < 2 {
		return nil
	}
	inner, tail := rest[1:n-1], rest[n:]
	var out []string
	if strings.HasPrefix(inner, "impl ") {
		inner = inner[len("impl "):]
		out = append(out, head+tail)
		if i := topLevel(inner, " for "); i >= 0 {
			return append(out, inner[i+len(" for "):]+tail, inner[:i]+tail)
		}
		return append(out, inner+tail)
	}
	if i := topLevel(inner, " as "); i >= 0 {
		return append(out, inner[:i]+tail, inner[i+len(" as "):]+tail)
	}
	return append(out, inner+tail)
}

// topLevel finds sep outside brackets.
func topLevel(s, sep string) int {
	for i := 0; i < len(s); {
		switch s[i] {
		case '<', '(', '[', '{':
			i += closing(s[i:])
			continue
		}
		if strings.HasPrefix(s[i:], sep) {
			return i
		}
		i++
	}
	return -1
}

// joinMid makes one token of each ** between two separators of a kind.
func joinMid(p []byte) []byte {
	for _, sep := range []byte{tokSep, tokSlash} {
		one := []byte{sep, tokAll, sep}
		for twice := []byte{sep, tokAll, sep, tokAll, sep}; bytes.Contains(p, twice); {
			p = bytes.ReplaceAll(p, twice, one)
		}
		p = bytes.ReplaceAll(p, one, []byte{tokMid, sep})
	}
	return p
}

// glob matches tokens against a normalized name. The last * and the last ** are retried; earlier ones need not be.
func glob(p, n []byte) bool {
	i, j := 0, 0
	starP, starN, allP, allN := -1, 0, -1, 0
	mid := byte(0) // the last ** stands between separators: what it takes ends with this one
	for {
		if j < len(p) {
			switch {
			case p[j] == tokMid && i < len(n) && n[i] == p[j+1]:
				allP, allN, starP, mid = j+2, i+1, -1, p[j+1]
				i, j = i+1, j+2
				continue
			case p[j] == tokMid:
				// no separator: a retry of what was before
			case p[j] == tokAll:
				mid = 0
				allP, allN, starP = j+1, i, -1
				j++
				continue
			case p[j] == tokStar:
				starP, starN = j+1, i
				j++
				continue
			case i < len(n) && (p[j] == n[i] || p[j] == tokAny && n[i] != tokSep && n[i] != tokSlash):
				i, j = i+1, j+1
				continue
			}
		} else if i == len(n) {
			return true
		}
		// Arguments that the pattern does not mention are passed over at a segment's end.
		if i < len(n) && n[i] == tokOpen && (j == len(p) || p[j] == tokSep || p[j] == tokMid) {
			for i < len(n) && n[i] != tokClose {
				i++
			}
			i++
			continue
		}
		switch {
		case starP >= 0 && starN < len(n) && n[starN] != tokSep && n[starN] != tokSlash:
			starN++
			i, j = starN, starP
		case allP >= 0 && allN < len(n):
			allN++
			for mid != 0 && allN < len(n) && n[allN-1] != mid {
				allN++
			}
			if mid != 0 && n[allN-1] != mid {
				return false
			}
			i, j, starP = allN, allP, -1
		default:
			return false
		}
	}
}
