//go:build linux

package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// calmSource makes a call of work and one of rest every millisecond until its stdin says something or ends.
const calmSource = `#include <poll.h>
#include <stdio.h>
__attribute__((noinline)) int rest(int n) { __asm__ volatile(""); return n & 7; }
__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return rest(n) + 1; }
int main(void) {
	struct pollfd p = {0, POLLIN, 0};
	long calls = 0, sum = 0;
	puts("ready");
	while (poll(&p, 1, 1) == 0) { sum += work((int)calls & 7); calls++; }
	long want = calls / 8 * 36;
	for (long i = calls / 8 * 8; i < calls; i++) want += (i & 7) + 1;
	printf("work=%ld ok=%d\n", calls, sum == want);
	return sum != want;
}
`

// waiting starts a calm program that runs until let.
func waiting(t testing.TB, s *strobetest.Strobe, trace ...string) strobetest.Launched {
	t.Helper()
	path := strobetest.BuildSource(t, "c", "gcc-O2", "calm", calmSource)
	return s.Launch(t, path, filepath.Dir(path), nil, args{"stdin": "pipe", "trace": append([]string{}, trace...)})
}

// let ends it and checks that it found its own sums right.
func let(t testing.TB, s *strobetest.Strobe, id string) {
	t.Helper()
	s.Call(t, "debug_session", args{"action": "input", "sessionId": id, "text": "\n"}, nil)
	st := s.WaitEnd(t, id, endLimit)
	if out := s.Output(t, id, "stdout"); !strings.HasSuffix(out, " ok=1\n") || st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("the program wrote %q and ended as %+v", out, st)
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	l := waiting(t, s)
	pid := daemon.HolderPID(s.Home)
	for pattern, says := range map[string]string{
		"":                         "empty",
		"a[":                       "position",
		"f(int":                    "position",
		"@nosuch":                  "@usercode",
		"@file:":                   "position",
		"file:":                    "position",
		"!":                        "position",
		"a\x00b":                   "position",
		"@usercod":                 "@usercode",
		"***[":                     "position",
		"operator(":                "position",
		"ns::f<int(":               "position",
		strings.Repeat("x", 1<<20): "",
	} {
		for _, in := range []args{
			{"add": []string{"work", pattern}, "sessionId": l.SessionID},
			{"add": []string{pattern}, "projectRoot": "/"},
		} {
			if f := refused(t, s, "debug_trace", in, "INVALID_PATTERN"); f != nil && !strings.Contains(f.Error(), says) {
				t.Errorf("pattern %.40q: %.300s, does not say %q", pattern, f, says)
			}
		}
		if len(pattern) < 100 {
			refused(t, s, "debug_launch", args{"command": "true", "projectRoot": "/", "trace": []string{pattern}},
				"INVALID_PATTERN")
		}
	}
	if st := s.Status(t, l.SessionID); len(st.TracePatterns) != 0 || st.HookedFunctions != 0 {
		t.Errorf("refused patterns changed the session: %+v", st)
	}
	hundred := make([]string, 0, 101)
	for i := range 100 {
		hundred = append(hundred, fmt.Sprintf("no_such_function_%d_*", i))
	}
	var state struct {
		ActivePatterns  []string
		HookedFunctions int
	}
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": append(hundred, "rest")}, &state)
	if len(state.ActivePatterns) != 101 || state.HookedFunctions != 1 {
		t.Errorf("101 patterns: %d active, %d hooked", len(state.ActivePatterns), state.HookedFunctions)
	}
	strobetest.Eventually(t, endLimit, "a call of rest",
		func() bool { return s.Count(t, l.SessionID, "function_enter", "rest") > 0 })
	// Patterns that make a backtracking matcher run for ever.
	bomb := strings.Repeat("*a", 200) + "b"
	started := time.Now()
	if err := s.Try("debug_trace", args{"sessionId": l.SessionID, "add": []string{bomb, strings.Repeat("**a", 100) + "b"}},
		&state); err != nil {
		t.Errorf("patterns with many stars: %.500s", err)
	}
	if took := time.Since(started); took > time.Minute {
		t.Errorf("patterns with many stars took %v", took)
	}
	var removed struct{ Warnings []string }
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"never added"}}, &removed)
	if said := strings.Join(removed.Warnings, " "); !strings.Contains(said, "never added") ||
		!strings.Contains(said, "rest") {
		t.Errorf("removal of what is not there: %.300q", said)
	}
	let(t, s, l.SessionID)
	serves(t, s, pid)
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"sessions.max": 2})
	l := waiting(t, s)
	id, pid := l.SessionID, daemon.HolderPID(s.Home)
	for _, c := range []struct {
		tool string
		in   args
		code string
		says []string
	}{
		{"debug_query", args{"sessionId": id, "eventTyp": "stdout"}, "VALIDATION_ERROR", []string{"eventTyp", "eventType"}},
		{"debug_query", args{"sessionId": id, "eventType": "stdoutt"}, "VALIDATION_ERROR", []string{"stdoutt", "stdout"}},
		{"debug_query", args{"sessionId": id, "limit": "ten"}, "VALIDATION_ERROR", []string{"limit", "integer"}},
		{"debug_query", args{"sessionId": id, "limit": -1}, "VALIDATION_ERROR", []string{"limit"}},
		{"debug_query", args{"sessionId": id, "offset": -1}, "VALIDATION_ERROR", []string{"offset"}},
		{"debug_query", args{"sessionId": id, "timeFrom": "yesterday"}, "VALIDATION_ERROR", []string{"timeFrom"}},
		{"debug_query", args{"sessionId": id, "function": args{"matches": "("}}, "VALIDATION_ERROR", []string{"matches"}},
		{"debug_query", args{"sessionId": id, "function": args{"matches": "((a{1000}){1000}){1000}"}}, "VALIDATION_ERROR",
			[]string{"matches"}},
		{"debug_query", args{"sessionId": id, "under": 1 << 40}, "VALIDATION_ERROR", []string{"under"}},
		{"debug_query", args{"sessionId": id, "view": "graph"}, "VALIDATION_ERROR", []string{"view", "tree"}},
		{"debug_query", args{"sessionId": 7}, "VALIDATION_ERROR", []string{"sessionId", "string"}},
		{"debug_query", args{}, "VALIDATION_ERROR", []string{"sessionId"}},
		{"debug_query", args{"sessionId": "calm"}, "SESSION_NOT_FOUND", []string{id}},
		{"debug_query", args{"sessionId": "../../etc/passwd"}, "SESSION_NOT_FOUND", nil},
		{"debug_query", args{"sessionId": "a\x00b"}, "SESSION_NOT_FOUND", nil},
		{"debug_query", args{"sessionId": strings.Repeat("x", 10<<20)}, "SESSION_NOT_FOUND", nil},
		{"debug_session", args{"action": "status"}, "VALIDATION_ERROR", []string{"sessionId"}},
		{"debug_session", args{"action": "restart", "sessionId": id}, "VALIDATION_ERROR", []string{"restart"}},
		{"debug_session", args{"action": "delete", "sessionId": id}, "VALIDATION_ERROR", []string{"stop"}},
		{"debug_session", args{"action": "delete", "sessionId": "none"}, "SESSION_NOT_FOUND", nil},
		{"debug_session", args{"action": "stop", "sessionId": "none"}, "SESSION_NOT_FOUND", nil},
		{"debug_session", args{"action": "list", "retain": true}, "VALIDATION_ERROR", []string{"retain"}},
		{"debug_trace", args{"add": []string{"work"}}, "VALIDATION_ERROR", []string{"sessionId", "projectRoot"}},
		{"debug_trace", args{"sessionId": id, "add": "work"}, "VALIDATION_ERROR", []string{"add", "array"}},
		{"debug_trace", args{"sessionId": id, "add": []any{1}}, "VALIDATION_ERROR", []string{"add"}},
		{"debug_trace", args{"sessionId": "none", "add": []string{"work"}}, "SESSION_NOT_FOUND", nil},
		{"debug_trace", args{"sessionId": id, "projectRoot": "/elsewhere", "add": []string{"work"}}, "VALIDATION_ERROR",
			[]string{"projectRoot"}},
		{"debug_trace", args{"sessionId": id, "watches": args{"add": []any{args{"expr": "1 +"}}}}, "WATCH_FAILED",
			[]string{"position 3"}},
		{"debug_trace", args{"sessionId": id, "watches": args{"add": []any{args{"label": "x"}}}}, "VALIDATION_ERROR",
			[]string{"watches.add[0]"}},
		{"debug_trace", args{"sessionId": id, "watches": args{"add": []any{args{"address": "16", "type": "int"}}}},
			"VALIDATION_ERROR", []string{"0x"}},
		{"debug_trace", args{"sessionId": id, "watches": args{"add": []any{args{"address": "0x10"}}}}, "VALIDATION_ERROR",
			[]string{"type"}},
		{"debug_trace", args{"sessionId": id, "sampling": "on"}, "VALIDATION_ERROR", []string{"sampling"}},
		{"debug_launch", args{"command": "true", "projectRoot": "/", "args": strings.Repeat("y", 10<<20)}, "VALIDATION_ERROR",
			[]string{"args"}},
	} {
		refused(t, s, c.tool, c.in, c.code, c.says...)
	}
	second := s.Launch(t, "cat", t.TempDir(), nil, args{"stdin": "pipe"})
	refused(t, s, "debug_launch", args{"command": "cat", "projectRoot": "/"}, "SESSION_LIMIT", "sessions.max", "2")
	s.Stop(t, second.SessionID)
	refused(t, s, "debug_session", args{"action": "stop", "sessionId": second.SessionID}, "SESSION_NOT_FOUND")
	refused(t, s, "debug_query", args{"sessionId": second.SessionID}, "SESSION_NOT_FOUND")
	let(t, s, id)
	refused(t, s, "debug_trace", args{"sessionId": id, "add": []string{"work"}}, "PROCESS_EXITED", "debug_launch")
	refused(t, s, "debug_session", args{"action": "input", "sessionId": id, "text": "x"}, "PROCESS_EXITED")
	retained := args{"action": "stop", "sessionId": id, "retain": true}
	s.Call(t, "debug_session", retained, nil)
	if p := s.Query(t, id, args{"eventType": "stdout"}); p.TotalCount == 0 {
		t.Error("a retained session has no output")
	}
	s.Call(t, "debug_session", args{"action": "delete", "sessionId": id}, nil)
	refused(t, s, "debug_session", args{"action": "status", "sessionId": id}, "SESSION_NOT_FOUND")
	serves(t, s, pid)
}

