package dap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	proto "github.com/google/go-dap"
)

// FuzzServe sends a server anything, as messages and as bytes behind them. It ends with its input, writes nothing but
// messages, and answers each message that is a request once.
func FuzzServe(f *testing.F) {
	for command := range handlers() {
		f.Add([]byte(`{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`),
			[]byte(`{"seq":2,"type":"request","command":"`+command+`","arguments":{}}`), []byte(nil))
	}
	f.Add([]byte(`{"seq":1,"type":"request","command":"initialize"}`),
		[]byte(`{"seq":1,"type":"request","command":"setBreakpoints","arguments":{"source":{"path":"/a"},`+
			`"breakpoints":[{"line":-1}]}}`),
		[]byte("Content-Length: 99999999999999999999\r\n\r\n"))
	f.Add([]byte(`{"seq":1,"type":"response"}`), []byte(`[]`), []byte("Content-Length: 10\r\n\r\n{}"))
	f.Add([]byte(`{"seq":-1,"type":"event","command":null}`), []byte(`{"seq":1e30}`), []byte("\r\r\n\n"))
	f.Fuzz(func(t *testing.T, first, second, rest []byte) {
		var in, out bytes.Buffer
		requests := map[int]int{}
		over := false
		for _, m := range [][]byte{first, second} {
			if err := proto.WriteBaseMessage(&in, m); err != nil {
				t.Fatal(err)
			}
			if r, err := readRequest(m); err == nil && r.Type == "request" && !over {
				requests[r.Seq]++
				over = r.Command == "disconnect"
			}
		}
		in.Write(rest)
		s := &Server{
			Connect:      func(context.Context, string) (Daemon, error) { return nil, errors.New("there is no daemon") },
			Project:      func(dir string, _ []string) string { return dir },
			SignalNumber: func(string) int { return 0 },
		}
		s.Serve(t.Context(), &in, &out) //nolint:errcheck // bytes that are no message are an error
		for r := bufio.NewReader(&out); ; {
			content, err := proto.ReadBaseMessage(r)
			if err == io.EOF {
				break
			}
			var m struct {
				Type       string
				RequestSeq *int `json:"request_seq"`
				Success    *bool
				Message    string
			}
			if err != nil || json.Unmarshal(content, &m) != nil {
				t.Fatalf("written %q: %v", content, err)
			}
			if m.Type != "response" {
				continue
			}
			if m.RequestSeq == nil || m.Success == nil || !*m.Success && m.Message == "" {
				t.Fatalf("answered with %s", content)
			}
			requests[*m.RequestSeq]--
		}
		for seq, n := range requests {
			if n > 0 {
				t.Fatalf("request %d lacks %d answers: %q %q", seq, n, first, second)
			}
		}
	})
}
