package main

import (
	"fmt"
	"strings"
	"time"

	proto "github.com/google/go-dap"
)

// dapPage is how many elements Visual Studio Code asks for at once, where an adapter says how many there are.
const dapPage = 100

// dapSession is one program under one adapter.
type dapSession struct {
	*dapClient
	adapter *dapAdapter
	program *dapProgram
	stop    proto.StoppedEventBody
	asked   time.Time // launch
	doubts  string    // about breakpoints
}

// begin launches the program. What points sets is set before it runs.
func (s *dapSession) begin(rounds int, points func() error, more map[string]any) error {
	args := []string{}
	if rounds > 0 {
		args = append(args, fmt.Sprint(rounds))
	}
	launch := s.adapter.launch(s.program, args)
	for k, v := range more {
		launch[k] = v
	}
	s.asked = time.Now()
	seq, err := s.send("launch", launch)
	if err != nil {
		return err
	}
	s.dapClient.launch = seq // some answer it before configurationDone, others behind it
	if _, err := s.wait("initialized", nil); err != nil {
		return err
	}
	if err := points(); err != nil {
		return err
	}
	_, err = s.ask("configurationDone", map[string]any{}, nil)
	return err
}

// atFunction sets a breakpoint at a function.
func (s *dapSession) atFunction(name string) error {
	_, err := s.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": name}}}, nil)
	return err
}

// atLine sets a breakpoint at a marked line, alone in the source, with what more says.
func (s *dapSession) atLine(mark string, more map[string]any) error {
	point := map[string]any{"line": s.program.line(mark)}
	for k, v := range more {
		point[k] = v
	}
	return s.atLines(point)
}

func (s *dapSession) atLines(points ...any) error {
	var b proto.SetBreakpointsResponseBody
	s.doubts = ""
	_, err := s.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": s.program.source},
		"breakpoints": append([]any{}, points...)}, &b)
	s.doubt(b.Breakpoints)
	return err
}

// doubt keeps what an adapter says of points that are not there, or not yet.
func (s *dapSession) doubt(points []proto.Breakpoint) {
	for _, p := range points {
		if !p.Verified && p.Message != "" {
			s.doubts = p.Message
		}
	}
}

// stops waits for the next stop.
func (s *dapSession) stops() (time.Time, error) {
	s.stop = proto.StoppedEventBody{}
	at, err := s.wait("stopped", &s.stop)
	if err != nil && s.doubts != "" {
		err = fmt.Errorf("no stop; it says of the breakpoint: %s", s.doubts)
	}
	return at, err
}

// move asks for a step, or to go on, and returns what it took to the next stop.
func (s *dapSession) move(command string) (time.Duration, error) {
	start := time.Now()
	if _, err := s.ask(command, map[string]any{"threadId": s.stop.ThreadId}, nil); err != nil {
		return 0, fmt.Errorf("%s: %w", command, err)
	}
	at, err := s.stops()
	return at.Sub(start), err
}

// frame is the innermost.
func (s *dapSession) frame() (f proto.StackFrame, err error) {
	var b proto.StackTraceResponseBody
	if _, err := s.ask("stackTrace", map[string]any{"threadId": s.stop.ThreadId, "startFrame": 0, "levels": 20},
		&b); err != nil {
		return f, fmt.Errorf("stackTrace: %w", err)
	}
	if len(b.StackFrames) == 0 {
		return f, fmt.Errorf("stackTrace: there is no frame")
	}
	return b.StackFrames[0], nil
}

// look asks for what an editor shows at a stop: stack, scopes, and what is in those of arguments and locals.
func (s *dapSession) look() (locals []proto.Variable, of []int, frame proto.StackFrame, err error) {
	if frame, err = s.frame(); err != nil {
		return nil, nil, frame, err
	}
	var b proto.ScopesResponseBody
	if _, err := s.ask("scopes", map[string]any{"frameId": frame.Id}, &b); err != nil {
		return nil, nil, frame, fmt.Errorf("scopes: %w", err)
	}
	for _, sc := range b.Scopes {
		if sc.Name != "Arguments" && sc.Name != "Locals" {
			continue
		}
		list, err := s.variables(map[string]any{"variablesReference": sc.VariablesReference})
		if err != nil {
			return nil, nil, frame, err
		}
		for range list {
			of = append(of, sc.VariablesReference)
		}
		locals = append(locals, list...)
	}
	return locals, of, frame, nil
}

func (s *dapSession) variables(arguments map[string]any) ([]proto.Variable, error) {
	var b proto.VariablesResponseBody
	if _, err := s.ask("variables", arguments, &b); err != nil {
		return nil, fmt.Errorf("variables: %w", err)
	}
	return b.Variables, nil
}

// find follows names from the locals of the innermost frame; parent is what has the last.
func (s *dapSession) find(path ...string) (v proto.Variable, parent int, err error) {
	list, of, _, err := s.look()
	if err != nil {
		return v, 0, err
	}
	for i, name := range path {
		if i > 0 {
			parent = v.VariablesReference
			if list, err = s.variables(map[string]any{"variablesReference": parent}); err != nil {
				return v, 0, err
			}
		}
		at := -1
		var names []string
		for j := range list {
			names = append(names, list[j].Name)
			if list[j].Name == name {
				at = j
			}
		}
		if at < 0 {
			return v, 0, fmt.Errorf("there is no %s among %.200s", name, strings.Join(names, ", "))
		}
		v = list[at]
		if i == 0 {
			parent = of[at]
		}
	}
	return v, parent, nil
}

// elements fetches all parts of a variable: in pages where it says how many it has and paged is set. Parts that stand
// for a range of others are expanded.
func (s *dapSession) elements(v proto.Variable, paged bool) (count int, err error) {
	if !paged || v.IndexedVariables <= dapPage {
		list, err := s.variables(map[string]any{"variablesReference": v.VariablesReference})
		if err != nil {
			return 0, err
		}
		return s.ranges(list, paged)
	}
	for from := 0; from < v.IndexedVariables; from += dapPage {
		list, err := s.variables(map[string]any{"variablesReference": v.VariablesReference, "filter": "indexed",
			"start": from, "count": min(dapPage, v.IndexedVariables-from)})
		if err != nil {
			return 0, err
		}
		count += len(list)
	}
	return count, nil
}

// ranges counts elements, with those in debugpy's parts that stand for more of them.
func (s *dapSession) ranges(list []proto.Variable, paged bool) (count int, err error) {
	for _, v := range list {
		switch {
		case v.VariablesReference != 0 && v.Type == "MoreItemsRange":
			n, err := s.elements(v, paged)
			if err != nil {
				return 0, err
			}
			count += n
		case isElement(v.Name):
			count++
		}
	}
	return count, nil
}

// isElement says whether a name is that of an element of a list: [12] or 0012.
func isElement(name string) bool {
	name = strings.Trim(name, "[]")
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// evaluate returns an expression's value in the innermost frame.
func (s *dapSession) evaluate(expression string) (value string, took time.Duration, err error) {
	f, err := s.frame()
	if err != nil {
		return "", 0, err
	}
	var b proto.EvaluateResponseBody
	start := time.Now()
	at, err := s.ask("evaluate", map[string]any{"expression": expression, "frameId": f.Id, "context": "watch"}, &b)
	if err != nil {
		return "", 0, fmt.Errorf("evaluate %s: %w", expression, err)
	}
	return b.Result, at.Sub(start), nil
}
