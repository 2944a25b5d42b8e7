package natvis

import (
	"regexp"
	"strings"
)

// Pattern is a type's name in which * stands for template arguments.
type Pattern struct{ text string }

// maxBound bounds the wildcards of one pattern, $T1 to $T64.
const maxBound = 64

// NewPattern reads a pattern.
func NewPattern(text string) Pattern { return Pattern{tidy(text)} }

func (p Pattern) String() string { return p.text }

// head is what the pattern's name begins with, up to its arguments.
func (p Pattern) head() string { return headOf(p.text) }

func headOf(name string) string {
	if at := strings.IndexByte(name, '<'); at >= 0 {
		return name[:at]
	}
	return name
}

// Bound is what a wildcard stands for: the argument's text, and the way to it from the type: an argument's number, then
// of that type's arguments, and so on.
type Bound struct {
	Text string
	Path []int
}

// match compares a tidy name. bound is what $T1, $T2 and so on stand for.
func (p Pattern) match(name string) (bound []Bound, ok bool) {
	m := matcher{}
	return m.bound, m.name(p.text, name, nil, 0) && m.done(&bound)
}

type matcher struct{ bound []Bound }

func (m *matcher) done(to *[]Bound) bool { *to = m.bound; return true }

func (m *matcher) name(pattern, name string, path []int, depth int) bool {
	if pattern == "*" {
		if len(m.bound) < maxBound {
			m.bound = append(m.bound, Bound{name, append([]int(nil), path...)})
		}
		return true
	}
	if pattern == "**" { // "* *": any pointer
		return strings.HasSuffix(name, "*") && m.name("*", name, path, depth)
	}
	at := strings.IndexByte(pattern, '<')
	if at < 0 || depth > 16 {
		return pattern == name
	}
	if !strings.HasPrefix(name, pattern[:at+1]) {
		return false
	}
	want, rest, ok := arguments(pattern[at:])
	got, more, ok2 := arguments(name[at:])
	if !ok || !ok2 {
		return pattern == name
	}
	for i, w := range want {
		if w == "*" && i == len(want)-1 {
			for ; i < len(got); i++ {
				m.name("*", got[i], append(path, i), depth)
			}
			got = got[:len(want)-1]
			want = want[:len(want)-1]
			break
		}
		if i >= len(got) || !m.name(w, got[i], append(path, i), depth+1) {
			return false
		}
	}
	return len(want) == len(got) && m.name(rest, more, nil, depth+1)
}

// arguments splits "<a,b<c>>rest".
func arguments(s string) (args []string, rest string, ok bool) {
	depth, from := 0, 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '>':
			if i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				if i > from {
					args = append(args, strings.TrimSpace(s[from:i]))
				}
				return args, s[i+1:], true
			}
		case ',':
			if depth == 1 {
				args = append(args, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return nil, "", false
}

// tidy leaves out blanks that mean nothing, so that spellings of compilers and people compare.
func tidy(name string) string {
	name = strings.TrimSpace(name)
	if !strings.ContainsAny(name, " \t\n\r") {
		return name
	}
	var b strings.Builder
	blank := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			blank = true
			continue
		}
		if blank && wordByte(c) && b.Len() > 0 && wordByte(b.String()[b.Len()-1]) {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteByte(c)
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// versions are namespaces that libraries put their version into, and that nobody writes.
var versions = regexp.MustCompile(`\b(lts_[0-9]+|json_abi[0-9a-z_]*|__cxx11|__1|__ndk1|debian[0-9]+|v[0-9]{1,3}|_V2)::`)

// Plain is a type's name as descriptions have it: blanks that mean nothing and namespaces of versions left out.
func Plain(name string) string {
	name = tidy(name)
	if !strings.Contains(name, "::") {
		return name
	}
	return versions.ReplaceAllString(name, "")
}
