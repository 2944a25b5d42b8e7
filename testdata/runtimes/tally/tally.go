// Package tally is the runtime of Tally, the language of the interpreter in this folder: an example of how a runtime is
// added (docs/extending.md), which only a binary has that is built with the tag strobe_examples.
//
// The agent stands beside the interpreter, as a library that it loads where the environment says so.
package tally

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
)

// agentFile is the agent's, in the interpreter's folder, and envAgent names it to the interpreter.
const (
	agentFile = "tally_agent.so"
	envAgent  = "TALLY_AGENT"
)

// Runtime is a collector.Joiner. Safe for concurrent use.
type Runtime struct{ log *slog.Logger }

// New makes the runtime.
func New(log *slog.Logger) *Runtime { return &Runtime{log: log} }

// Name implements collector.Joiner.
func (rt *Runtime) Name() string { return "tally" }

// Detect implements collector.Joiner.
func (rt *Runtime) Detect(img collector.Image) bool { return filepath.Base(img.Path) == "tally" }

// Language implements collector.Joiner.
func (rt *Runtime) Language() collector.Language {
	return collector.Language{Extensions: []string{".tally"}, Commands: []string{"tally"},
		SampleFile: "sample.tally", SampleFunction: "sample.called",
		Sample: "fn called(n) { return n + 1 }\ncalled(41)\n"}
}

// Join implements collector.Joiner.
func (rt *Runtime) Join(j collector.Joining) (collector.Member, error) {
	m, err := agentlink.Join(agentlink.Kind{
		Name: rt.Name(), Log: rt.log, Points: true, Unreachable: unreachable, Capabilities: capabilities, Literal: literal,
		Environ: func(img collector.Image, _ string) []string { return []string{envAgent + "=" + agent(img)} },
		Enter:   enter,
	}, j)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func agent(img collector.Image) string { return filepath.Join(filepath.Dir(img.Path), agentFile) }

// unreachable says why no agent comes in.
func unreachable(img collector.Image) string {
	if _, err := os.Stat(agent(img)); err != nil {
		return fmt.Sprintf("its agent is not beside it: %v", err)
	}
	return ""
}

// enter starts a thread in a process that runs, which loads the agent there.
func enter(ctx context.Context, img collector.Image, in collector.Injector, folder string) error {
	if why := unreachable(img); why != "" {
		return collector.StaysOut(fmt.Sprintf("Tally functions of process %d are not traced: %s", img.PID, why))
	}
	return in.Inject(ctx, img.PID, collector.Script{Start: "tally_start_thread", Calls: []collector.Call{
		{Function: "tally_load_agent", Int: true, Args: []collector.Arg{{Text: agent(img)}, {Text: folder},
			{Text: "amid"}}},
	}, Until: filepath.Join(folder, agentlink.InsideFile)})
}

// literal writes a JSON value as Tally does.
func literal(v json.RawMessage) string {
	if string(v) == "null" {
		return "none"
	}
	return string(v)
}

func capabilities(h *agentlink.Hello) collector.Capabilities {
	c := collector.Capabilities{Runtime: "tally", FunctionTracing: "full", Breakpoints: "full", Stepping: "full",
		RuntimeDetail: "Tally; its agent has not come yet"}
	c.Limitations = []string{"Functions of C that a program calls are traced by their symbols, beside these."}
	if h == nil {
		return c
	}
	c.RuntimeDetail = fmt.Sprintf("Tally %s, by %s", h.Version, h.Backend)
	if !slices.Contains(h.Can, "points") {
		c.Breakpoints, c.Stepping = "none", "none"
		c.Limitations = append(c.Limitations, "Breakpoints are places in machine code only.")
	}
	return c
}
