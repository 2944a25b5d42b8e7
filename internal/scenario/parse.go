package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/near"
)

// Bounds of scenarios.
const (
	MaxFile         = 1 << 20 // bytes
	maxSteps        = 10_000  // as they are written
	maxDepth        = 8       // of steps in steps
	maxRepeat       = 100_000
	maxRuns         = 1_000_000 // of steps, in one run
	MaxWaitMs       = 600_000
	defaultStepMs   = 5_000
	maxParallel     = 64
	maxNameOrNumber = 100
)

// Scenario is one that was read and checked.
type Scenario struct {
	Name          string
	Launch        json.RawMessage // parameters of debug_launch; nil: of a session that runs
	Channels      []ChannelUse
	Vars          map[string]json.RawMessage
	StepTimeoutMs int
	Steps         []Step
}

// ChannelUse is a channel that a scenario opens.
type ChannelUse struct {
	Channel string
	Options json.RawMessage
}

// Step is one step.
type Step struct {
	At     string // steps[2].steps[0]
	Kind   string // do, wait, waitFor, assert, repeat, parallel, capture, note
	Raw    json.RawMessage
	fields map[string]json.RawMessage

	channel, action string // of do
	ms              int    // of wait
	count           int    // of repeat
	steps           []Step // of repeat
	branches        [][]Step
	name            string // of capture
}

// stepKinds are the members that say what a step is.
var stepKinds = []string{"do", "wait", "waitFor", "assert", "repeat", "parallel", "capture", "note"}

func invalid(hint, format string, args ...any) error {
	return fault.New(fault.ValidationError, hint, format, args...)
}

// FromYAML turns YAML, of which JSON is a part, into JSON.
func FromYAML(text []byte) (json.RawMessage, error) {
	if len(text) > MaxFile {
		return nil, invalid("Split it.", "the scenario has %d bytes, the limit is %d", len(text), MaxFile)
	}
	if t := bytes.TrimSpace(text); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return t, nil
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, invalid("Mend the file; strobe scenario --schema shows what it may hold.", "no YAML: %s",
			strings.TrimPrefix(err.Error(), "yaml: "))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, invalid("Write names as texts, in quotation marks where they look like numbers.", "YAML to JSON: %w", err)
	}
	return b, nil
}

// Parse checks a scenario. Faults name the step and the field.
func Parse(raw json.RawMessage) (*Scenario, error) {
	if len(raw) > MaxFile {
		return nil, invalid("Split it.", "the scenario has %d bytes, the limit is %d", len(raw), MaxFile)
	}
	fields, err := members("the scenario", raw)
	if err != nil {
		return nil, err
	}
	s := &Scenario{StepTimeoutMs: defaultStepMs}
	var steps []json.RawMessage
	var channels []json.RawMessage
	if err := fill("the scenario", fields, map[string]any{"name": &s.Name, "launch": &s.Launch, "channels": &channels,
		"vars": &s.Vars, "stepTimeoutMs": &s.StepTimeoutMs, "steps": &steps}); err != nil {
		return nil, err
	}
	if s.StepTimeoutMs < 1 || s.StepTimeoutMs > MaxWaitMs {
		return nil, invalid(fmt.Sprintf("1 to %d.", MaxWaitMs), "stepTimeoutMs = %d", s.StepTimeoutMs)
	}
	if len(steps) == 0 {
		return nil, invalid(`Give steps: [{"do": "net.request", "path": "/"}, {"assert": "net", "status": 200}].`,
			"the scenario has no steps")
	}
	for i, c := range channels {
		use, err := parseChannel(fmt.Sprintf("channels[%d]", i), c)
		if err != nil {
			return nil, err
		}
		s.Channels = append(s.Channels, use)
	}
	p := &parser{known: map[string]bool{"i": true}}
	for name := range s.Vars {
		p.known[name] = true
	}
	if s.Steps, err = p.steps("steps", steps, 0); err != nil {
		return nil, err
	}
	return s, nil
}

