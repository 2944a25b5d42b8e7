package strobetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// endWithin bounds the programs of the suite.
const endWithin = time.Minute

// Subject is a runtime as the suite of behaviours knows it.
type Subject struct {
	Name        string
	Lang        string            // c, go, python, js, java, or one that has its own Programs
	Programs    string            // folder of its programs; "": that of its language below testdata/runtime
	Interpreter Interpreter       // that runs them; none for programs that are compiled
	Lacks       map[string]string // behaviours that its language has nothing for, and why
	Cannot      map[string]string // behaviours that it has not got, and what strobe must say of that
}

// Behaviour is what a runtime offers, or not.
type Behaviour struct {
	Group, Name string
	Offers      bool
	Why         string // of one that it does not offer
}

// Runtime holds a runtime against all behaviours, through the real binary. Those that it cannot have must be said by
// strobe: what is not offered and not said fails. The result has each behaviour that holds or is said; it is nil where
// not all were looked at.
func Runtime(t *testing.T, s *Strobe, sub Subject) []Behaviour {
	t.Helper()
	NeedPtrace(t)
	NeedCommand(t, "gcc")
	r := &suite{s: s, sub: sub, cannot: maps.Clone(sub.Cannot), used: map[string]bool{}}
	if r.cannot == nil {
		r.cannot = map[string]string{}
	}
	if sub.Lang == "go" {
		NeedCommand(t, "go")
		r.bins = t.TempDir()
	}
	if sub.Lang == "java" {
		r.classes = CompileJava(t, sub.Interpreter, r.programs(t))
	}
	whole := true
	for _, group := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"calls", callBehaviours}, {"lazy", lazyBehaviours}, {"threads", threadBehaviours}, {"values", valueBehaviours},
		{"patterns", patternBehaviours}, {"live", liveBehaviours}, {"pauses", pauseBehaviours}, {"bursts", burstBehaviours},
		{"family", familyBehaviours},
		{"ends", endBehaviours}, {"attach", attachBehaviours},
		{"untouched", untouchedBehaviours}, {"faults", faultBehaviours}, {"sessions", sessionBehaviours},
	} {
		r.group = group.name
		ran := false
		t.Run(group.name, func(t *testing.T) {
			group.run(t, r)
			ran = !t.Failed()
		})
		whole = whole && ran
	}
	if !whole {
		return nil
	}
	for name := range maps.Keys(sub.Lacks) {
		if !r.used[name] {
			t.Errorf("no behaviour is called %q", name)
		}
	}
	return r.found
}

// suite is one subject's run.
type suite struct {
	s     *Strobe
	sub   Subject
	group string
	found []Behaviour
	used  map[string]bool

	classes string // folder of the programs in Java, compiled
	bins    string // folder of the programs in Go, compiled

	cannot map[string]string // what it says that it cannot, as in Subject.Cannot
}

// behaviour checks one, or that strobe says why there is none.
func (r *suite) behaviour(t *testing.T, p *program, name string, check func(t *testing.T)) {
	t.Helper()
	if r.used[name] {
		t.Fatalf("two behaviours are called %q", name)
	}
	r.used[name] = true
	if why, is := r.sub.Lacks[name]; is {
		r.found = append(r.found, Behaviour{r.group, name, false, why})
		return
	}
	says, cannot := r.cannot[name]
	ok := t.Run(name, func(t *testing.T) {
		if !cannot {
			check(t)
			return
		}
		if said := p.said(t); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, says) }) {
			t.Errorf("it cannot, and nothing says %q: %q", says, said)
		}
	})
	if ok {
		r.found = append(r.found, Behaviour{r.group, name, !cannot, says})
	}
}

// lacksAll notes behaviours for which no program is run.
func (r *suite) lacksAll(t *testing.T, names ...string) bool {
	t.Helper()
	for _, name := range names {
		if _, is := r.sub.Lacks[name]; !is {
			return false
		}
	}
	for _, name := range names {
		r.behaviour(t, nil, name, nil)
	}
	return true
}

// programs is the folder of the subject's programs.
func (r *suite) programs(t testing.TB) string {
	return cmp.Or(r.sub.Programs, filepath.Join(Root(t), "internal/strobetest/testdata/runtime", r.sub.Lang))
}

// command is how a program is started.
func (r *suite) command(t testing.TB, name string) (string, []string) {
	t.Helper()
	if r.classes != "" {
		return r.sub.Interpreter.Path, []string{"-cp", r.classes, name}
	}
	if in := r.sub.Interpreter; in.Path != "" {
		return in.Path, append(slices.Clone(in.Args), filepath.Join(r.programs(t), name+r.extension()))
	}
	if r.sub.Lang == "go" {
		return r.builtGo(t, name), nil
	}
	return compiledProgram(t, name), nil
}

