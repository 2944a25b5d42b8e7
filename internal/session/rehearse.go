package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/store"
)

// rehearsed is the program that a worker launches that was started ahead: it does nothing, and has the libraries that
// most programs have.
const rehearsed = "true"

// rehearsalMax bounds a rehearsal.
const rehearsalMax = 5 * time.Second

// rehearse launches a program that does nothing, and forgets it: what a process does for the first time (symbols of the
// C library looked through, memory that nobody touched yet) took a launch from 11 to 20 ms.
func (m *Manager) rehearse() (err error) {
	ctx, cancel := context.WithTimeout(m.ctx, rehearsalMax)
	defer cancel()
	r := LaunchRequest{Command: rehearsed, ProjectRoot: "/"}
	cmd, err := resolve(&r)
	if err != nil {
		return err
	}
	rt, err := m.detect(cmd)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "strobe-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	set, _ := m.cfg.Settings.Load("")
	log := slog.New(slog.DiscardHandler)
	k := newSink(iochan.Monotonic(), log)
	k.st, err = store.Create(filepath.Join(dir, "session.db"),
		store.Meta{SessionID: rehearsed, Command: cmd.Path, StartedAt: time.Now().UnixNano()}, store.Options{Logger: log})
	if err != nil {
		return fmt.Errorf("create event store: %w", err)
	}
	defer k.st.Close()
	k.names = newThreadNames(k.st)
	defer k.close()
	conn, err := m.openChannel(iochan.Pipes, iochan.Options{Clock: iochan.Monotonic}, k)
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	defer m.closeChannel(conn) //nolint:errcheck // nobody reads it
	k.crashes.read = conn.Flush
	cmd.Stdin, cmd.Stdout, cmd.Stderr = conn.Stdin, conn.Stdout, conn.Stderr
	cmd.OnFull, cmd.Lines, cmd.NoWrites = collector.OnFull(set.OnFullBuffer), set.LineBuffer, !set.RecordWrites
	cmd.Tracing = Tracing{Probes: []collector.Probe{{Pattern: "main", Depth: set.SerializationDepth}}}.forCollector(set,
		cmd.OnFull)
	col, err := rt.Launch(ctx, cmd, k)
	if err != nil {
		return launchError(cmd, err)
	}
	conn.Started()
	select {
	case <-col.Exited():
	case <-ctx.Done():
	}
	return errors.Join(k.st.Flush(ctx), stopCollector(col, true))
}
