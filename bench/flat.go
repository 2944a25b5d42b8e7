package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// What the project promises of calls that come without a pause, each of them kept.
const promisedFlatNS = 130.0

// flat runs two small functions, one of which gets a text, as fast as they go, under Strobe with its defaults and under
// uftrace, by turns. It ends with an error where a call is missing or given twice.
func (b *bench) flat() error {
	if err := b.withDefaults(); err != nil {
		return err
	}
	source := filepath.Join("bench", "programs", "pair.c")
	prog, profiled := filepath.Join(b.dir, "pair"), filepath.Join(b.dir, "pair-pg")
	for out, flags := range map[string][]string{prog: nil, profiled: {"-pg"}} {
		args := append([]string{"-g", "-O2", source, "-o", out}, flags...)
		if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", source, err, text)
		}
	}
	for _, calls := range []int{200_000, 800_000, 2_000_000} {
		n := strconv.Itoa(calls)
		var ours, theirs, ratios []float64
		for range b.turns {
			s, out, err := b.flatOnce(b.strobe, "run", "--json", "--project-root", mustGetwd(), "--trace", "leaf",
				"--trace", "text", "--", prog, n)
			if err != nil {
				return err
			}
			if got := enters.FindStringSubmatch(out); got == nil || got[1] != n {
				return fmt.Errorf("%d calls flat out: not each is kept: %s", calls, lastLine(out))
			}
			ours = append(ours, s)
			if _, err := exec.LookPath("uftrace"); err != nil {
				continue
			}
			u, _, err := b.flatOnce("uftrace", "record", "-d", filepath.Join(b.dir, "uftrace.flat"), "-A", ".", "-R", ".",
				"--no-libcall", profiled, n)
			if err != nil {
				return err
			}
			theirs, ratios = append(theirs, u), append(ratios, s/u)
		}
		b.note(fmt.Sprintf("%d calls flat out, one in two with a text", calls), median(ours), "ns a call",
			promisedFlatNS, "uftrace %.0f, of that %.2f; each is kept", median(theirs), median(ratios))
	}
	return nil
}

var enters = regexp.MustCompile(`"function_enter": *(\d+)`)

// flatOnce runs a contender; it returns what its target measured, and all that was printed.
func (b *bench) flatOnce(command ...string) (ns float64, text string, err error) {
	text, err = b.text(command...)
	if err != nil {
		return 0, "", err
	}
	m := timing.FindStringSubmatch(text)
	if m == nil {
		return 0, "", fmt.Errorf("run %s: its target printed no timing: %s", filepath.Base(command[0]),
			lastLine(text))
	}
	ns, err = strconv.ParseFloat(m[1], 64)
	return ns, text, err
}

// realtime runs a thread of policy SCHED_FIFO that wakes each millisecond and calls 50 functions, beside threads that
// compute and call, untraced and with everything traced. Of the deadlines that are missed ours are those that the same
// program does not miss untraced, and those at which it was at work and not late to wake.
func (b *bench) realtime() error {
	if err := b.withDefaults(); err != nil {
		return err
	}
	prog, source := filepath.Join(b.dir, "realtime"), filepath.Join("bench", "programs", "realtime.c")
	if text, err := exec.Command("gcc", "-g", "-O2", "-pthread", source, "-o", prog).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", source, err, text)
	}
	for _, traced := range []bool{false, true} {
		name, command := "untraced", []string{prog, "60", "2"}
		if traced {
			name = "with 51 functions traced"
			command = append([]string{b.strobe, "run", "--json", "--project-root", mustGetwd(), "--trace", "voice*",
				"--trace", "busy", "--"}, command...)
		}
		out, err := b.text(command...)
		if err != nil {
			return err
		}
		m := deadlines.FindStringSubmatch(out)
		if m == nil {
			return fmt.Errorf("run realtime: it printed no deadlines: %s", lastLine(out))
		}
		missed, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		more := ""
		if traced {
			kept, lost := enters.FindStringSubmatch(out), dropped.FindStringSubmatch(out)
			if kept == nil || lost == nil {
				return fmt.Errorf("run realtime: no counts: %s", lastLine(out))
			}
			more = fmt.Sprintf("; %s calls recorded, %s events dropped", kept[1], lost[1])
		}
		b.note("1 kHz, SCHED_FIFO, "+name+": deadlines missed", missed, "of "+m[1], 0,
			"%s at work; latest %s µs behind its waking; its 50 calls took %s ns, %s µs at most%s", m[3], m[4], m[6], m[5],
			more)
	}
	return nil
}

var deadlines = regexp.MustCompile(`periods=(\d+) missed=(\d+) missed_working=(\d+) worst_us=(\d+) ` +
	`longest_us=(\d+) mean_ns=(\d+)`)

// text runs a command and returns all that it prints.
func (b *bench) text(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("run %s: %w: %s", filepath.Base(command[0]), err, lastLine(string(out)))
	}
	return string(out), err
}
