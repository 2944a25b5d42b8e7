package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/collector"
)

// resume has threads go on. What pauses next is told by the session's changes.
func (r *run) resume(ctx context.Context, args map[string]any) error {
	if r.core {
		return errStands
	}
	args["sessionId"], args["waitMs"] = r.id, 0
	err := r.s.ask(ctx, "debug_continue", args, nil)
	if err == nil {
		r.held, r.toldHeld = false, false
	}
	return err
}

// goOn lets all threads go on that the editor knows to be paused, or one. Another may have paused in this moment, which
// nobody has seen: it stays.
func goOn(ctx context.Context, s *Server, in *run, a *proto.ContinueArguments) (any, error) {
	if in.pastOf(a.ThreadId) != nil {
		return proto.ContinueResponseBody{}, in.forth(ctx, a.ThreadId, "on")
	}
	if a.SingleThread {
		return proto.ContinueResponseBody{}, in.resume(ctx, map[string]any{"threadId": a.ThreadId})
	}
	all := proto.ContinueResponseBody{AllThreadsContinued: true}
	if in.held && len(in.paused) > 1 {
		// Nothing runs that could pause: with an answer that names them all are known to be seen, and go in one call.
		if err := s.ask(ctx, "debug_session", map[string]any{"action": "status", "sessionId": in.id}, nil); err != nil {
			return nil, err
		}
		return all, in.resume(ctx, map[string]any{"action": "continue"})
	}
	var first error
	went := 0
	for tid := range in.paused {
		switch err := in.resume(ctx, map[string]any{"threadId": tid}); {
		case err == nil:
			went++
		case first == nil:
			first = err
		}
	}
	if went > 0 {
		return all, nil
	}
	if first == nil { // one that another has paused may not be known yet
		first = in.resume(ctx, map[string]any{"threadId": a.ThreadId})
	}
	return all, first
}

// step moves a thread; where none ran, the others run meanwhile.
func (r *run) step(ctx context.Context, thread int, how collector.Step, alone bool) (any, error) {
	args := map[string]any{"threadId": thread, "action": string(how)}
	if r.held && !alone && len(r.paused) > 1 {
		args["allThreads"] = true
	}
	return nil, r.resume(ctx, args)
}

func stepOver(ctx context.Context, _ *Server, in *run, a *proto.NextArguments) (any, error) {
	if in.pastOf(a.ThreadId) != nil {
		return nil, in.forth(ctx, a.ThreadId, "over")
	}
	if byInstruction(a.Granularity) {
		return in.moves(ctx, a.ThreadId, "instruction-over", "")
	}
	return in.step(ctx, a.ThreadId, collector.StepOver, a.SingleThread)
}

func stepIn(ctx context.Context, _ *Server, in *run, a *proto.StepInArguments) (any, error) {
	if in.pastOf(a.ThreadId) != nil {
		return nil, in.forth(ctx, a.ThreadId, "into")
	}
	switch {
	case byInstruction(a.Granularity):
		return in.moves(ctx, a.ThreadId, "instruction-into", "")
	case a.TargetId != 0:
		at, err := in.targetOf(a.TargetId)
		if err != nil {
			return nil, err
		}
		return in.moves(ctx, a.ThreadId, "function", at)
	}
	return in.step(ctx, a.ThreadId, collector.StepInto, a.SingleThread)
}

func stepOut(ctx context.Context, _ *Server, in *run, a *proto.StepOutArguments) (any, error) {
	if in.pastOf(a.ThreadId) != nil {
		return nil, in.forth(ctx, a.ThreadId, "out")
	}
	return in.step(ctx, a.ThreadId, collector.StepOut, a.SingleThread)
}

// pause pauses all threads wherever they are.
func pause(ctx context.Context, s *Server, in *run, _ *proto.PauseArguments) (any, error) {
	if in.core {
		return nil, errStands
	}
	var later struct {
		PausesLater []collector.LaterPause
	}
	err := s.ask(ctx, "debug_continue", map[string]any{"sessionId": in.id, "action": "pause"}, &later)
	for _, l := range later.PausesLater {
		s.console(fmt.Sprintf("Thread %d pauses later: %s", l.TID, l.Why))
	}
	return nil, err
}

const commandHelp = `trace add PATTERN…, trace remove PATTERN…: calls that are recorded
query [tree|stats|EVENT TYPE…|{JSON}]: what was recorded
input TEXT: a line for the program's standard input
Anything else is an expression of the program's language.`

// command runs a line of the repl that is one of the tools' own; is says whether it was.
func (r *run) command(ctx context.Context, line string) (text string, is bool, err error) {
	words := strings.Fields(line)
	switch {
	case words[0] == "help" && len(words) == 1:
		return commandHelp, true, nil
	case words[0] == "trace" && len(words) > 2 && (words[1] == "add" || words[1] == "remove"):
		text, err = r.trace(ctx, words[1], words[2:])
	case words[0] == "query" && (len(words) == 1 || words[1][0] == '{' || words[1][0] >= 'a' && words[1][0] <= 'z'):
		text, err = r.query(ctx, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "query")), words[1:])
	case words[0] == "input" && len(words) > 1:
		_, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		args := map[string]any{"action": "input", "sessionId": r.id, "text": rest + "\n"}
		text, err = "sent", r.s.ask(ctx, "debug_session", args, nil)
	default:
		return "", false, nil
	}
	return text, true, err
}

func (r *run) trace(ctx context.Context, how string, patterns []string) (string, error) {
	var a struct {
		ActivePatterns   []string
		HookedFunctions  int
		MatchedFunctions int
		Warnings         []string
	}
	if err := r.s.ask(ctx, "debug_trace", map[string]any{"sessionId": r.id, how: patterns}, &a); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d of %d functions traced by %s", a.HookedFunctions, a.MatchedFunctions,
		strings.Join(a.ActivePatterns, ", "))
	if len(a.ActivePatterns) == 0 {
		text = "nothing is traced"
	}
	return strings.Join(append([]string{text}, a.Warnings...), "\n"), nil
}

func (r *run) query(ctx context.Context, rest string, words []string) (string, error) {
	args := map[string]any{}
	switch {
	case strings.HasPrefix(rest, "{"):
		if err := json.Unmarshal([]byte(rest), &args); err != nil {
			return "", fmt.Errorf("read the question: %w", err)
		}
	case rest == "" || rest == "tree" || rest == "stats" || rest == "events":
		args["view"] = rest
		if rest == "" {
			args["view"] = "tree"
		}
	default:
		args["eventType"] = words
	}
	if args["sessionId"] = r.id; args["waitMs"] != nil {
		return "", errors.New("waitMs is not for the repl: ask again")
	}
	raw, err := r.s.daemon.Call(ctx, "debug_query", args)
	if err != nil {
		return "", err
	}
	var t struct{ Tree, Hint string }
	if json.Unmarshal(raw, &t) == nil && t.Tree != "" {
		return strings.TrimRight(t.Tree+"\n"+t.Hint, "\n"), nil
	}
	return string(raw), nil
}
