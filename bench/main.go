// Command bench measures Strobe from outside, with the real binary. With no flag it does all of:
//
//	-cost      one loop over two small functions, untraced, under Strobe with arguments and results recorded, under
//	           uftrace with arguments and results, and under gdb breakpoints that continue; the target takes the time
//	-scale     20,000 functions hooked and unhooked, in a program that is busy meanwhile, and at its launch
//	-ingest    1,000,000 events a second for ten seconds, with policy block: counts, the daemon's CPU, bytes per event;
//	           then eight threads as fast as they can
//	-values    cost of a call by what its arguments lead to, against gdb, and of one that is not recorded
//	-symbols   launch of a program with 100 MB of debug information, its index built and cached
//	-crash     from a fault in a program of eight threads to the answer that has the crash; a stack's frames against
//	           gdb and libunwind
//	-points    conditions, logpoints, pauses, data breakpoints and steps, against gdb and lldb
//	-tests     suites of tests bare, with the framework's own reporter, and by debug_test; with a machine full of idle
//	           processes, too
//	-flat      calls of two small functions without a pause, each of them kept, against uftrace
//	-realtime  deadlines that a thread of 1 kHz and a real-time policy misses beside busy ones, without and with tracing
//	-races     races found in small programs, and how much slower they are, beside ThreadSanitizer and helgrind
//	-go        calls of a Go function, against Delve, uprobes and regions of runtime/trace; how long an attach stops a
//	           program of 100,000 goroutines
//	-latency   launch to first event, strobe mcp to its first answer, and queries over ten million events
//
// and, where asked for, since it fetches and builds them:
//
//	-programs  whole programs from registries untraced, under uftrace and under Strobe with everything of theirs
//	           traced, by turns; -write puts the table into a document
//	-dap       what an editor waits for: the Debug Adapter Protocol's steps, against lldb's adapter, gdb's and debugpy;
//	           what each offers, and whether it does it
//
// It stands outside the data path and uses the strobe binary as anybody would.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

type bench struct {
	dir    string // built programs and data, removed at the end
	strobe string
	turns  int
	burst  int // rounds of a burst: two calls each
	only   string
	write  string // a document whose section is replaced
	env    []string
	home   string
	// rows are what was measured, in order.
	rows []measure
}

// measure is one number and what is promised of it.
type measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit,omitempty"` // the greatest that keeps the promise; 0: none
	Note  string  `json:"note,omitempty"`
}

// parts are what can be asked for by name, in the order in which they run, -cost before them.
var parts = []struct {
	name, what string
	run        func(*bench) error
	alone      bool // only where it is asked for
}{
	{"scale", "20,000 functions at once", (*bench).scale, false},
	{"symbols", "launch of a program with 100 MB of debug information", (*bench).symbols, false},
	{"ingest", "1,000,000 events a second", (*bench).ingest, false},
	{"latency", "times to the first event and of queries", (*bench).latency, false},
	{"values", "cost of a call by what its arguments lead to, against gdb; and of one that is not recorded",
		(*bench).values, false},
	{"crash", "from a fault to the crash in a query's answer, and what a frame of a stack costs", (*bench).crash, false},
	{"points", "what breakpoints, logpoints, data breakpoints and steps cost, against gdb and lldb",
		(*bench).points, false},
	{"tests", "what an untraced run of tests takes longer than its bare command", (*bench).tests, false},
	{"flat", "calls without a pause, each of them kept, against uftrace", (*bench).flat, false},
	{"realtime", "deadlines of a thread of a real-time policy beside busy ones, for 60 s", (*bench).realtime, false},
	{"go", "what calls of Go's cost, against Delve, uprobes and runtime/trace; how long an attach stops a program",
		(*bench).golang, false},
	{"races", "races found in small programs, beside ThreadSanitizer and helgrind", (*bench).races, false},
	{"dap", "what an editor waits for, against other adapters of its protocol; not among all", (*bench).dap, true},
	{"programs", "whole programs from registries, against uftrace; not among all", (*bench).wholes, true},
}

