package iochan_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// program is a process as a session gives it to its channels.
type program struct {
	root string
	pid  int
	in   io.WriteCloser
}

func (p *program) Root() string { return p.root }
func (p *program) PIDs() []int  { return []int{p.pid} }

func (p *program) Input(_ context.Context, text string, eof bool) (int, error) {
	n, err := io.WriteString(p.in, text)
	if eof {
		p.in.Close()
	}
	return n, err
}

func (p *program) Signal(_ context.Context, name string) error {
	signals := map[string]syscall.Signal{"SIGCONT": syscall.SIGCONT, "SIGSTOP": syscall.SIGSTOP, "SIGUSR1": syscall.SIGUSR1,
		"SIGWINCH": syscall.SIGWINCH}
	return syscall.Kill(p.pid, signals[name])
}

// start runs a program until the end of the test.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &program{t.TempDir(), cmd.Process.Pid, in}
}

const pythonServer = `
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 0), H).serve_forever()
`

func TestChannelsConform(t *testing.T) {
	strobetest.NeedCommand(t, "python3", "cat")
	t.Run("process", func(t *testing.T) {
		strobetest.RunChannel(t, strobetest.ChannelCase{Name: "process", Target: start(t, "cat"), Messages: []string{
			`{"do":"signal","signal":"SIGWINCH"}`, `{"do":"stop"}`, `{"do":"continue"}`,
			`{"do":"limit","resource":"nofile","soft":64}`}})
	})
	t.Run("stdio", func(t *testing.T) {
		strobetest.RunChannel(t, strobetest.ChannelCase{Name: "stdio", Target: start(t, "cat"), Messages: []string{
			`{"do":"text","text":"a\n"}`, `{"do":"bytes","base64":"AAE="}`, `{"do":"eof"}`}})
	})
	t.Run("file", func(t *testing.T) {
		p := start(t, "cat")
		strobetest.RunChannel(t, strobetest.ChannelCase{Name: "file:**/*.txt", Target: p, Heard: 6, Messages: []string{
			`{"do":"write","path":"sub/a.txt","text":"one"}`, `{"do":"append","path":"sub/a.txt","text":"two"}`,
			`{"do":"write","path":"b.txt","text":"x","atomic":true}`, `{"do":"chmod","path":"b.txt","mode":"0600"}`,
			`{"do":"rename","path":"b.txt","to":"c.txt"}`, `{"do":"truncate","path":"c.txt","size":0}`,
			`{"do":"delete","path":"sub/a.txt"}`, `{"do":"write","path":"d.txt","text":"x"}`,
			`{"do":"write","path":"e.txt","text":"x"}`, `{"do":"write","path":"f.txt","text":"x"}`}})
	})
	t.Run("net", func(t *testing.T) {
		p := start(t, "python3", "-c", pythonServer)
		strobetest.RunChannel(t, strobetest.ChannelCase{Name: "net", Target: p, Heard: 2, Messages: []string{
			`{"do":"request","path":"/a?b=c"}`, `{"do":"request","method":"POST","json":{"a":1}}`,
			`{"do":"serve","match":{"path":"/x*"},"status":204}`, `{"do":"fault"}`, `{"do":"connect"}`,
			`{"do":"send","text":"GET / HTTP/1.1\r\n"}`, `{"do":"close"}`}})
	})
}

// heard keeps a hub's events.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) take(s event.Stream, _ int64, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, s.Name+" "+string(payload))
}

func (h *heard) with(parts ...string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, line := range h.all {
		ok := true
		for _, p := range parts {
			ok = ok && strings.Contains(line, p)
		}
		if ok {
			n++
		}
	}
	return n
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.all, "\n")
}

func open(t *testing.T, p *program, name, options string) (*iochan.Hub, *heard) {
	t.Helper()
	hub := iochan.NewHub(p.root)
	t.Cleanup(func() { hub.Close() })
	h := &heard{}
	hub.Bind(p, h.take)
	if err := hub.Add(t.Context(), name, json.RawMessage(options)); err != nil {
		t.Fatal(err)
	}
	return hub, h
}

