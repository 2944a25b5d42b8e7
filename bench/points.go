package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// promisedPass is what a condition that does not hold costs at most, in nanoseconds, and promisedShare what that is of
	// gdb's at most, in thousandths.
	promisedPass  = 100.0
	promisedShare = 1.0
	// stepCount is how many steps are timed in each turn.
	stepCount = 200
)

// pointKind is a point that is timed: what a call of a function costs that has it, more than without.
type pointKind struct {
	what   string
	point  map[string]any
	calls  int  // that make a burst; what is recorded of them fits a ring
	pauses bool // a client lets the program go on
	limit  float64
	share  float64  // limit of what it is of gdb's
	gdb    []string // the same in gdb
	lldb   []string // and in lldb
}

var pointKinds = []pointKind{
	{what: "a condition on a parameter that does not hold",
		point: map[string]any{"function": "work", "condition": "i == -1"}, calls: 10000, limit: promisedPass,
		share: promisedShare,
		gdb:   []string{"break work if i == -1"}, lldb: []string{"breakpoint set -n work -c 'i == -1'"}},
	{what: "a condition of four comparisons that does not hold",
		point: map[string]any{"function": "work", "condition": "i >= 0 && j >= 0 && i * 2 + j > 0 && sink == -1"},
		calls: 10000, share: promisedShare,
		gdb:  []string{"break work if i >= 0 && j >= 0 && i * 2 + j > 0 && sink == -1"},
		lldb: []string{"breakpoint set -n work -c 'i >= 0 && j >= 0 && i * 2 + j > 0 && sink == -1'"}},
	{what: "a condition with floats, decided by the tracer",
		point: map[string]any{"function": "work", "condition": "i * 0.5 < -1.0"}, calls: 200,
		gdb: []string{"break work if i * 0.5 < -1.0"}, lldb: []string{"breakpoint set -n work -c 'i * 0.5 < -1.0'"}},
	{what: "a breakpoint whose hits are skipped", point: map[string]any{"function": "work", "hitCount": 1000000000},
		calls: 10000,
		gdb:   []string{"break work", "ignore 1 1000000000"}, lldb: []string{"breakpoint set -n work -i 1000000000"}},
	{what: "a logpoint of two values", point: map[string]any{"function": "work", "message": "{i} and {j}"}, calls: 2000,
		gdb:  []string{`dprintf work,"%ld and %ld\n",i,j`},
		lldb: []string{"breakpoint set -n work -G true -C 'frame variable i j'"}},
	{what: "a logpoint whose message the tracer makes",
		point: map[string]any{"function": "work", "message": "{i} and {j} in {$threadName}"}, calls: 200,
		gdb:  []string{`dprintf work,"%ld and %ld in %d\n",i,j,$_thread`},
		lldb: []string{"breakpoint set -n work -G true -C 'frame variable i j' -C 'thread info'"}},
	{what: "a breakpoint, and a client that continues", point: map[string]any{"function": "work"}, calls: 100,
		pauses: true,
		gdb:    []string{"break work", "commands", "silent", "continue", "end"},
		lldb:   []string{"breakpoint set -n work -G true"}},
	{what: "the same with the stack and values shown", point: map[string]any{"function": "work"}, calls: 100, pauses: true,
		gdb:  []string{"break work", "commands", "silent", "backtrace", "info args", "info locals", "continue", "end"},
		lldb: []string{"breakpoint set -n work -G true -C 'thread backtrace' -C 'frame variable'"}},
	{what: "a write that a data breakpoint sees", point: map[string]any{"variable": "sink"}, calls: 200,
		gdb:  []string{"watch sink", "commands", "silent", "continue", "end"},
		lldb: []string{"watchpoint set variable sink", "watchpoint command add -o 'process continue'"}},
}

// pointsRun is the program that calls a small function, under Strobe.
type pointsRun struct {
	*client
	id    string
	lines int
}

// run has it make a burst of calls, and returns what one took. Threads that pause go on at once.
func (r *pointsRun) run(calls int, pauses bool) (float64, error) {
	r.lines++
	if _, err := r.call("debug_session", map[string]any{"action": "input", "sessionId": r.id,
		"text": fmt.Sprintf("%d 9\n", calls)}, nil); err != nil {
		return 0, err
	}
	for n := calls * 9; pauses && n > 0; n-- {
		wait := 2000 // for the next pause
		if n == 1 {
			wait = 0
		}
		if err := r.letGo(wait, n == calls*9); err != nil {
			return 0, err
		}
	}
	return r.timed(r.id, r.lines)
}

// letGo continues a paused thread; of the first pause nobody has been told.
func (r *pointsRun) letGo(wait int, first bool) error {
	for first {
		var st struct{ PausedThreads []any }
		if _, err := r.call("debug_session", map[string]any{"action": "status", "sessionId": r.id}, &st); err != nil {
			return err
		}
		first = len(st.PausedThreads) == 0
	}
	_, err := r.call("debug_continue", map[string]any{"sessionId": r.id, "waitMs": wait}, nil)
	return err
}

// points times what breakpoints and logpoints cost the program, beside gdb and lldb.
func (b *bench) points() error {
	prog, root := filepath.Join(b.dir, "points"), filepath.Join(b.dir, "points.root")
	if err := buildC("points.c", prog, "-O2"); err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	lldb := hasLLDB()
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	l, _, err := c.launch(prog, root, nil, map[string]any{"stdin": "pipe"})
	if err != nil {
		return err
	}
	defer c.end(l.SessionID)
	r := &pointsRun{c, l.SessionID, 0}
	for _, k := range pointKinds {
		var turns []versus
		for range b.turns {
			v, err := b.pointTurn(r, prog, &k, lldb)
			if err != nil {
				return fmt.Errorf("%s: %w", k.what, err)
			}
			turns = append(turns, v)
		}
		b.compare(k.what, turns, k.limit, k.share)
	}
	return b.steps(lldb)
}

