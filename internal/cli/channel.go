package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) channelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "channel",
		Short: "Send to a program as the world would, and see what it did",
		Long: `Channels are the ways in which a program meets the world: net[:PORT] (requests to it, a server for it, faults),
file:GLOB (what happens to files), process (signals, limits), stdio. "strobe channel list ID" shows what each takes.`,
		Example: `  strobe channel add app-2026-05-04-10h30 net:8080
  strobe channel send app-2026-05-04-10h30 net:8080 request path=/health
  strobe channel query app-2026-05-04-10h30 net`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.channelAdd(), a.channelRemove(), a.channelList(), a.channelSend(), a.channelQuery())
	return c
}

// showChannels shows the open channels, and all kinds that there are.
func (a *app) showChannels(raw json.RawMessage) error {
	var r struct {
		Channels []struct {
			Channel     string
			Sent, Heard int64
			Variables   map[string]string
		}
		Kinds []struct {
			Kind, Doc         string
			Options, Messages []string
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	for _, o := range r.Channels {
		line := fmt.Sprintf("%s: open, %d sent, %d heard", o.Channel, o.Sent, o.Heard)
		for _, name := range sortedKeys(o.Variables) {
			line += fmt.Sprintf(", %s=%s", name, o.Variables[name])
		}
		fmt.Fprintln(a.out, line)
	}
	for _, k := range r.Kinds {
		fmt.Fprintf(a.out, "%s: %s\n", k.Kind, k.Doc)
		for _, m := range k.Messages {
			fmt.Fprintln(a.out, "  "+m)
		}
		for _, o := range k.Options {
			fmt.Fprintln(a.out, "  option "+o)
		}
	}
	return nil
}

func (a *app) channelAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add ID CHANNEL [OPTION=VALUE...]", Short: "Open a channel of a session",
		Example: "  strobe channel add app-2026-05-04-10h30 'file:logs/*.log'",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := assignments(args[2:])
			if err != nil {
				return err
			}
			req := map[string]any{"action": "add", "sessionId": args[0], "channel": args[1]}
			if len(options) > 0 {
				req["options"] = options
			}
			return a.callAndPrint(cmd, "debug_channel", req, a.showChannels)
		},
	}
}

func (a *app) channelRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID CHANNEL", Short: "Close a channel",
		Example: "  strobe channel remove app-2026-05-04-10h30 net:8080",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"action": "remove", "sessionId": args[0], "channel": args[1]}
			return a.callAndPrint(cmd, "debug_channel", req, a.showChannels)
		},
	}
}

func (a *app) channelList() *cobra.Command {
	return &cobra.Command{
		Use: "list ID", Short: "Show a session's channels, and what messages there are",
		Example: "  strobe channel list app-2026-05-04-10h30",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAndPrint(cmd, "debug_channel", map[string]any{"action": "list", "sessionId": args[0]}, a.showChannels)
		},
	}
}

func (a *app) channelSend() *cobra.Command {
	return &cobra.Command{
		Use: "send ID CHANNEL MESSAGE [FIELD=VALUE...]", Short: "Send a message to a channel",
		Long: `Values are JSON where they can be read so, else text. headers.NAME=VALUE sets a member of an object.`,
		Example: `  strobe channel send app-2026-05-04-10h30 net request method=POST path=/items body='{"a":1}'
  strobe channel send app-2026-05-04-10h30 process signal signal=SIGHUP`,
		Args: cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			message, err := assignments(args[3:])
			if err != nil {
				return err
			}
			message["do"] = args[2]
			req := map[string]any{"action": "send", "sessionId": args[0], "channel": args[1], "message": message}
			return a.callAndPrint(cmd, "debug_channel", req, func(raw json.RawMessage) error {
				var r struct{ Answer json.RawMessage }
				if err := json.Unmarshal(raw, &r); err != nil {
					return fmt.Errorf("read answer: %w", err)
				}
				if len(r.Answer) == 0 {
					r.Answer = json.RawMessage("sent")
				}
				fmt.Fprintf(a.out, "%s\n", r.Answer)
				return nil
			})
		},
	}
}

func (a *app) channelQuery() *cobra.Command {
	var from, to string
	var summary bool
	var limit int
	c := &cobra.Command{
		Use: "query ID CHANNEL [MEMBER=VALUE...]", Short: "Show what a channel heard",
		Example: "  strobe channel query app-2026-05-04-10h30 net what=answer status.lessThan=500",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			match, err := assignments(args[2:])
			if err != nil {
				return err
			}
			req := map[string]any{"action": "query", "sessionId": args[0], "channel": args[1], "summary": summary}
			for name, v := range map[string]string{"from": from, "to": to} {
				if v != "" {
					req[name] = v
				}
			}
			if limit > 0 {
				req["limit"] = limit
			}
			if len(match) > 0 {
				req["match"] = match
			}
			return a.callAndPrint(cmd, "debug_channel", req, a.showHeard)
		},
	}
	c.Flags().StringVar(&from, "from", "", "only events from then on, e.g. -5s")
	c.Flags().StringVar(&to, "to", "", "only events until then")
	c.Flags().BoolVar(&summary, "summary", false, "counts only")
	c.Flags().IntVar(&limit, "limit", 0, "events at most (50)")
	return c
}

func (a *app) showHeard(raw json.RawMessage) error {
	var r struct {
		Events     []json.RawMessage
		Counts     map[string]int64
		TotalCount int64
		Hint       string
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	for _, e := range r.Events {
		fmt.Fprintf(a.out, "%s\n", e)
	}
	for _, name := range sortedKeys(r.Counts) {
		fmt.Fprintf(a.out, "%s: %d\n", name, r.Counts[name])
	}
	if r.Hint != "" {
		fmt.Fprintln(a.err, r.Hint)
	}
	if r.TotalCount == 0 {
		return &exitStatus{code: exitNothing}
	}
	return nil
}

// assignments reads FIELD=VALUE; a dot in FIELD goes into an object.
func assignments(args []string) (map[string]any, error) {
	out := map[string]any{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, &exitStatus{code: exitError, msg: fmt.Sprintf("%q is no FIELD=VALUE", arg)}
		}
		var v any = text
		if json.Valid([]byte(text)) {
			v = json.RawMessage(text)
		}
		at := out
		parts := strings.Split(name, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[p] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = v
	}
	return out, nil
}
