package query

import "testing"

// TestAlike: two runs have the same in whatever order; where one has more calls, the same values.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		what string
		x, y []int
		want bool
	}{
		{"the same", []int{1, 2, 2}, []int{1, 2, 2}, true},
		{"another order", []int{1, 2, 2}, []int{2, 1, 2}, true},
		{"another number of each", []int{1, 2, 2}, []int{1, 1, 2}, false},
		{"another value", []int{1, 2, 2}, []int{1, 2, 3}, false},
		{"more calls", []int{1, 2}, []int{1, 2, 2}, true},
		{"more calls with another value", []int{1, 2}, []int{1, 2, 3}, false},
	} {
		got := alike(len(c.x), len(c.y), func(i int) int { return c.x[i] }, func(i int) int { return c.y[i] })
		if got != c.want {
			t.Errorf("%s: alike = %v, want %v", c.what, got, c.want)
		}
	}
}
