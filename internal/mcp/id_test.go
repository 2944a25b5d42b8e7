package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestIDs: an id comes back as it was written. 1.5 came back as 1.
func TestIDs(t *testing.T) {
	for _, id := range []string{"0", "-7", "1.5", "1.0", "1e2", "100000000000000000000000000000", "-0", "9007199254740993",
		"9223372036854775808", `"text"`, `"1.5"`, `"n-X:1"`} {
		c := newLineConn(nil)
		if err := c.decode([]byte(`{"jsonrpc":"2.0","id":` + id +
			`,"method":"tools/call","params":{"name":"x","arguments":{"id":2.5,"requestId":"y"}}}`)); err != nil {
			t.Fatal(err)
		}
		m, err := c.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r := m.(*jsonrpc.Request)
		if !bytes.Contains(r.Params, []byte(`"id":2.5`)) {
			t.Errorf("id %s: the params became %s", id, r.Params)
		}
		b, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.ID, Result: json.RawMessage(`{"id":"n-X:1"}`)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ ID, Result json.RawMessage }
		if err := json.Unmarshal(c.oddID(b), &got); err != nil || string(got.ID) != id ||
			string(got.Result) != `{"id":"n-X:1"}` {
			t.Errorf("id %s came back as %s with %s, %v", id, got.ID, got.Result, err)
		}
	}
}

// TestCancelledIDs: a request of such an id can be cancelled.
func TestCancelledIDs(t *testing.T) {
	c := newLineConn(nil)
	for _, line := range []string{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5,"reason":"r"}}`} {
		if err := c.decode([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := c.Read(context.Background())
	two, _ := c.Read(context.Background())
	var p struct{ RequestID string }
	if err := json.Unmarshal(two.(*jsonrpc.Request).Params, &p); err != nil || p.RequestID == "" ||
		p.RequestID != one.(*jsonrpc.Request).ID.Raw() {
		t.Errorf("the request is %v, what is cancelled %q, %v", one.(*jsonrpc.Request).ID.Raw(), p.RequestID, err)
	}
}
