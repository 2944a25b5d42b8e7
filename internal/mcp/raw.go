package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaRaw in a request's _meta, set to true, asks for the result as structuredContent alone. The reply's _meta has the
// result's length in bytes under the same name, so that a client can cut it out of the line without decoding it. Our
// own command line relays a program's output so.
const MetaRaw = "strobe/raw"

// lineKey is the context key of a call's *lineConn.
type lineKey struct{}

// held are results on their way through the SDK, which sees a placeholder for each: it would encode each several times,
// and megabytes take their time.
type held struct {
	mu    sync.Mutex // leaf
	name  string     // what placeholders begin with: no client can guess it
	next  int
	bytes map[string][]byte // by placeholder: what stands for it, and its quotes, in the reply
}

// put keeps JSON until take and returns its placeholder, a text.
func (h *held) put(raw []byte) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes == nil {
		h.name, h.bytes = rand.Text(), make(map[string][]byte)
	}
	h.next++
	key := fmt.Sprintf("%s-%d", h.name, h.next)
	h.bytes[key] = raw
	return key
}

// take splits a message at the placeholders that are in it, and puts in what they stand for.
func (h *held) take(msg []byte) (parts [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.bytes) > 0 {
		from := bytes.Index(msg, []byte(`"`+h.name))
		if from < 0 {
			break
		}
		size := bytes.IndexByte(msg[from+1:], '"')
		if size < 0 {
			break
		}
		key := string(msg[from+1 : from+1+size])
		raw, ok := h.bytes[key]
		if !ok {
			break
		}
		delete(h.bytes, key)
		parts = append(parts, msg[:from], raw)
		msg = msg[from+size+2:]
	}
	return append(parts, msg)
}

// answerOf is the reply to a call: its result, which is JSON, as text and once more as structuredContent, unless its
// client asked for one alone.
func answerOf(c *lineConn, result []byte, meta sdk.Meta) *sdk.CallToolResult {
	structured := func() json.RawMessage { return json.RawMessage(`"` + c.held.put(result) + `"`) }
	if meta[MetaRaw] == true {
		return &sdk.CallToolResult{
			Meta: sdk.Meta{MetaRaw: len(result)}, Content: []sdk.Content{}, StructuredContent: structured(),
		}
	}
	answer := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: c.held.put(quoted(result))}}}
	if meta[MetaTextOnly] != true {
		answer.StructuredContent = structured()
	}
	return answer
}

// quoted is JSON as a text in JSON.
func quoted(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	out := append(make([]byte, 0, len(raw)+len(raw)/4+2), '"')
	from := 0
	for i, b := range raw {
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		out = append(out, raw[from:i]...)
		if from = i + 1; b < ' ' {
			out = fmt.Appendf(out, `\u%04x`, b)
		} else {
			out = append(out, '\\', b)
		}
	}
	return append(append(out, raw[from:]...), '"')
}

// ClientTransport is a client's end of a connection to a Server that asks for results as MetaRaw.
type ClientTransport struct {
	conn io.ReadWriteCloser

	mu   sync.Mutex // leaf
	next int64
	raw  map[int64]json.RawMessage // results cut out of replies, by what stands for them
}

// NewClientTransport returns a transport over conn, which the session closes.
func NewClientTransport(conn io.ReadWriteCloser) *ClientTransport {
	return &ClientTransport{conn: conn, raw: make(map[int64]json.RawMessage)}
}

// Connect implements the SDK's Transport.
func (t *ClientTransport) Connect(context.Context) (sdk.Connection, error) {
	return &clientConn{lineConn: lineConn{c: t.conn, r: bufio.NewReaderSize(t.conn, 1<<20)}, t: t}, nil
}

// Result returns a call's result as the server wrote it, once. ok is false where the server does not know MetaRaw, and
// for errors.
func (t *ClientTransport) Result(r *sdk.CallToolResult) (raw json.RawMessage, ok bool) {
	n, isNumber := r.StructuredContent.(float64)
	if _, has := r.Meta[MetaRaw]; !isNumber || !has {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	raw, ok = t.raw[int64(n)]
	delete(t.raw, int64(n))
	return raw, ok
}

// maxUntaken bounds the results that nobody took, because their calls were cancelled meanwhile.
const maxUntaken = 16

// maxHolder bounds what stands before a result in a reply, in bytes.
const maxHolder = 1 << 10

// cut takes the result out of a reply and leaves a number for it.
func (t *ClientTransport) cut(line []byte) []byte {
	const name = `"structuredContent":`
	at := bytes.Index(line[:min(len(line), maxHolder)], []byte(name))
	if at < 0 {
		return line
	}
	from := at + len(name)
	size, ok := rawSize(line[:at])
	if !ok || size > len(line)-from {
		return line
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.raw) >= maxUntaken {
		clear(t.raw)
	}
	t.next++
	t.raw[t.next] = line[from : from+size]
	return fmt.Appendf(nil, "%s%d%s", line[:from], t.next, line[from+size:])
}

// rawSize reads MetaRaw in what stands before the result.
func rawSize(head []byte) (n int, ok bool) {
	_, rest, ok := bytes.Cut(head, []byte(`"`+MetaRaw+`":`))
	for ; ok && len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' && n < maxLine; rest = rest[1:] {
		n = 10*n + int(rest[0]-'0')
	}
	return n, n > 0
}

// clientConn is lineConn as a client has it.
type clientConn struct {
	lineConn
	t *ClientTransport
}

// Read implements the SDK's Connection. A line that is no message ends the connection: it is our daemon that wrote it.
func (c *clientConn) Read(context.Context) (jsonrpc.Message, error) {
	line, err := readLine(c.r, maxReply)
	if err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(c.t.cut(line))
	if err != nil {
		return nil, fmt.Errorf("read message of the daemon: %w", err)
	}
	return m, nil
}

// maxReply bounds one message from a server in bytes: many times the largest answer.
const maxReply = 1 << 30
