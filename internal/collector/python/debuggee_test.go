package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pointsWithin bounds each wait of these tests.
const pointsWithin = 20 * time.Second

// pointVersions calls f for the Pythons whose ways differ: without co_lines and a C call for trace functions, the last
// of settrace, the first of monitoring, the first whose f_locals writes through.
func pointVersions(t *testing.T, f func(t *testing.T, interpreter string)) {
	strobetest.NeedTime(t)
	for _, in := range strobetest.Pythons(t) {
		t.Run(in.Name, func(t *testing.T) { f(t, in.Path) })
	}
}

// debuggee is testdata/points.py below an agent that a test speaks to.
type debuggee struct {
	t     *testing.T
	link  *agentlink.Link
	agent *agentlink.Agent
	lines map[string]int // by marks
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan error
	told  chan told
	book  *strobetest.Book
}

type told struct {
	agent *agentlink.Agent
	m     string
	line  []byte
}

// pause is a `paused`.
type pause struct {
	TID       int
	N         int
	Name      string
	Point     string
	Reason    string
	Hit       int
	Frames    []frame
	Arguments map[string]json.RawMessage
	Locals    map[string]json.RawMessage
	Result    json.RawMessage
	ResultOf  string
	Note      string
	agent     *agentlink.Agent
}

type frame struct {
	Ref      int
	Function string
	File     string
	Line     int
	User     bool
}

type variable struct {
	Name, Type, Value, Eval string
	Ref, Count              int
	List                    bool
}

type status struct {
	ID        string
	Locations []frame
	Hits      int

	Error, Why, Note string
}

var mark = regexp.MustCompile(`# (\w+)$`)

// debug starts a part of the program with points that are in force from the start.
func debug(t *testing.T, interpreter, part string, points ...agentlink.Point) *debuggee {
	t.Helper()
	program, err := filepath.Abs("testdata/points.py")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	d := &debuggee{t: t, lines: map[string]int{}, book: strobetest.NewBook()}
	d.ended, d.told = make(chan error, 1), make(chan told, 100)
	for i, line := range strings.Split(string(source), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			d.lines[m[1]] = i + 1
		}
	}
	hear := func(a *agentlink.Agent, m string, line []byte) { d.told <- told{a, m, line} }
	link, err := agentlink.Listen(agentlink.Options{Sink: d.book, Depth: 3, Told: hear})
	if err != nil {
		t.Fatal(err)
	}
	d.link = link
	t.Cleanup(link.Close)
	ctx := d.context()
	if err := link.Apply(ctx, d.set(points)); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("agent")
	if err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(interpreter, program, part, filepath.Join(t.TempDir(), "there"))
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	d.cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONPYCACHEPREFIX="+pycache(t), agentlink.EnvFolder+"="+
		link.Dir())
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	go func() { d.ended <- d.cmd.Wait() }()
	if !link.AwaitAgent(ctx, d.cmd.Process.Pid) {
		t.Fatal("the agent has not come")
	}
	for _, a := range link.Agents() {
		if a.PID == d.cmd.Process.Pid {
			d.agent = a
		}
	}
	return d
}

// pycache is shared by all of a run: else each process compiles the agent.
func pycache(t *testing.T) string {
	t.Helper()
	dir, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "pycache")
}

func (d *debuggee) set(points []agentlink.Point) agentlink.Set {
	root, err := filepath.Abs("testdata")
	if err != nil {
		d.t.Fatal(err)
	}
	return agentlink.Set{OnFull: "wait", Root: root, Points: points}
}

func (d *debuggee) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), pointsWithin)
	d.t.Cleanup(cancel)
	return ctx
}

// line is a point at a marked line.
func line(n string) agentlink.Point {
	return agentlink.Point{ID: "b-" + n, File: "points.py", Line: lineOf(n)}
}

