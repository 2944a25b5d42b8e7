package corefile

import (
	"context"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/inspect"
)

var (
	_ collector.Viewer     = (*Core)(nil)
	_ collector.Evaluator  = (*Core)(nil)
	_ collector.CodeViewer = (*Core)(nil)
)

// view looks into a thread by its place among the core's. Nothing in a core goes on: its Refs hold until it is closed.
// x.mu is held.
func (x *Core) view(at int) *inspect.View {
	return inspect.NewView(x.proc, x.core.picture(at), func(t inspect.Thing) collector.Ref { return x.refs.Put(at, t) })
}

// of has f look into the thread that a Ref is of.
func (x *Core) of(ref collector.Ref, f func(v *inspect.View, t inspect.Thing) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return errClosed()
	}
	at, thing, ok := x.refs.Get(ref)
	if !ok {
		return fault.New(fault.ValidationError, "Ask for the frames of a thread, and take a ref from there.",
			"nothing of the core has ref %d", ref)
	}
	return f(x.view(at), thing)
}

// LiveThreads implements collector.Viewer: those that there were, the one that died first.
func (x *Core) LiveThreads(context.Context) ([]collector.Thread, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil, errClosed()
	}
	out := make([]collector.Thread, len(x.core.threads))
	for i := range out {
		th := x.core.picture(i)
		out[i] = collector.Thread{PID: x.core.pid, TID: th.TID, Name: th.Name, Paused: true}
	}
	return out, nil
}

// Frames implements collector.Viewer.
func (x *Core) Frames(_ context.Context, tid, from, n int) ([]collector.Frame, int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil, 0, errClosed()
	}
	at := 0
	if tid != 0 {
		at = slices.IndexFunc(x.core.threads, func(th thread) bool { return th.tid == tid })
	}
	if at < 0 {
		return nil, 0, fault.New(fault.ValidationError, "Its threads are "+x.threadIDs()+".", "the core has no thread %d",
			tid)
	}
	frames, total := x.view(at).Frames(from, n)
	return frames, total, nil
}

// Scopes implements collector.Viewer.
func (x *Core) Scopes(_ context.Context, frame collector.Ref) (out []collector.Scope, err error) {
	err = x.of(frame, func(v *inspect.View, t inspect.Thing) error {
		out, err = v.Scopes(t)
		return err
	})
	return out, err
}

// Variables implements collector.Viewer.
func (x *Core) Variables(_ context.Context, of collector.Ref, from, n int) (out []collector.Variable, err error) {
	err = x.of(of, func(v *inspect.View, t inspect.Thing) error {
		out, err = v.Variables(t, from, n)
		return err
	})
	return out, err
}

// Evaluate implements collector.Evaluator.
func (x *Core) Evaluate(_ context.Context, frame collector.Ref, src string) (out collector.Variable, err error) {
	err = x.of(frame, func(v *inspect.View, t inspect.Thing) error {
		out, err = v.Evaluate(t.Frame, src)
		return err
	})
	return out, err
}

// SetVariable implements collector.Evaluator.
func (*Core) SetVariable(context.Context, collector.Ref, string, string) (collector.Variable, error) {
	return collector.Variable{}, errReadOnly()
}

// SetExpression implements collector.Evaluator.
func (*Core) SetExpression(context.Context, collector.Ref, string, string) (collector.Variable, error) {
	return collector.Variable{}, errReadOnly()
}

// Code implements collector.CodeViewer.
func (x *Core) Code(_ context.Context, q collector.CodeQuery) (collector.CodeAnswer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return collector.CodeAnswer{}, errClosed()
	}
	return inspect.Code(x.proc, q)
}

func errReadOnly() error {
	return fault.New(fault.Unsupported, "Launch the program to change it.", "a core file is not written to")
}
