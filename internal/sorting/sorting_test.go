package sorting

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBy compares with slices' stable sort.
func TestBy(t *testing.T) {
	type pair struct{ key, was int }
	for n := range 300 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{rand.IntN(n/3 + 1), i}
		}
		want := slices.Clone(s)
		compare := func(a, b pair) int { return a.key - b.key }
		slices.SortStableFunc(want, compare)
		By(s, compare)
		if !slices.Equal(s, want) {
			t.Fatalf("%d elements: %v, want %v", n, s, want)
		}
	}
}
