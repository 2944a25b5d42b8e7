// Package python is the runtime of CPython, 3.8 and newer: an agent of Python that the interpreter loads as its
// sitecustomize.
//
// It joins targets whose processes the host owns, and stands between the host, which tells of images, and the session's
// sink, which gets what the agent recorded by package agentlink.
package python

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
)

// packed is the agent: the files of agent, see TestAgentIsPacked.
//
//go:embed agent.zst
var packed []byte

// Config of the runtime.
type Config struct {
	CacheDir string // where the agent's files are put
	Logger   *slog.Logger
}

// Runtime is a collector.Joiner. Safe for concurrent use.
type Runtime struct {
	log   *slog.Logger
	files *agentlink.Files
}

// New makes the runtime. Nothing is written before it joins a target.
func New(c Config) *Runtime {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runtime{log: c.Logger, files: agentlink.NewFiles(packed, filepath.Join(c.CacheDir, "python"))}
}

// Name implements collector.Joiner.
func (rt *Runtime) Name() string { return "python" }

// executable is what CPython calls itself: python3, python3.12, python3.13t, python3-dbg; python2 is none of ours.
var executable = regexp.MustCompile(`^python(3(\.\d+)?t?d?(-dbg)?)?$`)

// Detect implements collector.Joiner.
func (rt *Runtime) Detect(img collector.Image) bool {
	return executable.MatchString(filepath.Base(img.Path)) || embedded(img)
}

// Language implements collector.Joiner.
func (rt *Runtime) Language() collector.Language {
	return collector.Language{Extensions: []string{".py", ".pyw"}, Commands: []string{"python3"},
		SampleFile: "sample.py", SampleFunction: "sample.called", Sample: "def called(n):\n    return n + 1\ncalled(41)\n"}
}

// Join implements collector.Joiner.
func (rt *Runtime) Join(j collector.Joining) (collector.Member, error) {
	dir, err := rt.files.Dir()
	if err != nil {
		return nil, fmt.Errorf("put the agent for Python where it can be loaded: %w", err)
	}
	m, err := agentlink.Join(agentlink.Kind{
		Name: rt.Name(), Log: rt.log, Unreachable: unreachable, Capabilities: capabilities,
		Literal: literal, Points: true,
		Environ: func(img collector.Image, _ string) []string { return environ(img, dir) },
		Enter: func(ctx context.Context, img collector.Image, in collector.Injector, folder string) error {
			return enter(ctx, img, in, dir, folder)
		},
	}, j)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// environ puts the agent's folder before what the program itself has in PYTHONPATH, and tells the agent what that was.
func environ(img collector.Image, dir string) []string {
	const name = "PYTHONPATH="
	for _, v := range img.Env() {
		if old, ok := strings.CutPrefix(v, name); ok {
			if old == "" {
				break // set and empty is as not set
			}
			if strings.HasPrefix(old, dir) {
				return nil // a parent's
			}
			return []string{name + dir + ":" + old, "STROBE_AGENT_WAS=" + v}
		}
	}
	return []string{name + dir, "STROBE_AGENT_WAS="}
}

// unreachable says which flags keep the interpreter from its environment or from site.
func unreachable(img collector.Image) string {
	value := false // of the flag before
	for _, arg := range img.Args[min(1, len(img.Args)):] {
		if value {
			value = false
			continue
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") || arg == "-c" || arg == "-m" {
			return ""
		}
		if strings.HasPrefix(arg, "--") {
			continue
		}
		for i, c := range arg[1:] {
			switch c {
			case 'I', 'E':
				return fmt.Sprintf("Python was started with -%c, which ignores the environment that brings the agent in; "+
					"leave it out", c)
			case 'S':
				return "Python was started with -S, which leaves out site, by which the agent comes in; leave it out"
			case 'c', 'm':
				return ""
			case 'W', 'X':
				value = i == len(arg)-2
			default:
				continue
			}
			break
		}
	}
	return ""
}

// literal writes a JSON value as Python does.
func literal(v json.RawMessage) string {
	return "__import__('json').loads(" + strconv.QuoteToASCII(string(v)) + ")"
}

func capabilities(h *agentlink.Hello) collector.Capabilities {
	c := collector.Capabilities{Runtime: "python", FunctionTracing: "full", Breakpoints: "full", Stepping: "full"}
	c.Limitations = []string{"Functions of C extensions are traced by their symbols, beside these."}
	if h == nil {
		c.RuntimeDetail = "CPython; its agent has not come yet"
		return c
	}
	c.RuntimeDetail = fmt.Sprintf("CPython %s, by %s", h.Version, h.Backend)
	if h.Cannot != "" {
		c.FunctionTracing = "none"
		c.Limitations = append(c.Limitations, h.Cannot)
	}
	if !slices.Contains(h.Can, "points") {
		c.Breakpoints, c.Stepping = "none", "none"
		c.Limitations = append(c.Limitations, "Breakpoints are places in machine code only.")
	}
	if h.Backend != "monitoring" {
		c.Limitations = append(c.Limitations, "Before Python 3.12 lambdas and code without a file are not traced.")
	}
	return c
}
