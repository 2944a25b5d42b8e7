package acceptance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// socketProgram does the same to its sockets each time it runs: each call that may wait finds what it waits for.
const socketProgram = `
import os, socket, tempfile
def tcp(family, host):
    l = socket.socket(family); l.bind((host, 0)); l.listen(3)
    c = socket.create_connection(l.getsockname()[:2]); a, _ = l.accept()
    return l, c, a
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    l, c, a = tcp(family, host)
    for n in (1, 17, 4096, 60000):
        c.sendall(b"x" * n)
        a.recv(n, socket.MSG_WAITALL)
    a.sendmsg([b"ab", b"cde"]); c.recvmsg(64)
    c.sendall(b"GET /made?up=1 HTTP/1.1\r\nHost: x.org\r\n\r\n"); a.recv(1000)
    a.sendall(b"HTTP/1.1 204 No Content\r\n\r\n"); c.recv(1000)
    os.write(c.fileno(), b"written"); os.read(a.fileno(), 7)
    os.writev(a.fileno(), [b"1", b"22", b"333"]); os.readv(c.fileno(), [bytearray(4), bytearray(2)])
    with tempfile.TemporaryFile() as f:
        f.write(b"f" * 500); f.flush(); os.sendfile(c.fileno(), f.fileno(), 0, 500)
        os.lseek(f.fileno(), 0, 0); os.read(f.fileno(), 100)
    a.recv(500, socket.MSG_WAITALL)
    c.shutdown(socket.SHUT_WR); a.recv(10)
    d = os.dup(a.fileno()); a.close(); os.write(d, b"by the other"); c.recv(12); os.close(d)
    c.close(); l.close()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
v.sendto(b"datagram", u.getsockname()); u.recvfrom(100); u.close(); v.close()
p, q = socket.socketpair(); p.sendall(b"pair"); q.recv(4); p.close(); q.close()
path = os.path.join(tempfile.mkdtemp(), "s")
l = socket.socket(socket.AF_UNIX); l.bind(path); l.listen(1)
c = socket.socket(socket.AF_UNIX); c.connect(path); a, _ = l.accept(); c.sendall(b"by path"); a.recv(7)
a.close(); c.close(); l.close()
r = socket.socket()
try: r.connect(("127.0.0.1", 1))
except OSError: pass
r.close()
`

// straced are the lines that strace -yy writes of calls for sockets: name, what follows the descriptor, result.
var straced = regexp.MustCompile(`(?m)^(?:\d+ +)?(\w+)\(\d+<(?:TCP|TCPv6|UDP|UNIX)[^ ]*[,)].* = (-?\d+)(<[^ ]*>)?(?: (E[A-Z]+).*)?$`)

