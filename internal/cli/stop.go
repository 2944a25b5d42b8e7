package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) stopCommand() *cobra.Command {
	var retain, leave bool
	c := &cobra.Command{
		Use:   "stop ID...",
		Short: "End sessions and delete their data",
		Long: `Ends the program of a session and deletes what was recorded, unless --retain. With --leave-running the program goes on,
unhooked.`,
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
	c.Flags().BoolVar(&leave, "leave-running", false, "do not end the program, only take the hooks away")
	return c
}

// warn prints warnings for people on stderr.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(a.err, paintOn(a.err, yellow, "warning: ")+w)
	}
}
