package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gdbScript steps over lines and says what a step took.
const gdbScript = `
import gdb, time
gdb.execute("set pagination off")
gdb.execute("break lines", to_string=True)
gdb.execute("run", to_string=True)
gdb.execute("next", to_string=True)
start = time.perf_counter_ns()
for i in range(COUNT):
    SHOW
    gdb.execute("next", to_string=True)
print("ns %f" % ((time.perf_counter_ns() - start) / COUNT))
gdb.execute("kill")
`

// steps times a step over a line: the client asks, the thread moves, and the answer has its place, stack and values.
func (b *bench) steps(lldb bool) error {
	prog := filepath.Join(b.dir, "steps")
	if err := buildC("steps.c", prog, "-O0"); err != nil {
		return err
	}
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	l, _, err := c.launch(prog, b.dir, nil, map[string]any{"stopOnEntry": true})
	if err != nil {
		return err
	}
	defer c.end(l.SessionID)
	var set struct{ Added []string }
	if _, err := c.call("debug_breakpoint", map[string]any{"sessionId": l.SessionID,
		"add": []any{map[string]any{"function": "lines"}}}, &set); err != nil {
		return err
	}
	if _, err := c.call("debug_continue", map[string]any{"sessionId": l.SessionID, "waitMs": 10000}, nil); err != nil {
		return err
	}
	var bare, shown []versus
	for range b.turns {
		ns, err := c.stepTurn(l.SessionID)
		if err != nil {
			return err
		}
		for _, show := range []bool{false, true} {
			v := versus{strobe: ns}
			if v.gdb, err = b.gdbSteps(prog, show); err != nil {
				return err
			}
			if lldb {
				if v.lldb, err = b.lldbSteps(prog, show); err != nil {
					return err
				}
			}
			if show {
				shown = append(shown, v)
			} else {
				bare = append(bare, v)
			}
		}
	}
	ping, err := c.ping()
	if err != nil {
		return err
	}
	b.compare("a step over a line", bare, 0, 0)
	b.compare("the same with the stack and values shown", shown, 0, 0)
	b.note("  of that the way from client to daemon and back", ping, "µs", 0, "two processes away")
	return nil
}

// ping returns the median of what a question takes that asks for nothing, in microseconds.
func (c *client) ping() (float64, error) {
	var took []time.Duration
	for range stepCount {
		start := time.Now()
		if err := c.session.Ping(context.Background(), nil); err != nil {
			return 0, fmt.Errorf("ping: %w", err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1000, nil
}

// stepTurn returns what a step took.
func (c *client) stepTurn(id string) (float64, error) {
	start := time.Now()
	for range stepCount {
		var st struct {
			PausedThreads []struct {
				Function string
				Line     int
			}
		}
		if _, err := c.call("debug_continue", map[string]any{"sessionId": id, "action": "step-over", "waitMs": 10000},
			&st); err != nil {
			return 0, err
		}
		if len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != "lines" {
			return 0, fmt.Errorf("step: the thread is in %+v", st.PausedThreads)
		}
	}
	return float64(time.Since(start).Nanoseconds()) / stepCount, nil
}

// gdbSteps returns what a step took in gdb, by its Python API.
func (b *bench) gdbSteps(prog string, show bool) (float64, error) {
	what := "pass"
	if show {
		what = `[gdb.execute(c, to_string=True) for c in ("backtrace", "info args", "info locals")]`
	}
	file, err := b.script("steps.py", strings.NewReplacer("COUNT", strconv.Itoa(stepCount), "SHOW",
		what).Replace(gdbScript))
	if err != nil {
		return 0, err
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-x", file, prog).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("step in gdb: %w: %.300s", err, out)
	}
	return printed(string(out), "gdb")
}

// lldbSteps returns what a step took in lldb: what a run with steps takes longer than one without, since its Python may
// not be there.
func (b *bench) lldbSteps(prog string, show bool) (float64, error) {
	run := func(steps int) (time.Duration, error) {
		lines := append([]string{}, lldbSettings...)
		lines = append(lines, "breakpoint set -n lines", "process launch")
		for range steps {
			lines = append(lines, "thread step-over")
			if show {
				lines = append(lines, "thread backtrace", "frame variable")
			}
		}
		script, err := b.script("steps.lldb", append(lines, "process kill")...)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if _, err := exec.Command("lldb", "-x", "-b", "-s", script, prog).Output(); err != nil {
			return 0, fmt.Errorf("step in lldb: %w", err)
		}
		return time.Since(start), nil
	}
	without, err := run(0)
	if err != nil {
		return 0, err
	}
	with, err := run(stepCount)
	return float64((with - without).Nanoseconds()) / stepCount, err
}
