package dap

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/service"
)

// maxAtOnce is how many variables an answer has at most; what is left out is said.
const maxAtOnce = 10000

func threads(ctx context.Context, _ *Server, in *run, _ *struct{}) (any, error) {
	var v service.ViewResult
	out := proto.ThreadsResponseBody{Threads: []proto.Thread{}}
	err := in.view(ctx, "threads", nil, &v)
	if fault.CodeOf(err) == fault.ProcessExited {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	processes := map[int]bool{}
	for _, t := range v.Threads {
		processes[t.PID] = true
	}
	for _, t := range v.Threads {
		name := cmp.Or(t.Name, fmt.Sprintf("thread %d", t.TID))
		if len(processes) > 1 {
			name += fmt.Sprintf(" [%d]", t.PID)
		}
		out.Threads = append(out.Threads, proto.Thread{Id: t.TID, Name: name})
	}
	return out, nil
}

func stackTrace(ctx context.Context, s *Server, in *run, a *proto.StackTraceArguments) (any, error) {
	if a.StartFrame < 0 || a.Levels < 0 {
		return nil, errors.New("startFrame and levels cannot be negative")
	}
	if p := in.pastOf(a.ThreadId); p != nil {
		out, err := in.pastStack(ctx, p)
		if err == nil {
			out.StackFrames = out.StackFrames[min(a.StartFrame, len(out.StackFrames)):]
			if a.Levels > 0 {
				out.StackFrames = out.StackFrames[:min(a.Levels, len(out.StackFrames))]
			}
		}
		return out, err
	}
	args := map[string]any{"threadId": a.ThreadId, "from": a.StartFrame}
	if a.Levels > 0 {
		args["count"] = min(a.Levels, maxAtOnce)
	}
	var v service.ViewResult
	if err := in.view(ctx, "frames", args, &v); err != nil {
		return nil, err
	}
	out := proto.StackTraceResponseBody{StackFrames: make([]proto.StackFrame, len(v.Frames)), TotalFrames: v.Total}
	for i := range v.Frames {
		out.StackFrames[i] = s.frame(&v.Frames[i])
		if f := &v.Frames[i]; f.Index == 0 {
			in.mu.Lock()
			if len(in.tops) > maxAtOnce { // of threads that went on long ago
				clear(in.tops)
			}
			in.tops[int(f.Ref)] = f.Address
			in.mu.Unlock()
		}
	}
	return out, nil
}

func (s *Server) frame(f *collector.Frame) proto.StackFrame {
	out := proto.StackFrame{Id: int(f.Ref), Name: cmp.Or(f.Function, f.Address), InstructionPointerReference: f.Address}
	if f.Inlined {
		out.Name += " (inlined)"
	}
	if f.Line > 0 && f.File != "" {
		out.Source, out.Line, out.Column = source(f.File), s.line(f.Line), s.client.columnBase
		if _, err := os.Stat(f.File); err != nil || !filepath.IsAbs(f.File) {
			out.Source.Origin, out.Source.PresentationHint = "not on this disk", "deemphasize"
		}
	}
	if !f.User {
		out.PresentationHint = "subtle"
	}
	return out
}

// scopeNames are the kinds of scopes for people; one that is not here is called as it is.
var scopeNames = map[collector.ScopeKind]string{
	collector.ScopeArguments: "Arguments", collector.ScopeLocals: "Locals", collector.ScopeRegisters: "Registers",
	collector.ScopeGlobals: "Globals",
}

func scopes(ctx context.Context, _ *Server, in *run, a *proto.ScopesArguments) (any, error) {
	if a.FrameId >= pastBase {
		return in.pastScopes(a.FrameId)
	}
	var v service.ViewResult
	if err := in.view(ctx, "scopes", map[string]any{"ref": a.FrameId}, &v); err != nil {
		return nil, err
	}
	out := proto.ScopesResponseBody{Scopes: make([]proto.Scope, len(v.Scopes))}
	for i, sc := range v.Scopes {
		out.Scopes[i] = proto.Scope{Name: cmp.Or(scopeNames[sc.Kind], string(sc.Kind)), VariablesReference: int(sc.Ref),
			NamedVariables: max(sc.Count, 0), Expensive: sc.Slow}
		if sc.Kind == collector.ScopeArguments || sc.Kind == collector.ScopeLocals || sc.Kind == collector.ScopeRegisters {
			out.Scopes[i].PresentationHint = string(sc.Kind)
		}
	}
	return out, nil
}

func variables(ctx context.Context, s *Server, in *run, a *proto.VariablesArguments) (any, error) {
	if a.Start < 0 || a.Count < 0 {
		return nil, errors.New("start and count cannot be negative")
	}
	if a.VariablesReference >= pastBase {
		return in.pastVariables(a)
	}
	out := proto.VariablesResponseBody{Variables: []proto.Variable{}}
	in.mu.Lock()
	list, known := in.lists[a.VariablesReference]
	in.mu.Unlock()
	if known && (a.Filter == "named" && list || a.Filter == "indexed" && !list) {
		return out, nil
	}
	var v service.ViewResult
	args := map[string]any{"ref": a.VariablesReference, "from": a.Start, "count": maxAtOnce}
	if a.Count > 0 {
		args["count"] = min(a.Count, maxAtOnce)
	}
	if err := in.view(ctx, "variables", args, &v); err != nil {
		return nil, err
	}
	for i := range v.Variables {
		out.Variables = append(out.Variables, in.variable(&v.Variables[i]))
	}
	var next service.ViewResult
	if len(v.Variables) == maxAtOnce && a.Count == 0 && in.view(ctx, "variables", map[string]any{
		"ref": a.VariablesReference, "from": a.Start + maxAtOnce, "count": 1}, &next) == nil && len(next.Variables) > 0 {
		more := fmt.Sprintf("there are more than these %d: they are read in pages", maxAtOnce)
		out.Variables = append(out.Variables, proto.Variable{Name: "…", Value: more})
	}
	return out, nil
}

// variable is one in the protocol's words; its parts are known from then on.
func (r *run) variable(v *collector.Variable) proto.Variable {
	out := proto.Variable{Name: v.Name, Value: v.Value, Type: r.s.typed(v.Type), EvaluateName: v.Eval,
		MemoryReference: v.Addr}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = r.parts(v)
	if v.Fixed {
		out.PresentationHint = &proto.VariablePresentationHint{Attributes: []string{"readOnly"}}
	}
	return out
}

// typed is a type, for an editor that shows types.
func (s *Server) typed(name string) string {
	if !s.client.typed {
		return ""
	}
	return name
}

// parts says what a variable leads to.
func (r *run) parts(v *collector.Variable) (ref, named, indexed int) {
	if v.Ref == 0 {
		return 0, 0, 0
	}
	r.mu.Lock()
	r.lists[int(v.Ref)] = v.List
	r.mu.Unlock()
	if v.List {
		return int(v.Ref), 0, max(v.Count, 0)
	}
	return int(v.Ref), max(v.Count, 0), 0
}

// named finds a variable of a scope, or a part of a variable.
func (r *run) named(ctx context.Context, ref int, name string) (collector.Variable, error) {
	var v service.ViewResult
	if err := r.view(ctx, "variables", map[string]any{"ref": ref, "count": maxAtOnce}, &v); err != nil {
		return collector.Variable{}, err
	}
	for i := range v.Variables {
		if v.Variables[i].Name == name {
			return v.Variables[i], nil
		}
	}
	return collector.Variable{}, fmt.Errorf("there is no variable %s", name)
}

// change writes a value and returns what is there then.
func (r *run) change(ctx context.Context, args map[string]any) (*collector.Variable, error) {
	var v service.ViewResult
	if err := r.view(ctx, "set", args, &v); err != nil {
		return nil, err
	}
	if v.Variable == nil {
		return nil, errors.New("the daemon does not say what was written")
	}
	return v.Variable, nil
}

func setVariable(ctx context.Context, _ *Server, in *run, a *proto.SetVariableArguments) (any, error) {
	if a.VariablesReference >= pastBase {
		return nil, errPast
	}
	v, err := in.change(ctx, map[string]any{"ref": a.VariablesReference, "name": a.Name, "value": a.Value})
	if err != nil {
		return nil, err
	}
	out := proto.SetVariableResponseBody{Value: v.Value, Type: in.s.typed(v.Type)}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = in.parts(v)
	return out, nil
}

func setExpression(ctx context.Context, _ *Server, in *run, a *proto.SetExpressionArguments) (any, error) {
	if a.FrameId == 0 {
		return nil, errors.New("frameId is missing: an expression is of a frame")
	}
	if a.FrameId >= pastBase {
		return nil, errPast
	}
	args := map[string]any{"ref": a.FrameId, "expression": a.Expression, "value": a.Value}
	v, err := in.change(ctx, args)
	if fault.CodeOf(err) == fault.ValidationError { // no value as it stands: what it means in the frame
		var meant service.ViewResult
		if in.view(ctx, "evaluate", map[string]any{"ref": a.FrameId, "expression": a.Value}, &meant) == nil &&
			meant.Variable != nil {
			args["value"] = meant.Variable.Value
			v, err = in.change(ctx, args)
		}
	}
	if err != nil {
		return nil, err
	}
	out := proto.SetExpressionResponseBody{Value: v.Value, Type: in.s.typed(v.Type)}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = in.parts(v)
	return out, nil
}

func evaluate(ctx context.Context, _ *Server, in *run, a *proto.EvaluateArguments) (any, error) {
	if strings.TrimSpace(a.Expression) == "" {
		return proto.EvaluateResponseBody{}, nil
	}
	if a.Context == "repl" {
		if text, is, err := in.command(ctx, a.Expression); is || err != nil {
			return proto.EvaluateResponseBody{Result: text}, err
		}
	}
	if a.FrameId == 0 {
		return in.global(ctx, a.Expression)
	}
	if a.FrameId >= pastBase {
		return in.pastEvaluate(ctx, a.FrameId, a.Expression)
	}
	var v service.ViewResult
	if err := in.view(ctx, "evaluate", map[string]any{"ref": a.FrameId, "expression": a.Expression}, &v); err != nil {
		return nil, err
	}
	if v.Variable == nil {
		return nil, errors.New("the daemon does not say what the expression means")
	}
	out := proto.EvaluateResponseBody{Result: v.Variable.Value, Type: in.s.typed(v.Variable.Type),
		MemoryReference: v.Variable.Addr}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = in.parts(v.Variable)
	return out, nil
}

// memoryAnswer is what is used of debug_memory's.
type memoryAnswer struct {
	Results []struct {
		Type, Address, Error string
		Value, Fields        json.RawMessage
	}
}

// withoutCode is an error's text without the code that programs go by.
func withoutCode(text string) string {
	code, rest, ok := strings.Cut(text, ": ")
	if !ok || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		return text
	}
	return rest
}

