package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages into a folder",
		Long:    "Writes a page for each command, strobe.1, strobe-run.1 and so on, such as man reads them.",
		Example: "  strobe man ~/.local/share/man/man1\n  man strobe-run",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fault.New(fault.ValidationError, "Give a folder that you may write.", "make %s: %w", args[0], err)
			}
			pages := manPages(cmd.Root())
			for _, name := range subcommandPages(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(pages[name]), 0o644); err != nil {
					return fault.New(fault.ValidationError, "Give a folder that you may write.", "write %s: %w", name, err)
				}
			}
			fmt.Fprintf(a.out, "%d pages in %s\n", len(pages), args[0])
			return nil
		},
	}
}

// manPages makes a page of each command.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	for c := range commands(root) {
		pages[pageName(c)] = manPage(c)
	}
	return pages
}

func subcommandPages(root *cobra.Command) []string {
	var names []string
	for c := range commands(root) {
		names = append(names, pageName(c))
	}
	return names
}

// commands yields a tree's commands that are for people.
func commands(c *cobra.Command) func(func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		var each func(*cobra.Command) bool
		each = func(c *cobra.Command) bool {
			if !yield(c) {
				return false
			}
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() && !each(sub) {
					return false
				}
			}
			return true
		}
		each(c)
	}
}

func pageName(c *cobra.Command) string {
	return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
}

// manPage is one command as man(7) has it.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.TrimSuffix(pageName(c), ".1")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"Strobe\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name),
		"strobe "+daemon.Version(), roff(name), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	c.InitDefaultHelpFlag()
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(c.Long))
	}
	for _, set := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", c.NonInheritedFlags()}, {"OPTIONS OF ALL COMMANDS", c.InheritedFlags()}} {
		if !set.flags.HasAvailableFlags() {
			continue
		}
		fmt.Fprintf(&b, ".SH %s\n", set.title)
		set.flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			head := "--" + f.Name
			if f.Shorthand != "" {
				head = "-" + f.Shorthand + ", " + head
			}
			kind, usage := pflag.UnquoteUsage(f)
			if kind != "" {
				head += " " + kind
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(head), roff(usage))
		})
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var see []string
	if c.HasParent() {
		see = append(see, fmt.Sprintf("\\fB%s\\fR(1)", roff(strings.TrimSuffix(pageName(c.Parent()), ".1"))))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			see = append(see, fmt.Sprintf("\\fB%s\\fR(1)", roff(strings.TrimSuffix(pageName(sub), ".1"))))
		}
	}
	if len(see) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(see, ", "))
	}
	return b.String()
}

// roff escapes text: backslashes, hyphens that are typed, and lines that would be requests.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
