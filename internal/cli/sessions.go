package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// sessionRow is what the commands read of one session of debug_session list.
type sessionRow struct {
	SessionID   string `json:"sessionId"`
	Command     string `json:"command"`
	ProjectRoot string `json:"projectRoot"`
	PID         int    `json:"pid"`
	StartedAt   string `json:"startedAt"`
	Status      string `json:"status"`
	Retained    bool   `json:"retained"`
	Released    bool   `json:"released"`
	SizeBytes   int64  `json:"sizeBytes"`
	EventCount  int64  `json:"eventCount"`
}

func (a *app) sessionsCommand() *cobra.Command {
	var remove []string
	c := &cobra.Command{
		Use:   "sessions [ID]",
		Short: "List sessions, show one, or delete ended ones",
		Example: `  strobe sessions
  strobe sessions app-2026-05-04-10h30
  strobe sessions --delete app-2026-05-04-10h30`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			for _, id := range remove {
				raw, err := c.call(cmd.Context(), "debug_session", map[string]any{"action": "delete", "sessionId": id})
				if err != nil {
					return err
				}
				if a.json {
					fmt.Fprintf(a.out, "%s\n", raw)
				} else {
					fmt.Fprintln(a.out, "deleted "+id)
				}
			}
			if len(remove) > 0 {
				return nil
			}
			if len(args) == 1 {
				raw, err := c.call(cmd.Context(), "debug_session", map[string]any{"action": "status", "sessionId": args[0]})
				if err != nil {
					return err
				}
				return a.printSession(raw)
			}
			raw, err := c.call(cmd.Context(), "debug_session", map[string]any{"action": "list"})
			if err != nil {
				return err
			}
			return a.printSessions(raw)
		},
	}
	c.Flags().StringArrayVar(&remove, "delete", nil, "delete this ended session (repeatable)")
	return c
}

func (a *app) printSessions(raw json.RawMessage) error {
	var list struct {
		Sessions  []sessionRow `json:"sessions"`
		TotalSize int64        `json:"totalSize"`
		Deleted   []struct {
			SessionID string `json:"sessionId"`
			DeletedAt string `json:"deletedAt"`
			Reason    string `json:"reason"`
		} `json:"deleted"`
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("read session list: %w", err)
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
	}
	if !a.json {
		for _, w := range list.Warnings {
			fmt.Fprintln(a.err, "warning: "+w)
		}
		for _, d := range list.Deleted {
			fmt.Fprintf(a.err, "deleted %s: %s (%s)\n", d.DeletedAt, d.SessionID, d.Reason)
		}
	}
	if len(list.Sessions) == 0 {
		if a.json {
			return &exitStatus{code: exitNothing}
		}
		return &exitStatus{exitNothing, "no sessions; start one with `strobe run -- PROGRAM`"}
	}
	if a.json {
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tSTATUS\tPID\tEVENTS\tSIZE\tCOMMAND")
	for _, s := range list.Sessions {
		status := s.Status
		if s.Released {
			status = "released"
		}
		if s.Retained {
			status += ", retained"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", s.SessionID, status, s.PID, s.EventCount, bytesText(s.SizeBytes),
			s.Command)
	}
	return w.Flush()
}

// printObject shows a result: as it is with --json, indented otherwise.
func (a *app) printObject(raw json.RawMessage) error {
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
		return nil
	}
	b, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return fmt.Errorf("show result: %w", err)
	}
	fmt.Fprintf(a.out, "%s\n", b)
	return nil
}
