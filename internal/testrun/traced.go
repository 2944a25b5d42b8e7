package testrun

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// endWait is how long a traced command's session may take to end once it is told to.
const endWait = 10 * time.Second

// traced runs a command as a session: its whole process tree is observed.
func (r *Run) traced(ctx context.Context, step *testadapter.Step) (testadapter.Exit, error) {
	path, err := r.lookIn(step)
	if err != nil {
		return testadapter.Exit{}, fault.New(fault.LaunchFailed, "Install it, or give its path in PATH with env.",
			"run %s: %w", step.Argv[0], err)
	}
	env := map[string]string{}
	for _, v := range r.environ(step) {
		if name, val, ok := strings.Cut(v, "="); ok && name != "" {
			env[name] = val
		}
	}
	policy := ""
	if r.Request.Compare != nil { // every call counts
		policy = "block"
	}
	r.mu.Lock()
	before := len(r.sessions)
	r.mu.Unlock()
	s, err := r.m.cfg.Sessions.Launch(ctx, session.LaunchRequest{
		Command: path, Args: step.Argv[1:], Cwd: step.Dir, ProjectRoot: r.Request.ProjectRoot, Env: env,
		Tracing: r.Request.Tracing,
		Name:    "test " + filepath.Base(r.Request.ProjectRoot), Drivers: step.Drivers, OnFullBuffer: policy,
		Begun: func(id string) { // before its first output, which may end a test
			r.mu.Lock()
			defer r.mu.Unlock()
			r.sessions = append(r.sessions, id)
		},
		Tap: func(stream iochan.Stream, data []byte) {
			if stream == iochan.Stderr {
				r.output(testadapter.Stderr, data)
			} else {
				r.output(testadapter.Stdout, data)
			}
		},
	})
	if err != nil {
		r.mu.Lock()
		if n := len(r.sessions); n > before {
			r.sessions = r.sessions[:before]
		}
		r.mu.Unlock()
		return testadapter.Exit{}, err
	}
	r.mu.Lock()
	r.live = s
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.live = nil
		r.mu.Unlock()
	}()
	look := func(ctx context.Context, _ []int) (*collector.ThreadReport, error) {
		if len(s.Pauses()) > 0 { // by a breakpoint: whoever set it lets it go on
			return nil, nil
		}
		return s.Threads(ctx)
	}
	spin := func(ctx context.Context, _ []int, before any) ([]collector.Loop, any, error) {
		if len(s.Pauses()) > 0 {
			return nil, nil, nil
		}
		return s.Loops(ctx, before)
	}
	procs := newFamily(s.PID(), step.Drivers, r.noted)
	unwatch := r.watched(step, procs, look, spin)
	defer unwatch()
	select {
	case <-s.Over():
	case <-ctx.Done():
		unwatch()
		if errors.Is(context.Cause(ctx), errTimeout) {
			r.lastLook(procs, look, nil)
		}
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
		_, err = r.m.cfg.Sessions.Stop(stop, s.ID, session.StopOptions{Kill: true, Retain: true})
		cancel()
	}
	r.hooks(s)
	var x testadapter.Exit
	if st, e := s.State(context.WithoutCancel(ctx)); e == nil {
		if st.ExitCode != nil {
			x.Code = *st.ExitCode
		}
		x.Signal = st.Signal
	}
	return x, err
}

// tracing is what became of the patterns and watches of a run: the best of all its commands, since one of several test
// programs need not have what another has.
type tracing struct {
	Probes  []collector.ProbeStatus
	Watches []collector.WatchStatus
}

// hooks takes in what became of them in a session.
func (r *Run) hooks(s *session.Session) {
	st, err := s.Started()
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range st.Trace.Probes {
		i := slices.IndexFunc(r.hooked.Probes, func(o collector.ProbeStatus) bool { return o.Pattern == p.Pattern })
		switch {
		case i < 0:
			r.hooked.Probes = append(r.hooked.Probes, p)
		case p.Hooked > r.hooked.Probes[i].Hooked || p.Matched > r.hooked.Probes[i].Matched:
			r.hooked.Probes[i] = p
		}
	}
	for _, w := range st.Trace.Watches {
		i := slices.IndexFunc(r.hooked.Watches, func(o collector.WatchStatus) bool { return o.Label == w.Label })
		switch {
		case i < 0:
			r.hooked.Watches = append(r.hooked.Watches, w)
		case w.Functions > r.hooked.Watches[i].Functions:
			r.hooked.Watches[i] = w
		}
	}
}

// Hooked is what became of the patterns and watches, once the run has ended.
func (r *Run) Hooked() ([]collector.ProbeStatus, []collector.WatchStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.hooked.Probes), slices.Clone(r.hooked.Watches)
}

// lookIn finds a step's program. A relative path is relative to where the step runs.
func (r *Run) lookIn(step *testadapter.Step) (string, error) {
	if name := step.Argv[0]; strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return lookPath("")(filepath.Join(step.Dir, name))
	}
	for _, v := range step.Env {
		if len(v) > 5 && v[:5] == "PATH=" {
			return lookPath(v[5:])(step.Argv[0])
		}
	}
	return lookPath(r.Request.Env["PATH"])(step.Argv[0])
}
