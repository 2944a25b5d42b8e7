package secret

import (
	"bytes"
	"math/rand"
	"regexp"
	"strings"
	"testing"
)

// expression is what the scanner looks for, as a regular expression.
func expression(words []string) *regexp.Regexp {
	return regexp.MustCompile("(?i)" + strings.ReplaceAll(strings.Join(words, "|"), "_", "[^a-z0-9]?"))
}

func TestScanner(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, words := range [][]string{builtin, {"a"}, {"pin", "id_no", "x__y"}, {"key", "9_0", "token"}} {
		s, want := newScanner(words), expression(words)
		alphabet := []byte(strings.Join(words, "") + "_-. \x00\xff\xc3\xa4\xe2\x80\xa6AEIKNOPT09")
		for range 20000 {
			b := make([]byte, rng.Intn(24))
			for i := range b {
				b[i] = alphabet[rng.Intn(len(alphabet))]
			}
			if rng.Intn(2) == 0 {
				w := words[rng.Intn(len(words))]
				b = append(b, strings.ReplaceAll(w, "_", []string{"", "_", "-", "…", "\xff", "__", "x"}[rng.Intn(7)])...)
				if rng.Intn(2) == 0 {
					b = bytes.ToUpper(b)
				}
				b = append(b[:len(b)-rng.Intn(2)], alphabet[rng.Intn(len(alphabet))])
			}
			if got := s.in(b); got != want.Match(b) {
				t.Fatalf("in(%q) = %v, want %v (words %q)", b, got, !got, words)
			}
		}
	}
}

// The bytes of a call as they mostly are: pointers, small numbers, a little text. A regular expression took 30 µs.
func BenchmarkIn(b *testing.B) {
	names, err := New("")
	if err != nil {
		b.Fatal(err)
	}
	payload := bytes.Repeat([]byte("\x10\x40\x2a\x00\xc0\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00main.node"), 20)
	b.ReportAllocs()
	for b.Loop() {
		if names.In(payload) {
			b.Fatal("a word is found where none is")
		}
	}
}
