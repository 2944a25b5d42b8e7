// Package jvm is the runtime of Java's virtual machine, HotSpot of JDK 17 and newer: a JVMTI agent that comes in by an
// argument of the launcher, and a recorder of Java that woven methods call.
//
// It joins targets whose processes the host owns, and stands between the host, which tells of images, and the session's
// sink, which gets what the recorder wrote by package agentlink. The agent asks for each class that may have methods to
// trace; here it is decided which, and package classfile weaves them.
package jvm

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

// packed is the agent: the library of agent, see TestAgentIsPacked.
//
//go:embed agent.zst
var packed []byte

//go:generate make -s -C agent
//go:generate go test -run TestAgentIsPacked . -update

const library = "libstrobe_jvm.so"

// Config of the runtime.
type Config struct {
	CacheDir string // where the agent's files are put
	Logger   *slog.Logger
}

// Runtime is a collector.Joiner. Safe for concurrent use.
type Runtime struct {
	log     *slog.Logger
	files   *agentlink.Files
	sources *sources
}

// New makes the runtime. Nothing is written before it joins a target.
func New(c Config) *Runtime {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runtime{log: c.Logger, files: agentlink.NewFiles(packed, filepath.Join(c.CacheDir, "jvm")),
		sources: newSources()}
}

// Name implements collector.Joiner.
func (rt *Runtime) Name() string { return "jvm" }

// Detect implements collector.Joiner. Other launchers, as javac, take arguments for the machine in another form.
func (rt *Runtime) Detect(img collector.Image) bool { return filepath.Base(img.Path) == "java" }

// Language implements collector.Joiner.
func (rt *Runtime) Language() collector.Language {
	return collector.Language{Extensions: []string{".java", ".kt", ".kts", ".scala", ".groovy", ".clj"},
		Commands: []string{"java"}, SampleFile: "Sample.java", SampleFunction: "Sample.called",
		Sample: "class Sample {\n    static int called(int n) {\n        return n + 1;\n    }\n" +
			"    public static void main(String[] args) {\n        called(41);\n    }\n}\n"}
}

// Join implements collector.Joiner.
func (rt *Runtime) Join(j collector.Joining) (collector.Member, error) {
	dir, err := rt.files.Dir()
	if err != nil {
		return nil, fmt.Errorf("put the agent for the JVM where it can be loaded: %w", err)
	}
	lib := filepath.Join(dir, library)
	m, err := agentlink.Join(agentlink.Kind{
		Name: rt.Name(), Log: rt.log, Points: true, File: rt.sources.of, Capabilities: capabilities,
		Unreachable: func(collector.Image) string { return "" },
		Arguments:   func(img collector.Image, folder string) []string { return arguments(img, lib, folder) },
		Enter: func(ctx context.Context, img collector.Image, in collector.Injector, folder string) error {
			return enter(ctx, img, in, lib, folder)
		},
		Entered: entered, Machine: machine,
		Answer: func(a *agentlink.Agent, set agentlink.Set, m string, line []byte) any {
			return rt.process(a).answer(set, m, line)
		},
		Complete: func(a *agentlink.Agent, set agentlink.Set, said *agentlink.Applied) {
			rt.process(a).complete(set, said)
		},
	}, j)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// machine reports a thread that is in the JVM's code and in none of the program's: its collectors and compilers, the
// launcher, threads of pools that have nothing to do.
func machine(row *collector.ThreadRow) bool {
	return row.At == "" && slices.ContainsFunc(row.Backtrace, func(f string) bool {
		return strings.Contains(f, "(libjvm.so)") || strings.Contains(f, "(libjli.so)")
	})
}

// process is what is known of an agent's process.
func (rt *Runtime) process(a *agentlink.Agent) *process {
	p, ok := a.Own.(*process)
	if !ok {
		p = newProcess(rt.sources)
		p.own, p.named = ownPackage(&a.Hello)
		a.Own = p
	}
	return p
}

// arguments has the launcher load the agent. One that it has already is a parent's that handed its own on, or the
// launcher's that has started itself again.
func arguments(img collector.Image, lib, folder string) []string {
	with := "-agentpath:" + lib + "="
	for _, arg := range img.Args {
		if strings.HasPrefix(arg, with) {
			return nil
		}
	}
	return []string{with + folder}
}

func capabilities(h *agentlink.Hello) collector.Capabilities {
	c := collector.Capabilities{Runtime: "jvm", FunctionTracing: "full", Breakpoints: "full", Stepping: "full",
		Limitations: []string{"Native methods are traced by their symbols, beside these."}}
	if h == nil {
		c.RuntimeDetail = "a JVM; its agent has not come yet"
		return c
	}
	c.RuntimeDetail = fmt.Sprintf("JVM %s, %s", h.Version, h.Backend)
	if !slices.Contains(h.Can, "points") {
		c.Breakpoints, c.Stepping = "none", "none"
		c.Limitations = append(c.Limitations, "Threads of this JVM cannot be paused in Java: that is a power which a JVM "+
			"gives to one agent, at its start.")
	}
	return c
}
