package main_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestAskTier: a client that asks for few tools is shown five in under 2 KB, and each takes what it shows.
func TestAskTier(t *testing.T) {
	home := newHome(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.Command(strobetest.Binary(t), "mcp", "--tools", "ask")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "0"}, nil).Connect(ctx,
		&sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	list, err := cs.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 5 || len(b) >= 2048 {
		t.Errorf("%d tools in %d bytes, want 5 in under 2 KB", len(list.Tools), len(b))
	}
	all := connect(t, ctx, home)
	whole, err := all.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, short := range list.Tools {
		i := slices.IndexFunc(whole.Tools, func(o *sdk.Tool) bool { return o.Name == short.Name })
		if i < 0 {
			t.Fatalf("%s is in no list but this", short.Name)
		}
		has := properties(t, whole.Tools[i])
		for name := range properties(t, short) {
			if _, ok := has[name]; !ok {
				t.Errorf("%s shows %s, which it does not take", short.Name, name)
			}
		}
	}
	var found struct{ Sessions []any }
	mustCall(t, ctx, cs, "debug_session", map[string]any{"action": "list"}, &found)
	if out, err := exec.Command(strobetest.Binary(t), "mcp", "--tools", "some").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "ask or all") {
		t.Errorf("--tools some: %v, %s", err, out)
	}
}

func properties(t *testing.T, tool *sdk.Tool) map[string]any {
	t.Helper()
	schema, ok := tool.InputSchema.(map[string]any)
	if !ok {
		t.Fatalf("%s: schema %T", tool.Name, tool.InputSchema)
	}
	p, _ := schema["properties"].(map[string]any)
	return p
}

// TestAnnotations: clients ask before what may end a program or write, and not before what only reads.
func TestAnnotations(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := connect(t, ctx, newHome(t)).ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tool := range list.Tools {
		a := tool.Annotations
		switch {
		case a != nil && a.ReadOnlyHint:
			got[tool.Name] = "reads"
		case a != nil && a.DestructiveHint != nil && !*a.DestructiveHint:
			got[tool.Name] = "changes"
		default:
			got[tool.Name] = "may destroy"
		}
	}
	for name, want := range map[string]string{"debug_query": "reads", "debug_setup_tests": "reads", "debug_trace": "changes",
		"debug_session": "may destroy", "debug_memory": "changes"} {
		if got[name] != want {
			t.Errorf("%s %s, want %s", name, got[name], want)
		}
	}
}

// TestResources: what a session recorded can be attached by its address, prompts name the usual tasks, and both
// complete ids and functions.
func TestResources(t *testing.T) {
	strobetest.NeedPtrace(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cs := connect(t, ctx, newHome(t))
	source := `#include <stdio.h>
int weigh(int k) { return k * 2; }
int wrap(int k) { return weigh(k) + 1; }
int main(void) { printf("%d\n", wrap(20)); return 0; }
`
	path := strobetest.BuildSource(t, "c", "gcc-O0", "resources", source)
	var l struct{ SessionID string }
	mustCall(t, ctx, cs, "debug_launch", map[string]any{"command": path, "projectRoot": t.TempDir(),
		"trace": []string{"weigh", "wrap"}}, &l)
	var page struct{ TotalCount int }
	mustCall(t, ctx, cs, "debug_query", map[string]any{"sessionId": l.SessionID, "eventType": "stdout", "waitMs": 20000},
		&page)
	list, err := cs.ListResources(ctx, nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "strobe://session/"+l.SessionID+"/summary" {
		t.Fatalf("resources = %+v, %v", list, err)
	}
	templates, err := cs.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) < 4 {
		t.Errorf("templates = %+v, %v", templates, err)
	}
	for part, want := range map[string]string{"summary": "resources: ", "tree": "wrap(k=20)", "stats": "weigh",
		"output": "41", "coverage": "@coverage", "crash": "("} {
		r, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: "strobe://session/" + l.SessionID + "/" + part})
		if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, want) {
			t.Errorf("%s = %+v, %v, want %q in it", part, r, err, want)
		}
	}
	for _, uri := range []string{"strobe://session/nope/tree", "strobe://session/" + l.SessionID + "/nothing"} {
		if r, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s = %+v", uri, r)
		}
	}
	prompts, err := cs.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) < 5 {
		t.Fatalf("prompts = %+v, %v", prompts, err)
	}
	p, err := cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: "why-not-run",
		Arguments: map[string]string{"sessionId": l.SessionID, "function": "weigh"}})
	if err != nil || !strings.Contains(p.Messages[0].Content.(*sdk.TextContent).Text, l.SessionID) {
		t.Errorf("prompt = %+v, %v", p, err)
	}
	if _, err := cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: "why-not-run"}); err == nil {
		t.Error("a prompt without what it needs is no error")
	}
	for _, c := range []struct {
		argument, value string
		context         map[string]string
		want            string
	}{
		{"sessionId", l.SessionID[:5], nil, l.SessionID},
		{"sessionId", "zzz", nil, ""},
		{"function", "w", map[string]string{"sessionId": l.SessionID}, "weigh wrap"},
		{"function", "rap", map[string]string{"sessionId": l.SessionID}, "wrap"},
	} {
		r, err := cs.Complete(ctx, &sdk.CompleteParams{Argument: sdk.CompleteParamsArgument{Name: c.argument, Value: c.value},
			Context: &sdk.CompleteContext{Arguments: c.context}, Ref: &sdk.CompleteReference{Type: "ref/prompt",
				Name: "why-not-run"}})
		if err != nil || strings.Join(r.Completion.Values, " ") != c.want {
			t.Errorf("complete %s %q = %+v, %v, want %q", c.argument, c.value, r, err, c.want)
		}
	}
	mustCall(t, ctx, cs, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID}, &struct{}{})
}
