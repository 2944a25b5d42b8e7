package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// speedscope is the file format of https://www.speedscope.app: an evented profile for each thread, in nanoseconds since
// the session's start. It has functions and times alone: no values, no output.
//
// The session is read once for each thread that has calls, of which the store reads the blocks that have any of it.
var speedscope = &Format{Name: "speedscope", Extension: ".speedscope.json", stream: writeSpeedscope,
	About: "evented profiles by thread, for https://www.speedscope.app: functions and times, no values and no output"}

func writeSpeedscope(ctx context.Context, s *session, w *bufio.Writer) error {
	p := &speedscopeWriter{session: s, w: w}
	p.text(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":`)
	p.json("strobe " + s.meta.Version)
	p.text(`,"name":`)
	p.json(valid(s.meta.SessionID))
	p.text(`,"profiles":[`)
	lanes, err := s.sn.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	calls := store.Filter{Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit}
	threads := 0
	for _, l := range lanes {
		f := calls
		f.Threads = &store.Bits{}
		f.Threads.Set(uint32(l.Thread))
		if n, err := s.sn.Count(ctx, f); err != nil {
			return err
		} else if n == 0 {
			continue
		}
		if threads++; threads > 1 {
			p.text(",")
		}
		if err := p.profile(ctx, l.Thread, f); err != nil {
			return err
		}
	}
	p.text("],\n\"shared\":{\"frames\":[")
	for i := range s.sn.Functions() {
		p.frame(event.FuncID(i))
	}
	p.text("\n]}}\n")
	if p.err != nil {
		return p.err
	}
	return p.others(ctx)
}

// speedscopeWriter writes one file. Its frames are the functions, by their ids.
type speedscopeWriter struct {
	*session
	w   *bufio.Writer
	err error
	n   int // of the profile's events
}

func (p *speedscopeWriter) text(s string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
}

func (p *speedscopeWriter) json(v any) {
	b, err := json.Marshal(v)
	if err != nil && p.err == nil {
		p.err = err
	}
	p.text(string(b))
}

func (p *speedscopeWriter) frame(id event.FuncID) {
	f := p.calls.Function(id)
	if id > 0 {
		p.text(",")
	}
	frame := struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}{valid(f.Name), valid(f.File), f.Line}
	if frame.Name == "" {
		frame.Name = "?"
	}
	p.text("\n")
	p.json(frame)
}

// profile writes what one thread called. Events must be in the order of time and properly nested, whatever was lost.
func (p *speedscopeWriter) profile(ctx context.Context, id event.ThreadID, f store.Filter) error {
	began, err := p.before(ctx, f)
	if err != nil {
		return err
	}
	name, start := "events without a thread", int64(0)
	if t, ok := p.track(id); ok {
		name = fmt.Sprintf("%s (process %d, thread %d)", t.name, t.PID, t.TID)
	}
	if n := len(began); n > 0 {
		start = min(began[n-1].TS-began[n-1].Duration, 0)
	}
	p.text("\n{\"type\":\"evented\",\"name\":")
	p.json(name)
	p.text(`,"unit":"nanoseconds","startValue":` + strconv.FormatInt(start, 10) + `,"endValue":` +
		strconv.FormatInt(p.lastTS, 10) + `,"events":[`)
	p.n = 0
	th := &speedscopeThread{p: p, at: start}
	for i := len(began) - 1; i >= 0; i-- {
		th.open(began[i].Enter, began[i].Func, began[i].TS-began[i].Duration)
	}
	if n := int64(len(began)); n > 0 {
		note(&p.report.Changed, "ends of calls", "their begins are not in the session: opened where they were", n)
	}
	err = p.scan(ctx, f, func(r *store.Row) error {
		p.report.Written++
		th.row(r)
		return p.err
	})
	if err != nil {
		return err
	}
	for call := th.calls.Pop(); call != nil; call = th.calls.Pop() {
		p.report.change("begins of calls", "they have no end in the session: closed where it ends")
		th.put("C", call.fn, p.lastTS)
	}
	p.text("]}")
	return p.err
}

// speedscopeThread is the profile of one thread.
type speedscopeThread struct {
	p     *speedscopeWriter
	calls record.Stack[speedscopeCall]
	at    int64 // time of the newest event: none goes back
}

type speedscopeCall struct{ fn event.FuncID }

func (t *speedscopeThread) open(enter event.ID, fn event.FuncID, ts int64) {
	t.calls.Begin(enter, speedscopeCall{fn})
	t.put("O", fn, ts)
}

func (t *speedscopeThread) row(r *store.Row) {
	if r.Kind == event.FunctionEnter {
		t.open(r.ID, r.Func, r.TS)
		return
	}
	call := t.calls.End(r.Enter, func(lost speedscopeCall) {
		t.p.report.change("begins of calls", "they have no end in the session: closed with the call around them")
		t.put("C", lost.fn, r.TS)
	})
	if call == nil {
		t.p.report.change("ends of calls", "nothing is known of their begins: without a length")
		t.put("O", r.Func, r.TS)
		t.put("C", r.Func, r.TS)
		return
	}
	t.put("C", call.fn, r.TS)
}

func (t *speedscopeThread) put(kind string, fn event.FuncID, ts int64) {
	t.at = max(t.at, ts)
	if t.p.n++; t.p.n > 1 {
		t.p.text(",")
	}
	t.p.text("\n{\"type\":\"" + kind + "\",\"frame\":" + strconv.Itoa(int(fn)) + ",\"at\":" +
		strconv.FormatInt(t.at, 10) + "}")
}

// others counts what no profile has.
func (p *speedscopeWriter) others(ctx context.Context) error {
	for k := event.KindNone + 1; k < event.NumKinds; k++ {
		if k.IsCall() {
			continue
		}
		n, err := p.sn.Count(ctx, store.Filter{Kinds: 1 << k})
		if err != nil {
			return fmt.Errorf("count events: %w", err)
		}
		if n > 0 {
			note(&p.report.LeftOut, k.String()+" events", "the format has functions and times alone", n)
		}
	}
	return nil
}
