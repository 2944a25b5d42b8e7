//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// plainRuntime starts programs as they are and traces nothing: a real process, real files, real
// signals, without an engine under test. Its collector records one call per probe when it is set.
type plainRuntime struct {
	mu       sync.Mutex
	started  []*plainCollector
	launchIn chan struct{} // if set, Launch waits for it or for its context
}

func (r *plainRuntime) Name() string { return "plain" }

func (r *plainRuntime) Detect(cmd *collector.Command) (bool, error) { return true, nil }

func (r *plainRuntime) Launch(ctx context.Context, cmd *collector.Command, sink collector.Sink) (collector.Collector,
	error) {
	if r.launchIn != nil {
		select {
		case <-r.launchIn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c := &plainCollector{sink: sink, exited: make(chan struct{})}
	c.cmd = &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: cmd.Terminal},
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.SetTracing(ctx, cmd.Tracing)
	go c.wait()
	r.mu.Lock()
	r.started = append(r.started, c)
	r.mu.Unlock()
	return c, nil
}

type plainCollector struct {
	cmd    *exec.Cmd
	sink   collector.Sink
	exited chan struct{}
	exit   collector.ExitInfo

	onStatus func() // if set, called by Status once

	mu     sync.Mutex
	probes []collector.Probe
}

func (c *plainCollector) wait() {
	c.cmd.Wait()
	ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	c.exit.Code = ws.ExitStatus()
	if ws.Signaled() {
		c.exit = collector.ExitInfo{Signal: map[syscall.Signal]string{
			syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT", syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM",
		}[ws.Signal()]}
		if c.exit.Signal == "SIGSEGV" {
			c.sink.Crash(collector.Crash{PID: c.cmd.Process.Pid, TS: c.sink.Now(), Thread: event.NoThread,
				Crash: crash.Crash{Signal: "SIGSEGV", Fatal: true}})
		}
	}
	c.sink.Ended(c.cmd.Process.Pid, c.exit)
	close(c.exited)
}

func (c *plainCollector) PID() int { return c.cmd.Process.Pid }

func (c *plainCollector) SetTracing(ctx context.Context, tracing collector.Tracing) (collector.Status, error) {
	for _, p := range tracing.Probes {
		if p.Pattern == "bad[" {
			return collector.Status{}, fault.New(fault.InvalidPattern, "Close the bracket.", "pattern %q", p.Pattern)
		}
	}
	c.mu.Lock()
	c.probes = slices.Clone(tracing.Probes)
	c.mu.Unlock()
	return c.Status(), nil
}

func (c *plainCollector) Status() collector.Status {
	if f := c.onStatus; f != nil {
		c.onStatus = nil
		f()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := collector.Status{Hooked: len(c.probes), Matched: len(c.probes)}
	for _, p := range c.probes {
		st.Probes = append(st.Probes, collector.ProbeStatus{Pattern: p.Pattern, Matched: 1, Hooked: 1})
	}
	return st
}

func (c *plainCollector) PIDs() []int {
	select {
	case <-c.exited:
		return nil
	default:
		return []int{c.PID()}
	}
}

func (c *plainCollector) Flush(ctx context.Context) error { return nil }
func (c *plainCollector) Exited() <-chan struct{}         { return c.exited }
func (c *plainCollector) Exit() collector.ExitInfo        { return c.exit }

func (c *plainCollector) Stop(ctx context.Context, kill bool) error {
	if !kill {
		return nil
	}
	syscall.Kill(-c.PID(), syscall.SIGKILL)
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *plainCollector) Capabilities() collector.Capabilities {
	return collector.Capabilities{Runtime: "native", RuntimeDetail: "untraced", FunctionTracing: "none",
		OutputCapture: "full"}
}

// calls sends n calls of a function on one thread, a nanosecond apart, ending now.
func (c *plainCollector) calls(name string, n int) {
	id := c.sink.Function(event.Function{Name: name})
	th := c.sink.Thread(event.Thread{PID: int32(c.PID()), TID: int32(c.PID()), Name: "main"})
	now := c.sink.Now()
	batch := make([]event.Event, 0, 2*n)
	for i := range n {
		ts := now - int64(2*(n-i))
		batch = append(batch, event.Event{TS: ts, Kind: event.FunctionEnter, Func: id, Thread: th},
			event.Event{TS: ts + 1, Kind: event.FunctionExit, Func: id, Thread: th})
	}
	c.sink.Events(batch)
}

func (r *plainRuntime) last() *plainCollector {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started[len(r.started)-1]
}

// openFiles counts this process's open files.
func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// children lists this process's children, zombies included.
func children() []string {
	out, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return strings.Fields(string(out))
}
