package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/scenario"
)

func (a *app) scenarioCommand() *cobra.Command {
	var junit, session string
	var keep, schema bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "scenario FILE...",
		Short: "Run scenarios: what is done to a program, and what it has to do then",
		Long: `Each file is JSON or YAML: launch, channels and steps. The program of a scenario that fails stays with --keep,
for strobe query and the rest; otherwise it is ended, and its timeline kept. Exit code 1: a scenario failed.`,
		Example: `  strobe scenario .strobe/scenarios/*.yaml --junit report.xml
  strobe scenario --session app-2026-05-04-10h30 check.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if schema {
				b, err := scenario.Schema()
				if err == nil {
					fmt.Fprintf(a.out, "%s", b)
				}
				return err
			}
			if len(files) == 0 {
				return &exitStatus{code: exitError, msg: "name a scenario's file; strobe scenario --schema shows what it may hold"}
			}
			return a.runScenarios(cmd, files, session, junit, keep, timeout)
		},
	}
	c.Flags().StringVar(&junit, "junit", "", "write a JUnit report to this file")
	c.Flags().StringVar(&session, "session", "", "run on this session's program instead of launching one")
	c.Flags().BoolVar(&keep, "keep", false, "leave the program of a scenario that fails")
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of scenario files")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "of each scenario")
	c.AddCommand(a.scenarioRecord())
	return c
}

func (a *app) runScenarios(cmd *cobra.Command, files []string, session, junit string, keep bool,
	timeout time.Duration) error {
	c, err := connect(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	var outcomes []scenario.Outcome
	failed := 0
	for _, file := range files {
		o, err := a.runOneScenario(cmd, c, file, session, keep, timeout)
		if err != nil && cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			o.Err = err.Error()
			var f *fault.Error
			if errors.As(err, &f) {
				o.Err = f.Error()
			}
			fmt.Fprintf(a.err, "%s: not run: %s\n", file, inCommands(o.Err))
		}
		if o.Err != "" || o.Failed != nil {
			failed++
		}
		outcomes = append(outcomes, o)
	}
	if junit != "" {
		if err := os.WriteFile(junit, scenario.JUnit(outcomes), 0o666); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if failed > 0 {
		return &exitStatus{code: exitNothing, msg: fmt.Sprintf("%d of %d scenarios failed", failed, len(files))}
	}
	return nil
}

func (a *app) runOneScenario(cmd *cobra.Command, c *client, file, session string, keep bool,
	timeout time.Duration) (scenario.Outcome, error) {
	o := scenario.Outcome{Name: file}
	path, err := filepath.Abs(file)
	if err != nil {
		return o, err
	}
	if b, err := os.ReadFile(path); err == nil { // what is wrong with it the daemon says
		if raw, err := scenario.FromYAML(b); err == nil {
			var s struct{ Steps []json.RawMessage }
			if json.Unmarshal(raw, &s) == nil {
				for _, step := range s.Steps {
					o.Steps = append(o.Steps, string(step))
				}
			}
		}
	}
	req := map[string]any{"file": path, "timeoutMs": timeout.Milliseconds()}
	if session != "" {
		req["sessionId"] = session
	}
	raw, err := c.call(cmd.Context(), "debug_test_scenario", req)
	if err != nil {
		return o, err
	}
	var r scenario.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return o, fmt.Errorf("read answer: %w", err)
	}
	for _, ms := range r.StepMs {
		o.Took = append(o.Took, time.Duration(ms)*time.Millisecond)
	}
	o.Failed = r.Failed
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
	} else {
		a.showScenario(file, &r)
	}
	if session != "" || keep && !r.Passed {
		return o, nil
	}
	_, err = c.call(cmd.Context(), "debug_session", map[string]any{"action": "stop", "sessionId": r.SessionID,
		"retain": !r.Passed})
	return o, err
}

func (a *app) showScenario(file string, r *scenario.Result) {
	if r.Passed {
		fmt.Fprintf(a.out, "%s: passed, %d steps in %d ms\n", file, r.Steps, r.DurMs)
		return
	}
	fmt.Fprintf(a.out, "%s: failed at %s, session %s\n%s", file, r.Failed.At, r.SessionID, r.Failed.Text())
}

func (a *app) scenarioRecord() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "record ID",
		Short:   "Write a scenario that does what was done in a session, and asserts what came of it",
		Example: "  strobe scenario record app-2026-05-04-10h30 -o .strobe/scenarios/app.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			raw, err := c.call(cmd.Context(), "debug_test_scenario", map[string]any{"from": args[0]})
			if err != nil {
				return err
			}
			var r struct {
				Scenario json.RawMessage
				Hint     string
			}
			if err := json.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			text, err := scenario.Pretty(r.Scenario)
			if err != nil {
				return err
			}
			if output != "" {
				if err := os.WriteFile(output, text, 0o666); err != nil {
					return fmt.Errorf("write scenario: %w", err)
				}
			} else {
				fmt.Fprintf(a.out, "%s", text)
			}
			fmt.Fprintln(a.err, r.Hint)
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	return c
}
