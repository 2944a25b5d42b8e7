package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the project promises of Go: a call of a function of two ints, and how long an attach stops a program that has
// many goroutines.
const (
	promisedGoPairNS = 60.0
	promisedGoStopMS = 20.0
	goParked         = 100_000
	delveModule      = "github.com/go-delve/delve/cmd/dlv@v1.26.0"
)

// golang measures what a call costs in a Go program, beside Delve's trace, a uprobe at the function's entry, and
// regions that the program itself marks; and how long an attach stops a program of 100,000 goroutines.
func (b *bench) golang() error {
	if err := b.withDefaults(); err != nil {
		return err
	}
	prog := filepath.Join(b.dir, "gocalls")
	build := exec.Command("go", "build", "-o", prog, filepath.Join("bench", "testdata", "gocalls", "main.go"))
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build gocalls: %w: %s", err, text)
	}
	if err := b.goPairs(prog); err != nil {
		return err
	}
	return b.goStops(prog)
}

// goPairs runs the loop under each contender, by turns. What costs a stop each is called less often.
func (b *bench) goPairs(prog string) error {
	const calls, few = 1_000_000, 300
	n := strconv.Itoa(calls)
	dlv := b.delve()
	got := map[string][]float64{}
	measured := func(who string, command ...string) (string, error) {
		ns, out, err := b.flatOnce(command...)
		if err == nil {
			got[who] = append(got[who], ns)
		}
		return out, err
	}
	for range b.turns {
		if _, err := measured("untraced", prog, "calls", n); err != nil {
			return err
		}
		for _, how := range []string{"calls", "flat"} {
			out, err := measured("strobe "+how, b.strobe, "run", "--json", "--project-root", mustGetwd(), "--trace",
				"main.add", "--", prog, how, n)
			if err != nil {
				return err
			}
			if m := enters.FindStringSubmatch(out); m == nil || m[1] != n {
				return fmt.Errorf("calls of Go's: not each of %d is kept: %s", calls, lastLine(out))
			}
		}
		if _, err := measured("runtime/trace", prog, "regions", n); err != nil {
			return err
		}
		if dlv != "" {
			if _, err := measured("dlv trace", dlv, "trace", "-e", prog, `^main\.add$`, "--", "calls",
				strconv.Itoa(few)); err != nil {
				return err
			}
		}
		if off, err := uprobe(prog, "main.add"); err == nil {
			_, err := measured("uprobe", prog, "calls", strconv.Itoa(calls/10))
			off()
			if err != nil {
				return err
			}
		}
	}
	ours := median(got["strobe calls"])
	var beside []string
	for _, who := range []string{"runtime/trace", "uprobe", "dlv trace"} {
		if len(got[who]) == 0 {
			beside = append(beside, who+" cannot be had here")
			continue
		}
		beside = append(beside, fmt.Sprintf("%s %.0f ns (%.1f times)", who, median(got[who]), median(got[who])/ours))
	}
	b.note("a call of a Go function of two ints, entry and exit", ours-median(got["untraced"]), "ns", promisedGoPairNS,
		"%s; each of ours is kept; a uprobe has the entry alone", strings.Join(beside, ", "))
	b.note("the same, 1,000,000 without a pause", median(got["strobe flat"])-median(got["untraced"]), "ns", 0,
		"each is kept")
	return nil
}

// delve is Delve's command, "" where it cannot be had.
func (b *bench) delve() string {
	if found, err := exec.LookPath("dlv"); err == nil {
		return found
	}
	cmd := exec.Command("go", "install", delveModule)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOBIN="+b.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: dlv cannot be had: %v: %s\n", err, lastLine(string(out)))
		return ""
	}
	return filepath.Join(b.dir, "dlv")
}

// uprobe has the kernel record each call of a function with its first two arguments, until off is called.
func uprobe(prog, function string) (off func(), err error) {
	const tracing = "/sys/kernel/tracing/"
	f, err := elf.Open(prog)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at := uint64(0)
	for _, s := range symbols {
		if s.Name == function {
			for _, p := range f.Progs {
				if p.Type == elf.PT_LOAD && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Filesz {
					at = s.Value - p.Vaddr + p.Off
				}
			}
		}
	}
	if at == 0 {
		return nil, fmt.Errorf("%s has no %s", prog, function)
	}
	tell := func(file, text string) error { return os.WriteFile(tracing+file, []byte(text), 0o600) }
	remove := func() { _ = tell("uprobe_events", "-:strobe_bench/call\n") }
	if err := tell("uprobe_events", fmt.Sprintf("p:strobe_bench/call %s:%#x a=%%ax b=%%bx\n", prog, at)); err != nil {
		return nil, err
	}
	if err := tell("events/strobe_bench/call/enable", "1"); err != nil {
		remove()
		return nil, err
	}
	return func() {
		_ = tell("events/strobe_bench/call/enable", "0")
		remove()
		_ = tell("trace", "")
	}, nil
}

var longest = regexp.MustCompile(`longest_us=(\d+)`)

// goStops attaches to a program with many goroutines and lets it go.
func (b *bench) goStops(prog string) error {
	for _, attached := range []bool{false, true} {
		var took []float64
		for range b.turns {
			ms, err := b.goStop(prog, attached)
			if err != nil {
				return err
			}
			took = append(took, ms)
		}
		name, limit := "untraced", 0.0
		if attached {
			name, limit = "attached to, traced and let go", promisedGoStopMS
		}
		b.note(fmt.Sprintf("longest pause of a program of %d goroutines, %s", goParked, name), median(took), "ms", limit,
			"%d turns, the worst %.1f", len(took), slices.Max(took))
	}
	return nil
}

func (b *bench) goStop(prog string, attached bool) (ms float64, err error) {
	cmd := exec.Command(prog, "parked", strconv.Itoa(goParked))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	ready, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return 0, err
	}
	defer cmd.Wait() //nolint:errcheck // it is waited for below, unless something failed
	defer stdin.Close()
	lines := bufio.NewReader(ready)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		return 0, fmt.Errorf("gocalls parked: %q, %v", line, err)
	}
	if attached {
		out, err := b.text(b.strobe, "attach", strconv.Itoa(cmd.Process.Pid), "--json", "--timeout", "2s", "--project-root",
			mustGetwd(), "--trace", "main.parked")
		if err != nil {
			return 0, fmt.Errorf("attach: %w: %s", err, lastLine(out))
		}
	} else {
		time.Sleep(2 * time.Second)
	}
	stdin.Close()
	if _, err := out.ReadFrom(lines); err != nil {
		return 0, err
	}
	m := longest.FindStringSubmatch(out.String())
	if m == nil {
		return 0, fmt.Errorf("gocalls parked: no times: %s", lastLine(out.String()))
	}
	us, err := strconv.ParseFloat(m[1], 64)
	return us / 1000, err
}
