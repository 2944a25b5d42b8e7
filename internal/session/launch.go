package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/store"
)

// Launch starts a program and returns its session once it runs. On any error nothing is left: no
// process, no file, no row. ctx bounds the call only.
func (m *Manager) Launch(ctx context.Context, r LaunchRequest) (*Session, error) {
	cmd, err := resolve(&r)
	if err != nil {
		return nil, err
	}
	rt, err := m.detect(cmd)
	if err != nil {
		return nil, err
	}
	return m.begin(ctx, rt, cmd, r)
}

// begin makes the session of a program that is launched or attached to.
func (m *Manager) begin(ctx context.Context, rt collector.Runtime, cmd *collector.Command, r LaunchRequest) (*Session,
	error) {
	set, warnings := m.cfg.Settings.Load(r.ProjectRoot)
	policy := r.OnFullBuffer
	if policy == "" {
		policy = set.OnFullBuffer
	}
	cmd.OnFull = collector.OnFull(policy)
	cmd.Lines, cmd.NoWrites = cmp.Or(r.LineBuffer, set.LineBuffer), !set.RecordWrites
	cmd.Secrets = set.Secrets(r.KeepSecrets)
	cmd.StopOnEntry, cmd.QuietEntry, cmd.Drivers = r.StopOnEntry, r.QuietEntry, r.Drivers
	cmd.Tracing = r.Tracing.forCollector(set, cmd.OnFull)
	if err := m.makeRoom(ctx); err != nil {
		return nil, err
	}
	if err := m.FileRoom(); err != nil {
		return nil, err
	}
	id, err := m.reserve(ctx, binaryName(cmd), set.SessionsMax)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(m.ctx, cancel)
	defer func() {
		unlink()
		cancel()
		m.settled(id)
	}()
	if r.Begun != nil {
		r.Begun(id)
	}
	s, err := m.start(ctx, id, rt, cmd, r, set)
	if err != nil {
		return nil, err
	}
	if w := privileged(cmd.Path); w != "" && !s.attached {
		warnings = append(warnings, w)
	}
	s.warnings = append(warnings, s.warnings...)
	m.mu.Lock()
	m.sessions[id] = s
	m.mu.Unlock()
	m.wg.Go(s.watch)
	m.wg.Go(s.prepare)
	m.lookSoon()
	return s, nil
}

// binaryName is what an id begins with.
func binaryName(cmd *collector.Command) string { return filepath.Base(cmp.Or(cmd.Name, cmd.Path)) }

// sessionFiles is how many files a session needs at once: its store, pipes, the target's memory, and some while it
// starts.
const sessionFiles = 24

// FileRoom says why there is no session for want of files, nil where there may be one.
func (m *Manager) FileRoom() error {
	if m.cfg.Files == nil {
		return nil
	}
	used, limit := m.cfg.Files()
	if limit == 0 || limit-used >= sessionFiles {
		return nil
	}
	m.closeIdle() // those of ended sessions
	if used, limit = m.cfg.Files(); limit-used >= sessionFiles {
		return nil
	}
	return fault.New(fault.SessionLimit, "Stop a session (debug_session list shows them), or end the daemon with "+
		"`strobe daemon stop` and start it where `ulimit -Hn` is higher.",
		"the daemon has %d of %d files open, the most that it may have, and a session needs %d", used, limit, sessionFiles)
}

// privileged warns of a program that the kernel would run as another user, did nobody look.
func privileged(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 {
		return ""
	}
	return path + " is set-user-ID or set-group-ID: while it is observed the kernel gives it that identity only if the " +
		"daemon has CAP_SYS_PTRACE"
}

// detect asks the runtimes which of them runs the program. Of a script, it is its interpreter that counts.
func (m *Manager) detect(cmd *collector.Command) (collector.Runtime, error) {
	look := *cmd
	var err error
	if look.Path, err = interpreter(cmd.Path); err != nil {
		return nil, err
	}
	for _, rt := range m.cfg.Runtimes {
		ok, err := rt.Detect(&look)
		if err != nil {
			return nil, fmt.Errorf("detect runtime of %s: %w", cmd.Path, err)
		}
		if ok {
			return rt, nil
		}
	}
	return nil, fault.New(fault.Unsupported, "Run strobe doctor to see what this machine supports.",
		"no runtime of this build can launch %s", cmd.Path)
}

