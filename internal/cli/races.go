package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/hunt"
)

func (a *app) racesCommand() *cobra.Command {
	var f huntFlags
	var o hunt.RaceOptions
	c := &cobra.Command{
		Use:   "races [--on VARIABLE] -- COMMAND [ARGS]...",
		Short: "Find memory that two threads of a program touch at once",
		Long: `Runs a program as it is, and holds one thread for some milliseconds right before it reads or writes what others
may, while a debug register of the processor tells which other thread comes to that memory meanwhile. No lock keeps it
away, so nothing orders the two: a data race, with both lines. Pairs with an instruction or a type that is atomic come
last, marked. The instructions of the project's code take turns; a program that ends is run again until each had its
turns or the time is over, one that does not end by itself is ended then.
C, C++ and Rust, built with -g; of a command such as ctest or cargo test, the program of the project that it runs.
The exit code is 0 where something was found, 1 where nothing was.`,
		Example: `  strobe races -- ./build/queue_test
  strobe races -- ctest --test-dir build -R queue
  strobe races --seconds 60 --on stats -- ./build/server --selftest`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.races(cmd.Context(), &f, &o, args) },
	}
	seconds := c.Flags().Int("seconds", 10, "how long to look")
	c.PreRun = func(*cobra.Command, []string) { o.Within = time.Duration(*seconds) * time.Second }
	c.Flags().IntVar(&o.HoldMs, "hold", 2, "milliseconds for which a thread is held")
	c.Flags().StringVar(&o.On, "on", "", "only what touches this variable of the program")
	c.Flags().StringVarP(&f.dir, "directory", "C", "", "run the program in this directory")
	c.Flags().StringVar(&f.root, "project-root", "", huntRootHelp)
	return c
}

func (a *app) races(ctx context.Context, f *huntFlags, o *hunt.RaceOptions, args []string) error {
	p, err := huntProgram(f, args)
	if err != nil {
		return err
	}
	if p, err = a.inside(ctx, "races", p); err != nil {
		return err
	}
	r, err := hunt.FindRaces(ctx, p, *o)
	if err != nil {
		return huntFault("races", err)
	}
	if a.json {
		err = json.NewEncoder(a.out).Encode(r)
	} else {
		_, err = fmt.Fprint(a.out, racesText(r))
	}
	if err == nil && len(r.Races) == 0 {
		return &exitStatus{code: exitNothing}
	}
	return err
}

// racesText is a result for people, and for a model that reads the command's output.
func racesText(r *hunt.Races) string {
	var b strings.Builder
	how := fmt.Sprintf("%d runs, %s, %d holds at %d of %d instructions that ran beside another thread; the last run: %s",
		r.Runs, r.Took, r.Holds, r.Held, r.Sites, r.Ends)
	if len(r.Races) == 0 {
		fmt.Fprintf(&b, "No two threads were seen at the same memory: %s.\n", how)
		if r.Note != "" {
			fmt.Fprintf(&b, "Note: %s.\n", r.Note)
		}
		fmt.Fprintln(&b, "Next: --seconds to look longer, or an input with which the threads share more.")
		return b.String()
	}
	for i := range r.Races {
		race := &r.Races[i]
		name := race.Variable
		if name == "" {
			name = "memory"
		}
		fmt.Fprintf(&b, "%d. %s (%d bytes), seen %d times", i+1, name, race.Size, race.Times)
		if race.Changed != "" {
			fmt.Fprintf(&b, ", once it changed from %s", race.Changed)
		}
		if race.Atomic {
			fmt.Fprint(&b, ", probably an atomic")
		}
		fmt.Fprintf(&b, "\n   thread %d was about to %s\n", race.Held.Thread, accessText(&race.Held))
		if race.Other == nil {
			fmt.Fprintln(&b, "   meanwhile it changed, by a thread that was not seen, or the kernel for it")
			continue
		}
		fmt.Fprintf(&b, "   thread %d came to %s\n", race.Other.Thread, accessText(race.Other))
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "And %d more.\n", r.More)
	}
	fmt.Fprintf(&b, "%s.\nNext: strobe hunt -- COMMAND makes a failure of it frequent.\n", how)
	return b.String()
}

func accessText(a *hunt.Access) string {
	s := a.Does + ": " + a.Function
	if a.Line > 0 {
		s = fmt.Sprintf("%s (%s:%d)", s, filepath.Base(a.File), a.Line)
	}
	if a.Code != "" {
		s += "  " + a.Code
	}
	return s
}
