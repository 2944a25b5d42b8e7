package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const waitLimit = 20 * time.Second

// TestScripts runs testdata/*.txtar against the real binary, each with a home and a daemon of its own.
func TestScripts(t *testing.T) {
	bin := strobetest.Binary(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home := strobetest.Home(t)
			e.Setenv("STROBE_HOME", home)
			e.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("HOME", home)
			e.Setenv("NO_COLOR", "1")
			e.Defer(func() { stopDaemon(t, home) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"waitfor": waitFor},
	})
}

// waitFor is the script command `waitfor FILE TEXT`: it waits until a background command's output, which
// goes to FILE, has TEXT.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor file text")
	}
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(waitLimit); ; <-time.After(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(args[1])) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s has no %q: %s (%v)", args[0], args[1], b, err)
		}
	}
}

func stopDaemon(t *testing.T, home string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if _, err := daemon.Stop(ctx, home); err != nil {
		t.Error(err)
	}
}

// proxy is a running `strobe mcp`.
type proxy struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func startProxy(t *testing.T, home string) *proxy {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), "mcp")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &proxy{t, home, cmd, in, bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() { p.end() })
	return p
}

// end closes the proxy's input and waits: it must end by itself.
func (p *proxy) end() {
	p.in.Close()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil && !strings.Contains(err.Error(), "Wait was already called") {
			p.t.Errorf("strobe mcp: %v", err)
		}
	case <-time.After(waitLimit):
		p.t.Error("strobe mcp goes on after its input was closed")
		_ = p.cmd.Process.Kill()
	}
}

func (p *proxy) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

type reply struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (p *proxy) next() reply {
	p.t.Helper()
	line := make(chan []byte, 1)
	go func() {
		b, _ := p.out.ReadBytes('\n') // nil at the end, which does not decode
		line <- b
	}()
	var r reply
	select {
	case b := <-line:
		if err := json.Unmarshal(b, &r); err != nil {
			p.t.Fatalf("line %.200q: %v", b, err)
		}
	case <-time.After(waitLimit):
		p.t.Fatal("no answer")
	}
	return r
}

