package strobetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callLimit bounds one tool call of a test.
const callLimit = 2 * time.Minute

// Strobe is a client of a daemon of its own, through the real binary: `strobe mcp` in a private
// STROBE_HOME. Safe for concurrent use.
type Strobe struct {
	Bin, Home string
	session   *sdk.ClientSession
	options   *sdk.ClientOptions

	// WorkersDie says that the test kills processes of sessions; else one that dies fails the test.
	WorkersDie bool
	// Model says that calls are those of a model: answers have their default size.
	Model bool
}

var (
	binaryOnce sync.Once
	binaryPath string
	binaryErr  error
)

// Binary returns the strobe binary: $STROBE_BIN, or one built now from the tree.
func Binary(t testing.TB) string {
	t.Helper()
	NeedTime(t)
	if path := os.Getenv("STROBE_BIN"); path != "" {
		return path
	}
	binaryOnce.Do(func() {
		var cache, tmp string
		if cache, binaryErr = CacheDir(); binaryErr != nil {
			return
		}
		if tmp, binaryErr = os.MkdirTemp(cache, "bin-"); binaryErr != nil {
			return
		}
		defer os.RemoveAll(tmp)
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(tmp, "strobe"), "./cmd/strobe")
		cmd.Dir = Root(t)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			binaryErr = fmt.Errorf("build strobe: %w\n%s", err, out)
			return
		}
		// A rename, so that a test binary that runs the old file goes on running it.
		binaryPath = filepath.Join(cache, "strobe")
		binaryErr = os.Rename(filepath.Join(tmp, "strobe"), binaryPath)
	})
	if binaryErr != nil {
		t.Fatal(binaryErr)
	}
	return binaryPath
}

// BinaryWith is a binary with a build tag, which does not ship. It is made as bin/strobe is, so that nearly all of it
// is compiled already.
func BinaryWith(t testing.TB, tag string) string {
	t.Helper()
	NeedCommand(t, "make")
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "strobe-"+tag)
	cmd := exec.Command("make", "-s", "build", "BIN="+path+".new", "TAGS="+tag)
	cmd.Dir = Root(t)
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatalf("build strobe with %s: %v\n%s", tag, err, out)
	}
	return path
}

// Start starts a daemon with these settings (nil for none) and connects to it. Both end with the test.
func Start(t testing.TB, settings map[string]any) *Strobe {
	t.Helper()
	return StartBinary(t, Binary(t), settings)
}

// StartBinary is Start of a binary that is not the tree's own.
func StartBinary(t testing.TB, bin string, settings map[string]any) *Strobe {
	t.Helper()
	s := &Strobe{Bin: bin, Home: Home(t)}
	if settings != nil {
		data, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Home, "settings.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.StopDaemon(t) })
	s.connect(t, nil)
	return s
}

// Connect connects one more client to the daemon of home, and starts that first if there is none.
// env is added to the environment of both. The connection ends with the test, the daemon does not.
func Connect(t testing.TB, home string, env ...string) *Strobe {
	t.Helper()
	s := &Strobe{Bin: Binary(t), Home: home}
	s.connect(t, env)
	return s
}

func (s *Strobe) connect(t testing.TB, env []string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(s.Bin, "mcp")
	cmd.Env = append(append(os.Environ(), env...), "STROBE_HOME="+s.Home)
	cmd.Stderr = &stderr
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "strobetest", Version: "1"}, s.options)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("connect to strobe mcp: %v\n%s", err, stderr.String())
	}
	s.session = session
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close strobe mcp: %v\n%s", err, stderr.String())
		}
	})
}

// Session is the connection.
func (s *Strobe) Session() *sdk.ClientSession { return s.session }

// Close ends the connection before the test's end.
func (s *Strobe) Close(t testing.TB) {
	t.Helper()
	if err := s.session.Close(); err != nil {
		t.Errorf("close strobe mcp: %v", err)
	}
}

// WorkerDied is what the daemon's log says of a session's process that died.
const WorkerDied = "a session's process died"

