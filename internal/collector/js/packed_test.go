package js

import (
	"bytes"
	"flag"
	"os"
	"testing"

	packer "github.com/strobe-debug/strobe/internal/packed"
)

var update = flag.Bool("update", false, "pack the agent's files")

// TestAgentIsPacked: what is embedded is what stands in agent/dist.
func TestAgentIsPacked(t *testing.T) {
	want, err := packer.Pack("agent/dist", func(string) bool { return true })
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
		t.Error("agent.zst is not of agent/dist: go test -run TestAgentIsPacked ./internal/collector/js -update")
	}
}
