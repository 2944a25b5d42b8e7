package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/fault"
)

const waitLimit = 10 * time.Second

// gate lets a test see that a call runs, and that its context ended.
type gate struct{ entered, cancelled chan struct{} }

func newTools(g gate) []Tool {
	object := &jsonschema.Schema{Type: "object"}
	tool := func(name string, run func(ctx context.Context, args []byte) (any, error)) Tool {
		return Tool{Name: name, Description: name, Input: object, Output: object,
			Decode: func(b []byte) (any, error) { return b, nil },
			Run:    func(ctx context.Context, p any) (any, error) { return run(ctx, p.([]byte)) }}
	}
	return []Tool{
		tool("echo", func(_ context.Context, b []byte) (any, error) {
			return map[string]any{"got": json.RawMessage(b), "tag": "<&>"}, nil
		}),
		tool("panics", func(context.Context, []byte) (any, error) { panic("oh") }),
		tool("faults", func(context.Context, []byte) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", fault.New(fault.SessionNotFound, "Call debug_session list.", "no session %q",
				"x"))
		}),
		tool("plain", func(context.Context, []byte) (any, error) { return nil, errors.New("disk on fire") }),
		tool("slow", func(ctx context.Context, _ []byte) (any, error) {
			g.entered <- struct{}{}
			<-ctx.Done()
			close(g.cancelled)
			return nil, ctx.Err()
		}),
		tool("who", func(ctx context.Context, _ []byte) (any, error) {
			return map[string]string{"client": clientName(ctx)}, nil
		}),
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serve runs a server on one end of a socket pair and returns the other end.
func serve(t *testing.T, g gate) (net.Conn, *syncBuffer) {
	t.Helper()
	log := new(syncBuffer)
	s := NewServer(Config{Tools: newTools(g), Version: "test", Logger: slog.New(slog.NewTextHandler(log, nil))})
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(context.Background(), theirs) // ends with the client
	}()
	t.Cleanup(func() {
		ours.Close()
		select {
		case <-done:
		case <-time.After(waitLimit):
			t.Error("Serve goes on after its client left")
		}
	})
	return ours, log
}

func dial(t *testing.T, g gate, o *sdk.ClientOptions) (*sdk.ClientSession, *syncBuffer) {
	t.Helper()
	conn, log := serve(t, g)
	c := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, o)
	cs, err := c.Connect(context.Background(), &sdk.IOTransport{Reader: conn, Writer: conn, MaxLineLength: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs, log
}

func textOf(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("result has %d items of content, want 1", len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text
}

func TestResultIsTextAndStructured(t *testing.T) {
	cs, _ := dial(t, gate{}, nil)
	r, err := cs.CallTool(context.Background(),
		&sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": json.RawMessage("12345678901234567890")}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"got":{"n":12345678901234567890},"tag":"<&>"}`
	if got := textOf(t, r); got != want {
		t.Errorf("text = %s, want %s", got, want)
	}
	if m, ok := r.StructuredContent.(map[string]any); !ok || m["tag"] != "<&>" {
		t.Errorf("structured content = %v, want the same object", r.StructuredContent)
	}
}

func TestErrorsAreToolErrors(t *testing.T) {
	cs, log := dial(t, gate{}, nil)
	for _, c := range []struct{ tool, code, text string }{
		{"faults", "SESSION_NOT_FOUND", `SESSION_NOT_FOUND: no session "x". Call debug_session list.`},
		{"plain", "INTERNAL_ERROR", "INTERNAL_ERROR: disk on fire"},
		{"panics", "INTERNAL_ERROR", "INTERNAL_ERROR: panics panicked: oh"},
		{"echo", "", ""}, // and the server lives
	} {
		r, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: c.tool})
		if err != nil {
			t.Fatalf("call %s: %v", c.tool, err)
		}
		if r.IsError != (c.code != "") {
			t.Errorf("%s: isError = %v", c.tool, r.IsError)
		}
		if c.code == "" {
			continue
		}
		if got := textOf(t, r); !strings.HasPrefix(got, c.text) {
			t.Errorf("%s: text = %q, want %q", c.tool, got, c.text)
		}
		m, _ := r.StructuredContent.(map[string]any)
		if m["code"] != c.code || m["message"] == "" || m["hint"] == nil {
			t.Errorf("%s: structured error = %v", c.tool, m)
		}
	}
	if !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("log has no stack of the panic:\n%s", log)
	}
}

func TestClientNameReachesOperation(t *testing.T) {
	cs, _ := dial(t, gate{}, nil)
	r, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "who"})
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, r); got != `{"client":"tester"}` {
		t.Errorf("client = %s", got)
	}
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(waitLimit):
		t.Fatalf("no %s within %v", what, waitLimit)
	}
}

