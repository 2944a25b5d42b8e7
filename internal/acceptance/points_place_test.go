package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// placeFunctions are those of testdata/place.cc at which all of a round happens, and placeSide what a program does
// beside.
var placeFunctions = []string{"wa", "wb", "ws", "wr", "wd", "wf", "wc", "wt", "wj", "wk"}

const placeSide = "SHBFPDEJWXZ"

// placeNeeds is what a program must do for a function to be called.
var placeNeeds = map[string]string{"wc": "W", "wt": "E", "wj": "J", "watched": "W"}

// slowCall is what no call may take, without the time in which the daemon wanted a CPU and others had them.
const slowCall = 2 * time.Second

// stopGrace is graceMs of a stop that says nothing of it.
const stopGrace = 2 * time.Second

// placeKinds are what can stand at a function, and what is done around it. Each is done again and again while the
// program runs.
var placeKinds = []struct {
	name string
	do   func(p *placed)
}{
	{"trace", func(p *placed) { p.toggle(&p.traced, p.fn, "") }},
	{"exceptions", func(p *placed) { p.toggle(&p.thrown, "@exceptions", "") }},
	{"all", func(p *placed) { p.toggle(&p.all, "w*", "!wr") }},
	{"condition", func(p *placed) { p.point(args{"function": p.fn, "condition": p.variable() + " == 12345.0"}) }},
	{"condition in target", func(p *placed) { p.point(args{"function": p.fn, "condition": p.variable() + " == -77"}) }},
	{"logpoint", func(p *placed) {
		p.point(args{"function": p.fn, "condition": p.variable() + " == 300", "message": "at {" + p.variable() + "}"})
	}},
	{"hits", func(p *placed) { p.point(args{"function": p.fn, "hitCount": 50 + p.rng.IntN(500)}) }},
	{"break", func(p *placed) { p.point(args{"function": p.fn}) }},
	{"break all", func(p *placed) { p.point(args{"function": p.fn, "allThreads": true, "hitCount": 10}) }},
	{"step", func(p *placed) {
		p.point(args{"function": p.fn})
		p.next([]string{"step-over", "step-into", "step-out"}[p.rng.IntN(3)])
	}},
	{"data", func(p *placed) { p.point(args{"variable": "watched"}) }},
	{"data pause", func(p *placed) { p.point(args{"variable": "watched", "pause": true}) }},
	{"force", func(p *placed) { p.point(args{"function": "wf", "return": 77}) }},
	{"memory", func(p *placed) {
		p.call("debug_memory", args{"targets": []any{args{"variable": "watched"}, args{"variable": "bad"}}})
	}},
	{"threads", func(p *placed) { p.call("debug_session", args{"action": "status", "threads": true}) }},
	{"query", func(p *placed) {
		p.call("debug_query", args{"view": []string{"events", "stats", "tree"}[p.rng.IntN(3)], "limit": 20})
	}},
}

// placed is one round: a program, and what is done to it.
type placed struct {
	*placeTally
	s     *strobetest.Strobe
	rng   *rand.Rand
	id    string
	fn    string
	what  string // for messages
	limit time.Duration

	traced, thrown, all bool
	added               []string
	pid                 int
	attach              bool
}

// placeTally counts over rounds.
type placeTally struct {
	mu      sync.Mutex
	rounds  int
	combos  map[string]bool
	ops     atomic.Int64
	harmed  []string
	slow    []string
	daemon  atomic.Int64   // the process
	starved int            // calls that took longer only because others had the CPUs
	late    []string       // what the threads did of programs that did not end
	failed  map[string]int // errors that were answers, by code
	refused []string       // some of them
	logf    func(format string, a ...any)
}

func (p *placeTally) note(list *[]string, format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, a...))
	if os.Getenv("STROBE_SOAK") != "" { // whose end is far
		p.logf(format, a...)
	}
}

// variable is the function's parameter.
func (p *placed) variable() string {
	if p.fn == "wd" {
		return "x"
	}
	return "n"
}

