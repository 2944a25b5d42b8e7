package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/report"
	"github.com/strobe-debug/strobe/internal/store"
)

// deadProcess is a session's core file: opened when it is asked for, since a session outlives its daemon.
type deadProcess struct {
	mu     sync.Mutex // held while it is opened
	core   collector.Core
	closed bool
}

// OpenCore makes a session of a core file: it has ended before it began, and one crash event tells why. On any error
// nothing is left. r's paths may be relative to its ProjectRoot.
func (m *Manager) OpenCore(ctx context.Context, r collector.CoreRequest, name string) (*Session, error) {
	if m.cfg.Cores == nil {
		return nil, fault.New(fault.Unsupported, "Open it with gdb.", "this build cannot open core files")
	}
	if err := resolveCore(&r); err != nil {
		return nil, err
	}
	set, warnings := m.cfg.Settings.Load(r.ProjectRoot)
	if err := m.makeRoom(ctx); err != nil {
		return nil, err
	}
	id, err := m.reserve(ctx, filepath.Base(r.Binary), math.MaxInt)
	if err != nil {
		return nil, err
	}
	defer m.settled(id)
	r.Secrets = set.Secrets(false)
	core, err := m.cfg.Cores.OpenCore(ctx, r)
	if err != nil {
		return nil, coreError(&r, err)
	}
	s, err := m.storeCore(ctx, id, core, &r, name, set.EventsMaxPerSession)
	if err != nil {
		return nil, errors.Join(err, core.Close())
	}
	s.warnings = append(s.warnings, warnings...)
	m.mu.Lock()
	m.sessions[id] = s
	m.mu.Unlock()
	m.closeIdle()
	m.lookSoon()
	return s, nil
}

func coreError(r *collector.CoreRequest, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.LaunchFailed, "The call ended before the core was read; nothing was left behind. Call again.",
			"open core %s: %w", r.Core, err)
	}
	return fmt.Errorf("open core %s: %w", r.Core, err)
}

// resolveCore checks a request and makes its paths absolute.
func resolveCore(r *collector.CoreRequest) error {
	if err := checkStrings(&LaunchRequest{Command: r.Binary, Cwd: r.Core, ProjectRoot: r.ProjectRoot,
		SymbolsPath: r.SymbolsPath}); err != nil {
		return err
	}
	if !filepath.IsAbs(r.ProjectRoot) {
		return fault.New(fault.ValidationError, "Give the absolute path of the project's directory.",
			"projectRoot %q is not an absolute path", r.ProjectRoot)
	}
	r.ProjectRoot = filepath.Clean(r.ProjectRoot)
	if err := checkDir("projectRoot", r.ProjectRoot); err != nil {
		return err
	}
	for _, p := range []*string{&r.Core, &r.Binary, &r.SymbolsPath} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(r.ProjectRoot, *p)
		}
	}
	return nil
}

// storeCore writes the core's crash into a store of its own.
func (m *Manager) storeCore(ctx context.Context, id string, core collector.Core, r *collector.CoreRequest, name string,
	limit int64) (_ *Session, err error) {
	k, thread, err := core.Crash(ctx)
	if err != nil {
		return nil, fmt.Errorf("read crash from core: %w", err)
	}
	info, now := core.Describe(), time.Now().UnixNano()
	meta := Info{
		ID: id, Name: name, Command: r.Binary, ProjectRoot: r.ProjectRoot, PID: info.PID, Runtime: "native", Path: m.path(id),
		StartedAt: now, EndedAt: now,
		Status: string(Exited), Signal: info.Signal,
		Core: &store.Core{Path: r.Core, Symbols: r.SymbolsPath, Detail: info.Detail, Warnings: info.Warnings},
	}
	if info.Fatal {
		meta.Status = string(Crashed)
	}
	st, err := store.Create(meta.Path, store.Meta{
		SessionID: id, Command: meta.Command, ProjectRoot: meta.ProjectRoot, PID: meta.PID, StartedAt: now,
		StartMono: iochan.Monotonic(),
		Version:   m.cfg.Version, Core: meta.Core,
	}, store.Options{MaxEvents: limit, Logger: m.log, Room: m.room})
	if err != nil {
		return nil, fmt.Errorf("create event store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close(), store.RemoveFile(meta.Path))
		}
	}()
	st.SetPID(meta.PID)
	payload, err := withReport(&k.Crash, lastWords(&info), nil).JSON()
	if err != nil {
		return nil, err
	}
	e := event.Event{Kind: event.Crash, Thread: st.Thread(thread), Payload: payload}
	if err := st.Put([]event.Event{e}); err != nil {
		return nil, fmt.Errorf("store crash: %w", err)
	}
	if err := st.Flush(ctx); err != nil {
		return nil, fmt.Errorf("store crash: %w", err)
	}
	if err := st.SetResult(store.Result{Status: meta.Status, Signal: meta.Signal, EndedAt: now}); err != nil {
		return nil, fmt.Errorf("store result: %w", err)
	}
	stats := st.Stats()
	meta.SizeBytes, meta.EventCount = stats.SizeBytes, stats.Total()
	if err := m.index.Register(ctx, meta); err != nil {
		return nil, fmt.Errorf("list session: %w", err)
	}
	s := newEnded(m, meta, st)
	s.dead.core = core
	m.log.Info("core opened", "session", id, "core", r.Core)
	return s, nil
}

