package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) threadsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "threads [ID|PID]",
		Short: "Show what every thread of a running session does, and deadlocks",
		Long: `Looks at every thread of a running program, without its notice: what it waits for, who holds that, and
where in the program's own code it is, innermost function first. Without an argument it takes the one session that
runs.`,
		Example: `  strobe threads
  strobe threads app-2026-05-04-10h30`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			id, err := c.running(cmd.Context(), args)
			if err != nil {
				return err
			}
			raw, err := c.call(cmd.Context(), "debug_session",
				map[string]any{"action": "status", "sessionId": id, "threads": true})
			if err != nil {
				return err
			}
			return a.printThreads(raw)
		},
	}
}

// running is runningSession of the daemon's.
func (c *client) running(ctx context.Context, args []string) (string, error) {
	raw, err := c.call(ctx, "debug_session", map[string]any{"action": "list"})
	if err != nil {
		return "", err
	}
	return runningSession(raw, args)
}

// runningSession finds the session that a command means: by id, by its program's process, or the only one that runs.
func runningSession(list json.RawMessage, args []string) (string, error) {
	var all struct {
		Sessions []sessionRow `json:"sessions"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return "", fmt.Errorf("read session list: %w", err)
	}
	pid := 0
	if len(args) == 1 {
		var err error
		if pid, err = strconv.Atoi(args[0]); err != nil {
			return args[0], nil
		}
	}
	var running []string
	for _, s := range all.Sessions {
		switch {
		case s.Status != "running" && s.Status != "paused":
		case pid != 0 && s.PID == pid:
			return s.SessionID, nil
		case pid == 0:
			running = append(running, s.SessionID)
		}
	}
	switch {
	case pid != 0:
		return "", fault.New(fault.SessionNotFound, "See `strobe sessions`; the program must run in a session.",
			"no running session has process %d", pid)
	case len(running) == 0:
		return "", &exitStatus{exitNothing, "no session runs; start one with `strobe run -- PROGRAM`"}
	case len(running) > 1:
		return "", fault.New(fault.ValidationError, "Give one of them.", "%d sessions run: %s", len(running),
			strings.Join(running, ", "))
	}
	return running[0], nil
}

// threadRow is what is printed of one thread, or of several that do the same.
type threadRow struct {
	ThreadID   int    `json:"threadId"`
	Name       string `json:"name"`
	PID        int    `json:"pid"`
	State      string `json:"state"`
	WaitingFor *struct {
		Kind   string `json:"kind"`
		Object string `json:"object"`
		Name   string `json:"name"`
		Owner  int    `json:"owner"`
		Known  string `json:"ownerKnownBy"`
		Gone   bool   `json:"ownerGone"`
		FD     *int   `json:"fd"`
		File   string `json:"file"`
		Detail string `json:"detail"`
		Timed  bool   `json:"timed"`
	} `json:"waitingFor"`
	Backtrace []string `json:"backtrace"`
	Note      string   `json:"note"`
	Count     int      `json:"count"`
}

func (a *app) printThreads(raw json.RawMessage) error {
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
		return nil
	}
	var r struct {
		Threads     []threadRow `json:"threads"`
		ThreadCount int         `json:"threadCount"`
		NotShown    int         `json:"threadsNotShown"`
		Deadlocks   []struct {
			Text    string `json:"text"`
			Blocked int    `json:"blocked"`
		} `json:"deadlocks"`
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	a.warn(r.Warnings)
	if len(r.Threads) == 0 {
		return &exitStatus{exitNothing, "no threads"}
	}
	for _, d := range r.Deadlocks {
		fmt.Fprintln(a.out, a.paint(red, d.Text))
		if d.Blocked > 0 {
			fmt.Fprintf(a.out, "  %d more wait for them\n", d.Blocked)
		}
	}
	for i := range r.Threads {
		fmt.Fprint(a.out, a.threadText(&r.Threads[i]))
	}
	if r.NotShown > 0 {
		fmt.Fprintf(a.out, "… %d of %d threads are not shown\n", r.NotShown, r.ThreadCount)
	}
	return nil
}

// threadText is one thread with its stack.
func (a *app) threadText(t *threadRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", a.paint(cyan, fmt.Sprint(t.ThreadID)))
	if t.Name != "" {
		b.WriteString(" " + t.Name)
	}
	if t.Count > 1 {
		fmt.Fprintf(&b, " and %d more", t.Count-1)
	}
	if t.PID != 0 {
		fmt.Fprintf(&b, " of process %d", t.PID)
	}
	b.WriteString(": " + t.State)
	if w := t.WaitingFor; w != nil {
		b.WriteString(" for " + w.Kind)
		for _, word := range []string{cmp.Or(w.Name, w.Object), w.Detail} {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		if w.FD != nil {
			fmt.Fprintf(&b, " (fd %d, %s)", *w.FD, w.File)
		}
		switch {
		case w.Gone:
			fmt.Fprintf(&b, ", held by thread %d, which is gone", w.Owner)
		case w.Owner != 0 && w.Kind == "join":
			fmt.Fprintf(&b, " of thread %d", w.Owner)
		case w.Owner != 0 && w.Kind == "child":
			fmt.Fprintf(&b, ", thread %d", w.Owner)
		case w.Owner != 0:
			fmt.Fprintf(&b, ", held by thread %d", w.Owner)
			if w.Known != "lock" {
				b.WriteString(" (inferred)")
			}
		}
		if w.Timed {
			b.WriteString(", with a time limit")
		}
	}
	b.WriteByte('\n')
	for _, f := range t.Backtrace {
		b.WriteString("    " + f + "\n")
	}
	if t.Note != "" {
		b.WriteString(a.paint(dim, "    "+t.Note) + "\n")
	}
	return b.String()
}
