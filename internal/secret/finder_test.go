package secret

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// oracle is what package regexp finds of the words.
func oracle(words []string) *regexp.Regexp {
	return regexp.MustCompile("(?i)(?:" + strings.ReplaceAll(strings.Join(words, "|"), "_", "[^a-z0-9]?") + ")")
}

// TestFinder: in texts that are nearly words the same is found as by package regexp.
func TestFinder(t *testing.T) {
	for _, words := range [][]string{builtin, {"a_b", "ab_c", "b__c", "_x", "kiss"}, {"aab", "aabaa", "baa_aab"}} {
		f, re := newFinder(words), oracle(words)
		rng := rand.New(rand.NewPCG(1, 2))
		between := []string{"", "_", "-", " ", "é", "–", "\xff", "\xe2\x84", "0", "z", "__", "ſ", "\u212a"}
		found := 0
		for range 200_000 {
			var b []byte
			for range rng.IntN(4) {
				w := words[rng.IntN(len(words))]
				for i, r := range w {
					switch rng.IntN(12) {
					case 0:
						r = unicode.ToUpper(r)
					case 1:
						r = unicode.SimpleFold(r)
					case 2:
						if rng.IntN(3) == 0 {
							continue
						}
					}
					if r == '_' || i > 0 && rng.IntN(12) == 0 {
						b = append(b, between[rng.IntN(len(between))]...)
					}
					if r != '_' || rng.IntN(3) == 0 {
						b = append(b, string(r)...)
					}
				}
			}
			want := re.Match(b)
			if got := f.in(b); got != want {
				t.Fatalf("%q among %q: %v, package regexp says %v", b, words, got, want)
			}
			if want {
				found++
			}
		}
		if found < 1000 {
			t.Errorf("%d of the texts had a word", found)
		}
	}
}

// FuzzFinder compares what is found in any text with package regexp.
func FuzzFinder(f *testing.F) {
	mine, re := newFinder(builtin), oracle(builtin)
	f.Add([]byte("an api–KEY"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := mine.in(b), re.Match(b); got != want {
			t.Errorf("%q: %v, package regexp says %v", b, got, want)
		}
	})
}

func BenchmarkFinder(b *testing.B) {
	text := bytes.Repeat([]byte("\x00\x10\x7f some text of 30 bytes, to"), 20)
	f, re := newFinder(builtin), oracle(builtin)
	for name, in := range map[string]func([]byte) bool{"finder": f.in, "regexp": re.Match} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if in(text) {
					b.Fatal("found")
				}
			}
		})
	}
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			newFinder(builtin)
		}
	})
}
