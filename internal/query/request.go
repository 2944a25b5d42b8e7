package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Request is one debug_query. Zero fields do not filter.
type Request struct {
	SessionID     string          `json:"sessionId"`
	EventType     Kinds           `json:"eventType,omitempty" jsonschema:"one kind or a list"`
	Function      *NameFilter     `json:"function,omitempty"`
	SourceFile    *FileFilter     `json:"sourceFile,omitempty"`
	ReturnValue   *ValueFilter    `json:"returnValue,omitempty"`
	Argument      *ArgumentFilter `json:"argument,omitempty"`
	Text          *TextFilter     `json:"text,omitempty" jsonschema:"output, messages"`
	Channel       string          `json:"channel,omitempty"`
	Message       MessageFilter   `json:"message,omitempty"`
	ThreadID      *int64          `json:"threadId,omitempty"`
	ThreadName    *ThreadFilter   `json:"threadName,omitempty"`
	PID           *int64          `json:"pid,omitempty"`
	TimeFrom      Moment          `json:"timeFrom,omitempty" jsonschema:"ns, or -5s: before the newest"`
	TimeTo        Moment          `json:"timeTo,omitempty"`
	MinDurationNs int64           `json:"minDurationNs,omitempty"`
	MaxDurationNs int64           `json:"maxDurationNs,omitempty"`
	Under         int64           `json:"under,omitempty" jsonschema:"id: what that call caused"`
	Limit         int             `json:"limit,omitempty"`
	Offset        int             `json:"offset,omitempty"`
	AfterEventID  *int64          `json:"afterEventId,omitempty" jsonschema:"the previous lastEventId"`
	Order         string          `json:"order,omitempty" jsonschema:"or a column of table, -column: falling"`
	Verbose       bool            `json:"verbose,omitempty" jsonschema:"whole values, threads"`

	Addresses bool     `json:"addresses,omitempty" jsonschema:"objects show their $address"`
	View      string   `json:"view,omitempty"`
	Fields    []string `json:"fields,omitempty" jsonschema:"paths, expressions to show"`
	Claim     string   `json:"claim,omitempty"`
	Against   string   `json:"against,omitempty" jsonschema:"other sessions"`
	Object    string   `json:"object,omitempty" jsonschema:"its address"`

	Allocators []Allocator `json:"allocators,omitempty"`

	Unfold    bool   `json:"unfold,omitempty" jsonschema:"tree: each call in a line"`
	MaxTokens int    `json:"maxTokens,omitempty"`
	Cursor    string `json:"cursor,omitempty"` // front ends follow it
	WaitMs    int    `json:"waitMs,omitempty" jsonschema:"until something matches"`
}

// Values of Request.Order and Request.View, the first being the default.
var (
	Orders = []string{"time", "thread"}
	Views  = []string{"events", "tree", "stats", "table", "invariants", "check", "summary", "why", "diff",
		"object", "coverage", "missing", "request", "threads"}
)

// ViewHelp says when to ask which view.
const ViewHelp = "invariants: what most calls keep; check, diff: by claim; why: event under; object: its life; " +
	"coverage: what ran; missing: why not; request: across services"

// ClaimHelp says what a claim of views check and diff may be.
const ClaimHelp = "e.g. size >= 0 whenever result == true; id never decreases per lane"

// Limits of Request's fields.
const (
	DefaultLimit = 50
	DefaultRows  = 20        // of view table, unless it goes on from a cursor
	MaxLimit     = 500       // more is cut to this, and the answer says so
	MaxWaitMs    = 30000     // what MCP clients bear without a timeout of their own
	maxPattern   = 4096      // bytes of one name, text or regular expression
	MaxOffset    = 1_000_000 // skipped events cost memory; the cursor does not
)

// NameFilter selects functions. All given conditions must hold.
type NameFilter struct {
	Equals   string `json:"equals,omitempty"`
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty" jsonschema:"RE2"`
}

// FileFilter selects functions by the source file that they are defined in.
type FileFilter struct {
	Equals   string `json:"equals,omitempty" jsonschema:"path, or its last parts"`
	Contains string `json:"contains,omitempty"`
}

// TextFilter selects output and messages by their bytes.
type TextFilter struct {
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty" jsonschema:"RE2"`
}

// ThreadFilter selects threads by name.
type ThreadFilter struct {
	Contains string `json:"contains,omitempty"`
}

