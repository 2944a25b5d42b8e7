package export

import (
	"bufio"
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
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
	about, err := json.Marshal(map[string]any{"session": s.meta.SessionID, "command": s.meta.Command,
		"strobe": s.meta.Version, "startedAtUnixNs": s.meta.StartedAt})
	if err != nil {
		return err
	}
	c.text(string(about))
	c.text(`,"traceEvents":[`)
	c.names()
	err = s.scan(ctx, store.Filter{}, func(r *store.Row) error {
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
	buf     []byte
	lanes   threadLanes
}

func (c *chromeWriter) text(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

// entry is one event of the trace. Args keep their order.
type entry struct {
	Name, Cat string
	Phase     string
	TS        int64 // nanoseconds, as Dur
	Dur       int64 // of a complete slice
	PID, TID  int32
	Scope     string
	Args      argList
}

// appendMicros appends a time in nanoseconds as microseconds with all its digits.
func appendMicros(b []byte, n int64) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = append(strconv.AppendInt(b, n/1000, 10), '.')
	return append(b, byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
}

type arg struct {
	name  string
	value value.Value
	raw   json.RawMessage // instead of value
}

type argList []arg

func appendText(b []byte, s string) []byte { return value.NewText(s).AppendJSON(b) }

func (l argList) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, a := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, a.name), ':')
		if a.raw != nil {
			b = append(b, a.raw...)
		} else {
			b = a.value.AppendJSON(b)
		}
	}
	return append(b, '}')
}

func (e *entry) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for _, m := range [...]struct{ name, text string }{{"name", e.Name}, {"cat", e.Cat}, {"ph", e.Phase}, {"s", e.Scope}} {
		if m.text != "" {
			b = append(appendText(append(appendText(b, m.name), ':'), m.text), ',')
		}
	}
	b = appendMicros(append(b, `"ts":`...), e.TS)
	if e.Phase == "X" {
		b = appendMicros(append(b, `,"dur":`...), e.Dur)
	}
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(e.PID), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(e.TID), 10)
	if len(e.Args) > 0 {
		b = e.Args.appendJSON(append(b, `,"args":`...))
	}
	return append(b, '}')
}

func (c *chromeWriter) put(r entry) {
	if c.err != nil {
		return
	}
	c.buf = c.buf[:0]
	if c.started {
		c.buf = append(c.buf, ',')
	}
	c.started = true
	c.buf = r.appendJSON(append(c.buf, '\n'))
	_, c.err = c.w.Write(c.buf)
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
			c.put(entry{Name: "process_name", Phase: "M", PID: t.PID, TID: t.TID, Args: argList{text("name", c.process())}})
		}
		c.put(entry{Name: "thread_name", Phase: "M", PID: t.PID, TID: t.id, Args: argList{text("name", t.name)}})
	}
}

func (c *chromeWriter) event(r *store.Row) {
	if c.lane(r) {
		return
	}
	rec := entry{TS: r.TS}
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
	rec.Name, rec.Cat, rec.Phase = f.Name, filepath.Base(f.Module), "B"
	for _, m := range f.Arguments(r) {
		rec.Args = append(rec.Args, arg{name: m.Name, value: m.Value})
	}
	if f.File != "" {
		rec.Args = append(rec.Args, text("source", f.File+":"+strconv.Itoa(f.Line)))
	}
	rec.Args = c.facts(append(rec.Args, arg{name: "strobeEvent", value: value.NewInt(r.ID)}), r)
	c.put(rec)
}

func text(name, s string) arg { return arg{name: name, value: value.NewText(s)} }

func (c *chromeWriter) facts(args argList, r *store.Row) argList {
	for _, m := range c.session.facts(r) {
		args = append(args, arg{name: m.Name, value: m.Value})
	}
	return args
}

func (c *chromeWriter) exit(rec entry, r *store.Row) {
	f := c.calls.Function(r.Func)
	rec.Name, rec.Phase, rec.Args = f.Name, "E", c.facts(nil, r)
	if c.beganBefore(r) { // its begin is gone: one record with both ends
		c.report.change("ends of calls", "their begins are not in the session: whole slices without arguments")
		rec.Phase, rec.TS, rec.Dur = "X", rec.TS-r.Duration, r.Duration
		rec.Cat = filepath.Base(f.Module)
	}
	c.put(rec)
}

// payloadArgs shows what an event that is no call carries: output as text, all else as its JSON object.
func (c *chromeWriter) payloadArgs(r *store.Row) argList {
	if r.Kind.IsBytes() {
		args := argList{text("text", c.session.text(r, maxOutputText))}
		if n := len(r.Payload); n > maxOutputText {
			args = append(args, arg{name: "bytes", value: value.NewInt(int64(n))})
		}
		return args
	}
	if o := object(r); o != nil {
		return argList{{name: "data", raw: o}}
	}
	return nil
}
