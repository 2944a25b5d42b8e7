package acceptance

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// field is one of a tool's parameters and the call that has it.
type field struct {
	name string
	with func(value any) any
}

// fieldsOf lists what a schema declares, at every depth.
func fieldsOf(s *jsonschema.Schema, prefix string, with func(any) any) (out []field) {
	if s.Items != nil {
		out = append(out, fieldsOf(s.Items, prefix, func(v any) any { return with([]any{v}) })...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		in := func(v any) any { return with(args{name: v}) }
		out = append(out, field{prefix + name, in})
		out = append(out, fieldsOf(s.Properties[name], prefix+name+".", in)...)
	}
	return out
}

// TestAnyValueOfAnyField calls every tool with what clients send by mistake, in every field, while a program runs, one
// is paused, and one has ended. Each call is answered with a result or an error of its own, and the daemon lives. It
// keeps out the poll without an interval, which took the daemon down and every session with it.
func TestAnyValueOfAnyField(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, nil)
	pid := daemon.HolderPID(s.Home)
	d := debug(t, s, "gcc-O0", "held", heldProgram, map[string]any{"stopOnEntry": true})
	d.points(args{"add": []any{args{"function": "kept"}}})
	d.next(args{})
	dir := t.TempDir()
	ended := s.Launch(t, "true", dir, nil, nil)
	s.WaitEnd(t, ended.SessionID, endLimit)
	base := map[string][]args{
		"debug_launch":      {{"command": "true", "projectRoot": dir}},
		"debug_test":        {{"action": "run", "projectRoot": dir}, {"action": "list"}},
		"debug_session":     {{"action": "status"}, {"action": "list"}, {"action": "input", "text": "x"}},
		"debug_setup_tests": {{"projectRoot": dir}},
		"debug_memory": {{"targets": []any{args{"variable": "counter"}}},
			{"targets": []any{args{"variable": "counter"}}, "poll": args{"durationMs": 1000}}},
	}
	for _, op := range service.Ops {
		in, err := op.InputSchema()
		if err != nil {
			t.Fatal(err)
		}
		calls := base[op.Name]
		if calls == nil {
			calls = []args{{}}
		}
		for _, f := range fieldsOf(in, "", func(v any) any { return v }) {
			for _, v := range []any{0, -1, json.Number("9223372036854775807"), json.Number("9223372036854775808"),
				json.Number("1e300"), 1.5, "", "x", []any{}, args{}, []any{nil}, nil, true} {
				for _, id := range []string{d.id, ended.SessionID} {
					for _, call := range calls {
						if _, has := in.Properties["sessionId"]; has {
							call = laid(call, args{"sessionId": id}).(args)
						} else if id != d.id {
							continue
						}
						err := s.Try(op.Name, laid(call, f.with(v)).(args), nil)
						var te *strobetest.ToolError
						if err != nil && (!errors.As(err, &te) || te.Code == "INTERNAL_ERROR" || te.Hint == "") {
							t.Errorf("%s with %s = %v: %v", op.Name, f.name, v, err)
						}
					}
				}
				if got := daemon.HolderPID(s.Home); got != pid {
					t.Fatalf("%s with %s = %v: the daemon was process %d and is %d", op.Name, f.name, v, pid, got)
				}
			}
		}
	}
	var r struct{ Hint string }
	s.Call(t, "debug_memory", args{"sessionId": d.id, "targets": []any{args{"variable": "counter"}}, "poll": args{}}, &r)
	if !strings.Contains(r.Hint, "every 100 ms for 1000 ms") {
		t.Errorf("a poll without numbers: %q", r.Hint)
	}
}

// laid is b over a: objects member by member.
func laid(a, b any) any {
	x, ok := a.(args)
	y, also := b.(args)
	if !ok || !also {
		return b
	}
	out := maps.Clone(x)
	for k, v := range y {
		if have, there := out[k]; there {
			v = laid(have, v)
		}
		out[k] = v
	}
	return out
}