// ValueFilter selects by a value. All given conditions must hold.
type ValueFilter struct {
	Equals      Literal `json:"equals,omitempty"`
	NotEquals   Literal `json:"notEquals,omitempty"`
	IsNull      *bool   `json:"isNull,omitempty"`
	GreaterThan Literal `json:"greaterThan,omitempty"`
	LessThan    Literal `json:"lessThan,omitempty"`
}

// ArgumentFilter selects by one argument, or a part of one: p, p.x, a[2].
type ArgumentFilter struct {
	Name string `json:"name" jsonschema:"or path: p.x, a[2]"`
	ValueFilter
}

// TokenBytes is how many bytes of an answer are taken for one token: compact JSON and code have 3 to 4.
const TokenBytes = 3

// Bounds of MaxTokens.
const (
	MinTokens     = 200
	DefaultTokens = 2000 // for models; programs that read an answer by themselves have none
	MaxTokens     = 1_000_000
)

// Kinds is a list of event types. In JSON it is one string or an array of strings.
type Kinds []string

// UnmarshalJSON accepts "stdout" and ["stdout", "stderr"].
func (k *Kinds) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*k = nil
		if one != "" {
			*k = Kinds{one}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return invalid("eventType", "Give one event type or a list of them: "+kindList()+".",
			"%s is neither a string nor a list of strings", excerpt(b))
	}
	*k = list
	return nil
}

// Literal is a JSON scalar as written, so that integers of any width stay exact. "" is absent.
type Literal string

// UnmarshalJSON keeps the text; Run checks it. null is kept too: equals null asks for null.
func (l *Literal) UnmarshalJSON(b []byte) error {
	*l = Literal(bytes.TrimSpace(b))
	return nil
}

// MarshalJSON returns the text as it was written.
func (l Literal) MarshalJSON() ([]byte, error) {
	if l == "" {
		return []byte("null"), nil
	}
	if !json.Valid([]byte(l)) {
		return nil, fmt.Errorf("write literal %q: not JSON", string(l))
	}
	return []byte(l), nil
}

// Moment is a time in nanoseconds since the session's start, or, with a minus sign and a unit, before its
// newest event: "-5s", "-500ms". In JSON it is an integer or a string. "" is absent.
type Moment string

// UnmarshalJSON accepts 1500 and "-5s" alike; Run checks the text.
func (m *Moment) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if bytes.Equal(b, []byte("null")) {
		*m = ""
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*m = Moment(s)
		return nil
	}
	*m = Moment(b)
	return nil
}

// MarshalJSON returns an integer where the moment is one.
func (m Moment) MarshalJSON() ([]byte, error) {
	if ns, rel, err := m.parse("time"); err == nil && !rel {
		return strconv.AppendInt(nil, ns, 10), nil
	}
	return json.Marshal(string(m))
}

// The filters by name take a text as well, which means what is meant most often: it is what is written first, and
// refusing it cost a call each time.

// UnmarshalJSON accepts "f" for {"equals": "f"}.
func (f *NameFilter) UnmarshalJSON(b []byte) error {
	type plain NameFilter
	return oneOrObject(b, "function", &f.Equals, (*plain)(f), "equals, contains or matches")
}

// UnmarshalJSON accepts "a.c" for {"equals": "a.c"}.
func (f *FileFilter) UnmarshalJSON(b []byte) error {
	type plain FileFilter
	return oneOrObject(b, "sourceFile", &f.Equals, (*plain)(f), "equals or contains")
}

// UnmarshalJSON accepts "error" for {"contains": "error"}.
func (f *TextFilter) UnmarshalJSON(b []byte) error {
	type plain TextFilter
	return oneOrObject(b, "text", &f.Contains, (*plain)(f), "contains or matches")
}

// UnmarshalJSON accepts "worker" for {"contains": "worker"}.
func (f *ThreadFilter) UnmarshalJSON(b []byte) error {
	type plain ThreadFilter
	return oneOrObject(b, "threadName", &f.Contains, (*plain)(f), "contains")
}

// oneOrObject reads a text into one, or an object into all, whose fields are told by what.
func oneOrObject(b []byte, field string, one *string, all any, what string) error {
	b = bytes.TrimSpace(b)
	hint := fmt.Sprintf("Give a text, or an object with %s.", what)
	switch {
	case len(b) > 0 && b[0] == '"':
		if err := json.Unmarshal(b, one); err != nil || *one == "" {
			return invalid(field, hint, "%s is empty", excerpt(b))
		}
		return nil
	case len(b) == 0 || b[0] != '{':
		return invalid(field, hint, "%s is neither", excerpt(b))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(all); err != nil {
		return invalid(field, hint, "%s: %v", excerpt(b), err)
	}
	return nil
}
