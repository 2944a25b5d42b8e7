package iochan

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/strobe-debug/strobe/internal/fault"
)

// sentSignals are those that the channel sends.
var sentSignals = []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGKILL",
	"SIGCONT", "SIGSTOP", "SIGTSTP", "SIGWINCH", "SIGALRM"}

var processKind = Kind{
	Name: "process", Doc: "Signals to the program, its stop and continuation, limits of its resources.", Always: true,
	Messages: []Spec{
		{"signal", "sends a signal to its process group", []Field{
			{Name: "signal", Type: "string", Required: true, Enum: sentSignals, Doc: "its name"}}},
		{"stop", "stops it, as SIGSTOP", nil},
		{"continue", "lets it go on, as SIGCONT", nil},
		{"limit", "sets a resource limit of all its processes; a limit that was lowered can be raised to hard again",
			[]Field{
				{Name: "resource", Type: "string", Required: true, Enum: resourceNames(), Doc: "which"},
				{Name: "soft", Type: "integer", Required: true, Min: 0, Max: 1 << 62, Doc: "bytes, seconds or a count"},
				{Name: "hard", Type: "integer", Min: 0, Max: 1 << 62, Doc: "as it is, if it is left out"},
			}},
	},
	New: func(string, json.RawMessage) (Channel, error) { return &process{}, nil },
}

func resourceNames() []string {
	names := []string{"as", "core", "cpu", "data", "fsize", "nofile", "nproc", "stack"}
	slices.Sort(names)
	return names
}

// process sends signals and sets limits; what processes do is told by the session's own events.
type process struct{ t Target }

func (*process) Name() string { return "process" }
func (*process) Close() error { return nil }
func (c *process) Open(_ context.Context, t Target, _ Out) error {
	c.t = t
	return nil
}

// limited is a process and the limit that it has now.
type limited struct {
	PID  int    `json:"pid"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

func (c *process) Send(ctx context.Context, m Message) (any, error) {
	var b struct {
		Signal, Resource string
		Soft             uint64
		Hard             *uint64
	}
	if err := m.Into(&b); err != nil {
		return nil, err
	}
	switch m.Do {
	case "signal":
		return nil, c.t.Signal(ctx, b.Signal)
	case "stop":
		return nil, c.t.Signal(ctx, "SIGSTOP")
	case "continue":
		return nil, c.t.Signal(ctx, "SIGCONT")
	}
	pids := c.t.PIDs()
	if len(pids) == 0 {
		return nil, fault.New(fault.ProcessExited, "Launch it again with debug_launch.", "no process of the program lives")
	}
	all := []limited{}
	for _, pid := range pids {
		l, err := setLimit(pid, b.Resource, b.Soft, b.Hard)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return map[string]any{"limits": all}, nil
}
