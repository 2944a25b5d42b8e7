package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

func (a *app) memoryCommand() *cobra.Command {
	var set []string
	var typ string
	var thread, frame, depth, size, pid int
	var event int64
	var every, last time.Duration
	c := &cobra.Command{
		Use:   "memory ID [EXPRESSION | 0xADDRESS]... [--set EXPRESSION=VALUE]...",
		Short: "Read or write values of a running program, a core file or a past event",
		Long: `Reads globals and addresses while the program runs, without stopping it; locals and registers of a paused
thread; with --event the values as an event recorded them. --set writes: a value is JSON (42, 1.5, true, [1,2],
{"x": 1}) or text. More than 1,024 bytes go to a file. With --every, values are read again and again onto the
timeline.`,
		Example: `  strobe memory app-2026-05-04-10h30 gClock->counter 'deep.points[1]'
  strobe memory app-2026-05-04-10h30 --set 'config.level=3' --set 'name="other"'
  strobe memory app-2026-05-04-10h30 --thread 4711 --frame 2 total '$rsp'
  strobe memory app-2026-05-04-10h30 0x7ffd3a10 --size 256 --type hexdump
  strobe memory app-2026-05-04-10h30 --event 1234`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"sessionId": args[0]}
			var targets []map[string]any
			for _, x := range args[1:] {
				t := map[string]any{"expression": x}
				if strings.HasPrefix(x, "0x") {
					t = map[string]any{"address": x}
					if typ != "" {
						t["type"] = typ
					}
					if size != 0 {
						t["size"] = size
					}
				}
				targets = append(targets, t)
			}
			for _, s := range set {
				name, v, err := assignmentOf(s)
				if err != nil {
					return err
				}
				targets = append(targets, map[string]any{"expression": name, "value": v})
				req["action"] = "write"
			}
			if len(set) > 0 && len(args) > 1 {
				return fault.New(fault.ValidationError, "Read with a second command.", "expressions and --set are both given")
			}
			if targets != nil {
				req["targets"] = targets
			}
			for name, n := range map[string]int{"threadId": thread, "depth": depth, "pid": pid, "eventId": int(event)} {
				if n != 0 {
					req[name] = n
				}
			}
			if frame >= 0 {
				req["frame"] = frame
			}
			if every > 0 {
				req["poll"] = map[string]any{"intervalMs": every.Milliseconds(), "durationMs": last.Milliseconds()}
			}
			return a.callAndPrint(cmd, "debug_memory", req, a.printMemory)
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "write this value (repeatable); all are checked before any is written")
	c.Flags().StringVar(&typ, "type", "", "type of what is at an address, such as int[16]; bytes or hexdump with --size")
	c.Flags().IntVar(&size, "size", 0, "bytes to read at an address")
	c.Flags().IntVar(&thread, "thread", 0, "the paused thread whose locals and registers are meant")
	c.Flags().IntVar(&frame, "frame", -1, "its frame, 0 is the innermost")
	c.Flags().IntVar(&depth, "depth", 0, "how many pointers are followed, 1 to 5")
	c.Flags().IntVar(&pid, "pid", 0, "the process, of several")
	c.Flags().Int64Var(&event, "event", 0, "values as this event recorded them; alone: all of them")
	c.Flags().DurationVar(&every, "every", 0, "read again and again at this interval: variable_snapshot events")
	c.Flags().DurationVar(&last, "for", 10*time.Second, "with --every, for how long")
	return c
}

// assignmentOf reads EXPRESSION=VALUE: the first = that is no part of a comparison.
func assignmentOf(s string) (string, any, error) {
	for i := 1; i < len(s); i++ {
		if s[i] != '=' || strings.ContainsRune("=<>!", rune(s[i-1])) || i+1 < len(s) && s[i+1] == '=' {
			continue
		}
		name, v := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
		if json.Valid([]byte(v)) {
			return name, json.RawMessage(v), nil
		}
		return name, v, nil
	}
	return "", nil, fault.New(fault.ValidationError, "For example --set 'config.level=3'.",
		"--set %q is no EXPRESSION=VALUE", s)
}

func (a *app) printMemory(raw json.RawMessage) error {
	var r struct {
		Results []struct {
			Target, Address, Type, File, Preview, Error string
			Value, Fields                               json.RawMessage
			Previous                                    json.RawMessage `json:"previousValue"`
		}
		Event, Hint string
	}
	if err := decode("debug_memory", raw, &r); err != nil {
		return err
	}
	if r.Event != "" {
		fmt.Fprintln(a.out, a.paint(dim, r.Event))
	}
	failed := 0
	for _, v := range r.Results {
		value := oneLine(v.Value) + oneLine(v.Fields)
		var text string
		switch {
		case v.Error != "":
			failed++
			fmt.Fprintf(a.err, "strobe: %s: %s\n", v.Target, v.Error)
			continue
		case v.File != "":
			value = fmt.Sprintf("%s in %s\n%s", v.Type, v.File, v.Preview)
		case json.Unmarshal(v.Value, &text) == nil && strings.Contains(text, "\n"):
			value = "\n" + text
		}
		if len(v.Previous) > 0 {
			value += a.paint(dim, " (was "+oneLine(v.Previous)+")")
		}
		fmt.Fprintf(a.out, "%s = %s\n", v.Target, value)
	}
	if r.Hint != "" {
		fmt.Fprintln(a.err, r.Hint)
	}
	if failed > 0 {
		return &exitStatus{code: exitError}
	}
	return nil
}