// TestFileEvents: what editors and programs do to files is told once each, as what it is.
func TestFileEvents(t *testing.T) {
	p := &program{root: t.TempDir()}
	at := func(name string) string { return filepath.Join(p.root, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("old.txt"), []byte("old"), 0o666))
	must(os.WriteFile(at("other.log"), nil, 0o666))
	hub, h := open(t, p, "file:**/*.txt", "")
	steps := []struct {
		do   func() error
		want []string // what, path
		n    int
	}{
		{func() error { return os.WriteFile(at("old.txt"), []byte("new text"), 0o666) },
			[]string{`"what":"write","path":"old.txt"`, `"size":8`, `"text":"new text"`}, 1},
		{func() error { // as vim, git and most others save
			if err := os.WriteFile(at(".old.txt.swp"), []byte("saved"), 0o666); err != nil {
				return err
			}
			return os.Rename(at(".old.txt.swp"), at("old.txt"))
		}, []string{`"what":"save","path":"old.txt"`, `"size":5`}, 1},
		{func() error { return os.Rename(at("old.txt"), at("moved.txt")) },
			[]string{`"what":"rename","path":"moved.txt","from":"old.txt"`}, 1},
		{func() error { return os.MkdirAll(at("a/b/c"), 0o777) }, []string{`"a`}, 0},
		{func() error { return os.WriteFile(at("a/b/c/deep.txt"), []byte("x"), 0o666) },
			[]string{`"what":"create","path":"a/b/c/deep.txt"`}, 1},
		{func() error { return os.Remove(at("moved.txt")) }, []string{`"what":"delete","path":"moved.txt"`}, 1},
		{func() error { return os.WriteFile(at("other.log"), []byte("not of the pattern"), 0o666) },
			[]string{"other.log"}, 0},
		{func() error { return os.Chmod(at("a/b/c/deep.txt"), 0o600) },
			[]string{`"what":"chmod","path":"a/b/c/deep.txt"`, `"mode":"0600"`}, 1},
	}
	for i, s := range steps {
		must(s.do())
		strobetest.Eventually(t, 5*time.Second, "events of step", func() bool {
			hub.Flush(t.Context())
			return h.with(s.want...) >= s.n
		})
		if n := h.with(s.want...); n != s.n {
			t.Errorf("step %d: %d events with %q, want %d:\n%s", i, n, s.want, s.n, h)
		}
	}
}

