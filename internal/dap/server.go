package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	proto "github.com/google/go-dap"
)

// Daemon is a connection to the daemon. Safe for concurrent use; the Server closes it.
type Daemon interface {
	// Call runs an operation and returns its answer.
	Call(ctx context.Context, operation string, args map[string]any) (json.RawMessage, error)
	Close()
}

// Server serves one editor. The exported fields are given; Serve is called once.
//
// Its goroutines, for which Serve waits: the reader, those of requests that only look, and those of a run.
type Server struct {
	// Connect reaches the daemon as a client of that name.
	Connect func(ctx context.Context, name string) (Daemon, error)
	// Project is the root of the project that a command line in a directory is of.
	Project func(dir string, args []string) string
	// SignalNumber is a signal's, by its name.
	SignalNumber func(name string) int
	// Env is the editor's environment, which programs get.
	Env map[string]string
	// Client is what this connection is called, where more than one of an editor may be.
	Client string

	out    writer
	turn   chan struct{} // who holds it may use what is below, and write events
	daemon Daemon
	client editor
	run    *run // nil: none yet
	points points
	over   bool // disconnected

	mu      sync.Mutex // leaf
	waiting map[int]*request
}

// editor is what the client said of itself.
type editor struct {
	known         bool
	name          string
	lineBase      int // 1, or 0 where it counts lines from 0
	columnBase    int // the same of columns
	typed         bool
	invalidated   bool
	memory        bool
	progress      bool
	pagesVariable bool
}

const (
	// maxWaiting bounds requests that wait for their turn; the editor's next ones stay in its pipe.
	maxWaiting = 256
	// maxLooking bounds those that look beside each other.
	maxLooking = 16
)

// Serve answers until the editor disconnects or its stream ends, which is the same to the program.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out.w = out
	s.turn = make(chan struct{}, 1)
	s.waiting = map[int]*request{}
	s.client.lineBase = 1
	queue := make(chan *request, maxWaiting)
	ended := make(chan error, 1)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() { ended <- s.read(reading, bufio.NewReader(in), queue) }()

	var looking sync.WaitGroup
	room := make(chan struct{}, maxLooking)
	known := handlers()
	for r := range queue {
		h, ok := known[r.Command]
		if !ok || !h.looks || s.over {
			s.handle(r, h)
			continue
		}
		run := s.run
		room <- struct{}{}
		looking.Go(func() {
			defer func() { <-room }()
			s.look(r, h, run)
		})
	}
	looking.Wait()
	if !s.over { // the editor is gone without a word
		s.leave(context.WithoutCancel(ctx), nil) //nolint:errcheck // nobody hears it
	}
	if s.daemon != nil {
		s.daemon.Close()
	}
	if err := <-ended; err != nil {
		return err
	}
	return s.out.failed()
}

// read puts requests into the queue, and closes it behind the last. It answers itself what is no request, and cancels.
func (s *Server) read(ctx context.Context, in *bufio.Reader, queue chan<- *request) error {
	defer close(queue)
	for {
		content, err := proto.ReadBaseMessage(in)
		if err != nil {
			s.cancelAll()
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
				return nil
			}
			// Nobody knows where the next message begins.
			s.out.answer(&request{}, nil, fmt.Errorf("read a message: %w; the connection ends", err))
			return fmt.Errorf("read a message: %w", err)
		}
		r, err := readRequest(content)
		switch {
		case err != nil:
			s.out.answer(r, nil, err)
			continue
		case r.Type == "response": // we ask nothing
			continue
		case r.Command == "cancel":
			s.out.answer(r, nil, s.cancel(r))
			continue
		case r.Command == "disconnect":
			s.cancelAll()
		}
		r.ctx, r.cancel = context.WithCancel(ctx)
		s.mu.Lock()
		s.waiting[r.Seq] = r
		s.mu.Unlock()
		queue <- r
		if r.Command == "disconnect" {
			return nil
		}
	}
}

// cancel has a request end early that is under way or waits. One that is answered already is no error.
func (s *Server) cancel(r *request) error {
	var a proto.CancelArguments
	if err := r.arguments(&a); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[a.RequestId]; w != nil && w.Command != "disconnect" {
		w.cancel()
	}
	return nil
}

func (s *Server) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.waiting {
		r.cancel()
	}
}

func (s *Server) forget(r *request) {
	r.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[r.Seq] == r {
		delete(s.waiting, r.Seq)
	}
}

// handler answers one command. One that looks changes nothing, and runs beside others.
type handler struct {
	looks bool
	long  bool // may be cancelled under way; what else changes something is done whole
	run   answerer
	then  func(s *Server) // behind the answer
}

// answerer does what a request asks for; in is nil where there is no program.
type answerer func(ctx context.Context, s *Server, in *run, r *request) (body any, err error)

var errNoProgram = errors.New("there is no program: launch or attach comes first")