// A program that closed its stdin, or does not read it, takes no input: the answer says so.
func TestInputThatNobodyTakes(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	l := s.Launch(t, "sh", t.TempDir(), []string{"-c", "exec 0</dev/null; echo closed; sleep 60"}, args{"stdin": "pipe"})
	strobetest.Eventually(t, endLimit, "the program to close its stdin",
		func() bool { return s.Output(t, l.SessionID, "stdout") != "" })
	refused(t, s, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x"}, "WRITE_FAILED")
	s.Stop(t, l.SessionID)
	none := s.Launch(t, "sleep", t.TempDir(), []string{"60"}, nil)
	refused(t, s, "debug_session", args{"action": "input", "sessionId": none.SessionID, "text": "x"}, "VALIDATION_ERROR",
		"pipe")
	s.Stop(t, none.SessionID)
}

// raw is a client that speaks to the daemon's socket itself, to do what a decent client does not.
func raw(t *testing.T, s *strobetest.Strobe) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("unix", daemon.SocketPath(s.Home))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintln(c,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`)
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, r
}

func call(id int, tool string, in args) string {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": in}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Clients that go in the middle of a call, of a request or of an answer hurt nobody.
func TestClientsThatVanish(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	l := waiting(t, s, "work")
	pid := daemon.HolderPID(s.Home)
	strobetest.Eventually(t, endLimit, "calls",
		func() bool { return s.Count(t, l.SessionID, "function_enter", "work") > 20 })
	for i := range 12 {
		c, r := raw(t, s)
		switch i % 4 {
		case 0: // waits for what never comes
			fmt.Fprintln(c, call(2, "debug_query", args{"sessionId": l.SessionID, "eventType": "crash", "waitMs": 60000}))
		case 1: // half a request
			io.WriteString(c, call(2, "debug_query", args{"sessionId": strings.Repeat("x", 1<<20)})[:1<<19])
		case 2: // never reads its answers
			for n := range 50 {
				c.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := fmt.Fprintln(c, call(n+2, "debug_query",
					args{"sessionId": l.SessionID, "limit": 500, "verbose": true})); err != nil {
					break // the daemon waits for us to read, and we for it
				}
			}
			r.ReadByte()
		case 3: // changes patterns and goes
			fmt.Fprintln(c, call(2, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"rest"}}))
		}
		c.Close()
	}
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"rest"}}, nil)
	let(t, s, l.SessionID)
	serves(t, s, pid)
}

// Garbage of all kinds on the socket is answered or skipped.
func TestGarbageOnTheSocket(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	pid := daemon.HolderPID(s.Home)
	for _, line := range []string{
		"\x00\x01\x02", "GET / HTTP/1.1", "{", "[]", "[[[[", `"x"`, "null", "1e999", "{}", `{"jsonrpc":"1.0"}`,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`, `{"jsonrpc":"2.0","id":1,"method":7}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"debug_query","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"debug_query","arguments":"x"}}`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 20_000), strings.Repeat("x", 10<<20),
	} {
		c, r := raw(t, s)
		c.SetDeadline(time.Now().Add(endLimit))
		fmt.Fprintln(c, line)
		fmt.Fprintln(c, `{"jsonrpc":"2.0","id":99,"method":"ping"}`)
		for {
			got, err := r.ReadString('\n')
			if err != nil {
				t.Errorf("after %.40q: %v", line, err)
				break
			}
			if strings.Contains(got, `"id":99`) {
				break
			}
		}
		c.Close()
	}
	if now := daemon.HolderPID(s.Home); now != pid {
		t.Errorf("daemon %d was replaced by %d", pid, now)
	}
}
