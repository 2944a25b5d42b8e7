package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// maxOutputText bounds one output event's text in bytes: a viewer shows it in a small pane.
const maxOutputText = 64 << 10

// chrome is the trace event format that Perfetto and chrome://tracing open: calls as slices with arguments and
// results, output and all else as instants, one track per thread. Times are microseconds since the session's start.
//
// Calls whose begin was dropped by the session's limit are written as complete slices. It is valid JSON also when it is
// cut short by an error: the document is closed.
var chrome = &Format{Name: "chrome", Extension: ".json", stream: writeChrome,
	About: "Chrome's trace event JSON, for https://ui.perfetto.dev and chrome://tracing"}

func writeChrome(ctx context.Context, s *session, w *bufio.Writer) error {
	c := &chromeWriter{session: s, w: w}
	c.text(`{"displayTimeUnit":"ns","otherData":`)
	c.json(map[string]any{"session": s.meta.SessionID, "command": s.meta.Command, "strobe": s.meta.Version,
		"startedAtUnixNs": s.meta.StartedAt})
	c.text(`,"traceEvents":[`)
	c.names()
	err := s.scan(ctx, store.Filter{}, func(r *store.Row) error {
		c.event(r)
		return c.err
	})
	c.text("\n]}\n")
	if err != nil {
		return err
	}
	return c.err
}

// chromeWriter writes one trace.
type chromeWriter struct {
	*session
	w       *bufio.Writer
	started bool
	err     error
	buf     bytes.Buffer
}

func (c *chromeWriter) text(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

func (c *chromeWriter) json(v any) {
	if c.err != nil {
		return
	}
	c.buf.Reset()
	enc := json.NewEncoder(&c.buf)
	enc.SetEscapeHTML(false)
	if c.err = enc.Encode(v); c.err == nil {
		_, c.err = c.w.Write(bytes.TrimSuffix(c.buf.Bytes(), []byte("\n")))
	}
}

// entry is one event of the trace. Args keep their order.
type entry struct {
	Name  string   `json:"name,omitempty"`
	Cat   string   `json:"cat,omitempty"`
	Phase string   `json:"ph"`
	TS    micros   `json:"ts"`
	Dur   *micros  `json:"dur,omitempty"`
	PID   int32    `json:"pid"`
	TID   int32    `json:"tid"`
	Scope string   `json:"s,omitempty"`
	Args  *argList `json:"args,omitempty"`
}

// micros is a time in nanoseconds that JSON shows as microseconds with all its digits.
type micros int64

func (m micros) MarshalJSON() ([]byte, error) {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

type arg struct {
	name  string
	value any
}

type argList []arg

func (l argList) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, a := range l {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(a.name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(a.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), v...)
	}
	return append(b, '}'), nil
}

func (c *chromeWriter) put(r entry) {
	if c.started {
		c.text(",\n")
	} else {
		c.text("\n")
		c.started = true
	}
	c.json(r)
	if r.Phase != "M" {
		c.report.Written++
	}
}

// names tells the viewer what processes and threads are called.
func (c *chromeWriter) names() {
	seen := map[int32]bool{}
	for i := range c.tracks {
		t := &c.tracks[i]
		if !seen[t.PID] {
			seen[t.PID] = true
			c.put(entry{Name: "process_name", Phase: "M", PID: t.PID, TID: t.TID, Args: &argList{{"name", c.process()}}})
		}
		c.put(entry{Name: "thread_name", Phase: "M", PID: t.PID, TID: t.id, Args: &argList{{"name", t.name}}})
	}
}

func (c *chromeWriter) event(r *store.Row) {
	rec := entry{TS: micros(r.TS)}
	if t, ok := c.track(r.Thread); ok {
		rec.PID, rec.TID = t.PID, t.id
	}
	switch r.Kind {
	case event.FunctionEnter:
		c.enter(rec, r)
	case event.FunctionExit:
		c.exit(rec, r)
	default:
		rec.Name, rec.Cat, rec.Phase, rec.Scope = c.eventName(r), "strobe", "i", "t"
		rec.Args = c.payloadArgs(r)
		c.put(rec)
	}
}

func (c *chromeWriter) enter(rec entry, r *store.Row) {
	f := c.calls.Function(r.Func)
	rec.Name, rec.Cat, rec.Phase = valid(f.Name), valid(filepath.Base(f.Module)), "B"
	args := argList{}
	for _, m := range f.Arguments(r) {
		args = append(args, arg{m.Name, m.Value})
	}
	if f.File != "" {
		args = append(args, arg{"source", valid(f.File) + ":" + strconv.Itoa(f.Line)})
	}
	args = c.facts(append(args, arg{"strobeEvent", r.ID}), r)
	rec.Args = &args
	c.put(rec)
}

func (c *chromeWriter) facts(args argList, r *store.Row) argList {
	for _, m := range c.session.facts(r) {
		args = append(args, arg{m.Name, m.Value})
	}
	return args
}

func (c *chromeWriter) exit(rec entry, r *store.Row) {
	f := c.calls.Function(r.Func)
	args := c.facts(nil, r)
	rec.Name, rec.Phase = valid(f.Name), "E"
	if c.beganBefore(r) { // its begin is gone: one record with both ends
		c.report.change("ends of calls", "their begins are not in the session: whole slices without arguments")
		d := micros(r.Duration)
		rec.Phase, rec.TS, rec.Dur = "X", rec.TS-d, &d
		rec.Cat = valid(filepath.Base(f.Module))
	}
	if len(args) > 0 {
		rec.Args = &args
	}
	c.put(rec)
}

// payloadArgs shows what an event that is no call carries: output as text, all else as its JSON object.
func (c *chromeWriter) payloadArgs(r *store.Row) *argList {
	if r.Kind.IsBytes() {
		args := argList{{"text", c.session.text(r, maxOutputText)}}
		if n := len(r.Payload); n > maxOutputText {
			args = append(args, arg{"bytes", n})
		}
		return &args
	}
	if o := object(r); o != nil {
		return &argList{{"data", o}}
	}
	return nil
}
