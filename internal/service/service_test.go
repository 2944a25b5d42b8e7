//go:build unix

package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
)

func newService(t *testing.T) *Service {
	t.Helper()
	s, err := New(Config{
		Home: t.TempDir(), Runtimes: []collector.Runtime{plainRuntime{}}, Version: "test",
		ParsePattern: func(p string) error {
			if strings.HasSuffix(p, "[") {
				return errors.New("bracket at 3 is not closed")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// call runs an operation the way a front end does: JSON in, and the answer through JSON.
func call[R any](t *testing.T, s *Service, ctx context.Context, name string, params map[string]any) (R, error) {
	t.Helper()
	var r R
	in, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	op := Find(name)
	p, err := op.Decode(in)
	if err != nil {
		return r, err
	}
	res, err := op.Run(ctx, s, p)
	if err != nil {
		return r, err
	}
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s answered %s: %v", name, data, err)
	}
	return r, nil
}

func must[R any](t *testing.T, s *Service, name string, params map[string]any) R {
	t.Helper()
	r, err := call[R](t, s, context.Background(), name, params)
	if err != nil {
		t.Fatalf("%s %v: %v", name, params, err)
	}
	return r
}

// refused checks an error's code and that it names what to do next.
func refused(t *testing.T, s *Service, code fault.Code, text, name string, params map[string]any) {
	t.Helper()
	_, err := call[map[string]any](t, s, context.Background(), name, params)
	if err == nil || fault.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s %v = %v, want %s with %q", name, params, err, code, text)
	} else if fault.From(err).Hint == "" {
		t.Errorf("%s %v: no hint", name, params)
	}
}

type answer struct {
	Events []struct {
		ID        int64
		EventType string
		Text      string
		Function  string
	}
	TotalCount  int64
	LastEventID int64
	Hint        string
	Tree        string
}

func TestLifeOfASession(t *testing.T) {
	s := newService(t)
	root := t.TempDir()
	l := must[LaunchResult](t, s, "debug_launch", map[string]any{
		"command": "sh", "args": []string{"-c", "echo hello; read x; echo got $x; exit 5"}, "projectRoot": root,
		"stdin": "pipe",
		"trace": []string{"a::b"}, "name": "first",
	})
	if l.PID == 0 || l.Runtime != "native" || l.HookedFunctions == nil || *l.HookedFunctions != 1 ||
		*l.MatchedFunctions != 1 || l.NextSteps == "" || l.Capabilities.OutputCapture != "full" {
		t.Errorf("launch = %+v", l)
	}
	id := l.SessionID
	q := must[answer](t, s, "debug_query", map[string]any{"sessionId": id, "eventType": "stdout", "waitMs": 5000})
	if len(q.Events) != 1 || q.Events[0].Text != "hello\n" {
		t.Errorf("query = %+v", q)
	}
	q = must[answer](t, s, "debug_query", map[string]any{"sessionId": id, "function": map[string]any{"equals": "a::b"}})
	if q.TotalCount != 2 {
		t.Errorf("calls = %+v", q)
	}
	st := must[StatusResult](t, s, "debug_session", map[string]any{"action": "status", "sessionId": id})
	if st.Status != "running" || st.ExitCode != nil || st.PID != l.PID || !slices.Equal(st.PIDs, []int{l.PID}) ||
		st.EventCount["stdout"] != 1 || st.EventCount["function_enter"] != 1 ||
		!slices.Equal(st.TracePatterns, []string{"a::b"}) {
		t.Errorf("status = %+v", st)
	}
	refused(t, s, fault.ValidationError, "runs", "debug_session", map[string]any{"action": "delete", "sessionId": id})
	in := must[InputResult](t, s, "debug_session",
		map[string]any{"action": "input", "sessionId": id, "text": "bob\n", "eof": true})
	if in.Bytes != 4 {
		t.Errorf("input = %+v", in)
	}
	q = must[answer](t, s, "debug_query", map[string]any{"sessionId": id, "eventType": "stdout",
		"afterEventId": q.LastEventID, "text": map[string]any{"contains": "got"}, "waitMs": 5000})
	if len(q.Events) != 1 || q.Events[0].Text != "got bob\n" {
		t.Errorf("second query = %+v", q)
	}
	waitEnd(t, s, id)
	st = must[StatusResult](t, s, "debug_session", map[string]any{"action": "status", "sessionId": id})
	if st.Status != "exited" || st.ExitCode == nil || *st.ExitCode != 5 || len(st.PIDs) != 0 {
		t.Errorf("status after the end = %+v", st)
	}
	stop := must[StopResult](t, s, "debug_session", map[string]any{"action": "stop", "sessionId": id, "retain": true})
	if !stop.Success || stop.EventsCollected != 4 || !stop.Retained || *stop.ExitCode != 5 {
		t.Errorf("stop = %+v", stop)
	}
	list := must[ListResult](t, s, "debug_session", map[string]any{"action": "list"})
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || !list.Sessions[0].Retained ||
		list.Sessions[0].EventCount != 4 ||
		list.Sessions[0].SizeBytes == 0 || list.TotalSize != list.Sessions[0].SizeBytes || list.Sessions[0].Name != "first" {
		t.Errorf("list = %+v", list)
	}
	if q = must[answer](t, s, "debug_query", map[string]any{"sessionId": id}); q.TotalCount != 4 {
		t.Errorf("retained query = %+v", q)
	}
	d := must[DeleteResult](t, s, "debug_session", map[string]any{"action": "delete", "sessionId": id})
	if d.DeletedSessionID != id {
		t.Errorf("delete = %+v", d)
	}
	refused(t, s, fault.SessionNotFound, "debug_launch", "debug_query", map[string]any{"sessionId": id})
}

func waitEnd(t *testing.T, s *Service, id string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		st := must[StatusResult](t, s, "debug_session", map[string]any{"action": "status", "sessionId": id})
		if st.Status != "running" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s still runs", id)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func TestInput(t *testing.T) {
	s := newService(t)
	launch := func(command string) string {
		return must[LaunchResult](t, s, "debug_launch",
			map[string]any{"command": command, "args": []string{"30"}[:len(command)/5], "projectRoot": t.TempDir(),
				"stdin": "pipe"}).SessionID
	}
	id := launch("cat")
	in := must[InputResult](t, s, "debug_session",
		map[string]any{"action": "input", "sessionId": id, "base64": "AP8LgA==", "eof": true})
	if !in.Success || in.Bytes != 4 {
		t.Errorf("bytes = %+v", in)
	}
	waitEnd(t, s, id)
	q := must[query.Result](t, s, "debug_query", map[string]any{"sessionId": id, "eventType": "stdout"})
	if len(q.Events) != 1 || q.Events[0].Bytes != "AP8LgA==" {
		t.Errorf("output = %+v", q.Events)
	}
	defer func(d time.Duration) { inputMax = d }(inputMax)
	inputMax = 50 * time.Millisecond
	in = must[InputResult](t, s, "debug_session",
		map[string]any{"action": "input", "sessionId": launch("sleep"), "text": strings.Repeat("x", 4<<20), "eof": true})
	if in.Success || in.Bytes == 0 || in.Bytes >= 4<<20 || in.Hint == "" {
		t.Errorf("to a program that does not read: %+v", in)
	}
}

func TestPendingPatterns(t *testing.T) {
	s := newService(t)
	root, other := t.TempDir(), t.TempDir()
	as := func(name string) context.Context { return WithClient(context.Background(), Client{Name: name}) }
	stage := func(ctx context.Context, params map[string]any) TraceResult {
		t.Helper()
		r, err := call[TraceResult](t, s, ctx, "debug_trace", params)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := stage(as("one"), map[string]any{"projectRoot": root, "add": []string{"f", "g"}})
	if r.Mode != "pending" || !slices.Equal(r.ActivePatterns, []string{"f", "g"}) || r.EventLimit != 10_000_000 ||
		r.SerializationDepth != 3 {
		t.Errorf("staged = %+v", r)
	}
	r = stage(as("one"), map[string]any{"projectRoot": root + "/", "add": []string{"h"}, "remove": []string{"g", "zz"},
		"serializationDepth": 4})
	if !slices.Equal(r.ActivePatterns, []string{"f", "h"}) || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "zz") {
		t.Errorf("staged again = %+v", r)
	}
	if r = stage(as("two"), map[string]any{"projectRoot": root}); len(r.ActivePatterns) != 0 {
		t.Errorf("another client sees %v", r.ActivePatterns)
	}
	if r = stage(as("one"), map[string]any{"projectRoot": other}); len(r.ActivePatterns) != 0 {
		t.Errorf("another project sees %v", r.ActivePatterns)
	}
	if _, err := call[LaunchResult](t, s, as("one"), "debug_launch",
		map[string]any{"command": "no-such-program", "projectRoot": root}); err == nil {
		t.Error("launch of nothing succeeded")
	}
	l, err := call[LaunchResult](t, s, as("one"), "debug_launch",
		map[string]any{"command": "true", "projectRoot": root, "trace": []string{"f", "k"}})
	if err != nil || l.PendingPatternsApplied != 2 || *l.HookedFunctions != 3 {
		t.Errorf("launch after a failed one = %+v, %v", l, err)
	}
	l, err = call[LaunchResult](t, s, as("one"), "debug_launch", map[string]any{"command": "true", "projectRoot": root})
	if err != nil || l.PendingPatternsApplied != 0 || l.HookedFunctions != nil {
		t.Errorf("second launch = %+v, %v", l, err)
	}
	stage(as("one"), map[string]any{"projectRoot": root, "add": []string{"f"}})
	s.pending.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if r = stage(as("one"), map[string]any{"projectRoot": root}); len(r.ActivePatterns) != 0 {
		t.Errorf("after two hours: %v", r.ActivePatterns)
	}
	for i := range maxPending + 10 {
		stage(as(fmt.Sprint(i)), map[string]any{"projectRoot": root, "add": []string{"f"}})
	}
	if n := len(s.pending.entries); n > maxPending {
		t.Errorf("%d entries", n)
	}
	refused(t, s, fault.ValidationError, "projectRoot", "debug_trace", map[string]any{"add": []string{"f"}})
	refused(t, s, fault.InvalidPattern, "bracket at 3", "debug_trace",
		map[string]any{"projectRoot": root, "add": []string{"ok", "xx["}})
	refused(t, s, fault.InvalidPattern, "empty", "debug_trace", map[string]any{"projectRoot": root, "add": []string{""}})
}

func TestTraceOfARunningProgram(t *testing.T) {
	s := newService(t)
	root := t.TempDir()
	l := must[LaunchResult](t, s, "debug_launch",
		map[string]any{"command": "sleep", "args": []string{"100"}, "projectRoot": root})
	trace := func(params map[string]any) TraceResult {
		t.Helper()
		params["sessionId"] = l.SessionID
		r, err := call[TraceResult](t, s, WithClient(t.Context(), Client{Name: "model"}), "debug_trace", params)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := trace(map[string]any{})
	if r.Mode != "runtime" || len(r.ActivePatterns) != 0 || !strings.Contains(r.Status, "@usercode") {
		t.Errorf("nothing traced = %+v", r)
	}
	r = trace(map[string]any{"add": []string{"f", "nothing"}})
	if r.HookedFunctions != 2 || len(r.Unhookable) != 2 || r.UnhookableCount != 30 ||
		!slices.Contains(r.Warnings, "nothing: matches no function") {
		t.Errorf("two added = %+v", r)
	}
	if u := r.Unhookable; u[0].Reason != "too short" || u[0].Count != 26 || len(u[0].Also) != namedOfAReason-1 ||
		u[0].Also[0] != "b" || u[1].Reason != "no code" || u[1].Count != 4 {
		t.Errorf("unhookable = %+v, want one row for each reason", u)
	}
	if again := trace(map[string]any{"add": []string{"h"}}); len(again.Unhookable) != 0 || again.UnhookableCount != 30 ||
		len(again.Warnings) != 1 || !strings.Contains(again.Warnings[0], "as before") {
		t.Errorf("the second answer repeats the first: %+v", again)
	}
	if whole := trace(map[string]any{"remove": []string{"h"}}); len(whole.Unhookable) != 0 {
		t.Errorf("a third one does: %+v", whole)
	}
	if whole := trace(map[string]any{}); len(whole.Unhookable) != 2 ||
		!slices.Contains(whole.Warnings, "nothing: matches no function") {
		t.Errorf("asked for, the state is %+v", whole)
	}
	first := must[LaunchResult](t, s, "debug_launch",
		map[string]any{"command": "sleep", "args": []string{"100"}, "projectRoot": root, "trace": []string{"f", "nothing"}})
	if *first.HookedFunctions != 2 || *first.MatchedFunctions != 2 || len(first.Unhookable) != 2 ||
		first.UnhookableCount != 30 || !slices.Equal(first.Warnings, r.Warnings) {
		t.Errorf("launch with them = %+v", first)
	}
	refused(t, s, fault.InvalidPattern, "xx[", "debug_trace",
		map[string]any{"sessionId": l.SessionID, "add": []string{"xx["}, "remove": []string{"f"}})
	r = trace(map[string]any{"add": []string{"g"}, "remove": []string{"f", "nothing"}})
	if !slices.Equal(r.ActivePatterns, []string{"g"}) || len(r.Warnings) != 0 {
		t.Errorf("replaced = %+v", r)
	}
	if err := os.MkdirAll(filepath.Join(root, ".strobe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".strobe", "settings.json"),
		[]byte(`{"events.maxPerSession": 1234, "sessions.max": "x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r = trace(map[string]any{}); r.EventLimit != 1234 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "sessions.max") {
		t.Errorf("after a change of settings: %+v", r)
	}
	refused(t, s, fault.ValidationError, "cannot change", "debug_trace",
		map[string]any{"sessionId": l.SessionID, "projectRoot": "/elsewhere"})
	refused(t, s, fault.SessionNotFound, l.SessionID, "debug_trace", map[string]any{"sessionId": l.SessionID + "0"})
}

func TestSessionActionsAreChecked(t *testing.T) {
	s := newService(t)
	for _, tc := range []struct {
		params map[string]any
		text   string
	}{
		{map[string]any{"action": "status"}, "sessionId"},
		{map[string]any{"action": "status", "sessionId": "x", "retain": true}, "retain"},
		{map[string]any{"action": "list", "text": "x"}, "input"},
		{map[string]any{"action": "input", "sessionId": "x"}, "nothing to send"},
		{map[string]any{"action": "input", "sessionId": "x", "base64": "?"}, "base64: illegal"},
		{map[string]any{"action": "input", "sessionId": "x", "base64": "AA==", "text": "a"}, "both"},
		{map[string]any{"action": "status", "sessionId": "x", "base64": "AA=="}, "input"},
	} {
		refused(t, s, fault.ValidationError, tc.text, "debug_session", tc.params)
	}
	for _, action := range []string{"status", "stop", "delete"} {
		refused(t, s, fault.SessionNotFound, "debug_launch", "debug_session",
			map[string]any{"action": action, "sessionId": "../../etc/passwd"})
	}
	if list := must[ListResult](t, s, "debug_session", map[string]any{"action": "list"}); list.Sessions == nil {
		t.Error("an empty list is null")
	}
}

func TestStopEndsWaitingQuery(t *testing.T) {
	s := newService(t)
	l := must[LaunchResult](t, s, "debug_launch",
		map[string]any{"command": "sleep", "args": []string{"100"}, "projectRoot": t.TempDir()})
	done := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		_, err := queryOp.Run(context.Background(), s, &query.Request{SessionID: l.SessionID, WaitMs: 30000})
		done <- err
	}()
	<-started
	start := time.Now()
	must[StopResult](t, s, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID})
	if err := <-done; fault.CodeOf(err) != fault.SessionNotFound {
		t.Errorf("query = %v", err)
	}
	if d := time.Since(start); d > 25*time.Second {
		t.Errorf("stop took %v", d)
	}
}

// A query that waits returns when the program ends and nothing can come any more.
func TestWaitingQuerySeesTheEnd(t *testing.T) {
	s := newService(t)
	l := must[LaunchResult](t, s, "debug_launch", map[string]any{"command": "true", "projectRoot": t.TempDir()})
	start := time.Now()
	q := must[answer](t, s, "debug_query", map[string]any{"sessionId": l.SessionID, "eventType": "stdout",
		"waitMs": 20000})
	if d := time.Since(start); d > 15*time.Second || q.TotalCount != 0 || q.Hint == "" {
		t.Errorf("query = %+v after %v", q, d)
	}
}

func TestStopWithoutKill(t *testing.T) {
	s := newService(t)
	done := filepath.Join(t.TempDir(), "done")
	l := must[LaunchResult](t, s, "debug_launch", map[string]any{
		"command": "sh", "args": []string{"-c", "read x; sleep 2; head -c 3000000 /dev/zero; echo ok > " + done},
		"projectRoot": t.TempDir(), "stdin": "pipe",
	})
	// The text is in the pipe before the stop; the program writes more than a pipe holds after it.
	must[InputResult](t, s, "debug_session", map[string]any{"action": "input", "sessionId": l.SessionID, "text": "go\n"})
	stop := must[StopResult](t, s, "debug_session",
		map[string]any{"action": "stop", "sessionId": l.SessionID, "kill": false, "retain": true})
	if !stop.Success || len(stop.Warnings) > 0 || stop.Status != "exited" || stop.ExitCode != nil || !stop.Released ||
		!strings.Contains(stop.Hint, "runs on") {
		t.Errorf("stop = %+v", stop)
	}
	list := must[ListResult](t, s, "debug_session", map[string]any{"action": "list"})
	st := must[StatusResult](t, s, "debug_session", map[string]any{"action": "status", "sessionId": l.SessionID})
	if !list.Sessions[0].Released || list.Sessions[0].Status != "exited" || !st.Released || st.Status != "exited" ||
		len(st.Warnings) != 1 {
		t.Errorf("list = %+v, status = %+v", list, st)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(done); err == nil {
			break
		}
		if time.Now().After(end) {
			syscall.Kill(-l.PID, syscall.SIGKILL)
			t.Fatal("the program did not run on")
		}
		<-time.After(2 * time.Millisecond)
	}
}

func TestConcurrentClients(t *testing.T) {
	s := newService(t)
	root := t.TempDir()
	errs := make(chan error, 8)
	for i := range 8 {
		go func() {
			ctx := WithClient(context.Background(), Client{Name: fmt.Sprint(i)})
			errs <- func() error {
				l, err := call[LaunchResult](t, s, ctx, "debug_launch",
					map[string]any{"command": "seq", "args": []string{"1", "5000"}, "projectRoot": root, "trace": []string{"f"}})
				if err != nil {
					return err
				}
				var text strings.Builder
				for after, n := int64(0), 0; !strings.HasSuffix(text.String(), "\n5000\n"); n++ {
					q, err := call[answer](t, s, ctx, "debug_query",
						map[string]any{"sessionId": l.SessionID, "eventType": "stdout", "afterEventId": after, "waitMs": 10000,
							"verbose": true})
					if err != nil || n > 1000 {
						return fmt.Errorf("query %d: %w", n, err)
					}
					for _, e := range q.Events {
						text.WriteString(e.Text)
						after = e.ID
					}
				}
				_, err = call[StopResult](t, s, ctx, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID})
				return err
			}()
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if s.Busy() {
		t.Error("busy after all were stopped")
	}
}
