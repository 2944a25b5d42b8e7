package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE.db",
		Short: "Take in a session that was recorded elsewhere",
		Long: `Takes in a session's file from a colleague or another machine, as strobe export --format session writes it:
it is checked, copied and listed as a retained session under its own id, or with a number behind it where that is
taken. Then strobe query, diff, report and the tools read it as any other. The file stays as it is.`,
		Example: `  strobe export app-2026-05-04-10h30 --format session -o app.db
  strobe import app.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("find %s: %w", args[0], err)
			}
			return a.importFile(cmd.Context(), path)
		},
	}
}

// importFile takes in the file at an absolute path.
func (a *app) importFile(ctx context.Context, path string) error {
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.call(ctx, "debug_session", map[string]any{"action": "import", "path": path})
	if err != nil {
		return err
	}
	if a.json {
		return a.printObject(raw)
	}
	var r struct {
		SessionID, Command, Status string
		EventCount                 int64
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	fmt.Fprintf(a.out, "session %s: %s, %s, %d events\n", r.SessionID, r.Command, r.Status, r.EventCount)
	return nil
}
