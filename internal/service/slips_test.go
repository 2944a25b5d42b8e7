package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// What clients write first is taken or answered with the exact cure: each of these cost a model a call and a guess.
func TestCommandLineAsCommand(t *testing.T) {
	s := newService(t)
	root := t.TempDir()
	for command, want := range map[string]string{
		`./app --x 1`:          `Send command: "./app", args: ["--x","1"].`,
		`app "a b" 'c'`:        `Send command: "app", args: ["a b","c"].`,
		`DEBUG=1 LANG=C app x`: `Send command: "app", args: ["x"], env: {"DEBUG":"1","LANG":"C"}.`,
		`app x | grep y`:       `Send command: "/bin/sh", args: ["-c","app x | grep y"].`,
	} {
		err := try(t, s, "debug_launch", map[string]any{"command": command, "projectRoot": root})
		if f := fault.From(err); f.Code != fault.LaunchFailed || f.Hint != want {
			t.Errorf("%s: %v, want the hint %s", command, err, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	for in, want := range map[string][]string{
		"": nil, " a  b ": {"a", "b"}, `"a b" c\ d ''`: {"a b", "c d", ""}, `x="y z"`: {"x=y z"},
	} {
		if got := shellWords(in); !slices.Equal(got, want) {
			t.Errorf("shellWords(%q) = %q, want %q", in, got, want)
		}
	}
}

// A name alone is taken for what is meant by it.
func TestTextForAFilter(t *testing.T) {
	s := newService(t)
	l := must[LaunchResult](t, s, "debug_launch",
		map[string]any{"command": "echo", "args": []string{"hello"}, "projectRoot": t.TempDir()})
	waitEnd(t, s, l.SessionID)
	for _, filter := range []map[string]any{{"text": "hell"}, {"text": map[string]any{"contains": "hell"}}} {
		filter["sessionId"] = l.SessionID
		if r := must[struct{ TotalCount int }](t, s, "debug_query", filter); r.TotalCount != 1 {
			t.Errorf("%v: %d events, want 1", filter, r.TotalCount)
		}
	}
	for _, field := range []string{"function", "sourceFile", "threadName"} {
		if err := try(t, s, "debug_query", map[string]any{"sessionId": l.SessionID, field: "x"}); err != nil {
			t.Errorf("%s: %v", field, err)
		}
		err := try(t, s, "debug_query", map[string]any{"sessionId": l.SessionID, field: map[string]any{"equal": "x"}})
		if f := fault.From(err); f.Code != fault.ValidationError || !strings.Contains(f.Msg+f.Hint, "equal") {
			t.Errorf("%s with a wrong name: %v", field, err)
		}
	}
}

// Every operation takes maxTokens and a cursor.
func TestEveryOperationTakesMaxTokens(t *testing.T) {
	for _, op := range Ops {
		names := jsonNames(op.Params)
		if !slices.Contains(names, "maxTokens") || op.field("maxTokens").Max == 0 || !slices.Contains(names, "cursor") {
			t.Errorf("%s has no maxTokens or no cursor", op.Name)
		}
	}
}

// try runs an operation for its error.
func try(t *testing.T, s *Service, name string, params map[string]any) error {
	t.Helper()
	_, err := call[map[string]any](t, s, t.Context(), name, params)
	return err
}