// global evaluates what is in no frame: globals, while the program runs, and of a single paused thread what it knows.
func (r *run) global(ctx context.Context, expression string) (any, error) {
	var m memoryAnswer
	args := map[string]any{"sessionId": r.id, "targets": []any{map[string]any{"expression": expression}}}
	if err := r.s.ask(ctx, "debug_memory", args, &m); err != nil {
		return nil, err
	}
	if len(m.Results) != 1 {
		return nil, errors.New("the daemon does not say what the expression means")
	}
	one := &m.Results[0]
	if one.Error != "" {
		return nil, errors.New(withoutCode(one.Error))
	}
	value := string(one.Value)
	if len(one.Fields) > 0 {
		value = string(one.Fields)
	}
	return proto.EvaluateResponseBody{Result: value, Type: r.s.typed(one.Type), MemoryReference: one.Address}, nil
}

// Memory is read in pieces that do not cross a page, so that what can be read is, 16 in a call.
const (
	memoryPiece  = 1024
	memoryPieces = 16
	maxMemory    = 1 << 20
)

func readMemory(ctx context.Context, _ *Server, in *run, a *proto.ReadMemoryArguments) (any, error) {
	at, err := reference(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	if a.Count < 0 || a.Count > maxMemory {
		return nil, fmt.Errorf("count = %d is out of range: at most %d bytes are read at once", a.Count, maxMemory)
	}
	out := proto.ReadMemoryResponseBody{Address: fmt.Sprintf("0x%x", at)}
	data := make([]byte, 0, a.Count)
	for len(data) < a.Count {
		var targets []any
		for from, n := at+uint64(len(data)), a.Count-len(data); n > 0 && len(targets) < memoryPieces; {
			size := min(n, memoryPiece-int(from%memoryPiece))
			targets = append(targets, map[string]any{"address": fmt.Sprintf("0x%x", from), "size": size})
			from, n = from+uint64(size), n-size
		}
		var m memoryAnswer
		if err := in.s.ask(ctx, "debug_memory", map[string]any{"sessionId": in.id, "targets": targets}, &m); err != nil {
			return nil, err
		}
		before := len(data)
		for i := range m.Results {
			var digits string
			if m.Results[i].Error != "" || json.Unmarshal(m.Results[i].Value, &digits) != nil {
				out.UnreadableBytes = a.Count - len(data)
				break
			}
			piece, err := hex.DecodeString(digits)
			if err != nil {
				return nil, fmt.Errorf("read the bytes at %s: %w", m.Results[i].Address, err)
			}
			data = append(data, piece...)
		}
		if out.UnreadableBytes > 0 || len(data) == before {
			break
		}
	}
	out.Data = base64.StdEncoding.EncodeToString(data)
	return out, nil
}

// exceptionInfo tells of the exception that a thread is paused at.
func exceptionInfo(ctx context.Context, s *Server, in *run, a *proto.ExceptionInfoArguments) (any, error) {
	c, ok := in.paused[a.ThreadId]
	if !ok {
		return nil, fmt.Errorf("thread %d is not paused", a.ThreadId)
	}
	if in.core {
		return in.coreException(ctx)
	}
	pt := s.points.byID(c.BreakpointID)
	if c.Reason != "exception" && (pt == nil || pt.key.kind != ofException) {
		return nil, fmt.Errorf("thread %d is not paused at an exception", a.ThreadId)
	}
	var st struct {
		PausedThreads []struct {
			ThreadID   int
			Note       string
			Reason     string
			ThreadName string
		}
	}
	if err := s.ask(ctx, "debug_session", map[string]any{"action": "status", "sessionId": in.id}, &st); err != nil {
		return nil, err
	}
	out := proto.ExceptionInfoResponseBody{ExceptionId: "exception", BreakMode: "always"}
	if pt != nil && pt.key.name == "@uncaught" {
		out.BreakMode = "unhandled"
	}
	for _, p := range st.PausedThreads {
		if p.ThreadID == a.ThreadId && p.Note != "" {
			name, text, _ := strings.Cut(p.Note, ": ")
			out.ExceptionId, out.Description = name, cmp.Or(text, name)
		}
	}
	return out, nil
}