func main() {
	turns := flag.Int("turns", 5, "how often each is run")
	burst := flag.Int("burst", 10000, "rounds of the loop in one burst")
	check := flag.Bool("check", false, "exit 1 where a promise is not kept")
	asJSON := flag.Bool("json", false, "print the result as JSON")
	cost := flag.Bool("cost", false, "cost of a call in the target, against uftrace and gdb")
	asked := make([]*bool, len(parts))
	for i, p := range parts {
		asked[i] = flag.Bool(p.name, false, p.what)
	}
	write := flag.String("write", "", "document whose section -programs replaces, instead of printing it")
	only := flag.String("suite", "", "of -tests only suites, of -programs only programs whose names contain this")
	flag.Parse()
	all := !*cost && !slices.ContainsFunc(asked, func(a *bool) bool { return *a })
	b := &bench{turns: *turns, burst: *burst, only: *only, write: *write}
	var run []func(*bench) error
	for i, p := range parts {
		if *asked[i] || all && !p.alone {
			run = append(run, p.run)
		}
	}
	code, err := b.run(*check, *asJSON, all || *cost, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// run measures what a call costs, if asked for, and the parts; code is what the command ends with.
func (b *bench) run(check, asJSON, cost bool, parts []func(*bench) error) (code int, err error) {
	if b.dir, err = os.MkdirTemp("", "strobe-bench-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(b.dir)
	if b.strobe = os.Getenv("STROBE_BIN"); b.strobe == "" {
		b.strobe = "bin/strobe"
	}
	if b.strobe, err = filepath.Abs(b.strobe); err != nil {
		return 0, err
	}
	if err := b.makeHome(); err != nil {
		return 0, err
	}
	defer b.stopDaemon()
	fmt.Fprintln(os.Stderr, "machine:", machine())
	var rows []row
	if cost {
		if err := b.buildSpin(); err != nil {
			return 0, err
		}
		rows = b.measure()
		if !asJSON {
			show(rows)
			code = verdict(rows, check, os.Stdout)
		} else {
			code = verdict(rows, check, nil)
		}
	}
	for _, part := range parts {
		if err := part(b); err != nil {
			return 0, err
		}
	}
	for _, m := range b.rows {
		if check && m.Limit > 0 && m.Value > m.Limit {
			code = 1
		}
	}
	if asJSON {
		return code, json.NewEncoder(os.Stdout).Encode(map[string]any{"machine": machine(), "cost": rows, "measures": b.rows})
	}
	return code, nil
}

// note prints one measure and keeps it. A limit of 0 promises nothing.
func (b *bench) note(name string, value float64, unit string, limit float64, more string, args ...any) {
	m := measure{name, value, unit, limit, fmt.Sprintf(more, args...)}
	b.rows = append(b.rows, m)
	verdict := ""
	switch {
	case limit > 0 && value <= limit:
		verdict = fmt.Sprintf("promised %g: kept", limit)
	case limit > 0:
		verdict = fmt.Sprintf("promised %g: NOT KEPT", limit)
	}
	fmt.Fprintf(os.Stderr, "%-58s %10.2f %-14s %-26s %s\n", m.Name, m.Value, m.Unit, verdict, m.Note)
}

// makeHome gives Strobe a folder of its own, so that no running daemon is disturbed.
func (b *bench) makeHome() error {
	b.home = filepath.Join(b.dir, "home")
	if err := os.Mkdir(b.home, 0o700); err != nil {
		return err
	}
	b.env = append(os.Environ(), "STROBE_HOME="+b.home)
	return os.WriteFile(filepath.Join(b.home, "settings.json"),
		[]byte(`{"events.maxPerSession": 10000000, "sampling.threshold": 1000000000}`), 0o600)
}

// withDefaults takes the settings away that makeHome has made, for what runs from then on.
func (b *bench) withDefaults() error {
	b.stopDaemon()
	if err := os.Remove(filepath.Join(b.home, "settings.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (b *bench) stopDaemon() {
	cmd := exec.Command(b.strobe, "daemon", "stop")
	cmd.Env = b.env
	_ = cmd.Run() // a daemon without a session ends by itself as well
}
