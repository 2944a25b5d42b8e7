package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// speedscope is the file format of https://www.speedscope.app: an evented profile for each thread, in nanoseconds since
// the session's start. It has functions and times alone: no values, no output.
//
// The format wants the events of a thread together: a spool has them until the session was read.
var speedscope = &Format{Name: "speedscope", Extension: ".speedscope.json", stream: writeSpeedscope,
	About: "evented profiles by thread, for https://www.speedscope.app: functions and times, no values and no output"}

func writeSpeedscope(ctx context.Context, s *session, w *bufio.Writer) (err error) {
	p := &speedscopeWriter{session: s, w: w, spool: newSpool(s.scratch, len(s.tracks)),
		threads: map[event.ThreadID]*speedscopeThread{}}
	defer func() { err = errors.Join(err, p.spool.close()) }()
	calls := store.Filter{Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit}
	began, err := p.before(ctx, calls)
	if err != nil {
		return err
	}
	for i := len(began) - 1; i >= 0; i-- { // outermost first
		r := &began[i]
		if err := p.thread(r.Thread).open(r.Enter, r.Func, r.TS-r.Duration); err != nil {
			return err
		}
	}
	if n := int64(len(began)); n > 0 {
		note(&p.report.Changed, "ends of calls", "their begins are not in the session: opened where they were", n)
	}
	err = p.scan(ctx, calls, func(r *store.Row) error {
		p.report.Written++
		return p.thread(r.Thread).row(r)
	})
	if err != nil {
		return err
	}
	if err := p.document(); err != nil {
		return err
	}
	return p.others(ctx)
}

// speedscopeWriter writes one file. Its frames are the functions, by their ids.
type speedscopeWriter struct {
	*session
	w       *bufio.Writer
	spool   *spool
	threads map[event.ThreadID]*speedscopeThread
	buf     []byte
	err     error // of w
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

// thread is the profile of a thread; events of no known thread have one together.
func (p *speedscopeWriter) thread(id event.ThreadID) *speedscopeThread {
	if _, ok := p.track(id); !ok {
		id = event.NoThread
	}
	t := p.threads[id]
	if t == nil {
		t = &speedscopeThread{p: p, id: id, at: math.MinInt64}
		p.threads[id] = t
	}
	return t
}

// document puts the profiles together.
func (p *speedscopeWriter) document() error {
	p.text(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":`)
	p.json("strobe " + p.meta.Version)
	p.text(`,"name":`)
	p.json(valid(p.meta.SessionID))
	p.text(`,"profiles":[`)
	for i, id := range slices.Sorted(maps.Keys(p.threads)) {
		if i > 0 {
			p.text(",")
		}
		if err := p.profile(p.threads[id]); err != nil {
			return err
		}
	}
	p.text("],\n\"shared\":{\"frames\":[")
	for i := range p.sn.Functions() {
		p.frame(event.FuncID(i))
	}
	p.text("\n]}}\n")
	return p.err
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
func (p *speedscopeWriter) profile(t *speedscopeThread) error {
	for call := t.calls.Pop(); call != nil; call = t.calls.Pop() {
		p.report.change("begins of calls", "they have no end in the session: closed where it ends")
		if err := t.put('C', call.fn, p.lastTS); err != nil {
			return err
		}
	}
	name := "events without a thread"
	if tr, ok := p.track(t.id); ok {
		name = fmt.Sprintf("%s (process %d, thread %d)", tr.name, tr.PID, tr.TID)
	}
	p.text("\n{\"type\":\"evented\",\"name\":")
	p.json(name)
	p.text(`,"unit":"nanoseconds","startValue":` + strconv.FormatInt(min(t.start, 0), 10) + `,"endValue":` +
		strconv.FormatInt(max(t.at, p.lastTS), 10) + `,"events":[`)
	if p.err == nil {
		p.err = p.spool.copyTo(p.w, t.id)
	}
	p.text("]}")
	return p.err
}

// speedscopeThread is the profile of one thread.
type speedscopeThread struct {
	p     *speedscopeWriter
	id    event.ThreadID
	calls record.Stack[speedscopeCall]
	start int64 // time of the first event
	at    int64 // time of the newest event: none goes back
}

type speedscopeCall struct{ fn event.FuncID }

func (t *speedscopeThread) open(enter event.ID, fn event.FuncID, ts int64) error {
	t.calls.Begin(enter, speedscopeCall{fn})
	return t.put('O', fn, ts)
}

func (t *speedscopeThread) row(r *store.Row) error {
	if r.Kind == event.FunctionEnter {
		return t.open(r.ID, r.Func, r.TS)
	}
	var failed error
	call := t.calls.End(r.Enter, func(lost speedscopeCall) {
		t.p.report.change("begins of calls", "they have no end in the session: closed with the call around them")
		failed = errors.Join(failed, t.put('C', lost.fn, r.TS))
	})
	if call == nil {
		t.p.report.change("ends of calls", "nothing is known of their begins: without a length")
		return errors.Join(t.put('O', r.Func, r.TS), t.put('C', r.Func, r.TS))
	}
	return errors.Join(failed, t.put('C', call.fn, r.TS))
}

func (t *speedscopeThread) put(kind byte, fn event.FuncID, ts int64) error {
	b := t.p.buf[:0]
	if t.at == math.MinInt64 {
		t.start = ts
	} else {
		b = append(b, ',')
	}
	t.at = max(t.at, ts)
	b = append(append(append(b, "\n{\"type\":\""...), kind), "\",\"frame\":"...)
	b = append(strconv.AppendUint(b, uint64(fn), 10), ",\"at\":"...)
	b = append(strconv.AppendInt(b, t.at, 10), '}')
	t.p.buf = b
	return t.p.spool.write(t.id, b)
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
