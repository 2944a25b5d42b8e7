package testadapter_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// recorded is what one step of an execution wrote when it really ran.
type recorded struct {
	stdout, stderr string
	report         string // in place of the step's only report
	exit           testadapter.Exit
}

// recording reads a file of testdata.
func recording(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// projectOf is a project at /project with some files, where every command is installed.
func projectOf(files fs.FS) *testadapter.Project {
	return &testadapter.Project{Root: "/project", FS: files,
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil }}
}

func mapFS(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// replay hands the recorded steps to an execution, in pieces of random length, and returns what it told.
func replay(t testing.TB, a testadapter.Adapter, p *testadapter.Project, r testadapter.Request,
	steps ...recorded) []testadapter.Event {
	t.Helper()
	if r.Dir == "" {
		r.Dir = "/private"
	}
	var events []testadapter.Event
	x, err := a.Start(p, &r, func(e testadapter.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		step, err := x.Next()
		if err != nil {
			t.Fatal(err)
		}
		if step == nil {
			if n < len(steps) {
				t.Errorf("%d steps were recorded, %d asked for", len(steps), n)
			}
			break
		}
		if n >= len(steps) {
			t.Errorf("step %d was not recorded: %q", n, step.Argv)
			break
		}
		one := steps[n]
		cut(one.stdout, func(b []byte) { x.Output(testadapter.Stdout, b) })
		cut(one.stderr, func(b []byte) { x.Output(testadapter.Stderr, b) })
		for _, name := range step.Reports {
			cut(one.report, func(b []byte) { x.Report(name, b) })
		}
		x.End(one.exit)
	}
	once(t, events)
	return events
}

func cut(s string, f func([]byte)) {
	for len(s) > 0 {
		n := min(1+rand.IntN(700), len(s))
		f([]byte(s[:n]))
		s = s[n:]
	}
}

// once: whatever was written, a test ends once and what began ends.
func once(t testing.TB, events []testadapter.Event) {
	t.Helper()
	open, ended := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		switch e.Kind {
		case testadapter.TestStarted:
			open[e.Test.ID] = true
		case testadapter.TestEnded:
			if ended[e.Test.ID] || e.Test.ID == "" || e.Test.Name == "" || e.Test.Status == "" {
				t.Errorf("ended: %+v", e.Test)
			}
			if e.Test.Fails && !e.Test.Group && (len(e.Test.Failures) == 0 || e.Test.Failures[0].Message == "") {
				t.Errorf("failed without a message: %+v", e.Test)
			}
			ended[e.Test.ID] = true
			delete(open, e.Test.ID)
		}
	}
	for id := range open {
		t.Errorf("%q has no end", id)
	}
}

// abuse drives an execution with the same bytes as everything that it may read, for at most some steps.
func abuse(t testing.TB, a testadapter.Adapter, p *testadapter.Project, r testadapter.Request, data []byte,
	exit testadapter.Exit) {
	t.Helper()
	r.Dir = "/private"
	var events []testadapter.Event
	x, err := a.Start(p, &r, func(e testadapter.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		step, err := x.Next()
		if err != nil || step == nil {
			once(t, events)
			return
		}
		half := len(data) / 2
		for _, b := range [][]byte{data[:half], data[half:]} {
			x.Output(testadapter.Stdout, b)
			x.Output(testadapter.Stderr, b)
			for _, name := range step.Reports {
				x.Report(name, b)
			}
		}
		x.End(exit)
	}
	once(t, events)
}
