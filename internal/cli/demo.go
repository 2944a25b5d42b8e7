package cli

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
)

// demoSource lets an installed binary show the demo.
//
//go:embed demo/pricing.cpp
var demoSource []byte

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch an MCP client find the bug in a small program",
		Long: `Builds a small program with a bug that its output does not explain, then finds the cause the way an LLM
would: launch, read the output, trace while it runs, read the calls. Then a client finds it that knows nothing of
the program and makes only the calls that answers name. Prints each request and answer, shortened.
Needs a C++ compiler; uses a directory of its own, and no network.`,
		Example: "  strobe demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

func (a *app) demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "strobe-demo")
	if err != nil {
		return fmt.Errorf("make demo directory: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := a.buildDemo(ctx, dir)
	if err != nil {
		return err
	}
	home := filepath.Join(dir, "home")
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	server := exec.Command(self, "mcp")
	server.Env = append(os.Environ(), "STROBE_HOME="+home)
	server.Stderr = a.err
	cl := sdk.NewClient(&sdk.Implementation{Name: "strobe-demo", Version: daemon.Version()}, nil)
	session, err := cl.Connect(ctx, &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		return fmt.Errorf("start `strobe mcp`: %w", err)
	}
	defer func() {
		session.Close()
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if _, stopErr := daemon.Stop(bound, home); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
	}()
	d := &demo{app: a, client: &client{session: session}, program: program, dir: dir}
	if err := d.find(ctx); err != nil {
		return err
	}
	return d.follow(ctx)
}

func (a *app) buildDemo(ctx context.Context, dir string) (string, error) {
	source, program := filepath.Join(dir, "pricing.cpp"), filepath.Join(dir, "pricing")
	if err := os.WriteFile(source, demoSource, 0o600); err != nil {
		return "", fmt.Errorf("write demo program: %w", err)
	}
	for _, compiler := range []string{os.Getenv("CXX"), "g++", "clang++", "c++"} {
		if compiler == "" {
			continue
		}
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, "-g", "-O0", "-pthread", "-o", program, source)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build demo program: %w\n%s", err, out)
		}
		fmt.Fprintf(a.out, "Built pricing.cpp with %s -g -O0: three threads price orders, and some prices come out "+
			"wrong.\n\n", compiler)
		return program, nil
	}
	return "", fault.New(fault.LaunchFailed, "Install g++ or clang++, or set CXX.", "no C++ compiler was found")
}

// demo plays the client.
type demo struct {
	app     *app
	client  *client
	program string
	dir     string
	id      string
}

// say prints what the client thinks.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.app.out, "%s\n", d.app.paint(cyan, fmt.Sprintf("# "+format, args...)))
}

// call runs a tool and prints both sides, shortened.
func (d *demo) call(ctx context.Context, tool string, args map[string]any, result any) error {
	if d.id != "" {
		args["sessionId"] = d.id
	}
	var request bytes.Buffer
	enc := json.NewEncoder(&request)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(args); err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	fmt.Fprintf(d.app.out, "→ %s %s\n", tool, shorten(strings.TrimSpace(request.String()), 300))
	raw, err := d.client.call(ctx, tool, args)
	if err != nil {
		return err
	}
	d.show(raw)
	return decode(tool, raw, result)
}

// show prints an answer, shortened.
func (d *demo) show(raw json.RawMessage) {
	var text struct{ Tree, Stats, Text, Hint string }
	if json.Unmarshal(raw, &text) == nil && text.Tree+text.Stats+text.Text != "" {
		const most = 24
		lines := strings.Split(strings.TrimRight(text.Tree+text.Stats+text.Text, "\n"), "\n")
		for i, l := range lines {
			if i == most {
				fmt.Fprintf(d.app.out, "    … %d more lines\n", len(lines)-most)
				break
			}
			fmt.Fprintf(d.app.out, "    %s\n", shorten(l, 180))
		}
		if text.Text != "" && text.Hint != "" {
			fmt.Fprintf(d.app.out, "    hint: %s\n", shorten(text.Hint, 300))
		}
	} else {
		fmt.Fprintf(d.app.out, "← %s\n", shorten(string(raw), 400))
	}
	fmt.Fprintln(d.app.out)
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + fmt.Sprintf(" …(+%d)", len(r)-most)
	}
	return s
}