func TestCancelReachesOperation(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	cs, _ := dial(t, g, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-g.entered; cancel() }()
	if _, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "slow"}); !errors.Is(err, context.Canceled) {
		t.Errorf("call = %v, want canceled", err)
	}
	await(t, g.cancelled, "cancellation")
}

func TestVanishedClientCancelsItsCalls(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	conn, _ := serve(t, g)
	send(t, conn, hello, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`)
	go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with conn; a pipe has no buffer
	await(t, g.entered, "call")
	conn.Close()
	await(t, g.cancelled, "cancellation")
}

// Requests on one connection run at once: a slow one does not hold up the others.
func TestCallsRunAtOnce(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	cs, _ := dial(t, g, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = cs.CallTool(ctx, &sdk.CallToolParams{Name: "slow"}) // its error is the cancellation
	}()
	await(t, g.entered, "call")
	if _, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo"}); err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}

func TestProgress(t *testing.T) {
	g := gate{make(chan struct{}, 1), make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var got *sdk.ProgressNotificationParams
	cs, _ := dial(t, g, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest) {
		got = r.Params
		cancel()
	}})
	p := &sdk.CallToolParams{Name: "slow"}
	p.SetProgressToken("tok")
	if _, err := cs.CallTool(ctx, p); err == nil {
		t.Error("slow call ended by itself")
	}
	await(t, g.cancelled, "cancellation")
	if got == nil || got.ProgressToken != "tok" || got.Progress != 1 || !strings.HasPrefix(got.Message, "elapsed ") {
		t.Errorf("progress = %+v", got)
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`

// send writes lines in the background: a pipe has no buffer.
func send(t *testing.T, c net.Conn, lines ...string) {
	t.Helper()
	go func() { _, _ = io.WriteString(c, strings.Join(lines, "\n")+"\n") }() // a failure shows as a missing answer
}

func TestProtocolErrors(t *testing.T) {
	conn, _ := serve(t, gate{})
	big := `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"who","arguments":{"x":"` +
		strings.Repeat("y", 10<<20) + `"}}}`
	send(t, conn,
		`garbage`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, // before initialize
		hello,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unheard/of"}`, // never answered (R1)
		``,
		`[]`,
		`{"no":"jsonrpc"}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such"}}`,
		`[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","id":5,"method":"ping"}]`,
		big)
	want := map[string]string{
		"null": "-32700 -32600 -32600", "9": "-32600", "1": "ok", "2": "-32601", "3": "-32602", "4": "ok", "5": "ok",
		`"big"`: "ok",
	}
	got := map[string]string{}
	r := bufio.NewReaderSize(conn, 1<<20)
	if err := conn.SetReadDeadline(time.Now().Add(waitLimit)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		var m struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("answer %s: %v", line, err)
		}
		verdict := "ok"
		if m.Error != nil {
			verdict = fmt.Sprint(m.Error.Code)
		}
		id := string(m.ID)
		got[id] = strings.TrimSpace(got[id] + " " + verdict)
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("answer to %s = %q, want %q", id, got[id], w)
		}
	}
}

func TestLongLineIsSkipped(t *testing.T) {
	text := strings.Repeat("a", 100) + "\nshort\nunfinished"
	r := bufio.NewReaderSize(strings.NewReader(text), 16)
	if _, err := readLine(r, 50); !errors.Is(err, errLineTooLong) {
		t.Errorf("long line: %v", err)
	}
	if line, err := readLine(r, 50); err != nil || string(line) != "short" {
		t.Errorf("next line = %q, %v", line, err)
	}
	if _, err := readLine(r, 50); err != io.EOF {
		t.Errorf("unfinished line: %v, want EOF", err)
	}
}

func TestInstructionsAreShort(t *testing.T) {
	if n := len(instructions); n > 1500 {
		t.Errorf("instructions have %d bytes; every conversation pays for them", n)
	}
}

type sink struct{ io.Reader }

func (sink) Write(p []byte) (int, error) { return len(p), nil }
func (sink) Close() error                { return nil }

func FuzzLines(f *testing.F) {
	for _, s := range []string{hello, "[]", "[1]", `{"jsonrpc":"2.0"}`, "{", "\x00",
		`{"jsonrpc":"2.0","id":{},"method":1}`} {
		f.Add([]byte(s + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := lineTransport{newLineConn(sink{bytes.NewReader(b)})}.Connect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for range bytes.Count(b, []byte{'\n'}) + bytes.Count(b, []byte{','}) + 2 {
			if _, err := c.Read(context.Background()); err != nil {
				return
			}
		}
	})
}
