package testadapter

import (
	"fmt"
	"slices"
	"strings"
)

// choose finds what a request means among names: those that are equal to it, else those that contain it.
func choose(want string, names []string) []string {
	var equal, part []string
	for _, name := range names {
		switch {
		case name == want:
			equal = append(equal, name)
		case strings.Contains(name, want):
			part = append(part, name)
		}
	}
	if len(equal) > 0 {
		return equal
	}
	return part
}

// unmatched says that no test is meant, and which names are near.
func (n *native) unmatched(names []string, hint string) {
	text := fmt.Sprintf("no test matches %q", n.r.Test)
	if near := nearest(n.r.Test, names, 5); len(near) > 0 {
		text += "; near it: " + strings.Join(near, ", ")
	} else if len(names) == 0 {
		text += ": there are no tests"
	}
	if hint != "" {
		text += ". " + hint
	}
	n.note("%s", text)
}

// nearest are the names most like one, the most like first.
func nearest(want string, names []string, most int) []string {
	type scored struct {
		name  string
		score float64
	}
	var all []scored
	grams := trigrams(want)
	for _, name := range names[:min(len(names), 50_000)] {
		other := trigrams(name)
		shared := 0
		for g := range grams {
			if other[g] {
				shared++
			}
		}
		if total := len(grams) + len(other); total > 0 && float64(2*shared)/float64(total) >= 0.25 {
			all = append(all, scored{name, float64(2*shared) / float64(total)})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	var near []string
	for _, s := range all[:min(len(all), most)] {
		near = append(near, s.name)
	}
	return near
}

func trigrams(s string) map[string]bool {
	runes := []rune("  " + strings.ToLower(s[:min(len(s), 1000)]) + " ")
	grams := map[string]bool{}
	for i := 0; i+3 <= len(runes); i++ {
		grams[string(runes[i:i+3])] = true
	}
	return grams
}

// comparison tells both sides of an expression whose values are shown: "2 == 3". Other operators stay with the side that was wanted.
func comparison(s string) (actual, expected string) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ' ' && depth == 0:
			for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
				if rest, ok := strings.CutPrefix(s[i+1:], op+" "); ok {
					if op != "==" {
						rest = op + " " + rest
					}
					return strings.TrimSpace(s[:i]), strings.TrimSpace(rest)
				}
			}
		}
	}
	return "", ""
}
