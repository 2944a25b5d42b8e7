package export

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// otlp is OpenTelemetry's JSON lines: each line is a TracesData with up to otlpBatch spans, as the collector's
// otlpjsonfile receiver reads them. The session is one trace. A span is a call, with its parent; output, crashes and
// all else are spans without a length, below the call in which they happened. The root span is the session itself.
var otlp = &Format{Name: "otlp", Extension: ".otlp.jsonl", stream: writeOTLP,
	About: "OpenTelemetry spans as OTLP/JSON lines, for collectors (otlpjsonfile) and what takes OTLP"}

// otlpBatch spans are on one line: a reader holds a line in memory.
const otlpBatch = 500

// Values of OTLP's enumerations.
const (
	otlpInternal    = 1 // kind of a span
	otlpStatusError = 2
)

type otlpSpan struct {
	TraceID  string          `json:"traceId"`
	SpanID   string          `json:"spanId"`
	ParentID string          `json:"parentSpanId,omitempty"`
	Name     string          `json:"name"`
	Kind     int             `json:"kind"`
	Start    string          `json:"startTimeUnixNano"`
	End      string          `json:"endTimeUnixNano"`
	Attrs    []otlpAttribute `json:"attributes,omitempty"`
	Status   *otlpStatus     `json:"status,omitempty"`
}

type otlpStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue has one member.
type otlpValue struct {
	String *string  `json:"stringValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"` // 64 bits are a string in protobuf's JSON
	Double *float64 `json:"doubleValue,omitempty"`
}

func otlpText(s string) otlpValue {
	s = valid(s)
	return otlpValue{String: &s}
}

func otlpInt(n int64) otlpValue {
	s := strconv.FormatInt(n, 10)
	return otlpValue{Int: &s}
}

// otlpOf is a captured value: numbers, booleans and texts as they are, all else as its JSON.
func otlpOf(v value.Value) otlpValue {
	switch v.Kind() {
	case value.Bool:
		b := v.Bool()
		return otlpValue{Bool: &b}
	case value.Int:
		if n, ok := v.Int64(); ok {
			return otlpInt(n)
		}
	case value.Float:
		if f, ok := v.Float(); ok && f-f == 0 { // JSON has no infinity
			return otlpValue{Double: &f}
		}
	case value.Text, value.Marker:
		return otlpText(v.Text())
	}
	return otlpText(string(v.AppendJSON(nil)))
}

// otlpWriter writes one trace.
type otlpWriter struct {
	*session
	w     *bufio.Writer
	head  string // of each line
	trace string
	root  string
	lanes []record.Stack[otlpCall] // by thread; the last one: of what belongs to none
	known map[event.ID]bool        // calls that began before what is kept, and ended in it
	batch []otlpSpan
	ids   func(event.ID) string // of spans of calls; nil: their events', below the root
	clock func(ts int64) int64  // nanoseconds since 1970; nil: by the session's begin
}

// otlpCall is a call that is open.
type otlpCall struct {
	enter store.Row
	args  []otlpAttribute
}

func writeOTLP(ctx context.Context, s *session, w *bufio.Writer) error {
	o := &otlpWriter{session: s, w: w, lanes: make([]record.Stack[otlpCall], len(s.tracks)+1),
		known: map[event.ID]bool{}}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", s.meta.SessionID, s.meta.StartedAt))
	sum[16] |= 0x80 // no event's id has that bit
	o.trace, o.root = hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])
	if err := o.begin(); err != nil {
		return err
	}
	began, err := s.before(ctx, store.Filter{})
	if err != nil {
		return err
	}
	for i := len(began) - 1; i >= 0; i-- {
		r := began[i]
		r.ID, r.TS, r.Kind = r.Enter, r.TS-r.Duration, event.FunctionEnter
		o.known[r.ID] = true
		o.lane(r.Thread).Begin(r.ID, otlpCall{enter: r})
	}
	if n := int64(len(began)); n > 0 {
		note(&s.report.Changed, "ends of calls", "their begins are not in the session: spans without arguments", n)
	}
	if err := s.scan(ctx, store.Filter{}, o.row); err != nil {
		return err
	}
	for i := range o.lanes {
		for call := o.lanes[i].Pop(); call != nil; call = o.lanes[i].Pop() {
			o.report.change("begins of calls", "they have no end in the session: spans until where it ends")
			if err := o.call(call, nil, s.lastTS); err != nil {
				return err
			}
		}
	}
	return o.flush()
}

