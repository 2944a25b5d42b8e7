package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// shownPoint is a breakpoint or logpoint as the commands print it.
type shownPoint struct {
	ID        string `json:"id"`
	Function  string `json:"function"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Locations int    `json:"locations"`
	Condition string `json:"condition"`
	Message   string `json:"message"`
	Hits      int64  `json:"hits"`
	Note      string `json:"note"`
}

// shownPause is a paused thread as the commands print it.
type shownPause struct {
	ThreadID     int             `json:"threadId"`
	ThreadName   string          `json:"threadName"`
	BreakpointID string          `json:"breakpointId"`
	Reason       string          `json:"reason"`
	Function     string          `json:"function"`
	File         string          `json:"file"`
	Line         int             `json:"line"`
	Backtrace    []string        `json:"backtrace"`
	Arguments    json.RawMessage `json:"arguments"`
	Locals       json.RawMessage `json:"locals"`
	Note         string          `json:"note"`
}

func (a *app) breakCommand() *cobra.Command {
	var remove []string
	var condition, message string
	var hit int64
	var thread int
	var all, now bool
	c := &cobra.Command{
		Use:   "break ID [PLACE]... [--remove POINT]... | break ID --now [--thread T]",
		Short: "Pause threads at functions, lines or addresses, or log a message there",
		Long: `Sets breakpoints while the program runs, or shows them. A place is FILE:LINE, 0xADDRESS, or a function
pattern as strobe trace takes it; @exceptions and @uncaught stand for exceptions and panics. Only the
thread that comes there pauses; strobe continue lets it go on. With --message nothing pauses, and the
message is put on the timeline. With --now every thread, or that of --thread, pauses where it is.`,
		Example: `  strobe break app-2026-05-04-10h30 parser.c:120 --if 'n > 3 && tok->kind == 7'
  strobe break app-2026-05-04-10h30 'net::Session::send' --message 'sending {len} bytes'
  strobe break app-2026-05-04-10h30 --remove all
  strobe break app-2026-05-04-10h30 --now`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"sessionId": args[0]}
			if now {
				return a.pauseNow(cmd, req, len(args) > 1, thread)
			}
			var add []map[string]any
			for _, place := range args[1:] {
				p := placeOf(place)
				for name, v := range map[string]any{"condition": condition, "message": message, "hitCount": hit, "thread": thread,
					"allThreads": all} {
					if v != "" && v != int64(0) && v != 0 && v != false {
						p[name] = v
					}
				}
				add = append(add, p)
			}
			if add != nil {
				req["add"] = add
			}
			if len(remove) > 0 {
				req["remove"] = remove
			}
			return a.callAndPrint(cmd, "debug_breakpoint", req, a.printPoints)
		},
	}
	c.Flags().StringArrayVar(&remove, "remove", nil, "take this one out, or all (repeatable)")
	c.Flags().StringVar(&condition, "if", "", "only when this expression is true")
	c.Flags().StringVar(&message, "message", "",
		"do not pause: put this text on the timeline, with {expressions} filled in")
	c.Flags().Int64Var(&hit, "hit", 0, "pause at this hit only")
	c.Flags().IntVar(&thread, "thread", 0, "this thread only")
	c.Flags().BoolVar(&all, "all-threads", false, "pause the other threads too")
	c.Flags().BoolVar(&now, "now", false, "pause every thread at once, or that of --thread")
	for _, other := range []string{"remove", "if", "message", "hit", "all-threads"} {
		c.MarkFlagsMutuallyExclusive("now", other)
	}
	return c
}

// pauseNow is break --now.
func (a *app) pauseNow(cmd *cobra.Command, req map[string]any, places bool, thread int) error {
	if places {
		return fmt.Errorf("--now pauses threads where they are, and takes no place")
	}
	req["action"] = "pause"
	if thread != 0 {
		req["threadId"] = thread
	}
	return a.callAndPrint(cmd, "debug_continue", req, a.printStanding)
}

var fileLine = regexp.MustCompile(`^(.+):(\d+)$`)

// placeOf reads FILE:LINE, 0xADDRESS or a pattern.
func placeOf(s string) map[string]any {
	if m := fileLine.FindStringSubmatch(s); m != nil && !strings.HasSuffix(m[1], ":") {
		line, _ := strconv.Atoi(m[2])
		return map[string]any{"file": m[1], "line": line}
	}
	if strings.HasPrefix(s, "0x") {
		return map[string]any{"address": s}
	}
	return map[string]any{"function": s}
}

func (a *app) continueCommand() *cobra.Command {
	var thread int
	var over, into, out, all, system bool
	var until string
	var wait time.Duration
	c := &cobra.Command{
		Use:     "continue ID",
		Aliases: []string{"cont"},
		Short:   "Let paused threads go on, or step",
		Long:    "Lets every paused thread go on, or the one of --thread, waits for the next pause, and shows it.",
		Example: "  strobe continue app-2026-05-04-10h30\n  strobe continue app-2026-05-04-10h30 --over --thread 4711",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"sessionId": args[0], "waitMs": wait.Milliseconds()}
			for action, on := range map[string]bool{"step-over": over, "step-into": into, "step-out": out} {
				if on {
					req["action"] = action
				}
			}
			if thread != 0 {
				req["threadId"] = thread
			}
			for name, on := range map[string]bool{"allThreads": all, "standardLibrary": system} {
				if on {
					req[name] = on
				}
			}
			if until != "" {
				req["until"] = until
			}
			return a.callAndPrint(cmd, "debug_continue", req, a.printStanding)
		},
	}
	c.Flags().IntVar(&thread, "thread", 0, "only this thread")
	c.Flags().BoolVar(&over, "over", false, "to the next statement of the function")
	c.Flags().BoolVar(&into, "into", false, "to the next statement, also of a function that is called")
	c.Flags().BoolVar(&out, "out", false, "until the function returns, and show its result")
	c.Flags().BoolVar(&all, "all-threads", false, "a step moves all paused threads until it ends")
	c.Flags().BoolVar(&system, "standard-library", false, "--into enters it, too")
	c.Flags().DurationVar(&wait, "wait", 2*time.Second, "how long to wait for the next pause")
	c.Flags().StringVar(&until, "until", "", "run to this FILE:LINE")
	c.MarkFlagsMutuallyExclusive("over", "into", "out", "until")
	return c
}

// callAndPrint calls one tool and shows its answer.
func (a *app) callAndPrint(cmd *cobra.Command, tool string, req map[string]any,
	show func(json.RawMessage) error) error {
	c, err := connect(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.call(cmd.Context(), tool, req)
	if err != nil {
		return err
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
		return nil
	}
	return show(raw)
}

func (a *app) printPoints(raw json.RawMessage) error {
	var r struct {
		Breakpoints, Logpoints []shownPoint
		PausedThreads          []shownPause `json:"pausedThreads"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if len(r.Breakpoints)+len(r.Logpoints) == 0 {
		fmt.Fprintln(a.out, "no breakpoints")
	}
	for _, p := range append(r.Breakpoints, r.Logpoints...) {
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s  %s", p.ID, p.Function)
		if p.Line > 0 {
			fmt.Fprintf(&b, " (%s:%d)", p.File, p.Line)
		}
		if p.Locations > 1 {
			fmt.Fprintf(&b, " and %d more", p.Locations-1)
		}
		fmt.Fprintf(&b, "  hits %d", p.Hits)
		for _, part := range [][2]string{{"if", p.Condition}, {"message", p.Message}, {"note:", p.Note}} {
			if part[1] != "" {
				fmt.Fprintf(&b, "  %s %s", part[0], part[1])
			}
		}
		fmt.Fprintln(a.out, b.String())
	}
	a.printPauses(r.PausedThreads)
	return nil
}

