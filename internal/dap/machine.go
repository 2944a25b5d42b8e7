package dap

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/service"
)

// reference is the address that a memory or instruction reference and an offset mean.
func reference(text string, offset int) (uint64, error) {
	at, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("memory reference %q is no address", text)
	}
	return at + uint64(offset), nil
}

func digits(at uint64) string { return fmt.Sprintf("0x%x", at) }

// asksCode asks about the program's code.
func (r *run) asksCode(ctx context.Context, what string, args map[string]any) (collector.CodeAnswer, error) {
	var v service.ViewResult
	args["code"] = what
	if err := r.view(ctx, "code", args, &v); err != nil || v.Code == nil {
		return collector.CodeAnswer{}, err
	}
	return *v.Code, nil
}

// disassemble gives as many instructions as it is asked for; bytes that are none are marked as such.
func disassemble(ctx context.Context, s *Server, in *run, a *proto.DisassembleArguments) (any, error) {
	at, err := reference(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	if a.InstructionCount < 0 || max(a.InstructionCount, a.InstructionOffset, -a.InstructionOffset) > maxAtOnce {
		return nil, fmt.Errorf("at most %d instructions are read at once", maxAtOnce)
	}
	out := proto.DisassembleResponseBody{Instructions: []proto.DisassembledInstruction{}}
	if a.InstructionCount == 0 {
		return out, nil
	}
	args := map[string]any{"address": digits(at), "count": a.InstructionCount, "from": max(a.InstructionOffset, 0)}
	if a.InstructionOffset < 0 {
		args["before"] = -a.InstructionOffset
	}
	code, err := in.asksCode(ctx, "instructions", args)
	if err != nil {
		return nil, err
	}
	for i := range code.Instructions {
		c := &code.Instructions[i]
		one := proto.DisassembledInstruction{Address: c.Address, InstructionBytes: c.Bytes,
			Instruction: cmp.Or(c.Text, "(no instruction)")}
		if a.ResolveSymbols {
			one.Symbol = c.Symbol
		}
		if c.Line > 0 {
			one.Location, one.Line = source(c.File), s.line(c.Line)
		}
		out.Instructions = append(out.Instructions, one)
	}
	return out, nil
}

// writeMemory writes bytes, all or none: to memory that the program itself may write.
func writeMemory(ctx context.Context, s *Server, in *run, a *proto.WriteMemoryArguments) (any, error) {
	at, err := reference(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil || len(b) > maxMemory {
		return nil, fmt.Errorf("data is no base64, or of more than %d bytes", maxMemory)
	}
	if len(b) == 0 {
		return proto.WriteMemoryResponseBody{}, nil
	}
	var m memoryAnswer
	bytes := map[string]any{"address": digits(at), "size": len(b), "value": hex.EncodeToString(b)}
	if err := s.ask(ctx, "debug_memory", map[string]any{"sessionId": in.id, "action": "write",
		"targets": []any{bytes}}, &m); err != nil {
		return nil, err
	}
	if len(m.Results) == 1 && m.Results[0].Error != "" {
		return nil, errors.New(m.Results[0].Error)
	}
	if s.client.memory {
		s.out.event("memory", proto.MemoryEventBody{MemoryReference: a.MemoryReference, Offset: a.Offset, Count: len(b)})
	}
	if s.client.invalidated {
		s.out.event("invalidated", proto.InvalidatedEventBody{Areas: []proto.InvalidatedAreas{"variables"}})
	}
	return proto.WriteMemoryResponseBody{BytesWritten: len(b)}, nil
}

func setInstructionBreakpoints(ctx context.Context, s *Server, in *run, a *proto.SetInstructionBreakpointsArguments) (
	any, error,
) {
	keys := make([]pointKey, len(a.Breakpoints))
	for i, b := range a.Breakpoints {
		at, err := reference(b.InstructionReference, b.Offset)
		if err != nil {
			return nil, err
		}
		keys[i] = pointKey{kind: ofInstruction, name: digits(at), condition: b.Condition, hits: hitsOf(b.HitCondition)}
	}
	set, err := s.set(ctx, "instructions", s.wanted(keys))
	return s.shownAll(set), err
}

// modules lists the files that are loaded, by where their code is.
func modules(ctx context.Context, _ *Server, in *run, a *proto.ModulesArguments) (any, error) {
	code, err := in.asksCode(ctx, "modules", map[string]any{})
	if err != nil {
		return nil, err
	}
	all := code.Modules
	out := proto.ModulesResponseBody{Modules: []proto.Module{}, TotalModules: len(all)}
	all = all[min(max(a.StartModule, 0), len(all)):]
	if a.ModuleCount > 0 {
		all = all[:min(a.ModuleCount, len(all))]
	}
	for i := range all {
		m := &all[i]
		one := proto.Module{Id: m.From, Name: filepath.Base(m.Path), Path: m.Path, IsUserCode: !m.System,
			SymbolFilePath: m.Symbols, SymbolStatus: "no debug information", AddressRange: m.From + "-" + m.To}
		if m.Symbols != "" {
			one.SymbolStatus = "debug information read"
		}
		out.Modules = append(out.Modules, one)
	}
	return out, nil
}

// loadedSources lists source files that code was made of, but for those of the system's libraries.
func loadedSources(ctx context.Context, _ *Server, in *run, _ *struct{}) (any, error) {
	code, err := in.asksCode(ctx, "sources", map[string]any{"count": maxAtOnce})
	out := proto.LoadedSourcesResponseBody{Sources: []proto.Source{}}
	for _, file := range code.Names {
		out.Sources = append(out.Sources, *source(file))
	}
	return out, err
}

// target gives a place a number that the editor names it by; two of one place have one.
func (r *run) target(at string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range r.targets {
		if t == at {
			return i + 1
		}
	}
	r.targets = append(r.targets, at)
	return len(r.targets)
}

func (r *run) targetOf(id int) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 1 || id > len(r.targets) {
		return "", fmt.Errorf("there is no target %d", id)
	}
	return r.targets[id-1], nil
}

// stepInTargets names the functions that the rest of a frame's line calls.
func stepInTargets(ctx context.Context, s *Server, in *run, a *proto.StepInTargetsArguments) (any, error) {
	out := proto.StepInTargetsResponseBody{Targets: []proto.StepInTarget{}}
	in.mu.Lock()
	at := in.tops[a.FrameId]
	in.mu.Unlock()
	if at == "" { // no step begins in an outer frame
		return out, nil
	}
	code, err := in.asksCode(ctx, "calls", map[string]any{"address": at})
	for _, p := range code.Places {
		out.Targets = append(out.Targets, proto.StepInTarget{Id: in.target(p.Address), Label: p.Function})
	}
	return out, err
}

// gotoTargets finds where a line begins in the functions that paused threads stand in.
func gotoTargets(ctx context.Context, s *Server, in *run, a *proto.GotoTargetsArguments) (any, error) {
	out := proto.GotoTargetsResponseBody{Targets: []proto.GotoTarget{}}
	seen := map[string]bool{} // a line may have two beginnings in a function: the first is the one
	for tid := range in.paused {
		var v service.ViewResult
		if in.view(ctx, "frames", map[string]any{"threadId": tid, "count": 1}, &v) != nil || len(v.Frames) == 0 ||
			v.Frames[0].Address == "" {
			continue
		}
		code, err := in.asksCode(ctx, "lines", map[string]any{"address": v.Frames[0].Address, "file": a.Source.Path,
			"line": a.Line + 1 - s.client.lineBase})
		if err != nil {
			return nil, err
		}
		for _, p := range code.Places {
			label := fmt.Sprintf("%s:%d in %s", filepath.Base(p.File), p.Line, p.Function)
			if len(seen) < maxTargets && !seen[label] {
				seen[label] = true
				out.Targets = append(out.Targets, proto.GotoTarget{Id: in.target(p.Address), Line: s.line(p.Line),
					Label: label, InstructionPointerReference: p.Address})
			}
		}
	}
	return out, nil
}

// maxTargets bounds the places of a line that are proposed.
const maxTargets = 32

// goTo moves a thread without running it.
func goTo(ctx context.Context, _ *Server, in *run, a *proto.GotoArguments) (any, error) {
	at, err := in.targetOf(a.TargetId)
	if err != nil {
		return nil, err
	}
	if in.core {
		return nil, errStands
	}
	if in.pastOf(a.ThreadId) != nil {
		return nil, errPast
	}
	if err := in.view(ctx, "move", map[string]any{"threadId": a.ThreadId, "how": "goto", "address": at}, nil); err != nil {
		return nil, err
	}
	in.telling = &proto.StoppedEventBody{Reason: "goto", ThreadId: a.ThreadId, AllThreadsStopped: in.held}
	return nil, nil
}

// moves has a thread run one instruction, or step into one function alone.
func (r *run) moves(ctx context.Context, thread int, how, at string) (any, error) {
	if r.core {
		return nil, errStands
	}
	args := map[string]any{"threadId": thread, "how": how}
	if at != "" {
		args["address"] = at
	}
	err := r.view(ctx, "move", args, nil)
	if err == nil {
		r.held, r.toldHeld = false, false
	}
	return nil, err
}

// byInstruction reports whether a step is of machine code.
func byInstruction(g proto.SteppingGranularity) bool {
	return strings.EqualFold(string(g), "instruction")
}
