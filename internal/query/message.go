package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// channelKinds are those of events that a channel can be named for.
const channelKinds uint32 = 1<<event.Stdout | 1<<event.Stderr | 1<<event.Data | 1<<event.State | 1<<event.Channel

// MessageFilter selects events by the members of their own JSON object. A member is a value that it must be, or an
// object of conditions, or an object of members in it. In JSON it is an object.
type MessageFilter json.RawMessage

// UnmarshalJSON keeps the text; compile checks it.
func (m *MessageFilter) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); string(b) == "null" {
		return nil
	}
	if len(b) == 0 || b[0] != '{' {
		return invalid("message", `Give an object of members: {"status": 200}.`, "%s is no object", excerpt(b))
	}
	*m = MessageFilter(bytes.Clone(b))
	return nil
}

// MarshalJSON returns the text as it was written.
func (m MessageFilter) MarshalJSON() ([]byte, error) {
	if len(m) == 0 {
		return []byte("null"), nil
	}
	return m, nil
}

// JSONSchema says that it is an object.
func (MessageFilter) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// memberCondition is one condition on one member.
type memberCondition struct {
	path []string
	op   string
	want any // json.Number, string, bool, nil, *regexp.Regexp, or [2]float64
}

// Conditions on members, and what else they are called.
var memberOps = map[string]string{
	"equals": "equals", "notEquals": "notEquals", "contains": "contains", "matches": "matches",
	"greaterThan": "greaterThan", "greater": "greaterThan", "lessThan": "lessThan", "less": "lessThan",
	"between": "between", "exists": "exists",
}

// maxMemberDepth bounds how deep a filter's objects go.
const maxMemberDepth = 16

func (f *filters) checkMessage() error {
	var err error
	f.message, err = compileMessage(f.req.Message)
	return err
}

func compileMessage(raw []byte) ([]memberCondition, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var all map[string]any
	if err := unmarshalNumbers(raw, &all); err != nil {
		return nil, invalid("message", `Give an object of members: {"status": 200}.`, "%w", err)
	}
	return membersOf(nil, nil, all)
}

func unmarshalNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

