// Package service owns the operations: what a client may ask of Strobe, one file
// per operation, in one table (Ops).
//
// It is the last hop of the data path: an operation reads its parameters, asks
// session and query, and answers with a result that front ends (MCP tools, the
// command line, the debug adapter) show as they are. No front end has logic of its
// own, and every front end is generated from the table.
//
// Invariants: parameters are validated whole before anything changes; an answer
// says what it left out; an error is a fault.Error with a hint.
package service

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testrun"
)

// Config is everything a Service is given.
type Config struct {
	Home     string // $STROBE_HOME, existing
	Logger   *slog.Logger
	Runtimes []collector.Runtime // asked in this order
	Cores    collector.Cores     // opens core files; nil: this build cannot
	// ParsePattern checks a trace pattern without a target; nil accepts all.
	ParsePattern func(pattern string) error
	// Absent looks for a function in a program's files; nil: nobody can.
	Absent  func(context.Context, collector.AbsentQuestion) (*collector.Absent, error)
	Version string
	// Space returns what is free and what there is in all, in bytes, on the disk of a folder; nil: nobody knows.
	Space func(dir string) (free, size int64, err error)
	// Files returns how many files this process has open and how many it may; nil: nobody knows.
	Files func() (used, limit int)
	// Keeper is the command whose process keeps the files of programs that outlive the daemon; it calls
	// session.RunKeeper. Empty: such programs get SIGPIPE or SIGHUP.
	Keeper []string
	// DisplayKeeper is the command that has a display of a session's own; it calls display.RunKeeper.
	DisplayKeeper []string
	// Adapters are the test frameworks, in the order that breaks ties of detection.
	Adapters []testadapter.Adapter
	Strobe   string // our own executable

	Link   *session.Link  // of a worker
	Others session.Others // of a daemon with workers
	// Lock and Locked are session.Config's.
	Lock   func(path string) (release func(), err error)
	Locked func(path string) bool
}

// Service runs operations. Safe for concurrent use.
type Service struct {
	cfg      Config
	settings *settings.Loader
	sessions *session.Manager
	pending  *pendingTable
	said     said
	tests    *testrun.Manager
	kept     keptRuns
	panels   panels
}

// New opens the sessions under cfg.Home and recovers what a dead daemon left. Call Close.
func New(cfg Config) (*Service, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ParsePattern == nil {
		cfg.ParsePattern = func(string) error { return nil }
	}
	loader := settings.NewLoader(cfg.Home)
	m, err := session.NewManager(session.Config{
		Home: cfg.Home, Logger: cfg.Logger, Runtimes: cfg.Runtimes, Cores: cfg.Cores, Settings: loader, Version: cfg.Version,
		Keeper: cfg.Keeper, DisplayKeeper: cfg.DisplayKeeper, Space: cfg.Space, Files: cfg.Files,
		Link: cfg.Link, Others: cfg.Others, Lock: cfg.Lock, Locked: cfg.Locked, Prepare: query.Prepare,
	})
	if err != nil {
		return nil, fmt.Errorf("open sessions: %w", err)
	}
	tests := testrun.NewManager(testrun.Config{Home: cfg.Home, Logger: cfg.Logger, Settings: loader, Sessions: m,
		Adapters: cfg.Adapters, Strobe: cfg.Strobe})
	return &Service{cfg: cfg, settings: loader, sessions: m, pending: newPendingTable(), tests: tests}, nil
}

// Close ends every test run with its processes, and every session that runs: targets are killed, data is kept as
// retained. ctx bounds it.
func (s *Service) Close(ctx context.Context) error {
	s.tests.Close()
	s.panels.close()
	return s.sessions.Close(ctx)
}

// Orphaned ends every test run, and lets every program go: of a worker whose daemon has died.
func (s *Service) Orphaned() error {
	s.tests.Close()
	s.panels.close()
	return s.sessions.Orphaned()
}

// Busy reports whether a session's program or a test run goes on: the daemon must not idle out on it.
func (s *Service) Busy() bool { return s.sessions.Busy() || s.tests.Busy() }

// Client is who calls. A client may open a new connection for every call, so state is kept by
// name and project, never by connection.
type Client struct {
	Name string // from initialize, e.g. "claude-code"
	// Tell, where it is not nil, has a call say how its work stands, to whoever asked to hear of that: now is asked
	// about once a second until the call ends. Its key is the same while only time has passed.
	Tell func(now func() (key, text string))
}

// tell is Client.Tell of a context's client, if it has one.
func tell(ctx context.Context, now func() (key, text string)) {
	if c := clientOf(ctx); c.Tell != nil {
		c.Tell(now)
	}
}

type clientKey struct{}

// WithClient returns a context whose operations are that client's.
func WithClient(ctx context.Context, c Client) context.Context {
	return session.WithCaller(context.WithValue(ctx, clientKey{}, c), c.Name)
}

func clientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
