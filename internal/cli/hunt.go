package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/hunt"
)

type huntFlags struct {
	options    hunt.Options
	fails      string
	plan, save string
	dir, root  string
}

const huntRootHelp = "folder of the sources that are looked at (default: by the program and its sources)"

func (a *app) huntCommand() *cobra.Command {
	var f huntFlags
	c := &cobra.Command{
		Use:   "hunt [--plan FILE] -- COMMAND [ARGS]...",
		Short: "Make a rare failure of a program with threads frequent, and say why",
		Long: `Runs a program again and again, and holds one thread for some milliseconds at one instruction of the project's
code in each run, while the others run on: each instruction and each thread in turn, those at shared data first, then
several at once. A run fails where it ends otherwise than the program does by itself: by its exit code, a signal, a
hang, or by what it writes with --fails-if. What makes it fail is repeated, and told with the line, the rates with and
without it, and what the other threads did meanwhile. --save keeps it as a plan, which --plan repeats.
C, C++ and Rust, built with -g; of a command such as ctest or cargo test, the program of the project that it runs.
A program with time limits of its own may fail because it is slow. The exit code is 0
where something was found, 1 where nothing was.`,
		Example: `  strobe hunt -- ./build/queue_test
  strobe hunt -- cargo test --test queue
  strobe hunt --seconds 300 --save race.json -- ./build/server --selftest
  strobe hunt --plan race.json -- ./build/server --selftest`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hunt(cmd.Context(), &f, args) },
	}
	seconds := c.Flags().Int("seconds", 60, "how long to hunt")
	c.PreRun = func(*cobra.Command, []string) { f.options.Within = time.Duration(*seconds) * time.Second }
	c.Flags().IntVar(&f.options.Runs, "runs", 2000, "runs at most")
	c.Flags().IntVar(&f.options.HoldMs, "hold", 4, "milliseconds for which a thread is held, then five times as long")
	c.Flags().IntVar(&f.options.Repeats, "times", 20, "how often what makes it fail is repeated")
	c.Flags().DurationVar(&f.options.Timeout, "timeout", 0, "a run that takes longer hangs (default ten plain ones, at "+
		"least 2s)")
	c.Flags().StringVar(&f.fails, "fails-if", "", "regular expression: a run that writes this fails, too")
	c.Flags().StringVar(&f.plan, "plan", "", "repeat the plan in this file instead")
	c.Flags().StringVar(&f.save, "save", "", "keep what makes it fail in this file")
	c.Flags().StringVarP(&f.dir, "directory", "C", "", "run the program in this directory")
	c.Flags().StringVar(&f.root, "project-root", "", huntRootHelp)
	return c
}

func (a *app) hunt(ctx context.Context, f *huntFlags, args []string) error {
	p, err := huntProgram(f, args)
	if err != nil {
		return err
	}
	if f.fails != "" {
		if f.options.Fails, err = regexp.Compile(f.fails); err != nil {
			return fault.New(fault.ValidationError, "Give an expression as of Go's regexp.", "--fails-if: %w", err)
		}
	}
	if !a.json {
		f.options.Tell = func(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
	}
	if p, err = a.inside(ctx, "hunt", p); err != nil {
		return err
	}
	var r *hunt.Result
	if f.plan != "" {
		plan, err := hunt.ReadPlan(f.plan)
		if err != nil {
			return fault.New(fault.ValidationError, "strobe hunt --save FILE writes one.", "--plan: %w", err)
		}
		r, err = hunt.Again(ctx, p, plan, f.options)
		if err != nil {
			return huntFault("hunt", err)
		}
	} else if r, err = hunt.Hunt(ctx, p, f.options); err != nil {
		return huntFault("hunt", err)
	}
	if r.Found && f.save != "" {
		b, err := json.MarshalIndent(r.Plan, "", "  ")
		if err == nil {
			err = os.WriteFile(f.save, append(b, '\n'), 0o644)
		}
		if err != nil {
			return fmt.Errorf("keep the plan: %w", err)
		}
	}
	if a.json {
		err = json.NewEncoder(a.out).Encode(r)
	} else {
		_, err = fmt.Fprint(a.out, huntText(r, f))
	}
	if err == nil && !r.Found {
		return &exitStatus{code: exitNothing}
	}
	return err
}

// inside finds what of the project a command runs, and says so.
func (a *app) inside(ctx context.Context, command string, p *hunt.Program) (*hunt.Program, error) {
	p, what, err := hunt.Inside(ctx, p)
	if err != nil {
		return nil, huntFault(command, err)
	}
	if what != "" {
		fmt.Fprintf(a.err, "%s\n", what)
	}
	return p, nil
}

func huntFault(command string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.LaunchFailed, "strobe "+command+" --help says what it takes.", "%s: %w", command, err)
}

