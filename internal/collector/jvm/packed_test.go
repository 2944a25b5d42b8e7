package jvm

import (
	"bytes"
	"flag"
	"os"
	"testing"

	packer "github.com/strobe-debug/strobe/internal/packed"
)

var update = flag.Bool("update", false, "pack the agent's library")

// TestAgentIsPacked: what is embedded is the library that stands in agent.
func TestAgentIsPacked(t *testing.T) {
	want, err := packer.Pack("agent", func(name string) bool { return name == library })
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
		t.Error("agent.zst is not of agent: make -C agent && go test -run TestAgentIsPacked ./internal/collector/jvm -update")
	}
}
