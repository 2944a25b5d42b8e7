package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Every conversation pays for the list of tools: launch, trace, query and session stay under 8 KB, and all that there
// are under 16.
func TestToolsAreSmall(t *testing.T) {
	tools, err := Tools(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	total, first := 0, 0
	for _, tool := range tools {
		if tool.Unlisted {
			continue
		}
		in, err1 := json.Marshal(tool.Input)
		out, err2 := json.Marshal(tool.Output)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		n := len(tool.Name) + len(tool.Description) + len(in) + len(out)
		t.Logf("%s: description %d, input %d, output %d bytes", tool.Name, len(tool.Description), len(in), len(out))
		total += n
		switch tool.Name {
		case "debug_launch", "debug_trace", "debug_query", "debug_session":
			first += n
		}
	}
	t.Logf("%d tools, %d bytes", len(tools), total)
	if first >= 8<<10 || total >= 20<<10 {
		t.Errorf("the first four tools have %d bytes, all %d, want under 8 and 20 KB", first, total)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	tools, err := Tools(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Tool{}
	for _, tool := range tools {
		byName[tool.Name] = tool
	}
	for _, c := range []struct {
		tool, args string
		says       []string
	}{
		{"debug_launch", `{"comand":"x","projectRoot":"/"}`, []string{"comand", "command"}},
		{"debug_launch", `{"Command":"x","projectRoot":"/"}`, []string{"Command"}},
		{"debug_launch", `{"command":"x"}`, []string{"projectRoot", "required"}},
		{"debug_launch", `{"command":7,"projectRoot":"/"}`, []string{"command", "string", "number"}},
		{"debug_launch", `{"command":"x","projectRoot":"/","args":"-v"}`, []string{"args", "array", "string"}},
		{"debug_launch", `[]`, nil},
		{"debug_launch", `"x"`, nil},
		{"debug_launch", `{"command":"x","projectRoot":"/"} {}`, nil},
		{"debug_trace", `{"serializationDepth":11}`, []string{"serializationDepth", "11", "1", "10"}},
		{"debug_session", `{"action":"stpo"}`, []string{"action", "stpo", "stop"}},
		{"debug_session", `{}`, []string{"action"}},
		{"debug_query", `{"sessionId":"x","eventType":7}`, []string{"7"}},
		{"debug_query", `{"sessionId":"x","function":{"equal":"f"}}`, []string{"equal"}},
		{"debug_query", `{"sessionId":"x","function":7}`, []string{"function", "7"}},
		{"debug_query", `{"sessionId":"x","view":"graph"}`, []string{"view", "graph", "tree"}},
		{"debug_query", `{"sessionId":"x","limit":"many"}`, []string{"limit", "integer", "string"}},
		{"debug_query", `{"sessionId":"x","limit":99999999999999999999}`, []string{"limit"}},
	} {
		_, err := byName[c.tool].Decode([]byte(c.args))
		if fault.CodeOf(err) != fault.ValidationError || err == nil {
			t.Errorf("%s %s: %v, want a VALIDATION_ERROR", c.tool, c.args, err)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s %s: %q does not say %q", c.tool, c.args, err, word)
			}
		}
	}
	for tool, args := range map[string]string{
		"debug_launch": `{"command":"x","projectRoot":"/","args":null}`,
		"debug_query":  `{"sessionId":"x","eventType":["stdout"],"returnValue":{"equals":18446744073709551615}}`,
		"debug_trace":  ``,
	} {
		if _, err := byName[tool].Decode([]byte(args)); err != nil {
			t.Errorf("%s %s: %v", tool, args, err)
		}
	}
}

func FuzzArguments(f *testing.F) {
	tools, err := Tools(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	for i := range tools {
		for _, s := range []string{"", "{}", "[]", `{"sessionId":"x","function":{"equals":1}}`,
			`{"action":"stop","retain":1e999}`, `{"timeFrom":"-5s"}`} {
			f.Add(i, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		if i < 0 {
			i = -(i + 1)
		}
		if _, err := tools[i%len(tools)].Decode(b); err != nil && fault.CodeOf(err) == fault.InternalError {
			t.Errorf("%s %q: %v, want a code of the caller's fault", tools[i%len(tools)].Name, b, err)
		}
	})
}

// TestUnlistedTools: a tool that is for programs is called by its name, and no model is shown it.
func TestUnlistedTools(t *testing.T) {
	next := func(context.Context, string, sdk.Request) (sdk.Result, error) {
		return &sdk.ListToolsResult{Tools: []*sdk.Tool{{Name: "shown"}, {Name: "hidden"}}}, nil
	}
	r, err := listing([]Tool{{Name: "shown"}, {Name: "hidden", Unlisted: true}})(next)(t.Context(), "tools/list", nil)
	if list := r.(*sdk.ListToolsResult).Tools; err != nil || len(list) != 1 || list[0].Name != "shown" {
		t.Errorf("listed %+v: %v", list, err)
	}
}
