package service

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/scenario"
	"github.com/strobe-debug/strobe/internal/session"
)

// Object is JSON that is an object, checked by who reads it.
type Object struct{ raw json.RawMessage }

// UnmarshalJSON keeps the text.
func (o *Object) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	o.raw = append(json.RawMessage{}, b...)
	return nil
}

// MarshalJSON returns the text.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.raw == nil {
		return []byte("null"), nil
	}
	return o.raw, nil
}

// IsZero reports that none was given.
func (o Object) IsZero() bool { return o.raw == nil }

// JSONSchema says that it is an object.
func (Object) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// ScenarioParams are the parameters of debug_test_scenario.
type ScenarioParams struct {
	SessionID     string `json:"sessionId,omitempty" jsonschema:"of a program that runs; or launch"`
	Launch        Object `json:"launch,omitzero" jsonschema:"debug_launch's parameters"`
	Scenario      Object `json:"scenario,omitzero" jsonschema:"{channels, vars, steps}; or file"`
	File          string `json:"file,omitempty" jsonschema:"JSON or YAML; may have launch"`
	From          string `json:"from,omitempty" jsonschema:"sessionId: answer with a scenario that repeats it"`
	StepTimeoutMs int    `json:"stepTimeoutMs,omitempty"`
	TimeoutMs     int    `json:"timeoutMs,omitempty" jsonschema:"of all"`
	Budget
}

// Proposal is the answer of from: a scenario that does what a session did.
type Proposal struct {
	Scenario json.RawMessage `json:"scenario"`
	Hint     string          `json:"hint,omitempty"`
}

const defaultScenarioMs = 60_000

var scenarioOp = Op{
	Name: "debug_test_scenario",
	Summary: "Run steps on a program and check what it does; the first that fails is told with the nearest event, and " +
		"the program stays. Steps: {do: net.request, path}, {assert: net, status, body: {contains}}, {assert: trace, " +
		"function, argument, returnValue, times}, {assert: stdio, text}, {assert: value, expression, equals}, {waitFor: " +
		"{channel, …}, withinMs}, {wait: ms}, {capture: NAME, from: answer.body.id} for ${NAME}, {repeat, steps}, " +
		"{parallel}, {note}.",
	Doc: "An assert's other members are filters: on trace those of debug_query, on channels the members of their events " +
		"(a value, or equals, notEquals, contains, matches, greaterThan, lessThan, between, exists; body.a goes into " +
		"JSON). times, atLeast and atMost count from the scenario's start, or with since: do from the newest do; withinMs " +
		"waits. An assert of net without direction is of the newest answer. See scenarios.md. `file` is absolute, or in " +
		"the project's `.strobe/scenarios`.",
	Destructive: true,
	Params:      reflect.TypeFor[ScenarioParams](),
	Results:     []reflect.Type{reflect.TypeFor[scenario.Result](), reflect.TypeFor[Proposal]()},
	Fields: []Field{
		{Name: "stepTimeoutMs", Min: 1, Max: scenario.MaxWaitMs, Default: 5000},
		{Name: "timeoutMs", Min: 1, Max: scenario.MaxWaitMs, Default: defaultScenarioMs},
		maxTokensField,
	},
	run: typed(runScenario),
}

// Check refuses what does not go together.
func (p *ScenarioParams) Check() error {
	sources := 0
	for _, given := range []bool{!p.Scenario.IsZero(), p.File != "", p.From != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources != 1:
		return invalid("Give scenario, or file, or from.", "%d of them are given", sources)
	case p.From != "" && (p.SessionID != "" || !p.Launch.IsZero()):
		return invalid("Leave them out.", "from proposes a scenario and runs nothing: sessionId and launch are not for it")
	case p.SessionID != "" && !p.Launch.IsZero():
		return invalid("Leave one out.", "sessionId and launch are both given")
	}
	return nil
}

func runScenario(ctx context.Context, s *Service, p *ScenarioParams) (any, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.From != "" {
		return proposeScenario(ctx, s, p.From)
	}
	var sess *session.Session
	var err error
	if p.SessionID != "" {
		if sess, err = s.sessions.Get(ctx, p.SessionID); err != nil {
			return nil, err
		}
	}
	raw, root := p.Scenario.raw, ""
	if p.File != "" {
		if raw, root, err = readScenario(p, sess); err != nil {
			return nil, err
		}
	}
	sc, err := scenario.Parse(raw)
	if err != nil {
		return nil, err
	}
	sc.StepTimeoutMs = cmp.Or(p.StepTimeoutMs, sc.StepTimeoutMs)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(p.TimeoutMs, defaultScenarioMs))*time.Millisecond)
	defer cancel()
	if sess == nil {
		if sess, err = p.launch(ctx, s, sc, root); err != nil {
			return nil, err
		}
	}
	res, err := scenario.Run(ctx, sc, &world{s, sess})
	if err != nil {
		return nil, err
	}
	res.SessionID = sess.ID
	if st, err := sess.State(context.WithoutCancel(ctx)); err == nil {
		res.Status = string(st.Status)
	}
	return res, nil
}