// handle answers a request that changes something, or that nobody answers.
func (s *Server) handle(r *request, h handler) {
	defer s.forget(r)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	var body any
	err := context.Cause(r.ctx)
	switch {
	case r.Command == "disconnect": // at any time
		body, err = s.try(context.WithoutCancel(r.ctx), h, s.run, r)
	case err != nil:
	case h.run == nil:
		err = fmt.Errorf("%q is not answered: initialize says what is", r.Command)
	case !s.client.known && r.Command != "initialize":
		err = errors.New("initialize comes first")
	case h.long:
		done := s.progress(r)
		body, err = s.try(r.ctx, h, s.run, r)
		done()
	default:
		body, err = s.try(context.WithoutCancel(r.ctx), h, s.run, r)
	}
	s.out.answer(r, body, err)
	if err == nil && h.then != nil {
		h.then(s)
	}
}

// look answers a request that changes nothing.
func (s *Server) look(r *request, h handler, in *run) {
	defer s.forget(r)
	body, err := any(nil), context.Cause(r.ctx)
	if err == nil && in == nil {
		err = errNoProgram
	}
	if err == nil {
		body, err = s.try(r.ctx, h, in, r)
	}
	if r.ctx.Err() != nil {
		body, err = nil, context.Canceled
	}
	s.out.answer(r, body, err)
}

// try runs a handler. One that panics has failed, and the program of whom it is about goes on.
func (s *Server) try(ctx context.Context, h handler, in *run, r *request) (body any, err error) {
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, fmt.Errorf("a defect of Strobe: %v\n%s", p, debug.Stack())
		}
	}()
	return h.run(ctx, s, in, r)
}

// takes is a handler with arguments of one type.
func takes[A any](f func(ctx context.Context, s *Server, in *run, a *A) (any, error)) answerer {
	return func(ctx context.Context, s *Server, in *run, r *request) (any, error) {
		a := new(A)
		if err := r.arguments(a); err != nil {
			return nil, err
		}
		return f(ctx, s, in, a)
	}
}

// during is a handler that needs a program.
func during[A any](f func(ctx context.Context, s *Server, in *run, a *A) (any, error)) answerer {
	return takes(func(ctx context.Context, s *Server, in *run, a *A) (any, error) {
		if in == nil {
			return nil, errNoProgram
		}
		return f(ctx, s, in, a)
	})
}

// handlers are the requests that are answered.
func handlers() map[string]handler {
	return map[string]handler{
		"initialize":                {run: takes(initialize)},
		"launch":                    {long: true, run: takes(launch), then: (*Server).ready},
		"attach":                    {long: true, run: takes(attach), then: (*Server).ready},
		"configurationDone":         {run: during(configured), then: (*Server).listen},
		"restart":                   {long: true, run: during(restart), then: (*Server).listen},
		"terminate":                 {run: during(terminate)},
		"disconnect":                {run: takes(disconnect)},
		"setBreakpoints":            {run: takes(setBreakpoints)},
		"setFunctionBreakpoints":    {run: takes(setFunctionBreakpoints)},
		"setExceptionBreakpoints":   {run: takes(setExceptionBreakpoints)},
		"setInstructionBreakpoints": {run: takes(setInstructionBreakpoints)},
		"setDataBreakpoints":        {run: takes(setDataBreakpoints)},
		"dataBreakpointInfo":        {looks: true, run: during(dataBreakpointInfo)},
		"continue":                  {run: during(goOn), then: (*Server).tellMove},
		"next":                      {run: during(stepOver), then: (*Server).tellMove},
		"stepIn":                    {run: during(stepIn), then: (*Server).tellMove},
		"stepOut":                   {run: during(stepOut), then: (*Server).tellMove},
		"stepBack":                  {run: during(stepBack), then: (*Server).tellMove},
		"reverseContinue":           {long: true, run: during(reverseContinue), then: (*Server).tellMove},
		"pause":                     {run: during(pause)},
		"threads":                   {looks: true, run: during(threads)},
		"stackTrace":                {looks: true, run: during(stackTrace)},
		"scopes":                    {looks: true, run: during(scopes)},
		"variables":                 {looks: true, run: during(variables)},
		"setVariable":               {run: during(setVariable)},
		"setExpression":             {run: during(setExpression)},
		"evaluate":                  {looks: true, run: during(evaluate)},
		"completions":               {looks: true, run: during(completions)},
		"disassemble":               {looks: true, run: during(disassemble)},
		"writeMemory":               {run: during(writeMemory)},
		"modules":                   {looks: true, run: during(modules)},
		"loadedSources":             {looks: true, run: during(loadedSources)},
		"stepInTargets":             {looks: true, run: during(stepInTargets)},
		"gotoTargets":               {run: during(gotoTargets)},
		"goto":                      {run: during(goTo), then: (*Server).tellMove},
		"exceptionInfo":             {run: during(exceptionInfo)},
		"readMemory":                {looks: true, run: during(readMemory)},
		"strobe/trace":              {run: own("debug_trace")},
		"strobe/query":              {looks: true, run: own("debug_query")},
		"strobe/timeline":           {looks: true, run: own("debug_timeline")},
	}
}
