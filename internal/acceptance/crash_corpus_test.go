//go:build linux

package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// A crashing program's source says itself what is to be seen, in comments at the lines that crash:
//
//	//@ way,way: class name=value
//
// way is the program's first argument, class the crash's, name=value an argument or variable there, as JSON; a tilde
// before the name: only where the compiler did not optimize.
var markForm = regexp.MustCompile(`//@ ([\w,-]+): ([\w-]+)(?: (~?)([\w.]+)=(.+))?$`)

// mark is one way to crash, as the source has it.
type mark struct {
	way, class  string
	file        string // base name
	line        int
	name, value string // "": no variable
}

// crashSource reads a source file below testdata/crash, with what it includes from there, and its marks.
func crashSource(t testing.TB, name string) (string, map[string]mark) {
	t.Helper()
	dir := filepath.Join(strobetest.Root(t), "internal", "acceptance", "testdata", "crash")
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	ways, err := os.ReadFile(filepath.Join(dir, "ways.h"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "#include \"ways.h\"\n", string(ways))
	return text, marksOf(name, text)
}

func marksOf(file, text string) map[string]mark {
	marks := map[string]mark{}
	for i, line := range strings.Split(text, "\n") {
		if m := markForm.FindStringSubmatch(line); m != nil {
			for _, way := range strings.Split(m[1], ",") {
				marks[way] = mark{way: way, class: m[2], file: file, line: i + 1, name: m[3] + m[4], value: m[5]}
			}
		}
	}
	return marks
}

// crashRun is a program, and how it is run.
type crashRun struct {
	path  string
	args  []string
	env   map[string]string
	more  args // of debug_launch
	plain ended
}

// ended is what a program leaves.
type ended struct {
	exit           int
	signal         string
	stdout, stderr string
}

// alone runs the program without Strobe.
func (r *crashRun) alone(t testing.TB) ended {
	t.Helper()
	cmd := exec.Command(r.path, r.args...)
	cmd.Dir = t.TempDir()
	cmd.Env = os.Environ()
	for k, v := range r.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var exit *exec.ExitError
	if e := cmd.Run(); e != nil && !errors.As(e, &exit) {
		t.Fatalf("run %s: %v", r.path, e)
	}
	e := ended{exit: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: err.String()}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		e.signal = signalName(ws.Signal())
	}
	return e
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGSEGV: "SIGSEGV", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGILL:  "SIGILL",
		syscall.SIGABRT: "SIGABRT", syscall.SIGTRAP: "SIGTRAP", syscall.SIGSYS: "SIGSYS", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ",
		syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL"}
	return names[s]
}

// crashEvent is a crash as debug_query tells it.
type crashEvent struct {
	ID                          int64
	PID, ThreadID               int
	Signal, Class, Reason, Code string
	FaultAddress, Access        string
	Fatal                       bool
	Function                    string
	File                        string `json:"sourceFile"`
	Line                        int
	Locals                      map[string]json.RawMessage
	Recursion, EndedBy          string
	CausedBy                    []string
	Handler                     []string
	ExceptionType               string
	ExceptionMessage            string
	ThrownAt                    struct {
		Function string
		File     string `json:"sourceFile"`
		Line     int
	}
	Backtrace []crashFrame
	StackEnd  string
	Threads   []struct {
		ThreadID, Alike int
		Backtrace       []string
	}
	Report struct {
		Tool, Kind, Message string
		File                string `json:"sourceFile"`
		Line                int
		Stacks              []struct {
			Title     string
			Backtrace []crashFrame
		}
	}
	LastEvents struct{ Thread, Session []string }
	raw        string
}

type crashFrame struct {
	Function, Module  string
	File              string `json:"sourceFile"`
	Line              int
	Inlined           bool
	Signal            bool `json:"signalHandlerCall"`
	FoundBy           string
	Arguments, Locals map[string]json.RawMessage
}

// observed is what Strobe says of a run.
type observed struct {
	ended
	id      string
	pid     int
	status  string
	crashes []crashEvent
}

// under runs the program under Strobe, with all its own functions hooked or none.
func (r *crashRun) under(t testing.TB, s *strobetest.Strobe, hooked bool) (o observed) {
	t.Helper()
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	more := args{"env": r.env}
	for k, v := range r.more {
		more[k] = v
	}
	if hooked {
		more["trace"] = []string{"@usercode"}
	}
	l := s.Launch(t, r.path, cache, r.args, more)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	o.id, o.pid, o.exit, o.signal, o.status = l.SessionID, l.PID, -1, st.Signal, st.Status
	if st.ExitCode != nil {
		o.exit = *st.ExitCode
	}
	o.stdout, o.stderr = s.Output(t, l.SessionID, "stdout"), s.Output(t, l.SessionID, "stderr")
	o.crashes = crashesOf(t, s, l.SessionID)
	short := len(o.crashes) > 0
	var answer struct{ CrashInfo, Crash json.RawMessage }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID}, &answer)
	s.Call(t, "debug_query", args{"eventType": "stdout", "sessionId": l.SessionID}, &answer)
	if (answer.CrashInfo != nil) != short || (answer.Crash != nil) != short {
		t.Errorf("%v: %d crashes, but crashInfo is %s and crash %s", r.args, len(o.crashes), answer.CrashInfo, answer.Crash)
	}
	s.Stop(t, l.SessionID)
	return o
}

