package symbol

import "strings"

// nameQuery is a name that somebody wrote, in parts.
type nameQuery struct {
	file string   // "file.c" of "file.c::x"
	segs []string // canonical
}

// How well a name matches; lower is better.
const (
	rankWhole   = 0      // the qualified name
	rankSkipped = 1      // the qualified name without anonymous and inline namespaces
	rankSuffix  = 2      // its last parts
	rankDefault = 1 << 3 // added: the last template arguments were left out
	rankLoose   = 1 << 4 // added: template arguments were left out altogether
)

// maxQuery bounds a name that is looked for.
const maxQuery = 1 << 12

// newNameQuery splits a variable's name.
func newNameQuery(name string, withFile bool) nameQuery {
	var q nameQuery
	name = strings.TrimPrefix(strings.TrimSpace(name), "::")
	name = strings.TrimPrefix(name, "crate::")
	if name == "" || len(name) > maxQuery {
		return q
	}
	raw := splitName(name)
	if withFile && len(raw) > 1 {
		if f := strings.Trim(raw[0], `'"`); strings.ContainsAny(f, "./") {
			q.file, raw = f, raw[1:]
		}
	}
	for _, s := range raw {
		s = canonicalName(s)
		if s == "" {
			return nameQuery{}
		}
		q.segs = append(q.segs, s)
	}
	return q
}

// newTypeQuery splits a type's name; with whole it is not split: "dyn core::fmt::Debug" is one name.
func newTypeQuery(name string, whole bool) nameQuery {
	name = strings.TrimSpace(name)
	for {
		cut := name
		for _, w := range []string{"const ", "volatile ", "struct ", "class ", "union ", "enum ", "typename "} {
			cut = strings.TrimSpace(strings.TrimPrefix(cut, w))
		}
		cut = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(cut, " const"), " volatile"))
		if cut == name {
			break
		}
		name = cut
	}
	if whole && len(name) <= maxQuery {
		if name = canonicalName(name); name != "" {
			return nameQuery{segs: []string{name}}
		}
		return nameQuery{}
	}
	return newNameQuery(name, false)
}

func (q nameQuery) key() uint64 { return nameKey([]byte(q.segs[len(q.segs)-1])) }

// match ranks a name inside a path, or returns -1.
func (t *nameTable) match(q nameQuery, name string, path int32) int {
	last := len(q.segs) - 1
	loose, ok := matchSegment(q.segs[last], name)
	if !ok {
		return -1
	}
	skipped, rest := false, false
	left := last // parts not yet found
	for ; path != 0; path = t.paths[path].parent {
		p := &t.paths[path]
		if left > 0 {
			if l, ok := matchSegment(q.segs[left-1], p.name); ok {
				loose |= l
				left--
				continue
			}
			if !p.skipped {
				return -1
			}
		}
		if p.skipped {
			skipped = true
		} else {
			rest = true
		}
	}
	switch {
	case left > 0:
		return -1
	case rest:
		return rankSuffix + loose
	case skipped:
		return rankSkipped + loose
	}
	return rankWhole + loose
}

// matchSegment compares one part, want being canonical.
func matchSegment(want, have string) (loose int, ok bool) {
	if want == have {
		return 0, true
	}
	have = canonicalName(have)
	switch {
	case want == have:
		return 0, true
	case strings.HasSuffix(want, ">") && strings.HasPrefix(have, want[:len(want)-1]+","):
		return rankDefault, true
	case strings.HasSuffix(have, ">") && strings.IndexByte(want, '<') < 0 && plainName(have) == want:
		return rankLoose, true
	}
	return 0, false
}

// join returns a path with "::" behind each part.
func (t *nameTable) join(path int32) string {
	var parts []string
	for ; path != 0; path = t.paths[path].parent {
		parts = append(parts, t.paths[path].name)
	}
	n := 0
	for _, p := range parts {
		n += len(p) + 2
	}
	var b strings.Builder
	b.Grow(n)
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
		b.WriteString("::")
	}
	return b.String()
}

// splitName splits at "::" outside of brackets.
func splitName(name string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			if !isOperatorName(name[start:i]) {
				depth++
			}
		case '>':
			if depth > 0 && name[i-1] != '-' { // not the arrow of a function type
				depth--
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if depth <= 0 && strings.HasPrefix(name[i:], "::") {
				out = append(out, name[start:i])
				i++
				start = i + 1
			}
		}
	}
	return append(out, name[start:])
}

// isOperatorName reports whether a "<" behind s belongs to an operator's name.
func isOperatorName(s string) bool {
	return s == "operator" || s == "operator<" || s == "operator "
}

// nameKey hashes a name without its template arguments.
func nameKey(name []byte) uint64 {
	space := false
	for i, c := range name {
		if c == '<' && i > 0 {
			name = name[:i]
			break
		}
		space = space || c == ' '
	}
	if space || len(name) == len("unsigned") && string(name) == "unsigned" || string(name) == "signed" ||
		string(name) == "_Bool" {
		return hashName(hashSeed, []byte(canonicalName(string(name))))
	}
	return hashName(hashSeed, name)
}

// baseWords are the words that C's base types are made of, in any order.
var baseWords = map[string]bool{"signed": true, "unsigned": true, "short": true, "long": true, "int": true,
	"char":   true,
	"double": true, "__int128": true, "_Bool": true}

// canonicalName spells a name one way: no needless spaces, base types as "unsigned long", numbers without suffix.
func canonicalName(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = name[i] > ' ' && name[i] != '<'
	}
	if plain && !baseWords[name] {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	var base []string
	wordEnd := false // the last thing written was a word
	word := func(w string) {
		if wordEnd {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		wordEnd = true
	}
	flush := func() {
		if len(base) > 0 {
			word(baseType(base))
			base = base[:0]
		}
	}
	for i := 0; i < len(name); {
		c := name[i]
		if c <= ' ' {
			i++
			continue
		}
		if !isWordByte(c) {
			flush()
			b.WriteByte(c)
			wordEnd = false
			i++
			continue
		}
		j := i
		for j < len(name) && isWordByte(name[j]) {
			j++
		}
		w := name[i:j]
		i = j
		switch {
		case baseWords[w]:
			base = append(base, w)
			continue
		case (w == "struct" || w == "class" || w == "union" || w == "enum") && i < len(name) && name[i] == ' ':
			continue
		case w[0] >= '0' && w[0] <= '9':
			w = strings.TrimRight(w, "uUlL")
		}
		flush()
		word(w)
	}
	flush()
	return b.String()
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// baseType orders the words of a base type.
func baseType(words []string) string {
	long, kind, sign := 0, "", ""
	for _, w := range words {
		switch w {
		case "long":
			long++
		case "unsigned", "signed":
			sign = w
		case "_Bool":
			kind = "bool"
		case "int":
			if kind == "" {
				kind = w
			}
		default:
			kind = w
		}
	}
	switch {
	case kind == "double":
		if long > 0 {
			return "long double"
		}
		return kind
	case kind == "bool":
		return kind
	case kind == "char":
		if sign != "" {
			return sign + " char"
		}
		return kind
	case long > 1:
		kind = "long long"
	case long == 1:
		kind = "long"
	case kind == "":
		kind = "int"
	}
	if sign == "unsigned" {
		return "unsigned " + kind
	}
	return kind
}
