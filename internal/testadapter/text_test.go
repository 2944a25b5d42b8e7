package testadapter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"\x1b[31mred\x1b[0m text":   "red text",
		"\x1b[38;2;1;2;3mx\x1b[39m": "x",
		"a\x1b]8;;http://x\x1b\\link\x1b]0;t\x07b": "alinkb",
		"\x1b(Bx\x1b7y\x1b=z":                      "xyz",
		"half \x1b[31":                             "half 31", // not ended: the text stays
		"\x1b]never ended":                         "never ended",
		"one\rtwo\r\nthree\r":                      "one\ntwo\nthree",
		"nul\x00 bell\x07 del\x7f\ttab":            "nul bell del\ttab",
		"bad \xff\xfe utf":                         "bad \uFFFD\uFFFD utf",
		"ünïcode → ✓":                              "ünïcode → ✓",
		"\x1b":                                     "",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHeadAndTail(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, limit := range []int{60, 61, 62, 500} {
		h, e := head(long, limit), tail(long, limit)
		if len(h) > limit || len(e) > limit || !utf8.ValidString(h) || !utf8.ValidString(e) {
			t.Errorf("limit %d: head %d bytes, tail %d bytes, valid %v %v", limit, len(h), len(e), utf8.ValidString(h),
				utf8.ValidString(e))
		}
		if !strings.Contains(h, "bytes more)") || !strings.HasPrefix(e, "(") {
			t.Errorf("limit %d: %q … %q do not say what is left out", limit, h, e)
		}
	}
	if head("short", 5) != "short" || tail("short", 5) != "short" {
		t.Error("a text that fits was cut")
	}
}

// Lines come out the same however the text is cut.
func TestLineSplitter(t *testing.T) {
	const text = "one\ntwo\r\n\nvery long line\nlast"
	want := []string{"one", "two", "", "very lon", "last"}
	for size := 1; size <= len(text); size++ {
		var got []string
		l := lineSplitter{max: 8, line: func(b []byte) { got = append(got, string(b)) }}
		for i := 0; i < len(text); i += size {
			l.Write([]byte(text[i:min(i+size, len(text))]))
		}
		l.Close()
		l.Close()
		if d := cmp.Diff(want, got); d != "" || l.cut != 1 {
			t.Errorf("in pieces of %d, %d cut: %s", size, l.cut, d)
		}
	}
}

func TestRing(t *testing.T) {
	r := ring{limit: 10}
	for range 100 {
		r.Write([]byte("0123456789abc"))
	}
	r.Write([]byte("\x1b[1mé end"))
	if got := r.String(); got != "1mé end" && got != "é end" {
		t.Errorf("ring = %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m")
	f.Add("\x1b]8;;x\x1b\\\xff\r")
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x00\r") {
			t.Errorf("clean(%q) = %q", s, got)
		}
		if again := clean(got); again != got {
			t.Errorf("clean(%q) = %q, and of that %q", s, got, again)
		}
		for _, limit := range []int{50, 200} {
			if len(head(got, limit)) > limit || len(tail(got, limit)) > limit {
				t.Errorf("%q is longer than %d", got, limit)
			}
		}
	})
}
