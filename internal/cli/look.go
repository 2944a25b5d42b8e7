package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

// setAll puts what was given into a request.
func setAll(req map[string]any, given map[string]any) {
	for name, v := range given {
		switch v := v.(type) {
		case string:
			if v != "" {
				req[name] = v
			}
		case int:
			if v != 0 {
				req[name] = v
			}
		case bool:
			if v {
				req[name] = v
			}
		}
	}
}

func (a *app) lookCommand() *cobra.Command {
	var id, since, wait, file string
	var depth, tokens, pid int
	var all, gone bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "look [ID]",
		Short: "Show a program's user interface as text, or take a picture of it",
		Long: `Reads the windows of a session's processes by accessibility. A line is one element: its id, its name, its place
on the screen, its states. Without an argument it takes the one session that runs. With --picture the windows, or the
element of --element, go to a PNG file.`,
		Example: `  strobe run --display virtual -- ./app &
  strobe look app-2026-05-04-10h30
  strobe look app-2026-05-04-10h30 --wait 'title=Saved' --picture window.png`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{}
			if len(args) > 0 {
				req["sessionId"] = args[0]
			} else if pid == 0 {
				one, err := onlySession(cmd)
				if err != nil {
					return err
				}
				req["sessionId"] = one
			}
			setAll(req, map[string]any{"id": id, "since": since, "depth": depth, "maxTokens": tokens, "pid": pid, "all": all})
			if wait != "" || gone {
				cond := map[string]any{"timeoutMs": limit.Milliseconds(), "gone": gone}
				for part := range strings.SplitSeq(wait, ",") {
					name, v, ok := strings.Cut(part, "=")
					if !ok {
						return fault.New(fault.ValidationError, "For example --wait 'role=dialog,title=Open'.", "--wait %q is no "+
							"NAME=VALUE", part)
					}
					cond[strings.TrimSpace(name)] = v
				}
				req["waitFor"] = cond
			}
			if file != "" {
				req["mode"] = "both"
			}
			return a.callAndPrint(cmd, "debug_ui", req, func(raw json.RawMessage) error { return a.printLook(raw, file) })
		},
	}
	c.Flags().StringVar(&id, "element", "", "only this element")
	c.Flags().IntVar(&depth, "depth", 0, "levels that are shown")
	c.Flags().BoolVar(&all, "all", false, "also what is hidden")
	c.Flags().StringVar(&since, "since", "", "the stamp of an earlier answer: only what is other")
	c.Flags().StringVar(&wait, "wait", "", "until an element fits: id=, role=, title=, value=, with commas between")
	c.Flags().BoolVar(&gone, "gone", false, "with --wait: until none does")
	c.Flags().DurationVar(&limit, "limit", 5*time.Second, "with --wait: for how long")
	c.Flags().IntVar(&tokens, "max-tokens", 0, "how much text there may be")
	c.Flags().IntVar(&pid, "pid", 0, "a process that is in no session, instead of ID")
	c.Flags().StringVar(&file, "picture", "", "write a picture to this file")
	return c
}

// onlySession is the one session that runs.
func onlySession(cmd *cobra.Command) (string, error) {
	c, err := connect(cmd.Context())
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.running(cmd.Context(), nil)
}

