package tracediff

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// items makes calls of letters: a lower case letter is a function, its place in the digits that may follow is what it
// caused.
func items(s string) []item {
	var out []item
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' {
			out[len(out)-1].in = uint64(c)
			out[len(out)-1].sub = mix(out[len(out)-1].sub, uint64(c))
			continue
		}
		out = append(out, item{sub: uint64(c), name: int32(c)})
	}
	return out
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []pair
	}{
		{"same", "abc", "abc", []pair{{0, 0}, {1, 1}, {2, 2}}},
		{"missing", "abc", "ac", []pair{{0, 0}, {2, 1}}},
		{"loop with one fewer", "f1f2f3f4", "f1f2f4", []pair{{0, 0}, {1, 1}, {3, 2}}},
		{"same functions, shifted results", "g1g2g3", "g2g3g4", []pair{{0, 0}, {1, 1}, {2, 2}}},
		{"argument", "af1b", "af2b", []pair{{0, 0}, {1, 1}, {2, 2}}},
		{"nothing", "abc", "xyz", nil},
		{"empty", "", "abc", nil},
		{"early return", "openreadclose", "openclose", nil},
	} {
		got := align(items(c.a), items(c.b))
		if c.name == "early return" { // letters are functions here: what counts is that both ends are found
			if len(got) != 9 || got[0] != (pair{0, 0}) || got[8] != (pair{12, 8}) {
				t.Errorf("%s: align = %v", c.name, got)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: align(%q, %q) = %v, want %v", c.name, c.a, c.b, got, c.want)
		}
	}
}

// longest is the length of the longest common subsequence, by the textbook.
func longest(a, b []uint64) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			old := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = old
		}
	}
	return row[len(b)]
}

// TestCommonIsLongest compares with the textbook's way.
func TestCommonIsLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := make([]uint64, r.IntN(40)), make([]uint64, r.IntN(40))
		for i := range a {
			a[i] = r.Uint64N(6)
		}
		for i := range b {
			b[i] = r.Uint64N(6)
		}
		got := common(a, b)
		if want := longest(a, b); len(got) != want {
			t.Fatalf("common(%v, %v) has %d, want %d", a, b, len(got), want)
		}
	}
}

// TestCommonIsBounded gives it lists that have nothing in order.
func TestCommonIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := make([]uint64, 100_000), make([]uint64, 100_000)
	for i := range a {
		a[i], b[i] = r.Uint64N(1000), r.Uint64N(1000)
	}
	got := common(a, b)
	for i, p := range got {
		if a[p.a] != b[p.b] || i > 0 && (p.a <= got[i-1].a || p.b <= got[i-1].b) {
			t.Fatalf("pair %d is %v after %v", i, p, got[max(i-1, 0)])
		}
	}
	if len(got) < 1000 {
		t.Errorf("only %d pairs of %d", len(got), len(a))
	}
}

// FuzzAlign: it never panics, every pair is of one function and comes after the one before, both orders give the same,
// and the same lists are the same.
func FuzzAlign(f *testing.F) {
	f.Add("abc", "abd")
	f.Add("f1f2f3f4f5", "f2f3f3f1")
	f.Add("aabbaabb1c2", "bbaa1c3c2aab")
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 400 || len(y) > 400 || len(x) > 0 && x[0] >= '0' && x[0] <= '9' || len(y) > 0 && y[0] >= '0' &&
			y[0] <= '9' {
			return
		}
		a, b := items(x), items(y)
		got := align(a, b)
		for i, p := range got {
			if a[p.a].name != b[p.b].name || i > 0 && (p.a <= got[i-1].a || p.b <= got[i-1].b) {
				t.Fatalf("align(%q, %q) = %v", x, y, got)
			}
		}
		turned := align(b, a)
		for i := range turned {
			turned[i] = pair{turned[i].b, turned[i].a}
		}
		if !slices.Equal(got, turned) {
			t.Fatalf("align(%q, %q) = %v, and turned %v", x, y, got, turned)
		}
		same := align(a, items(x))
		for i, p := range same {
			if p != (pair{i, i}) {
				t.Fatalf("align(%q, itself) = %v", x, same)
			}
		}
		if len(same) != len(a) {
			t.Fatalf("align(%q, itself) = %v", x, same)
		}
	})
}