// builtGo is one of the programs in Go.
func (r *suite) builtGo(t testing.TB, name string) string {
	t.Helper()
	out := filepath.Join(r.bins, name)
	if _, err := os.Stat(out); err == nil {
		return out
	}
	cmd := exec.Command("go", "build", "-o", out, filepath.Join(r.programs(t), name+".go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, b)
	}
	return out
}

// compiledProgram is one of the programs in C.
func compiledProgram(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(Root(t), "internal/strobetest/testdata/runtime/c", name+".c")
	path, err := compile(job{name: name, lang: "c", variant: variantFor(t, "gcc-O0", "c"), files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// extension is the ending of the programs' sources.
func (r *suite) extension() string {
	return "." + cmp.Or(map[string]string{"python": "py"}[r.sub.Lang], r.sub.Lang)
}

// inProcess reports whether the runtime has an agent in an interpreter, with a folder of its own.
func (r *suite) inProcess() bool { return r.sub.Lang != "c" && r.sub.Lang != "go" }

// spell is a function's name as the runtime has it.
func (r *suite) spell(program, name string) string {
	switch r.sub.Lang {
	case "c":
		return strings.ReplaceAll(name, ".", "_")
	case "go":
		return "main." + strings.ReplaceAll(name, "func", "function")
	case "python":
		name = strings.ReplaceAll(name, "constructor", "__init__")
	case "java":
		name = strings.ReplaceAll(name, "constructor", "new")
	}
	return program + "." + name
}

// program is a session of one of the programs.
type program struct {
	r        *suite
	name     string
	id, dir  string
	launched answer
}

// answer is what debug_launch, debug_trace and the status say.
type answer struct {
	SessionID        string   `json:"sessionId"`
	PID              int      `json:"pid"`
	Status           string   `json:"status"`
	ExitCode         *int     `json:"exitCode"`
	Signal           string   `json:"signal"`
	Runtime          string   `json:"runtime"`
	HookedFunctions  int      `json:"hookedFunctions"`
	MatchedFunctions int      `json:"matchedFunctions"`
	Warnings         []string `json:"warnings"`
	Hint             string   `json:"hint"`
	DroppedEvents    int64    `json:"droppedEvents"`
	Released         bool     `json:"released"`
	CrashInfo        json.RawMessage
	Capabilities     struct {
		FunctionTracing string   `json:"functionTracing"`
		RuntimeDetail   string   `json:"runtimeDetail"`
		Breakpoints     string   `json:"breakpoints"`
		Stepping        string   `json:"stepping"`
		Limitations     []string `json:"limitations"`
	} `json:"capabilities"`
	Calls struct{ Made, Recorded, Sampled, Dropped int64 } `json:"calls"`
}

// launch starts a program; its session ends with the test.
func (r *suite) launch(t *testing.T, name string, arguments []string, extra map[string]any) *program {
	t.Helper()
	p := &program{r: r, name: name, dir: t.TempDir()}
	command, args := r.command(t, name)
	in := map[string]any{"command": command, "args": append(args, arguments...), "projectRoot": r.programs(t),
		"cwd": p.dir}
	maps.Copy(in, extra)
	r.s.Call(t, "debug_launch", in, &p.launched)
	p.id = p.launched.SessionID
	t.Cleanup(func() {
		var gone *ToolError
		if err := r.s.Try("debug_session", map[string]any{"action": "stop", "sessionId": p.id, "graceMs": 0},
			nil); err != nil && !isCode(err, &gone, "SESSION_NOT_FOUND") {
			t.Errorf("stop %s: %v", p.id, err)
		}
	})
	return p
}

// runs is launch and the program's end.
func (r *suite) runs(t *testing.T, name string, arguments ...string) *program {
	t.Helper()
	p := r.launch(t, name, arguments, map[string]any{"trace": []string{"@usercode"}})
	p.ended(t)
	return p
}

func isCode(err error, e **ToolError, code string) bool {
	f, ok := err.(*ToolError)
	*e = f
	return ok && f.Code == code
}

// ended waits for the program's end.
func (p *program) ended(t testing.TB) Status {
	t.Helper()
	return p.r.s.WaitEnd(t, p.id, endWithin)
}

// endsWith waits for the program's end and checks its exit code.
func (p *program) endsWith(t testing.TB, code int) {
	t.Helper()
	if st := p.ended(t); st.ExitCode == nil || *st.ExitCode != code {
		t.Errorf("%s ended %+v, want code %d", p.name, st, code)
	}
}

func (p *program) status(t testing.TB) (st answer) {
	t.Helper()
	p.r.s.Call(t, "debug_session", map[string]any{"action": "status", "sessionId": p.id}, &st)
	return st
}

// agentComes waits for the agent of an interpreter: what is set before it has come takes effect when it has.
func (p *program) agentComes(t testing.TB) {
	t.Helper()
	Eventually(t, endWithin, "its agent", func() bool {
		return strings.Contains(p.status(t).Capabilities.RuntimeDetail, p.r.sub.Interpreter.Version)
	})
}

// trace changes what is traced.
func (p *program) trace(t testing.TB, add, remove []string) (a answer) {
	t.Helper()
	p.r.s.Call(t, "debug_trace", map[string]any{"sessionId": p.id, "add": add, "remove": remove}, &a)
	return a
}

// input writes to the program and waits for what it answers.
func (p *program) input(t testing.TB, line, answers string) {
	t.Helper()
	p.r.s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": p.id, "text": line + "\n"}, nil)
	Eventually(t, endWithin, p.name+" answers "+answers,
		func() bool { return strings.Contains(p.r.s.Output(t, p.id, "stdout"), answers) })
}

// closesInput ends the program's input.
func (p *program) closesInput(t testing.TB) {
	t.Helper()
	p.r.s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": p.id, "eof": true}, nil)
}

// count is how many calls of a function were recorded.
func (p *program) count(t testing.TB, name string) int64 {
	t.Helper()
	return p.r.s.Count(t, p.id, "function_enter", p.r.spell(p.name, name))
}

// said is all that strobe says of what it does not do for the program.
func (p *program) said(t testing.TB) []string {
	t.Helper()
	st := p.status(t)
	return slices.Concat(p.launched.Warnings, p.launched.Capabilities.Limitations, st.Warnings,
		st.Capabilities.Limitations)
}

// agentFolder is the folder of the agent in a process, by what it has mapped or open there; "" where there is none.
func agentFolder(pid int) string {
	const sign = "/dev/shm/strobe-agent-"
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return ""
	}
	names := string(maps)
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			names += to + "\n"
		}
	}
	_, rest, ok := strings.Cut(names, sign)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return sign + id
}
