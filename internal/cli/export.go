package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

func (a *app) exportCommand() *cobra.Command {
	var output, format string
	c := &cobra.Command{
		Use:   "export ID|FILE.db",
		Short: "Write a session in a form that other programs open",
		Long: `Writes the whole timeline of a session:

` + formatList() + `
A session that still runs is written as far as it is recorded. What a form has no place for, and what was not
recorded, is said with numbers, with --json as an object: {format, file, events, written, leftOut[{what, events,
why}], changed[the same], evicted, calls}.`,
		Example: `  strobe export app-2026-05-04-10h30 -o app.json
  strobe export app-2026-05-04-10h30 --format perfetto
  strobe export ./app.db -o - | gzip > app.json.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := export.Find(format)
			if err != nil {
				return err
			}
			return a.exportTo(cmd.Context(), args[0], f, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "",
		"file to write, - for standard output (default: ID and the form's ending)")
	c.Flags().StringVar(&format, "format", export.Formats[0].Name, strings.Join(export.Names(), ", "))
	return c
}

func formatList() string {
	var b strings.Builder
	for _, f := range export.Formats {
		fmt.Fprintf(&b, "  %-11s %s\n", f.Name, f.About)
	}
	return b.String()
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

// exportTo writes a session, by its id or file, as f says; output "" is a file that is called after it.
func (a *app) exportTo(ctx context.Context, session string, f *export.Format, output string) error {
	path, err := sessionFile(session)
	if err != nil {
		return err
	}
	st, err := store.Open(path)
	if err != nil {
		return err
	}
	defer st.Close()
	if output == "" {
		output = strings.TrimSuffix(filepath.Base(session), ".db") + f.Extension
	}
	return a.export(ctx, st, f, output)
}

// export writes st as f says, and what became of its events: on standard error, with --json on standard output, where
// the export itself is not there.
func (a *app) export(ctx context.Context, st *store.Store, f *export.Format, output string) error {
	var r *export.Report
	var err error
	words := a.out
	if output == "-" {
		words = a.err
		r, err = f.Write(ctx, st, a.out)
	} else {
		r, err = f.WriteFile(ctx, st, output)
	}
	if err != nil {
		return err
	}
	if a.json {
		err = json.NewEncoder(words).Encode(struct {
			File string `json:"file"`
			*export.Report
		}{output, r})
	} else {
		if output != "-" {
			fmt.Fprintf(a.err, "%s: %d events; %s\n", output, r.Written, f.About)
		}
		for _, line := range r.Lines() {
			fmt.Fprintln(a.err, line)
		}
	}
	if err == nil && r.Events == 0 {
		return &exitStatus{exitNothing, "the session has no events"}
	}
	return err
}
