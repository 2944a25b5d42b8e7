package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// prompt is a usual task, as a person picks it in a client.
type prompt struct {
	name, text string
	args       []*sdk.PromptArgument
	body       string // {arg} stands for an argument
}

func required(name, text string) *sdk.PromptArgument {
	return &sdk.PromptArgument{Name: name, Description: text, Required: true}
}

func optional(name, text string) *sdk.PromptArgument {
	return &sdk.PromptArgument{Name: name, Description: text}
}

var prompts = []prompt{
	{"find-cause", "Find why a program does something wrong",
		[]*sdk.PromptArgument{required("command", "program and arguments"), required("problem", "what is wrong"),
			optional("projectRoot", "folder of its sources")},
		"{command} does this: {problem}. Find the cause with Strobe and prove it; do not " +
			"edit the program to print. " +
			"debug_launch it (projectRoot {projectRoot}) with trace @usercode, then " +
			"debug_query: view summary, view invariants " +
			"(calls that break what others keep), view table of the function in question, " +
			"view why of the event that is wrong. " +
			"Say the cause with the ids of the events that show it."},
	{"explain-crash", "Explain why a session's program crashed",
		[]*sdk.PromptArgument{required("sessionId", "of debug_session list")},
		"Explain the crash in session {sessionId}: debug_query eventType crash verbose " +
			"true, then view why of that event. " +
			"Say which value was wrong, where it came from, and how to mend it."},
	{"why-slow", "Find where a program's time goes",
		[]*sdk.PromptArgument{required("command", "program and arguments"), optional("projectRoot", "folder of its sources")},
		"Find where {command} spends its time. debug_launch it (projectRoot " +
			"{projectRoot}) without trace, debug_trace with " +
			"plan true and add @usercode for what is called how often, then trace all but " +
			"the busiest, and debug_query view " +
			"stats. Name the functions by self time, with numbers."},
	{"fix-test", "Find why a test fails",
		[]*sdk.PromptArgument{required("projectRoot", "absolute"), optional("test", "one test, else those that fail")},
		"Run the tests in {projectRoot} with debug_test (test {test}). Of a failure " +
			"whose cause its message does not tell, run " +
			"debug_test action compare and read the first call that differs. Say the cause " +
			"before you change anything."},
	{"compare-sessions", "Say what differs between two sessions",
		[]*sdk.PromptArgument{required("sessionId", "the one that fails"), required("against", "the one that passes")},
		"debug_query sessionId {sessionId} view diff against {against}: say what the " +
			"first difference is, and whether it is the " +
			"cause of the others."},
	{"why-not-run", "Say why a function did not run",
		[]*sdk.PromptArgument{required("sessionId", "of debug_session list"), required("function", "qualified name")},
		"debug_query sessionId {sessionId} view missing function {function}. Look at the " +
			"nearest caller that ran: its arguments " +
			"in view table say why it did not come to the call."},
}

func (s *Server) addPrompts() {
	for _, p := range prompts {
		s.sdk.AddPrompt(&sdk.Prompt{Name: p.name, Description: p.text, Arguments: p.args},
			func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				text := p.body
				for _, a := range p.args {
					value := req.Params.Arguments[a.Name]
					if value == "" && a.Required {
						return nil, fmt.Errorf("prompt %s needs %s: %s", p.name, a.Name, a.Description)
					}
					if value == "" {
						value = "as you find it"
					}
					text = strings.ReplaceAll(text, "{"+a.Name+"}", value)
				}
				return &sdk.GetPromptResult{Description: p.text, Messages: []*sdk.PromptMessage{{Role: "user",
					Content: &sdk.TextContent{Text: text}}}}, nil
			})
	}
}

// completeMost is how many values a completion has: more the protocol does not allow.
const completeMost = 100

// complete tells session ids, and names of functions of a session that was named.
func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	p := req.Params
	var all []string
	switch p.Argument.Name {
	case "sessionId", "against":
		sessions, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range sessions {
			all = append(all, one.SessionID)
		}
	case "function":
		if p.Context != nil && p.Context.Arguments["sessionId"] != "" {
			var err error
			if all, err = s.functions(ctx, p.Context.Arguments["sessionId"], p.Argument.Value); err != nil {
				return nil, err
			}
		}
	}
	lower := strings.ToLower(p.Argument.Value)
	all = slices.DeleteFunc(all, func(v string) bool { return !strings.Contains(strings.ToLower(v), lower) })
	sorting.By(all, func(x, y string) int { // what begins so is nearer
		return strings.Index(strings.ToLower(x), lower) - strings.Index(strings.ToLower(y), lower)
	})
	out := &sdk.CompleteResult{}
	out.Completion.Total, out.Completion.HasMore = len(all), len(all) > completeMost
	out.Completion.Values = append([]string{}, all[:min(len(all), completeMost)]...)
	return out, nil
}

// functions are names of a session's functions that hold a text: those that were called, and those of @coverage that
// never were.
func (s *Server) functions(ctx context.Context, session, part string) (names []string, err error) {
	called := map[string]any{"sessionId": session, "view": "stats", "limit": 500}
	never := map[string]any{"sessionId": session, "view": "coverage", "maxTokens": 20000}
	if part != "" {
		called["function"] = map[string]any{"contains": part}
		never["function"] = map[string]any{"contains": part}
	}
	raw, err := s.call(ctx, "debug_query", called)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(resourceText(raw), "\n") {
		name, _, found := strings.Cut(line, "  ")
		if name, _, _ = strings.Cut(name, "("); i > 0 && found && name != "" {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if raw, err = s.call(ctx, "debug_query", never); err != nil {
		return nil, err
	}
	apart := func(r rune) bool { return strings.ContainsRune(" ,\n", r) }
	for _, word := range strings.FieldsFunc(resourceText(raw), apart) {
		i := strings.LastIndexByte(word, ':') // NAME:LINE
		if _, err := strconv.Atoi(word[i+1:]); err == nil && i > 0 {
			names = append(names, word[:i])
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
