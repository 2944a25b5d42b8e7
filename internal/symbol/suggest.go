package symbol

import (
	"slices"
	"strings"
)

// maxSuggestions is how many names Suggest returns.
const maxSuggestions = 5

// Suggest returns the names nearest to a pattern that matched nothing, the best first, at most
// five: names with the same last segment in another place, then misspellings, then names that
// contain it. Matching is by letters without regard to case.
func Suggest(names []string, pattern string) []string {
	want := strings.TrimPrefix(strings.TrimSpace(pattern), "!")
	if i := paramStart(want); i > 0 {
		want = want[:i]
	}
	want = plainName(strings.ReplaceAll(strings.ReplaceAll(want, "*", ""), "?", ""))
	if want == "" || strings.HasPrefix(want, "@") || strings.HasPrefix(want, "file:") {
		return nil
	}
	want = strings.ToLower(want)
	last := lastSegment(want)
	if last == "" {
		last = lastSegment(strings.TrimRight(want, ":./"))
	}
	if last == "" {
		return nil
	}
	type scored struct {
		name  string
		score int
	}
	var best []scored
	worst := 1 << 30
	mask := letters(last)
	for _, name := range names {
		score := suggestScore(name, want, last, mask, worst)
		if score >= worst {
			continue
		}
		if slices.ContainsFunc(best, func(s scored) bool { return s.name == name }) {
			continue
		}
		i := 0
		for i < len(best) && (best[i].score < score || best[i].score == score && best[i].name < name) {
			i++
		}
		best = slices.Insert(best, i, scored{name, score})
		if len(best) > maxSuggestions {
			best = best[:maxSuggestions]
			worst = best[maxSuggestions-1].score
		}
	}
	out := make([]string, len(best))
	for i, s := range best {
		out[i] = s.name
	}
	return out
}

// SuggestSame is Suggest of names that have the pattern's last segment and are somewhere else.
func SuggestSame(names []string, pattern string) []string {
	last := strings.ToLower(strings.Trim(lastSegment(plainName(strings.TrimSpace(pattern))), "*?"))
	return slices.DeleteFunc(Suggest(names, pattern), func(name string) bool {
		return strings.ToLower(lastSegment(plainName(name))) != last
	})
}

// suggestScore is lower for nearer names; too far is at least 1<<30.
func suggestScore(name, want, last string, mask uint64, worst int) int {
	const far = 1 << 30
	tail := strings.ToLower(lastSegment(plainName(name)))
	if tail == last {
		if inside(name, want) {
			return -1
		}
		// Right function, other place: the closer the rest in length, the better.
		return abs(len(name)-len(want)) / 4
	}
	limit := max(1, len(last)/3)
	if d := abs(len(tail) - len(last)); d <= limit && popcount(letters(tail)^mask) <= 2*limit {
		if e := editDistance(tail, last, limit); e <= limit {
			return 100 + 20*e + min(abs(len(name)-len(want)), 60)/4
		}
	}
	if len(last) >= 3 && worst > 400 {
		if strings.Contains(tail, last) {
			return 400 + min(len(tail)-len(last), 100)
		}
		if len(tail) >= 4 && strings.Contains(last, tail) {
			return 500 + min(len(last)-len(tail), 100)
		}
	}
	return far
}

// inside reports whether a name is what is wanted, in a namespace, package or module that was left out.
func inside(name, want string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "(*", "("))
	at := len(name) - len(want)
	return at > 0 && strings.HasSuffix(name, want) && strings.IndexByte(":./", name[at-1]) >= 0
}

// Within returns a pattern that means a pattern's functions in whatever namespace, package or module they are, and how
// many these are; "" where there are none.
func Within(fns []Function, pattern, projectRoot string) (wider string, count int) {
	if strings.HasPrefix(pattern, "**") || strings.HasPrefix(pattern, "!") {
		return "", 0
	}
	for _, before := range []string{"**::", "**/", "**."} {
		p, err := ParsePattern(before + pattern)
		if err != nil {
			continue
		}
		match, n := p.Matcher(projectRoot), 0
		for i := range fns {
			if match(&fns[i]) {
				n++
			}
		}
		if n > count {
			wider, count = p.text, n
		}
	}
	return wider, count
}

// plainName removes arguments in <> and ABI tags.
func plainName(name string) string {
	if strings.IndexByte(name, '<') < 0 {
		return name
	}
	var b []byte
	for i := 0; i < len(name); {
		if name[i] == '<' && i > 0 && !strings.HasSuffix(name[:i], "operator") && !strings.HasSuffix(name[:i], "::") {
			i += closing(name[i:])
			continue
		}
		b = append(b, name[i])
		i++
	}
	return string(b)
}

func lastSegment(name string) string {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		return name[i+2:]
	}
	if i := strings.LastIndexAny(name, "./"); i >= 0 {
		return name[i+1:]
	}
	return name
}

// letters is a set of the letters and digits in s, for a quick bound on the edit distance.
func letters(s string) uint64 {
	var m uint64
	for i := 0; i < len(s); i++ {
		m |= 1 << (s[i] & 63)
	}
	return m
}

func popcount(m uint64) (n int) {
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours; limit+1 when more than limit.
func editDistance(a, b string, limit int) int {
	const maxLen = 64
	if len(a) > maxLen || len(b) > maxLen {
		return limit + 1
	}
	var rows [3][maxLen + 1]int
	for j := 0; j <= len(b); j++ {
		rows[0][j] = j
	}
	prev2, prev, cur := &rows[2], &rows[0], &rows[1]
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				v = min(v, prev2[j-2]+1)
			}
			cur[j] = v
			low = min(low, v)
		}
		if low > limit {
			return limit + 1
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
