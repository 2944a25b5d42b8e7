package js

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// debugged is a program with the agent, whose points, pauses and frames a test asks for itself.
type debugged struct {
	t      *testing.T
	link   *agentlink.Link
	book   *strobetest.Book
	root   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    bytes.Buffer
	errs   bytes.Buffer
	paused chan standing
	gen    int64
	ended  chan struct{}
	last   agentlink.Applied // as it was told last, unasked
}

// standing is a message of a pause.
type standing struct {
	agent     *agentlink.Agent
	TID       int               `json:"tid"`
	N         int64             `json:"n"`
	Name      string            `json:"name"`
	Point     string            `json:"point"`
	Reason    string            `json:"reason"`
	Hit       int64             `json:"hit"`
	Frames    []agentlink.Place `json:"frames"`
	Arguments json.RawMessage   `json:"arguments"`
	Locals    json.RawMessage   `json:"locals"`
	Result    json.RawMessage   `json:"result"`
	ResultOf  string            `json:"resultOf"`
	Note      string            `json:"note"`
}

// at is where it stands, in short.
func (s standing) at() string {
	var out []string
	for _, f := range s.Frames {
		if strings.HasPrefix(f.File, "/") {
			out = append(out, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
	}
	return strings.Join(out, " ")
}

// debug starts a program with points in force.
func debug(t *testing.T, in strobetest.Interpreter, points []agentlink.Point, program string) *debugged {
	t.Helper()
	return debugBelow(t, in, "testdata/points", points, program)
}

func debugBelow(t *testing.T, in strobetest.Interpreter, root string, points []agentlink.Point,
	program string) *debugged {
	t.Helper()
	d := &debugged{t: t, book: strobetest.NewBook(), paused: make(chan standing, 16), ended: make(chan struct{})}
	link, err := agentlink.Listen(agentlink.Options{Sink: d.book, Depth: 3,
		Told: func(a *agentlink.Agent, m string, line []byte) {
			if m == "applied" {
				_ = json.Unmarshal(line, &d.last)
			}
			if m == "paused" {
				s := standing{agent: a}
				if err := json.Unmarshal(line, &s); err != nil {
					t.Errorf("%v: %s", err, line)
				}
				d.paused <- s
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	d.link = link
	if d.root, err = filepath.Abs(root); err != nil {
		t.Fatal(err)
	}
	d.set(points)
	agent, err := filepath.Abs("agent/dist/agent.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := in.Command(filepath.Join(d.root, program))
	cmd.Env = append(cmd.Env, agentlink.EnvFolder+"="+link.Dir(), "STROBE_AGENT_WAS=", "NODE_OPTIONS=--require "+agent)
	cmd.Stdout, cmd.Stderr = &d.out, &d.errs
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.cmd = cmd
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-d.ended
		link.Close()
	})
	go func() {
		defer close(d.ended)
		_ = cmd.Wait()
	}()
	return d
}

func (d *debugged) context() context.Context {
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	d.t.Cleanup(cancel)
	return ctx
}

// set makes points be in force.
func (d *debugged) set(points []agentlink.Point) {
	d.t.Helper()
	d.gen++
	if err := d.link.Apply(d.context(), agentlink.Set{Gen: d.gen, Root: d.root, OnFull: collector.OnFullWait,
		Points: points}); err != nil {
		d.t.Fatal(err)
	}
}

// next is the next pause.
func (d *debugged) next() standing {
	d.t.Helper()
	select {
	case s := <-d.paused:
		return s
	case <-d.ended:
		d.t.Fatalf("it ended, and did not pause: %s%s%s", d.out.String(), d.errs.String(), d.cmd.ProcessState)
	case <-time.After(time.Minute):
		d.t.Fatal("it does not pause")
	}
	return standing{}
}

// ask asks about a thread that stands.
func (d *debugged) ask(s standing, m string, body map[string]any, answer any) {
	d.t.Helper()
	if err := s.agent.Ask(d.context(), m, body, answer); err != nil {
		d.t.Fatalf("%s %v: %v", m, body, err)
	}
}

func (d *debugged) step(s standing, how string) standing {
	d.t.Helper()
	d.ask(s, "step", map[string]any{"tid": s.TID, "how": how, "id": "step-" + how}, nil)
	next := d.next()
	if next.Reason != "step" || next.Point != "step-"+how {
		d.t.Errorf("the step %s ended with %s at %s", how, next.Reason, next.Point)
	}
	return next
}

func (d *debugged) resume(s standing) {
	d.t.Helper()
	d.ask(s, "go", map[string]any{"tids": []int{s.TID}}, nil)
}

// end waits for the program's end, and compares all that it has written with what it writes untraced.
func (d *debugged) end(in strobetest.Interpreter, program string) {
	d.t.Helper()
	select {
	case <-d.ended:
	case s := <-d.paused:
		d.t.Fatalf("it paused: %s at %s", s.Reason, s.at())
	case <-time.After(time.Minute):
		d.t.Fatalf("it does not end: %s", d.out.String())
	}
	stdout, stderr := output(d.t, in.Command(filepath.Join(d.root, program)))
	blank := regexp.MustCompile(`\n\n+`) // Node before 22 puts one more before an excerpt
	if got := d.out.String() + d.cmd.ProcessState.String(); got != stdout ||
		blank.ReplaceAllString(d.errs.String(), "\n") != blank.ReplaceAllString(stderr, "\n") {
		d.t.Errorf("it wrote\n%s\n%s\ninstead of\n%s\n%s", got, d.errs.String(), stdout, stderr)
	}
}

type variable struct {
	Name, Type, Value string
	Ref, Count        int
	List              bool
	Eval              string
	Fixed             bool
}

// frames are the refs of a pause's frames, innermost first.
func (d *debugged) frames(s standing) []int {
	d.t.Helper()
	var answer struct{ Frames []struct{ Ref int } }
	d.ask(s, "frames", map[string]any{"tid": s.TID}, &answer)
	var refs []int
	for _, f := range answer.Frames {
		refs = append(refs, f.Ref)
	}
	return refs
}

// scope lists the variables of a frame's scope, in short, and gives its ref.
func (d *debugged) scope(s standing, frame int, kind string) (string, int) {
	d.t.Helper()
	var answer struct {
		Scopes []struct {
			Kind string
			Ref  int
		}
	}
	d.ask(s, "scopes", map[string]any{"ref": frame}, &answer)
	for _, sc := range answer.Scopes {
		if sc.Kind == kind {
			return d.variables(s, sc.Ref), sc.Ref
		}
	}
	d.t.Fatalf("the frame has no %s: %v", kind, answer.Scopes)
	return "", 0
}

func (d *debugged) variables(s standing, ref int) string {
	d.t.Helper()
	var answer struct{ Variables []variable }
	d.ask(s, "variables", map[string]any{"ref": ref}, &answer)
	var out []string
	for _, v := range answer.Variables {
		if v.Type == "undefined" { // before its declaration has run it is not there, or in older versions undefined
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s = %s", v.Name, v.Type, v.Value))
	}
	return strings.Join(out, "; ")
}

func (d *debugged) evaluate(s standing, frame int, text string) variable {
	d.t.Helper()
	var answer struct{ Variable variable }
	d.ask(s, "evaluate", map[string]any{"ref": frame, "text": text}, &answer)
	return answer.Variable
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// next2 lets a thread go on and waits for the next pause.
func (d *debugged) next2(s standing) standing {
	d.t.Helper()
	d.resume(s)
	return d.next()
}