const (
	hello       = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func (p *proxy) greet() reply {
	p.t.Helper()
	p.send(hello)
	r := p.next()
	if string(r.ID) != "1" || r.Error != nil {
		p.t.Fatalf("initialize: %+v", r)
	}
	p.send(initialized)
	return r
}

func newHome(t *testing.T) string {
	t.Helper()
	home := strobetest.Home(t)
	t.Cleanup(func() { stopDaemon(t, home) })
	return home
}

// TestInitialize: every client is answered, by the daemon that the first one started. bench/latency.go measures how
// fast.
func TestInitialize(t *testing.T) {
	home := newHome(t)
	for range 5 {
		p := startProxy(t, home)
		r := p.greet()
		if !strings.Contains(string(r.Result), `"serverInfo":{"name":"strobe","version":"`) {
			t.Errorf("initialize = %s", r.Result)
		}
		p.end()
	}
}

func TestToolsList(t *testing.T) {
	p := startProxy(t, newHome(t))
	p.greet()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	r := p.next()
	var list struct {
		Tools []struct {
			Name        string
			Description string
			InputSchema struct {
				Type                 string
				AdditionalProperties *bool
			}
			OutputSchema struct{ Type string }
		}
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatalf("%s: %v", r.Result, err)
	}
	var names []string
	newer := map[string]int{"debug_channel": 1100, "debug_test_scenario": 1300, "debug_ui": 1100,
		"debug_ui_action": 1300} // bytes at most, by tool
	sizes, old := toolSizes(t, r.Result), len(r.Result)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if most := newer[tool.Name]; most > 0 {
			old -= sizes[tool.Name]
			if sizes[tool.Name] >= most {
				t.Errorf("%s has %d bytes, want under %d", tool.Name, sizes[tool.Name], most)
			}
		}
		if tool.InputSchema.Type != "object" || tool.InputSchema.AdditionalProperties == nil ||
			*tool.InputSchema.AdditionalProperties || tool.OutputSchema.Type != "object" {
			t.Errorf("%s: schemas are not closed objects", tool.Name)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "debug_breakpoint debug_channel debug_continue debug_launch debug_memory "+
		"debug_query debug_session debug_setup_tests debug_test debug_test_scenario debug_trace debug_ui "+
		"debug_ui_action" {
		t.Errorf("tools = %s", got)
	}
	if n := len(r.Result); n >= 21<<10 || old >= 16<<10 {
		t.Errorf("tools/list has %d bytes, want under 21 KB; without the newer tools %d, want under 16 KB", n, old)
	} else {
		t.Logf("tools/list: %d bytes, without the newer tools %d: %v", n, old, sizes)
	}
}

// toolSizes returns how many bytes each tool has in the list.
func toolSizes(t *testing.T, list json.RawMessage) map[string]int {
	t.Helper()
	var all struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, raw := range all.Tools {
		var named struct{ Name string }
		if err := json.Unmarshal(raw, &named); err != nil {
			t.Fatal(err)
		}
		sizes[named.Name] = len(raw)
	}
	return sizes
}

func TestBadCallsLeaveTheDaemonAlive(t *testing.T) {
	p := startProxy(t, newHome(t))
	p.greet()
	pid := daemon.HolderPID(p.home)
	big := strings.Repeat("x", 10<<20)
	for i, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"debug_launch","arguments":{"comand":"x"}}}`,
			"VALIDATION_ERROR"},
		{`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"debug_launch","arguments":{"command":"x","projectRoot":7}}}`, "VALIDATION_ERROR"},
		{`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"debug_query","arguments":{"sessionId":"nope"}}}`,
			"SESSION_NOT_FOUND"},
		{`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"debug_query","arguments":{"sessionId":"` + big +
			`"}}}`, "_"},
		{`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"debug_launch","arguments":{"command":"/no/such/program","projectRoot":"/"}}}`, "LAUNCH_FAILED"},
	} {
		p.send(fmt.Sprintf(c.line, i+10))
		r := p.next()
		var result struct {
			IsError           bool
			StructuredContent struct{ Code, Message, Hint string }
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		e := result.StructuredContent
		if !result.IsError || !strings.Contains(e.Code, c.want) || e.Code == "INTERNAL_ERROR" || e.Message == "" ||
			e.Hint == "" {
			t.Errorf("%.100s: %s, %.300s; hint %.200s", c.line, e.Code, e.Message, e.Hint)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"no_such_tool"}}`)
	if r := p.next(); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("unknown tool: %+v", r)
	}
	if now := daemon.HolderPID(p.home); now != pid {
		t.Errorf("daemon %d was replaced by %d", pid, now)
	}
}

// A program outlives the connection that launched it, and any client finds it.
func TestSessionsOutliveConnections(t *testing.T) {
	strobetest.NeedPtrace(t)
	home := newHome(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var launched struct{ SessionID string }
	a := connect(t, ctx, home)
	mustCall(t, ctx, a, "debug_launch", map[string]any{"command": "cat", "projectRoot": t.TempDir(), "stdin": "pipe"},
		&launched)
	a.Close()
	b := connect(t, ctx, home)
	var status struct{ Status string }
	mustCall(t, ctx, b, "debug_session", map[string]any{"action": "status", "sessionId": launched.SessionID}, &status)
	if status.Status != "running" {
		t.Errorf("status = %q after the launching client left, want running", status.Status)
	}
	mustCall(t, ctx, b, "debug_session", map[string]any{"action": "stop", "sessionId": launched.SessionID}, &status)
}

// Killed in the middle of a call: the call gets an error at once, the next one a new daemon that knows
// the session.
func TestKilledDaemon(t *testing.T) {
	strobetest.NeedPtrace(t)
	p := startProxy(t, newHome(t))
	p.greet()
	root := t.TempDir()
	p.send(
		fmt.Sprintf(
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"debug_launch","arguments":{"command":"sleep","args":["30"],"projectRoot":%q}}}`, root))
	var launched struct {
		StructuredContent struct {
			SessionID string
			PID       int
			Message   string
		}
	}
	r := p.next()
	if err := json.Unmarshal(r.Result, &launched); err != nil || launched.StructuredContent.SessionID == "" {
		t.Fatalf("launch = %s (%v)", r.Result, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(launched.StructuredContent.PID, syscall.SIGKILL) }) // gone already is as good
	p.send(
		fmt.Sprintf(
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"debug_query","_meta":{"progressToken":"p"},"arguments":{"sessionId":%q,"eventType":"stdout","waitMs":20000}}}`,
			launched.StructuredContent.SessionID))
	if first := p.next(); len(first.ID) != 0 {
		t.Fatalf("expected progress, got %+v", first)
	}
	if err := syscall.Kill(daemon.HolderPID(p.home), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for {
		r = p.next()
		if len(r.ID) > 0 {
			break
		}
	}
	if string(r.ID) != "3" || r.Error == nil || !strings.Contains(r.Error.Message, "daemon ended while this call ran") {
		t.Errorf("call in flight = %+v", r)
	}
	t.Logf("the call in flight was answered %v after the kill", time.Since(killed))
	p.send(
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"debug_session","arguments":{"action":"list"}}}`)
	r = p.next()
	if r.Error != nil || !strings.Contains(string(r.Result), launched.StructuredContent.SessionID) {
		t.Errorf("list = %+v %s", r.Error, r.Result)
	}
}

func connect(t *testing.T, ctx context.Context, home string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), "mcp")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "0"}, nil).Connect(ctx,
		&sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func mustCall(t *testing.T, ctx context.Context, cs *sdk.ClientSession, tool string, args map[string]any, into any) {
	t.Helper()
	r, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if r.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func TestBinaryIsSmall(t *testing.T) {
	out := filepath.Join(t.TempDir(), "strobe")
	cmd := exec.Command("make", "-C", strobetest.Root(t), "build", "BIN="+out, "VCS=false")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() >= 30<<20 {
		t.Errorf("binary has %d bytes, want under 30 MiB", info.Size())
	}
}