func (a *app) printLook(raw json.RawMessage, file string) error {
	var r struct {
		Tree, Stamp, Hint string
		Stats             struct {
			Nodes     int   `json:"axNodes"`
			Hidden    int   `json:"hidden"`
			LatencyMs int64 `json:"latencyMs"`
		}
		Picture *struct {
			Data          string
			Width, Height int
			Scale         float64
		}
		TimedOut bool `json:"timedOut"`
	}
	if err := decode("debug_ui", raw, &r); err != nil {
		return err
	}
	fmt.Fprintln(a.out, r.Tree)
	fmt.Fprintln(a.err, a.paint(dim, fmt.Sprintf("%d elements, %d hidden, in %d ms; stamp %s", r.Stats.Nodes,
		r.Stats.Hidden, r.Stats.LatencyMs, r.Stamp)))
	if r.Hint != "" {
		fmt.Fprintln(a.err, r.Hint)
	}
	if r.Picture != nil && file != "" {
		b, err := base64.StdEncoding.DecodeString(r.Picture.Data)
		if err == nil {
			err = os.WriteFile(file, b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write picture: %w", err)
		}
		fmt.Fprintf(a.err, "%s: %dx%d, scale %g\n", file, r.Picture.Width, r.Picture.Height, r.Picture.Scale)
	}
	if r.TimedOut {
		return &exitStatus{code: exitNothing}
	}
	return nil
}

func (a *app) actCommand() *cobra.Command {
	var title, role, at, to, value, text, item, direction string
	var modifiers []string
	var amount int
	var blind bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "act ID ACTION [ELEMENT|KEY]",
		Short: "Do what a user would do with a program's interface, and see what came of it",
		Long: `ACTION is click, double_click, right_click, set_value, type, select, scroll, drag, key or hover. ELEMENT is an
id that strobe look has shown, as btn#5c8a12, or a name. For key it is the key: Return, ctrl+s.`,
		Example: `  strobe act app-2026-05-04-10h30 click btn#5c8a12
  strobe act app-2026-05-04-10h30 type txt#0a1b2c --text 'Hello'
  strobe act app-2026-05-04-10h30 select --title File --role menu --item 'Save'
  strobe act app-2026-05-04-10h30 key ctrl+s`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"sessionId": args[0], "action": args[1]}
			if len(args) > 2 {
				switch {
				case args[1] == "key":
					req["key"] = args[2]
				case strings.Contains(args[2], "#"):
					req["id"] = args[2]
				default:
					req["title"] = args[2]
				}
			}
			setAll(req, map[string]any{"title": title, "role": role, "value": value, "text": text, "item": item,
				"direction": direction, "amount": amount, "timeoutMs": int(limit.Milliseconds())})
			if len(modifiers) > 0 {
				req["modifiers"] = modifiers
			}
			if blind {
				req["verify"] = false
			}
			if at != "" {
				p, err := pointOf(at)
				if err != nil {
					return err
				}
				req["at"] = p
			}
			if to != "" {
				if p, err := pointOf(to); err == nil {
					req["to"] = p
				} else {
					req["to"] = map[string]any{"id": to}
				}
			}
			return a.callAndPrint(cmd, "debug_ui_action", req, a.printAct)
		},
	}
	c.Flags().StringVar(&title, "title", "", "the element with this name, where that has a #")
	c.Flags().StringVar(&role, "role", "", "with --title: of this role")
	c.Flags().StringVar(&at, "at", "", "X,Y on the screen instead of an element")
	c.Flags().StringVar(&to, "to", "", "drag: to this element or X,Y")
	c.Flags().StringVar(&value, "value", "", "set_value: to what")
	c.Flags().StringVar(&text, "text", "", "type: what")
	c.Flags().StringVar(&item, "item", "", "select: the item's name, in menus a path: File > Open; scroll: until it shows")
	c.Flags().StringVar(&direction, "direction", "", "scroll: up, down, left or right")
	c.Flags().IntVar(&amount, "amount", 0, "scroll: turns of the wheel")
	c.Flags().StringSliceVar(&modifiers, "modifiers", nil, "keys that are held: ctrl, shift, alt, super")
	c.Flags().BoolVar(&blind, "blind", false, "do not look whether it worked")
	c.Flags().DurationVar(&limit, "limit", 0, "for how long it is tried (default 5s)")
	return c
}

func pointOf(s string) (map[string]any, error) {
	x, y, _ := strings.Cut(s, ",")
	px, err1 := strconv.Atoi(x)
	py, err2 := strconv.Atoi(y)
	if err1 != nil || err2 != nil {
		return nil, fault.New(fault.ValidationError, "For example 120,40.", "%q is no point", s)
	}
	return map[string]any{"x": px, "y": py}, nil
}

func (a *app) printAct(raw json.RawMessage) error {
	var r struct {
		Done                  bool
		Method, Before, After string
		Changed               []string
		ChangedCount          int `json:"changedCount"`
		Ran                   []string
		EventID               int64 `json:"eventId"`
		LatencyMs             int64 `json:"latencyMs"`
		Tried                 []string
		Hint                  string
	}
	if err := decode("debug_ui_action", raw, &r); err != nil {
		return err
	}
	state := "done by " + r.Method
	if !r.Done {
		state = "NOT done; tried " + strings.Join(r.Tried, ", ")
	}
	fmt.Fprintf(a.out, "%s, event %d, %d ms\n", state, r.EventID, r.LatencyMs)
	for name, v := range map[string]string{"before: ": r.Before, "after:  ": r.After} {
		if v != "" && r.Before != r.After {
			fmt.Fprintln(a.out, name+v)
		}
	}
	for _, l := range r.Changed {
		fmt.Fprintln(a.out, "  "+l)
	}
	if n := r.ChangedCount - len(r.Changed); n > 0 {
		fmt.Fprintf(a.out, "  and %d more\n", n)
	}
	for _, l := range r.Ran {
		fmt.Fprintln(a.out, "ran "+l)
	}
	if r.Hint != "" {
		fmt.Fprintln(a.err, r.Hint)
	}
	if !r.Done {
		return &exitStatus{code: exitNothing}
	}
	return nil
}
