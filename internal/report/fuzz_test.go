package report

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzParser asks of any bytes: no panic, the same reports however they are cut, places within the
// stream, and reports within their bounds.
func FuzzParser(f *testing.F) {
	for _, folder := range []string{"recorded", "quiet"} {
		for _, text := range recordings(f, folder) {
			f.Add(text[:min(len(text), 6000)], uint8(len(text)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		reports := parse(text, whole)
		if diff := cmp.Diff(reports, parse(text, func(int) int { return int(step%61) + 1 })); diff != "" {
			t.Fatalf("cut every %d bytes (-whole +cut):\n%s", step%61+1, diff)
		}
		check(t, reports, int64(len(text)))
	})
}

func check(t *testing.T, reports []Report, size int64) {
	t.Helper()
	for _, r := range reports {
		if r.Tool == "" || r.Kind == "" || r.Count < 1 || r.Size < 0 {
			t.Errorf("incomplete: %+v", r)
		}
		if r.Start < 0 || r.Start >= r.End || r.End > size {
			t.Errorf("%s %s at %d to %d of %d bytes", r.Tool, r.Kind, r.Start, r.End, size)
		}
		if len(r.Raw) > maxRaw || len(r.Message) > maxMessage || len(r.Location) > maxText || len(r.Stacks) > maxStacks {
			t.Errorf("%s %s: %d bytes raw, %d message, %d stacks", r.Tool, r.Kind, len(r.Raw), len(r.Message), len(r.Stacks))
		}
		for _, text := range []string{r.Message, r.Type, r.Thread, r.Function, r.File, r.Location} {
			if !utf8.ValidString(text) {
				t.Errorf("%s %s: %q is not text", r.Tool, r.Kind, text)
			}
		}
		frames := 0
		for _, s := range r.Stacks {
			frames += len(s.Frames)
		}
		if frames > maxTotal {
			t.Errorf("%s %s has %d frames", r.Tool, r.Kind, frames)
		}
	}
}

// TestBounds feeds what would grow without end.
func TestBounds(t *testing.T) {
	const times = 20000
	frame := "    #0 0x1 in f /a.c:1\n"
	header := "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x10 at pc 0x1 bp 0x1 sp 0x1\n"
	tests := map[string]string{
		"one line":     strings.Repeat("x", 4<<20),
		"long header":  "==1==ERROR: AddressSanitizer: " + strings.Repeat("y ", 1<<20) + "\n" + frame,
		"headers":      strings.Repeat(header, times),
		"first frames": header + strings.Repeat(frame, times),
		"titles":       header + strings.Repeat("freed by thread T1 here:\n"+frame, times),
		"places":       header + strings.Repeat("0x10 is located 1 bytes after it\n", times) + frame,
		"processes": strings.Repeat("==1== Invalid read of size 4\n==2== Invalid read of size 4\n==3== Invalid write "+
			"of size 1\n", times),
		"no message":    "thread 'a' panicked at a.rs:1:1:\n" + strings.Repeat("z\n", times),
		"empty message": "thread 'a' panicked at a.rs:1:1:\n" + strings.Repeat("\n", times),
		"panics":        strings.Repeat("panic: \n", times),
		"escapes":       strings.Repeat("\x1b[", times),
		"go frames":     "panic: a\n\ngoroutine 1 [running]:\n" + strings.Repeat("f()\n\t/a.go:1 +0x1\n", times),
		"python": "Traceback (most recent call last):\n" + strings.Repeat("  File \"a\", line 1, in f\n", times) +
			"E: a\n",
		"what":   "terminate called after throwing an instance of 'a'\n  what():  a\n" + strings.Repeat("b\n", times),
		"digits": "a.c:99999999999999999999:1: runtime error: load of address 0xffffffffffffffffffffff\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			var p Parser
			var reports []Report
			for chunk := range slices.Chunk([]byte(text), 4096) {
				reports = append(reports, p.Write(chunk)...)
				if len(p.rest) > maxLine || len(p.open) > maxOpen {
					t.Fatalf("holds %d bytes and %d reports", len(p.rest), len(p.open))
				}
			}
			check(t, append(reports, p.Close()...), int64(len(text)))
		})
	}
}
