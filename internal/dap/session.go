package dap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/service"
)

// run is one session as this editor has it. What is not said otherwise belongs to who has the turn.
type run struct {
	s     *Server
	id    string
	pid   int
	began beginning

	launched bool // by this editor, which ends it when it goes
	borrowed bool // somebody else's session: it stays when the editor goes
	begun    bool // configurationDone
	bare     bool // without breakpoints
	core     bool // of a core file: all stands, for ever
	quiet    bool // its pause at the entry is ours alone
	ended    bool // terminated was said

	paused   map[int]service.ChangeRow // by thread
	held     bool                      // no thread ran when that was last looked at, and none was let go on since
	toldHeld bool                      // the editor knows that
	last     int64                     // change that was heard

	showing sync.Mutex        // output, in order
	cursor  int64             // event of output that was shown
	half    map[string]string // by stream: output that ends within a letter

	stop    context.CancelFunc
	working sync.WaitGroup // follow, relay

	mu    sync.Mutex // leaf
	lists map[int]bool

	tops    map[int]string // where innermost frames stand that were shown, by their ids
	targets []string       // of goto and stepIn, by number

	pasts   map[int]*past           // of threads that are looked at as they were
	things  []pastThing             // that were shown of them, by their ids
	telling *proto.StoppedEventBody // behind the answer that is under way
}

// beginning is what launch and attach are given.
type beginning struct {
	Program     string             `json:"program"`
	Args        []string           `json:"args"`
	Cwd         string             `json:"cwd"`
	Env         map[string]*string `json:"env"` // null: as the editor's environment has it
	StopOnEntry bool               `json:"stopOnEntry"`
	NoDebug     bool               `json:"noDebug"`
	Trace       []string           `json:"trace"`
	ProjectRoot string             `json:"projectRoot"`
	Terminal    bool               `json:"terminal"`
	Stdin       string             `json:"stdin"`
	SymbolsPath string             `json:"symbolsPath"`
	Core        string             `json:"coreFile"`
	PauseAll    bool               `json:"pauseAll"`
	SessionID   string             `json:"sessionId"`
	PID         pid                `json:"pid"`
	ProcessID   pid                `json:"processId"` // as others call it
}

// pid is a process's number, which a configuration's variables give as text.
type pid int

// UnmarshalJSON takes a number or its text.
func (p *pid) UnmarshalJSON(b []byte) error {
	var n int
	if err := json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &n); err != nil {
		return fmt.Errorf("pid %s is no number of a process", b)
	}
	*p = pid(n)
	return nil
}

func initialize(_ context.Context, s *Server, _ *run, a *struct {
	proto.InitializeRequestArguments
	LinesStartAt1   *bool `json:"linesStartAt1"`
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}) (any, error) {
	if s.client.known {
		return nil, errors.New("initialize came before")
	}
	s.client = editor{
		known: true, name: cmp.Or(a.ClientName, a.ClientID, "editor"), lineBase: 1, columnBase: 1,
		typed: a.SupportsVariableType, invalidated: a.SupportsInvalidatedEvent, pagesVariable: a.SupportsVariablePaging,
		memory: a.SupportsMemoryEvent, progress: a.SupportsProgressReporting,
	}
	if a.LinesStartAt1 != nil && !*a.LinesStartAt1 {
		s.client.lineBase = 0
	}
	if a.ColumnsStartAt1 != nil && !*a.ColumnsStartAt1 {
		s.client.columnBase = 0
	}
	return &proto.Capabilities{
		SupportsConfigurationDoneRequest: true, SupportsFunctionBreakpoints: true, SupportsConditionalBreakpoints: true,
		SupportsHitConditionalBreakpoints: true, SupportsLogPoints: true, SupportsDataBreakpoints: true,
		SupportsEvaluateForHovers: true, SupportsSetVariable: true, SupportsSetExpression: true,
		SupportsRestartRequest: true, SupportsTerminateRequest: true, SupportTerminateDebuggee: true,
		SupportsExceptionInfoRequest: true, SupportsReadMemoryRequest: true, SupportsCancelRequest: true,
		SupportsSingleThreadExecutionRequests: true, SupportsDelayedStackTraceLoading: true,
		SupportsWriteMemoryRequest: true, SupportsDisassembleRequest: true, SupportsSteppingGranularity: true,
		SupportsInstructionBreakpoints: true, SupportsModulesRequest: true, SupportsLoadedSourcesRequest: true,
		SupportsStepInTargetsRequest: true, SupportsStepBack: true,
		SupportsGotoTargetsRequest: true, SupportsCompletionsRequest: true,
		CompletionTriggerCharacters: []string{".", ">", ":", " "},
		ExceptionBreakpointFilters:  exceptionFilters,
	}, nil
}

