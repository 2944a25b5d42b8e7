package sigcorpus

import (
	"os"
	"strconv"
	"testing"
)

// TestDump writes a generated program to SIGCORPUS_FILE, to look at one by hand; SIGCORPUS_SEED, SIGCORPUS_N and
// SIGCORPUS_LANG (c, cpp, rust) say which.
func TestDump(t *testing.T) {
	f := os.Getenv("SIGCORPUS_FILE")
	if f == "" {
		return
	}
	seed, _ := strconv.ParseUint(os.Getenv("SIGCORPUS_SEED"), 10, 64)
	n, _ := strconv.Atoi(os.Getenv("SIGCORPUS_N"))
	var s string
	switch os.Getenv("SIGCORPUS_LANG") {
	case "rust":
		s, _ = GenerateRust(seed, n)
	default:
		s, _ = GenerateC(seed, n, os.Getenv("SIGCORPUS_LANG") == "cpp")
	}
	if err := os.WriteFile(f, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
}
