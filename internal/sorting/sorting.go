// Package sorting sorts where the time of a sort does not count: package slices makes a sort of its own for each type,
// of up to 30 KB of binary. It stands beside the data path: what makes answers uses it.
package sorting

import "slices"

// By sorts s in place and keeps the order of equal elements. It takes a call more for each comparison than package
// slices does, and room for a copy of s.
func By[S ~[]E, E any](s S, compare func(a, b E) int) {
	places := make([]int, len(s))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int {
		if c := compare(s[i], s[j]); c != 0 {
			return c
		}
		return i - j
	})
	sorted := make(S, len(s))
	for i, p := range places {
		sorted[i] = s[p]
	}
	copy(s, sorted)
}