// reach connects with the daemon, once.
func (s *Server) reach(ctx context.Context) error {
	if s.daemon != nil {
		return nil
	}
	d, err := s.Connect(ctx, s.name())
	if err != nil {
		return err
	}
	s.daemon = d
	return nil
}

// name is what others see of who did something.
func (s *Server) name() string { return s.client.name + s.Client }

// ask runs an operation and decodes its answer.
func (s *Server) ask(ctx context.Context, operation string, args map[string]any, into any) error {
	raw, err := s.daemon.Call(ctx, operation, args)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", operation, err)
	}
	return nil
}

// view looks into the session.
func (r *run) view(ctx context.Context, action string, args map[string]any, into any) error {
	all := map[string]any{"sessionId": r.id, "action": action}
	maps.Copy(all, args)
	return r.s.ask(ctx, "debug_view", all, into)
}

func (s *Server) newRun(b beginning) *run {
	return &run{s: s, began: b, bare: b.NoDebug, paused: map[int]service.ChangeRow{}, lists: map[int]bool{},
		half: map[string]string{},
		tops: map[int]string{}, pasts: map[int]*past{}, stop: func() {}}
}

func launch(ctx context.Context, s *Server, in *run, b *beginning) (any, error) {
	switch {
	case in != nil:
		return nil, errors.New("a program was launched or attached to before: restart begins it anew")
	case b.Program == "":
		return nil, errors.New("program is missing: the path of what is to run, or of what left coreFile")
	}
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	return nil, s.start(ctx, *b)
}

// start launches, and leaves the program before its main.
func (s *Server) start(ctx context.Context, b beginning) error {
	dir, err := filepath.Abs(b.Cwd)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if strings.Contains(b.Program, "/") && !filepath.IsAbs(b.Program) {
		b.Program = filepath.Join(dir, b.Program)
	}
	root := b.ProjectRoot
	if root == "" {
		root = s.Project(dir, append([]string{b.Program}, b.Args...))
	}
	if b.Core != "" {
		return s.openCore(ctx, b, dir, root)
	}
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	for k, v := range b.Env {
		if v != nil {
			env[k] = *v
		}
	}
	args := map[string]any{"command": b.Program, "cwd": dir, "projectRoot": root, "env": env, "stopOnEntry": true}
	if len(b.Args) > 0 {
		args["args"] = b.Args
	}
	if len(b.Trace) > 0 {
		args["trace"] = b.Trace
	}
	if b.Terminal {
		args["terminal"] = true
	}
	for name, v := range map[string]string{"stdin": b.Stdin, "symbolsPath": b.SymbolsPath} {
		if v != "" {
			args[name] = v
		}
	}
	r := s.newRun(b)
	r.launched, r.quiet = true, !b.StopOnEntry
	return s.open(ctx, r, args)
}

// open has the daemon begin a session, and sets the breakpoints that are known by now.
func (s *Server) open(ctx context.Context, r *run, args map[string]any) error {
	var l struct {
		SessionID string
		PID       int
		Warnings  []string
	}
	if err := s.ask(ctx, "debug_launch", args, &l); err != nil {
		return err
	}
	r.id, r.pid = l.SessionID, l.PID
	s.run = r
	for _, w := range l.Warnings {
		s.console(w)
	}
	return s.points.begin(ctx, r)
}

func attach(ctx context.Context, s *Server, in *run, b *beginning) (any, error) {
	process := int(cmp.Or(b.PID, b.ProcessID))
	switch {
	case in != nil:
		return nil, errors.New("a program was launched or attached to before")
	case (process == 0) == (b.SessionID == ""):
		return nil, errors.New("attach takes pid, a process, or sessionId, a session that runs: strobe sessions lists them")
	}
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	r := s.newRun(*b)
	if process != 0 {
		root := b.ProjectRoot
		if root == "" {
			root, _ = filepath.Abs(b.Cwd)
		}
		args := map[string]any{"pid": process, "projectRoot": root}
		if b.SymbolsPath != "" {
			args["symbolsPath"] = b.SymbolsPath
		}
		if len(b.Trace) > 0 {
			args["trace"] = b.Trace
		}
		return nil, s.open(ctx, r, args)
	}
	r.borrowed, r.id = true, b.SessionID
	var st struct {
		Status string
		PID    int
	}
	if err := s.ask(ctx, "debug_session", map[string]any{"action": "status", "sessionId": r.id}, &st); err != nil {
		return nil, err
	}
	if st.Status != "running" && st.Status != "paused" {
		return nil, fmt.Errorf("session %s is over (%s): strobe query reads what it recorded", r.id, st.Status)
	}
	r.pid, s.run = st.PID, r
	if len(b.Trace) > 0 {
		if err := s.ask(ctx, "debug_trace", map[string]any{"sessionId": r.id, "add": b.Trace}, nil); err != nil {
			return nil, err
		}
	}
	return nil, s.points.begin(ctx, r)
}