// begin makes the resource and the root span.
func (o *otlpWriter) begin() error {
	if err := o.resource(); err != nil {
		return err
	}
	return o.put(otlpSpan{SpanID: o.root, Name: o.process(), Start: o.time(0), End: o.time(o.lastTS),
		Attrs: []otlpAttribute{{"strobe.session", otlpText(o.meta.SessionID)}}})
}

// resource makes what every line repeats.
func (o *otlpWriter) resource() error {
	resource := []otlpAttribute{{"service.name", otlpText(o.process())},
		{"process.command", otlpText(o.meta.Command)}, {"strobe.session", otlpText(o.meta.SessionID)}}
	if o.meta.PID != 0 {
		resource = append(resource, otlpAttribute{"process.pid", otlpInt(int64(o.meta.PID))})
	}
	head, err := json.Marshal(struct {
		Attributes []otlpAttribute `json:"attributes"`
	}{resource})
	if err != nil {
		return err
	}
	scope, err := json.Marshal(map[string]string{"name": "strobe", "version": o.meta.Version})
	if err != nil {
		return err
	}
	o.head = `{"resourceSpans":[{"resource":` + string(head) + `,"scopeSpans":[{"scope":` + string(scope) + `,"spans":`
	return nil
}

func (o *otlpWriter) lane(id event.ThreadID) *record.Stack[otlpCall] {
	return &o.lanes[min(int64(id), int64(len(o.lanes)-1))]
}

func (o *otlpWriter) time(ts int64) string {
	if o.clock != nil {
		return strconv.FormatInt(o.clock(ts), 10)
	}
	return strconv.FormatInt(o.meta.StartedAt+ts, 10)
}

func (o *otlpWriter) spanID(id event.ID) string {
	if o.ids != nil {
		return o.ids(id)
	}
	return fmt.Sprintf("%016x", uint64(id))
}

// parentID is the span of the call that encloses another event. One that the session's limit dropped is none.
func (o *otlpWriter) parentID(id event.ID) string {
	switch {
	case o.ids != nil:
		return o.ids(id)
	case id == 0:
		return o.root
	case id < o.first && !o.known[id]:
		o.report.change("events", "the calls around them are not in the session: they are below the root")
		return o.root
	}
	return o.spanID(id)
}

func (o *otlpWriter) row(r *store.Row) error {
	o.report.Written++
	switch r.Kind {
	case event.FunctionEnter:
		o.lane(r.Thread).Begin(r.ID, *o.begun(r))
		return nil
	case event.FunctionExit:
		return o.exit(r)
	}
	attrs := append(o.thread(r.Thread), otlpAttribute{"strobe.event", otlpInt(r.ID)})
	span := otlpSpan{SpanID: o.spanID(r.ID), ParentID: o.parentID(r.Parent), Name: o.eventName(r), Start: o.time(r.TS),
		End: o.time(r.TS)}
	if r.Kind.IsBytes() {
		attrs = append(attrs, otlpAttribute{"strobe.text", otlpText(o.text(r, maxOutputText))})
	} else if data := object(r); data != nil {
		attrs = append(attrs, otlpAttribute{"strobe.data", otlpText(string(data))})
	}
	if r.Kind == event.Crash || r.Kind == event.Exception {
		span.Status = &otlpStatus{Code: otlpStatusError}
	}
	span.Attrs = attrs
	return o.put(span)
}

