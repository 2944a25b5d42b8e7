package testadapter

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/near"
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

// maxNear bounds the names that are compared with one that does not exist.
const maxNear = 50_000

// unmatched says that no test is meant, and which names are near.
func (n *native) unmatched(names []string, hint string) {
	text := fmt.Sprintf("no test matches %q", n.r.Test)
	if near := near.Parts(n.r.Test, names[:min(len(names), maxNear)], 5); len(near) > 0 {
		text += "; near it: " + strings.Join(near, ", ")
	} else if len(names) == 0 {
		text += ": there are no tests"
	}
	if hint != "" {
		text += ". " + hint
	}
	n.note("%s", text)
}

// comparison tells both sides of an expression whose values are shown: "2 == 3". Other operators stay with the side
// that was wanted.
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