// ready says that breakpoints may come now.
func (s *Server) ready() {
	s.tellProcess()
	s.out.event("initialized", nil)
}

// tellProcess tells which process is debugged.
func (s *Server) tellProcess() {
	name, method := s.run.began.Program, "launch"
	if !s.run.launched {
		name, method = cmp.Or(s.run.began.SessionID, fmt.Sprintf("process %d", s.run.pid)), "attach"
	}
	s.out.event("process", proto.ProcessEventBody{Name: name, SystemProcessId: s.run.pid, IsLocalProcess: true,
		StartMethod: method})
}

func configured(ctx context.Context, _ *Server, in *run, _ *struct{}) (any, error) {
	if in.begun {
		return nil, errors.New("configurationDone came before")
	}
	return nil, in.begin(ctx)
}

// begin lets a program go on from its entry.
func (r *run) begin(ctx context.Context) error {
	if r.core {
		return r.tellCore(ctx)
	}
	if r.launched && r.quiet {
		err := r.s.ask(ctx, "debug_continue", map[string]any{"sessionId": r.id, "waitMs": 0}, nil)
		if err != nil && fault.CodeOf(err) != fault.NotPaused && fault.CodeOf(err) != fault.ProcessExited {
			return err
		}
	}
	r.begun = true
	return nil
}

// restart ends the program and begins it anew, with the breakpoints that are set.
func restart(ctx context.Context, s *Server, in *run, a *struct{ Arguments *beginning }) (any, error) {
	switch {
	case in.core:
		return nil, errors.New("a core file cannot be restarted: launch the program itself")
	case !in.launched:
		return nil, errors.New("only what this editor launched can be restarted")
	}
	b := in.began
	if a.Arguments != nil && a.Arguments.Program != "" {
		b = *a.Arguments
	}
	in.close()
	if !in.ended {
		args := map[string]any{"action": "stop", "sessionId": in.id, "retain": true}
		if err := s.ask(ctx, "debug_session", args, nil); err != nil {
			return nil, err
		}
	}
	s.points.end()
	if err := s.start(ctx, b); err != nil {
		in.over(s)
		return nil, err
	}
	s.tellProcess()
	return nil, s.run.begin(ctx)
}

// terminate asks the program to end.
func terminate(ctx context.Context, s *Server, in *run, _ *struct{}) (any, error) {
	if in.core { // nothing of it runs: it is let go of
		err := s.ask(ctx, "debug_session", map[string]any{"action": "stop", "sessionId": in.id, "retain": true}, nil)
		in.over(s)
		return nil, err
	}
	err := s.ask(ctx, "debug_session", map[string]any{"action": "signal", "sessionId": in.id, "signal": "SIGTERM"}, nil)
	if fault.CodeOf(err) == fault.ProcessExited {
		err = nil
	}
	return nil, err
}

func disconnect(ctx context.Context, s *Server, _ *run, a *struct{ TerminateDebuggee *bool }) (any, error) {
	return nil, s.leave(ctx, a.TerminateDebuggee)
}

// leave ends what this editor began, or lets it go on: kill says which, nil as it began.
func (s *Server) leave(ctx context.Context, kill *bool) error {
	s.over = true
	r := s.run
	if r == nil {
		return nil
	}
	r.close()
	if r.ended {
		return nil
	}
	ends := r.launched
	if kill != nil {
		ends = *kill
	}
	if r.borrowed && !ends {
		return s.points.takeAway(ctx, r)
	}
	args := map[string]any{"action": "stop", "sessionId": r.id, "retain": true, "kill": ends}
	err := s.ask(ctx, "debug_session", args, nil)
	if fault.CodeOf(err) == fault.SessionNotFound { // somebody else was faster
		err = nil
	}
	return err
}

// over says that nothing follows, once.
func (r *run) over(s *Server) {
	if !r.ended {
		r.ended = true
		s.out.event("terminated", proto.TerminatedEventBody{})
	}
}

// close ends the run's goroutines. The turn is held; what waits for it gives up.
func (r *run) close() {
	r.stop()
	r.working.Wait()
}

// console tells a person something that no request asked for.
func (s *Server) console(text string) {
	s.out.event("output", proto.OutputEventBody{Category: "console", Output: strings.TrimRight(text, "\n") + "\n"})
}
