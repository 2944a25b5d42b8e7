package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/query"
)

// Bounds of a proposal: a test that says what matters, not all that happened.
const (
	maxProposed    = 400 // steps
	maxLines       = 3   // of output after each thing that was done
	maxFunctions   = 10
	maxExact       = 200 // bytes of an answer's body that is compared whole
	proposedWithin = 5000
)

// Recorded is what a proposal is made from.
type Recorded struct {
	Launch map[string]any
	Events []query.Event // of channels, output and processes, in their order
	Calls  []query.Stat
	PID    int32
}

// Propose makes a scenario that does what was done in a session and asserts what came of it.
func Propose(r Recorded) (json.RawMessage, error) {
	p := proposal{}
	for i := range r.Events {
		if len(p.steps) >= maxProposed {
			break
		}
		e := &r.Events[i]
		switch {
		case e.EventType == "channel" && e.Stream == "sent":
			p.done(e)
		case e.EventType == "channel":
			p.heard(e)
		case e.Text != nil && e.Encoding == "":
			p.output(e)
		}
	}
	calls := slices.Clone(r.Calls)
	sort.SliceStable(calls, func(i, j int) bool { return calls[i].Calls < calls[j].Calls })
	for _, f := range calls[:min(len(calls), maxFunctions)] {
		p.add("assert", "trace", "function", f.Function, "times", f.Calls, "withinMs", proposedWithin)
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.EventType == "process" && e.PID == r.PID && text(e, "what") == "exit" {
			if code := member(e, "exitCode"); code != nil {
				p.add("assert", "process", "what", "exit", "pid", nil, "exitCode", code, "withinMs", proposedWithin)
			} else {
				p.add("assert", "process", "what", "exit", "signal", member(e, "signal"), "withinMs", proposedWithin)
			}
		}
	}
	var out []byte
	out = fmt.Append(out, "{")
	if r.Launch != nil {
		l, err := json.Marshal(r.Launch)
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(out, `"launch":%s,`, l)
	}
	if len(p.channels) > 0 {
		c, err := json.Marshal(p.channels)
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(out, `"channels":%s,`, c)
	}
	if len(p.steps) == 0 {
		p.add("note", "nothing was sent, written or traced")
	}
	return append(append(fmt.Append(out, `"steps":[`), strings.Join(p.steps, ",")...), "]}"...), nil
}

type proposal struct {
	steps    []string
	channels []string
	lines    int // of output since the last do
	did      bool
}

// add appends a step of names and values, in their order; a value that is nil is left out.
func (p *proposal) add(pairs ...any) {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			continue
		}
		raw, ok := pairs[i+1].(json.RawMessage)
		if !ok {
			var err error
			if raw, err = json.Marshal(pairs[i+1]); err != nil {
				continue
			}
		}
		if len(raw) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", pairs[i], raw))
		}
	}
	p.steps = append(p.steps, "{"+strings.Join(parts, ",")+"}")
}

// since says that only what came after the newest do counts, where something was done.
func (p *proposal) since() any {
	if p.did {
		return "do"
	}
	return nil
}

func (p *proposal) use(channel string) {
	kind, _, _ := strings.Cut(channel, ":")
	for _, k := range iochan.Kinds {
		if k.Name == kind && !k.Always && !slices.Contains(p.channels, channel) {
			p.channels = append(p.channels, channel)
		}
	}
}

// done is a message that was sent.
func (p *proposal) done(e *query.Event) {
	p.use(e.Channel)
	pairs := []any{"do", e.Channel + "." + text(e, "what")}
	for _, m := range e.Data {
		if m.Name != "what" {
			pairs = append(pairs, m.Name, m.Value)
		}
	}
	p.add(pairs...)
	p.lines, p.did = 0, true
}

