package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wholeLimit bounds one run of a whole program, traced or not.
const wholeLimit = 3 * time.Minute

// whole is a program from a registry and what it is given to do. How it is fetched and built stands in
// internal/strobetest.
type whole struct {
	name string // of its rows
	from string // in strobetest's table
	what string // how it was built, and the load
	args []string
	// files are those of a run's folder.
	files map[string]string
	// ready and load are shell commands of a server's clients: the first succeeds when it serves, the time of the second
	// is measured, and ends the server. $S is the folder of the sources.
	ready, load string
	trace       []string // what besides @usercode
	notProfiled string   // why there is no uftrace

	// Filled by buildWhole.
	program, profiled, source string
}

// way is how a program is run.
type way struct {
	name  string
	run   func(b *bench, c *client, w *whole, dir string, depth int) (sample, error)
	depth int // serializationDepth; 0: not said
}

var ways = []way{
	{"untraced", (*bench).wholePlain, 0},
	{"uftrace", (*bench).wholeUftrace, 0},
	{"Strobe", (*bench).wholeStrobe, 0},
	{"Strobe, depth 1", (*bench).wholeStrobe, 1},
	{"Strobe, depth 3", (*bench).wholeStrobe, 3},
}

// sample is one run. What does not apply is 0.
type sample struct {
	Program float64 `json:"program"` // seconds that the program itself took
	Ready   float64 `json:"ready"`   // seconds from its end until all can be asked for
	Made    float64 `json:"made"`    // calls, of which
	Kept    float64 `json:"kept"`    // are there to be asked for
	Sampled float64 `json:"sampled"` // were only counted, of functions that are called very often
	Lost    float64 `json:"lost"`    // had no room; what is in none of the three was kept until the session was full
	Bytes   float64 `json:"bytes"`   // on disk
	CPU     float64 `json:"cpu"`     // seconds of the daemon
}

// result is what was measured of one program in one way.
type result struct {
	way     string
	samples []sample
	problem string
}

// wholes runs every program in every way, in turns, so that what else the machine does hits all alike.
func (b *bench) wholes() error {
	if err := b.withDefaults(); err != nil {
		return err
	}
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	var text strings.Builder
	left := ""
	for _, w := range wholePrograms {
		if !strings.Contains(w.name, b.only) {
			continue
		}
		if err := w.build(); err != nil {
			b.note(w.name, 0, "", 0, "left out: %v", err)
			left += fmt.Sprintf("\nLeft out: %s: %v\n", w.name, err)
			continue
		}
		results := b.whole(c, &w)
		writeWhole(&text, &w, results)
		for _, r := range results {
			m := r.medians()
			b.note(w.name+": "+r.way, m.Program, "s", 0, "%.0f calls, %.0f kept, %.0f sampled, %.0f lost, ready %.2f s later %s",
				m.Made, m.Kept, m.Sampled, m.Lost, m.Ready, r.problem)
		}
	}
	section := fmt.Sprintf("Measured on %s; medians of %d.\n\n%s", machine(), b.turns, wholeHead+text.String()+left)
	if b.write == "" {
		fmt.Print(section)
		return nil
	}
	return replaceSection(b.write, section)
}

func (b *bench) whole(c *client, w *whole) []result {
	results := make([]result, len(ways))
	for turn := range b.turns {
		for i, way := range ways {
			r := &results[i]
			if r.way = way.name; r.problem != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "\r%-70s", fmt.Sprintf("turn %d of %d: %s, %s", turn+1, b.turns, w.name, way.name))
			s, err := b.wholeOnce(c, w, way)
			if err != nil {
				r.problem = err.Error()
				continue
			}
			r.samples = append(r.samples, s)
		}
	}
	fmt.Fprintf(os.Stderr, "\r%70s\r", "")
	return results
}

// wholeOnce runs a program one way in a folder of its own.
func (b *bench) wholeOnce(c *client, w *whole, way way) (sample, error) {
	dir := filepath.Join(b.dir, "whole")
	defer os.RemoveAll(dir)
	for name, text := range w.files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return sample{}, err
		}
	}
	return way.run(b, c, w, dir, way.depth)
}

var builtWhole = regexp.MustCompile(`whole=(\S+) source=(\S+)`)

