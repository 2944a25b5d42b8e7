package cli

import (
	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/ui/display"
)

// keeperCommand is started by the daemon, never by people: it keeps targets' pipes open when the daemon dies.
func (a *app) keeperCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "keeper",
		Short:   "Keep the pipes of running programs open when the daemon dies (started by the daemon)",
		Example: "  strobe keeper # needs the daemon at the other end of its socket",
		Args:    cobra.NoArgs,
		Hidden:  true,
		RunE:    func(*cobra.Command, []string) error { return daemon.RunKeeper() },
	}
}

// workerCommand is started by the daemon, never by people: it has one launch's session.
func (a *app) workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "worker",
		Short:   "Have one session, or one traced test run (started by the daemon)",
		Example: "  strobe worker # needs the daemon at the other end of its sockets",
		Args:    cobra.NoArgs,
		Hidden:  true,
		RunE: func(*cobra.Command, []string) error {
			home, err := daemon.Home()
			if err != nil {
				return err
			}
			return daemon.RunWorker(home)
		},
	}
}

// displayKeeperCommand is started by a session's process, never by people: it has the display of one session.
func (a *app) displayKeeperCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "display-keeper SIZE",
		Short:   "Have the display of one session (started by the daemon)",
		Example: "  strobe display-keeper 1280x800 # ends with its input",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			w, h, err := display.ParseSize(args[0])
			if err != nil {
				return err
			}
			return display.RunKeeper(a.in, a.out, w, h)
		},
	}
}
