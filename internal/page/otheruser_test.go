//go:build linux

package page_test

import (
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// nobody is a second user.
const nobody = 65534

// TestGuardOtherUser: a process of another user is not answered, even one that knows the token.
func TestGuardOtherUser(t *testing.T) {
	strobetest.NeedRoot(t)
	s := strobetest.Start(t, nil)
	link := begin(t, s)
	const program = `
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    s.sendall(b"GET /open?%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % sys.argv[2].encode())
    print(len(s.recv(1000)))
except ConnectionError:
    print(0)
`
	for uid, answered := range map[uint32]bool{nobody: false, 0: true} {
		cmd := exec.Command("/usr/bin/python3", "-c", program, link.Port(), link.RawQuery)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := strings.TrimSpace(string(out)) != "0"; got != answered {
			t.Errorf("user %d is answered: %v, want %v", uid, got, answered)
		}
	}
	conn, err := net.Dial("tcp", link.Host)
	if err != nil {
		t.Fatalf("the page is gone after another user asked: %v", err)
	}
	conn.Close()
}