// begun is a call that begins.
func (o *otlpWriter) begun(r *store.Row) *otlpCall {
	call := &otlpCall{enter: *r}
	call.enter.Payload = nil
	for _, m := range o.calls.Function(r.Func).Arguments(r) {
		call.args = append(call.args, otlpAttribute{"strobe.argument." + valid(m.Name), otlpOf(m.Value)})
	}
	call.args = o.facts(call.args, "strobe.enter.", r)
	return call
}

func (o *otlpWriter) exit(r *store.Row) error {
	var failed error
	call := o.lane(r.Thread).End(r.Enter, func(lost otlpCall) {
		o.report.change("begins of calls", "they have no end in the session: spans until the end of the call around them")
		if err := o.call(&lost, nil, r.TS); failed == nil {
			failed = err
		}
	})
	if failed != nil {
		return failed
	}
	if call == nil {
		o.report.change("ends of calls", "nothing is known of their begins: spans without a length")
		began := *r
		began.Payload = nil
		return o.call(&otlpCall{enter: began}, r, r.TS)
	}
	return o.call(call, r, r.TS)
}

// call writes a call; exit is nil where it has none.
func (o *otlpWriter) call(c *otlpCall, exit *store.Row, end int64) error {
	f := o.calls.Function(c.enter.Func)
	attrs := append(o.thread(c.enter.Thread), otlpAttribute{"strobe.event", otlpInt(c.enter.ID)},
		otlpAttribute{"code.function.name", otlpText(f.Name)})
	if f.File != "" {
		attrs = append(attrs, otlpAttribute{"code.file.path", otlpText(f.File)},
			otlpAttribute{"code.line.number", otlpInt(int64(f.Line))})
	}
	span := otlpSpan{SpanID: o.spanID(c.enter.ID), ParentID: o.parentID(c.enter.Parent), Name: valid(f.Name),
		Start: o.time(c.enter.TS), End: o.time(max(end, c.enter.TS))}
	attrs = append(attrs, c.args...)
	yes := true
	if exit == nil {
		attrs = append(attrs, otlpAttribute{"strobe.unfinished", otlpValue{Bool: &yes}})
	} else {
		attrs = o.facts(attrs, "strobe.", exit)
		if e := o.end(exit); e.unwound && exit.Flags&event.AtEnd == 0 {
			span.Status = &otlpStatus{Code: otlpStatusError, Message: valid(e.thrown)}
		}
	}
	span.Attrs = attrs
	return o.put(span)
}

// facts adds what is known of a begin or an end.
func (o *otlpWriter) facts(attrs []otlpAttribute, prefix string, r *store.Row) []otlpAttribute {
	for _, m := range o.session.facts(r) {
		attrs = append(attrs, otlpAttribute{prefix + m.Name, otlpOf(m.Value)})
	}
	return attrs
}

// thread are the attributes of a thread.
func (o *otlpWriter) thread(id event.ThreadID) []otlpAttribute {
	t, ok := o.track(id)
	if !ok {
		return nil
	}
	return []otlpAttribute{{"process.pid", otlpInt(int64(t.PID))}, {"thread.id", otlpInt(int64(t.TID))},
		{"thread.name", otlpText(t.name)}}
}

func (o *otlpWriter) put(s otlpSpan) error {
	if s.TraceID = o.trace; s.Kind == 0 {
		s.Kind = otlpInternal
	}
	if o.batch = append(o.batch, s); len(o.batch) < otlpBatch {
		return nil
	}
	return o.flush()
}

// flush writes a line.
func (o *otlpWriter) flush() error {
	if len(o.batch) == 0 {
		return nil
	}
	if _, err := o.w.WriteString(o.head); err != nil {
		return err
	}
	spans, err := json.Marshal(o.batch)
	if err != nil {
		return err
	}
	_, err = o.w.Write(append(spans, "}]}]}\n"...))
	clear(o.batch)
	o.batch = o.batch[:0]
	return err
}
