package query

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/switches"
	"github.com/strobe-debug/strobe/internal/value"
)

// maxText bounds one event's text in a summary: a page of 50 lines stays readable.
const maxText = 4096

// Event is one event of an answer. MarshalJSON writes the fields in this order, those that are empty or
// do not fit the kind left out, and the members of Data behind them.
type Event struct {
	ID          int64         `json:"id"`
	TimestampNs int64         `json:"timestampNs"`
	EventType   string        `json:"eventType"`
	Function    string        `json:"function,omitempty"`
	SourceFile  string        `json:"sourceFile,omitempty"`
	Line        int           `json:"line,omitempty"`
	DurationNs  *int64        `json:"durationNs,omitempty"`
	ReturnType  string        `json:"returnType,omitempty"` // null, bool, number, string, array, object, void
	Unwound     bool          `json:"unwound,omitempty"`    // left by an exception, longjmp or the thread's end: no result
	Exception   *value.Value  `json:"exception,omitempty"`  // that left it, where it is known
	TailCall    bool          `json:"tailCall,omitempty"`
	Lost        bool          `json:"lost,omitempty"` // the exit's record was dropped: no result
	PID         int32         `json:"pid,omitempty"`
	ThreadID    int32         `json:"threadId,omitempty"`
	Channel     string        `json:"channel,omitempty"`       // data and state: whose they are
	Stream      string        `json:"stream,omitempty"`        // of the channel
	Text        *string       `json:"text,omitempty"`          // output, data, and payloads that are no JSON object
	Bytes       string        `json:"bytes,omitempty"`         // instead of text that is not UTF-8
	Encoding    string        `json:"encoding,omitempty"`      // base64, with bytes
	AtRead      bool          `json:"timeOfReading,omitempty"` // output: written before, by nobody that is known
	FunctionRaw string        `json:"functionRaw,omitempty"`
	ThreadName  string        `json:"threadName,omitempty"`
	ParentID    int64         `json:"parentEventId,omitempty"`
	EnterID     int64         `json:"enterEventId,omitempty"` // exits, verbose: the enter that this is the end of
	Arguments   *value.Object `json:"arguments,omitempty"`
	ReturnValue *value.Value  `json:"returnValue,omitempty"`
	Out         value.Object  `json:"out,omitempty"`         // exits with captureOut: what pointer arguments led to then
	WatchValues value.Object  `json:"watchValues,omitempty"` // by label
	Fields      value.Object  `json:"fields,omitempty"`      // instead of all values, where the question names some
	Truncated   bool          `json:"truncated,omitempty"`   // captured bytes were cut
	Sampled     bool          `json:"sampled,omitempty"`     // one of many calls recorded
	// sampled and verbose: the share of the function's calls that was recorded
	SampleRate float64      `json:"sampleRate,omitempty"`
	Data       []DataMember `json:"-"` // members of other kinds' JSON: signal, backtrace, what, …
}

// DataMember is one member of an event's own JSON object.
type DataMember struct {
	Name  string
	Value json.RawMessage
}

// plainEvent is Event without its MarshalJSON.
type plainEvent Event

// MarshalJSON returns the event as one compact object.
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := e.writeTo(&b, newEncoder(&b))
	return b.Bytes(), err
}

// writeTo appends the event to b, into which enc writes.
func (e *Event) writeTo(b *bytes.Buffer, enc *json.Encoder) error {
	if err := enc.Encode((*plainEvent)(e)); err != nil {
		return fmt.Errorf("encode event %d: %w", e.ID, err)
	}
	b.Truncate(b.Len() - len("\n"))
	for _, m := range e.Data {
		b.Truncate(b.Len() - len("}"))
		b.WriteByte(',')
		if err := enc.Encode(m.Name); err != nil {
			return fmt.Errorf("encode event %d: %w", e.ID, err)
		}
		b.Truncate(b.Len() - len("\n"))
		b.WriteByte(':')
		b.Write(m.Value)
		b.WriteByte('}')
	}
	return nil
}

