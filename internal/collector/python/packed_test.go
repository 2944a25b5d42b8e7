package python

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	packer "github.com/strobe-debug/strobe/internal/packed"
)

var update = flag.Bool("update", false, "pack the agent's files")

// TestAgentIsPacked: what is embedded is what stands in agent.
func TestAgentIsPacked(t *testing.T) {
	want, err := packer.Pack("agent", func(name string) bool { return strings.HasSuffix(name, ".py") })
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("agent.zst", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(packed, want) {
		t.Error("agent.zst is not of agent: go test -run TestAgentIsPacked ./internal/collector/python -update")
	}
}
