package report

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// parse reads text in pieces of the lengths that next returns.
func parse(text []byte, next func(left int) int) []Report {
	var p Parser
	var all []Report
	for len(text) > 0 {
		n := min(max(next(len(text)), 1), len(text))
		all = append(all, p.Write(text[:n])...)
		text = text[n:]
	}
	return append(all, p.Close()...)
}

func whole(left int) int { return left }

func recordings(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no recordings in testdata/%s: %v", folder, err)
	}
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(name), ".txt")] = text
	}
	return texts
}

// TestGolden compares the reports of what the tools really wrote with testdata/golden; run with
// -update after a change and read the difference.
func TestGolden(t *testing.T) {
	for name, text := range recordings(t, "recorded") {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(parse(text, whole), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got)+"\n", "\n")); diff != "" {
				t.Errorf("reports of %s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestChunking asks that it does not matter how the stream is cut.
func TestChunking(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, text := range recordings(t, "recorded") {
		want := parse(text, whole)
		cuts := map[string]func(int) int{
			"bytes": func(int) int { return 1 },
			"small": func(int) int { return random.IntN(9) + 1 },
			"large": func(int) int { return random.IntN(900) + 1 },
		}
		for how, next := range cuts {
			if diff := cmp.Diff(want, parse(text, next)); diff != "" {
				t.Errorf("%s cut into %s (-whole +cut):\n%s", name, how, diff)
			}
		}
	}
}

// TestQuiet asks that compilers, test frameworks, logs and prose about reports give no report that
// ends a process, and besides real tracebacks none at all.
func TestQuiet(t *testing.T) {
	for name, text := range recordings(t, "quiet") {
		for _, r := range parse(text, whole) {
			if r.Fatal || r.Tool != Python || name != "python-unittest" {
				t.Errorf("%s: got %s %s at byte %d from\n%s", name, r.Tool, r.Kind, r.Start, r.Raw)
			}
		}
	}
}

// TestOffsets asks that Start and End lie around the report's lines, across Close.
func TestOffsets(t *testing.T) {
	const abort = "free(): invalid pointer\n"
	const ub = "a.c:1:2: runtime error: division by zero\n"
	var p Parser
	got := p.Write([]byte("before\n" + abort + "after\n" + ub))
	got = append(got, p.Close()...)
	got = append(got, p.Write([]byte("more\n"+abort[:7]))...)
	got = append(got, p.Write([]byte(abort[7:]))...)
	var places [][2]int64
	for _, r := range got {
		places = append(places, [2]int64{r.Start, r.End})
	}
	if diff := cmp.Diff([][2]int64{{7, 31}, {37, 78}, {83, 107}}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestUnended asks that a message which nothing ends does not swallow the program's further output.
func TestUnended(t *testing.T) {
	first := "thread 'main' panicked at a.rs:1:2:\nfirst\nsecond\nnote: run with `RUST_BACKTRACE=1` environment " +
		"variable to display a backtrace\n"
	again := "\nthread 'main' panicked at a.rs:3:4:\nassertion `left == right` failed\n  left: 1\n right: 2\n"
	more := strings.Repeat("the program goes on\n", 20)
	tests := []struct {
		name, text string
		message    []string
		length     []int64
	}{
		{"ended", first, []string{"first\nsecond"}, []int64{int64(len(first))}},
		{"not ended", first + again + more, []string{"first\nsecond",
			"assertion `left == right` failed\n  left: 1\n right: 2"}, []int64{int64(len(first)), int64(len(again) - 1)}},
		{"at the end", again, []string{"assertion `left == right` failed\n  left: 1\n right: 2"},
			[]int64{int64(len(again) - 1)}},
		{"a message like another's", strings.Replace(first, "first", "panic: first", 1), []string{"panic: first\nsecond"},
			[]int64{int64(len(first)) + 7}},
		{"what", "terminate called after throwing an instance of 'E'\n  what():  a\n" + more, []string{"a"}, []int64{64}},
		{"what of another", "terminate called after throwing an instance of 'E'\n  what():  a\nTraceback (most recent call " +
			"last):\n", []string{"a\nTraceback (most recent call last):"}, []int64{99}},
		{"what at the end", "terminate called after throwing an instance of 'E'\n  what():  a\nb\n", []string{"a\nb"},
			[]int64{66}},
		{"what and shell", "terminate called after throwing an instance of 'E'\n  what():  a\nAborted (core dumped)\n",
			[]string{"a"}, []int64{64}},
		{"libc++abi", "libc++abi: terminating due to uncaught exception of type E: a\n" + more, []string{"a"}, []int64{62}},
	}
	for _, test := range tests {
		var messages []string
		var lengths []int64
		for _, r := range parse([]byte(test.text), whole) {
			messages = append(messages, r.Message)
			lengths = append(lengths, r.End-r.Start)
			if int64(len(r.Raw)) != r.End-r.Start {
				t.Errorf("%s: raw has %d bytes of %d", test.name, len(r.Raw), r.End-r.Start)
			}
		}
		if diff := cmp.Diff(test.message, messages); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.length, lengths); diff != "" {
			t.Errorf("%s: lengths (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestInterleaved puts other threads' output between a report's lines.
func TestInterleaved(t *testing.T) {
	noise := []string{"request 17 served", "", "12:00:01 INFO cache: 3 entries", "  indented text", "(1 of 3)"}
	for name, text := range recordings(t, "recorded") {
		if strings.HasPrefix(name, "rust-") || strings.HasPrefix(name, "cxx-") || strings.HasPrefix(name, "go-") {
			continue // free text cannot be told from free text
		}
		want := parse(text, whole)
		var mixed strings.Builder
		for i, l := range strings.SplitAfter(string(text), "\n") {
			mixed.WriteString(l)
			if i%3 == 2 && strings.HasSuffix(l, "\n") {
				mixed.WriteString(noise[i/3%len(noise)] + "\n")
			}
		}
		got := parse([]byte(mixed.String()), whole)
		for _, reports := range [][]Report{want, got} {
			for i := range reports {
				reports[i].Start, reports[i].End, reports[i].Raw = 0, 0, ""
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-alone +with other output):\n%s", name, diff)
		}
	}
}
