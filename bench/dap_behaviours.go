package main

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	proto "github.com/google/go-dap"
)

// dapBehaviour is something that an adapter offers by a capability ("": all do), and how it is seen whether it does it:
// nil where it is as the protocol has it.
type dapBehaviour struct {
	what, needs string
	native      bool // of machine code
	do          func(s *dapSession) (note string, err error)
}

var dapBehaviours = []dapBehaviour{
	{"a condition on a breakpoint", "supportsConditionalBreakpoints", false, func(s *dapSession) (string, error) {
		return "", s.holdsAt(map[string]any{"condition": "n == 4"}, "n", "4")
	}},
	{"a hit condition: the third", "supportsHitConditionalBreakpoints", false, func(s *dapSession) (string, error) {
		return "", s.holdsAt(map[string]any{"hitCondition": "3"}, "n", "3")
	}},
	{"a hit condition: % 2", "supportsHitConditionalBreakpoints", false, func(s *dapSession) (string, error) {
		return "", s.holdsAt(map[string]any{"hitCondition": "% 2"}, "n", "2")
	}},
	{"a condition and a hit condition", "supportsHitConditionalBreakpoints", false, func(s *dapSession) (string, error) {
		return "", s.holdsAt(map[string]any{"hitCondition": "2", "condition": "n > 3"}, "n", "5")
	}},
	{"a condition on a function", "supportsFunctionBreakpoints", false, functionCondition},
	{"a logpoint, and no stop", "supportsLogPoints", false, logpoint},
	{"a logpoint's expression in braces", "supportsLogPoints", false, func(s *dapSession) (string, error) {
		return "", s.logs("sum {n + a}", "sum ")
	}},
	{"a logpoint with a condition", "supportsLogPoints", false, logpointCondition},
	{"a data breakpoint: a member of a structure is written", "supportsDataBreakpoints", true, dataBreakpoint},
	{"setVariable", "supportsSetVariable", false, setVariable},
	{"setExpression", "supportsSetExpression", false, setExpression},
	{"stepBack", "supportsStepBack", false, stepBack},
	{"exceptionInfo at an exception that is caught", "supportsExceptionInfoRequest", false, exceptionInfo},
	{"readMemory of an array", "supportsReadMemoryRequest", true, readMemory},
	{"writeMemory, read again", "supportsWriteMemoryRequest", true, writeMemory},
	{"disassemble ten instructions", "supportsDisassembleRequest", true, disassemble},
	{"completions of da", "supportsCompletionsRequest", false, completions},
	{"stepInTargets, and into the second", "supportsStepInTargetsRequest", false, stepInTargets},
	{"goto", "supportsGotoTargetsRequest", false, goTo},
	{"pause of a program that runs", "", false, pause},
	{"restart", "supportsRestartRequest", false, restart},
	{"terminate: the program ends, and that is said", "supportsTerminateRequest", false, terminate},
}

// value says whether an expression is what it should be.
func (s *dapSession) value(expression, want string) error {
	got, _, err := s.evaluate(expression)
	if err == nil && got != want {
		err = fmt.Errorf("%s is %s, not %s", expression, got, want)
	}
	return err
}

// holdsAt stops at a line's breakpoint, where an expression has a value.
func (s *dapSession) holdsAt(point map[string]any, expression, want string) error {
	if err := s.begin(0, func() error { return s.atLine("told", point) }, nil); err != nil {
		return err
	}
	if _, err := s.stops(); err != nil {
		return err
	}
	return s.value(expression, want)
}

// at stops in a function's line without more.
func (s *dapSession) at(mark string) error {
	if err := s.begin(0, func() error { return s.atLine(mark, nil) }, nil); err != nil {
		return err
	}
	_, err := s.stops()
	return err
}

func functionCondition(s *dapSession) (string, error) {
	if err := s.begin(0, func() error {
		_, err := s.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": "work",
			"condition": "n == 3"}}}, nil)
		return err
	}, nil); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	return "", s.value("n", "3")
}

// logs runs a program of five rounds, which is told to say something in each, without a stop.
func (s *dapSession) logs(message, begins string) error {
	return s.logsOf(map[string]any{"logMessage": message}, begins, 5)
}

func (s *dapSession) logsOf(point map[string]any, begins string, want int) error {
	if err := s.begin(5, func() error { return s.atLine("told", point) }, nil); err != nil {
		return err
	}
	if _, err := s.wait("terminated", nil); err != nil {
		return err
	}
	message := regexp.MustCompile(regexp.QuoteMeta(begins) + `\d+`)
	var came []string
	for until := time.Now().Add(time.Second); ; { // debugpy says some of it behind the end
		if came = message.FindAllString(s.said, -1); len(came) >= want {
			break
		}
		if _, err := s.next("output", until); err != nil {
			break
		}
	}
	slices.Sort(came)
	if len(came) != want || len(slices.Compact(came)) != want {
		return fmt.Errorf("of %d messages came %d: %.200q", want, len(came), s.said)
	}
	return nil
}

func logpoint(s *dapSession) (string, error) { return "", s.logs("n is {n}", "n is ") }

