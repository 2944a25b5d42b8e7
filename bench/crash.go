package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	crashTurns    = 25
	promisedCrash = 50.0 // milliseconds from the fault to the answer that has the crash
)

// crash measures how soon a crash of a program with eight threads is answered, and what a frame of a stack costs.
func (b *bench) crash() error {
	prog := filepath.Join(b.dir, "crash")
	source := filepath.Join("bench", "programs", "crash.c")
	if out, err := exec.Command("gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-pthread", source, "-o",
		prog).CombinedOutput(); err != nil {
		return fmt.Errorf("build crash: %w: %s", err, out)
	}
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	for _, how := range []struct {
		name  string
		trace []string
	}{{"fault to crash in debug_query, 8 threads", []string{"mark"}},
		{"the same, all functions hooked", []string{"mark", "work", "fault", "main", "thread"}}} {
		var took []time.Duration
		for range crashTurns + 1 {
			d, err := b.crashOnce(c, prog, how.trace)
			if err != nil {
				return err
			}
			took = append(took, d)
		}
		b.note(how.name+", cold", ms(took[0]), "ms", 0, "")
		b.times(how.name, took[1:], promisedCrash)
	}
	return b.frames(prog, source)
}

// crashOnce runs the program and returns the time from right before the fault to the answer of a query that waits for
// the crash.
func (b *bench) crashOnce(c *client, prog string, trace []string) (time.Duration, error) {
	l, _, err := c.launch(prog, b.dir, nil, map[string]any{"trace": trace})
	if err != nil {
		return 0, err
	}
	defer c.end(l.SessionID)
	p, _, err := c.query(l.SessionID, map[string]any{"eventType": "crash", "waitMs": 10000})
	if err != nil {
		return 0, err
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("read clock: %w", err)
	}
	if len(p.Events) != 1 {
		return 0, fmt.Errorf("%d crashes within ten seconds", len(p.Events))
	}
	var said struct {
		Events []struct{ Arguments struct{ At json.Number } }
	}
	if _, err := c.call("debug_query", map[string]any{"sessionId": l.SessionID, "eventType": "function_enter",
		"function": map[string]any{"equals": "mark"},
		"verbose":  true}, &said); err != nil {
		return 0, err
	}
	if len(said.Events) != 1 {
		return 0, fmt.Errorf("%d calls of mark", len(said.Events))
	}
	at, err := said.Events[0].Arguments.At.Int64()
	if err != nil {
		return 0, fmt.Errorf("read when it crashed: %w", err)
	}
	return time.Duration(ts.Nano() - at), nil
}

var perFrame = regexp.MustCompile(`BenchmarkWalk/(\d+)\S*\s.*?([\d.]+) ns/frame`)

// gdbFrames prints a stack without values and says what a frame took the first time.
const gdbFrames = `
import gdb, time
gdb.execute("set pagination off")
gdb.execute("set print entry-values no") # searched through all frames: a thousand times slower
gdb.execute("set print frame-arguments none")
gdb.execute("run stop DEPTH", to_string=True)
start = time.perf_counter_ns()
text = gdb.execute("backtrace", to_string=True)
took = time.perf_counter_ns() - start
print("@@%f" % (took / text.count("\n")))
`

// frames measures what one frame costs: in Strobe, which reads another process, and gives names, lines and inlined
// calls; in gdb, which does the same and prints; in glibc and libunwind, which walk their own process's stack and give
// addresses alone.
func (b *bench) frames(prog, source string) error {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", "BenchmarkWalk", "./internal/unwind").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run BenchmarkWalk: %w: %s", err, out)
	}
	strobe := map[string]float64{}
	for _, m := range perFrame.FindAllStringSubmatch(string(out), -1) {
		strobe[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	withUnwind := filepath.Join(b.dir, "crash-libunwind")
	build := exec.Command("gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-pthread", "-DLIBUNWIND",
		"-I/usr/include/libunwind", source, "-o", withUnwind, "-lunwind")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: no libunwind: %v: %s\n", err, lastLine(string(out)))
		withUnwind = ""
	}
	for _, depth := range []string{"100", "1000"} {
		note := ""
		for _, other := range []struct {
			name    string
			command []string
		}{
			{"gdb's backtrace", b.gdbWalk(prog, depth)},
			{"libunwind", []string{withUnwind, "frames", depth}},
			{"glibc's backtrace", []string{prog, "frames", depth}},
		} {
			if other.command[0] == "" {
				continue
			}
			out, err := exec.Command(other.command[0], other.command[1:]...).Output()
			if err != nil {
				return fmt.Errorf("run %s: %w", other.name, err)
			}
			text := string(out)
			if _, after, ok := strings.Cut(text, "@@"); ok {
				text = after
			}
			ns, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			if err != nil {
				return fmt.Errorf("read what %s took: %w", other.name, err)
			}
			note += fmt.Sprintf("; %s %.0f", other.name, ns)
		}
		b.note("a frame of a stack of "+depth, strobe[depth], "ns", 0, "%s", strings.TrimPrefix(note, "; "))
	}
	return nil
}

func (b *bench) gdbWalk(prog, depth string) []string {
	script := filepath.Join(b.dir, "frames-"+depth+".py")
	if os.WriteFile(script, []byte(strings.ReplaceAll(gdbFrames, "DEPTH", depth)), 0o600) != nil {
		return []string{""}
	}
	return []string{"gdb", "-nx", "-batch", "-x", script, prog}
}
