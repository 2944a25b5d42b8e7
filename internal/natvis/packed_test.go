package natvis

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/packed"
)

var update = flag.Bool("update", false, "pack the descriptions")

// TestBuiltinIsPacked: what is embedded is what stands in builtin/.
func TestBuiltinIsPacked(t *testing.T) {
	want, err := packed.Pack("builtin", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("builtin.zst", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(packedBuiltin, want) {
		t.Error("builtin.zst is not of builtin/: go test -run TestBuiltinIsPacked ./internal/natvis -update")
	}
}
