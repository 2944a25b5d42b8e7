package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// Of a program that is to end: askedWith are the signals that it can be asked with.
const (
	askedWith    = "SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGKILL"
	defaultGrace = 2 * time.Second
)

func (a *app) stopCommand() *cobra.Command {
	var retain, leave bool
	var signal string
	var grace time.Duration
	c := &cobra.Command{
		Use:   "stop ID...",
		Short: "End sessions and delete their data",
		Long: `Ends the program of a session and deletes what was recorded, unless --retain. It is asked by --signal, and
killed if it has not ended after --grace. With --leave-running the program goes on, unhooked.`,
		Example: `  strobe stop app-2026-05-04-10h30
  strobe stop --retain app-2026-05-04-10h30`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			for _, id := range args {
				req := map[string]any{"action": "stop", "sessionId": id, "retain": retain}
				if leave {
					req["kill"] = false
				}
				if cmd.Flags().Changed("signal") {
					req["signal"] = signal
				}
				if cmd.Flags().Changed("grace") {
					req["graceMs"] = grace.Milliseconds()
				}
				raw, err := c.call(cmd.Context(), "debug_session", req)
				if err != nil {
					return err
				}
				if a.json {
					fmt.Fprintf(a.out, "%s\n", raw)
					continue
				}
				var r struct {
					EventsCollected int64    `json:"eventsCollected"`
					Hint            string   `json:"hint"`
					Warnings        []string `json:"warnings"`
				}
				if err := json.Unmarshal(raw, &r); err != nil {
					return fmt.Errorf("read answer: %w", err)
				}
				kept := "deleted"
				if retain {
					kept = "kept"
				}
				fmt.Fprintf(a.out, "stopped %s; its %d events are %s\n", id, r.EventsCollected, kept)
				if r.Hint != "" {
					fmt.Fprintln(a.out, r.Hint)
				}
				a.warn(r.Warnings)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&retain, "retain", false, "keep what was recorded")
	c.Flags().StringVar(&signal, "signal", "SIGTERM", "what the program is asked with: "+askedWith)
	c.Flags().DurationVar(&grace, "grace", defaultGrace, "how long it may take then until it is killed; 0 kills at once")
	c.Flags().BoolVar(&leave, "leave-running", false, "do not end the program, only take the hooks away")
	return c
}

// warn prints warnings for people on stderr.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(a.err, paintOn(a.err, yellow, "warning: ")+w)
	}
}
