package mcp

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/pager"
)

//go:embed instructions.md
var instructions string

// maxErrorText bounds an error's message and its hint, each, in bytes: more than any of ours has by itself.
const maxErrorText = 2000

// errorMarks is what stands around each of these: the code, and how much was cut.
const errorMarks = 40

// MetaTextOnly in a request's _meta, set to true, leaves structuredContent out of the answer, which is the
// same JSON as the text, for clients that would read it twice.
const MetaTextOnly = "strobe/textOnly"

// Tool is one operation as clients see it.
type Tool struct {
	Name        string
	Description string // for an LLM: short
	Input       *jsonschema.Schema
	Output      *jsonschema.Schema
	ReadOnly    bool // changes nothing
	Destructive bool // may end a program or delete data
	Unlisted    bool // it can be called, and the list does not have it
	Pictures    bool // its results may have a member picture, which models get as an image
	// Decode turns arguments into what Run takes. Its error names the wrong field. The arguments may be empty.
	Decode func(arguments []byte) (any, error)
	// Via, where it is not nil, is asked first: it may have another process do all that follows.
	Via func(ctx context.Context, arguments []byte) (result any, done bool, err error)
	// Run returns what JSON encodes according to Output. Its error should have a fault.Error in its
	// chain. ctx ends when the call is cancelled or its client gone.
	Run func(ctx context.Context, params any) (any, error)
}

// sized reports that calls may say how large the answer is to be.
func (t *Tool) sized() bool { return t.Input != nil && t.Input.Properties["maxTokens"] != nil }

// Config is what a Server is given.
type Config struct {
	Tools   []Tool
	Version string
	Logger  *slog.Logger
}

// Server serves the tools to any number of clients at once.
type Server struct {
	log   *slog.Logger
	tools []Tool
	sdk   *sdk.Server
	shelf pager.Shelf // what answers had no room for
}

// NewServer makes a server of these tools.
func NewServer(c Config) *Server {
	s := &Server{log: c.Logger}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "strobe", Version: c.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(quiet{c.Logger.Handler()}),
		// The list never changes while a daemon runs, and we log to a file, not to clients.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{},
			Prompts: &sdk.PromptCapabilities{}, Completions: &sdk.CompletionCapabilities{}},
		CompletionHandler: s.complete,
	})
	s.tools = c.Tools
	s.sdk.AddReceivingMiddleware(listing(c.Tools), s.resources)
	s.addTemplates()
	s.addPrompts()
	for _, t := range c.Tools {
		tool := &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output}
		// Without annotations a client takes a tool for destructive: said only where it is not.
		switch {
		case t.ReadOnly:
			tool.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
		case !t.Destructive:
			tool.Annotations = &sdk.ToolAnnotations{DestructiveHint: new(bool)}
		}
		s.sdk.AddTool(tool, s.handler(t))
	}
	return s
}

// listing leaves tools out of the list that are not for models.
func listing(tools []Tool) sdk.Middleware {
	ask := askTier(tools)
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
				if wantsAsk(req) {
					return &sdk.ListToolsResult{Tools: ask}, nil
				}
				list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool {
					return slices.ContainsFunc(tools, func(o Tool) bool { return o.Unlisted && o.Name == t.Name })
				})
			}
			return result, err
		}
	}
}

// wantsAsk reports a request for the few tools of TierAsk.
func wantsAsk(req sdk.Request) bool {
	r, ok := req.(*sdk.ListToolsRequest)
	return ok && r != nil && r.Params != nil && r.Params.Meta[MetaTier] == TierAsk
}

// quiet passes only warnings of the SDK on: it reports every connection as information.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// Serve speaks MCP with one client until it is gone or ctx ends. It closes conn.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	line := newLineConn(conn)
	session, err := s.sdk.Connect(context.WithValue(ctx, lineKey{}, line), lineTransport{line}, nil)
	if err != nil {
		return errors.Join(fmt.Errorf("connect client: %w", err), conn.Close())
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	return session.Wait()
}

func (s *Server) handler(t Tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			call, end := new(progress).begin(ctx, func(ctx context.Context, n int, text string) error {
				p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: text}
				return req.Session.NotifyProgress(ctx, p)
			})
			defer end()
			ctx = call
		}
		if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
			ctx = context.WithValue(ctx, clientKey{}, p.ClientInfo.Name)
		}
		line, _ := ctx.Value(lineKey{}).(*lineConn)
		arguments, size := sizeOf(req.Params.Arguments, req.Params.Meta[MetaWhole] == true || !t.sized())
		if size.cursor != "" {
			page, err := s.goOn(size)
			if err != nil {
				return errorResult(err, size.limit), nil
			}
			return answerOf(line, page, req.Params.Meta), nil
		}
		result, err := run(ctx, s.log, t, arguments)
		if err != nil {
			return errorResult(err, size.limit), nil
		}
		text, err := compact(result)
		if err != nil {
			s.log.Error("encode result", "tool", t.Name, "error", err)
			return errorResult(err, size.limit), nil
		}
		var image sdk.Content
		if raw := req.Params.Meta[MetaRaw] == true; t.Pictures && !raw {
			text, image = splitPicture(text)
		} else if t.Pictures && raw {
			size.limit = 0 // what is in it is no text
		}
		if size.limit > 0 {
			text = pager.First(text, size.limit, s.shelf.Put)
		}
		answer := answerOf(line, text, req.Params.Meta)
		if image != nil {
			answer.Content = append(answer.Content, image)
		}
		return answer, nil
	}
}

type clientKey struct{}

// clientName returns the name that the caller gave itself at initialize, or "".
func clientName(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// run calls the operation. Its panic is an error of this call and of no other.
func run(ctx context.Context, log *slog.Logger, t Tool, arguments []byte) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("operation panicked", "tool", t.Name, "panic", p, "stack", string(debug.Stack()))
			err = fault.New(fault.InternalError, "This is a bug in Strobe; its stack is in daemon.log. Other sessions go on.",
				"%s panicked: %v", t.Name, p)
		}
	}()
	if t.Via != nil {
		if result, done, err := t.Via(ctx, arguments); done || err != nil {
			return result, err
		}
	}
	params, err := t.Decode(arguments)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx, params)
}

// errorResult is a tool error: the LLM sees code, cause and the next action, in limit bytes if that is not 0.
func errorResult(err error, limit int) *sdk.CallToolResult {
	f := fault.From(err)
	most := maxErrorText
	if limit > 0 {
		most = min(most, limit/2-errorMarks)
	}
	short := &fault.Error{Code: f.Code, Msg: cut(f.Msg, most), Hint: cut(f.Hint, most)}
	body := struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Hint    string     `json:"hint"`
	}{short.Code, short.Msg, short.Hint}
	return &sdk.CallToolResult{
		IsError:           true,
		Content:           []sdk.Content{&sdk.TextContent{Text: short.Error()}},
		StructuredContent: body,
	}
}

// cut makes an error's text fit to be read: messages quote what the client sent, which may be megabytes.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	keep := strings.ToValidUTF8(s[:most/2], "")
	end := strings.ToValidUTF8(s[len(s)-most/2:], "")
	return fmt.Sprintf("%s…(+%d bytes)…%s", keep, len(s)-len(keep)-len(end), end)
}

// compact encodes v without spaces and without escaping what only HTML would need. A result that encodes itself faster
// has a method JSON.
func compact(v any) ([]byte, error) {
	if fast, ok := v.(interface{ JSON() ([]byte, error) }); ok {
		return fast.JSON()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