// try calls a tool with the session, and notes what takes too long and what is no answer.
func (p *placed) try(tool string, in args, out any) error {
	if tool != "debug_launch" {
		in["sessionId"] = p.id
	}
	began := time.Now()
	if dump := os.Getenv("STROBE_PLACE_DUMP"); dump != "" {
		wait, _ := in["waitMs"].(int)
		defer time.AfterFunc(slowCall+time.Duration(wait)*time.Millisecond,
			func() { dumpObserver(observerOf(p.pid), p.s.Home, dump) }).Stop()
	}
	daemon := int(p.daemon.Load())
	if daemon == 0 {
		daemon = daemonOf(p.s.Home)
		p.daemon.Store(int64(daemon))
	}
	seen := watchWait(daemon, p.pid)
	err := p.s.Try(tool, in, out)
	p.ops.Add(1)
	took, why := time.Since(began), seen.told()
	if wait, ok := in["waitMs"].(int); ok {
		took -= time.Duration(wait) * time.Millisecond
	}
	if in["action"] == "stop" && in["kill"] != true {
		took -= stopGrace // which a program that is asked to end may take
	}
	text, _ := json.Marshal(in)
	if took > slowCall && took-seen.starved() <= slowCall {
		p.mu.Lock()
		p.starved++
		p.mu.Unlock()
	} else if took > slowCall {
		load, _ := os.ReadFile("/proc/loadavg")
		p.note(&p.slow, "%s: %s %s took %v (load %.14s): %s", p.what, tool, text, took, load, why)
	}
	if err != nil {
		var f *strobetest.ToolError
		if !errors.As(err, &f) || f.Code == "INTERNAL_ERROR" || f.Code == "ENGINE_FAILED" {
			p.note(&p.harmed, "%s: %s %s: %v", p.what, tool, text, err)
		} else {
			p.mu.Lock()
			if p.failed[f.Code]++; p.failed[f.Code]%200 == 1 && f.Code != "NOT_PAUSED" {
				p.refused = append(p.refused, fmt.Sprintf("%s: %s %s: %v", p.what, tool, text, err))
			}
			p.mu.Unlock()
		}
	}
	return err
}

// dumpObserver ends a session's process with the stacks of all its goroutines in the log, and copies that: what a call
// waits for.
func dumpObserver(pid int, home, to string) {
	if pid != 0 {
		syscall.Kill(pid, syscall.SIGQUIT) //nolint:errcheck // it has ended
		for range 100 {
			if log, _ := os.ReadFile(filepath.Join(home, "daemon.log")); bytes.Contains(log, []byte("SIGQUIT")) {
				os.WriteFile(to, log, 0o600) //nolint:errcheck // a debugging aid
			}
		}
	}
}

func (p *placed) call(tool string, in args) { p.try(tool, in, nil) } //nolint:errcheck // noted

// toggle adds a pattern or takes it out.
func (p *placed) toggle(on *bool, patterns ...string) {
	what := "add"
	if *on = !*on; !*on {
		what = "remove"
	}
	list := []any{}
	for _, t := range patterns {
		if t != "" {
			list = append(list, t)
		}
	}
	p.call("debug_trace", args{what: list})
}

func (p *placed) untrace() {
	list := []any{}
	for _, e := range []struct {
		on       *bool
		patterns []any
	}{{&p.traced, []any{p.fn}}, {&p.thrown, []any{"@exceptions"}}, {&p.all, []any{"w*", "!wr"}}} {
		if *e.on {
			list = append(list, e.patterns...)
		}
		*e.on = false
	}
	p.call("debug_trace", args{"remove": list})
}

// point sets a point, or takes one out.
func (p *placed) point(add args) {
	if len(p.added) > 3 || len(p.added) > 0 && p.rng.IntN(3) == 0 {
		i := p.rng.IntN(len(p.added))
		p.call("debug_breakpoint", args{"remove": []any{p.added[i]}})
		p.added = slices.Delete(p.added, i, i+1)
		return
	}
	var r pointsResult
	if p.try("debug_breakpoint", args{"add": []any{add}}, &r) == nil {
		p.added = append(p.added, r.Added...)
	}
}

// next lets paused threads go on.
func (p *placed) next(action string) {
	p.call("debug_continue", args{"action": action, "waitMs": p.rng.IntN(30)})
}

