package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// promisedTests is how many times as long as its bare command an untraced run of tests takes at most, by the machine
// format that the framework writes for it, which is measured beside.
// The fastest turns are compared: what another machine on the same host takes away in single turns, the same command
// beside itself has as well, and by more than is promised.
const promisedTests = 1.02

// shortTests is up to when a run's turns are cheap enough for twice as many.
const shortTests = 4.0 // seconds

// suite is a project whose tests are run bare and by debug_test.
type suite struct {
	name  string
	build func(dir string) error
	bare  string // what a person types, in the project; its output goes to a file, as that of debug_test does
	args  map[string]any
	tests int  // that must have passed
	idle  int  // processes that the machine has besides, and that do nothing
	plain bool // debug_test runs the bare command itself: there is no reporter to be told apart
	flood bool // nothing but output: nothing is promised
}

var (
	gtestSuite = suite{name: "gtest, computing", build: buildGtest, bare: "./computes",
		args: map[string]any{"command": "./computes"}, tests: 20}
	suites = []suite{
		gtestSuite,
		{name: "the same beside 3,000 idle processes", build: gtestSuite.build, bare: gtestSuite.bare, args: gtestSuite.args,
			tests: gtestSuite.tests, idle: 3000},
		{name: "a test that waits, beside 3,000 idle processes", bare: "sleep 5", args: map[string]any{"command": "sleep 5"},
			tests: 1, idle: 3000, plain: true},
		{name: "go test, 30 packages", build: buildPackages, bare: "go test -count=1 ./...",
			args: map[string]any{"args": []string{"-count=1"}}, tests: 300},
		{name: "pytest, 1,000 tests", build: buildPytest, bare: "python3 -m pytest -q",
			args: map[string]any{"framework": "pytest"}, tests: 1000},
		{name: "3,000 short processes", bare: "./many.sh", args: map[string]any{"command": "./many.sh"}, build: buildMany,
			tests: 1, plain: true},
		{name: "100 MB of output in 2 s", bare: "./prints 2000", args: map[string]any{"command": "./prints 2000"},
			build: buildPrints, tests: 1, plain: true},
		{name: "100 MB of output at once", bare: "./prints 0", args: map[string]any{"command": "./prints 0"},
			build: buildPrints, tests: 1, plain: true, flood: true},
	}
)