// TestManyFiles: 5,000 files in new directories are each told once.
func TestManyFiles(t *testing.T) {
	p := &program{root: t.TempDir()}
	hub, h := open(t, p, "file:**/*.txt", "")
	const dirs, each = 50, 100
	for d := range dirs {
		dir := filepath.Join(p.root, "d"+strings.Repeat("x", d), "y")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			if err := os.WriteFile(filepath.Join(dir, strings.Repeat("f", i+1)+".txt"), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	strobetest.Eventually(t, 20*time.Second, "all files", func() bool {
		hub.Flush(t.Context())
		return h.with(`"what":"create"`) >= dirs*each
	})
	if n := h.with(`"what":"create"`); n != dirs*each || h.with(`"what":"lost"`) > 0 {
		t.Errorf("%d files told, want %d; lost: %d", n, dirs*each, h.with(`"what":"lost"`))
	}
}

// TestRelay: what goes through the relay arrives as it was, and is told: requests, answers, bytes.
func TestRelay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &program{root: t.TempDir(), pid: os.Getpid()}
	hub, h := open(t, p, "net:"+port, `{"relay":true}`)
	relay := "http://" + hub.Variables()["net.relay"]
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const requests = 200
	for i := range requests {
		body := bytes.Repeat([]byte{'a' + byte(i%26)}, i*i)
		res, err := client.Post(relay+"/echo", "text/plain", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("request %d: %d bytes came back, want %d: %v", i, len(got), len(body), err)
		}
	}
	client.CloseIdleConnections()
	strobetest.Eventually(t, 10*time.Second, "the connection's end", func() bool { return h.with(`"what":"connection"`) == 1 })
	if a, b := h.with(`"what":"request"`, `"path":"/echo"`), h.with(`"what":"answer"`, `"status":200`); a != requests ||
		b != requests {
		t.Errorf("%d requests and %d answers told, want %d of each", a, b, requests)
	}
}

// TestFaults: each fault does what it says to a client of the relay.
func TestFaults(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 8<<10))
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	p := &program{root: t.TempDir(), pid: os.Getpid()}
	hub, h := open(t, p, "net:"+port, `{"relay":true}`)
	get := func(timeout time.Duration) (int, time.Duration, error) {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
		began := time.Now()
		res, err := c.Get("http://" + hub.Variables()["net.relay"])
		if err != nil {
			return 0, time.Since(began), err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return len(b), time.Since(began), err
	}
	set := func(fields string) {
		t.Helper()
		if _, err := hub.Send(t.Context(), "net", json.RawMessage(`{"do":"fault"`+fields+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := get(5 * time.Second); n != 8<<10 || err != nil {
		t.Fatalf("without a fault: %d bytes, %v", n, err)
	}
	set(`,"delayMs":150`)
	if _, took, err := get(5 * time.Second); err != nil || took < 150*time.Millisecond {
		t.Errorf("delay: took %v, %v", took, err)
	}
	set(`,"bytesPerSecond":40960`)
	if n, took, err := get(5 * time.Second); n != 8<<10 || err != nil || took < 150*time.Millisecond {
		t.Errorf("8 KB at 40 KB/s: %d bytes took %v, %v", n, took, err)
	}
	for _, f := range []string{`,"reset":true`, `,"refuse":true`} {
		set(f)
		if n, _, err := get(5 * time.Second); err == nil {
			t.Errorf("%s: %d bytes came", f, n)
		}
	}
	set(`,"drop":true`)
	if _, _, err := get(300 * time.Millisecond); err == nil {
		t.Error("drop: an answer came")
	}
	set("")
	if n, _, err := get(5 * time.Second); n != 8<<10 || err != nil {
		t.Errorf("after the faults: %d bytes, %v", n, err)
	}
	if h.with(`"what":"fault"`) < 3 {
		t.Errorf("faults are not told:\n%s", h)
	}
}

// TestServes: a program gets what the scenario says, and what it asked for is told.
func TestServes(t *testing.T) {
	p := &program{root: t.TempDir()}
	hub, h := open(t, p, "net", "")
	url := hub.Variables()["net.url"]
	for _, m := range []string{
		`{"do":"serve","match":{"path":"/once"},"times":1,"body":"first"}`,
		`{"do":"serve","match":{"method":"POST","path":"/api/*/items"},"status":201,"json":{"id":7}}`,
	} {
		if _, err := hub.Send(t.Context(), "net", json.RawMessage(m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{{"GET", "/once", "first", 200}, {"GET", "/once", "", 404}, {"POST", "/api/a/b/items", `{"id":7}`, 201},
		{"GET", "/api/a/items", "", 404}} {
		req, _ := http.NewRequest(c.method, url+c.path, strings.NewReader("sent"))
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status || c.body != "" && string(b) != c.body {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, res.StatusCode, b, c.status, c.body)
		}
		if h.with(`requests `, `"path":"`+c.path+`"`, `"body":"sent"`) == 0 {
			t.Errorf("%s %s is not told", c.method, c.path)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestHostileTargets: whatever a target answers, the request ends in time with what was wrong, and the daemon lives.
func TestHostileTargets(t *testing.T) {
	for name, answer := range map[string]string{
		"closed": "", "nonsense": "\x00\xff\x00nonsense\r\n\r\n", "endless head": "HTTP/1.1 200 OK\r\nA: ",
		"half": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "bad length": "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
		"bad chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					bufio.NewReader(c).ReadString('\n')
					io.WriteString(c, answer)
					if name == "endless head" {
						for i := 0; i < 1<<14; i++ {
							if _, err := io.WriteString(c, strings.Repeat("x", 1<<12)); err != nil {
								break
							}
						}
					}
					c.Close()
				}
			}()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			p := &program{root: t.TempDir(), pid: os.Getpid()}
			hub, h := open(t, p, "net:"+port, "")
			answer, err := hub.Send(t.Context(), "net", json.RawMessage(`{"do":"request","withinMs":3000}`))
			raw, _ := json.Marshal(answer)
			if err == nil && !strings.Contains(string(raw), `"error":"the body was cut off`) {
				t.Errorf("answer %s", raw)
			}
			if err != nil && (fault.From(err).Hint == "" || h.with(`"what":"error"`) != 1) {
				t.Errorf("%v; told:\n%s", err, h)
			}
		})
	}
}
