package page

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/strobe-debug/strobe/internal/packed"
)

var update = flag.Bool("update", false, "pack the page's files")

// TestPageIsPacked: what is embedded is what stands in dist/.
func TestPageIsPacked(t *testing.T) {
	want, err := packed.Pack("dist", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("dist.zst", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(packedFiles, want) {
		t.Error("dist.zst is not of dist/: go test -run TestPageIsPacked ./internal/page -update")
	}
}
