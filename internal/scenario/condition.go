package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/query"
)

// condition is what assert and waitFor ask: events that debug_query's filters select, and how many there must be; or a
// value of the program.
type condition struct {
	channel  string
	request  query.Request
	main     bool // of the program's first process only
	newest   bool // it is of the newest answer, and of nothing else
	value    string
	filter   query.MessageFilter // of newest and of value
	withinMs int
	min, max int64 // events; max -1: any number
	since    string
	given    map[string]json.RawMessage // the filters, as they were written
}

// Members of a condition that are no filters.
type bounds struct {
	Times, AtLeast, AtMost *int64
	Called                 *bool
	WithinMs               int
	Since                  string
}

// callFilters are debug_query's filters of calls.
var callFilters = []string{"function", "sourceFile", "returnValue", "argument", "threadId", "threadName", "pid",
	"minDurationNs", "maxDurationNs", "eventType"}

// valueOps are conditions on one value, for which trace and stdio have their own names.
var valueOps = []string{"equals", "notEquals", "contains", "matches", "greaterThan", "greater", "lessThan", "less",
	"between"}

// condition reads an assert or a waitFor; fields are those of the step.
func (s *Step) condition(fields map[string]json.RawMessage) (*condition, error) {
	rest := maps.Clone(fields)
	var channel string
	var b bounds
	at := s.At
	if raw, ok := rest["waitFor"]; ok {
		inner, err := members(at+".waitFor", raw)
		if err != nil {
			return nil, err
		}
		delete(rest, "waitFor")
		for name, v := range inner {
			if _, twice := rest[name]; twice {
				return nil, invalid("Write it once.", "%s has %s inside and beside waitFor", at, name)
			}
			rest[name] = v
		}
		rest["assert"] = rest["channel"]
		delete(rest, "channel")
		if rest["assert"] == nil {
			return nil, invalid(`Write {"waitFor": {"channel": "stdio", "text": "ready"}}.`, "%s.waitFor lacks channel", at)
		}
	}
	if err := json.Unmarshal(rest["assert"], &channel); err != nil {
		return nil, wrongType(at+".assert", rest["assert"], err)
	}
	delete(rest, "assert")
	own := map[string]json.RawMessage{}
	into := map[string]any{"times": &b.Times, "atLeast": &b.AtLeast, "atMost": &b.AtMost, "called": &b.Called,
		"withinMs": &b.WithinMs, "within": &b.WithinMs, "since": &b.Since}
	for name := range into {
		if v, ok := rest[name]; ok {
			own[name] = v
			delete(rest, name)
		}
	}
	if err := fill(at, own, into); err != nil {
		return nil, err
	}
	c := &condition{channel: channel, withinMs: b.WithinMs, since: b.Since, given: rest, min: 1, max: -1}
	if err := c.bound(at, &b); err != nil {
		return nil, err
	}
	if err := c.filters(at, rest, b); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *condition) bound(at string, b *bounds) error {
	if b.WithinMs < 0 || b.WithinMs > MaxWaitMs {
		return invalid(fmt.Sprintf("0 to %d ms.", MaxWaitMs), "%s: withinMs = %d", at, b.WithinMs)
	}
	if b.Since != "" && b.Since != "start" && b.Since != "do" {
		return invalid("start, or do: since the last thing that was done.", "%s: since = %q", at, b.Since)
	}
	if b.Called != nil && !*b.Called {
		b.Times = new(int64)
	}
	if b.Times != nil && (b.AtLeast != nil || b.AtMost != nil) {
		return invalid("Leave one out.", "%s has times beside atLeast or atMost", at)
	}
	for _, n := range []*int64{b.Times, b.AtLeast, b.AtMost} {
		if n != nil && *n < 0 {
			return invalid("0 or more.", "%s: %d times", at, *n)
		}
	}
	if b.AtMost != nil {
		c.min, c.max = 0, *b.AtMost
	}
	if b.AtLeast != nil {
		c.min = *b.AtLeast
	}
	if b.Times != nil {
		c.min, c.max = *b.Times, *b.Times
	}
	if c.max >= 0 && c.min > c.max {
		return invalid("Exchange them.", "%s: at least %d and at most %d", at, c.min, c.max)
	}
	return nil
}

// filters makes the question of the fields that are left.
func (c *condition) filters(at string, rest map[string]json.RawMessage, b bounds) error {
	kind, _, _ := strings.Cut(c.channel, ":")
	switch kind {
	case "value":
		return c.ofValue(at, rest)
	case "trace":
		return c.ofCalls(at, rest)
	case "stdio":
		return c.ofOutput(at, rest)
	case "process":
		c.request.EventType = query.Kinds{"process", "crash"}
		// A program's own end is meant, and not that of any process that it starts.
		c.main = rest["pid"] == nil && string(rest["what"]) == `"exit"`
		return c.ofMembers(at, rest, []string{"what", "pid", "exitCode", "signal", "parentPid", "command"})
	}
	k, err := kindOf(c.channel)
	if err != nil {
		return located(at, err)
	}
	var known []string
	for _, f := range k.Heard {
		known = append(known, f.Name)
	}
	c.request.Channel, c.request.EventType = c.channel, query.Kinds{"channel"}
	rest = maps.Clone(rest)
	if kind == "net" {
		if h, ok := rest["header"]; ok {
			rest["headers"] = h
			delete(rest, "header")
		}
		// What is meant is the newest answer, unless it is counted or waited for.
		_, what := rest["what"]
		_, direction := rest["direction"]
		if !what && !direction {
			rest["what"], rest["direction"] = json.RawMessage(`"answer"`), json.RawMessage(`"out"`)
			c.newest = b.Times == nil && b.AtLeast == nil && b.AtMost == nil && b.Called == nil && b.Since == "" &&
				b.WithinMs == 0
		} else if !what {
			rest["what"] = json.RawMessage(`"request"`)
			if rest["status"] != nil {
				rest["what"] = json.RawMessage(`"answer"`)
			}
		}
	}
	return c.ofMembers(at, rest, known)
}

