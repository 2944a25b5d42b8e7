package native

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// agentCompiler is what the committed agent was made with; another one makes other code.
const agentCompiler = "12.2.0"

// TestAgentIsOfItsSources: what is injected is what the sources beside it make.
func TestAgentIsOfItsSources(t *testing.T) {
	strobetest.NeedCommand(t, "gcc", "make", "ld", "objcopy")
	version, err := exec.Command("gcc", "-dumpfullversion").Output()
	if err != nil || strings.TrimSpace(string(version)) != agentCompiler {
		strobetest.Lack(t, "another gcc makes other code: the agent is made with %s, here is %s %v", agentCompiler,
			bytes.TrimSpace(version), err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("agent")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-s", "-B", "-C", dir, "agent_linux_amd64.bin").CombinedOutput(); err != nil {
		t.Fatalf("make the agent: %v\n%s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, "agent_linux_amd64.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, agentBlob) {
		t.Errorf("the committed agent (%d bytes) is not what its sources make (%d bytes): make generate", len(agentBlob),
			len(made))
	}
}

// TestFastRecordsAreThoseOfC: what fast.S records without C is what C records, over random plans, walks and memory, and
// every register is kept.
func TestFastRecordsAreThoseOfC(t *testing.T) {
	strobetest.NeedCommand(t, "gcc")
	program := filepath.Join(t.TempDir(), "fast")
	if out, err := exec.Command("gcc", "-g", "-O1", "testdata/fast.c", "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	out, err := exec.Command(program, "agent/agent_linux_amd64.bin", "7", "50000").CombinedOutput()
	if err != nil {
		t.Fatalf("records differ: %v\n%s", err, out)
	}
	if !bytes.HasPrefix(out, []byte("same=4")) {
		t.Errorf("got %s, want at least 40,000 records", out)
	}
}
