package dap

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"

	proto "github.com/google/go-dap"
)

const (
	// outputWait is how long one question for output waits.
	outputWait = 20000
	// outputEvents bounds one page of output, which the daemon also bounds in bytes.
	outputEvents = 500
)

// drain has all output shown that the program wrote until now.
func (r *run) drain(ctx context.Context) {
	done := make(chan struct{})
	select {
	case r.flush <- done:
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}

// relay shows output until the run is closed.
func (r *run) relay(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithCancel(ctx)
		var asked chan struct{}
		answered := make(chan struct{})
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			select {
			case asked = <-r.flush:
				cancel()
			case <-answered:
			}
		}()
		_, err := r.page(asking, outputWait)
		close(answered)
		<-watching
		lost := err != nil && asking.Err() == nil
		cancel()
		if asked != nil {
			for !lost {
				n, err := r.page(ctx, 0)
				if lost = err != nil; n == 0 {
					break
				}
			}
			close(asked)
		}
		if lost {
			break
		}
	}
	for { // a session that is gone has no output
		select {
		case asked := <-r.flush:
			close(asked)
		case <-ctx.Done():
			return
		}
	}
}

// shown is what is used of an event of output.
type shown struct {
	ID          int64
	EventType   string
	Text        *string
	Bytes       string
	Message     string
	Error       string
	Reason      string
	Signal      string
	SourceFile  string
	Line        int
	ThreadID    int
	Description string
}

// page shows the next events of output and says how many there were.
func (r *run) page(ctx context.Context, waitMs int) (int, error) {
	var page struct {
		Events      []shown
		LastEventID int64
	}
	kinds := []string{"stdout", "stderr", "logpoint", "condition_error", "crash"}
	args := map[string]any{"sessionId": r.id, "eventType": kinds, "afterEventId": r.cursor, "limit": outputEvents,
		"verbose": true}
	if waitMs > 0 {
		args["waitMs"] = waitMs
	}
	if err := r.s.ask(ctx, "debug_query", args, &page); err != nil {
		return 0, err
	}
	for i := range page.Events {
		e := &page.Events[i]
		r.cursor = max(r.cursor, e.ID)
		r.s.out.event("output", r.s.output(e))
	}
	r.cursor = max(r.cursor, page.LastEventID)
	return len(page.Events), nil
}

// output is an event in the protocol's words.
func (s *Server) output(e *shown) proto.OutputEventBody {
	body := proto.OutputEventBody{Category: e.EventType, Output: e.Message + "\n"}
	switch e.EventType {
	case "stdout", "stderr":
		if body.Output = ""; e.Text != nil {
			body.Output = *e.Text
		} else if b, err := base64.StdEncoding.DecodeString(e.Bytes); err == nil {
			body.Output = strings.ToValidUTF8(string(b), "\uFFFD")
		}
		return body
	case "crash":
		body.Category = "important"
		body.Output = fmt.Sprintf("Thread %d crashed: %s\n", e.ThreadID, strings.TrimSpace(e.Signal+" "+e.Reason))
	case "condition_error":
		body.Category, body.Output = "important", "A condition cannot be decided: "+strings.TrimSpace(e.Message+e.Error)+"\n"
	default:
		body.Category = "console"
	}
	if filepath.IsAbs(e.SourceFile) {
		body.Source, body.Line = source(e.SourceFile), s.line(e.Line)
	}
	return body
}
