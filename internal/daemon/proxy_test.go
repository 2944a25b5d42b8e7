package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// piped is a client at a proxy's stdin and stdout.
type piped struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	read chan string
}

func runProxy(t *testing.T, connect func(context.Context) (net.Conn, error)) *piped {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &piped{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1), read: make(chan string, 64)}
	proxy := &Proxy{In: inR, Out: outW, Connect: connect, Hung: func() error { return errors.New("hung") }}
	go func() {
		err := proxy.Run(context.Background())
		outW.Close()
		p.done <- err
	}()
	go func() { // ends with the proxy
		defer close(p.read)
		for {
			line, err := p.out.ReadString('\n')
			if err != nil {
				return
			}
			p.read <- strings.TrimSpace(line)
		}
	}()
	t.Cleanup(p.close)
	return p
}

func (p *piped) close() {
	p.in.Close()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Errorf("proxy ended with %v", err)
		}
		p.done <- nil
	case <-time.After(waitLimit):
		p.t.Error("proxy goes on after its client closed")
	}
}

func (p *piped) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

type reply struct {
	raw    string
	ID     json.RawMessage
	Result struct{ Content []struct{ Text string } }
	Error  *struct{ Message string }
}

// next returns the next line from the proxy.
func (p *piped) next() reply {
	p.t.Helper()
	select {
	case line, ok := <-p.read:
		if !ok {
			p.t.Fatal("proxy closed its output")
		}
		r := reply{raw: line}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.t.Fatalf("line %q: %v", line, err)
		}
		return r
	case <-time.After(waitLimit):
		p.t.Fatalf("no answer within %v", waitLimit)
	}
	return reply{}
}

// text returns the text of a successful call's answer to id.
func (p *piped) text(id string) string {
	p.t.Helper()
	r := p.next()
	if string(r.ID) != id || r.Error != nil || len(r.Result.Content) != 1 {
		p.t.Fatalf("answer = %.300s, want a result of %s", r.raw, id)
	}
	return r.Result.Content[0].Text
}

const (
	hello       = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool,
		args)
}

// greeted returns a proxy with its client past the handshake.
func greeted(t *testing.T, home string) *piped {
	t.Helper()
	p := runProxy(t, func(ctx context.Context) (net.Conn, error) { return Connect(ctx, home) })
	p.send(hello)
	if r := p.next(); string(r.ID) != "1" || r.Error != nil {
		t.Fatalf("initialize: %s", r.raw)
	}
	p.send(initialized)
	return p
}

func TestProxyRelays(t *testing.T) {
	home := newHome(t)
	p := greeted(t, home)
	p.send(call(`"a/b"`, "echo", `{"x":12345678901234567890}`))
	if got := p.text(`"a/b"`); got != `{"x":12345678901234567890}` {
		t.Errorf("echo = %s", got)
	}
	big := strings.Repeat("y", 10<<20)
	p.send(call("2", "echo", `{"x":"`+big+`"}`))
	if got := p.text("2"); got != `{"x":"`+big+`"}` {
		t.Errorf("10 MB came back as %d bytes", len(got))
	}
	p.send(`not json`)
	if r := p.next(); r.Error == nil || string(r.ID) != "null" {
		t.Errorf("garbage: %s", r.raw)
	}
}

func TestProxySurvivesDaemon(t *testing.T) {
	home := newHome(t)
	p := greeted(t, home)
	for round := range 3 {
		pid := HolderPID(home)
		slow := filepath.Join(home, "slow")
		if err := os.Remove(slow); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		p.send(call(`"s1"`, "slow", "{}"), call("77", "slow", "{}"))
		// Both, as a call that was not yet sent goes to the next daemon.
		eventually(t, "running calls", func() bool { info, err := os.Stat(slow); return err == nil && info.Size() == 2 })
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for range 2 {
			r := p.next()
			if r.Error == nil || r.Error.Message != diedMessage {
				t.Fatalf("answer of a dead daemon = %s", r.raw)
			}
			seen[string(r.ID)] = true
		}
		if !seen[`"s1"`] || !seen["77"] {
			t.Errorf("answered %v, want s1 and 77", seen)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, call("3", "pid", "{}"))
		if got := p.text("3"); got == fmt.Sprint(pid) || got != fmt.Sprint(HolderPID(home)) {
			t.Errorf("round %d: daemon %s after %d", round, got, pid)
		}
	}
}