// build asks the fixtures' own test to fetch and build the program, with and without -pg: both stay in its cache.
func (w *whole) build() error {
	for _, more := range [][]string{nil, {"-profiled"}} {
		if more != nil && w.notProfiled != "" {
			break
		}
		args := append([]string{"test", "./internal/strobetest", "-run", "^TestWholeForBench$", "-v", "-count", "1", "-args",
			"-whole", w.from}, more...)
		fmt.Fprintf(os.Stderr, "\r%-70s", "build "+w.from+" "+strings.Join(more, " "))
		out, err := exec.Command("go", args...).CombinedOutput()
		m := builtWhole.FindSubmatch(out)
		switch {
		case (err != nil || m == nil) && more != nil:
			w.notProfiled = "it does not build with -pg" // the rest can be measured all the same
		case err != nil || m == nil:
			return fmt.Errorf("it cannot be built here: %w: %s", err, whyNot(string(out)))
		case more != nil:
			w.profiled = string(m[1])
		default:
			w.program, w.source = string(m[1]), string(m[2])
		}
	}
	return nil
}

// whyNot is the line of a test's output that says what was wrong.
func whyNot(out string) string {
	for line := range strings.Lines(out) {
		if _, said, ok := strings.Cut(line, "_test.go:"); ok {
			return strings.TrimSpace(said)
		}
		if _, said, ok := strings.Cut(line, ".go:"); ok {
			return strings.TrimSpace(said)
		}
	}
	return lastLine(out)
}

// wholePlain runs the program untraced.
func (b *bench) wholePlain(_ *client, w *whole, dir string, _ int) (sample, error) {
	took, _, err := b.wholeCommand(w, dir, append([]string{w.program}, w.args...))
	return sample{Program: took.Seconds()}, err
}

var (
	uftraceElapsed = regexp.MustCompile(`elapsed time\s*: ([0-9.]+) sec`)
	uftraceCalls   = regexp.MustCompile(`(?m)^\s*(\d+)  (\S+)`)
	uftraceLost    = regexp.MustCompile(`LOST (\d+) records`)
)

// wholeUftrace runs the program as built with -pg under uftrace, with arguments and results, and lets that count what
// it has.
func (b *bench) wholeUftrace(_ *client, w *whole, dir string, _ int) (s sample, err error) {
	if w.notProfiled != "" {
		return s, errors.New(w.notProfiled)
	}
	if _, err := exec.LookPath("uftrace"); err != nil {
		return s, errors.New("uftrace is not installed")
	}
	data := filepath.Join(dir, "uftrace.data")
	record := []string{"uftrace", "record", "-d", data, "-A", ".", "-R", ".", "--no-libcall", w.profiled}
	took, out, err := b.wholeCommand(w, dir, append(record, w.args...))
	if err != nil {
		return s, err
	}
	info, err := exec.Command("uftrace", "info", "--no-pager", "-d", data).Output()
	if err != nil {
		return s, fmt.Errorf("run uftrace info: %w", err)
	}
	s.Program = took.Seconds()
	if m := uftraceElapsed.FindSubmatch(info); m != nil && w.load == "" {
		if s.Program, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
			return s, err
		}
		s.Ready = took.Seconds() - s.Program
	}
	report, err := exec.Command("uftrace", "report", "--no-pager", "-d", data, "-f", "call").Output()
	if err != nil {
		return s, fmt.Errorf("run uftrace report: %w", err)
	}
	for _, m := range uftraceCalls.FindAllSubmatch(report, -1) {
		if bytes.HasPrefix(m[2], []byte("linux:")) {
			continue // what the scheduler did
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return s, err
		}
		s.Kept += n
	}
	if m := uftraceLost.FindStringSubmatch(out); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return s, err
		}
		s.Lost = n / 2 // an enter and an exit each
	}
	s.Made = s.Kept + s.Lost
	s.Bytes, err = folderSize(data)
	return s, err
}

func folderSize(dir string) (total float64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			total += float64(info.Size())
		}
	}
	return total, err
}

// wholeCommand runs a command to its end, and the clients of a server: then the time is theirs.
func (b *bench) wholeCommand(w *whole, dir string, command []string) (took time.Duration, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wholeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	began, clients := w.clients(ctx, dir)
	if clients != nil {
		cancel()
	} else if w.load != "" {
		start = began
	}
	err = cmd.Wait()
	took = time.Since(start)
	if err = errors.Join(clients, err); err != nil {
		return 0, "", fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, lastLine(out.String()))
	}
	return took, out.String(), nil
}

// clients waits for a server and runs its load, which ends it. It says when that began.
func (w *whole) clients(ctx context.Context, dir string) (began time.Time, err error) {
	if w.load == "" {
		return began, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	shell := func(line string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "S="+w.source)
		return cmd.CombinedOutput()
	}
	for out := []byte(nil); ; <-time.After(20 * time.Millisecond) {
		if out, err = shell(w.ready); err == nil {
			break
		}
		if ctx.Err() != nil {
			return began, fmt.Errorf("it does not serve: %w: %s", err, lastLine(string(out)))
		}
	}
	began = time.Now()
	if out, err := shell(w.load); err != nil {
		return began, fmt.Errorf("its clients: %w: %s", err, lastLine(string(out)))
	}
	return began, nil
}
