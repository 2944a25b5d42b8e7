package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/collector"
)

func (a *app) locksCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "locks [ID|PID | -- COMMAND [ARGS]...]",
		Short: "Show in which orders threads take locks, and who waits for which",
		Long: `Runs a program and keeps which locks its threads hold while they take others: locks that two or three threads
take in a circle will block them for ever when they meet, also where they never did. Then, who waited for which lock
how long, and where. Every lock and unlock counts; none is sampled. Of a session that runs, or of the program with that
process in one, it begins to record when it is first asked, and tells what it knows when asked again.
Mutexes, rwlocks and spinlocks of the C library, and what C++ makes of them; of Rust's and parking_lot's locks only
waits. The exit code is 0 where there is something to tell, 1 where there is nothing.`,
		Example: `  strobe locks -- ./build/server --selftest
  strobe locks --seconds 20 -- redis-server --io-threads 4
  strobe locks`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return a.locksOf(cmd.Context(), args)
			}
			return a.locksRun(cmd.Context(), f, args)
		},
	}
	seconds := c.Flags().Int("seconds", 0, "end the program then (default: it ends by itself)")
	c.PreRun = func(*cobra.Command, []string) { f.timeout = time.Duration(*seconds) * time.Second }
	c.Flags().DurationVar(&f.grace, "grace", defaultGrace, "how long it may take then until it is killed")
	c.Flags().StringVarP(&f.dir, "directory", "C", "", "run the program in this directory")
	c.Flags().StringVar(&f.projectRoot, "project-root", "", "whose functions are shown (default: as strobe run)")
	return c
}

// locksRun runs a program, and tells of its locks at its end.
func (a *app) locksRun(ctx context.Context, f runFlags, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command behind --")
	}
	f.trace = []string{"@locks"}
	found := false
	err := a.runTelling(ctx, f, args, func(ctx context.Context, r *running) (err error) {
		found, err = a.showLocks(ctx, r.client, r.id)
		return err
	})
	if err != nil || found {
		return err
	}
	return &exitStatus{code: exitNothing}
}

// reported ends a program's session behind its report.
func (r *running) reported(ctx context.Context, end *outcome) error {
	if r.stopped {
		return nil
	}
	if code := end.code(); code != exitOK {
		fmt.Fprintf(r.app.err, "strobe: the program ended with exit code %d\n", code)
	}
	return r.report(ctx, r)
}

// locksOf tells of the locks of a program that is in a session.
func (a *app) locksOf(ctx context.Context, args []string) error {
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := c.running(ctx, args)
	if err != nil {
		return err
	}
	found, err := a.showLocks(ctx, c, id)
	if err == nil && !found {
		return &exitStatus{code: exitNothing}
	}
	return err
}

// showLocks writes what is known of a session's locks, and says whether that is anything.
func (a *app) showLocks(ctx context.Context, c *client, id string) (found bool, err error) {
	var r struct {
		Locks    *collector.LockReport `json:"locks"`
		Warnings []string              `json:"warnings"`
	}
	raw, err := c.call(ctx, "debug_session", map[string]any{"action": "status", "sessionId": id, "locks": true})
	if err != nil {
		return false, err
	}
	if err := decode("debug_session", raw, &r); err != nil {
		return false, err
	}
	if r.Locks != nil {
		found = len(r.Locks.Inversions)+len(r.Locks.Contention) > 0
	}
	if a.json {
		_, err = fmt.Fprintf(a.out, "%s\n", raw)
		return found, err
	}
	a.warn(r.Warnings)
	if r.Locks != nil {
		_, err = fmt.Fprint(a.out, r.Locks.Text())
	}
	return found, err
}