// TestSocketsAsStrace: what @sockets tells of a program is what strace tells of it, call by call and byte for byte.
func TestSocketsAsStrace(t *testing.T) {
	strobetest.NeedCommand(t, "strace")
	dir, pythons := t.TempDir(), strobetest.Pythons(t)
	python := pythons[len(pythons)-1].Path // itself: a shell script of pyenv may have sockets of its own
	program, log := filepath.Join(dir, "sockets.py"), filepath.Join(dir, "strace")
	if err := os.WriteFile(program, []byte(socketProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("strace", "-yy", "-o", log, python, "-S", program).CombinedOutput(); err != nil {
		t.Fatalf("strace: %v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range straced.FindAllStringSubmatch(string(text), -1) {
		switch name, n := m[1], m[2]; name {
		case "accept", "accept4", "bind", "listen", "connect", "shutdown", "close":
			want = append(want, strings.TrimSpace(strings.TrimSuffix(name, "4")+" "+m[4]))
		case "read", "write", "readv", "writev", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendfile":
			want = append(want, name+" "+n)
		}
	}
	s := strobetest.Start(t, nil)
	l := s.Launch(t, python, dir, []string{"-S", program}, args{"trace": []string{"@sockets"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Fatalf("ended with %+v: %s", st, s.Output(t, l.SessionID, "stderr"))
	}
	var got []string
	var in, out int64
	told := map[string]bool{}
	for _, e := range socketEvents(t, s, l.SessionID) {
		if e.Call != "" && e.What != "accept" {
			got = append(got, e.Call+" "+strconv.FormatInt(e.Bytes, 10))
		} else {
			got = append(got, strings.TrimSpace(e.What+" "+e.Error))
		}
		in, out = in+e.BytesIn, out+e.BytesOut
		told[e.Method+" "+e.Path+" "+e.Host], told[strconv.Itoa(e.Status)] = true, true
		if e.What == "accept" && (e.Local == "" || e.Transport == "tcp" && e.Peer == "") {
			t.Errorf("accept without addresses: %+v", e)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("@sockets tells\n%s\nstrace\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(want) < 60 || in != out {
		t.Errorf("%d calls by strace; %d bytes came in connections and %d went: they are the program's own", len(want), in, out)
	}
	if !told["GET /made?up=1 x.org"] || !told["204"] {
		t.Errorf("request and answer were not recognised: %v", told)
	}
}

// dialProgram connects to itself, by functions of its own.
const dialProgram = `
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int talk(int fd, const char *s, int n) { return (int)send(fd, s, n, 0); }
int dial(struct sockaddr *to, socklen_t n) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	return connect(fd, to, n) ? -1 : fd;
}
int main(void) {
	int l = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	char b[99];
	if (bind(l, (void *)&a, n) || listen(l, 1) || getsockname(l, (void *)&a, &n)) return 1;
	int c = dial((void *)&a, n), s = accept(l, 0, 0);
	talk(c, "*2\r\n$4\r\nAUTH\r\n$3\r\nxyz\r\n", 23);
	if (read(s, b, 99) != 23) return 2;
	talk(s, "+OK\r\n", 5);
	return read(c, b, 99) != 5;
}
`

// TestSocketsUnderCalls: what goes over the network stands below the call that made it, also in a static program, with
// its addresses; a password is not told; what is open at the end is closed then. Without the pattern nothing is told.
func TestSocketsUnderCalls(t *testing.T) {
	strobetest.NeedCommand(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "dial.c")
	if err := os.WriteFile(source, []byte(dialProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	for _, flag := range []string{"-pie", "-static"} {
		bin := filepath.Join(dir, "dial"+flag)
		if out, err := exec.Command("gcc", "-g", "-O1", flag, "-o", bin, source).CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %v: %s", flag, err, out)
		}
		l := s.Launch(t, bin, dir, nil, args{"trace": []string{"dial", "talk", "@sockets"}})
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
			t.Fatalf("%s ended with %+v", bin, st)
		}
		under := map[int64]string{}
		for _, e := range s.Query(t, l.SessionID, args{"eventType": "function_enter"}).Events {
			under[e.ID] = e.Function
		}
		var got []string
		for _, e := range socketEvents(t, s, l.SessionID) {
			got = append(got, strings.TrimSpace(strings.Join([]string{under[e.ParentEventID], e.What, e.Command + e.Answer}, " ")))
			if (e.What == "send" || e.What == "connect") && (e.Peer == "" || e.Local == "" || e.DurationNs == 0) {
				t.Errorf("%s: %+v lacks an address or its duration", flag, e)
			}
		}
		want := "bind,listen,dial connect,accept,talk send AUTH …,receive AUTH …,talk send +OK,receive +OK,close,close"
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %s, want %s", flag, strings.Join(got, ","), want)
		}
		l = s.Launch(t, bin, dir, nil, args{"trace": []string{"dial"}})
		s.WaitEnd(t, l.SessionID, endLimit)
		if all := socketEvents(t, s, l.SessionID); len(all) > 0 {
			t.Errorf("%s: %+v without the pattern", flag, all)
		}
	}
	for _, pattern := range []string{"@sockets:0", "@sockets:x", "@sockets:99999", "!@sockets", "@socket"} {
		refused(t, s, "debug_launch", args{"command": filepath.Join(dir, "dial-pie"), "projectRoot": dir,
			"trace": []string{pattern}}, "INVALID_PATTERN")
	}
}

// socketEvent is what tests read of events of channel sockets.
type socketEvent struct {
	What, Call, Local, Peer, Transport, Error, Method, Path, Host, Proto, Command, Answer string
	Bytes, BytesIn, BytesOut                                                              int64
	ParentEventID, DurationNs                                                             int64
	Status, Connection                                                                    int
	TLS                                                                                   bool
}

func socketEvents(t *testing.T, s *strobetest.Strobe, id string) (all []socketEvent) {
	t.Helper()
	var page struct{ Events []json.RawMessage }
	s.Call(t, "debug_query", args{"sessionId": id, "eventType": "channel", "channel": "sockets", "limit": 500,
		"maxTokens": 100000, "verbose": true}, &page)
	for _, raw := range page.Events {
		var e socketEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		all = append(all, e)
	}
	return all
}