func crashesOf(t testing.TB, s *strobetest.Strobe, id string) []crashEvent {
	t.Helper()
	var page struct{ Events []json.RawMessage }
	s.Call(t, "debug_query", args{"eventType": "crash", "verbose": true, "sessionId": id}, &page)
	out := make([]crashEvent, len(page.Events))
	for i, raw := range page.Events {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			t.Fatalf("crash event %s: %v", raw, err)
		}
		if out[i].raw = string(raw); strings.Contains(out[i].raw, `\u003c`) {
			t.Errorf("characters are escaped that need not be: %.900s", raw)
		}
	}
	return out
}

// numbers are what differs between two runs of one program: addresses, distances from where its stack begins, process
// ids and times.
var numbers = regexp.MustCompile(`0x[0-9a-f]+|==\d+==|\bpid[= ]\d+|\b\d+ KB\b|\(\d+\)|thread T?\d+`)

// sameEnd compares how a program ended under Strobe with how it ends alone.
func sameEnd(t testing.TB, what string, got, want ended) {
	t.Helper()
	for _, e := range []*ended{&got, &want} {
		e.stdout, e.stderr = numbers.ReplaceAllString(e.stdout, "#"), numbers.ReplaceAllString(e.stderr, "#")
	}
	if got != want {
		t.Errorf("%s: ended as %+v\nalone it ends as  %+v", what, got, want)
	}
}

// is compares a crash with its mark. optimized: locals that begin with a tilde need not be there.
func (c *crashEvent) is(t testing.TB, what string, m mark, optimized bool) {
	t.Helper()
	if c.Class != m.class {
		t.Errorf("%s: class %s, want %s: %.900s", what, c.Class, m.class, c.raw)
	}
	if filepath.Base(c.File) != m.file || c.Line != m.line {
		t.Errorf("%s: at %s:%d in %s, want %s:%d: %.900s", what, c.File, c.Line, c.Function, m.file, m.line, c.raw)
	}
	name, only := strings.CutPrefix(m.name, "~")
	if name == "" || only && optimized {
		return
	}
	if got := string(c.Locals[name]); got != m.value {
		t.Errorf("%s: %s is %s, want %s: %.900s", what, name, got, m.value, c.raw)
	}
}

// lines are the frames of a stack as text.
func lines(frames []crashFrame) (out []string) {
	for _, f := range frames {
		switch {
		case f.Signal:
			out = append(out, "<signal handler called>")
		case f.Line > 0:
			out = append(out, fmt.Sprintf("%s %s:%d", plainName(f.Function), filepath.Base(f.File), f.Line))
		default:
			out = append(out, plainName(f.Function))
		}
	}
	return out
}

var (
	rustHash = regexp.MustCompile(`::h[0-9a-f]{16}$`)
	clone    = regexp.MustCompile(`\.(part|constprop|isra|cold|llvm)\b.*$|@.*$| \[clone.*$`)
)

// plainName is a function's name without parameters, template arguments and the compiler's additions.
func plainName(name string) string {
	name = clone.ReplaceAllString(rustHash.ReplaceAllString(name, ""), "")
	var b strings.Builder
	depth := 0
	for i, r := range strings.ReplaceAll(name, "(anonymous namespace)", "{anonymous}") {
		switch {
		case r == '<' && i > 0 || r == '(' || r == '<' && depth > 0:
			depth++
		case r == '>' && depth > 0 || r == ')':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(strings.TrimSuffix(b.String(), " const"))
}

// parallelWays runs one function for each way, a few at a time.
func parallelWays(t *testing.T, ways []string, f func(t *testing.T, way string)) {
	t.Helper()
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f(t, way)
		})
	}
}

// waysOf lists a program's ways from its table.
func waysOf(source string) (out []string) {
	for _, m := range regexp.MustCompile(`\{"([\w-]+)", `).FindAllStringSubmatch(source, -1) {
		out = append(out, m[1])
	}
	return slices.Compact(out)
}

const crashTurn = 20 * time.Second // of gdb, for one program