// run does one round with the kinds for a time, and says whether the program ended as it should.
func (p *placed) run(t testing.TB, path, lib, how string, kinds []int) {
	attached := p.rng.IntN(3) == 0 || p.attach
	argv := []string{how, strconv.Itoa(int(p.limit.Milliseconds())), lib}
	var cmd *exec.Cmd
	var out bytes.Buffer
	launch := args{"projectRoot": filepath.Dir(path)}
	if attached {
		cmd = exec.Command(path, argv...)
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		launch["pid"] = cmd.Process.Pid
	} else {
		launch["command"], launch["args"] = path, argv
		if p.rng.IntN(2) == 0 {
			launch["trace"], p.traced = []any{p.fn}, true
		}
	}
	var l strobetest.Launched
	if err := p.try("debug_launch", launch, &l); err != nil && !attached {
		p.note(&p.harmed, "%s: it was not launched: %v", p.what, err)
		return
	}
	if p.id, p.pid = l.SessionID, l.PID; p.id != "" {
		p.act(kinds)
	}
	p.end(cmd, &out)
}

// act does what the kinds are until the program's time is nearly over.
func (p *placed) act(kinds []int) {
	for until := time.Now().Add(p.limit * 8 / 10); time.Now().Before(until); {
		placeKinds[kinds[p.rng.IntN(len(kinds))]].do(p)
		if p.rng.IntN(2) == 0 {
			p.next("continue")
		}
	}
}

// end takes everything out, or lets the program go, or leaves it to end as it is, and looks at its end.
func (p *placed) end(cmd *exec.Cmd, out *bytes.Buffer) {
	detached := false
	if p.id != "" {
		p.call("debug_breakpoint", args{"remove": []any{"all"}})
		switch p.rng.IntN(3) {
		case 0:
			p.untrace()
		case 1:
			if detached = cmd != nil; detached {
				p.call("debug_session", args{"action": "stop"})
			}
		}
	}
	const most = 60 * time.Second
	var st strobetest.Status
	for until := time.Now().Add(most); !detached && p.id != "" && time.Now().Before(until); {
		st = strobetest.Status{}
		if p.try("debug_session", args{"action": "status"}, &st) == nil && st.Status != "running" && st.Status != "paused" {
			break
		}
		p.next("continue")
	}
	if cmd != nil {
		late := time.AfterFunc(most, func() {
			p.note(&p.late, "%s: it has not ended:\n%s", p.what, threadsOf(cmd.Process.Pid))
			cmd.Process.Kill() //nolint:errcheck // it has ended
		})
		err := cmd.Wait()
		late.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 5 || out.String() != "bad 0\n" {
			p.note(&p.harmed, "%s: attached to, it ended with %d (%v) and %q: %s", p.what, code, err, out.String(), p.crash())
		}
	} else if text := p.output(); st.ExitCode == nil || *st.ExitCode != 5 || text != "bad 0\n" {
		p.note(&p.harmed, "%s: it ended as %s %s %v with %q: %s", p.what, st.Status, st.Signal, st.ExitCode, text, p.crash())
	}
	if !detached && p.id != "" {
		p.call("debug_session", args{"action": "stop"})
	}
}

// threadsOf is what the threads of a process do, by the kernel: a moment, and what CPU time they have taken a second
// later.
func threadsOf(pid int) string {
	var b strings.Builder
	for range 2 {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, t := range tasks {
			stat, _ := os.ReadFile(t + "/stat")
			call, _ := os.ReadFile(t + "/syscall")
			status, _ := os.ReadFile(t + "/status")
			fmt.Fprintf(&b, "%s %s", bytes.Join(bytes.Fields(stat)[:min(len(bytes.Fields(stat)), 15)], []byte(" ")), call)
			for line := range bytes.Lines(status) {
				if bytes.HasPrefix(line, []byte("Sig")) || bytes.HasPrefix(line, []byte("Shd")) ||
					bytes.Contains(line, []byte("ctxt")) {
					b.Write(append(bytes.TrimSpace(line), ' '))
				}
			}
			b.WriteByte('\n')
		}
		<-time.After(time.Second)
	}
	return b.String()
}

func (p *placed) output() (text string) {
	var page struct{ Events []map[string]any }
	if p.try("debug_query", args{"eventType": "stdout", "limit": 10}, &page) != nil {
		return "?"
	}
	for _, e := range page.Events {
		text += fmt.Sprint(e["text"])
	}
	return text
}

func (p *placed) crash() string {
	var page struct{ Events []json.RawMessage }
	if p.try("debug_query", args{"eventType": "crash", "limit": 1}, &page) != nil || len(page.Events) == 0 {
		return "no crash"
	}
	return string(page.Events[0][:min(len(page.Events[0]), 1500)])
}