// StopDaemon ends the daemon cleanly, if there is one. A failed test shows its log.
func (s *Strobe) StopDaemon(t testing.TB) {
	t.Helper()
	stop := exec.Command(s.Bin, "daemon", "stop")
	stop.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	if out, err := stop.CombinedOutput(); err != nil {
		t.Errorf("stop the daemon: %v: %s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(s.Home, "daemon.log"))
	if err == nil && !s.WorkersDie && bytes.Contains(log, []byte(WorkerDied)) {
		t.Error("a session's process died")
	}
	if t.Failed() && err == nil {
		t.Logf("daemon.log:\n%s", excerpt(log))
	}
}

// excerpt returns a log's end, or of a crashed daemon's the beginning of the crash.
func excerpt(log []byte) []byte {
	const most = 8 << 10
	for _, sign := range []string{"\npanic: ", "\nfatal error: ", "\nSIG", `msg="operation panicked"`} {
		if at := bytes.Index(log, []byte(sign)); at >= 0 {
			return log[at:min(len(log), at+most)]
		}
	}
	return log[max(0, len(log)-most):]
}

// ToolError is a tool's own error.
type ToolError struct{ Code, Message, Hint string }

func (e *ToolError) Error() string { return e.Code + ": " + e.Message + ". " + e.Hint }

// Try calls a tool and decodes its answer into out (which may be nil). A tool error is a *ToolError.
func (s *Strobe) Try(tool string, args map[string]any, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	// Each answer once: the text, and not the same as structured content. cmd/strobe's tests look at both.
	p := &sdk.CallToolParams{Name: tool, Arguments: args,
		Meta: sdk.Meta{"strobe/textOnly": true, "strobe/whole": !s.Model}}
	r, err := s.session.CallTool(ctx, p)
	if err != nil {
		return fmt.Errorf("call %s: %w", tool, err)
	}
	text := ""
	for _, part := range r.Content {
		if c, ok := part.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	if r.IsError {
		f := &ToolError{Message: text}
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			_ = json.Unmarshal(data, f) // the text stands where it is not ours
		}
		return f
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal([]byte(text), out)
}

// Call is Try that fails the test on any error.
func (s *Strobe) Call(t testing.TB, tool string, args map[string]any, out any) {
	t.Helper()
	if err := s.Try(tool, args, out); err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
}

// Launched is what tests use of debug_launch's answer.
type Launched struct {
	SessionID       string   `json:"sessionId"`
	PID             int      `json:"pid"`
	HookedFunctions int      `json:"hookedFunctions"`
	Warnings        []string `json:"warnings"`
}

// Launch launches a program; more fields of debug_launch come from extra.
func (s *Strobe) Launch(t testing.TB, path, projectRoot string, args []string, extra map[string]any) Launched {
	t.Helper()
	in := map[string]any{"command": path, "projectRoot": projectRoot, "args": append([]string{}, args...)}
	for k, v := range extra {
		in[k] = v
	}
	var out Launched
	s.Call(t, "debug_launch", in, &out)
	return out
}

// Status is what tests use of debug_session's status.
type Status struct {
	Status          string                                           `json:"status"`
	ExitCode        *int                                             `json:"exitCode"`
	Signal          string                                           `json:"signal"`
	PIDs            []int                                            `json:"pids"`
	EventCount      map[string]int64                                 `json:"eventCount"`
	DroppedEvents   int64                                            `json:"droppedEvents"`
	Redacted        int64                                            `json:"redacted"`
	Calls           struct{ Made, Recorded, Sampled, Dropped int64 } `json:"calls"`
	HookedFunctions int                                              `json:"hookedFunctions"`
	TracePatterns   []string                                         `json:"tracePatterns"`
	Warnings        []string                                         `json:"warnings"`
}

// Status asks for a session's status.
func (s *Strobe) Status(t testing.TB, id string) Status {
	t.Helper()
	var st Status
	poll(lateWithin, func() bool {
		st = Status{}
		s.Call(t, "debug_session", map[string]any{"action": "status", "sessionId": id}, &st)
		return !slices.ContainsFunc(st.Warnings, func(w string) bool { return strings.HasPrefix(w, "counts may lag") })
	})
	return st
}

// WaitEnd waits until the session's program has ended and returns the status then.
func (s *Strobe) WaitEnd(t testing.TB, id string, within time.Duration) Status {
	t.Helper()
	var st Status
	if !poll(within, func() bool { st = s.Status(t, id); return st.Status != "running" }) {
		t.Fatalf("session %s still runs after %v: %+v", id, within, st)
	}
	return st
}

// Page is what tests use of debug_query's answer.
type Page struct {
	Events []struct {
		ID         int64           `json:"id"`
		EventType  string          `json:"eventType"`
		Function   string          `json:"function"`
		Text       *string         `json:"text"`
		Bytes      string          `json:"bytes"`
		DurationNs *int64          `json:"durationNs"`
		Arguments  json.RawMessage `json:"arguments"`
		Return     json.RawMessage `json:"returnValue"`
		Out        json.RawMessage `json:"out"`
		Watches    json.RawMessage `json:"watchValues"`
		What       string          `json:"what"`
		Unwound    bool            `json:"unwound"`
		TailCall   bool            `json:"tailCall"`
		Lost       bool            `json:"lost"`
	} `json:"events"`
	Tree        string          `json:"tree"`
	Stats       string          `json:"stats"`
	Text        string          `json:"text"`
	TotalCount  int64           `json:"totalCount"`
	HasMore     bool            `json:"hasMore"`
	Sampled     json.RawMessage `json:"sampled"`
	LastEventID int64           `json:"lastEventId"`
	Hint        string          `json:"hint"`
}

// Query asks a question of one session, and again while the answer says that on this busy machine not all is decoded
// yet.
func (s *Strobe) Query(t testing.TB, id string, filter map[string]any) Page {
	t.Helper()
	in := map[string]any{"sessionId": id}
	for k, v := range filter {
		in[k] = v
	}
	var p Page
	poll(lateWithin, func() bool {
		p = Page{}
		s.Call(t, "debug_query", in, &p)
		return !strings.Contains(p.Hint, "the newest events may be missing")
	})
	return p
}

// lateWithin is how long Query and Status ask again.
const lateWithin = time.Minute

// Count returns how many events of a type a function has; an empty function counts all.
func (s *Strobe) Count(t testing.TB, id, eventType, function string) int64 {
	t.Helper()
	filter := map[string]any{"eventType": eventType, "limit": 1}
	if function != "" {
		filter["function"] = map[string]any{"equals": function}
	}
	return s.Query(t, id, filter).TotalCount
}

// Output returns all that a program wrote to "stdout" or "stderr", page by page.
func (s *Strobe) Output(t testing.TB, id, stream string) string {
	t.Helper()
	var b strings.Builder
	for after := int64(0); ; {
		p := s.Query(t, id, map[string]any{"eventType": stream, "limit": 500, "afterEventId": after, "verbose": true})
		for _, e := range p.Events {
			if e.Text != nil {
				b.WriteString(*e.Text)
			}
			raw, err := base64.StdEncoding.DecodeString(e.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(raw)
		}
		if !p.HasMore || len(p.Events) == 0 {
			return b.String()
		}
		after = p.LastEventID
	}
}

// Stop ends a session and deletes its data.
func (s *Strobe) Stop(t testing.TB, id string) {
	t.Helper()
	s.Call(t, "debug_session", map[string]any{"action": "stop", "sessionId": id}, nil)
}