// readScenario reads the file, and says which project it belongs to.
func readScenario(p *ScenarioParams, sess *session.Session) (raw json.RawMessage, root string, err error) {
	path := p.File
	if !filepath.IsAbs(path) {
		if sess != nil {
			root = sess.ProjectRoot()
		}
		var l struct{ ProjectRoot string }
		if !p.Launch.IsZero() && json.Unmarshal(p.Launch.raw, &l) == nil {
			root = l.ProjectRoot
		}
		if root == "" {
			return nil, "", invalid("Give an absolute path, or sessionId or launch.projectRoot.", "file %q is relative", path)
		}
		for _, dir := range []string{filepath.Join(root, ".strobe", "scenarios"), root} {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				path = filepath.Join(dir, path)
				break
			}
		}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > scenario.MaxFile {
		return nil, "", invalid("Split it.", "%s has %d bytes, the limit is %d", path, info.Size(), scenario.MaxFile)
	}
	text, err := plainfile.ReadFile(path)
	if err != nil {
		return nil, "", fault.New(fault.ReadFailed, "Check the path; scenarios of a project are in .strobe/scenarios.",
			"read scenario: %w", err)
	}
	if root == "" {
		root = filepath.Dir(path)
		if before, _, found := strings.Cut(path, string(filepath.Separator)+".strobe"+string(filepath.Separator)); found {
			root = before
		}
	}
	raw, err = scenario.FromYAML(text)
	return raw, root, err
}

// launch starts the scenario's program, with its channels.
func (p *ScenarioParams) launch(ctx context.Context, s *Service, sc *scenario.Scenario, root string) (*session.Session,
	error) {
	raw := p.Launch.raw
	if raw == nil {
		raw = sc.Launch
	}
	if raw == nil {
		return nil, invalid(`Give sessionId, or launch {"command": …, "projectRoot": …}.`, "the scenario has no program")
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, invalid("Give debug_launch's parameters.", "launch: %w", err)
	}
	if fields["projectRoot"] == nil && root != "" {
		b, err := json.Marshal(root)
		if err != nil {
			return nil, err
		}
		fields["projectRoot"] = b
	}
	var names []string
	if json.Unmarshal(fields["channels"], &names) != nil {
		names = nil
	}
	for _, c := range sc.Channels {
		if len(c.Options) == 0 {
			names = append(names, c.Channel)
		}
	}
	if len(names) > 0 {
		b, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		fields["channels"] = b
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	params, err := launchOp.Decode(raw)
	if err != nil {
		return nil, err
	}
	l := params.(*LaunchParams)
	if l.Core != "" || l.PID != 0 || l.StopOnEntry {
		return nil, invalid("Launch it with debug_launch, and give sessionId.",
			"a scenario launches a command: pid, core and stopOnEntry are not for it")
	}
	res, err := launch(ctx, s, l)
	if err != nil {
		return nil, err
	}
	return s.sessions.Get(ctx, res.SessionID)
}

// world is a session as scenarios see it.
type world struct {
	s    *Service
	sess *session.Session
}

func (w *world) AddChannel(ctx context.Context, name string, options json.RawMessage) error {
	return w.sess.AddChannel(ctx, name, options)
}

func (w *world) Open() (names []string) {
	for _, c := range w.sess.Channels() {
		names = append(names, c.Channel)
	}
	return names
}

func (w *world) Send(ctx context.Context, channel string, message json.RawMessage) (any, error) {
	return w.sess.SendChannel(ctx, channel, message)
}

func (w *world) Ask(ctx context.Context, r query.Request) (*query.Result, error) {
	r.SessionID = w.sess.ID
	return runQuery(ctx, w.s, &r)
}

func (w *world) Value(ctx context.Context, expression string) (json.RawMessage, error) {
	m := &MemoryParams{SessionID: w.sess.ID, Action: "read", Targets: []MemoryTarget{{Expression: expression}}}
	res, err := readMemory(ctx, w.s, m)
	if err != nil {
		return nil, err
	}
	v := &res.Results[0]
	if v.Error != "" {
		return nil, fault.New(fault.ReadFailed, "debug_memory reads single values.", "%s", v.Error)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var parts struct{ Value, Fields json.RawMessage }
	if err := json.Unmarshal(b, &parts); err != nil {
		return nil, err
	}
	if len(parts.Value) > 0 {
		return parts.Value, nil
	}
	return parts.Fields, nil
}

func (w *world) Variables() map[string]string { return w.sess.ChannelVariables() }

func (w *world) PID() int { return w.sess.PID() }

func (w *world) Ended() bool { return w.sess.Ended() }

func (w *world) Now() int64 { return w.sess.Now() }

func (w *world) Last(ctx context.Context, flush bool) (int64, error) {
	st, use, release, err := w.sess.Use(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	if flush {
		if err := w.sess.Flush(use); err != nil && use.Err() != nil {
			return 0, err
		}
	}
	sn, err := st.Snapshot(use)
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	return sn.LastID(), nil
}
