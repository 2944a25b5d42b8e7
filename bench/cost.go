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
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the project promises; see docs/performance.md.
const (
	promisedNS         = 45.0
	promisedOverUftr   = 3.0
	promisedOverGDB    = 1000.0
	promisedIdleFactor = 1.01
)

// build compiles the loop twice: as anybody would, and with the calls that uftrace wants.
func (b *bench) buildSpin() error {
	source := filepath.Join("testdata", "targets", "c", "spin.c")
	for name, flags := range map[string][]string{"spin": nil, "spin-pg": {"-pg"}} {
		args := append([]string{"-g", "-O2", source, "-o", filepath.Join(b.dir, name)}, flags...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", name, err, out)
		}
	}
	script := "set pagination off\nset confirm off\n"
	for _, f := range []string{"leaf", "branch"} {
		script += "break " + f + "\ncommands\nsilent\ncontinue\nend\n"
	}
	return os.WriteFile(filepath.Join(b.dir, "gdb.script"), []byte(script+"run\n"), 0o600)
}

type row struct {
	Name    string    `json:"name"`
	NS      float64   `json:"nsPerPair"` // median; 0 when it could not be run
	All     []float64 `json:"all"`
	Fastest float64   `json:"fastest"` // of all bursts of all turns
	Note    string    `json:"note,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

type contender struct {
	name    string
	command []string
	note    string
}

func (b *bench) contenders() []contender {
	spin, pg := filepath.Join(b.dir, "spin"), filepath.Join(b.dir, "spin-pg")
	burst := []string{"burst", strconv.Itoa(b.burst), "41", "40"}
	long := []string{"burst", "10000000", "100", "1"}
	data := filepath.Join(b.dir, "uftrace.data")
	strobe := []string{b.strobe, "run", "--json", "--project-root", mustGetwd()}
	return []contender{
		{"untraced", append([]string{spin}, long...), ""},
		{"strobe, nothing traced", slices.Concat(strobe, []string{"--", spin}, long), ""},
		{"strobe", slices.Concat(strobe, []string{"--trace", "leaf", "--trace", "branch", "--", spin}, burst),
			"arguments and results"},
		{"uftrace", slices.Concat([]string{"uftrace", "record", "-d", data, "-A", ".", "-R", ".", "--no-libcall", pg}, burst),
			"arguments and results, -pg"},
		{"gdb", []string{"gdb", "-nx", "-batch", "-x", filepath.Join(b.dir, "gdb.script"), "--args", spin, "burst", "300",
			"3", "0"}, "breakpoint and continue, no values"},
	}
}

func mustGetwd() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}

func (b *bench) measure() []row {
	contenders := b.contenders()
	rows := make([]row, len(contenders))
	for turn := range b.turns {
		for i, c := range contenders {
			rows[i].Name, rows[i].Note = c.name, c.note
			if rows[i].Problem != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "\r%-60s", fmt.Sprintf("turn %d of %d: %s", turn+1, b.turns, c.name))
			ns, fastest, note, err := b.once(c)
			if err != nil {
				rows[i].Problem = err.Error()
				continue
			}
			if note != "" {
				rows[i].Note = c.note + note
			}
			rows[i].All = append(rows[i].All, ns)
			if rows[i].Fastest == 0 || fastest < rows[i].Fastest {
				rows[i].Fastest = fastest
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	for i := range rows {
		rows[i].NS = median(rows[i].All)
	}
	return rows
}

var (
	timing  = regexp.MustCompile(`pairs=\d+ ns_per_pair=([0-9.]+) fastest=([0-9.]+)`)
	dropped = regexp.MustCompile(`"droppedEvents": *(\d+)`)
)

// once runs a contender and returns what its target measured, the median and the fastest burst, and a note on lost
// events.
func (b *bench) once(c contender) (ns, fastest float64, note string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Dir, cmd.Env = b.dir, b.env
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, 0, "", fmt.Errorf("run %s: %w: %s", c.name, err, lastLine(out.String()))
	}
	m := timing.FindStringSubmatch(out.String())
	if m == nil {
		return 0, 0, "", fmt.Errorf("run %s: its target printed no timing: %s", c.name, lastLine(out.String()))
	}
	ns, err = strconv.ParseFloat(m[1], 64)
	if err == nil {
		fastest, err = strconv.ParseFloat(m[2], 64)
	}
	if strings.HasPrefix(c.name, "strobe") {
		if d := dropped.FindStringSubmatch(out.String()); d != nil && d[1] != "0" {
			note = fmt.Sprintf(", but %s events dropped: lower -burst", d[1])
		}
	}
	return ns, fastest, note, err
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func show(rows []row) {
	strobe := find(rows, "strobe").NS
	fmt.Printf("%-24s %14s %14s   %s\n", "", "ns per pair", "over strobe", "")
	for _, r := range rows {
		switch {
		case r.Problem != "":
			fmt.Printf("%-24s %14s %14s   %s\n", r.Name, "-", "-", r.Problem)
		case strobe == 0:
			fmt.Printf("%-24s %14.2f %14s   %s\n", r.Name, r.NS, "-", r.Note)
		default:
			fmt.Printf("%-24s %14.2f %13.2fx   %s\n", r.Name, r.NS, r.NS/strobe, r.Note)
		}
	}
	fmt.Println("a pair is one call: its enter and its exit; medians")
}

func find(rows []row, name string) row {
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	return row{}
}

// verdict says which promises hold, and returns the exit code.
func verdict(rows []row, check bool, out *os.File) int {
	strobe := find(rows, "strobe").NS
	code := 0
	say := func(what string, got, limit float64, holds bool) {
		word := "kept"
		if !holds {
			word = "NOT KEPT"
			if check {
				code = 1
			}
		}
		if out != nil {
			fmt.Fprintf(out, "%-44s %10.3f, promised %8.2f: %s\n", what, got, limit, word)
		}
	}
	ratio := func(name string) float64 {
		if strobe == 0 {
			return 0
		}
		return find(rows, name).NS / strobe
	}
	say("ns per enter and exit", strobe, promisedNS, strobe > 0 && strobe <= promisedNS)
	say("times cheaper than uftrace", ratio("uftrace"), promisedOverUftr, ratio("uftrace") >= promisedOverUftr)
	say("times cheaper than gdb", ratio("gdb"), promisedOverGDB, ratio("gdb") >= promisedOverGDB)
	// Other work on the machine only ever adds to a loop that does nothing but compute: take the fastest burst of each.
	if plain, idle := find(rows, "untraced").Fastest, find(rows, "strobe, nothing traced").Fastest; plain > 0 {
		idle /= plain
		say("an idle session's factor", idle, promisedIdleFactor, idle > 0 && idle <= promisedIdleFactor)
	}
	return code
}
