//go:build unix

package service

import (
	"context"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
)

// plainRuntime starts real programs and traces nothing, so that the operations are tested without an engine.
// Each probe shows as one call of a function of that name at launch.
type plainRuntime struct{}

func (plainRuntime) Name() string                                { return "native" }
func (plainRuntime) Detect(cmd *collector.Command) (bool, error) { return true, nil }

func (plainRuntime) Launch(ctx context.Context, cmd *collector.Command, sink collector.Sink) (collector.Collector,
	error) {
	c := &plainCollector{exited: make(chan struct{})}
	c.cmd = &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: cmd.Terminal},
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.SetTracing(ctx, cmd.Tracing)
	th := sink.Thread(event.Thread{PID: int32(c.PID()), TID: int32(c.PID()), Name: "main"})
	for _, p := range cmd.Tracing.Probes {
		f := sink.Function(event.Function{Name: p.Pattern})
		now := sink.Now()
		sink.Events([]event.Event{
			{TS: now, Kind: event.FunctionEnter, Func: f, Thread: th},
			{TS: now + 100, Kind: event.FunctionExit, Func: f, Thread: th},
		})
	}
	go func() {
		c.cmd.Wait()
		ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if c.exit.Code = ws.ExitStatus(); ws.Signaled() {
			c.exit = collector.ExitInfo{Signal: "SIGKILL"} // the only one that these tests send
		}
		close(c.exited)
	}()
	return c, nil
}

type plainCollector struct {
	cmd    *exec.Cmd
	exited chan struct{}
	exit   collector.ExitInfo

	mu     sync.Mutex
	probes []collector.Probe
}

func (c *plainCollector) PID() int { return c.cmd.Process.Pid }

func (c *plainCollector) SetTracing(ctx context.Context, tracing collector.Tracing) (collector.Status, error) {
	c.mu.Lock()
	c.probes = slices.Clone(tracing.Probes)
	c.mu.Unlock()
	return c.Status(), nil
}

func (c *plainCollector) Status() collector.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := collector.Status{Hooked: len(c.probes), Matched: len(c.probes)}
	for _, p := range c.probes {
		ps := collector.ProbeStatus{Pattern: p.Pattern, Matched: 1, Hooked: 1}
		if p.Pattern == "nothing" {
			ps = collector.ProbeStatus{Pattern: p.Pattern, Warning: "matches no function"}
			for i := range 30 {
				u := collector.Unhookable{Function: string(rune('a' + i)), Reason: "too short"}
				if i > 25 {
					u.Reason = "no code"
				}
				st.Unhookable = append(st.Unhookable, u)
			}
		}
		st.Probes = append(st.Probes, ps)
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
	return collector.Capabilities{Runtime: "native", FunctionTracing: "none", OutputCapture: "full"}
}
