package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	proto "github.com/google/go-dap"
)

// own answers a request of Strobe's own: it takes a tool's arguments but sessionId, which is the program's, and returns
// the tool's answer.
func own(tool string) answerer {
	return during(func(ctx context.Context, s *Server, in *run, a *map[string]any) (any, error) {
		args := *a
		if args == nil {
			args = map[string]any{}
		}
		if _, is := args["sessionId"]; is {
			return nil, errors.New("sessionId is that of the program that is debugged: leave it out")
		}
		args["sessionId"] = in.id
		raw, err := s.daemon.Call(ctx, tool, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tool, err)
		}
		return json.RawMessage(raw), nil
	})
}

// progressAfter is what people wait without being told.
const progressAfter = 500 * time.Millisecond

// progress tells an editor that wants it of a request that takes long, and may be cancelled, until done is called.
func (s *Server) progress(r *request) (done func()) {
	if !s.client.progress {
		return func() {}
	}
	title := map[string]string{"launch": "Starting the program", "attach": "Attaching",
		"restart": "Starting the program anew", "reverseContinue": "Looking through what was recorded"}[r.Command]
	id := fmt.Sprintf("request %d", r.Seq)
	var mu sync.Mutex // leaf but for the writer's
	begun, over := false, false
	later := time.AfterFunc(progressAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if begun = !over; begun {
			s.out.event("progressStart", proto.ProgressStartEventBody{ProgressId: id, Title: title, RequestId: r.Seq,
				Cancellable: true})
		}
	})
	return func() {
		later.Stop()
		mu.Lock()
		defer mu.Unlock()
		if over = true; begun {
			s.out.event("progressEnd", proto.ProgressEndEventBody{ProgressId: id})
		}
	}
}
