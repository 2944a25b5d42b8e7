//go:build linux

package acceptance

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// The command puts an entry into an agent's file that starts a server, and takes it out again to the last byte.
func TestInstallInAHome(t *testing.T) {
	t.Parallel()
	user, home := t.TempDir(), strobetest.Home(t)
	const zed = "// mine\n{\n  \"theme\": \"One Dark\", // dark\n}\n"
	const codex = "model = \"gpt-5.1\" # the best\n"
	const broken = "{\"mcpServers\": {"
	for name, text := range map[string]string{".config/zed/settings.json": zed, ".codex/config.toml": codex,
		".cursor/mcp.json": "{}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(user, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(user, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(wantExit int, arg ...string) string {
		t.Helper()
		cmd := exec.Command(strobetest.Binary(t), arg...)
		cmd.Env = []string{"HOME=" + user, "STROBE_HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantExit {
			t.Fatalf("strobe %v: exit %d (%v), want %d:\n%s", arg, code, err, wantExit, out)
		}
		return string(out)
	}
	file := func(name string) string {
		b, err := os.ReadFile(filepath.Join(user, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	run(0, "install", "--dry-run")
	if file(".config/zed/settings.json") != zed {
		t.Error("a dry run wrote")
	}
	out := run(0, "install")
	for _, want := range []string{"Codex\n", "Zed\n", "Cursor\n", `"context_servers": {`, "[mcp_servers.strobe]",
		"backup: " + home} {
		if !strings.Contains(out, want) {
			t.Errorf("install does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "Claude Code") {
		t.Errorf("install found what is not there:\n%s", out)
	}
	if n := strings.Count(run(0, "install"), "unchanged"); n < 8 {
		t.Errorf("a second install leaves %d files as they are", n)
	}
	var cursor struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(file(".cursor/mcp.json")), &cursor); err != nil {
		t.Fatal(err)
	}
	greets(t, home, cursor.MCPServers["strobe"].Command, cursor.MCPServers["strobe"].Args)

	if err := os.WriteFile(filepath.Join(user, ".cursor/mcp.json"), []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(2, "install", "--agent", "cursor"); !strings.Contains(out,
		"does not parse and is left alone: line 1, column 17") {
		t.Errorf("install into a broken file:\n%s", out)
	}
	run(2, "uninstall", "--agent", "cursor")
	if file(".cursor/mcp.json") != broken {
		t.Error("the broken file was changed")
	}
	if err := os.WriteFile(filepath.Join(user, ".cursor/mcp.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(0, "uninstall")
	for name, want := range map[string]string{".config/zed/settings.json": zed, ".codex/config.toml": codex,
		".cursor/mcp.json": "{}"} {
		if have := file(name); have != want {
			t.Errorf("%s came back as %q", name, have)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(user, ".agents/*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if out := run(1, "uninstall"); !strings.Contains(out, "no agent's files") {
		t.Errorf("a second uninstall:\n%s", out)
	}
	if out := run(0, "install", "--print", "--agent", "zed"); !json.Valid([]byte(out)) {
		t.Errorf("--print of one agent is no JSON: %s", out)
	}
	if out := run(2, "install", "--agent", "emacs"); !strings.Contains(out, "claude-code, codex, opencode") {
		t.Errorf("an agent that nobody knows:\n%s", out)
	}
}

// greets starts a server as an agent does and has it answer.
func greets(t *testing.T, home, command string, arg []string) {
	t.Helper()
	cmd := exec.Command(command, arg...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if _, err := in.Write([]byte(hello + "\n")); err != nil {
		t.Error(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"serverInfo":{"name":"strobe"`) {
		t.Errorf("%s %v says %q, %v", command, arg, line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s %v: %v", command, arg, err)
	}
}
