// Package js is the runtimes of JavaScript and TypeScript: Node, Bun and Deno, which one agent watches, by texts that
// it instruments when they are loaded.
//
// They join targets whose processes the host owns, and stand between the host, which tells of images, and the session's
// sink, which gets what the agent recorded by package agentlink.
package js

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
)

// packed is the agent: agent/dist, see TestAgentIsPacked.
//
//go:embed agent.zst
var packed []byte

// Config of the runtimes.
type Config struct {
	CacheDir string // where the agent's files are put
	Logger   *slog.Logger
}

// Runtime is a collector.Joiner. Safe for concurrent use.
type Runtime struct {
	kind
	log   *slog.Logger
	files *agentlink.Files
}

// kind is what one of the three has of its own.
type kind struct {
	name        string
	title       string
	executables []string
	variable    string // by which the agent is loaded
	option      string // before its path there
	limits      []string
}

var kinds = []kind{
	{name: "node", title: "Node", executables: []string{"node", "nodejs"}, variable: "NODE_OPTIONS", option: "--require "},
	{name: "bun", title: "Bun", executables: []string{"bun", "bun.exe"}, variable: "BUN_INSPECT_PRELOAD",
		limits: []string{"Output has the time of its reading, not its call: Bun makes system calls of its own."}},
	{name: "deno", title: "Deno", executables: []string{"deno"}, variable: "NODE_OPTIONS", option: "--require ",
		limits: []string{"Deno's workers are not traced.",
			"With the first point or pause Deno's inspector is opened on 127.0.0.1, for which its event loop has to turn; " +
				"Deno prints on standard error that a debugger listens."}},
}

// New makes the runtimes. Nothing is written before one joins a target.
func New(c Config) []collector.Joiner {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	files := agentlink.NewFiles(packed, filepath.Join(c.CacheDir, "js"))
	var all []collector.Joiner
	for _, k := range kinds {
		all = append(all, &Runtime{kind: k, log: c.Logger, files: files})
	}
	return all
}

// Name implements collector.Joiner.
func (rt *Runtime) Name() string { return rt.name }

// Detect implements collector.Joiner.
func (rt *Runtime) Detect(img collector.Image) bool {
	return slices.Contains(rt.executables, filepath.Base(img.Path))
}

// Language implements collector.Joiner.
func (rt *Runtime) Language() collector.Language {
	return collector.Language{
		Extensions: []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"},
		Commands:   []string{rt.name},
		SampleFile: "sample.js", SampleFunction: "sample.called",
		Sample: "function called(n) {\n  return n + 1;\n}\ncalled(41);\n",
	}
}

// Join implements collector.Joiner.
func (rt *Runtime) Join(j collector.Joining) (collector.Member, error) {
	dir, err := rt.files.Dir()
	if err != nil {
		return nil, fmt.Errorf("put the agent for %s where it can be loaded: %w", rt.title, err)
	}
	kind := agentlink.Kind{
		Name: rt.name, Log: rt.log, Points: rt.name != "bun", Unreachable: rt.unreachable, Capabilities: rt.capabilities,
		Stays:   rt.stays,
		Environ: func(img collector.Image, _ string) []string { return rt.environ(img, filepath.Join(dir, "agent.cjs")) },
	}
	if rt.name == "node" {
		kind.Entered = entered
		kind.Enter = func(ctx context.Context, img collector.Image, in collector.Injector, folder string) error {
			return rt.enter(ctx, img, in, dir, folder)
		}
	}
	m, err := agentlink.Join(kind, j)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// environ puts the agent before what the program itself has there, and tells the agent what that was.
func (rt *Runtime) environ(img collector.Image, file string) []string {
	add := rt.option + file
	if strings.Contains(file, " ") {
		add = rt.option + `"` + file + `"`
	}
	for _, v := range img.Env() {
		old, ok := strings.CutPrefix(v, rt.variable+"=")
		switch {
		case !ok || old == "":
		case strings.Contains(old, file):
			return nil // of a parent's
		case rt.option == "": // one file only
			return []string{rt.variable + "=" + add, "STROBE_AGENT_WAS=" + v}
		default:
			return []string{rt.variable + "=" + add + " " + old, "STROBE_AGENT_WAS=" + v}
		}
	}
	return []string{rt.variable + "=" + add, "STROBE_AGENT_WAS="}
}

// unreachable says what keeps the agent out of a process.
func (rt *Runtime) unreachable(img collector.Image) string {
	if rt.name == "deno" && !slices.ContainsFunc(img.Args,
		func(a string) bool { return a == "-A" || a == "--allow-all" }) {
		return "Deno runs it in its sandbox, and the agent needs files and the environment; run it with -A to trace it"
	}
	return ""
}

// stays says why no agent comes into a process that runs: functions are traced by texts that are instrumented when they
// are loaded.
func (rt *Runtime) stays(img collector.Image) string {
	return fmt.Sprintf("Functions of JavaScript are not traced in process %d, which was attached to: %s loads a "+
		"function's text once, and the agent has to be there then. Start the program with debug_launch command to trace "+
		"them; processes of %s that it starts from now on are traced", img.PID, rt.title, rt.title)
}

func (rt *Runtime) capabilities(h *agentlink.Hello) collector.Capabilities {
	c := collector.Capabilities{Runtime: rt.name, FunctionTracing: "full", Breakpoints: "none", Stepping: "none"}
	packages := "Functions in node_modules are traced where a pattern at the launch names their package or files: " +
		"express.**, file:node_modules/express/**; those of builtins and of eval are not."
	if rt.name == "bun" {
		packages = "Functions of files in node_modules, of builtins and of eval are not traced."
	}
	c.Limitations = append([]string{packages}, rt.limits...)
	if rt.name != "bun" {
		c.Breakpoints, c.Stepping = "full", "full"
	} else {
		c.Limitations = append(c.Limitations, "Breakpoints are places in machine code only.")
	}
	if h == nil {
		c.RuntimeDetail = rt.title + "; its agent comes with the first file of the user's"
		return c
	}
	c.RuntimeDetail = fmt.Sprintf("%s %s, by instrumented sources", rt.title, h.Version)
	if h.Cannot != "" {
		c.FunctionTracing, c.Breakpoints, c.Stepping = "none", "none", "none"
		c.Limitations = append(c.Limitations, h.Cannot)
	}
	return c
}
