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