func lineOf(name string) int {
	source, _ := os.ReadFile("testdata/points.py")
	for i, line := range strings.Split(string(source), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil && m[1] == name {
			return i + 1
		}
	}
	panic("no mark " + name)
}

// ask asks the process's agent.
func (d *debuggee) ask(m string, body map[string]any, answer any) {
	d.t.Helper()
	if err := d.agent.Ask(d.context(), m, body, answer); err != nil {
		d.t.Fatalf("%s: %v", m, err)
	}
}

// next is the next message of a kind.
func (d *debuggee) next(m string) told {
	d.t.Helper()
	timer := time.NewTimer(pointsWithin)
	defer timer.Stop()
	for {
		select {
		case got := <-d.told:
			if got.m == m {
				return got
			}
		case <-timer.C:
			d.t.Fatalf("no %s came; the program printed %q", m, d.out.String())
		}
	}
}

func (d *debuggee) paused() pause {
	d.t.Helper()
	got := d.next("paused")
	p := pause{agent: got.agent}
	if err := json.Unmarshal(got.line, &p); err != nil {
		d.t.Fatalf("%v of %s", err, got.line)
	}
	return p
}

// at is a pause in short: its reason, function and the mark of its line.
func (d *debuggee) at(p pause) string {
	f := p.Frames[0]
	where := fmt.Sprint(f.Line)
	for name, n := range d.lines {
		if n == f.Line && filepath.Base(f.File) == "points.py" {
			where = name
		}
	}
	function := strings.TrimPrefix(f.Function, "points.")
	text := p.Reason + " " + function + " " + where
	if p.ResultOf != "" {
		text += " " + strings.TrimPrefix(p.ResultOf, "points.") + "=" + string(p.Result)
	}
	return text
}

func (d *debuggee) step(p pause, how string) pause {
	d.t.Helper()
	d.ask("step", map[string]any{"tid": p.TID, "how": how, "id": "step"}, nil)
	return d.paused()
}

func (d *debuggee) resume(p pause) {
	d.t.Helper()
	if err := p.agent.Ask(d.context(), "go", map[string]any{"tids": []int{p.TID}}, nil); err != nil {
		d.t.Fatal(err)
	}
}

// end waits for the program's end and compares what it printed.
func (d *debuggee) end(printed string) {
	d.t.Helper()
	timer := time.NewTimer(pointsWithin)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.t.Fatal("the program does not end")
	}
	if got := strings.TrimSpace(d.out.String()); got != printed {
		d.t.Errorf("the program printed %q, want %q", got, printed)
	}
}

func (d *debuggee) scopes(p pause, index int) map[string]int {
	d.t.Helper()
	var fs struct {
		Frames []frame
		Total  int
	}
	d.ask("frames", map[string]any{"tid": p.TID, "from": 0, "n": 0}, &fs)
	var a struct {
		Scopes []struct {
			Kind string
			Ref  int
		}
	}
	d.ask("scopes", map[string]any{"ref": fs.Frames[index].Ref}, &a)
	refs := map[string]int{"frame": fs.Frames[index].Ref}
	for _, s := range a.Scopes {
		refs[s.Kind] = s.Ref
	}
	return refs
}

func (d *debuggee) variables(ref, from, n int) []variable {
	d.t.Helper()
	var a struct{ Variables []variable }
	d.ask("variables", map[string]any{"ref": ref, "from": from, "n": n}, &a)
	return a.Variables
}

// value evaluates or assigns, and returns the value in one line, or why not.
func (d *debuggee) value(m string, ref int, body map[string]any) string {
	d.t.Helper()
	body["ref"] = ref
	var a struct{ Variable variable }
	if err := d.agent.Ask(d.context(), m, body, &a); err != nil {
		return "error: " + err.Error()
	}
	return a.Variable.Value
}

func (d *debuggee) evaluate(ref int, text string) string {
	d.t.Helper()
	return d.value("evaluate", ref, map[string]any{"text": text})
}