// heard is what came of it.
func (p *proposal) heard(e *query.Event) {
	p.use(e.Channel)
	kind, _, _ := strings.Cut(e.Channel, ":")
	what := text(e, "what")
	switch {
	case kind == "file":
		var whats any = what
		if what == "create" || what == "write" || what == "save" { // which of them depends on what was there before
			whats = map[string]string{"matches": "create|write|save"}
		}
		p.add("assert", e.Channel, "what", whats, "path", member(e, "path"), "withinMs", proposedWithin, "since", p.since())
	case what == "answer" && text(e, "direction") == "out":
		body := text(e, "body")
		var want any
		if body != "" && len(body) <= maxExact {
			want = map[string]string{"matches": "^" + loosely(body) + "$"}
		}
		p.add("assert", e.Channel, "status", member(e, "status"), "body", want)
	case what == "request" && text(e, "direction") == "out":
		p.add("assert", e.Channel, "direction", "out", "method", member(e, "method"), "path", member(e, "path"),
			"withinMs", proposedWithin, "since", p.since())
	case what == "receive":
		if t := text(e, "text"); t != "" && len(t) <= maxExact {
			p.add("assert", e.Channel, "what", "receive", "direction", "out",
				"text", map[string]string{"matches": "^" + loosely(t) + "$"}, "withinMs", proposedWithin, "since", p.since())
		}
	}
}

// output asserts the first lines after something was done.
func (p *proposal) output(e *query.Event) {
	for line := range strings.Lines(*e.Text) {
		line = strings.TrimSpace(line)
		if p.lines >= maxLines || line == "" || len(line) > maxExact {
			continue
		}
		p.lines++
		p.add("waitFor", map[string]any{"channel": "stdio", "stream": e.EventType,
			"matches": loosely(line)}, "withinMs", proposedWithin)
	}
}

var (
	digits = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?`)
	// weekdays and months beside digits: dates
	dateWords = regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b`)
)

// loosely is a regular expression for a text in which numbers and dates may differ: times, ids and addresses do.
func loosely(s string) string {
	var b strings.Builder
	dated := digits.MatchString(s)
	for len(s) > 0 {
		at := digits.FindStringIndex(s)
		word := []int(nil)
		if dated {
			word = dateWords.FindStringIndex(s)
		}
		switch {
		case at == nil && word == nil:
			b.WriteString(regexp.QuoteMeta(s))
			s = ""
		case at == nil || word != nil && word[0] < at[0]:
			b.WriteString(regexp.QuoteMeta(s[:word[0]]) + `\w+`)
			s = s[word[1]:]
		default:
			number := `[0-9.]+`
			if strings.HasPrefix(s[at[0]:], "0x") {
				number = `0x[0-9a-fA-F]+`
			}
			b.WriteString(regexp.QuoteMeta(s[:at[0]]) + number)
			s = s[at[1]:]
		}
	}
	return b.String()
}

func member(e *query.Event, name string) json.RawMessage {
	for _, m := range e.Data {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func text(e *query.Event, name string) string {
	var s string
	if json.Unmarshal(member(e, name), &s) != nil {
		return ""
	}
	return s
}

// Pretty lays a scenario out for people: a line for each step.
func Pretty(raw json.RawMessage) ([]byte, error) {
	var s struct {
		Launch   json.RawMessage   `json:"launch"`
		Channels json.RawMessage   `json:"channels"`
		Steps    []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	out := []byte("{\n")
	if len(s.Launch) > 0 {
		out = fmt.Appendf(out, "  \"launch\": %s,\n", s.Launch)
	}
	if len(s.Channels) > 0 {
		out = fmt.Appendf(out, "  \"channels\": %s,\n", s.Channels)
	}
	out = append(out, "  \"steps\": [\n"...)
	for i, step := range s.Steps {
		comma := ","
		if i == len(s.Steps)-1 {
			comma = ""
		}
		out = fmt.Appendf(out, "    %s%s\n", step, comma)
	}
	return append(out, "  ]\n}\n"...), nil
}
