package timeline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// maxOutputText bounds one output event's text in bytes: a viewer shows it in a small pane.
const maxOutputText = 64 << 10

// ChromeTrace writes the whole session in the trace event format that Perfetto and chrome://tracing
// open: calls as slices with arguments and results, output and all else as instants, one track per
// thread. Times are microseconds since the session's start. It returns the number of events written.
//
// Calls whose begin was dropped by the session's limit are written as complete slices.
func ChromeTrace(ctx context.Context, w io.Writer, st *store.Store) (int64, error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return 0, fmt.Errorf("read session: %w", err)
	}
	defer sn.Close()
	c := &chrome{w: bufio.NewWriterSize(w, 256<<10), calls: record.New(sn), threads: sn.Threads(), streams: sn.Streams(),
		first: sn.FirstCallID(), process: filepath.Base(st.Meta().Command)}
	meta := st.Meta()
	c.text(`{"displayTimeUnit":"ns","otherData":`)
	c.json(map[string]any{"session": meta.SessionID, "command": meta.Command, "strobe": meta.Version,
		"startedAtUnixNs": meta.StartedAt})
	c.text(`,"traceEvents":[`)
	c.names()
	scanErr := sn.Scan(ctx, store.Filter{}, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		c.event(r)
		return c.err == nil
	})
	c.text("\n]}\n")
	if err := errors.Join(scanErr, c.err, c.w.Flush()); err != nil {
		return c.n, fmt.Errorf("export session: %w", err)
	}
	return c.n, nil
}

// chrome writes one trace.
type chrome struct {
	w       *bufio.Writer
	calls   *record.Reader
	threads []event.Thread
	streams []event.Stream
	process string
	first   event.ID // oldest call that is kept
	n       int64
	started bool
	err     error
	buf     bytes.Buffer
}

func (c *chrome) text(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

func (c *chrome) json(v any) {
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

func (c *chrome) put(r entry) {
	if c.started {
		c.text(",\n")
	} else {
		c.text("\n")
		c.started = true
	}
	c.json(r)
	if r.Phase != "M" {
		c.n++
	}
}

// names tells the viewer what processes and threads are called.
func (c *chrome) names() {
	seen := map[int32]bool{}
	for _, t := range c.threads {
		if !seen[t.PID] {
			seen[t.PID] = true
			c.put(entry{Name: "process_name", Phase: "M", PID: t.PID, TID: t.TID, Args: &argList{{"name", c.process}}})
		}
		name := t.Name
		if name == "" {
			name = "thread " + strconv.Itoa(int(t.TID))
		}
		c.put(entry{Name: "thread_name", Phase: "M", PID: t.PID, TID: t.TID, Args: &argList{{"name", valid(name)}}})
	}
}

func (c *chrome) event(r *store.Row) {
	rec := entry{TS: micros(r.TS)}
	if int(r.Thread) < len(c.threads) {
		rec.PID, rec.TID = c.threads[r.Thread].PID, c.threads[r.Thread].TID
	}
	switch r.Kind {
	case event.FunctionEnter:
		c.enter(rec, r)
	case event.FunctionExit:
		c.exit(rec, r)
	default:
		rec.Name, rec.Cat, rec.Phase, rec.Scope = r.Kind.String(), "strobe", "i", "t"
		if all := c.streams; (r.Kind == event.Data || r.Kind == event.State) && int(r.Stream) < len(all) {
			rec.Name = all[r.Stream].Channel + " " + all[r.Stream].Name
		}
		rec.Args = payloadArgs(r)
		c.put(rec)
	}
}

func (c *chrome) enter(rec entry, r *store.Row) {
	f := c.calls.Function(r.Func)
	rec.Name, rec.Cat, rec.Phase = valid(f.Name), valid(filepath.Base(f.Module)), "B"
	args := argList{}
	for _, m := range f.Arguments(r) {
		args = append(args, arg{m.Name, m.Value})
	}
	if f.File != "" {
		args = append(args, arg{"source", valid(f.File) + ":" + strconv.Itoa(f.Line)})
	}
	args = append(args, arg{"strobeEvent", r.ID})
	rec.Args = &args
	c.put(rec)
}

func (c *chrome) exit(rec entry, r *store.Row) {
	f := c.calls.Function(r.Func)
	args := argList{}
	switch {
	case r.Flags&event.Unwound != 0:
		args = append(args, arg{"unwound", true})
	case r.Flags&event.Lost != 0:
		args = append(args, arg{"lost", true})
	case f.Known():
		if v, ok := f.Result(r); ok {
			args = append(args, arg{"result", v})
		}
	}
	rec.Name, rec.Phase = valid(f.Name), "E"
	if r.Enter == 0 || r.Enter < c.first {
		// Its begin is gone: one record with both ends.
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
func payloadArgs(r *store.Row) *argList {
	p := r.Payload
	if r.Kind.IsBytes() {
		args := argList{}
		if len(p) > maxOutputText {
			args = append(args, arg{"bytes", len(p)})
			p = p[:maxOutputText]
		}
		args = append(argList{{"text", valid(string(p))}}, args...)
		return &args
	}
	if len(p) > 0 && json.Valid(p) {
		return &argList{{"data", json.RawMessage(bytes.ToValidUTF8(p, []byte("?")))}}
	}
	return nil
}

// valid replaces what is not UTF-8: JSON cannot hold it.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
