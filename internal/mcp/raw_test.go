package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func rawClient(t *testing.T, conn net.Conn) (*sdk.ClientSession, *ClientTransport) {
	t.Helper()
	tr := NewClientTransport(conn)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "raw", Version: "1"}, nil).Connect(context.Background(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs, tr
}

func TestRawResults(t *testing.T) {
	conn, _ := serve(t, gate{})
	cs, tr := rawClient(t, conn)
	call := func(arguments any, meta sdk.Meta) (*sdk.CallToolResult, error) {
		return cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo", Arguments: arguments, Meta: meta})
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			// Looks like our own wire format, and is data.
			text := strings.Repeat(fmt.Sprintf(`"structuredContent":%d}}"strobe/raw":9`, i), 1+i*5000)
			want, err := compact(map[string]any{"got": map[string]any{"n": json.Number("12345678901234567890"), "s": text},
				"tag": "<&>"})
			if err != nil {
				t.Error(err)
				return
			}
			r, err := call(map[string]any{"n": json.Number("12345678901234567890"), "s": text},
				sdk.Meta{MetaRaw: true, MetaTextOnly: true})
			if err != nil {
				t.Error(err)
				return
			}
			got, ok := tr.Result(r)
			if !ok || string(got) != string(want) {
				t.Errorf("result %d = %.200s, %v\nwant %.200s", i, got, ok, want)
			}
			if _, again := tr.Result(r); again || len(r.Content) != 0 {
				t.Errorf("result %d: taken twice %v, content %v", i, again, r.Content)
			}
		})
	}
	wg.Wait()
	r, err := call(map[string]any{"n": 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tr.Result(r); ok || textOf(t, r) != `{"got":{"n":1},"tag":"<&>"}` {
		t.Errorf("an ordinary result = %+v", r)
	}
	r, err = cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "faults", Meta: sdk.Meta{MetaRaw: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tr.Result(r); ok || !r.IsError || r.StructuredContent.(map[string]any)["code"] != "SESSION_NOT_FOUND" {
		t.Errorf("an error = %+v", r)
	}
}

// What a reply claims of itself is checked against what is there.
func FuzzCut(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{"_meta":{"strobe/raw":7},"content":[],"structuredContent":{"a":1}}}`,
		`{"_meta":{"strobe/raw":99},"structuredContent":{}`,
		`"_meta":{"strobe/raw":18446744073709551617},"structuredContent":{}`, `"structuredContent":"_meta":{"strobe/raw":5`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := NewClientTransport(nil)
		rest := tr.cut(b)
		for n, raw := range tr.raw {
			if len(rest) != len(b)-len(raw)+len(fmt.Sprint(n)) {
				t.Errorf("cut %q out of %q and left %q", raw, b, rest)
			}
		}
	})
}

// BenchmarkPage is one page of output from a tool to the client.
func BenchmarkPage(b *testing.B) {
	page := json.RawMessage(`{"text":"` + strings.Repeat("1234567\\n", 1<<19) + `"}`)
	s := NewServer(Config{Version: "test", Logger: slog.New(slog.DiscardHandler), Tools: []Tool{{
		Name: "page", Input: &jsonschema.Schema{Type: "object"}, Output: &jsonschema.Schema{Type: "object"},
		Decode: func([]byte) (any, error) { return nil, nil },
		Run:    func(context.Context, any) (any, error) { return page, nil },
	}}})
	ours, theirs := net.Pipe()
	go s.Serve(context.Background(), theirs)
	defer ours.Close()
	tr := NewClientTransport(ours)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "raw", Version: "1"}, nil).Connect(context.Background(), tr, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer cs.Close()
	for name, meta := range map[string]sdk.Meta{"raw": {MetaRaw: true}, "text": {MetaTextOnly: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				if _, err := cs.CallTool(context.Background(), &sdk.CallToolParams{Name: "page", Meta: meta}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
