package dap

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/service"
)

// errStands answers what would have a core's threads go on.
var errStands = errors.New("a core file: nothing in it runs")

// openCore opens what is left of a program. Its threads are all paused, and none goes on.
func (s *Server) openCore(ctx context.Context, b beginning, dir, root string) error {
	if !filepath.IsAbs(b.Core) {
		b.Core = filepath.Join(dir, b.Core)
	}
	args := map[string]any{"command": b.Program, "core": b.Core, "projectRoot": root}
	if b.SymbolsPath != "" {
		args["symbolsPath"] = b.SymbolsPath
	}
	r := s.newRun(b)
	r.launched, r.core, r.bare = true, true, true
	return s.open(ctx, r, args)
}

// tellCore says how the program died: its threads stand where they did then.
func (r *run) tellCore(ctx context.Context) error {
	r.begun = true
	var v service.ViewResult
	if err := r.view(ctx, "threads", nil, &v); err != nil {
		return err
	}
	if len(v.Threads) == 0 {
		return errors.New("the core has no threads")
	}
	why, err := r.died(ctx)
	if err != nil {
		return err
	}
	first := v.Threads[0].TID
	reason := "exception"
	if why == nil { // it was alive
		reason, why = "pause", &death{}
	}
	for _, t := range v.Threads {
		r.paused[t.TID] = service.ChangeRow{PID: t.PID, ThreadID: t.TID, Reason: "core"}
	}
	r.held, r.toldHeld = true, true
	r.s.out.event("stopped", proto.StoppedEventBody{Reason: reason, ThreadId: first, AllThreadsStopped: true,
		Description: cmp.Or(why.Signal, "core file"), Text: why.Reason})
	return nil
}

// coreException tells what a core's program died of.
func (r *run) coreException(ctx context.Context) (any, error) {
	why, err := r.died(ctx)
	if err != nil {
		return nil, err
	}
	if why == nil {
		return nil, errors.New("the program was alive when the core was written")
	}
	out := proto.ExceptionInfoResponseBody{ExceptionId: cmp.Or(why.ExceptionType, why.Signal, "crash"),
		Description: why.Reason, BreakMode: "unhandled"}
	if why.ExceptionMessage != "" {
		out.Description = why.ExceptionMessage
	}
	return out, nil
}

// death is what is told of a crash.
type death struct{ Signal, Reason, ExceptionType, ExceptionMessage string }

// died says what ended the program of a core file; nil: nothing had.
func (r *run) died(ctx context.Context) (*death, error) {
	var st struct{ CrashInfo *death }
	err := r.s.ask(ctx, "debug_session", map[string]any{"action": "status", "sessionId": r.id}, &st)
	return st.CrashInfo, err
}