func buildC(source, out, level string) error {
	if text, err := exec.Command("gcc", "-g", level, filepath.Join("bench", "programs", source), "-o",
		out).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", source, err, text)
	}
	return nil
}

// hasLLDB says where a run lacks it.
func hasLLDB() bool {
	_, err := exec.LookPath("lldb")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: lldb is not installed: skipped")
	}
	return err == nil
}

// versus is what one event took in a turn, in nanoseconds; 0: not measured.
type versus struct{ strobe, gdb, lldb float64 }

// pointTurn times a kind in all debuggers, one right after the other.
func (b *bench) pointTurn(r *pointsRun, prog string, k *pointKind, lldb bool) (v versus, err error) {
	plain, err := r.run(k.calls, false)
	if err != nil {
		return v, err
	}
	var set struct{ Added []string }
	if _, err := r.call("debug_breakpoint", map[string]any{"sessionId": r.id, "add": []any{k.point}}, &set); err != nil {
		return v, err
	}
	if v.strobe, err = r.run(k.calls, k.pauses); err != nil {
		return v, err
	}
	if _, err := r.call("debug_breakpoint", map[string]any{"sessionId": r.id, "remove": set.Added}, nil); err != nil {
		return v, err
	}
	if v.gdb, err = b.gdbPoint(prog, k.gdb); err != nil {
		return v, err
	}
	if lldb {
		if v.lldb, err = b.lldbPoint(prog, k.lldb); err != nil {
			return v, err
		}
		v.lldb -= plain
	}
	v.strobe, v.gdb = v.strobe-plain, v.gdb-plain
	return v, nil
}

// compare notes the medians of turns. The ratios are medians of each turn's: what disturbs a turn disturbs all that it
// compares.
func (b *bench) compare(what string, turns []versus, limit, share float64) {
	of := func(f func(v versus) float64) float64 {
		all := make([]float64, len(turns))
		for i, v := range turns {
			all[i] = f(v)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	ns := of(func(v versus) float64 { return v.strobe })
	text := fmt.Sprintf("gdb %s, %s times as much",
		micros(of(func(v versus) float64 { return v.gdb })), times(of(func(v versus) float64 { return v.gdb / v.strobe })))
	if turns[0].lldb != 0 {
		text += fmt.Sprintf("; lldb %s, %s times", micros(of(func(v versus) float64 {
			return v.lldb
		})), times(of(func(v versus) float64 { return v.lldb / v.strobe })))
	}
	if ns < 1000 {
		b.note(what, ns, "ns", limit, "%s", text)
	} else {
		b.note(what, ns/1000, "µs", limit/1000, "%s", text)
	}
	if share > 0 {
		b.note("  in thousandths of gdb's", of(func(v versus) float64 { return 1000 * v.strobe / v.gdb }), "", share, "")
	}
}

func micros(ns float64) string { return fmt.Sprintf("%.0f µs", ns/1000) }

func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

// timed waits for the n-th line of the program and returns its number.
func (c *client) timed(id string, n int) (float64, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text, err := c.stdout(id)
		if err != nil {
			return 0, err
		}
		if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) >= n && lines[n-1] != "" {
			return strconv.ParseFloat(strings.TrimPrefix(lines[n-1], "ns "), 64)
		}
	}
	return 0, fmt.Errorf("run points: nothing came within a minute")
}

// script writes lines to a file.
func (b *bench) script(name string, lines ...string) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// otherCalls is the input of the program under other debuggers: few calls, which take long there.
const otherCalls = "200 5"

// gdbPoint times a call with one of gdb's points.
func (b *bench) gdbPoint(prog string, commands []string) (float64, error) {
	input, err := b.script("points.in", otherCalls)
	if err != nil {
		return 0, err
	}
	script, err := b.script("points.gdb", append(append([]string{"set pagination off", "set confirm off"}, commands...),
		"run "+input)...)
	if err != nil {
		return 0, err
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-x", script, prog).Output()
	if err != nil {
		return 0, fmt.Errorf("run gdb: %w", err)
	}
	return printed(string(out), "gdb")
}

// lldbSettings let it start programs in a container, and keep it from printing source.
var lldbSettings = []string{"settings set target.disable-aslr false", "settings set stop-line-count-before 0",
	"settings set stop-line-count-after 0"}

// lldbPoint times a call with one of lldb's points.
func (b *bench) lldbPoint(prog string, commands []string) (float64, error) {
	input, err := b.script("points.in", otherCalls)
	if err != nil {
		return 0, err
	}
	stdout := filepath.Join(b.dir, "points.out")
	lines := append([]string{}, lldbSettings...)
	lines = append(append(lines, "breakpoint set -n main -o true", "process launch -o "+stdout+" -- "+input), commands...)
	script, err := b.script("points.lldb", append(lines, "process continue")...)
	if err != nil {
		return 0, err
	}
	if _, err := exec.Command("lldb", "-x", "-b", "-s", script, prog).Output(); err != nil {
		return 0, fmt.Errorf("run lldb: %w", err)
	}
	out, err := os.ReadFile(stdout)
	if err != nil {
		return 0, fmt.Errorf("read what the program said in lldb: %w", err)
	}
	return printed(string(out), "lldb")
}

// printed finds the program's time.
func printed(out, who string) (float64, error) {
	for _, line := range strings.Split(out, "\n") {
		if ns, ok := strings.CutPrefix(line, "ns "); ok {
			return strconv.ParseFloat(strings.TrimSpace(ns), 64)
		}
	}
	return 0, fmt.Errorf("run %s: no time in %.200s", who, out)
}
