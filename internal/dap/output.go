package dap

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	proto "github.com/google/go-dap"
)

const (
	// outputWait is how long one question for output waits.
	outputWait = 20000
	// outputEvents bounds one page of output, which the daemon also bounds in bytes.
	outputEvents = 500
)

// drain has all output shown that the program wrote until now. It asks beside relay, whose question goes on waiting.
func (r *run) drain(ctx context.Context) {
	for {
		if n, err := r.page(ctx, 0); err != nil || n == 0 {
			return
		}
	}
}

// relay shows output until the run is closed, or the session is gone.
func (r *run) relay(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := r.page(ctx, outputWait); err != nil {
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

// page shows the next events of output and says how many there were. Two may ask at once: each event is shown once, in
// order.
func (r *run) page(ctx context.Context, waitMs int) (int, error) {
	var page struct {
		Events      []shown
		LastEventID int64
	}
	r.showing.Lock()
	cursor := r.cursor
	r.showing.Unlock()
	kinds := []string{"stdout", "stderr", "logpoint", "condition_error", "crash"}
	args := map[string]any{"sessionId": r.id, "eventType": kinds, "afterEventId": cursor, "limit": outputEvents,
		"verbose": true}
	if waitMs > 0 {
		args["waitMs"] = waitMs
	}
	if err := r.s.ask(ctx, "debug_query", args, &page); err != nil {
		return 0, err
	}
	r.showing.Lock()
	defer r.showing.Unlock()
	for i := range page.Events {
		e := &page.Events[i]
		if e.ID <= r.cursor {
			continue
		}
		r.cursor = e.ID
		if body := r.output(e); body.Output != "" {
			r.s.out.event("output", body)
		}
	}
	r.cursor = max(r.cursor, page.LastEventID)
	return len(page.Events), nil
}

// output is an event in the protocol's words. What is no whole letter of a stream's output waits for the rest.
func (r *run) output(e *shown) proto.OutputEventBody {
	body := proto.OutputEventBody{Category: e.EventType, Output: e.Message + "\n"}
	switch e.EventType {
	case "stdout", "stderr":
		text := r.half[e.EventType]
		if e.Text != nil {
			text += *e.Text
		} else if b, err := base64.StdEncoding.DecodeString(e.Bytes); err == nil {
			text += string(b)
		}
		n := wholeLetters(text)
		body.Output, r.half[e.EventType] = strings.ToValidUTF8(text[:n], "\uFFFD"), text[n:]
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
		body.Source, body.Line = source(e.SourceFile), r.s.line(e.Line)
	}
	return body
}

// wholeLetters is how much of a text ends in no half of a letter.
func wholeLetters(text string) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

// halves shows what no rest has come for: the program has ended.
func (r *run) halves() {
	r.showing.Lock()
	defer r.showing.Unlock()
	for stream, text := range r.half {
		if delete(r.half, stream); text != "" {
			r.s.out.event("output", proto.OutputEventBody{Category: stream, Output: strings.ToValidUTF8(text, "\uFFFD")})
		}
	}
}
