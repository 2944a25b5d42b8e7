package dap_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

type args = map[string]any

// limit is how long a test waits for one message: the machine may be busy.
const limit = 90 * time.Second

// testEditor is an editor: the real binary's adapter at the other end of two pipes.
type testEditor struct {
	t    *testing.T
	in   io.WriteCloser
	from chan proto.Message
	seq  int
	seen []proto.Message // events that nobody has waited for yet
	said map[string]string
}

// open starts `strobe dap` beside a daemon's home.
func open(t *testing.T, home string) *testEditor {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), "dap")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := speak(t, in, out)
	t.Cleanup(func() {
		in.Close()
		for range e.from { // what it says yet
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("strobe dap ended with %v", err)
		}
	})
	return e
}

// speak is an editor at one end of a connection.
func speak(t *testing.T, in io.WriteCloser, out io.Reader) *testEditor {
	e := &testEditor{t: t, in: in, from: make(chan proto.Message, 4096), said: map[string]string{}}
	go func() {
		defer close(e.from)
		for r := bufio.NewReader(out); ; {
			m, err := readMessage(r)
			if err != nil && m == nil {
				if err != io.EOF && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
					t.Errorf("a message of the adapter: %v", err)
				}
				io.Copy(io.Discard, r) //nolint:errcheck // so that it can end
				return
			}
			e.from <- m
		}
	}()
	return e
}

// ownResponse answers a request of Strobe's own.
type ownResponse struct {
	proto.Response
	Body json.RawMessage `json:"body"`
}

// readMessage knows answers to requests of Strobe's own, too.
func readMessage(r *bufio.Reader) (proto.Message, error) {
	content, err := proto.ReadBaseMessage(r)
	if err != nil {
		return nil, err
	}
	m, err := proto.DecodeProtocolMessage(content)
	if own := new(ownResponse); err != nil && json.Unmarshal(content, own) == nil &&
		strings.HasPrefix(own.Command, "strobe/") && own.Success {
		return own, nil
	}
	return m, err
}

// send sends a request and returns its number.
func (e *testEditor) send(command string, a any) int {
	e.t.Helper()
	e.seq++
	b, err := json.Marshal(args{"seq": e.seq, "type": "request", "command": command, "arguments": a})
	if err == nil {
		err = proto.WriteBaseMessage(e.in, b)
	}
	if err != nil {
		e.t.Fatalf("send %s: %v", command, err)
	}
	return e.seq
}

// next reads a message and keeps an event.
func (e *testEditor) next(what string) proto.Message {
	e.t.Helper()
	select {
	case m, ok := <-e.from:
		if !ok {
			e.t.Fatalf("the adapter ended before %s came", what)
		}
		if o, is := m.(*proto.OutputEvent); is {
			e.said[o.Body.Category] += o.Body.Output
		}
		if _, is := m.(proto.EventMessage); is {
			e.seen = append(e.seen, m)
		}
		return m
	case <-time.After(limit):
		e.t.Fatalf("%s did not come within %v; said %q", what, limit, e.said)
	}
	return nil
}

// answer waits for the answer to a request.
func (e *testEditor) answer(seq int) proto.ResponseMessage {
	e.t.Helper()
	for {
		if r, ok := e.next("an answer").(proto.ResponseMessage); ok && r.GetResponse().RequestSeq == seq {
			return r
		}
	}
}

// ask sends a request, whose answer must be a good one, of type R.
func ask[R proto.ResponseMessage](e *testEditor, command string, a any) R {
	e.t.Helper()
	got := e.answer(e.send(command, a))
	if r, ok := got.(R); ok {
		return r
	}
	b, _ := json.Marshal(got) //nolint:errcheck // for people
	e.t.Fatalf("%s %v: %s", command, a, b)
	panic("not reached")
}

// refused sends a request, whose answer must be an error, and returns that.
func (e *testEditor) refused(command string, a any) string {
	e.t.Helper()
	got := e.answer(e.send(command, a))
	f, ok := got.(*proto.ErrorResponse)
	if !ok || f.Success || f.Message == "" || f.Body.Error == nil {
		b, _ := json.Marshal(got) //nolint:errcheck // for people
		e.t.Fatalf("%s %v is not refused: %s", command, a, b)
	}
	return f.Message
}