func logpointCondition(s *dapSession) (string, error) {
	return "", s.logsOf(map[string]any{"logMessage": "n is {n}", "condition": "n > 3"}, "n is ", 2)
}

func dataBreakpoint(s *dapSession) (string, error) {
	if err := s.at("sold"); err != nil {
		return "", err
	}
	_, parent, err := s.find("data", "sold")
	if err != nil {
		return "", err
	}
	var info struct {
		DataID      any `json:"dataId"`
		Description string
	}
	if _, err := s.ask("dataBreakpointInfo", map[string]any{"variablesReference": parent, "name": "sold"},
		&info); err != nil {
		return "", err
	}
	if info.DataID == nil {
		return "", fmt.Errorf("data.sold cannot be watched: %s", info.Description)
	}
	var set proto.SetDataBreakpointsResponseBody
	if _, err := s.ask("setDataBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"dataId": info.DataID,
		"accessType": "write"}}}, &set); err != nil {
		return "", err
	}
	if len(set.Breakpoints) != 1 || !set.Breakpoints[0].Verified {
		return "", fmt.Errorf("it is not verified: %+v", set.Breakpoints)
	}
	if err := s.atLines(); err != nil {
		return "", err
	}
	if _, err := s.move("continue"); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	if line := s.program.line("sold"); f.Line != line && f.Line != line+1 || s.stop.Reason != "data breakpoint" {
		return "", fmt.Errorf("stopped at line %d, not %d, with reason %s", f.Line, line, s.stop.Reason)
	}
	return "", nil
}

func setVariable(s *dapSession) (string, error) {
	if err := s.at("told"); err != nil {
		return "", err
	}
	_, parent, err := s.find("n")
	if err != nil {
		return "", err
	}
	if _, err := s.ask("setVariable", map[string]any{"variablesReference": parent, "name": "n", "value": "4000"},
		nil); err != nil {
		return "", err
	}
	return "", s.value("n + 2", "4002")
}

func setExpression(s *dapSession) (string, error) {
	if err := s.at("told"); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	if _, err := s.ask("setExpression", map[string]any{"frameId": f.Id, "expression": "data.sold", "value": "77"},
		nil); err != nil {
		return "", err
	}
	return "", s.value("data.sold + 1", "78")
}

// stepBack goes from the third call of work into what was before.
func stepBack(s *dapSession) (string, error) {
	trace := map[string]any{"trace": []string{"work", "twice", "more"}}
	if err := s.begin(0, func() error { return s.atLine("end", map[string]any{"condition": "n == 3"}) },
		trace); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	var seen []string
	for range 4 {
		if _, err := s.move("stepBack"); err != nil {
			return "", err
		}
		f, err := s.frame()
		if err != nil {
			return "", err
		}
		seen = append(seen, f.Name)
	}
	want := []string{"more", "more", "twice", "twice"} // each left and called
	for i := range want {
		if !strings.Contains(seen[i], want[i]) {
			return "", fmt.Errorf("four steps back lead to %v", seen)
		}
	}
	return "by recorded calls", nil
}

func exceptionInfo(s *dapSession) (string, error) {
	filter := ""
	for _, f := range s.adapter.filters() {
		name := strings.ToLower(f.name + " " + f.label)
		if f.name == "@exceptions" || strings.Contains(name, s.program.throws) {
			filter = f.name
			break
		}
	}
	if filter == "" {
		return "", errors.New("no filter is of thrown exceptions")
	}
	if err := s.begin(3, func() error {
		var b proto.SetExceptionBreakpointsResponseBody
		_, err := s.ask("setExceptionBreakpoints", map[string]any{"filters": []string{filter}}, &b)
		s.doubt(b.Breakpoints)
		return err
	}, nil); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	var b proto.ExceptionInfoResponseBody
	if _, err := s.ask("exceptionInfo", map[string]any{"threadId": s.stop.ThreadId}, &b); err != nil {
		return "", err
	}
	said := b.ExceptionId + ": " + b.Description
	switch {
	case !strings.Contains(said, "too many"):
		return "stops at it, but tells only " + said, nil
	case s.stop.Reason != "exception":
		return "", fmt.Errorf("the stop's reason is %s", s.stop.Reason)
	}
	return said, nil
}

// numbers reads the first four elements of data.array, and says where they are.
func (s *dapSession) numbers() (at string, values [4]int32, err error) {
	if err := s.at("told"); err != nil {
		return "", values, err
	}
	v, _, err := s.find("data", "array")
	if err != nil {
		return "", values, err
	}
	if v.MemoryReference == "" {
		return "", values, errors.New("data.array has no memoryReference")
	}
	values, err = s.read(v.MemoryReference)
	return v.MemoryReference, values, err
}

