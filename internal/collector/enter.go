package collector

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Injector is a target into whose processes other runtimes may come while they run: an optional power of a Hosted.
// Safe for concurrent use.
type Injector interface {
	// Running tells of the image that a process runs, with the files that are mapped in it.
	Running(pid int) (Image, error)
	// Inject starts a thread in a process that makes calls, and returns when it has been started: what becomes of the
	// calls is theirs to tell. An UNSUPPORTED says why nothing can be started there. With any error the process runs on
	// as before.
	Inject(ctx context.Context, pid int, s Script) error
	// Handler returns where a process handles a signal, 0 or 1 where it does not, and the flags of that: those of
	// sigaction.
	Handler(ctx context.Context, pid int, signal syscall.Signal) (address, flags uint64, err error)
	// Raise sends a signal to a process's first thread where that computes, or waits in one of the system calls of in,
	// which do not fail by it. Else nothing is sent, and blocked is the number of the call that it is in; -1: it was sent.
	Raise(ctx context.Context, pid int, signal syscall.Signal, in []int) (blocked int, err error)
	// Patience begins a wait for a process. What it returns says whether to wait on: the bound has not passed, or the
	// process wanted a CPU for most of the time and others had it, and is waited for as long again.
	Patience(pid int, bound time.Duration) (within func() bool)
}

// Script is what a thread of ours does in a process: calls of C functions that one of its files exports.
type Script struct {
	Library string // what the name of that file has in it, unless it is the program itself
	// Start is the function that starts a thread: int start(void (*run)(void *), void *argument), of which -1 says that
	// there can be none. It is called on a thread of the process, which goes on as it was.
	Start string
	Calls []Call
	// Until is a file that a call makes. The thread that the start is called on is one that waits in a system call, if
	// there comes to be one soon, and stands still until the file is there, for a tenth of a second at most; "": neither.
	Until string
}

// Call is one of a script's calls.
type Call struct {
	Function string
	Args     []Arg // up to six
	Else     int   // the call to go on with where the result is 0, as a position; 0: the next
	Int      bool  // the result is an int, not a pointer
}

// End is an Else behind every call: the thread ends.
const End = 1 << 20

// Arg is an argument of a Call: a text, the result of another call, or a number.
type Arg struct {
	Text   string
	Result int // 1 for that of the first call; 0: none
	Number int64
}

// Enterer is a Member whose agent may come into a process that runs: an optional power.
type Enterer interface {
	// Enter brings the agent in. A StaysOut says why the process is watched without it; with any other error it is not
	// watched at all.
	Enter(ctx context.Context, img Image, in Injector) error
}

// StaysOut says why functions of a runtime are not traced in a process that was attached to, and what to do.
type StaysOut string

// Error implements error.
func (s StaysOut) Error() string { return string(s) }

// enter brings the agent of the runtime that the program is of into it: it runs already.
func (g *Group) enter(ctx context.Context) error {
	in, ok := g.Hosted.(Injector)
	if !ok {
		return nil
	}
	img, err := in.Running(g.PID())
	if err != nil {
		return nil // it has ended: that is the host's to tell
	}
	for _, j := range g.t.joiners {
		if !j.Detect(img) {
			continue
		}
		g.mu.Lock()
		m := g.memberLocked(j)
		g.mu.Unlock()
		e, ok := m.(Enterer)
		if !ok {
			return nil
		}
		err := e.Enter(ctx, img, in)
		if stays := StaysOut(""); errors.As(err, &stays) {
			g.mu.Lock()
			g.refused, g.stays = append(g.refused, string(stays)), append(g.stays, string(stays))
			g.mu.Unlock()
			return nil
		}
		if err != nil {
			return err
		}
		if img.Files = nil; !j.Detect(img) {
			return nil // the program is another's, and has this runtime in it
		}
		g.mu.Lock()
		g.first = map[int]Member{img.PID: m}
		g.mu.Unlock()
		return nil
	}
	return nil
}

// memberLocked is the runtime's part of the target, nil where it cannot join: then that is said.
func (g *Group) memberLocked(j Joiner) Member {
	for _, m := range g.members {
		if m.Name() == j.Name() {
			return m
		}
	}
	m, err := j.Join(Joining{Root: g.cmd.ProjectRoot, OnFull: g.cmd.OnFull, Lines: g.cmd.Lines,
		Secrets: g.cmd.Secrets, Sink: memberSink{g.sink, &g.mix}, Numbers: g.cmd.Numbers})
	if err != nil {
		g.refused = append(g.refused, j.Name()+" functions cannot be traced: "+err.Error())
		g.t.log("cannot join", "runtime", j.Name(), "err", err)
		return nil
	}
	if _, err := m.SetTracing(context.Background(), g.tracing); err != nil {
		g.refused = append(g.refused, err.Error())
	}
	if s := stops(m); s != nil && len(g.share(m.Name(), g.points)) > 0 {
		if _, err := s.SetPoints(context.Background(), g.share(m.Name(), g.points)); err != nil {
			g.refused = append(g.refused, err.Error())
		}
	}
	g.members = append(g.members, m)
	g.joined.Store(true)
	return m
}

// letGoWithin bounds the undoing of an attach.
const letGoWithin = 30 * time.Second

// letGo undoes an attach.
func (g *Group) letGo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoWithin)
	defer cancel()
	if err := g.Stop(ctx, false); err != nil {
		g.t.log("let a process go", "pid", g.PID(), "err", err)
	}
}
