package testadapter_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/packed"
)

// TestReportersArePacked: what is embedded is what stands in reporters/.
func TestReportersArePacked(t *testing.T) {
	want, err := packed.Pack("reporters", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("reporters.zst", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile("reporters.zst"); err != nil || !bytes.Equal(have, want) {
		t.Error("reporters.zst is not of reporters/: go test -run TestReportersArePacked ./internal/testadapter -update")
	}
}