// start makes channel, store and process, in this order, and undoes in the other.
func (m *Manager) start(ctx context.Context, id string, rt collector.Runtime, cmd *collector.Command, r LaunchRequest,
	set settings.Settings) (_ *Session, err error) {
	log := m.log.With("session", id)
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for i := len(undo) - 1; i >= 0; i-- {
			if undoErr := undo[i](); undoErr != nil {
				log.Warn("undo launch", "err", undoErr)
			}
		}
	}()
	startMono, started := iochan.Monotonic(), time.Now().UnixNano()
	k := newSink(startMono, log)
	k.terminal, k.tap = r.Terminal, r.Tap
	meta := Info{
		ID: id, Name: r.Name, Command: cmp.Or(cmd.Name, cmd.Path), Args: cmd.Args[1:], ProjectRoot: cmd.ProjectRoot,
		Cwd:     cmd.Dir,
		Runtime: rt.Name(), Path: m.path(id), StartedAt: started, Status: string(Running),
	}
	of := store.Meta{SessionID: id, Command: meta.Command, Args: meta.Args, ProjectRoot: meta.ProjectRoot,
		Cwd: meta.Cwd, StartedAt: started, StartMono: startMono, Version: m.cfg.Version}
	origin(&of, &set)
	k.st, err = store.Create(meta.Path, of, store.Options{MaxEvents: set.EventsMaxPerSession,
		MaxBytes: set.BytesMaxPerSession, Logger: log, Room: m.room})
	if err != nil {
		return nil, fmt.Errorf("create event store: %w", err)
	}
	k.names = newThreadNames(k.st)
	unlock := m.lock(id)
	undo = append(undo, func() error { unlock(); return nil },
		func() error { return store.RemoveFile(meta.Path) }, k.st.Close)
	undo = append(undo, func() error { k.close(); return nil })
	attached := cmd.PID != 0
	k.crashes.read = func(context.Context) error { return nil }
	disp, err := m.openDisplay(ctx, cmd, r)
	if err != nil {
		return nil, err
	}
	if disp != nil {
		undo = append(undo, disp.Close)
	}
	var conn *iochan.Conn // stays nil for a program that has its files already
	if !attached {
		ch := iochan.Pipes
		if r.Terminal {
			ch = iochan.Terminal
		}
		conn, err = m.openChannel(ch, iochan.Options{Input: r.Stdin, KeepInput: r.KeepStdin, Columns: r.Columns, Rows: r.Rows,
			Clock: iochan.Monotonic}, k)
		if err != nil {
			return nil, fmt.Errorf("open channel: %w", err)
		}
		k.crashes.read = conn.Flush
		undo = append(undo, func() error { return m.closeChannel(conn) })
		cmd.Stdin, cmd.Stdout, cmd.Stderr = conn.Stdin, conn.Stdout, conn.Stderr
	}
	col, err := rt.Launch(ctx, cmd, k)
	if err != nil {
		return nil, launchError(cmd, err)
	}
	if conn != nil {
		conn.Started()
	}
	undo = append(undo, func() error { return stopCollector(col, !attached) })
	meta.PID = col.PID()
	if disp != nil {
		disp.Hold(meta.PID)
	}
	k.crashes.root.Store(int64(meta.PID))
	k.st.SetPID(meta.PID)
	k.changes.begin(begun(attached), caller(ctx), meta.PID)
	if err := m.index.Register(ctx, meta); err != nil {
		return nil, fmt.Errorf("list session: %w", err)
	}
	s := newSession(m, meta, k.st)
	s.sink, s.conn, s.col, s.status, s.traced = k, conn, col, Running, r.Tracing.clone()
	s.onFull, s.attached, s.unlock, s.display = cmd.OnFull, attached, unlock, disp
	if s.channels = r.Channels; s.channels == nil {
		s.channels = iochan.NewHub(cmd.ProjectRoot)
	}
	s.channels.Redact(cmd.Secrets)
	s.channels.Bind(channelTarget{s}, k.message)
	caps := col.Capabilities()
	s.caps = &caps
	log.Info("program started", "pid", meta.PID, "command", cmd.Path)
	return s, nil
}

// stopCollectorMax bounds the undoing of a launch.
const stopCollectorMax = 5 * time.Second

func stopCollector(col collector.Collector, kill bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopCollectorMax)
	defer cancel()
	return col.Stop(ctx, kill)
}

// launchError gives what a runtime's launch says a code, where it has none.
func launchError(cmd *collector.Command, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	hint := "See strobe doctor for what this machine allows."
	code := fault.LaunchFailed
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		hint = "The call ended before the program ran; nothing was left behind. Call again."
	case errors.Is(err, syscall.ENOEXEC):
		hint = "It is no program that this machine runs; build it again, or launch its interpreter."
	case errors.Is(err, syscall.E2BIG):
		hint = "Pass fewer or shorter args and env."
	case errors.Is(err, fs.ErrPermission):
		code = fault.PermissionDenied
		hint = "Check the file's mode, and that its file system is not mounted noexec."
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		hint = "The machine is out of processes or memory; stop something."
	}
	return fault.New(code, hint, "launch %s: %w", cmd.Path, err)
}
