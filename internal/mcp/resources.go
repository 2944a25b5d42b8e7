package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Sessions are resources: strobe://session/ID/PART, each an answer of debug_query. What is a resource can be attached
// to a conversation by a person, without a model asking for it.

const (
	sessionScheme = "strobe://session/"
	listedMost    = 50 // sessions in the list of resources; the template reaches all
)

// sessionParts are what of a session is a resource, with the question whose answer it is.
var sessionParts = []struct {
	name, text string
	question   map[string]any
}{
	{"summary", "what happened: processes, crash, odd results, end of the output", map[string]any{"view": "summary"}},
	{"tree", "the call tree with arguments, results and output", map[string]any{"view": "tree"}},
	{"stats", "functions: calls, errors, times", map[string]any{"view": "stats"}},
	{"crash", "crashes with stacks and values", map[string]any{"eventType": "crash", "verbose": true}},
	{"output", "what the program wrote", map[string]any{"eventType": []string{"stdout", "stderr"}, "limit": 200}},
	{"coverage", "which functions never ran, with @coverage", map[string]any{"view": "coverage"}},
}

// call runs a tool as a client's call would.
func (s *Server) call(ctx context.Context, name string, args map[string]any) ([]byte, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	for _, t := range s.tools {
		if t.Name != name {
			continue
		}
		result, err := run(ctx, s.log, t, b)
		if err != nil {
			return nil, err
		}
		return compact(result)
	}
	return nil, fault.New(fault.Unsupported, "Use the tools.", "there is no %s", name)
}

// listedSession is a session as debug_session lists it.
type listedSession struct {
	SessionID string `json:"sessionId"`
	Command   string `json:"command"`
	Status    string `json:"status"`
}

func (s *Server) sessions(ctx context.Context) ([]listedSession, error) {
	raw, err := s.call(ctx, "debug_session", map[string]any{"action": "list"})
	if err != nil {
		return nil, err
	}
	var list struct{ Sessions []listedSession }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read list of sessions: %w", err)
	}
	return list.Sessions, nil
}

// addTemplates makes every part of every session readable.
func (s *Server) addTemplates() {
	for _, p := range sessionParts {
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "session " + p.name, Description: p.text,
			URITemplate: sessionScheme + "{sessionId}/" + p.name, MIMEType: "text/plain"},
			func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return s.read(ctx, req.Params.URI)
			})
	}
}

// read answers for one part of one session.
func (s *Server) read(ctx context.Context, uri string) (*sdk.ReadResourceResult, error) {
	id, part, ok := strings.Cut(strings.TrimPrefix(uri, sessionScheme), "/")
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	for _, p := range sessionParts {
		if !ok || p.name != part {
			continue
		}
		q := map[string]any{"sessionId": id}
		for k, v := range p.question {
			q[k] = v
		}
		raw, err := s.call(ctx, "debug_query", q)
		if fault.CodeOf(err) == fault.SessionNotFound {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/plain",
			Text: resourceText(raw)}}}, nil
	}
	return nil, sdk.ResourceNotFoundError(uri)
}

// resourceText is an answer as a person reads it.
func resourceText(raw []byte) string {
	var r struct {
		Tree, Stats, Text, Hint string
		Events                  []json.RawMessage
	}
	if json.Unmarshal(raw, &r) != nil {
		return string(raw)
	}
	var b strings.Builder
	for _, text := range []string{r.Text, r.Tree, r.Stats} {
		b.WriteString(text)
	}
	for _, e := range r.Events {
		b.Write(e)
		b.WriteByte('\n')
	}
	if r.Hint != "" {
		fmt.Fprintf(&b, "(%s)\n", r.Hint)
	}
	return b.String()
}

// resources lists the sessions that there are at the moment.
func (s *Server) resources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*sdk.ListResourcesResult)
		if !ok || err != nil {
			return result, err
		}
		sessions, err := s.sessions(ctx)
		if err != nil {
			return nil, err
		}
		for i, one := range sessions {
			if i == listedMost {
				break
			}
			list.Resources = append(list.Resources, &sdk.Resource{
				URI:  sessionScheme + url.PathEscape(one.SessionID) + "/summary",
				Name: one.SessionID, Description: one.Status + ": " + cut(one.Command, maxErrorText), MIMEType: "text/plain"})
		}
		return list, nil
	}
}