// tests times suites bare, with the framework's own reporter by hand, and by debug_test, one right after the other.
func (b *bench) tests() error {
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	for i, s := range suites {
		if !strings.Contains(s.name, b.only) {
			continue
		}
		dir := filepath.Join(b.dir, fmt.Sprintf("suite%d", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if s.build != nil {
			if err := s.build(dir); err != nil {
				b.note(s.name, 0, "", 0, "not measured: %v", err)
				continue
			}
		}
		if err := b.suite(c, &s, dir); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) suite(c *client, s *suite, dir string) error {
	if s.idle > 0 {
		end, err := b.idlers(s.idle)
		if err != nil {
			return err
		}
		defer end()
	}
	byHand, err := b.warm(c, s, dir) // everything is in caches, and the reporter's files are kept
	if err != nil {
		return err
	}
	var bare, command, call, reporter, cpu []float64
	turns := b.turns
	if took, err := b.shell(dir, s.bare); err != nil {
		return err
	} else if took < shortTests {
		turns *= 2
	}
	for turn := range turns {
		one := func() error {
			took, err := b.shell(dir, s.bare)
			bare = append(bare, took)
			return err
		}
		if turn%2 == 0 {
			if err := one(); err != nil {
				return err
			}
		}
		if byHand != "" {
			took, err := b.shell(dir, byHand)
			if err != nil {
				return err
			}
			reporter = append(reporter, took)
		}
		used := b.watchCPU()
		r, took, err := c.runTests(s, dir)
		daemon := used()
		if err != nil {
			return err
		}
		command, call, cpu = append(command, float64(r.Result.Summary.DurationMs)/1000), append(call, took.Seconds()),
			append(cpu, daemon.Seconds())
		if turn%2 == 1 { // whoever comes second has the warmer machine
			if err := one(); err != nil {
				return err
			}
		}
	}
	ratio := func(over, under []float64) float64 {
		all := make([]float64, len(over))
		for i := range over {
			all[i] = over[i] / under[i]
		}
		return median(all)
	}
	b.note(s.name+": the bare command", median(bare), "s", 0, "%d turns, %.2f to %.2f", turns, slices.Min(bare),
		slices.Max(bare))
	own, limit := bare, promisedTests
	if s.flood {
		limit = 0
	}
	if byHand != "" {
		own = reporter
		b.note("  the framework's reporter, by hand", ratio(reporter, bare), "times", 0, "of the bare command")
		b.note("  debug_test, the command alone", ratio(command, bare), "times", 0, "of the bare command")
	}
	b.note("  debug_test, the command alone", slices.Min(command)/slices.Min(own), "times", limit,
		"of the same by hand, the fastest turns; %.2f the medians of each turn's", ratio(command, own))
	b.note("  debug_test, the whole call", ratio(call, own), "times", 0, "%.0f ms more", 1000*(median(call)-median(own)))
	b.note("  CPU time of the daemon", 1000*median(cpu), "ms", 0, "%.2f%% of the time", 100*median(cpu)/median(command))
	return nil
}

// shell runs a command to its end, with its output in a file that is written through a pipe: debug_test has no other
// way, either.
func (b *bench) shell(dir, line string) (float64, error) {
	cmd := exec.Command("sh", "-c", "{ "+line+" ; echo $? >"+b.dir+"/status; } 2>&1 | cat >"+b.dir+
		"/output.txt; exit $(cat "+b.dir+"/status)")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+filepath.Join(b.dir, "reporter"))
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start).Seconds()
	if err != nil {
		out, _ := os.ReadFile(filepath.Join(b.dir, "output.txt")) // empty says nothing more
		return 0, fmt.Errorf("%s: %w: %.500s", line, err, out)
	}
	return took, nil
}

type ran struct {
	TestRunID string
	Status    string
	Result    *struct {
		Summary struct {
			Passed, Failed int
			DurationMs     int64
		}
		Notes   []string
		Details string
	}
}

// runTests is a whole call of debug_test, to the end of the tests.
func (c *client) runTests(s *suite, dir string) (r ran, took time.Duration, err error) {
	in := map[string]any{"projectRoot": dir, "waitMs": 60000}
	for k, v := range s.args {
		in[k] = v
	}
	if took, err = c.call("debug_test", in, &r); err == nil {
		err = s.check(&r)
	}
	return r, took, err
}

func (s *suite) check(r *ran) error {
	if r.Status != "completed" || r.Result.Summary.Passed != s.tests || r.Result.Summary.Failed != 0 {
		return fmt.Errorf("the run of tests: %+v %+v", *r, r.Result)
	}
	return nil
}

// warm runs both once. It keeps what the adapter gives the framework, by which its reporter can be run by hand, and
// returns that command.
func (b *bench) warm(c *client, s *suite, dir string) (byHand string, err error) {
	if _, err := b.shell(dir, s.bare); err != nil {
		return "", err
	}
	in := map[string]any{"projectRoot": dir}
	for k, v := range s.args {
		in[k] = v
	}
	var r ran
	if _, err := c.call("debug_test", in, &r); err != nil {
		return "", err
	}
	from, to := filepath.Join(b.home, "tests", r.TestRunID, "run"), filepath.Join(b.dir, "reporter")
	if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil {
		return "", err
	}
	for r.Status == "running" || r.Status == "" {
		files, _ := os.ReadDir(from) // it goes with the run
		for _, f := range files {
			if text, err := os.ReadFile(filepath.Join(from, f.Name())); err == nil && strings.HasPrefix(f.Name(), "strobe_") &&
				!strings.HasSuffix(f.Name(), "jsonl") {
				if err := os.WriteFile(filepath.Join(to, f.Name()), []byte(strings.ReplaceAll(string(text), from, to)),
					0o600); err != nil {
					return "", err
				}
			}
		}
		id := r.TestRunID
		r = ran{}
		if _, err := c.call("debug_test", map[string]any{"action": "status", "testRunId": id, "waitMs": 20}, &r); err != nil {
			return "", err
		}
	}
	if err := s.check(&r); err != nil || s.plain {
		return "", err
	}
	var d struct{ Commands []string }
	text, err := os.ReadFile(r.Result.Details)
	if err != nil || json.Unmarshal(text, &d) != nil || len(d.Commands) == 0 {
		return "", fmt.Errorf("read the run's commands: %w", err)
	}
	return strings.ReplaceAll(strings.Join(d.Commands, " && "), from, to), nil
}

// idlers starts processes that do nothing. The function it returns ends them; with the bench they end, too.
func (b *bench) idlers(n int) (end func(), err error) {
	prog := filepath.Join(b.dir, "idlers")
	if err := buildC("idlers.c", prog, "-O1"); err != nil {
		return nil, err
	}
	cmd := exec.Command(prog, fmt.Sprint(n))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // all are there
		return nil, errors.Join(err, in.Close(), cmd.Wait())
	}
	return func() {
		in.Close()
		_ = cmd.Wait() // it ends its own
	}, nil
}

func buildGtest(dir string) error {
	text := "#include <gtest/gtest.h>\nstatic volatile unsigned long sink;\n"
	for i := range 20 {
		text += fmt.Sprintf("TEST(Computes, Number%d) { unsigned long s = 1; for (unsigned long i = 0; i < 250000000ul; "+
			"i++) s = s * 3 + i; sink = s; SUCCEED(); }\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "computes.cc"), []byte(text), 0o600); err != nil {
		return err
	}
	return inDir(dir, "g++", "-O1", "computes.cc", "-o", "computes", "-lgtest", "-lgtest_main", "-pthread")
}

func buildPackages(dir string) error {
	files := map[string]string{"go.mod": "module example.com/many\n\ngo 1.21\n"}
	for i := range 30 {
		text := fmt.Sprintf("package p%d\n\nimport \"testing\"\n", i)
		for j := range 10 {
			text += fmt.Sprintf("\nfunc TestNumber%d(t *testing.T) {\n\tt.Log(\"here\")\n}\n", j)
		}
		files[fmt.Sprintf("p%d/p_test.go", i)] = text
	}
	return write(dir, files)
}

func buildPytest(dir string) error {
	files := map[string]string{"pytest.ini": "[pytest]\n"}
	for i := range 20 {
		text := "import pytest\n"
		for j := range 30 {
			text += fmt.Sprintf("\ndef test_number_%d():\n    assert sum(range(2000)) == 1999000\n", j)
		}
		text += "\n@pytest.mark.parametrize(\"n\", range(20))\ndef test_each(n):\n    assert n * n >= n\n"
		files[fmt.Sprintf("tests/test_%d.py", i)] = text
	}
	if err := write(dir, files); err != nil {
		return err
	}
	return inDir(dir, "python3", "-m", "pytest", "--version")
}

func buildMany(dir string) error {
	if err := write(dir, map[string]string{"many.sh": "#!/bin/sh\nn=0\nwhile [ $n -lt 3000 ]; do /bin/true; " +
		"n=$((n+1)); done\n"}); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(dir, "many.sh"), 0o700)
}

func buildPrints(dir string) error { return buildC("prints.c", filepath.Join(dir, "prints"), "-O2") }

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

func inDir(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.300s", name, err, out)
	}
	return nil
}
