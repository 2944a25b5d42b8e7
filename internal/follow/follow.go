// Package follow owns a client of the tools that knows nothing but what they say: it starts a program and from then on
// makes only calls that an answer names, with the arguments that stand there. It shows that answers lead on.
//
// It stands outside of the data path, beside the clients: strobe demo and tests are its users.
package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxCalls = 16 // until it gives up
	maxAgain = 2  // times that one call is made: what it says may be more later
)

// Client makes the calls of one search. Not safe for concurrent use.
type Client struct {
	session *sdk.ClientSession
	takes   map[string]map[string]bool // parameters by tool, of tools/list
	id      string                     // of the newest program's session

	// Told is called with each call and its answer, as they went over the connection.
	Told func(tool string, arguments json.RawMessage, answer string)
}

// New asks which tools there are. The server's instructions must name the one that a search begins with.
func New(ctx context.Context, session *sdk.ClientSession) (*Client, error) {
	c := &Client{session: session, takes: map[string]map[string]bool{}}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	for _, t := range list.Tools {
		raw, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("read schema of %s: %w", t.Name, err)
		}
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(raw, &schema); err != nil {
			return nil, fmt.Errorf("read schema of %s: %w", t.Name, err)
		}
		c.takes[t.Name] = map[string]bool{}
		for name := range schema.Properties {
			c.takes[t.Name][name] = true
		}
	}
	said := session.InitializeResult().Instructions
	if !strings.Contains(said, "debug_launch {") || c.takes["debug_launch"] == nil {
		return nil, fmt.Errorf("tools and instructions do not say how a search begins: %s", said)
	}
	return c, nil
}

// Session is the newest program's.
func (c *Client) Session() string { return c.id }

// call is one that an answer named.
type call struct {
	tool      string
	arguments map[string]any
	raw       string // the arguments as they were named
}

// Find starts a program and follows what answers say until found takes one of them, and returns how many calls that
// took. What is named first is done first, and what an answer names before what earlier ones did.
func (c *Client) Find(ctx context.Context, launch map[string]any, found func(answer string) bool) (calls int,
	err error) {
	todo := []call{{tool: "debug_launch", arguments: launch}}
	made := map[string]int{}
	for ; len(todo) > 0 && calls < maxCalls; calls++ {
		next := todo[0]
		todo = todo[1:]
		answer, err := c.make(ctx, next)
		if err != nil {
			return calls, err
		}
		if found(answer) {
			return calls + 1, nil
		}
		named, err := c.named(answer)
		if err != nil {
			return calls, err
		}
		todo = slices.DeleteFunc(append(named, todo...), func(n call) bool {
			return made[n.key(c.id)] >= maxAgain || n.arguments["action"] == "stop" // which is the end of it
		})
		if len(todo) > 0 {
			made[todo[0].key(c.id)]++
		}
	}
	return calls, fmt.Errorf("what answers say led to no cause in %d calls", calls)
}

func (n *call) key(session string) string { return n.tool + n.raw + session }

// make makes a call in the session of the program that was started last.
func (c *Client) make(ctx context.Context, n call) (string, error) {
	arguments := maps.Clone(n.arguments)
	if n.tool != "debug_launch" && c.takes[n.tool]["sessionId"] && arguments["sessionId"] == nil {
		arguments["sessionId"] = c.id
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", n.tool, err)
	}
	r, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: n.tool, Arguments: json.RawMessage(raw)})
	if err != nil {
		return "", fmt.Errorf("call %s: %w", n.tool, err)
	}
	var text strings.Builder
	for _, part := range r.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	var started struct {
		SessionID string `json:"sessionId"`
	}
	if n.tool == "debug_launch" && json.Unmarshal([]byte(text.String()), &started) == nil {
		c.id = started.SessionID
	}
	if c.Told != nil {
		c.Told(n.tool, raw, text.String())
	}
	return text.String(), nil
}

// sentences are the members of answers that say what next.
var sentences = []string{"nextSteps", "hint", "status"}

// namedCall is the beginning of one.
var namedCall = regexp.MustCompile(`\b(debug_[a-z_]+) \{`)

// named reads the calls that an answer names. One that the tool would not take is an error: whoever follows it fails.
func (c *Client) named(answer string) (calls []call, err error) {
	var members map[string]json.RawMessage
	texts := []string{answer} // an error is a text
	if json.Unmarshal([]byte(answer), &members) == nil {
		texts = nil
		for _, name := range sentences {
			var text string
			if json.Unmarshal(members[name], &text) == nil {
				texts = append(texts, text)
			}
		}
	}
	for _, text := range texts {
		for _, at := range namedCall.FindAllStringSubmatchIndex(text, -1) {
			n := call{tool: text[at[2]:at[3]]}
			d := json.NewDecoder(strings.NewReader(text[at[1]-1:]))
			if err := d.Decode(&n.arguments); err != nil && err != io.EOF {
				return nil, fmt.Errorf("read call of %s in %q: %w", n.tool, text, err)
			}
			n.raw = text[at[1]-1 : at[1]-1+int(d.InputOffset())]
			for name := range n.arguments {
				if !c.takes[n.tool][name] {
					return nil, fmt.Errorf("%q names a call that there is not: %s has no %s", text, n.tool, name)
				}
			}
			calls = append(calls, n)
		}
	}
	return calls, nil
}
