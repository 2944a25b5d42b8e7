package typecorpus

import (
	"os"
	"testing"
)

// TestSame: the same seed gives the same program. Where STROBE_DEBUG_DUMP names a folder, they are there to look at.
func TestSame(t *testing.T) {
	for name, generate := range map[string]func(uint64, int, int) string{"graph.cpp": GenerateCPP,
		"graph.rs": GenerateRust} {
		a := generate(1, 30, 20)
		if a != generate(1, 30, 20) {
			t.Errorf("%s: the same seed gives another program", name)
		}
		if dir := os.Getenv("STROBE_DEBUG_DUMP"); dir != "" {
			if err := os.WriteFile(dir+"/"+name, []byte(a), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
