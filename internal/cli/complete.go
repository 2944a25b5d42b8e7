package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/service"
)

// completeMax bounds what a shell waits for when somebody presses tab.
const completeMax = time.Second

// completeValues has shells complete what a session knows: ids, threads, patterns, functions, points; and values that a
// list in the operations' table allows.
func (a *app) completeValues(root *cobra.Command) {
	for c := range commands(root) {
		words := strings.Fields(c.Use)
		if len(words) > 1 && c.ValidArgsFunction == nil {
			switch first := strings.Trim(words[1], "[]."); {
			case strings.HasPrefix(first, "ID"), first == "SESSION":
				c.ValidArgsFunction = completeSessions
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if fn := completerOf(c, f.Name); fn != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, fn) // fails only where it has one
			}
		})
	}
}

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completerOf finds what completes a flag's values, nil for nothing.
func completerOf(c *cobra.Command, flag string) completer {
	switch {
	case flag == "delete":
		return completeSessions
	case flag == "thread" || flag == "thread-id":
		return ofSession(func(s *sessionValues) []string { return s.Threads })
	case flag == "remove" && c.Name() == "trace":
		return ofSession(func(s *sessionValues) []string { return s.TracePatterns })
	case flag == "remove" && c.Name() == "break":
		return ofSession(func(s *sessionValues) []string { return append(firstWords(s.Breakpoints, s.Logpoints), "all") })
	case flag == "add" || strings.HasPrefix(flag, "function-"):
		return ofSession(func(s *sessionValues) []string { return append(s.Functions, "@usercode", "@exceptions") })
	case flag == "dialect":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return dialectNames(), cobra.ShellCompDirectiveNoFileComp
		}
	case flag == "format":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return export.Names(), cobra.ShellCompDirectiveNoFileComp
		}
	case flag == "unwatch":
		return ofSession(func(s *sessionValues) []string { return s.Watches })
	}
	tools := map[string]string{"query": "debug_query", "run": "debug_launch", "test": "debug_test",
		"stop": "debug_session", "trace": "debug_trace"}
	op := service.Find(tools[c.Name()])
	if op == nil {
		return nil
	}
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return allowed(op, flag) }
}

// allowed are the values that the table of operations has for a flag. Making a schema takes longer than most commands.
func allowed(op *service.Op, flag string) ([]string, cobra.ShellCompDirective) {
	schema, err := op.InputSchema()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for name, prop := range schema.Properties {
		list := prop.Enum
		if list == nil && prop.Items != nil {
			list = prop.Items.Enum
		} else if list == nil {
			list = prop.Examples
		}
		if len(list) > 0 && kebab([]string{name}) == flag {
			return texts(list), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveDefault
}

func texts(list []any) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func firstWords(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		for _, s := range l {
			word, _, _ := strings.Cut(s, " ")
			out = append(out, word)
		}
	}
	return out
}

// completeSessions names the sessions there are, with what they run.
func completeSessions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 && !strings.Contains(cmd.Use, "ID...") && !strings.Contains(cmd.Use, "SESSION SESSION") {
		return nil, none
	}
	var list struct {
		Sessions []struct{ SessionID, Command, Status string }
	}
	if !askDaemon(cmd.Context(), "debug_session", map[string]any{"action": "list"}, &list) {
		return nil, none
	}
	out := make([]string, 0, len(list.Sessions))
	for _, s := range list.Sessions {
		out = append(out, s.SessionID+"\t"+s.Status+" "+s.Command)
	}
	return out, none
}

// sessionValues are what completion knows of one session.
type sessionValues struct {
	TracePatterns, Watches, Breakpoints, Logpoints []string
	Threads, Functions                             []string `json:"-"`
}

// ofSession completes from the session that the command line has named already.
func ofSession(pick func(*sessionValues) []string) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) == 0 {
			return nil, none
		}
		var s sessionValues
		if !askDaemon(cmd.Context(), "debug_session", map[string]any{"action": "status", "sessionId": args[0]}, &s) {
			return nil, none
		}
		var page struct {
			Events []struct {
				ThreadID int
				Function string
			}
			Stats string
		}
		seen := map[string]bool{}
		add := func(list *[]string, v string) {
			if v != "" && v != "0" && !seen[v] {
				seen[v] = true
				*list = append(*list, v)
			}
		}
		if askDaemon(cmd.Context(), "debug_query",
			map[string]any{"sessionId": args[0], "limit": 200, "verbose": true, "maxTokens": 20000}, &page) {
			for _, e := range page.Events {
				id, _ := json.Marshal(e.ThreadID) //nolint:errchkjson // an integer
				add(&s.Threads, string(id))
			}
		}
		if askDaemon(cmd.Context(), "debug_query", map[string]any{"sessionId": args[0], "view": "stats", "limit": 500},
			&page) {
			for i, line := range strings.Split(page.Stats, "\n") {
				name, _, _ := strings.Cut(line, "  ")
				if name, _, _ = strings.Cut(name, "("); i > 0 {
					add(&s.Functions, strings.TrimSpace(name))
				}
			}
		}
		return pick(&s), none
	}
}

// askDaemon asks the daemon that runs, and starts none: a key press is no reason to.
func askDaemon(ctx context.Context, tool string, args map[string]any, into any) bool {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeMax)
	defer cancel()
	home, err := daemon.Home()
	if err != nil {
		return false
	}
	conn, err := daemon.Dial(ctx, home)
	if err != nil {
		return false
	}
	defer conn.Close()
	cl := sdk.NewClient(&sdk.Implementation{Name: "strobe-cli", Version: daemon.Version()}, nil)
	session, err := cl.Connect(ctx, &sdk.IOTransport{Reader: conn, Writer: conn, MaxLineLength: -1}, nil)
	if err != nil {
		return false
	}
	c := &client{session: session}
	defer c.Close()
	return c.callInto(ctx, tool, args, into) == nil
}
