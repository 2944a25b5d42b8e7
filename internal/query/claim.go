package query

import (
	"errors"
	"regexp"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
)

// claim is a sentence about calls: an expression, one that holds whenever another one does, or how one goes on from
// call to call.
type claim struct {
	source string
	holds  string // expression that is true; or whose values the sequence is about
	when   string // "": always
	steps  string // "never decreases" and so on; "": no sequence
	per    []string
}

// sequences are what may stand behind an expression about its values from call to call.
var sequences = []string{"never decreases", "always grows", "never grows", "never increases", "never repeats",
	"never changes"}

// everyCall is "every release(c) has c.timer == 0".
var everyCall = regexp.MustCompile(`^every\s+([^\s()]+)\s*(?:\(([^()]*)\))?\s+(?:has|returns)\s+`)

const claimHint = `Write an expression over arguments, "result", "out.X", "thrown", "took" (ns), "$thread": ` +
	`"weight >= 0 whenever result == true", "a < b", "ticket never decreases per lane", "id never repeats".`

// parseClaim reads a claim. names are what "every f(names) has" calls the arguments.
func parseClaim(text string) (c claim, function string, names []string, err error) {
	c.source = strings.TrimSpace(text)
	rest := c.source
	if m := everyCall.FindStringSubmatch(rest); m != nil {
		function, rest = m[1], rest[len(m[0]):]
		for name := range strings.SplitSeq(m[2], ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	var ok bool
	for _, word := range []string{" whenever ", " when ", " if "} {
		if c.holds, c.when, ok = cutOutside(rest, word); ok {
			break
		}
	}
	for _, s := range sequences {
		before, after, found := cutOutside(c.holds+" ", " "+s+" ")
		if !found {
			continue
		}
		c.holds, c.steps = before, s
		if per, ok := strings.CutPrefix(strings.TrimSpace(after), "per "); ok {
			for p := range strings.SplitSeq(strings.Trim(per, "() "), ",") {
				c.per = append(c.per, strings.TrimSpace(p))
			}
		} else if strings.TrimSpace(after) != "" {
			return c, "", nil, invalid("claim", claimHint, "%q behind %q is not understood", excerpt([]byte(after)), s)
		}
	}
	for _, e := range c.expressions() {
		if _, err := expr.ParseRecorded(e, ""); err != nil {
			return c, "", nil, claimError(e, err)
		}
	}
	return c, function, names, nil
}

// expressions are all that the claim has.
func (c *claim) expressions() []string {
	out := []string{c.holds}
	if c.when != "" {
		out = append(out, c.when)
	}
	return append(out, c.per...)
}

func claimError(source string, err error) error {
	hint := claimHint
	var e *expr.Error
	if errors.As(err, &e) && e.Hint != "" {
		hint = e.Hint
	}
	return invalid("claim", hint, "%q: %w", excerpt([]byte(source)), err)
}

// cutOutside cuts s around the first word that stands outside of quotes.
func cutOutside(s, word string) (before, after string, ok bool) {
	var quote byte
	for i := range len(s) {
		switch b := s[i]; {
		case quote != 0:
			if b == quote && s[i-1] != '\\' {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case strings.HasPrefix(s[i:], word):
			return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+len(word):]), true
		}
	}
	return strings.TrimSpace(s), "", false
}
