package hunt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// begun is one program that a command began.
type begun struct {
	Program
	threads int
	from    time.Time
	took    time.Duration
}

// beginner watches which programs a command begins. All but what watch does belongs to the tracer's thread.
type beginner struct {
	pid   int
	now   map[int]*begun // by process
	all   []*begun
	ended chan struct{}
}

// programsOf runs a command, and returns what it began, and that began, in this order. What they write is lost.
func programsOf(ctx context.Context, p *Program) ([]*begun, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	b := &beginner{now: map[int]*begun{}, ended: make(chan struct{})}
	t, err := ptrace.NewTracer(b.stop)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	err = t.Do(ctx, func() error {
		pid, err := t.Launch(ptrace.Program{Path: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env, Dir: p.Dir,
			Files: [3]uintptr{null.Fd(), null.Fd(), null.Fd()}})
		if err != nil {
			return err
		}
		b.pid = pid
		b.begins(pid)
		return ptrace.Cont(pid, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", p.Path, err)
	}
	select {
	case <-b.ended:
	case <-ctx.Done():
		unix.Kill(-b.pid, unix.SIGKILL)
		<-b.ended
		return nil, ctx.Err()
	}
	var all []*begun
	err = t.Do(context.Background(), func() error {
		all = b.all
		return nil
	})
	return all, err
}

// stop is told each stop and end. What cannot be done to a process that is gone does not matter.
func (b *beginner) stop(s ptrace.Stop) {
	if s.Ended {
		if one := b.now[s.TID]; one != nil {
			one.took = time.Since(one.from)
			delete(b.now, s.TID)
		}
		if s.TID == b.pid {
			close(b.ended)
		}
		return
	}
	signal := s.Signal
	switch {
	case s.GroupStop():
		ptrace.Listen(s.TID) //nolint:errcheck // it is gone
		return
	case s.Event == ptrace.EventExec:
		b.begins(s.TID)
	case s.Event == ptrace.EventClone:
		if one := b.now[ptrace.Process(s.TID)]; one != nil {
			one.threads++
		}
	}
	if s.Event != 0 {
		signal = 0
	}
	ptrace.Cont(s.TID, signal) //nolint:errcheck // it is gone
}

// begins notes what a process runs from now on.
func (b *beginner) begins(pid int) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	path, err := os.Readlink(proc + "exe")
	dir, err2 := os.Readlink(proc + "cwd")
	args, err3 := os.ReadFile(proc + "cmdline")
	env, err4 := os.ReadFile(proc + "environ")
	delete(b.now, pid)
	if errors.Join(err, err2, err3, err4) != nil {
		return
	}
	list := func(text []byte) []string {
		return strings.Split(string(bytes.TrimSuffix(text, []byte{0})), "\x00")
	}
	one := &begun{Program: Program{Path: filepath.Clean(path), Dir: dir, Env: list(env)}, from: time.Now()}
	if words := list(args); len(words) > 1 {
		one.Args = words[1:]
	}
	b.now[pid] = one
	b.all = append(b.all, one)
}
