package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that cannot be meant: it is answered with how the command is used.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string {
	text := e.err.Error()
	if strings.HasPrefix(text, "unknown command") { // with cobra's own suggestions
		text = strings.TrimRight(text, "\n")
	}
	return fmt.Sprintf("%s\nusage: %s\nSee `%s --help`.", text, e.cmd.UseLine(), e.cmd.CommandPath())
}

func (e *usageError) Unwrap() error { return e.err }

// showUsage has every command of a tree answer wrong flags and arguments with its usage, and has what is not a command
// or a topic be an error: cobra shows its help and ends well.
func showUsage(root *cobra.Command) {
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &usageError{c, err} })
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		check := c.Args
		if check == nil {
			check = cobra.ArbitraryArgs
			if c.HasSubCommands() {
				check = noCommand
			}
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &usageError{cmd, err}
			}
			return nil
		}
		if c.HasSubCommands() && c.Run == nil && c.RunE == nil && c != root {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				return &usageError{cmd, fmt.Errorf("%s needs one of: %s", cmd.CommandPath(), strings.Join(subcommands(cmd), ", "))}
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.SetHelpCommand(helpCommand(root))
}

// noCommand refuses an argument where a subcommand is due.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, ", "))
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Errorf("%s has no commands of its own", c.CommandPath())
	}
	return fmt.Errorf("%s; there are %s", text, strings.Join(subcommands(c), ", "))
}

func subcommands(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// helpCommand is cobra's, which ends well where there is nothing of that name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about any command",
		Example: "  strobe help query",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			c, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return subcommands(c), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = noCommand(c, rest)
			}
			if err != nil {
				return &usageError{root, err}
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}
