package session

import (
	"cmp"
	"slices"
	"strings"
)

// maxNearestInput bounds the quadratic comparison of names that a client sends.
const maxNearestInput = 200

// Nearest returns up to n of the names that a reader may have meant by name, best first:
// names that contain it or are within about a third of its length in edits.
func Nearest(name string, among []string, n int) []string {
	type scored struct {
		name  string
		score int
	}
	want := strings.ToLower(name[:min(len(name), maxNearestInput)])
	if want == "" {
		return nil
	}
	var found []scored
	for _, candidate := range among {
		low := strings.ToLower(candidate[:min(len(candidate), maxNearestInput)])
		score := editDistance(want, low)
		limit := 1 + min(len(want), len(low))/3
		if len(want) >= 3 && (strings.Contains(low, want) || len(low) >= 3 && strings.Contains(want, low)) {
			score = min(score, limit)
		}
		if score <= limit && candidate != "" {
			found = append(found, scored{candidate, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, f := range found {
		if len(out) < n && !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
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
