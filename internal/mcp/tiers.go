package mcp

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaTier in tools/list's _meta says which tools are listed; absent: all. All are taken, with all parameters.
const (
	MetaTier = "strobe/tools"
	TierAsk  = "ask" // five tools with the parameters that most questions need, in under 2 KB
)

// askTools are the tools of TierAsk, with what they say and the parameters that are shown.
var askTools = []struct {
	name, text string
	shown      []string
}{
	{"debug_launch", "Run a program; record output and the calls of what trace names (@usercode: all the " +
		"project).", []string{"command", "args", "projectRoot", "trace"}},
	{"debug_query", "Ask a session. view: summary first; invariants: which calls break what others keep; check a claim " +
		"(x >= 0 whenever ok); why: event under; diff: two sessions, or by claim; object: its life; coverage: what " +
		"never ran (trace @coverage); missing: why not.",
		[]string{"sessionId", "view", "function", "claim", "under", "object", "against", "afterEventId"}},
	{"debug_trace", "Trace more or less: ns::fn, ns::**, @file:NAME.",
		[]string{"sessionId", "add", "remove"}},
	{"debug_test", "Run tests. compare: first call that differs; races: of threads.",
		[]string{"action", "projectRoot", "test", "testRunId", "waitMs"}},
	{"debug_session", "Sessions; stop ends the program.", []string{"action", "sessionId"}},
}

// askTier makes the list of TierAsk.
func askTier(tools []Tool) (list []*sdk.Tool) {
	for _, a := range askTools {
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == a.name })
		if i < 0 {
			continue
		}
		in := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
			Required: tools[i].Input.Required, PropertyOrder: a.shown}
		for _, name := range a.shown {
			p := tools[i].Input.Properties[name]
			if p == nil {
				continue
			}
			short := &jsonschema.Schema{Type: p.Type, Enum: p.Enum}
			if p.Items != nil && p.Type == "array" {
				short.Items = &jsonschema.Schema{Type: p.Items.Type}
			}
			if len(p.Types) > 0 {
				short.Type = p.Types[0] // the short form of it
			}
			in.Properties[name] = short
		}
		t := &sdk.Tool{Name: a.name, Description: a.text, InputSchema: in}
		if tools[i].ReadOnly {
			t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
		}
		list = append(list, t)
	}
	return list
}

// WithTier puts a tier into a client's request for the list of tools; every other line stays as it is.
func WithTier(line []byte, tier string) []byte {
	var msg, params, meta map[string]json.RawMessage
	if tier == "" || !bytes.Contains(line, []byte("tools/list")) || json.Unmarshal(line, &msg) != nil ||
		string(msg["method"]) != `"tools/list"` {
		return line
	}
	if json.Unmarshal(msg["params"], &params) != nil || params == nil {
		params = map[string]json.RawMessage{}
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	var err error
	if meta[MetaTier], err = json.Marshal(tier); err != nil {
		return line
	}
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return line
	}
	if msg["params"], err = json.Marshal(params); err != nil {
		return line
	}
	out, err := json.Marshal(msg)
	if err != nil {
		return line
	}
	return append(out, '\n')
}
