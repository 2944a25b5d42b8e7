// Package near owns which names a reader may have meant: what an answer that says "there is no such name" offers next.
//
// It stands beside the data path, and depends on nothing of ours. Whoever has the names asks it.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// What is compared of names that a client sends.
const (
	maxNamesInput = 200 // the comparison is quadratic
	maxPartsInput = 1000
)

// Names returns up to n of a few names, the nearest first: those that contain want or are contained in it, or are
// within about a third of its length in edits.
func Names(want string, among []string, n int) []string {
	want = strings.ToLower(want[:min(len(want), maxNamesInput)])
	if want == "" {
		return nil
	}
	var found []scored
	for _, candidate := range among {
		low := strings.ToLower(candidate[:min(len(candidate), maxNamesInput)])
		score := editDistance(want, low)
		limit := 1 + min(len(want), len(low))/3
		if len(want) >= 3 && (strings.Contains(low, want) || len(low) >= 3 && strings.Contains(want, low)) {
			score = min(score, limit)
		}
		if score <= limit && candidate != "" {
			found = append(found, scored{candidate, float64(score)})
		}
	}
	return best(found, n)
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Parts returns up to n of many, long names that look most like want: those that hold it in any case first, then by the
// groups of three letters that they share.
func Parts(want string, among []string, n int) []string {
	var found []scored
	low := strings.ToLower(want[:min(len(want), maxPartsInput)])
	index := make(map[string]int) // of the trigrams of want
	for s, i := "  "+low+" ", 0; i+3 <= len(s); i++ {
		if _, ok := index[s[i:i+3]]; !ok {
			index[s[i:i+3]] = len(index)
		}
	}
	seen := make([]int, len(index)) // 1 + the last name that has it
	for at, name := range among {
		l := "  " + strings.ToLower(name) + " "
		common := 0
		for i := 0; i+3 <= len(l); i++ {
			if k, ok := index[l[i:i+3]]; ok && seen[k] != at+1 {
				seen[k] = at + 1
				common++
			}
		}
		// The smaller of the two weighs more: a short name inside a long qualified one is near.
		score := float64(common) / (0.8*float64(min(len(index), len(l)-2)) + 0.2*float64(max(len(index), len(l)-2)))
		if low != "" && strings.Contains(l, low) {
			score++
		}
		if score >= 0.2 {
			found = append(found, scored{name, -score})
		}
	}
	sorting.By(found, func(a, b scored) int { return strings.Compare(a.name, b.name) })
	return best(found, n)
}

// scored is a name and how far it is.
type scored struct {
	name string
	far  float64
}

// best returns the n nearest, each once.
func best(found []scored, n int) (names []string) {
	sorting.By(found, func(a, b scored) int { return cmp.Compare(a.far, b.far) })
	for _, f := range found {
		if len(names) < n && !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}
