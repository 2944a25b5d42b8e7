package iochan

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
)

// FuzzMessage: whatever is sent to a channel, it is checked or refused with a hint.
func FuzzMessage(f *testing.F) {
	f.Add("net", `{"do":"request","path":"/","headers":{"a":"b"},"json":[1]}`)
	f.Add("file:*.txt", `{"do":"write","path":"a","text":"b"}`)
	f.Add("process", `{"do":"limit","resource":"nofile","soft":-1}`)
	f.Add("stdio", `{"do":"text","text":null}`)
	f.Fuzz(func(t *testing.T, name, message string) {
		k, _, err := KindOf(name)
		if err == nil {
			var m Message
			if m, err = k.Check(json.RawMessage(message)); err == nil {
				if !json.Valid(k.told(&m)) {
					t.Errorf("%q is told as %q", message, k.told(&m))
				}
				return
			}
		}
		if e := fault.From(err); e.Code == fault.InternalError || e.Hint == "" {
			t.Errorf("%q %q: %v says not what to do", name, message, err)
		}
	})
}

// FuzzListeners: the kernel's table of sockets, or what looks like it.
func FuzzListeners(f *testing.F) {
	f.Add("  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 12345 1 0 100 0 0 10 0\n")
	f.Add("  0: 00000000000000000000000001000000:0050 0:0 0A 0:0 0:0 0 0 0 9 1\n")
	f.Fuzz(func(t *testing.T, table string) {
		found := map[string]listener{}
		parseListeners(table, found)
		for inode, l := range found {
			if host, _, err := net.SplitHostPort(l.dial()); err != nil || net.ParseIP(host) == nil || inode == "" {
				t.Errorf("%q: %q is no address", table, l.dial())
			}
		}
	})
}

// FuzzRelayed: whatever goes through a relay, both who read along come to their end with it.
func FuzzRelayed(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n"), []byte("HTTP/1.1 101 X\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01"), []byte("\x16\x03\x03"))
	f.Fuzz(func(t *testing.T, in, out []byte) {
		n := &network{out: func(h Heard) {
			if raw := encoded(h.What); !json.Valid(raw) || !strings.Contains(string(raw), `"what":"`) {
				t.Errorf("told %q", raw)
			}
		}}
		methods := make(chan asking, 1024)
		asked, toAsked := io.Pipe()
		answered, toAnswered := io.Pipe()
		go func() {
			toAsked.Write(in)
			toAsked.Close()
		}()
		n.readRequests(asked, methods)
		go func() {
			toAnswered.Write(out)
			toAnswered.Close()
		}()
		n.readAnswers(answered, methods)
	})
}

// TestListeners reads what a kernel wrote.
func TestListeners(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0000000000000000 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 102 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0000000000000000 20 4 30 10 -1
   3: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 0:0 00:00000000 0 0 0 104 1
`
	found := map[string]listener{}
	parseListeners(table, found)
	want := map[string]string{"101": "127.0.0.1:8080", "102": "127.0.0.1:80", "104": "[::1]:81"}
	for inode, addr := range want {
		if l, ok := found[inode]; !ok || l.dial() != addr {
			t.Errorf("socket %s: %+v, want %s", inode, l, addr)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
}

// TestGlob: which files a pattern selects.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.log", "/p/a.log", true}, {"*.log", "/p/d/a.log", false}, {"**/*.log", "/p/a.log", true},
		{"**/*.log", "/p/d/e/a.log", true}, {"logs/**", "/p/logs/a", true}, {"logs/**", "/p/log/a", false},
		{"a?c/[xy].t", "/p/abc/x.t", true}, {"/q/*", "/q/a", true}, {"/q/*", "/p/a", false}, {"a", "/p/a", true},
		{"./out/../a*", "/p/ab", true},
	} {
		g, err := newGlob("/p", c.pattern)
		if err != nil || g.match(c.path) != c.want {
			t.Errorf("%s, %s: %v (%+v, %v)", c.pattern, c.path, !c.want, g, err)
		}
	}
	if _, err := newGlob("/p", "a[/b"); err == nil {
		t.Error("a[ was taken")
	}
}