func parseChannel(at string, raw json.RawMessage) (use ChannelUse, err error) {
	if json.Unmarshal(raw, &use.Channel) != nil {
		fields, err := members(at, raw)
		if err != nil {
			return use, err
		}
		if err := fill(at, fields, map[string]any{"channel": &use.Channel, "options": &use.Options}); err != nil {
			return use, err
		}
	}
	if _, _, err := iochan.KindOf(use.Channel); err != nil {
		return use, located(at, err)
	}
	return use, nil
}

// located is a fault that says where it is.
func located(at string, err error) error {
	f := fault.From(err)
	return fault.New(f.Code, f.Hint, "%s: %s", at, f.Msg)
}

// members reads an object.
func members(at string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil || out == nil {
		return nil, invalid("Give an object; strobe scenario --schema shows its members.", "%s is no object: %.60s", at, raw)
	}
	return out, nil
}

// fill reads fields into what they are for, and refuses others.
func fill(at string, fields map[string]json.RawMessage, into map[string]any) error {
	known := slices.Sorted(maps.Keys(into))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v, ok := into[name]
		if !ok {
			return unknown(at, name, known)
		}
		if err := json.Unmarshal(fields[name], v); err != nil {
			return wrongType(at+"."+name, fields[name], err)
		}
	}
	return nil
}

func wrongType(at string, raw json.RawMessage, err error) error {
	var te *json.UnmarshalTypeError
	hint := "See strobe scenario --schema."
	if errors.As(err, &te) {
		hint = "Send it as " + te.Type.String() + "."
	}
	return invalid(hint, "%s is %.60s", at, raw)
}

func unknown(at, name string, known []string) error {
	hint := "Fields: " + strings.Join(known, ", ") + "."
	if n := near.Names(name, known, 1); len(n) > 0 {
		hint = "Did you mean " + n[0] + "? " + hint
	}
	return invalid(hint, "unknown field %q in %s", name, at)
}

// parser counts what was read, and knows the variables that there are so far.
type parser struct {
	count int
	known map[string]bool
}

