package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	proto "github.com/google/go-dap"
)

// hitsOf reads a hit condition; -1 is one that is not understood.
func hitsOf(text string) int64 {
	text = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text), "="))
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

// wanted makes points of keys.
func (s *Server) wanted(keys []pointKey) []*point {
	out := make([]*point, len(keys))
	for i := range keys {
		out[i] = s.points.new(keys[i])
		out[i].wrong = keys[i].problem()
	}
	return out
}

func setBreakpoints(ctx context.Context, s *Server, _ *run, a *proto.SetBreakpointsArguments) (any, error) {
	if a.Source.Path == "" {
		return nil, errors.New("the source has no path: breakpoints are set in files")
	}
	list := a.Breakpoints
	if list == nil {
		for _, n := range a.Lines {
			list = append(list, proto.SourceBreakpoint{Line: n})
		}
	}
	keys := make([]pointKey, len(list))
	for i, b := range list {
		keys[i] = pointKey{file: a.Source.Path, line: b.Line + 1 - s.client.lineBase, condition: b.Condition,
			hits: hitsOf(b.HitCondition), message: b.LogMessage}
	}
	set, err := s.set(ctx, "file "+a.Source.Path, s.wanted(keys))
	return s.shownAll(set), err
}

func setFunctionBreakpoints(ctx context.Context, s *Server, _ *run, a *proto.SetFunctionBreakpointsArguments) (
	any, error,
) {
	keys := make([]pointKey, len(a.Breakpoints))
	for i, b := range a.Breakpoints {
		keys[i] = pointKey{kind: ofFunction, name: b.Name, condition: b.Condition, hits: hitsOf(b.HitCondition)}
	}
	set, err := s.set(ctx, "functions", s.wanted(keys))
	return s.shownAll(set), err
}

func setExceptionBreakpoints(ctx context.Context, s *Server, _ *run, a *proto.SetExceptionBreakpointsArguments) (
	any, error,
) {
	keys := make([]pointKey, len(a.Filters))
	for i, f := range a.Filters {
		if !slices.ContainsFunc(exceptionFilters, func(e proto.ExceptionBreakpointsFilter) bool { return e.Filter == f }) {
			return nil, fmt.Errorf("exception filter %q is none of those that initialize named", f)
		}
		keys[i] = pointKey{kind: ofException, name: f}
	}
	set, err := s.set(ctx, "exceptions", s.wanted(keys))
	return s.shownAll(set), err
}

func setDataBreakpoints(ctx context.Context, s *Server, in *run, a *proto.SetDataBreakpointsArguments) (any, error) {
	keys := make([]pointKey, len(a.Breakpoints))
	for i, b := range a.Breakpoints {
		keys[i] = pointKey{kind: ofData, name: b.DataId}
		if b.AccessType == "read" || b.AccessType == "readWrite" {
			keys[i].access = "readwrite"
		}
	}
	want := s.wanted(keys)
	for i, b := range a.Breakpoints {
		switch {
		case b.Condition != "" || b.HitCondition != "":
			want[i].wrong = "a data breakpoint takes no condition"
		case in == nil:
			want[i].wrong = errNoProgram.Error()
		}
	}
	set, err := s.set(ctx, "data", want)
	return s.shownAll(set), err
}

// dataBreakpointInfo finds the expression for a variable; whether it can be watched is seen when it is.
func dataBreakpointInfo(ctx context.Context, s *Server, in *run, a *proto.DataBreakpointInfoArguments) (any, error) {
	name := a.Name
	no := func(why string) (any, error) { return proto.DataBreakpointInfoResponseBody{Description: why}, nil }
	if strings.TrimSpace(name) == "" {
		return no("no name is given")
	}
	if a.VariablesReference != 0 {
		v, err := in.named(ctx, a.VariablesReference, a.Name)
		if err != nil {
			return nil, err
		}
		if v.Eval == "" || v.Addr == "" {
			return no(a.Name + " is in no memory that could be watched")
		}
		name = v.Eval
	} else if _, err := evaluate(ctx, s, in, &proto.EvaluateArguments{Expression: name, FrameId: a.FrameId}); err != nil {
		return no(said(err))
	}
	return proto.DataBreakpointInfoResponseBody{DataId: name, Description: name,
		AccessTypes: []proto.DataBreakpointAccessType{"write", "readWrite"}}, nil
}