func (a *app) printPauses(list []shownPause) {
	for _, p := range list {
		at := p.Function
		if p.File != "" {
			at += fmt.Sprintf(" (%s:%d)", p.File, p.Line)
		}
		fmt.Fprintf(a.out, "paused  thread %d (%s) at %s, %s %s\n", p.ThreadID, p.ThreadName, at, p.Reason, p.BreakpointID)
		if p.Note != "" {
			fmt.Fprintf(a.out, "  %s\n", p.Note)
		}
		for _, v := range []json.RawMessage{p.Arguments, p.Locals} {
			if len(v) > 2 {
				fmt.Fprintf(a.out, "  %s\n", argumentText(v))
			}
		}
		for _, l := range p.Backtrace {
			fmt.Fprintf(a.out, "  %s\n", a.paint(dim, l))
		}
	}
}

func (a *app) printStanding(raw json.RawMessage) error {
	var r struct {
		Status        string
		PausedThreads []shownPause `json:"pausedThreads"`
		ExitCode      *int
		Signal, Hint  string

		PausesLater []struct {
			ThreadID int `json:"threadId"`
			Why      string
		} `json:"pausesLater"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	fmt.Fprint(a.out, r.Status)
	if r.ExitCode != nil {
		fmt.Fprintf(a.out, ", exit code %d", *r.ExitCode)
	}
	if r.Signal != "" {
		fmt.Fprintf(a.out, ", %s", r.Signal)
	}
	fmt.Fprintln(a.out)
	a.printPauses(r.PausedThreads)
	for _, l := range r.PausesLater {
		fmt.Fprintf(a.out, "later   thread %d: %s\n", l.ThreadID, l.Why)
	}
	if r.Hint != "" {
		fmt.Fprintln(a.err, r.Hint)
	}
	return nil
}
