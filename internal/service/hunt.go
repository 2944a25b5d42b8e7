package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/hunt"
)

const (
	// huntWithin is how long action hunt looks where no timeout is given: clients wait for a minute.
	huntWithin = 40 * time.Second
	// racesWithin is how long action races does.
	racesWithin = 10 * time.Second
	// huntOutput bounds what is shown of a failed run's output.
	huntOutput = 1000
)

// HuntAnswer is the answer of debug_test action hunt.
type HuntAnswer struct {
	hunt.Result
	NextSteps string `json:"nextSteps,omitempty"`
}

// RacesAnswer is the answer of debug_test action races.
type RacesAnswer struct {
	hunt.Races
	NextSteps string `json:"nextSteps,omitempty"`
}

// ofThreads has the command of the action's name look at a program, and gives what it answers. It runs in a process of
// its own, which ends with the call.
func (s *Service) ofThreads(ctx context.Context, p *TestParams, within time.Duration) ([]byte, error) {
	switch {
	case !filepath.IsAbs(p.ProjectRoot):
		return nil, invalid("Give the absolute path of the project's directory.", "projectRoot %q is not an absolute path",
			p.ProjectRoot)
	case p.Command == "":
		return nil, invalid("Give a test program or what runs it, e.g. build/queue_test --gtest_filter=Queue.Race, or "+
			"cargo test --test queue.", "%s needs a command", p.Action)
	case p.Test != "" || p.Framework != "" || p.Level != "" || len(p.TracePatterns) > 0 || p.Watches != nil ||
		p.Repeat != 0 || p.TestRunID != "" || p.WaitMs != 0:
		return nil, invalid("Give command, args, env and timeout alone.",
			"action %s runs a command, without a framework and without traces, and answers at its end", p.Action)
	case s.cfg.Strobe == "":
		return nil, fault.New(fault.Unsupported, "Run the command strobe in a shell.",
			"this process does not know its own executable")
	}
	if err := onlyOfCompare(p); err != nil {
		return nil, err
	}
	root := filepath.Clean(p.ProjectRoot)
	c, err := commandOf(p.Command, root)
	if err != nil {
		return nil, err
	}
	if p.Timeout > 0 {
		within = time.Duration(p.Timeout) * time.Millisecond
	}
	argv := append([]string{p.Action, "--json", "--seconds", strconv.Itoa(max(1, int(within/time.Second))),
		"--project-root", root, "-C", root, "--"}, append(c.argv, p.Args...)...)
	cmd := exec.CommandContext(ctx, s.cfg.Strobe, argv...)
	cmd.Env = os.Environ()
	for _, env := range []map[string]string{p.Env, c.env} {
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && out.Len() > 0) { // 1: nothing was found
		return nil, fault.New(fault.LaunchFailed, "It takes one program of C, C++ or Rust built with -g.", "strobe %s: %s",
			p.Action, strings.TrimSpace(strings.TrimPrefix(said.String(), "strobe: ")))
	}
	return out.Bytes(), nil
}

// races looks for memory that two threads of a program are at at once.
func (s *Service) races(ctx context.Context, p *TestParams) (any, error) {
	out, err := s.ofThreads(ctx, p, racesWithin)
	if err != nil {
		return nil, err
	}
	var a RacesAnswer
	if err := json.Unmarshal(out, &a.Races); err != nil {
		return nil, err
	}
	a.NextSteps = "No race was seen. A higher timeout looks longer; an input with which threads share more shows more."
	if len(a.Races.Races) > 0 {
		a.NextSteps = "Nothing orders the two accesses: guard both by one lock, or make it an atomic, then look again. " +
			"Action hunt makes a failure of it frequent."
	}
	return &a, nil
}

// hunt looks for what makes a program fail that seldom does.
func (s *Service) hunt(ctx context.Context, p *TestParams) (any, error) {
	out, err := s.ofThreads(ctx, p, huntWithin)
	if err != nil {
		return nil, err
	}
	var a HuntAnswer
	if err := json.Unmarshal(out, &a.Result); err != nil {
		return nil, err
	}
	if n := len(a.Output); n > huntOutput {
		a.Output = "…" + a.Output[n-huntOutput:]
	}
	a.NextSteps = "Nothing is wrong that this finds. A higher timeout looks longer."
	if a.Tried < a.Places {
		a.NextSteps = fmt.Sprintf("Only %d of %d places were tried: give a higher timeout, or a test that does less.",
			a.Tried, a.Places)
	}
	if a.Found {
		a.NextSteps = "Read the held line and what the others did meanwhile: what it had read or decided before is no " +
			"longer true when it goes on. Put it right, then hunt again."
	}
	return &a, nil
}