// event waits for an event for which f holds, and forgets those before it.
func event[E proto.EventMessage](e *testEditor, what string, f func(E) bool) E {
	e.t.Helper()
	for {
		for i, m := range e.seen {
			if ev, ok := m.(E); ok && (f == nil || f(ev)) {
				e.seen = slices.Delete(e.seen, 0, i+1)
				return ev
			}
		}
		e.seen = nil
		e.next(what)
	}
}

func (e *testEditor) initialize() proto.Capabilities {
	e.t.Helper()
	return ask[*proto.InitializeResponse](e, "initialize", args{"clientID": "test", "clientName": "Test editor",
		"adapterID": "strobe", "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true,
		"supportsVariablePaging": true, "supportsInvalidatedEvent": true}).Body
}

// launch begins a program; set sets what is to be set before it runs.
func (e *testEditor) launch(a args, set func()) {
	e.t.Helper()
	e.initialize()
	ask[*proto.LaunchResponse](e, "launch", a)
	event[*proto.InitializedEvent](e, "initialized", nil)
	if set != nil {
		set()
	}
	ask[*proto.ConfigurationDoneResponse](e, "configurationDone", nil)
}

// breaks sets the breakpoints of a file.
func (e *testEditor) breaks(file string, points ...args) []proto.Breakpoint {
	e.t.Helper()
	return ask[*proto.SetBreakpointsResponse](e, "setBreakpoints",
		args{"source": args{"path": file}, "breakpoints": points}).Body.Breakpoints
}

// stops waits for a pause of a reason.
func (e *testEditor) stops(reason string) proto.StoppedEventBody {
	e.t.Helper()
	b := event[*proto.StoppedEvent](e, "stopped: "+reason, nil).Body
	if b.Reason != reason {
		e.t.Fatalf("stopped for %q, want %q: %+v", b.Reason, reason, b)
	}
	return b
}

// thread waits for a thread that begins or ends.
func (e *testEditor) thread(reason string) int {
	e.t.Helper()
	return event(e, "thread "+reason, func(ev *proto.ThreadEvent) bool { return ev.Body.Reason == reason }).Body.ThreadId
}

func (e *testEditor) stack(thread int) []proto.StackFrame {
	e.t.Helper()
	return ask[*proto.StackTraceResponse](e, "stackTrace", args{"threadId": thread}).Body.StackFrames
}

func (e *testEditor) variables(ref int) map[string]proto.Variable {
	e.t.Helper()
	all := map[string]proto.Variable{}
	for _, v := range ask[*proto.VariablesResponse](e, "variables", args{"variablesReference": ref}).Body.Variables {
		all[v.Name] = v
	}
	return all
}

// scope returns the variables of a frame's scope, and its reference.
func (e *testEditor) scope(frame int, name string) (map[string]proto.Variable, int) {
	e.t.Helper()
	for _, s := range ask[*proto.ScopesResponse](e, "scopes", args{"frameId": frame}).Body.Scopes {
		if s.Name == name {
			return e.variables(s.VariablesReference), s.VariablesReference
		}
	}
	e.t.Fatalf("frame %d has no scope %s", frame, name)
	return nil, 0
}

func (e *testEditor) evaluate(frame int, expression, context string) string {
	e.t.Helper()
	return ask[*proto.EvaluateResponse](e, "evaluate",
		args{"frameId": frame, "expression": expression, "context": context}).Body.Result
}

// ends waits for the program's end, and checks that nothing follows it but the disconnect.
func (e *testEditor) ends(code int) {
	e.t.Helper()
	if got := event[*proto.ExitedEvent](e, "exited", nil).Body.ExitCode; got != code {
		e.t.Errorf("exit code %d, want %d", got, code)
	}
	event[*proto.TerminatedEvent](e, "terminated", nil)
	ask[*proto.DisconnectResponse](e, "disconnect", args{})
}

// lineOf is the number of the first line of a source with some text.
func lineOf(t *testing.T, source, text string) int {
	t.Helper()
	for i, l := range strings.Split(source, "\n") {
		if strings.Contains(l, text) {
			return i + 1
		}
	}
	t.Fatalf("no line has %q", text)
	return 0
}