func huntProgram(f *huntFlags, args []string) (*hunt.Program, error) {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return nil, err
	}
	path := args[0]
	if !strings.Contains(path, "/") {
		if path, err = exec.LookPath(path); err != nil {
			return nil, fault.New(fault.LaunchFailed, "Give a path, or a name in PATH.", "command: %w", err)
		}
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return nil, fault.New(fault.LaunchFailed, "Check the path, and build it first.", "%s is no program", path)
	}
	root := f.root
	if root == "" {
		root = projectOf(dir, args)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	return &hunt.Program{Path: path, Args: args[1:], Dir: dir, Env: os.Environ(), Root: root}, nil
}

// huntText is a result for people, and for a model that reads the command's output.
func huntText(r *hunt.Result, f *huntFlags) string {
	var b strings.Builder
	if !r.Found {
		fmt.Fprintf(&b, "Nothing made it fail: %d runs in %s, held at %d of %d places (%d instructions, %d threads); "+
			"by itself: %s.\n", r.Runs, r.Took, r.Tried, r.Places, r.Sites, r.Threads, r.Plain)
		if r.Note != "" {
			fmt.Fprintf(&b, "Note: %s.\n", r.Note)
		}
		fmt.Fprintln(&b, "Next: --seconds for a longer hunt, --fails-if for a failure that only its output shows.")
		return b.String()
	}
	fmt.Fprintf(&b, "Fails in %s runs with this, in %s without (%s; by itself: %s):\n", r.Rate, r.PlainRate, r.Failure,
		r.Plain)
	for _, h := range r.Plan.Holds {
		place := h.Function
		if h.Line > 0 {
			place = fmt.Sprintf("%s:%d, %s", h.File, h.Line, h.Function)
		}
		nth := ""
		switch {
		case h.Hit == 0:
			nth = ", each time"
		case h.Hit > 1:
			nth = fmt.Sprintf(", where it comes for the %d. time", h.Hit)
		}
		fmt.Fprintf(&b, "  thread %d held for %d ms before %s in %s%s\n", h.Thread, h.Ms, h.Instruction, place, nth)
	}
	if len(r.Meanwhile) > 0 {
		fmt.Fprintf(&b, "Meanwhile:\n  %s\n", strings.Join(r.Meanwhile, "\n  "))
	}
	if out := strings.TrimSpace(r.Output); out != "" {
		fmt.Fprintf(&b, "It wrote at the end:\n  %s\n", strings.ReplaceAll(lastLines(out, 6), "\n", "\n  "))
	}
	fmt.Fprintf(&b, "Found after %d runs, %s. ", r.Runs, r.Took)
	if f.save != "" {
		fmt.Fprintf(&b, "Again: strobe hunt --plan %s -- …\n", f.save)
	} else {
		fmt.Fprintln(&b, "--save FILE keeps it for --plan FILE.")
	}
	return b.String()
}

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) > n {
		lines = append([]string{fmt.Sprintf("(%d lines before)", len(lines)-n)}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}
