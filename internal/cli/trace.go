package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) traceCommand() *cobra.Command {
	var add, remove []string
	var depth int
	c := &cobra.Command{
		Use:   "trace ID [--add PATTERN]... [--remove PATTERN]...",
		Short: "Add and remove function traces of a running program",
		Long: `Changes what is traced while the program runs, or shows it. Patterns are globs on the qualified name: * stops at ::, **
does not; @usercode is every function of the project, @file:NAME those of a source file; a leading ! takes functions out.`,
		Example: `  strobe trace app-2026-05-04-10h30 --add 'net::Session::*' --remove @usercode
  strobe trace app-2026-05-04-10h30`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			req := map[string]any{"sessionId": args[0]}
			if len(add) > 0 {
				req["add"] = add
			}
			if len(remove) > 0 {
				req["remove"] = remove
			}
			if depth > 0 {
				req["serializationDepth"] = depth
			}
			raw, err := c.call(cmd.Context(), "debug_trace", req)
			if err != nil {
				return err
			}
			if a.json {
				fmt.Fprintf(a.out, "%s\n", raw)
				return nil
			}
			return a.printTrace(raw)
		},
	}
	c.Flags().StringArrayVar(&add, "add", nil, "trace these functions (repeatable)")
	c.Flags().StringArrayVar(&remove, "remove", nil, "no longer trace this pattern (repeatable)")
	c.Flags().IntVar(&depth, "depth", 0, "how deep values are followed, 1 to 10")
	return c
}

func (a *app) printTrace(raw json.RawMessage) error {
	var r struct {
		ActivePatterns   []string `json:"activePatterns"`
		HookedFunctions  int      `json:"hookedFunctions"`
		MatchedFunctions int      `json:"matchedFunctions"`
		UnhookableCount  int      `json:"unhookableCount"`
		Unhookable       []struct{ Function, Reason string }
		Warnings         []string `json:"warnings"`
		Status           string   `json:"status"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	patterns := "none"
	if len(r.ActivePatterns) > 0 {
		patterns = strings.Join(r.ActivePatterns, "  ")
	}
	fmt.Fprintf(a.out, "patterns  %s\nhooked    %d of %d functions\n", patterns, r.HookedFunctions, r.MatchedFunctions)
	if r.Status != "" {
		fmt.Fprintf(a.out, "status    %s\n", r.Status)
	}
	for _, u := range r.Unhookable {
		fmt.Fprintf(a.out, "not hooked  %s: %s\n", u.Function, u.Reason)
	}
	if n := r.UnhookableCount - len(r.Unhookable); n > 0 {
		fmt.Fprintf(a.out, "not hooked  %d more\n", n)
	}
	a.warn(r.Warnings)
	return nil
}