// ofMembers takes the fields for conditions on members of events.
func (c *condition) ofMembers(at string, rest map[string]json.RawMessage, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		head, _, _ := strings.Cut(name, ".")
		if !slices.Contains(known, head) {
			return unknown(at, name, append(slices.Clone(known), "times", "atLeast", "atMost", "withinMs", "since"))
		}
	}
	if len(rest) > 0 {
		raw, err := json.Marshal(rest)
		if err != nil {
			return err
		}
		c.filter = query.MessageFilter(raw)
		c.request.Message = c.filter
	}
	return c.check(at)
}

func (c *condition) check(at string) error {
	if err := c.request.Check(); err != nil {
		return located(at, err)
	}
	return nil
}

func (c *condition) ofCalls(at string, rest map[string]json.RawMessage) error {
	rest = maps.Clone(rest)
	value := map[string]json.RawMessage{}
	for _, op := range valueOps {
		if v, ok := rest[op]; ok {
			value[op] = v
			delete(rest, op)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if !slices.Contains(callFilters, name) {
			return unknown(at, name, append(slices.Clone(callFilters), "times", "atLeast", "atMost", "called", "withinMs",
				"since", "equals"))
		}
	}
	if len(value) > 0 { // of the result
		if rest["returnValue"] != nil {
			return invalid("Leave one out.", "%s has conditions beside returnValue", at)
		}
		for short, long := range map[string]string{"greater": "greaterThan", "less": "lessThan"} {
			if v, ok := value[short]; ok {
				value[long] = v
				delete(value, short)
			}
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		rest["returnValue"] = raw
	}
	if rest["eventType"] == nil {
		rest["eventType"] = json.RawMessage(`"function_enter"`)
		if rest["returnValue"] != nil || rest["minDurationNs"] != nil || rest["maxDurationNs"] != nil {
			rest["eventType"] = json.RawMessage(`"function_exit"`)
		}
	}
	return c.decode(at, rest)
}

// decode reads debug_query's own filters.
func (c *condition) decode(at string, rest map[string]json.RawMessage) error {
	raw, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c.request); err != nil {
		return invalid("The filters are debug_query's.", "%s: %w", at, err)
	}
	return c.check(at)
}

func (c *condition) ofOutput(at string, rest map[string]json.RawMessage) error {
	known := []string{"text", "stream", "contains", "matches", "equals", "times", "atLeast", "atMost", "withinMs", "since"}
	q := map[string]json.RawMessage{"eventType": json.RawMessage(`["stdout","stderr"]`)}
	text := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		v := rest[name]
		switch name {
		case "text":
			q["text"] = v
		case "contains", "matches":
			text[name] = v
		case "stream":
			var s string
			if json.Unmarshal(v, &s) != nil || s != "stdout" && s != "stderr" {
				return invalid("stdout or stderr.", "%s.stream = %s", at, v)
			}
			q["eventType"] = v
		default:
			return unknown(at, name, known)
		}
	}
	if len(text) > 0 {
		if q["text"] != nil {
			return invalid("Leave one out.", "%s has conditions beside text", at)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			return err
		}
		q["text"] = raw
	}
	return c.decode(at, q)
}

func (c *condition) ofValue(at string, rest map[string]json.RawMessage) error {
	rest = maps.Clone(rest)
	if err := json.Unmarshal(rest["expression"], &c.value); err != nil || c.value == "" {
		return invalid(`Write {"assert": "value", "expression": "gCount", "equals": 3}.`, "%s lacks expression", at)
	}
	delete(rest, "expression")
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if !slices.Contains(valueOps, name) {
			return unknown(at, name, append([]string{"expression", "withinMs"}, valueOps...))
		}
	}
	if len(rest) == 0 {
		return invalid("Give one of "+strings.Join(valueOps, ", ")+".", "%s says not what %s must be", at, c.value)
	}
	raw, err := json.Marshal(map[string]any{"value": rest})
	if err != nil {
		return err
	}
	c.filter = query.MessageFilter(raw)
	if err := c.filter.Check(); err != nil {
		return located(at, err)
	}
	return nil
}

// how says how many events there must be.
func (c *condition) how() string {
	switch {
	case c.max == 0:
		return "none"
	case c.min == c.max:
		return fmt.Sprintf("exactly %d", c.min)
	case c.max > 0:
		return fmt.Sprintf("%d to %d", c.min, c.max)
	}
	return fmt.Sprintf("at least %d", c.min)
}
