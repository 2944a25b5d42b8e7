package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/doctor"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

func (a *app) doctorCommand() *cobra.Command {
	var db string
	c := &cobra.Command{
		Use:   "doctor [BINARY]",
		Short: "Check what works on this machine, or what can be seen of a binary",
		Long: `Without an argument: checks kernel, permissions, CPU, Strobe's directory and daemon, traces a program of a
few lines in each interpreter that is in PATH, and says how to mend what does not work. With one: says what Strobe
finds in that program. With --db: checks a session's file.`,
		Example: `  strobe doctor
  strobe doctor ./build/app
  strobe doctor --db ~/.strobe/sessions/app-2026-05-04-10h30.db`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var report doctor.Report
			switch {
			case db != "":
				report = doctor.Run(cmd.Context(), []doctor.Check{{Name: "database", Run: checkDB(db)}})
			case len(args) == 1:
				report = doctor.Binary(args[0])
			default:
				home, err := daemon.Home()
				if err != nil {
					return err
				}
				checks := append(doctor.System(os.DirFS("/")), daemon.Checks(home)...)
				checks = append(checks, doctor.Check{Name: "launch", Run: checkLaunch})
				checks = append(checks, languageChecks()...)
				report = doctor.Run(cmd.Context(), checks)
			}
			return a.printReport(report)
		},
	}
	c.Flags().StringVar(&db, "db", "", "check this session file")
	return c
}

// checkLaunch runs a small program the whole way: daemon, engine, timeline.
func checkLaunch(ctx context.Context) doctor.Result {
	fail := func(err error) doctor.Result {
		f := fault.From(err)
		return doctor.Result{Status: doctor.Fail, Detail: string(f.Code) + ": " + f.Msg, Fix: f.Hint}
	}
	c, err := connect(ctx)
	if err != nil {
		return fail(err)
	}
	defer c.Close()
	started := time.Now()
	var launched struct {
		SessionID    string `json:"sessionId"`
		Capabilities struct {
			FunctionTracing string `json:"functionTracing"`
		} `json:"capabilities"`
	}
	if err := c.callInto(ctx, "debug_launch", map[string]any{"command": "/bin/true", "projectRoot": "/"},
		&launched); err != nil {
		return fail(err)
	}
	took := time.Since(started)
	if err := c.callInto(ctx, "debug_session", map[string]any{"action": "stop", "sessionId": launched.SessionID},
		&struct{}{}); err != nil {
		return fail(err)
	}
	detail := fmt.Sprintf("a program runs under observation, launched in %v; functions can be traced",
		took.Round(time.Millisecond))
	if launched.Capabilities.FunctionTracing == "partial" { // of /bin/true, not of this machine
		detail += " (of /bin/true, which has no debug information, by exact name; of programs built with -g all)"
	} else if how := launched.Capabilities.FunctionTracing; how != "full" {
		return doctor.Result{Status: doctor.Warn, Detail: "a program runs under observation; function tracing: " + how,
			Fix: "The checks above say what is missing."}
	}
	return doctor.Result{Status: doctor.OK, Detail: detail}
}

// languageChecks has one for each interpreter in PATH whose programs can be traced.
func languageChecks() (checks []doctor.Check) {
	for _, l := range daemon.Languages() {
		for _, command := range l.Commands {
			if path, err := exec.LookPath(command); err == nil {
				checks = append(checks, doctor.Check{Name: command, Run: func(ctx context.Context) doctor.Result {
					return checkLanguage(ctx, path, &l)
				}})
			}
		}
	}
	return checks
}

// checkLanguage traces a program of a few lines the whole way.
func checkLanguage(ctx context.Context, command string, l *collector.Language) doctor.Result {
	fail := func(err error) doctor.Result {
		f := fault.From(err)
		return doctor.Result{Status: doctor.Fail, Detail: command + ": " + string(f.Code) + ": " + f.Msg, Fix: f.Hint}
	}
	dir, err := os.MkdirTemp("", "strobe-doctor")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in the system's folder for such
	file := filepath.Join(dir, l.SampleFile)
	if err := os.WriteFile(file, []byte(l.Sample), 0o600); err != nil {
		return fail(err)
	}
	c, err := connect(ctx)
	if err != nil {
		return fail(err)
	}
	defer c.Close()
	started := time.Now()
	var launched struct {
		SessionID string   `json:"sessionId"`
		Warnings  []string `json:"warnings"`
	}
	if err := c.callInto(ctx, "debug_launch", map[string]any{"command": command, "args": []string{file}, "cwd": dir,
		"projectRoot": dir, "trace": []string{l.SampleFunction}}, &launched); err != nil {
		return fail(err)
	}
	defer c.call(context.WithoutCancel(ctx), "debug_session", //nolint:errcheck // the daemon ends it as well
		map[string]any{"action": "stop", "sessionId": launched.SessionID})
	var seen struct {
		TotalCount int64 `json:"totalCount"`
	}
	if err := c.callInto(ctx, "debug_query", map[string]any{"sessionId": launched.SessionID, "eventType": "function_exit",
		"waitMs": languageLimit.Milliseconds()}, &seen); err != nil {
		return fail(err)
	}
	if seen.TotalCount != 1 {
		detail := command + ": no call was recorded"
		if len(launched.Warnings) > 0 {
			detail += ": " + strings.Join(launched.Warnings, "; ")
		}
		return doctor.Result{Status: doctor.Warn, Detail: detail, Fix: "See the capabilities in the answer of debug_launch."}
	}
	return doctor.Result{Status: doctor.OK, Detail: fmt.Sprintf("%s: a call was launched, traced and read in %v", command,
		time.Since(started).Round(time.Millisecond))}
}

// languageLimit is how long a program of a few lines may take on a busy machine.
const languageLimit = 10 * time.Second

func checkDB(path string) func(context.Context) doctor.Result {
	const fix = "Use a copy from before, or record the session again."
	return func(ctx context.Context) doctor.Result {
		problems, err := store.Check(ctx, path)
		if err != nil {
			return doctor.Result{Status: doctor.Fail, Detail: err.Error(), Fix: fix}
		}
		if len(problems) > 0 {
			return doctor.Result{Status: doctor.Fail, Detail: strings.Join(problems, "; "), Fix: fix}
		}
		return doctor.Result{Status: doctor.OK, Detail: path + " is consistent"}
	}
}

func (a *app) printReport(r doctor.Report) error {
	if a.json {
		if err := json.NewEncoder(a.out).Encode(r); err != nil {
			return err
		}
	} else {
		width := 0
		for _, c := range r.Checks {
			width = max(width, len(c.Name))
		}
		colour := map[doctor.Status]string{doctor.OK: green, doctor.Warn: yellow, doctor.Fail: red}
		for _, c := range r.Checks {
			fmt.Fprintf(a.out, "%s  %-*s  %s\n", a.paint(colour[c.Status], fmt.Sprintf("%-4s", c.Status)), width, c.Name,
				c.Detail)
			if c.Fix != "" {
				fmt.Fprintf(a.out, "%*s  → %s\n", width+6, "", c.Fix)
			}
		}
	}
	if !r.OK {
		return &exitStatus{exitError, ""}
	}
	return nil
}
