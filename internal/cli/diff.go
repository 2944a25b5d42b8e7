package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strobe-debug/strobe/internal/fault"
)

// compareFlags are those of test --compare.
type compareFlags struct {
	compare bool
	against string
	env     []string
}

func (f *compareFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.compare, "compare", false,
		"run --test traced until it failed and passed, and show the first call that differs")
	flags.StringVar(&f.against, "against", "", "with --compare: a test that passes")
	flags.StringArrayVar(&f.env, "against-env", nil,
		"with --compare: NAME=VALUE in the other side's environment (repeatable)")
}

func (f *compareFlags) asked() bool { return f.compare || f.against != "" || len(f.env) > 0 }

// add puts the flags into a request.
func (f *compareFlags) add(req map[string]any) error {
	req["action"] = "compare"
	if f.against != "" {
		req["against"] = f.against
	}
	env := map[string]string{}
	for _, v := range f.env {
		name, val, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return fault.New(fault.ValidationError, "Write it as NAME=VALUE.", "--against-env %q has no name", v)
		}
		env[name] = val
	}
	if len(env) > 0 {
		req["againstEnv"] = env
	}
	return nil
}

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff SESSION SESSION [LIKE]",
		Short: "Show the first call that differs between two sessions",
		Long: `Aligns the calls that two sessions recorded by call path and shows the first that differs, with both sides'
arguments and results. Addresses, ids and times that differ from run to run are no difference, nor is what differs
between the second session and a third one that ended alike. The exit code is 0 where nothing differs, 1 where
something does, 2 where they cannot be compared.`,
		Example: "  strobe diff app-2026-05-04-10h30 app-2026-05-04-10h31",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compareTests(cmd.Context(), map[string]any{"action": "compare", "sessions": args})
		},
	}
}

// shownComparison is a comparison as the command prints it.
type shownComparison struct {
	Status, Error, Hint string
	A, B                *struct{ Test, Status, SessionID string }
	Notes               []string
	Comparison          *struct {
		Same                            bool
		SessionIDs                      []string
		Compared                        struct{ A, B, Aligned int64 }
		First, SameArguments            *shownDifference
		Next, Counts, Noise, Incomplete []string
		Notes                           []string
		Hint                            string
	}
}

type shownDifference struct {
	What, Path, Thread, After string
	Differs                   []string
	A, B                      *shownCall
}

type shownCall struct {
	Function, Arguments, Result, At, Text string
	EventID                               int64
}

// compareTests asks for a comparison and prints it.
func (a *app) compareTests(ctx context.Context, req map[string]any) error {
	raw, err := a.followTests(ctx, req)
	if err != nil {
		return err
	}
	var r shownComparison
	if err := decode("debug_test", raw, &r); err != nil {
		return err
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
	} else {
		a.printComparison(&r)
	}
	switch {
	case r.Status != "completed" || r.Comparison == nil:
		return &exitStatus{code: exitError}
	case !r.Comparison.Same:
		return &exitStatus{code: exitNothing}
	}
	return nil
}

func (a *app) printComparison(r *shownComparison) {
	if r.Error != "" {
		fmt.Fprintf(a.err, "strobe: %s\n", r.Error)
	}
	if r.A != nil && r.B != nil {
		fmt.Fprintf(a.out, "a: %s, %s (%s)\nb: %s, %s (%s)\n", r.A.Test, r.A.Status, r.A.SessionID, r.B.Test, r.B.Status,
			r.B.SessionID)
	}
	c := r.Comparison
	if c == nil {
		for _, n := range append(r.Notes, r.Hint) {
			fmt.Fprintln(a.err, n)
		}
		return
	}
	fmt.Fprintf(a.out, "compared: %d calls in a, %d in b, %d have a counterpart\n", c.Compared.A, c.Compared.B,
		c.Compared.Aligned)
	if c.Same {
		fmt.Fprintln(a.out, "same")
	}
	a.printDifference("first difference", c.First)
	a.printDifference("same arguments, other result", c.SameArguments)
	for _, list := range []struct {
		title string
		lines []string
	}{{"next", c.Next}, {"calls", c.Counts}, {"left out", c.Noise}, {"incomplete", c.Incomplete},
		{"note", append(c.Notes, r.Notes...)}} {
		for _, l := range list.lines {
			fmt.Fprintf(a.out, "%s: %s\n", list.title, l)
		}
	}
	fmt.Fprintln(a.err, c.Hint)
}

func (a *app) printDifference(title string, d *shownDifference) {
	if d == nil {
		return
	}
	fmt.Fprintf(a.out, "%s: %s at %s\n", title, a.paint(red, d.What), d.Path)
	if d.Thread != "" {
		fmt.Fprintf(a.out, "    thread %s\n", d.Thread)
	}
	if d.After != "" {
		fmt.Fprintf(a.out, "    after %s\n", d.After)
	}
	for _, l := range d.Differs {
		fmt.Fprintf(a.out, "    %s\n", l)
	}
	steps := strings.Split(d.Path, " > ")
	name, _, _ := strings.Cut(steps[len(steps)-1], " ×")
	fmt.Fprintf(a.out, "    a: %s\n    b: %s\n", a.callLine(d.A, name), a.callLine(d.B, name))
}

// callLine is one side of a difference.
func (a *app) callLine(s *shownCall, name string) string {
	switch {
	case s == nil:
		return "(none)"
	case s.Text != "":
		return s.Text
	case s.Function != "":
		name = s.Function
	}
	line := fmt.Sprintf("%s(%s)", name, s.Arguments)
	if s.Result != "" {
		line += " = " + s.Result
	}
	return line + a.paint(dim, fmt.Sprintf("  %s, event %d", s.At, s.EventID))
}