func (s *dapSession) read(at string) (values [4]int32, err error) {
	var b proto.ReadMemoryResponseBody
	if _, err := s.ask("readMemory", map[string]any{"memoryReference": at, "count": 16}, &b); err != nil {
		return values, err
	}
	data, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil || len(data) != 16 {
		return values, fmt.Errorf("%d bytes came: %w", len(data), err)
	}
	for i := range values {
		values[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, nil
}

func readMemory(s *dapSession) (string, error) {
	_, values, err := s.numbers()
	if err == nil && values != [4]int32{0, 2, 4, 6} {
		err = fmt.Errorf("data.array begins with %v", values)
	}
	return "", err
}

func writeMemory(s *dapSession) (string, error) {
	at, _, err := s.numbers()
	if err != nil {
		return "", err
	}
	data := base64.StdEncoding.EncodeToString([]byte{9, 0, 0, 0})
	if _, err := s.ask("writeMemory", map[string]any{"memoryReference": at, "offset": 4, "data": data},
		nil); err != nil {
		return "", err
	}
	values, err := s.read(at)
	if err == nil && values != [4]int32{0, 9, 4, 6} {
		err = fmt.Errorf("data.array begins with %v", values)
	}
	return "", err
}

func disassemble(s *dapSession) (string, error) {
	if err := s.at("calls"); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	var b proto.DisassembleResponseBody
	if _, err := s.ask("disassemble", map[string]any{"memoryReference": f.InstructionPointerReference,
		"instructionCount": 10}, &b); err != nil {
		return "", err
	}
	calls := 0
	for _, in := range b.Instructions {
		if strings.Contains(in.Instruction, "call") {
			calls++
		}
	}
	if len(b.Instructions) != 10 || calls == 0 {
		return "", fmt.Errorf("%d came, %d of them calls", len(b.Instructions), calls)
	}
	return "", nil
}

func completions(s *dapSession) (string, error) {
	if err := s.at("told"); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	var b proto.CompletionsResponseBody
	if _, err := s.ask("completions", map[string]any{"frameId": f.Id, "text": "da", "column": 3}, &b); err != nil {
		return "", err
	}
	var labels []string
	for _, t := range b.Targets {
		if t.Label == "data" || strings.HasPrefix(t.Label, "data ") || t.Text == "data" {
			return "", nil
		}
		labels = append(labels, t.Label)
	}
	return "", fmt.Errorf("data is not among %d: %.100s", len(labels), strings.Join(labels, ", "))
}

func stepInTargets(s *dapSession) (string, error) {
	if err := s.at("calls"); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	var b proto.StepInTargetsResponseBody
	if _, err := s.ask("stepInTargets", map[string]any{"frameId": f.Id}, &b); err != nil {
		return "", err
	}
	at := slices.IndexFunc(b.Targets, func(t proto.StepInTarget) bool { return strings.Contains(t.Label, "more") })
	if at < 0 {
		return "", fmt.Errorf("more is not among %d targets", len(b.Targets))
	}
	if _, err := s.ask("stepIn", map[string]any{"threadId": s.stop.ThreadId, "targetId": b.Targets[at].Id},
		nil); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	if f, err = s.frame(); err == nil && !strings.Contains(f.Name, "more") {
		err = fmt.Errorf("the thread is in %s", f.Name)
	}
	return "", err
}

func goTo(s *dapSession) (string, error) {
	if err := s.at("sold"); err != nil {
		return "", err
	}
	var b proto.GotoTargetsResponseBody
	line := s.program.line("end")
	if _, err := s.ask("gotoTargets", map[string]any{"source": map[string]any{"path": s.program.source,
		"name": filepath.Base(s.program.source)}, "line": line}, &b); err != nil {
		return "", err
	}
	if len(b.Targets) == 0 {
		return "", errors.New("there is no target")
	}
	if _, err := s.ask("goto", map[string]any{"threadId": s.stop.ThreadId, "targetId": b.Targets[0].Id},
		nil); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	f, err := s.frame()
	if err != nil {
		return "", err
	}
	if f.Line != line {
		return "", fmt.Errorf("the thread is at line %d, not %d", f.Line, line)
	}
	return "", s.value("data.sold", "0")
}

func pause(s *dapSession) (string, error) {
	if err := s.at("told"); err != nil {
		return "", err
	}
	if err := s.atLines(); err != nil {
		return "", err
	}
	if _, err := s.ask("continue", map[string]any{"threadId": s.stop.ThreadId}, nil); err != nil {
		return "", err
	}
	if _, err := s.move("pause"); err != nil {
		return "", err
	}
	note := ""
	if s.stop.Reason != "pause" {
		note = "but the stop's reason is " + s.stop.Reason
	}
	_, err := s.frame()
	return note, err
}

func restart(s *dapSession) (string, error) {
	if err := s.holdsAt(map[string]any{"condition": "n == 4"}, "n", "4"); err != nil {
		return "", err
	}
	if _, err := s.ask("restart", map[string]any{}, nil); err != nil {
		return "", err
	}
	if _, err := s.stops(); err != nil {
		return "", err
	}
	return "", s.value("n", "4")
}

func terminate(s *dapSession) (string, error) {
	if err := s.at("told"); err != nil {
		return "", err
	}
	if _, err := s.ask("terminate", map[string]any{}, nil); err != nil {
		return "", err
	}
	_, err := s.wait("terminated", nil)
	return "", err
}
