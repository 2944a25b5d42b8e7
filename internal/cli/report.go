package cli

import (
	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) reportCommand() *cobra.Command {
	var output string
	var calls int
	c := &cobra.Command{
		Use:   "report ID|FILE.db",
		Short: "Write a session as one HTML page, to read or to send",
		Long: `Writes one HTML page that any browser opens, without a network and without scripts: how the program ended,
its crash with stack and values, errors, a timeline of each thread, the hottest functions, the first calls as a tree,
the output. What has no place on it is counted on it, and with --json in the answer, as of strobe export.`,
		Example: `  strobe report app-2026-05-04-10h30 -o app.html
  strobe report ./app.db --calls 20000`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if calls < 1 || calls > maxReportCalls {
				return fault.New(fault.ValidationError, "Use 1 to 100000.", "a page of %d calls", calls)
			}
			return a.exportTo(cmd.Context(), args[0], export.Page(calls), output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write, - for standard output (default: ID.html)")
	c.Flags().IntVar(&calls, "calls", export.PageCalls, "calls in the tree, 1 to 100000")
	return c
}

// maxReportCalls is what a browser still opens.
const maxReportCalls = 100_000