func (p *parser) steps(at string, raw []json.RawMessage, depth int) ([]Step, error) {
	if depth > maxDepth {
		return nil, invalid("Write them one after the other.", "%s: steps in steps, more than %d deep", at, maxDepth)
	}
	out := make([]Step, 0, len(raw))
	for i, r := range raw {
		if p.count++; p.count > maxSteps {
			return nil, invalid("Use repeat.", "the scenario has more than %d steps", maxSteps)
		}
		s, err := p.step(fmt.Sprintf("%s[%d]", at, i), r, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (p *parser) step(at string, raw json.RawMessage, depth int) (s Step, err error) {
	s = Step{At: at, Raw: raw}
	if s.fields, err = members(at, raw); err != nil {
		return s, err
	}
	for _, k := range stepKinds {
		if _, ok := s.fields[k]; !ok || s.Kind != "" && k == "note" {
			continue
		}
		if s.Kind != "" {
			return s, invalid("Make two steps of it.", "%s is %s and %s at once", at, s.Kind, k)
		}
		s.Kind = k
	}
	if s.Kind == "" {
		return s, invalid("Write one of "+strings.Join(stepKinds, ", ")+".", "%s says not what it is: %.80s", at, raw)
	}
	if s.Kind != "note" {
		delete(s.fields, "note")
	}
	if s.Kind != "repeat" && s.Kind != "parallel" { // whose steps look for themselves
		if err := p.variables(&s); err != nil {
			return s, err
		}
	}
	return s, p.body(&s, depth)
}

func (p *parser) body(s *Step, depth int) (err error) {
	switch s.Kind {
	case "do":
		return s.parseDo()
	case "wait":
		if err = fill(s.At, s.fields, map[string]any{"wait": &s.ms}); err == nil && (s.ms < 0 || s.ms > MaxWaitMs) {
			return invalid(fmt.Sprintf("0 to %d ms.", MaxWaitMs), "%s: wait = %d", s.At, s.ms)
		}
		return err
	case "note":
		var text string
		return fill(s.At, s.fields, map[string]any{"note": &text})
	case "repeat":
		var steps []json.RawMessage
		if err = fill(s.At, s.fields, map[string]any{"repeat": &s.count, "steps": &steps}); err != nil {
			return err
		}
		if s.count < 1 || s.count > maxRepeat {
			return invalid(fmt.Sprintf("1 to %d.", maxRepeat), "%s: repeat = %d", s.At, s.count)
		}
		s.steps, err = p.steps(s.At+".steps", steps, depth+1)
		return err
	case "parallel":
		return p.parallel(s, depth)
	case "capture":
		return p.capture(s)
	}
	_, err = s.condition(s.fields) // waitFor and assert
	if err != nil && strings.Contains(string(s.Raw), "${") && fault.CodeOf(err) == fault.ValidationError {
		return nil // what it is then is known when it runs
	}
	return err
}

func (s *Step) parseDo() error {
	var do string
	if err := json.Unmarshal(s.fields["do"], &do); err != nil {
		return wrongType(s.At+".do", s.fields["do"], err)
	}
	i := strings.LastIndexByte(do, '.')
	if i < 1 || i == len(do)-1 {
		return invalid(`Write "net.request", "stdio.text", "process.signal".`, "%s: do = %q is no CHANNEL.ACTION", s.At, do)
	}
	s.channel, s.action = do[:i], do[i+1:]
	k, err := kindOf(s.channel)
	if err != nil {
		return located(s.At, err)
	}
	rest := maps.Clone(s.fields)
	delete(rest, "do")
	delete(rest, "expectError")
	if strings.Contains(string(s.Raw), "${") {
		for name, v := range rest { // what a variable holds is seen when it runs
			if strings.Contains(string(v), "${") {
				delete(rest, name)
			}
		}
		for _, f := range k.Messages {
			for _, field := range f.Fields {
				if v, ok := s.fields[field.Name]; f.Name == s.action && field.Required && ok && rest[field.Name] == nil {
					if field.Enum != nil || field.Type != "string" {
						return nil
					}
					rest[field.Name] = v
				}
			}
		}
	}
	if _, err = k.CheckFields(s.action, rest); err != nil {
		return located(s.At, err)
	}
	return nil
}

// kindOf is iochan.KindOf for names of which the session knows what stands behind the colon.
func kindOf(name string) (*iochan.Kind, error) {
	k, _, err := iochan.KindOf(name)
	if err == nil {
		return k, nil
	}
	for _, k := range iochan.Kinds {
		if k.Name == name && k.NeedsArg {
			return k, nil
		}
	}
	return nil, err
}

func (p *parser) parallel(s *Step, depth int) error {
	var all []json.RawMessage
	if err := fill(s.At, s.fields, map[string]any{"parallel": &all}); err != nil {
		return err
	}
	if len(all) == 0 || len(all) > maxParallel {
		return invalid(fmt.Sprintf("1 to %d steps, or lists of steps.", maxParallel), "%s: parallel has %d", s.At, len(all))
	}
	for i, raw := range all {
		var list []json.RawMessage
		at := fmt.Sprintf("%s.parallel[%d]", s.At, i)
		if json.Unmarshal(raw, &list) != nil {
			one, err := p.step(at, raw, depth+1)
			if err != nil {
				return err
			}
			s.branches = append(s.branches, []Step{one})
			continue
		}
		steps, err := p.steps(at, list, depth+1)
		if err != nil {
			return err
		}
		s.branches = append(s.branches, steps)
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *parser) capture(s *Step) error {
	var from json.RawMessage
	if err := fill(s.At, s.fields, map[string]any{"capture": &s.name, "from": &from}); err != nil {
		return err
	}
	if !variableName.MatchString(s.name) || len(s.name) > maxNameOrNumber {
		return invalid("Letters, digits and _.", "%s: capture = %q is no name", s.At, s.name)
	}
	if len(from) == 0 {
		return invalid(`Give from: "answer.body.id", or {"channel": "net", "take": "body"}.`, "%s lacks from", s.At)
	}
	p.known[s.name] = true
	var path string
	if json.Unmarshal(from, &path) == nil {
		if path != "answer" && !strings.HasPrefix(path, "answer.") {
			return invalid("Write answer, or answer.body.id; else an object with channel and take.",
				"%s: from = %q", s.At, path)
		}
		return nil
	}
	_, err := s.source()
	if err != nil && strings.Contains(string(s.Raw), "${") {
		return nil
	}
	return err
}
