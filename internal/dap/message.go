package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/fault"
)

// request is one message of the editor.
type request struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`

	ctx    context.Context
	cancel context.CancelFunc
}

// readRequest decodes a message. The error is the editor's, and names no request where none can be read.
func readRequest(content []byte) (*request, error) {
	r := &request{}
	if err := json.Unmarshal(content, r); err != nil {
		return &request{}, fmt.Errorf("this is no message of the protocol: %w", err)
	}
	if r.Type != "request" && r.Type != "response" {
		return r, fmt.Errorf("message %d has type %q, and only requests are answered", r.Seq, r.Type)
	}
	return r, nil
}

// arguments decodes what a request asks for; absent ones are zero.
func (r *request) arguments(into any) error {
	if len(r.Arguments) == 0 || bytes.Equal(r.Arguments, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(r.Arguments, into); err != nil {
		return fmt.Errorf("read the arguments of %s: %w", r.Command, err)
	}
	return nil
}

type response struct {
	proto.Response
	Body any `json:"body,omitempty"`
}

type event struct {
	proto.Event
	Body any `json:"body,omitempty"`
}

// writer gives messages their numbers and writes them whole. Safe for concurrent use.
type writer struct {
	mu  sync.Mutex // leaf
	w   io.Writer
	seq int
	err error // the first; nothing is written behind it
}

func (w *writer) write(number func(seq int) any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.seq++
	content, err := json.Marshal(number(w.seq))
	if err == nil {
		var whole bytes.Buffer
		proto.WriteBaseMessage(&whole, content) //nolint:errcheck // into memory
		_, err = w.w.Write(whole.Bytes())
	}
	w.err = err
}

func (w *writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *writer) event(name string, body any) {
	w.write(func(seq int) any {
		return event{proto.Event{ProtocolMessage: proto.ProtocolMessage{Seq: seq, Type: "event"}, Event: name}, body}
	})
}

func (w *writer) answer(r *request, body any, err error) {
	w.write(func(seq int) any {
		a := response{Response: proto.Response{ProtocolMessage: proto.ProtocolMessage{Seq: seq, Type: "response"},
			Command: r.Command, RequestSeq: r.Seq, Success: err == nil}, Body: body}
		if err != nil {
			a.Message = said(err)
			// A hover over a word that is no variable is no trouble, and a person is told of what a person asked for.
			show := r.Command == "launch" || r.Command == "attach" || r.Command == "restart"
			a.Body = proto.ErrorResponseBody{Error: &proto.ErrorMessage{Id: 1, Format: a.Message, ShowUser: show}}
			if errors.Is(err, context.Canceled) {
				a.Message = "cancelled"
			}
		}
		return a
	})
}

// said is an error for people: what happened, and what to do.
func said(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	if f.Hint == "" {
		return f.Msg
	}
	return f.Msg + ". " + f.Hint
}
