package session

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// AttachRequest says which running process to observe.
type AttachRequest struct {
	PID          int
	ProjectRoot  string // absolute
	SymbolsPath  string
	Tracing      Tracing
	OnFullBuffer string // a collector.OnFull; "": from settings
	Name         string
	KeepSecrets  bool // as LaunchRequest.KeepSecrets
}

// Attach begins to observe a process that runs and returns its session. On any error the process runs on as before, and
// nothing is left.
func (m *Manager) Attach(ctx context.Context, r AttachRequest) (*Session, error) {
	rt, cmd, err := m.find(r.PID)
	if err != nil {
		return nil, err
	}
	l := LaunchRequest{ProjectRoot: r.ProjectRoot, SymbolsPath: r.SymbolsPath, Tracing: r.Tracing,
		OnFullBuffer: r.OnFullBuffer, Name: r.Name, KeepSecrets: r.KeepSecrets}
	if err := resolveProject(&l, cmd); err != nil {
		return nil, err
	}
	return m.begin(ctx, rt, cmd, l)
}

// find asks the runtimes which of them can attach to the process.
func (m *Manager) find(pid int) (collector.Runtime, *collector.Command, error) {
	if id := m.sessionOf(pid); id != "" {
		return nil, nil, fault.New(fault.AttachFailed,
			fmt.Sprintf("Use that session: debug_trace adds patterns while it runs. To begin anew, stop it first "+
				"(debug_session stop with kill false, sessionId %s).", id),
			"process %d belongs to session %s already", pid, id)
	}
	err := error(fault.New(fault.Unsupported, "Launch the program with command instead.",
		"no runtime of this build can attach to a running process"))
	for _, rt := range m.cfg.Runtimes {
		a, ok := rt.(collector.Attacher)
		if !ok {
			continue
		}
		var cmd *collector.Command
		if cmd, err = a.Find(pid); err == nil {
			return rt, cmd, nil
		}
	}
	return nil, nil, err
}

// sessionOf returns the session that observes a process, "" if none does.
func (m *Manager) sessionOf(pid int) string {
	m.mu.Lock()
	var live []*Session
	for _, s := range m.sessions {
		if s.Live() && s.col != nil {
			live = append(live, s)
		}
	}
	m.mu.Unlock()
	for _, s := range live {
		for _, p := range s.col.PIDs() {
			if p == pid {
				return s.ID
			}
		}
	}
	return ""
}

// resolveProject fills in what a command has of the request, whether it is launched or runs already.
func resolveProject(r *LaunchRequest, cmd *collector.Command) error {
	if !filepath.IsAbs(r.ProjectRoot) {
		return fault.New(fault.ValidationError, "Give the absolute path of the project's directory.",
			"projectRoot %q is not an absolute path", r.ProjectRoot)
	}
	cmd.ProjectRoot = filepath.Clean(r.ProjectRoot)
	if err := checkDir("projectRoot", cmd.ProjectRoot); err != nil {
		return err
	}
	var err error
	cmd.SymbolsPath, err = symbolsPath(r)
	return err
}

// Attached reports a session whose program runs by itself: a stop lets it run on unless it is told otherwise.
func (s *Session) Attached() bool { return s.attached }