// find is the search for the bug, as an LLM would go about it.
func (d *demo) find(ctx context.Context) error {
	var launched struct {
		SessionID string `json:"sessionId"`
	}
	d.say("Start the program. Nothing is traced yet; its output is recorded.")
	if err := d.call(ctx, "debug_launch", map[string]any{"command": d.program, "projectRoot": d.dir},
		&launched); err != nil {
		return err
	}
	d.id = launched.SessionID
	var page struct {
		Events      []shownEvent `json:"events"`
		LastEventID int64        `json:"lastEventId"`
		Tree        string       `json:"tree"`
	}
	d.say("What does it say?")
	out := map[string]any{"eventType": "stdout", "text": map[string]any{"contains": "quoted"}, "waitMs": 5000, "limit": 4}
	if err := d.call(ctx, "debug_query", out, &page); err != nil {
		return err
	}
	d.say("Some orders are too dear. The output does not say why. Look at how a price is made, while it runs.")
	trace := map[string]any{"add": []string{"shop::price_order", "shop::discount"}}
	if err := d.call(ctx, "debug_trace", trace, &struct{}{}); err != nil {
		return err
	}
	if err := d.nextBatch(ctx); err != nil {
		return err
	}
	if err := d.call(ctx, "debug_query", map[string]any{"view": "tree", "limit": 16}, &page); err != nil {
		return err
	}
	d.say("The discount of some customers is too small. Widen to what it is made of, and wait for the next batch.")
	if err := d.call(ctx, "debug_trace", map[string]any{"add": []string{"shop::loyalty_*", "shop::tier_*"}},
		&struct{}{}); err != nil {
		return err
	}
	if err := d.nextBatch(ctx); err != nil {
		return err
	}
	if err := d.call(ctx, "debug_query", map[string]any{"view": "stats"}, &page); err != nil {
		return err
	}
	d.say("Points should never be negative. Are they?")
	return d.conclude(ctx)
}

// nextBatch waits until the program has printed that one more batch is done.
func (d *demo) nextBatch(ctx context.Context) error {
	var now struct {
		LastEventID int64 `json:"lastEventId"`
		TotalCount  int64 `json:"totalCount"`
	}
	args := map[string]any{"sessionId": d.id, "eventType": "stdout", "text": map[string]any{"contains": "batch"},
		"limit": 500}
	if err := d.client.callInto(ctx, "debug_query", args, &now); err != nil {
		return err
	}
	// The batch under way may have begun before the traces: the one after it is whole.
	for range 2 {
		args["afterEventId"], args["waitMs"], args["limit"] = now.LastEventID, 5000, 1
		if err := d.client.callInto(ctx, "debug_query", args, &now); err != nil {
			return err
		}
	}
	return nil
}

// conclude asks for the calls that cannot be right, names the cause and cleans up.
func (d *demo) conclude(ctx context.Context) error {
	var page struct {
		Events []struct {
			shownEvent
			EnterID  int64 `json:"enterEventId"`
			ParentID int64 `json:"parentEventId"`
		} `json:"events"`
		TotalCount int64 `json:"totalCount"`
	}
	args := map[string]any{
		"function": map[string]any{"equals": "shop::loyalty_points"}, "returnValue": map[string]any{"lessThan": 0},
		"verbose": true, "limit": 1, "waitMs": 3000,
	}
	if err := d.call(ctx, "debug_query", args, &page); err != nil {
		return err
	}
	if len(page.Events) == 0 {
		return &exitStatus{exitError, "the demo did not find its bug"}
	}
	var tree struct{ Tree string }
	d.say("There it is. This is the call, with what it was given:")
	if err := d.call(ctx, "debug_query", map[string]any{"view": "tree", "under": page.Events[0].EnterID},
		&tree); err != nil {
		return err
	}
	got, err := strconv.Atoi(string(page.Events[0].ReturnValue))
	if err != nil {
		return fmt.Errorf("read result %s: %w", page.Events[0].ReturnValue, err)
	}
	d.say("orders*3 + years*5 is %d, and it returns %d: the sum does not fit `Points`, which is a signed byte.", got+256,
		got)
	d.say("The best customers fall to the lowest tier. The mend: using Points = int.")
	fmt.Fprintln(d.app.out)
	d.say("Take the traces away and end the program.")
	if err := d.call(ctx, "debug_trace", map[string]any{"remove": []string{"shop::price_order", "shop::discount",
		"shop::loyalty_*", "shop::tier_*"}}, &struct{}{}); err != nil {
		return err
	}
	return d.call(ctx, "debug_session", map[string]any{"action": "stop"}, &struct{}{})
}
