package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/crash"
)

func (a *app) coreCommand() *cobra.Command {
	var symbols, project string
	c := &cobra.Command{
		Use:   "core BINARY CORE",
		Short: "Open a core file: why the program died, where, with which values",
		Long: `Opens a core file, as the kernel or gcore wrote it, as a session that can only be read, and prints its
crash. BINARY is the program that crashed; it may have been moved, but must be the same build. Cores packed with
zstd or gzip are read as they are. With --json it prints the session's status, whose crashInfo is the crash in
short.`,
		Example: `  strobe core ./build/app core.1234
  strobe core --symbols ./sysroot ./app /var/lib/systemd/coredump/core.app.zst
  strobe query app-2026-05-04-10h30 --event-type crash --json`,
		Args: cobra.ExactArgs(2),
	}
	c.Flags().StringVar(&symbols, "symbols", "",
		"directory with libraries and debug information of the machine where it crashed")
	c.Flags().StringVar(&project, "project", "", "directory of the user's source (default: found by the program)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
		paths := []string{args[0], args[1], symbols, project}
		for i, p := range paths {
			if p != "" && !filepath.IsAbs(p) {
				paths[i] = filepath.Join(dir, p)
			}
		}
		if paths[3] == "" {
			paths[3] = projectOf(dir, paths[:1])
		}
		req := map[string]any{"command": paths[0], "core": paths[1], "projectRoot": paths[3]}
		if symbols != "" {
			req["symbolsPath"] = paths[2]
		}
		return a.openCore(cmd, req)
	}
	return c
}

func (a *app) openCore(cmd *cobra.Command, req map[string]any) error {
	ctx := cmd.Context()
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var opened struct {
		SessionID string   `json:"sessionId"`
		Warnings  []string `json:"warnings"`
	}
	if err := c.callInto(ctx, "debug_launch", req, &opened); err != nil {
		return err
	}
	if a.json {
		raw, err := c.call(ctx, "debug_session", map[string]any{"action": "status", "sessionId": opened.SessionID})
		if err != nil {
			return err
		}
		return a.printObject(raw)
	}
	a.warn(opened.Warnings)
	var q struct {
		Events []crashEvent `json:"events"`
	}
	if err := c.callInto(ctx, "debug_query",
		map[string]any{"sessionId": opened.SessionID, "eventType": "crash", "verbose": true}, &q); err != nil {
		return err
	}
	for i := range q.Events {
		fmt.Fprint(a.out, a.crashText(&q.Events[i]))
	}
	fmt.Fprintln(a.out, "session "+opened.SessionID)
	return nil
}

// crashEvent is a crash as queries show it.
type crashEvent struct {
	ThreadID   int    `json:"threadId"`
	ThreadName string `json:"threadName"`
	crash.Crash
}

func (e *crashEvent) UnmarshalJSON(b []byte) error {
	type thread struct { // by itself: Crash's own UnmarshalJSON would be the whole one's
		ThreadID   int    `json:"threadId"`
		ThreadName string `json:"threadName"`
	}
	var t thread
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	c, err := crash.ParseShown(b)
	if err != nil {
		return err
	}
	*e = crashEvent{t.ThreadID, t.ThreadName, *c}
	return nil
}

// crashText is a crash for people: reason, place, stack with values, the other threads.
func (a *app) crashText(e *crashEvent) string {
	var b strings.Builder
	title := e.Reason
	if e.Signal != "" {
		title = e.Signal + ": " + e.Reason
	}
	fmt.Fprintln(&b, a.paint(red, title))
	if e.Function != "" && e.Line > 0 {
		fmt.Fprintf(&b, "  in %s at %s:%d\n", e.Function, e.File, e.Line)
	}
	if e.ExceptionType != "" {
		fmt.Fprintf(&b, "  exception %s: %s\n", e.ExceptionType, e.ExceptionMessage)
	}
	if t := e.ThrownAt; t != nil {
		fmt.Fprintf(&b, "  thrown in %s at %s:%d\n", t.Function, t.File, t.Line)
	}
	for _, cause := range slices.Concat(e.Nested, e.CausedBy) {
		fmt.Fprintf(&b, "  caused by %s\n", cause)
	}
	for i := range e.Causes {
		fmt.Fprintf(&b, "  caused by %s\n", e.Causes[i].Text())
	}
	if e.Recursion != "" {
		fmt.Fprintf(&b, "  recursion: %s\n", e.Recursion)
	}
	if e.EndedBy != "" {
		fmt.Fprintf(&b, "  %s: %s\n", e.EndedBy, strings.Join(e.Handler, ", "))
	}
	fmt.Fprintf(&b, "%s %s\n", a.paint(cyan, fmt.Sprintf("thread %d", e.ThreadID)), e.ThreadName)
	next := 0
	for i := range e.Backtrace {
		f := &e.Backtrace[i]
		if f.Index > next {
			fmt.Fprintf(&b, "  … %d frames\n", f.Index-next)
		}
		next = f.Index + 1
		name := f.Function
		switch {
		case f.Signal:
			name = "<signal handler called>"
		case name == "":
			name = f.Address
		}
		if len(f.Arguments) > 0 {
			name += "(" + argumentText(f.Arguments.AppendJSON(nil)) + ")"
		}
		fmt.Fprintf(&b, "  #%d %s", f.Index, name)
		switch {
		case f.Line > 0:
			fmt.Fprintf(&b, " at %s:%d", filepath.Base(f.File), f.Line)
		case f.Module != "":
			b.WriteString(" in " + filepath.Base(f.Module))
		}
		if f.FoundBy != "" {
			b.WriteString(a.paint(dim, " (by "+f.FoundBy+", may be wrong)"))
		}
		b.WriteByte('\n')
		if len(f.Locals) > 0 {
			fmt.Fprintf(&b, "       %s\n", argumentText(f.Locals.AppendJSON(nil)))
		}
	}
	if e.StackEnd != "" {
		b.WriteString(a.paint(dim, "  the stack ends early: "+e.StackEnd) + "\n")
	}
	for _, t := range e.Threads {
		fmt.Fprintf(&b, "%s %s", a.paint(cyan, fmt.Sprintf("thread %d", t.ThreadID)), t.Name)
		if t.Alike > 0 {
			fmt.Fprintf(&b, " and %d more alike", t.Alike)
		}
		b.WriteString("\n")
		for _, line := range t.Backtrace {
			b.WriteString("  " + line + "\n")
		}
	}
	if e.MoreThreads > 0 {
		fmt.Fprintf(&b, "… %d more threads\n", e.MoreThreads)
	}
	return b.String()
}
