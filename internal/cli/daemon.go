package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
)

func (a *app) daemonCommand() *cobra.Command {
	var detached bool
	c := &cobra.Command{
		Use:   "daemon",
		Short: "Run the daemon in the foreground",
		Long: `Runs the daemon that every other command starts by itself. One runs per user and STROBE_HOME; a second one
ends at once. It ends after 30 minutes without client and running program, and on SIGTERM.`,
		Example: `  strobe daemon
  strobe daemon stop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Run(cmd.Context(), daemon.Options{Detached: detached})
		},
	}
	c.Flags().BoolVar(&detached, "detached", false, "log to daemon.log (used by automatic start)")
	_ = c.Flags().MarkHidden("detached") // fails for unknown names only
	c.AddCommand(&cobra.Command{
		Use:     "stop",
		Short:   "End the running daemon and the programs that it launched",
		Example: "  strobe daemon stop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.Home()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			was, err := daemon.Stop(ctx, home)
			if err != nil {
				return err
			}
			if !was {
				return &exitStatus{exitNothing, "no daemon runs for " + home}
			}
			fmt.Fprintln(a.out, "daemon ended")
			return nil
		},
	})
	return c
}
