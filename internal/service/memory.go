package service

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/value"
)

// MemoryParams are the parameters of debug_memory.
type MemoryParams struct {
	SessionID string         `json:"sessionId"`
	Action    string         `json:"action,omitempty"`
	Targets   []MemoryTarget `json:"targets,omitempty"`
	ThreadID  int            `json:"threadId,omitempty"`
	Frame     *int           `json:"frame,omitempty" jsonschema:"default: innermost of user code"`
	PID       int            `json:"pid,omitempty" jsonschema:"of several processes"`
	EventID   int64          `json:"eventId,omitempty" jsonschema:"values as this event recorded them"`
	Depth     int            `json:"depth,omitempty"`
	Poll      *PollParam     `json:"poll,omitempty" jsonschema:"repeat: variable_snapshot events"`
	Budget
}

// MemoryTarget is one thing to read: exactly one of variable, expression, and address with type or size.
type MemoryTarget struct {
	Variable   string     `json:"variable,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Address    string     `json:"address,omitempty" jsonschema:"0x…, with type (T, T[n]) or size"`
	Size       int        `json:"size,omitempty"`
	Type       string     `json:"type,omitempty" jsonschema:"or hexdump, with size"`
	Value      *JSONValue `json:"value,omitempty" jsonschema:"of a write; 64 bits exact"`
}

// JSONValue is a value as the client wrote it: numbers keep all their digits.
type JSONValue struct{ raw json.RawMessage }

// UnmarshalJSON keeps the text.
func (v *JSONValue) UnmarshalJSON(b []byte) error {
	v.raw = append(json.RawMessage{}, b...)
	return nil
}

// MarshalJSON returns the text.
func (v JSONValue) MarshalJSON() ([]byte, error) {
	if v.raw == nil {
		return []byte("null"), nil
	}
	return v.raw, nil
}

// IsZero reports that nothing was given.
func (v JSONValue) IsZero() bool { return v.raw == nil }

// JSONSchema says what may stand there.
func (JSONValue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"number", "string", "boolean", "array", "object", "null"}}
}

// PollParam asks for readings again and again.
type PollParam struct {
	IntervalMs int `json:"intervalMs,omitempty"`
	DurationMs int `json:"durationMs,omitempty"`
}

// MemoryResult is the answer of debug_memory.
type MemoryResult struct {
	Results []MemoryValue `json:"results"`         // in the order of targets
	Event   string        `json:"event,omitempty"` // with eventId: its type, function and time
	Hint    string        `json:"hint,omitempty"`
}

// MemoryValue is what became of one target: value, fields or error.
type MemoryValue struct {
	Target   string       `json:"target"`
	Address  string       `json:"address,omitempty"` // "0x…"; absent for what is in no memory
	Type     string       `json:"type,omitempty"`
	Value    *value.Value `json:"value,omitempty"`         // bytes without a type are hexadecimal digits
	Fields   *value.Value `json:"fields,omitempty"`        // of a struct
	Previous *value.Value `json:"previousValue,omitempty"` // of a write
	// over 1,024 bytes: where they are, mode 0600, until the session is deleted
	File    string `json:"file,omitempty"`
	Preview string `json:"preview,omitempty"` // of the file: its first 64 bytes as a hexdump
	Error   string `json:"error,omitempty"`   // CODE: what happened. What to do next.
}

// Bounds of debug_memory.
const (
	maxMemoryTargets = 16
	maxMemorySize    = 64 << 20
	maxPolledSize    = 4096 // of each reading on the timeline
	maxInline        = 1024 // bytes in an answer; more go to a file
	memoryDepth      = 2
	maxFrame         = 1 << 20 // deeper than any stack that is read
	defaultPollEvery = 100     // ms
	defaultPollFor   = 1000    // ms
)

var memoryOp = Op{
	Name: "debug_memory",
	Summary: "Read or write values: globals and addresses of a running program, without stopping it; locals and " +
		"registers of a paused thread or a core file.",
	Doc: "Expressions are in the language of watches: members, elements, casts, arithmetic, len(x); also registers " +
		"such as $rdi. " +
		"With a paused thread or a core file, names are looked up in the frame first, then as statics and globals. Else " +
		"there is no frame: globals, statics and addresses. " +
		"A write checks all targets before it changes any; integers are exact to 64 bits (as text where JSON numbers " +
		"are not). " +
		"A struct takes an object of the members to change. A value that changes while it is read may be seen half " +
		"changed. Memory without a type is shown as hexadecimal " +
		"digits, with type hexdump as lines with their text; over 1,024 bytes (up to 64 MB) it goes to a file " +
		"with a preview.",
	Params:  reflect.TypeFor[MemoryParams](),
	Results: []reflect.Type{reflect.TypeFor[MemoryResult]()},
	Fields: []Field{
		maxTokensField,
		{Name: "sessionId", Required: true},
		{Name: "action", Enum: []string{"read", "write"}, Default: "read"},
		{Name: "depth", Min: 1, Max: 5, Default: memoryDepth},
		{Name: "targets.size", Min: 1, Max: maxMemorySize},
		{Name: "threadId", Min: 1, Max: maxPID},
		{Name: "frame", Max: maxFrame},
		{Name: "pid", Min: 1, Max: maxPID},
		{Name: "eventId", Min: 1, Max: unbounded},
		{Name: "poll.intervalMs", Min: 50, Max: 5000, Default: defaultPollEvery},
		{Name: "poll.durationMs", Min: 100, Max: 30000, Default: defaultPollFor},
	},
	run: typed(readMemory),
}

func readMemory(ctx context.Context, s *Service, p *MemoryParams) (*MemoryResult, error) {
	if p.EventID != 0 {
		return recallMemory(ctx, s, p)
	}
	if len(p.Targets) == 0 {
		return nil, invalid("Give 1 to 16 of {variable}, {expression} or {address, type}.", "targets is empty")
	}
	q, err := p.inspection()
	if err != nil {
		return nil, err
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	readings, err := sess.Inspect(ctx, q)
	if err != nil {
		return nil, err
	}
	r := &MemoryResult{Results: make([]MemoryValue, len(readings))}
	if p.Poll != nil {
		every, last := cmp.Or(p.Poll.IntervalMs, defaultPollEvery), cmp.Or(p.Poll.DurationMs, defaultPollFor)
		if err := sess.Poll(ctx, q, p.labels(), time.Duration(every)*time.Millisecond,
			time.Duration(last)*time.Millisecond); err != nil {
			return nil, err
		}
		r.Hint = fmt.Sprintf("Sampled every %d ms for %d ms: debug_query with eventType variable_snapshot.", every, last)
	}
	for i := range readings {
		r.Results[i] = shown(p.Targets[i].name(), &readings[i])
		if b := readings[i].Bytes; b != nil {
			r.Results[i].bytes(sess, &readings[i], p.Targets[i].Type == hexdump)
		}
	}
	return r, nil
}

// inspection is the question that the parameters ask.
func (p *MemoryParams) inspection() (collector.Inspection, error) {
	q := collector.Inspection{ThreadID: p.ThreadID, Frame: -1, Depth: p.Depth, PID: p.PID}
	if n := len(p.Targets); n > maxMemoryTargets {
		return q, invalid("Read the others with a second call.", "%d targets; a call has at most %d", n, maxMemoryTargets)
	}
	if q.Depth == 0 {
		q.Depth = memoryDepth
	}
	if p.Frame != nil {
		if q.Frame = *p.Frame; q.Frame < 0 {
			return q, invalid("Count from 0, the innermost.", "frame = %d is out of range", q.Frame)
		}
	}
	if p.Poll != nil && p.Action == "write" {
		return q, invalid("Leave one of them out.", "poll is for reading")
	}
	for i := range p.Targets {
		t, err := p.Targets[i].target(i)
		if err != nil {
			return q, err
		}
		if t.Set, err = p.Targets[i].set(i, p.Action == "write"); err != nil {
			return q, err
		}
		if p.Poll != nil && t.Size > maxPolledSize {
			return q, invalid(fmt.Sprintf("Poll at most %d bytes.", maxPolledSize),
				"targets[%d]: size = %d is too much to read again and again", i, t.Size)
		}
		q.Targets = append(q.Targets, t)
	}
	return q, nil
}

// recallMemory answers with the values that an event recorded.
func recallMemory(ctx context.Context, s *Service, p *MemoryParams) (*MemoryResult, error) {
	if p.Action == "write" || p.Poll != nil || p.ThreadID != 0 || p.Frame != nil || p.PID != 0 {
		return nil, invalid("Leave eventId out to read or write the program as it is now.",
			"an event is the past: eventId goes with targets only")
	}
	if n := len(p.Targets); n > maxMemoryTargets {
		return nil, invalid("Read the others with a second call.", "%d targets; a call has at most %d", n, maxMemoryTargets)
	}
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	st, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	rec, err := query.Recall(use, st, p.EventID, query.Env{Flush: func(ctx context.Context) error {
		sess.Flush(ctx) //nolint:errcheck // what is there is still worth an answer
		return ctx.Err()
	}})
	if err != nil {
		return nil, err
	}
	r := &MemoryResult{Results: []MemoryValue{},
		Event: strings.TrimSpace(fmt.Sprintf("%s %s", rec.Event.EventType, rec.Event.Function)) +
			fmt.Sprintf(" at %d ns", rec.Event.TimestampNs)}
	for i := range p.Targets {
		t := &p.Targets[i]
		if t.Address != "" || t.Value != nil || (t.Variable == "") == (t.Expression == "") {
			return nil, invalid("Give the name as {variable}.", "targets[%d]: an event has values by name", i)
		}
		v, err := rec.Get(t.Variable + t.Expression)
		r.Results = append(r.Results, shown(t.name(), &collector.Reading{Value: v, Err: err}))
	}
	if len(p.Targets) == 0 {
		for _, m := range rec.Values {
			r.Results = append(r.Results, shown(m.Name, &collector.Reading{Value: m.Value}))
		}
	}
	return r, nil
}

// hexdump is the type that shows bytes as lines.
const hexdump = "hexdump"

// bytes shows memory without a type, or puts it into a file.
func (v *MemoryValue) bytes(sess *session.Session, r *collector.Reading, lines bool) {
	text := hex.EncodeToString(r.Bytes[:min(len(r.Bytes), maxInline)])
	if lines {
		text = hexLines(r.Address, r.Bytes[:min(len(r.Bytes), maxInline)])
	}
	if len(r.Bytes) <= maxInline {
		t := value.NewText(text)
		v.Value = &t
		return
	}
	v.Value = nil
	var err error
	if v.File, err = sess.KeepBytes(r.Address, r.Bytes); err != nil {
		v.Error = fault.From(err).Error()
		return
	}
	v.Preview = hexLines(r.Address, r.Bytes[:64])
}

// hexLines are 16 bytes a line: address, digits, text.
func hexLines(address string, b []byte) string {
	at, _ := strconv.ParseUint(strings.TrimPrefix(address, "0x"), 16, 64)
	var out strings.Builder
	for off := 0; off < len(b); off += 16 {
		line := b[off:min(off+16, len(b))]
		fmt.Fprintf(&out, "0x%x  %-47s  ", at+uint64(off), fmt.Sprintf("% x", line))
		for _, c := range line {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			out.WriteByte(c)
		}
		out.WriteByte('\n')
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// target checks a parameter and puts it into one form.
func (t *MemoryTarget) target(at int) (collector.InspectTarget, error) {
	var out collector.InspectTarget
	given := 0
	for _, s := range []string{t.Variable, t.Expression, t.Address} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return out, invalid("Give variable, expression, or address with type or size.", "targets[%d] has %d of them", at,
			given)
	}
	if t.Address == "" {
		if t.Size != 0 || t.Type != "" {
			return out, invalid("Cast in the expression instead, for example *(T *)p.",
				"targets[%d]: size and type belong to address", at)
		}
		out.Expr = t.Variable + t.Expression
		return out, nil
	}
	addr, err := strconv.ParseUint(strings.TrimPrefix(t.Address, "0x"), 16, 64)
	switch {
	case err != nil || !strings.HasPrefix(t.Address, "0x"):
		return out, invalid("Write it as 0x….", "targets[%d]: address %q is not hexadecimal", at, t.Address)
	case t.Type == hexdump || t.Type == "bytes":
		if t.Size == 0 {
			return out, invalid("Give size in bytes.", "targets[%d]: type %s needs a size", at, t.Type)
		}
	case (t.Type == "") == (t.Size == 0):
		return out, invalid("Give the type of what is there, such as uint32_t or char[16], or size in bytes.",
			"targets[%d]: an address needs type or size, one of them", at)
	}
	if t.Size < 0 || t.Size > maxMemorySize {
		return out, invalid(fmt.Sprintf("Read at most %d bytes at a time.", maxMemorySize),
			"targets[%d]: size = %d is out of range", at, t.Size)
	}
	if t.Size > 0 {
		return collector.InspectTarget{Address: addr, Size: t.Size}, nil
	}
	return collector.InspectTarget{Address: addr, Type: t.Type}, nil
}

// set is the value of a write, as JSON.
func (t *MemoryTarget) set(at int, write bool) (json.RawMessage, error) {
	if !write {
		if t.Value != nil {
			return nil, invalid("Use action write.", "targets[%d] has a value, and the action is to read", at)
		}
		return nil, nil
	}
	if t.Value == nil {
		return json.RawMessage("null"), nil
	}
	return t.Value.raw, nil
}

// labels name the values of snapshots.
func (p *MemoryParams) labels() []string {
	out := make([]string, len(p.Targets))
	for i := range p.Targets {
		out[i] = p.Targets[i].name()
	}
	return out
}

// name says which target an answer is for.
func (t *MemoryTarget) name() string {
	if t.Address != "" && t.Type != "" {
		return t.Type + " at " + t.Address
	}
	return t.Variable + t.Expression + t.Address
}

// shown is a reading as clients see it.
func shown(name string, r *collector.Reading) MemoryValue {
	out := MemoryValue{Target: name, Address: r.Address, Type: shortType(r.Type), Previous: r.Previous}
	switch {
	case r.Err != nil:
		out.Error = fault.From(r.Err).Error()
	case isObject(r.Value):
		out.Fields = &r.Value
	default:
		out.Value = &r.Value
	}
	return out
}

func isObject(v value.Value) bool {
	b, err := json.Marshal(v)
	return err == nil && len(b) > 0 && b[0] == '{'
}
