package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) watchCommand() *cobra.Command {
	var f runFlags
	var reads bool
	c := &cobra.Command{
		Use:   "watch EXPRESSION... -- COMMAND [ARGS]...",
		Short: "Run a program and say who changes a variable",
		Long: `Runs a program as strobe run does, with data breakpoints on global or static variables: each change is said
on stderr, with the old and new value, the function, the line and the thread, and stays on the timeline as a
variable_write event. Up to four places of at most eight bytes each can be watched at once, at full speed, in every
thread and child. For a local variable pause in its function first, with strobe break.`,
		Example: `  strobe watch gCounter 'theConfig.level' -- ./build/app input.txt
  strobe watch --reads gSecret -- ./server`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 1 || dash == len(args) {
				return fault.New(fault.ValidationError, "strobe watch EXPRESSION... -- COMMAND [ARGS]...",
					"expressions and command are not told apart")
			}
			return a.watchRun(cmd.Context(), f, args[:dash], args[dash:], reads)
		},
	}
	c.Flags().BoolVar(&reads, "reads", false, "say reads, too")
	c.Flags().BoolVar(&f.retain, "retain", false, "keep the timeline on disk, also when the daemon ends")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end the program after this time")
	c.Flags().StringVarP(&f.dir, "directory", "C", "", "run the program in this directory")
	c.Flags().StringVar(&f.symbols, "symbols", "", "file or directory with debug info")
	return c
}

func (a *app) watchRun(ctx context.Context, f runFlags, exprs, args []string, reads bool) error {
	req, err := a.launchRequest(f, args)
	if err != nil {
		return err
	}
	req["stopOnEntry"] = true
	r, input, err := a.begin(ctx, req)
	if err != nil {
		return err
	}
	defer r.client.Close()
	var add []map[string]any
	for _, x := range exprs {
		p := map[string]any{"variable": x}
		if reads {
			p["access"] = "readwrite"
		}
		add = append(add, p)
	}
	var ignored json.RawMessage
	if err = r.client.callInto(ctx, "debug_breakpoint", map[string]any{"sessionId": r.id, "add": add},
		&ignored); err == nil {
		err = r.client.callInto(ctx, "debug_continue", map[string]any{"sessionId": r.id, "waitMs": 0}, &ignored)
	}
	if err != nil { // it stands before main and would do so for ever
		stop := map[string]any{"action": "stop", "sessionId": r.id}
		r.client.call(context.WithoutCancel(ctx), "debug_session", stop) //nolint:errcheck // the cause is said
		return err
	}
	r.also, r.show = "variable_write", a.printWrite
	return r.inFront(ctx, f, input)
}

// printWrite says one access to a variable.
func (a *app) printWrite(e *rawEvent) error {
	var w struct {
		Variable, Access, Function, Note    string
		File                                string `json:"sourceFile"`
		Line                                int
		OldValue, NewValue, OverwrittenWith json.RawMessage
		Backtrace                           []string
	}
	if err := decode("debug_query", e.raw, &w); err != nil {
		return err
	}
	what := fmt.Sprintf("%s -> %s", oneLine(w.OldValue), oneLine(w.NewValue))
	switch {
	case w.Access == "none":
		what = w.Note
	case w.Access == "read":
		what = "read, " + oneLine(w.NewValue)
	}
	if w.OverwrittenWith != nil {
		what += ", and when it stopped another thread had written " + oneLine(w.OverwrittenWith)
	}
	if w.Note != "" && w.Access != "none" {
		what += " (" + w.Note + ")"
	}
	_, err := fmt.Fprintf(a.err, "%s %s: %s  in %s (%s:%d), thread %d\n", a.paint(cyan, "watch"), w.Variable, what,
		w.Function, w.File, w.Line, e.ThreadID)
	if err == nil && len(w.Backtrace) > 1 {
		_, err = fmt.Fprintf(a.err, "  %s\n", a.paint(dim, strings.Join(w.Backtrace[1:], "\n  ")))
	}
	return err
}
