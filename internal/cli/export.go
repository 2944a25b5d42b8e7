package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/timeline"
)

func (a *app) exportCommand() *cobra.Command {
	var output, format string
	c := &cobra.Command{
		Use:   "export ID|FILE.db",
		Short: "Write a session as a Chrome trace, for Perfetto",
		Long: `Writes the whole timeline of a session in Chrome's trace format. Open it with https://ui.perfetto.dev or
chrome://tracing. A session that still runs is written as far as it is recorded.`,
		Example: `  strobe export app-2026-05-04-10h30 -o app.json
  strobe export ./app.db -o - | gzip > app.json.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "chrome" {
				return fault.New(fault.ValidationError, "Use --format chrome.", "no export format %q", format)
			}
			path, err := sessionFile(args[0])
			if err != nil {
				return err
			}
			st, err := store.Open(path)
			if err != nil {
				return err
			}
			defer st.Close()
			return a.export(cmd, st, output, args[0])
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write, - for standard output (default: ID.json)")
	c.Flags().StringVar(&format, "format", "chrome", "only chrome for now")
	return c
}

// sessionFile finds the file of a session: by path, or by id in Strobe's directory.
func sessionFile(arg string) (string, error) {
	if filepath.Ext(arg) == ".db" || filepath.Base(arg) != arg {
		return arg, nil
	}
	home, err := daemon.Home()
	if err != nil {
		return "", err
	}
	path := filepath.Join(home, "sessions", arg+".db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", fault.New(fault.SessionNotFound, "See `strobe sessions` for the ids.", "no session %q", arg)
	}
	return path, nil
}

func (a *app) export(cmd *cobra.Command, st *store.Store, output, name string) (err error) {
	if output == "" {
		base := filepath.Base(name)
		output = base[:len(base)-len(filepath.Ext(base))] + ".json"
		if filepath.Ext(name) != ".db" {
			output = base + ".json"
		}
	}
	w := bufio.NewWriter(a.out)
	if output != "-" {
		f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // arguments and output may be secret
		if err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
		defer f.Close()
		w = bufio.NewWriter(f)
	}
	n, err := timeline.ChromeTrace(cmd.Context(), w, st)
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if n == 0 {
		return &exitStatus{exitNothing, "the session has no events"}
	}
	if output != "-" {
		fmt.Fprintf(a.err, "%s: %d events; open it with https://ui.perfetto.dev\n", output, n)
	}
	return nil
}