// placeRounds runs rounds for a time, one program at a time, and returns what came of them.
func placeRounds(t *testing.T, total, each time.Duration, seed uint64) *placeTally {
	t.Helper()
	source, err := os.ReadFile("testdata/place.cc")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, variant := range []string{"gcc-O0", "gcc-O1", "gcc-O2"} {
		paths = append(paths, strobetest.BuildSource(t, "cpp", variant, "place", string(source)))
	}
	lib := strobetest.BuildSource(t, "c", "gcc-O1", "placelib",
		"long qwork(long n) { __asm__ volatile(\"\"); return n * 5 + 1; }\n", "-shared", "-fPIC")
	s := strobetest.Start(t, nil)
	tally := &placeTally{combos: map[string]bool{}, failed: map[string]int{}, logf: t.Logf}
	rng := rand.New(rand.NewPCG(seed, 0))
	for until := time.Now().Add(total); time.Now().Before(until); {
		tally.rounds++
		own := rng.Uint64()
		p := &placed{placeTally: tally, s: s, rng: rand.New(rand.NewPCG(own, 1)), limit: each}
		p.fn = placeFunctions[p.rng.IntN(len(placeFunctions))]
		kinds := p.rng.Perm(len(placeKinds))[:2+p.rng.IntN(2)]
		how, names := placeNeeds[p.fn], []string{}
		for _, k := range kinds {
			names = append(names, placeKinds[k].name)
			if strings.HasPrefix(placeKinds[k].name, "data") && !strings.Contains(how, "W") {
				how += "W"
			}
		}
		for _, k := range p.rng.Perm(len(placeSide))[:1+p.rng.IntN(3)] {
			if !strings.Contains(how, placeSide[k:k+1]) {
				how += placeSide[k : k+1]
			}
		}
		// function|kind,kind|side|attached: to look for what a round had
		if only := os.Getenv("STROBE_PLACE_ONLY"); only != "" {
			part := append(strings.Split(only, "|"), "", "", "")
			p.fn, how, names, kinds, p.attach = part[0], part[2], strings.Split(part[1], ","), nil, part[3] != ""
			for i, k := range placeKinds {
				if slices.Contains(names, k.name) {
					kinds = append(kinds, i)
				}
			}
		}
		slices.Sort(names)
		p.what = fmt.Sprintf("round %d (%d): %s with %s, %s", tally.rounds, own, p.fn, strings.Join(names, ", "), how)
		for i, a := range names {
			for j, b := range names[i+1:] {
				tally.combos[a+"+"+b] = true
				for _, c := range names[i+j+2:] {
					tally.combos[a+"+"+b+"+"+c] = true
				}
				for _, side := range how {
					tally.combos[a+"+"+b+"+"+string(side)] = true
				}
			}
		}
		p.run(t, paths[p.rng.IntN(len(paths))], lib, how, kinds)
		if os.Getenv("STROBE_SOAK") != "" && tally.rounds%20 == 0 {
			t.Log(tally)
		}
	}
	return tally
}

func (p *placeTally) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d rounds, %d pairs and triples, %d operations, %d harmed, %d waits over %v, "+
		"%d more for a CPU alone, refused %v",
		p.rounds, len(p.combos), p.ops.Load(), len(p.harmed), len(p.slow), slowCall, p.starved, p.failed)
}

// placeSeed is today's seed, or that of STROBE_PLACE_SEED.
func placeSeed(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(os.Getenv("STROBE_PLACE_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("STROBE_PLACE_SEED=%d", seed)
	return seed
}

// TestOnePlace puts pairs and triples of all that can stand at one function there, at random, while the program does
// more: no result of the program's changes, and it ends as it would.
func TestOnePlace(t *testing.T) {
	strobetest.NeedPtrace(t)
	p := placeRounds(t, 8*time.Second, 600*time.Millisecond, placeSeed(t))
	t.Log(p)
	for _, h := range p.harmed {
		t.Error(h)
	}
}

// TestSoakOnePlace does so for the time that STROBE_SOAK says, and no call may take more than two seconds.
func TestSoakOnePlace(t *testing.T) {
	total := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	p := placeRounds(t, total, 1200*time.Millisecond, placeSeed(t))
	t.Log(p, "\n", strings.Join(p.refused, "\n"))
	for _, h := range append(p.harmed, p.slow...) {
		t.Error(h)
	}
}