// JSON is what json.Marshal gives, in one pass: an answer may hold megabytes of output, and the standard
// encoder reads over again what a MarshalJSON returned, at every level.
func (res *Result) JSON() ([]byte, error) {
	type plain Result
	p := plain(*res)
	p.Events = nil
	rest, err := encode(p)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(rest, []byte(`{"events":null`))
	if !ok {
		return nil, fmt.Errorf("encode answer: events are not its first field")
	}
	size := len(rest) + 16
	for i := range res.Events {
		size += 256 + len(res.Events[i].Bytes)
		if t := res.Events[i].Text; t != nil {
			size += len(*t) + len(*t)/16
		}
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	enc := newEncoder(b)
	b.WriteString(`{"events":[`)
	for i := range res.Events {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := res.Events[i].writeTo(b, enc); err != nil {
			return nil, err
		}
	}
	b.WriteByte(']')
	b.Write(rest)
	return b.Bytes(), nil
}

func newEncoder(b *bytes.Buffer) *json.Encoder {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc
}

// encode is json.Marshal without escaping <, > and &, of which C++ names and markers are full.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// reserved are the names of Event's own fields that every kind has: an event's own object cannot replace
// them.
var reserved = []string{"id", "timestampNs", "eventType", "pid", "threadId", "threadName"}

// fetchRows rows are fetched at a time, so that a page of much output is cut before all of it was read.
const fetchRows = 64

// events renders the rows of a page: all, or as many as hold maxVerbose captured bytes, and one at least.
func (a *asker) events(rows []store.Row) (out []Event, err error) {
	out = make([]Event, 0, len(rows))
	if a.asked, err = a.askedFields(); err != nil {
		return nil, err
	}
	size := 0
	for len(rows) > 0 {
		some := rows[:min(len(rows), fetchRows)]
		if err := a.fetch(some); err != nil {
			return nil, err
		}
		for i := range some {
			if size += len(some[i].Payload); size > maxVerbose && len(out) > 0 {
				return out, nil
			}
			out = append(out, a.render(&some[i]))
		}
		rows = rows[len(some):]
	}
	return out, nil
}

// fetch replaces rows by complete ones where rendering needs more than the columns.
func (a *asker) fetch(rows []store.Row) error {
	if a.whole {
		return nil
	}
	var ids []event.ID
	for i := range rows {
		r := &rows[i]
		if a.req.Verbose || a.asked != nil || !r.Kind.IsCall() || r.Kind == event.FunctionEnter ||
			a.fn(r.Func).Ret == value.RetPayload {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	full, err := a.sn.Rows(a.ctx, ids)
	if err != nil {
		return fmt.Errorf("read a page of %d events: %w", len(ids), err)
	}
	byID := make(map[event.ID]*store.Row, len(full))
	for i := range full {
		byID[full[i].ID] = &full[i]
	}
	for i := range rows {
		if r := byID[rows[i].ID]; r != nil {
			rows[i] = *r
		}
	}
	return nil
}

// render makes one event of a row that has what its kind needs.
func (a *asker) render(r *store.Row) Event {
	e := Event{ID: r.ID, TimestampNs: r.TS, EventType: r.Kind.String()}
	t := a.thread(r.Thread)
	if r.Kind == event.Crash {
		return a.renderCrash(r, !a.req.Verbose && a.kinds != 1<<event.Crash)
	}
	if !r.Kind.IsCall() {
		e.PID, e.ThreadID = a.processOf(r), t.TID
		if a.req.Verbose {
			e.ThreadName, e.ParentID = a.threadName(r), r.Parent
		}
		e.AtRead = r.Flags&event.AtRead != 0 && r.Kind.IsOutput()
		if r.Kind.IsStreamed() {
			s := a.stream(r)
			e.Channel, e.Stream, e.EventType = s.Channel, s.Name, typeOf(r.Kind, s)
		}
		e.payload(r, a.req.Verbose)
		if e.Channel == switches.Channel && !a.req.Verbose {
			e.Data = slices.DeleteFunc(e.Data, func(d DataMember) bool { return d.Name == "packed" })
		}
		return e
	}
	if a.several {
		e.PID = t.PID
	}
	f := a.fn(r.Func)
	e.Function, e.SourceFile, e.Line = f.Name, f.File, f.Line
	e.TailCall = r.Flags&event.TailCall != 0
	if r.Kind == event.FunctionExit {
		d := r.Duration
		e.DurationNs = &d
		e.Unwound, e.Lost = r.Flags&event.Unwound != 0, r.Flags&event.Lost != 0
		if v, ok := f.Result(r); ok {
			e.ReturnType = v.TypeName()
			if !a.req.Verbose {
				v = inShort(v, summaryResult)
			}
			e.ReturnValue = &v
		} else if short, thrown := f.Thrown(r); short != "" && !thrown.IsNull() {
			e.Exception = &thrown
			if !a.req.Verbose {
				thrown = inShort(thrown, summaryResult)
			}
		} else if f.Ret == value.RetNone {
			e.ReturnType = "void"
		}
	}
	e.Sampled = r.Flags&event.Sampled != 0
	if a.asked != nil {
		e.fieldsOf(a.asked, r)
	}
	if !a.req.Verbose {
		if r.Kind == event.FunctionEnter && a.asked == nil {
			e.Arguments = shortArguments(f.Arguments(r))
		}
		return e
	}
	e.PID, e.ThreadID, e.ThreadName = t.PID, t.TID, a.threadName(r)
	if e.Sampled {
		e.SampleRate = a.sampleRate(r.Func)
	}
	e.FunctionRaw, e.ParentID, e.EnterID = f.Raw, r.Parent, r.Enter
	e.Truncated = r.Flags&event.Truncated != 0
	if !f.Known() || a.asked != nil {
		return e
	}
	e.WatchValues = f.Watches(r)
	if r.Kind == event.FunctionEnter {
		o := f.Arguments(r)
		e.Arguments = &o
	} else {
		e.Out = f.Out(r)
	}
	return e
}

// fieldsOf puts what was asked for in the place of all values.
func (e *Event) fieldsOf(w *asked, r *store.Row) {
	e.ReturnValue, e.Exception = nil, nil
	if r.Kind == event.FunctionEnter {
		e.Fields, _ = w.of(r, nil)
	} else {
		_, e.Fields = w.of(nil, r)
	}
	e.Fields = w.short(e.Fields)
}

// Bytes that values take in a summary: what is small is there, of what is large enough to tell it from others.
const (
	summaryArguments = 100
	summaryResult    = 60
	summaryLeast     = 24
)

// shortArguments are a call's arguments for a summary, nil for none.
func shortArguments(o value.Object) *value.Object {
	if len(o) == 0 {
		return nil
	}
	out := make(value.Object, len(o))
	for i, m := range o {
		out[i] = value.Member{Name: m.Name, Value: inShort(m.Value, max(summaryArguments/len(o), summaryLeast))}
	}
	return &out
}

// inShort is v if it is small, else text about it.
func inShort(v value.Value, limit int) value.Value {
	switch v.Kind() {
	case value.Obj, value.Array:
		return value.NewText(v.Short(limit))
	case value.Text:
		w, _ := v.Fit(limit + 20)
		return w
	}
	return v
}

// payload sets text or the members of the event's own JSON.
func (e *Event) payload(r *store.Row, whole bool) {
	if !r.Kind.IsBytes() {
		if m, ok := members(r.Payload); ok {
			if r.Kind.IsStreamed() {
				m = slices.DeleteFunc(m, func(d DataMember) bool { return d.Name == "channel" || d.Name == "stream" })
			}
			namePlaces(m)
			e.Data = m
			return
		}
	}
	p := r.Payload
	if !isText(p) {
		e.Encoding = "base64"
		if !whole && len(p) > maxText {
			more := fmt.Sprintf("…(+%d bytes)", len(p)-maxText)
			e.Bytes, e.Text = base64.StdEncoding.EncodeToString(p[:maxText]), &more
			return
		}
		e.Bytes = base64.StdEncoding.EncodeToString(p)
		return
	}
	text := string(p)
	if !whole {
		text = cut(text, maxText)
	}
	e.Text = &text
}

// isText reports whether output reads as text. Bytes that are valid UTF-8 but mostly control characters, such as a
// block of zeros, are none: JSON would need six characters for each.
func isText(p []byte) bool {
	if !utf8.Valid(p) {
		return false
	}
	odd := 0
	for _, c := range p {
		odd += int(oddControls[c])
	}
	return odd <= len(p)/4
}

// oddControls has 1 for the control characters that text does not have: all but \a, \b, \t, \n, \v, \f, \r and escape.
var oddControls = func() (t [256]uint8) {
	for c := range 32 {
		t[c] = 1
	}
	for _, c := range []byte("\a\b\t\n\v\f\r\x1b") {
		t[c] = 0
	}
	t[0x7f] = 1
	return t
}()

// cut shortens valid UTF-8 to about limit bytes and says how much is gone.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s…(+%d bytes)", s[:limit], len(s)-limit)
}

// members splits a JSON object, in order; false where b is none.
func members(b []byte) ([]DataMember, bool) {
	if !json.Valid(b) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []DataMember
	seen := make(map[string]bool)
	for d.More() {
		k, err := d.Token()
		name, ok := k.(string)
		var raw json.RawMessage
		if err != nil || !ok || d.Decode(&raw) != nil {
			return nil, false
		}
		if seen[name] || slices.Contains(reserved, name) {
			continue
		}
		seen[name] = true
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return nil, false
		}
		out = append(out, DataMember{name, bytes.ToValidUTF8(compact.Bytes(), []byte("\uFFFD"))})
	}
	return out, true
}

// containsText reports whether an event's text holds want. Of JSON payloads that is their text as stored.
func containsText(r *store.Row, want []byte) bool { return bytes.Contains(r.Payload, want) }
