package natvis

import (
	"fmt"
	"strings"
)

// Limits on an expression whose intrinsics are put in.
const (
	maxExpanded = 4000
	maxCalls    = 200
	maxInside   = 16
)

// Inline returns an expression in which calls of intrinsics stand for what they compute.
func (t *Type) Inline(text string) (string, error) {
	all := map[string]*Intrinsic{}
	for i := range t.File.Intrinsics {
		all[t.File.Intrinsics[i].Name] = &t.File.Intrinsics[i]
	}
	for i := range t.Intrinsics {
		all[t.Intrinsics[i].Name] = &t.Intrinsics[i]
	}
	if len(all) == 0 {
		return text, nil
	}
	x := expander{all: all}
	return x.expand(text, 0)
}

type expander struct {
	all   map[string]*Intrinsic
	calls int
}

func (x *expander) expand(s string, depth int) (string, error) {
	if depth > maxInside {
		return "", fmt.Errorf("intrinsics call each other more than %d deep", maxInside)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if b.Len() > maxExpanded {
			return "", fmt.Errorf("with its intrinsics it has more than %d bytes", maxExpanded)
		}
		c := s[i]
		switch {
		case c == '"' || c == '\'':
			end := quoted(s, i)
			b.WriteString(s[i:end])
			i = end
		case wordByte(c):
			end := i
			for end < len(s) && wordByte(s[end]) {
				end++
			}
			word, open := s[i:end], end
			for open < len(s) && s[open] == ' ' {
				open++
			}
			in := x.all[word]
			if in == nil || open >= len(s) || s[open] != '(' || member(s[:i]) {
				b.WriteString(word)
				i = end
				continue
			}
			shut := closing(s[open:])
			if shut < 0 {
				return "", fmt.Errorf("the call of %s is not closed", word)
			}
			text, err := x.call(in, s[open+1:open+shut], depth)
			if err != nil {
				return "", err
			}
			b.WriteString("(" + text + ")")
			i = open + shut + 1
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), nil
}

// member reports that what follows is another object's: a.f( is no call of an intrinsic. this->f( is one.
func member(before string) bool {
	before = strings.TrimRight(before, " ")
	for _, this := range []string{"this->", "this ->"} {
		if strings.HasSuffix(before, this) {
			return false
		}
	}
	return strings.HasSuffix(before, ".") || strings.HasSuffix(before, "->") || strings.HasSuffix(before, "::")
}

func quoted(s string, from int) int {
	for i := from + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[from]:
			return i + 1
		}
	}
	return len(s)
}

func (x *expander) call(in *Intrinsic, args string, depth int) (string, error) {
	if x.calls++; x.calls > maxCalls {
		return "", fmt.Errorf("it calls intrinsics more than %d times", maxCalls)
	}
	given := splitArguments(args)
	if len(given) != len(in.Params) {
		return "", fmt.Errorf("%s takes %d arguments, not %d", in.Name, len(in.Params), len(given))
	}
	by := map[string]string{}
	for i, p := range in.Params {
		a, err := x.expand(given[i], depth+1)
		if err != nil {
			return "", err
		}
		by[p] = "(" + a + ")"
	}
	body, err := x.expand(replaceWords(in.Expr, by), depth+1)
	if err == nil && len(body) > maxExpanded {
		return "", fmt.Errorf("with its intrinsics it has more than %d bytes", maxExpanded)
	}
	return body, err
}

func splitArguments(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var out []string
	for {
		at := firstComma(s)
		if at < 0 {
			return append(out, strings.TrimSpace(s))
		}
		out = append(out, strings.TrimSpace(s[:at]))
		s = s[at+1:]
	}
}

func firstComma(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			i = quoted(s, i) - 1
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func replaceWords(s string, by map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() <= maxExpanded; {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			end := quoted(s, i)
			b.WriteString(s[i:end])
			i = end
		case wordByte(c):
			end := i
			for end < len(s) && wordByte(s[end]) {
				end++
			}
			word := s[i:end]
			if r, ok := by[word]; ok && !member(s[:i]) {
				word = r
			}
			b.WriteString(word)
			i = end
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}
