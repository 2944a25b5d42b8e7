//go:build linux

package strobetest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Hang is a test that never ends, and what is seen of it before its run is ended.
type Hang struct {
	Test string // its ID; "" where the framework does not tell that a test begins: then only Begun is waited for
	// Ended are the IDs of tests that the framework tells the results of before: they are waited for, too.
	Ended []string
	// Output is a text that stands in the output or the reports before; "" is none.
	Output string
	// Kill ends a process tree.
	Kill func(pid int)
	// Environ are further variables, NAME=value.
	Environ []string
}

// hangLimit bounds how long a hanging test may take to begin, with all that must be started for it.
const hangLimit = 2 * time.Minute

// RunHanging is RunAdapter of tests one of which never ends. STROBE_BEGUN names a file that it makes when it begins;
// when that is there, and Hang's other signs are, the step's processes are killed as those of a run whose time is over,
// and none may be left.
func RunHanging(t *testing.T, a testadapter.Adapter, p *testadapter.Project, r testadapter.Request,
	h Hang) []testadapter.Event {
	t.Helper()
	r.Dir = t.TempDir()
	begun := filepath.Join(t.TempDir(), "begun")
	run := &hangRun{Hang: h, begun: begun, open: map[string]bool{}, ended: map[string]bool{}, read: map[string]int{}}
	project := *p
	project.Environ = append(plainEnviron(os.Environ()), append(h.Environ, "STROBE_BEGUN="+begun)...)
	x, err := a.Start(&project, &r, run.emit)
	if err != nil {
		t.Fatalf("%s: start: %v", a.Name(), err)
	}
	run.x = x
	for !run.killed {
		step, err := x.Next()
		if err != nil {
			t.Fatalf("%s: next step: %v", a.Name(), err)
		}
		if step == nil {
			t.Fatalf("%s: the run is over and nothing hung; it told %d events", a.Name(), len(run.events))
		}
		run.step(t, step, project.Environ)
	}
	if !poll(10*time.Second, func() bool { return len(processesWith("STROBE_BEGUN="+begun)) == 0 }) {
		t.Errorf("%s: left running: processes %v", a.Name(), processesWith("STROBE_BEGUN="+begun))
	}
	checkEvents(t, a, &project, &r, run.events)
	return run.events
}

// hangRun is one such run.
type hangRun struct {
	Hang
	begun  string
	killed bool

	mu          sync.Mutex // over what follows
	x           testadapter.Execution
	events      []testadapter.Event
	open, ended map[string]bool
	read        map[string]int // bytes of each report
	wrote       bytes.Buffer
}

// emit is called within the execution's methods, with the lock held.
func (h *hangRun) emit(e testadapter.Event) {
	h.events = append(h.events, e)
	switch e.Kind {
	case testadapter.TestStarted:
		h.open[e.Test.ID] = true
	case testadapter.TestEnded:
		h.ended[e.Test.ID] = true
		delete(h.open, e.Test.ID)
	}
}

func (h *hangRun) step(t *testing.T, step *testadapter.Step, environ []string) {
	t.Helper()
	writeFiles(t, step)
	cmd := exec.Command(step.Argv[0], step.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = step.Dir, step.Environ(environ), 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = h.output(testadapter.Stdout), h.output(testadapter.Stderr)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%q: %v", step.Argv, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := poll(hangLimit, func() bool {
		h.follow(t, step)
		h.killed = h.hangs()
		return h.killed || len(ended) > 0
	})
	if !seen {
		h.mu.Lock()
		t.Errorf("%q did not hang as expected: begun %v; open %v, ended %v", step.Argv, fileExists(h.begun), h.open, h.ended)
		h.mu.Unlock()
		h.killed = true
	}
	if h.killed {
		h.Kill(cmd.Process.Pid)
	}
	exit := exitOf(t, step, <-ended)
	exit.Duration, exit.TimedOut = time.Since(began), h.killed
	h.follow(t, step)
	h.x.End(exit)
}

// output hands on what a step writes.
func (h *hangRun) output(s testadapter.Stream) io.Writer {
	return feeder(func(b []byte) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.wrote.Write(b)
		h.x.Output(s, b)
	})
}

// follow hands over what was appended to the step's reports.
func (h *hangRun) follow(t *testing.T, step *testadapter.Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range step.Reports {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		if at := h.read[name]; at < len(b) {
			h.read[name] = len(b)
			h.wrote.Write(b[at:])
			pieces(b[at:], func(b []byte) { h.x.Report(name, b) })
		}
	}
}

// hangs reports whether all that shows the hanging test is there.
func (h *hangRun) hangs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.Ended {
		if !h.ended[id] {
			return false
		}
	}
	return fileExists(h.begun) && (h.Test == "" || h.open[h.Test]) && bytes.Contains(h.wrote.Bytes(), []byte(h.Output))
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// processesWith lists the processes whose environment has a variable. What has ended and was not waited for has none.
func processesWith(variable string) []string {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil && slices.Contains(strings.Split(string(b), "\x00"), variable) {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}
