package symbol

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestGlobAgainstRegexp: ** between separators also matches nothing, in all mixtures with * and ** elsewhere. a::**::b
// did not take a::b.
func TestGlobAgainstRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b", "*", "**", "a*", "*b", "**a", "b**"}
	for range 20000 {
		var segs []string
		for range 1 + r.IntN(4) {
			segs = append(segs, parts[r.IntN(len(parts))])
		}
		text := strings.Join(segs, "::")
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		expr := regexp.QuoteMeta(text)
		for strings.Contains(expr, `::\*\*::\*\*::`) {
			expr = strings.ReplaceAll(expr, `::\*\*::\*\*::`, `::\*\*::`)
		}
		expr = strings.ReplaceAll(expr, `::\*\*::`, `::(?:.*::)?`)
		expr = strings.ReplaceAll(expr, `\*\*`, `.*`)
		expr = strings.ReplaceAll(expr, `\*`, `[^:]*`)
		re := regexp.MustCompile("^" + expr + "$")
		var name []string
		for range 1 + r.IntN(5) {
			name = append(name, []string{"a", "b", "ab", "ba", "c"}[r.IntN(5)])
		}
		n := strings.Join(name, "::")
		if got, want := p.MatchName(n, LangC), re.MatchString(n); got != want {
			t.Fatalf("%s matches %s: %v, want %v (%s)", text, n, got, want, re)
		}
	}
}