// Two proxies with requests under way get their answers after one kill, from one new daemon.
func TestTwoProxiesOneNewDaemon(t *testing.T) {
	home := newHome(t)
	a, b := greeted(t, home), greeted(t, home)
	if err := syscall.Kill(HolderPID(home), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the daemon", func() bool { return !lockHeld(LockPath(home)) })
	a.send(call("5", "pid", "{}"))
	b.send(call("5", "pid", "{}"))
	if x, y := a.text("5"), b.text("5"); x != y {
		t.Errorf("daemons %s and %s", x, y)
	}
}

func TestProxyRepeatsHarmlessRequests(t *testing.T) {
	// A daemon that drops its first connection in the middle of initialize, as an ending one does.
	home := newHome(t)
	tries := 0
	p := runProxy(t, func(ctx context.Context) (net.Conn, error) {
		if tries++; tries == 1 {
			ours, theirs := net.Pipe()
			go func() { _, _ = bufio.NewReader(theirs).ReadString('\n'); theirs.Close() }()
			return ours, nil
		}
		return Connect(ctx, home)
	})
	p.send(hello)
	if r := p.next(); string(r.ID) != "1" || r.Error != nil {
		t.Errorf("initialize: %s", r.raw)
	}
	p.send(initialized, call("2", "pid", "{}"))
	p.text("2")
}

func TestProxyWithoutDaemon(t *testing.T) {
	p := runProxy(t, func(context.Context) (net.Conn, error) {
		return nil, fault.New(fault.PermissionDenied, "Set STROBE_HOME.", "cannot write to /x")
	})
	p.send(hello)
	if r := p.next(); r.Error == nil || r.Error.Message != "PERMISSION_DENIED: cannot write to /x. Set STROBE_HOME." {
		t.Errorf("initialize: %s", r.raw)
	}
	p.send(initialized) // no answer, no attempt
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if r := p.next(); string(r.ID) != "2" || r.Error == nil {
		t.Errorf("ping: %s", r.raw)
	}
}

func TestProxyDrainsBeforeItEnds(t *testing.T) {
	home := newHome(t)
	p := greeted(t, home)
	p.send(call("2", "echo", `{"a":1}`))
	p.in.Close()
	if got := p.text("2"); got != `{"a":1}` {
		t.Errorf("echo = %s", got)
	}
}

func TestIDKeys(t *testing.T) {
	key := func(id string) string { return message{ID: json.RawMessage(id)}.key() }
	for _, same := range [][2]string{{"1", "1.0"}, {`"a/b"`, `"a\/b"`}, {`"é"`, `"\u00e9"`}} {
		if key(same[0]) != key(same[1]) {
			t.Errorf("ids %s and %s differ", same[0], same[1])
		}
	}
	if key("1") == key(`"1"`) {
		t.Error(`ids 1 and "1" are the same`)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{hello, initialized, "[]", "[1,{}]", `{"id":{}}`, `{"id":null,"method":null}`, "{",
		`[{"id":1,"method":"x"},null]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, m := range scan(b) {
			_ = m.key()
			if m.isRequest() {
				_ = m.repeatable()
			}
			_ = m.isResponse()
		}
	})
}

// What a warm daemon takes to greet a client through the proxy.
func BenchmarkInitialize(b *testing.B) {
	home := filepath.Join(b.TempDir(), "h")
	conn, err := Connect(context.Background(), home)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if _, err := Stop(ctx, home); err != nil {
			b.Error(err)
		}
	}()
	for b.Loop() {
		c, err := Dial(context.Background(), home)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(c, hello+"\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
