package symbol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSieve: many patterns at once select what each of them selects by itself.
func TestSieve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "ab", "abc", "bc", "b", "work", "worker", "ork", "ns", "ns1", "get_it", "it", "größe",
		"operator+", "Map<std::string, int>", "(anonymous namespace)", "x$y"}
	name := func(stars bool) (s string) {
		for i := range 1 + rng.IntN(4) {
			if i > 0 {
				s += "::"
			}
			w := words[rng.IntN(len(words))]
			if stars {
				w = []string{w, w, w, "*", "**", w + "*", "*" + w, w[:1] + "?"}[rng.IntN(8)]
			}
			s += w
		}
		return s
	}
	var patterns []*Pattern
	for len(patterns) < 400 {
		text := name(true)
		switch rng.IntN(12) {
		case 0:
			text = "!" + text
		case 1:
			text = "@file:" + words[rng.IntN(5)]
		case 2:
			text = "_Z" + words[rng.IntN(5)]
		case 3:
			text = "@usercode"
		}
		if p, err := ParsePattern(text); err == nil {
			patterns = append(patterns, p)
		}
	}
	s := NewSieve(patterns, "/home")
	matches := 0
	for i := range 3000 {
		f := &Function{Name: name(false), Raw: "_Z" + words[rng.IntN(5)], File: fmt.Sprintf("/home/%s.c", words[rng.IntN(5)]),
			Language: []Language{LangCPP, LangRust, LangGo, LangC}[i%4]}
		if i%5 == 0 {
			f.Aliases = []string{name(false), name(false)}
		}
		var want, got []int
		for k, p := range patterns {
			if p.Match(f, "/home") {
				want = append(want, k)
			}
		}
		s.Match(f, func(k int) { got = append(got, k) })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: patterns %v, one by one %v", f, got, want)
		}
		matches += len(want)
	}
	if matches < 10000 {
		t.Errorf("only %d matches: too few to say anything", matches)
	}
}

// BenchmarkSieve is 1,000 patterns over 100,000 functions.
func BenchmarkSieve(b *testing.B) {
	var patterns []*Pattern
	for i := range 1000 {
		p, err := ParsePattern(fmt.Sprintf("mod%d::work_%d*", i%97, i*7))
		if err != nil {
			b.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	fns := make([]Function, 100000)
	for i := range fns {
		fns[i] = Function{Name: fmt.Sprintf("mod%d::work_%d", i%97, i), Raw: fmt.Sprintf("_ZN5mod%d8work_%dEi", i%97, i),
			Language: LangCPP}
	}
	n := 0
	for b.Loop() {
		s := NewSieve(patterns, "/")
		for i := range fns {
			s.Match(&fns[i], func(int) { n++ })
		}
	}
}

// BenchmarkOneByOne is the same without the sieve.
func BenchmarkOneByOne(b *testing.B) {
	var patterns []*Pattern
	for i := range 1000 {
		p, _ := ParsePattern(fmt.Sprintf("mod%d::work_%d*", i%97, i*7))
		patterns = append(patterns, p)
	}
	fns := make([]Function, 100000)
	for i := range fns {
		fns[i] = Function{Name: fmt.Sprintf("mod%d::work_%d", i%97, i), Raw: fmt.Sprintf("_ZN5mod%d8work_%dEi", i%97, i),
			Language: LangCPP}
	}
	n := 0
	for b.Loop() {
		for _, p := range patterns {
			for i := range fns {
				if p.Match(&fns[i], "/") {
					n++
				}
			}
		}
	}
}
