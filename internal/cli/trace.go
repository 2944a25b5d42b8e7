package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) traceCommand() *cobra.Command {
	var add, remove, watch, unwatch []string
	var depth int
	var sampling string
	var out, plan bool
	c := &cobra.Command{
		Use:   "trace ID [--add PATTERN]... [--remove PATTERN]...",
		Short: "Add and remove function traces of a running program",
		Long: `Changes what is traced while the program runs, or shows it. Patterns are globs on the qualified name: *
stops at ::, ** does not; @usercode is every function of the project, @file:NAME those of a source file; @exceptions
is no function, but exceptions thrown and caught, and Rust panics; @coverage tells which functions run at all (query
--view coverage), @sockets what the program does on the network (query --channel sockets), @sockets:N with N bytes of
each message, @locks in which order locks are taken (strobe locks), @switches when threads run and what they wait for
(query --view threads); of Go @goroutines who makes which, what they wait for and who wakes them, @channels what is
done to channels (query --channel goroutines, gochannels); a leading ! takes functions out.`,
		Example: `  strobe trace app-2026-05-04-10h30 --add 'net::Session::*' --remove @usercode
  strobe trace app-2026-05-04-10h30 --depth 5 --capture-out --watch 'gClock->counter'
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
			if cmd.Flags().Changed("capture-out") {
				req["captureOut"] = out
			}
			if len(watch)+len(unwatch) > 0 {
				add := make([]map[string]any, len(watch))
				for i, expr := range watch {
					add[i] = map[string]any{"expr": expr}
				}
				req["watches"] = map[string]any{"add": add, "remove": append([]string{}, unwatch...)}
			}
			if plan {
				req["plan"] = true
			}
			if sampling != "" {
				req["sampling"] = sampling
				if rate, err := strconv.ParseFloat(sampling, 64); err == nil {
					req["sampling"] = map[string]any{"rate": rate}
				}
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
	c.Flags().StringArrayVar(&watch, "watch", nil, "read this expression at each traced call (repeatable)")
	c.Flags().StringArrayVar(&unwatch, "unwatch", nil, "no longer read it (repeatable)")
	c.Flags().StringVar(&sampling, "sampling", "",
		"of functions over 100000 calls/s: auto, off, or the share to record, e.g. 0.05")
	c.Flags().BoolVar(&plan, "plan", false, "only tell what --add would trace, and how often that is called")
	c.Flags().BoolVar(&out, "capture-out", false, "also record what pointer arguments lead to at the exit")
	return c
}

// notHooked are functions that could not be hooked for one reason.
type notHooked struct {
	Function string
	Also     []string
	Count    int
	Reason   string
}

// String names them.
func (u notHooked) String() string {
	names := strings.Join(append([]string{u.Function}, u.Also...), ", ")
	if n := u.Count - len(u.Also) - 1; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return names
}

func (a *app) printTrace(raw json.RawMessage) error {
	var r struct {
		ActivePatterns   []string `json:"activePatterns"`
		ActiveWatches    []string `json:"activeWatches"`
		HookedFunctions  int      `json:"hookedFunctions"`
		MatchedFunctions int      `json:"matchedFunctions"`
		UnhookableCount  int      `json:"unhookableCount"`
		Unhookable       []notHooked
		Warnings         []string `json:"warnings"`
		Status           string   `json:"status"`
		CallsPerSecond   int64    `json:"callsPerSecond"`
		Planned          []struct {
			Function       string
			CallsPerSecond int64
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	patterns := "none"
	if len(r.ActivePatterns) > 0 {
		patterns = strings.Join(r.ActivePatterns, "  ")
	}
	fmt.Fprintf(a.out, "patterns  %s\nhooked    %d of %d functions\n", patterns, r.HookedFunctions, r.MatchedFunctions)
	if r.CallsPerSecond > 0 {
		fmt.Fprintf(a.out, "calls/s   %d\n", r.CallsPerSecond)
	}
	for _, p := range r.Planned {
		fmt.Fprintf(a.out, "  %10d  %s\n", p.CallsPerSecond, p.Function)
	}
	if len(r.ActiveWatches) > 0 {
		fmt.Fprintf(a.out, "watches   %s\n", strings.Join(r.ActiveWatches, "  "))
	}
	if r.Status != "" {
		fmt.Fprintf(a.out, "status    %s\n", r.Status)
	}
	for _, u := range r.Unhookable {
		fmt.Fprintf(a.out, "not hooked  %s: %s\n", u, u.Reason)
	}
	a.warn(r.Warnings)
	return nil
}
