package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// order says which members do not stand where Crash declares them.
type order struct {
	handled     bool // signal, code, endedBy and faultAddress stand first: a runtime took the signal
	typeLast    bool // exceptionType stands behind the picture: only the report has it
	messageLast bool // so does exceptionMessage
}

// Handled says that a runtime took a signal and then ended the process in its own way, by what Signal was. code and
// address are the taken signal's, "" where they are not known.
func (c *Crash) Handled(signal, code, address string) {
	c.EndedBy, c.Signal, c.Code, c.FaultAddress = c.Signal, signal, code, address
	c.order.handled = true
}

// Told adds what a report says of the exception, where the picture does not have it.
func (c *Crash) Told(typ, message string) {
	if c.ExceptionType == "" && typ != "" {
		c.ExceptionType, c.order.typeLast = typ, true
	}
	if c.ExceptionMessage == "" && message != "" {
		c.ExceptionMessage, c.order.messageLast = message, true
	}
}

// rank is where a member stands: those below 0 before all that have their declared place, those above behind them.
func (o order) rank(name string) int {
	if o.handled {
		if i := slices.Index([]string{"signal", "code", "endedBy", "faultAddress"}, name); i >= 0 {
			return i - 4
		}
	}
	switch {
	case name == "exceptionType" && o.typeLast:
		return 1
	case name == "exceptionMessage" && o.messageLast:
		return 2
	case name == "causedBy", name == "report":
		return 3
	}
	return 0
}

// declared is Crash without its methods.
type declared Crash

// MarshalJSON writes the members in their order.
func (c Crash) MarshalJSON() ([]byte, error) { return c.order.write((*declared)(&c)) }

// write is v as JSON, in this order.
func (o order) write(v any) ([]byte, error) {
	b, err := encode(v)
	if err != nil || o == (order{}) {
		return b, err
	}
	all, err := members(b)
	if err != nil {
		return nil, err
	}
	sorting.By(all, func(a, b member) int { return o.rank(a.name) - o.rank(b.name) })
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), `":`...) // names are plain words
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, and notes the order.
func (c *Crash) UnmarshalJSON(b []byte) error {
	all, err := members(b)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, (*declared)(c)); err != nil {
		return err
	}
	at := func(name string) int { return slices.IndexFunc(all, func(m member) bool { return m.name == name }) }
	picture := at("backtrace")
	behind := func(name string) bool { return picture >= 0 && at(name) > picture }
	c.order = order{
		handled:     at("endedBy") >= 0 && at("endedBy") < at("class"),
		typeLast:    behind("exceptionType"),
		messageLast: behind("exceptionMessage"),
	}
	return nil
}

// JSON is the event's payload.
func (c *Crash) JSON() ([]byte, error) {
	b, err := c.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode crash: %w", err)
	}
	return b, nil
}

// Parse reads an event's payload.
func Parse(payload []byte) (*Crash, error) {
	c := &Crash{}
	if err := json.Unmarshal(payload, c); err != nil {
		return nil, fmt.Errorf("read crash: %w", err)
	}
	return c, nil
}

// Fatal reports whether an event's payload tells of the end of its process, without reading the rest.
func Fatal(payload []byte) bool {
	var c struct {
		Fatal bool `json:"fatal"`
	}
	return json.Unmarshal(payload, &c) == nil && c.Fatal
}

// member is one of an object, as it is written.
type member struct {
	name  string
	value json.RawMessage
}

// members splits an object.
func members(b []byte) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it is no JSON object"), err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.name, _ = t.(string)
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	_, err = d.Token()
	return all, err
}

// encode is v as JSON that people and models read: <optimized out> stays as it is.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