func membersOf(out []memberCondition, path []string, all map[string]any) ([]memberCondition, error) {
	if len(path) > maxMemberDepth {
		return nil, invalid("message", "Ask for less.", "objects in objects, more than %d deep", maxMemberDepth)
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at := append(slices.Clone(path), strings.Split(name, ".")...)
		v := all[name]
		o, isObject := v.(map[string]any)
		var err error
		switch op, isOp := memberOps[name]; {
		case isOp && len(path) > 0:
			var c memberCondition
			if c, err = condOf(path, op, v); err == nil {
				out = append(out, c)
			}
		case isObject:
			out, err = membersOf(out, at, o)
		default:
			out = append(out, memberCondition{at, "equals", v})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func condOf(path []string, op string, v any) (memberCondition, error) {
	c := memberCondition{path: path, op: op, want: v}
	field := "message." + strings.Join(path, ".") + "." + op
	bad := func(hint string) (memberCondition, error) {
		return c, invalid(field, hint, "%s does not fit", excerpt(rawOf(v)))
	}
	switch op {
	case "contains":
		if _, ok := v.(string); !ok {
			return bad("Give a text.")
		}
	case "matches":
		s, ok := v.(string)
		if !ok {
			return bad("Give a regular expression, RE2.")
		}
		re, err := compileRegexp(field, s)
		if err != nil || re == nil {
			return c, err
		}
		c.want = re
	case "greaterThan", "lessThan":
		n, ok := number(v)
		if !ok {
			return bad("Give a number.")
		}
		c.want = n
	case "between":
		l, ok := v.([]any)
		if !ok || len(l) != 2 {
			return bad("Give [from, to].")
		}
		from, ok1 := number(l[0])
		to, ok2 := number(l[1])
		if !ok1 || !ok2 || from > to {
			return bad("Give [from, to], two numbers.")
		}
		c.want = [2]float64{from, to}
	case "exists":
		if _, ok := v.(bool); !ok {
			return bad("Give true or false.")
		}
	}
	return c, nil
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(n, 64)
		return f, err == nil
	}
	return 0, false
}

// rawOf is a value as JSON, for people.
func rawOf(v any) []byte {
	if re, ok := v.(*regexp.Regexp); ok {
		v = re.String()
	}
	b, err := encode(v)
	if err != nil {
		return []byte("?")
	}
	return b
}

func (c *memberCondition) String() string {
	return fmt.Sprintf("%s %s %s", strings.Join(c.path, "."), c.op, rawOf(c.want))
}

// match reports whether an object fulfils the condition.
func (c *memberCondition) match(object any) bool {
	v, there := memberAt(object, c.path)
	if c.op == "exists" {
		return there == (c.want == true)
	}
	if !there {
		return c.op == "notEquals"
	}
	switch c.op {
	case "equals":
		return sameValue(v, c.want)
	case "notEquals":
		return !sameValue(v, c.want)
	case "contains":
		return strings.Contains(textOf(v), c.want.(string))
	case "matches":
		re, ok := c.want.(*regexp.Regexp)
		return !ok || re.MatchString(textOf(v)) // an empty expression matches
	}
	n, ok := number(v)
	switch want := c.want.(type) {
	case float64:
		return ok && (c.op == "greaterThan" && n > want || c.op == "lessThan" && n < want)
	case [2]float64:
		return ok && want[0] <= n && n <= want[1]
	}
	return false
}

// sameValue compares a member with what it must be. A number is its value, however it is written.
func sameValue(v, want any) bool {
	if a, ok := v.(json.Number); ok {
		if a.String() == textOf(want) {
			return true
		}
		if !strings.ContainsAny(a.String()+textOf(want), ".eE") { // integers of any width are exact
			return false
		}
		x, ok1 := number(a)
		y, ok2 := number(want)
		return ok1 && ok2 && x == y
	}
	switch w := want.(type) {
	case json.Number:
		return textOf(v) == w.String()
	case string, bool, nil:
		return v == want
	}
	return bytes.Equal(rawOf(v), rawOf(want))
}

// textOf is a member as a text: one as it is, all else as JSON.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(rawOf(v))
}

// memberAt follows a path. A text that holds JSON is gone into, and names are also found in another case: those of
// headers are.
func memberAt(v any, path []string) (any, bool) {
	for i, name := range path {
		if s, ok := v.(string); ok {
			var inner any
			if unmarshalNumbers([]byte(s), &inner) != nil {
				return nil, false
			}
			v = inner
		}
		switch o := v.(type) {
		case map[string]any:
			next, ok := o[name]
			if !ok {
				if rest := strings.Join(path[i:], "."); i < len(path)-1 && o[rest] != nil { // a name with a dot
					return o[rest], true
				}
				for k := range o {
					if strings.EqualFold(k, name) {
						next, ok = o[k], true
					}
				}
			}
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(o) {
				return nil, false
			}
			v = o[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// Member returns what stands at a path (a.b.0) in a JSON object; texts that hold JSON are gone into.
func Member(object []byte, path string) (text string, ok bool) {
	var v any
	if unmarshalNumbers(object, &v) != nil {
		return "", false
	}
	if path == "" {
		return textOf(v), true
	}
	v, ok = memberAt(v, strings.Split(path, "."))
	if !ok {
		return "", false
	}
	return textOf(v), true
}

// Misses says which of a filter's conditions an event's own object does not fulfil, as it is there, and how many
// there are in all.
func (m MessageFilter) Misses(object []byte) (missed []string, of int) {
	all, err := compileMessage(m)
	if err != nil {
		return nil, 0
	}
	var v any
	if unmarshalNumbers(object, &v) != nil {
		v = nil
	}
	for i := range all {
		c := &all[i]
		if c.match(v) {
			continue
		}
		is := "is not there"
		if got, ok := memberAt(v, c.path); ok {
			is = "is " + cut(string(rawOf(got)), lineText)
		}
		missed = append(missed, c.String()+", "+is)
	}
	return missed, len(all)
}

// Check says what is wrong with a filter.
func (m MessageFilter) Check() error {
	_, err := compileMessage(m)
	return err
}

// byMessage restricts parts to events whose own object fulfils message.
func (a *asker) byMessage(parts []part) []part {
	if len(a.message) == 0 {
		return parts
	}
	for i := range parts {
		parts[i].cold = true
		parts[i].pred = both(parts[i].pred, func(row *store.Row) bool {
			var v any
			if unmarshalNumbers(row.Payload, &v) != nil {
				return false
			}
			for i := range a.message {
				if !a.message[i].match(v) {
					return false
				}
			}
			return true
		})
	}
	return parts
}

// byChannel restricts parts to a channel's events. A name without what stands behind its colon is of all such channels.
func (a *asker) byChannel(parts []part) []part {
	want := a.req.Channel
	if want == "" {
		return parts
	}
	for i := range parts {
		parts[i].cold = true
		parts[i].pred = both(parts[i].pred, func(row *store.Row) bool {
			name := a.stream(row).Channel
			return name == want || strings.HasPrefix(name, want+":")
		})
	}
	return parts
}