// lastWords is what the C library said when it ended the process: the report that it wrote to standard error.
func lastWords(info *collector.CoreInfo) *pendingReport {
	if info.Message == "" || info.Signal != "SIGABRT" {
		return nil
	}
	var p report.Parser
	found := append(p.Write([]byte(info.Message)), p.Close()...)
	if len(found) == 0 {
		return nil
	}
	return &pendingReport{Report: found[0]}
}

// describeCore says what a session of a core offers.
func (s *Session) describeCore() {
	c := s.meta.Core
	if c == nil {
		return
	}
	s.warnings = append(s.warnings, c.Warnings...)
	s.caps = &collector.Capabilities{
		Runtime: s.meta.Runtime, RuntimeDetail: c.Detail, FunctionTracing: "none", Breakpoints: "none", Stepping: "none",
		OutputCapture: "none",
		Limitations: []string{"a core file: it can be read (debug_query eventType crash, debug_memory, debug_session " +
			"status with threads, debug_view), nothing in it runs"},
	}
}

// openCore returns the core that the session is of. It must be in use.
func (s *Session) openCore(ctx context.Context) (collector.Core, error) {
	d := &s.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, s.gone()
	}
	if d.core != nil {
		return d.core, nil
	}
	if s.m.cfg.Cores == nil {
		return nil, fault.New(fault.Unsupported, "Open it with gdb.", "this build cannot open core files")
	}
	r := collector.CoreRequest{Core: s.meta.Core.Path, Binary: s.meta.Command, SymbolsPath: s.meta.Core.Symbols,
		ProjectRoot: s.meta.ProjectRoot}
	set, _ := s.m.cfg.Settings.Load(r.ProjectRoot)
	r.Secrets = set.Secrets(false)
	c, err := s.m.cfg.Cores.OpenCore(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("open the core again (its crash can still be read with debug_query): %w", err)
	}
	d.core = c
	return c, nil
}

func (s *Session) closeCore() {
	d := &s.dead
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed = true; d.core == nil {
		return
	}
	if err := d.core.Close(); err != nil {
		s.log.Warn("close core", "err", err)
	}
	d.core = nil
}

// Core reports whether the session is one of a core file.
func (s *Session) Core() bool { return s.meta.Core != nil }

// Inspect reads values of a core file, or of a running target where its runtime can.
func (s *Session) Inspect(ctx context.Context, q collector.Inspection) ([]collector.Reading, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if s.meta.Core != nil {
		if len(q.Targets) > 0 && q.Targets[0].Set != nil {
			return nil, fault.New(fault.Unsupported, "Launch the program to change it.", "a core file is not written to")
		}
		c, err := s.openCore(use)
		if err != nil {
			return nil, err
		}
		return c.Inspect(use, q)
	}
	if s.col == nil || !s.Live() {
		return nil, fault.New(fault.ProcessExited,
			"debug_query shows what was recorded; a crash event has the values of its stack.",
			"the program of session %s has ended", s.ID)
	}
	if len(q.Targets) > 0 && q.Targets[0].Set != nil {
		a, ok := s.col.(collector.Assigner)
		if !ok {
			return nil, fault.New(fault.Unsupported, "Change the program instead.", "memory of a %s program cannot be written",
				s.col.Capabilities().Runtime)
		}
		return s.assigned(ctx, q)(a.Assign(use, q))
	}
	reader, ok := s.col.(collector.Inspector)
	if !ok {
		return nil, fault.New(fault.Unsupported, "Watch the value with debug_trace watches.",
			"memory of a %s program cannot be read", s.col.Capabilities().Runtime)
	}
	return reader.Inspect(use, q)
}
