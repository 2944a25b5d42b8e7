package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// http2Front hands gRPC on, and answers HTTP/2 over TLS and without.
const http2Front = `daemon off; master_process off; pid DIR/pid; error_log stderr;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;
  upstream calls { server 127.0.0.1:CALLS; keepalive 2; }
  server {
    listen 127.0.0.1:PLAIN http2; listen 127.0.0.1:TLS ssl http2; root DIR;
    location /grpc.health.v1.Health/ { grpc_pass grpc://calls; }
  }
}
`

// http2Node asks for a file and for none at once.
const http2Node = `
const c = require("http2").connect("http://127.0.0.1:PLAIN")
let open = 2
for (const path of ["/file", "/none"]) {
  const q = c.request({":path": path})
  q.on("data", () => {}).on("end", () => { if (--open == 0) c.close() })
}
`

// TestHTTP2Requests: calls of gRPC are followed from clients on one connection through nginx to the server, each with
// how it ended; nghttp, Node and curl are followed to nginx, within TLS, too.
func TestHTTP2Requests(t *testing.T) {
	for _, c := range []string{"nginx", "go", "node", "nghttp", "curl", "openssl"} {
		strobetest.NeedCommand(t, c)
	}
	dir := t.TempDir()
	ports := freePorts(t, 3)
	here := strings.NewReplacer("PLAIN", ports[0], "TLS", ports[1], "CALLS", ports[2], "DIR", dir)
	for name, text := range map[string]string{"nginx.conf": here.Replace(http2Front), "node.js": here.Replace(http2Node),
		"file": strings.Repeat("f", 70_000), "up.yaml": here.Replace(http2Group)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(in, name string, arg ...string) {
		cmd := exec.Command(name, arg...)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	run(filepath.Join("testdata", "grpc"), "go", "build", "-o", filepath.Join(dir, "grpc"), ".")
	run(dir, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj",
		"/CN=localhost")
	s := strobetest.Start(t, nil)
	s.Call(t, "debug_launch", args{"group": "up.yaml", "projectRoot": dir}, &struct{}{})
	request := func(program string, arg ...string) (text, output string) {
		l := s.Launch(t, program, dir, arg, args{"trace": []string{"@sockets"}})
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
			t.Fatalf("%s ended with %+v: %s", program, st, s.Output(t, l.SessionID, "stderr"))
		}
		var res struct{ Text string }
		s.Call(t, "debug_query", args{"sessionId": l.SessionID, "view": "request", "limit": 500, "maxTokens": 200000}, &res)
		return res.Text, s.Output(t, l.SessionID, "stdout")
	}
	text, output := request(filepath.Join(dir, "grpc"), "call", "127.0.0.1:"+ports[0])
	checkCalls(t, text, output)
	text, _ = request("nghttp", "-n", "http://127.0.0.1:"+ports[0]+"/file", "http://127.0.0.1:"+ports[0]+"/none")
	hasHops(t, text, "nghttp → front", "GET /file → 200", "GET /none → 404")
	text, _ = request("curl", "-sk", "-o", "out", "https://127.0.0.1:"+ports[1]+"/file")
	hasHops(t, text, "curl → front", "GET /file → 200")
	text, _ = request("node", "node.js")
	hasHops(t, text, "node → front", "GET /file → 200", "GET /none → 404")
}

const http2Group = `services:
  front: {command: nginx, args: [-e, stderr, -c, DIR/nginx.conf], depends: [calls], readyWhen: {port: TLS}}
  calls: {command: ./grpc, args: [serve, "127.0.0.1:CALLS"], readyWhen: {output: ready}}
`

// hopEnd is a hop of a call of gRPC: how it ended, between which services.
var hopEnd = regexp.MustCompile(`(?m)^( *)POST /grpc.health.v1.Health/Check → 200 grpc (\d+) [A-Z_]+.* (\S+) → (\S+)  127[^~\n]*(~.*)?$`)

// checkCalls: of each of 100 calls both hops are there, none is guessed, and both ended as the client was told.
func checkCalls(t *testing.T, text, output string) {
	t.Helper()
	wanted, got := map[string]int{}, map[string]int{}
	for line := range strings.Lines(output) {
		_, code, _ := strings.Cut(strings.TrimSpace(line), " ")
		wanted["client "+code+" front"]++
		wanted["front "+code+" calls"]++
	}
	code := ""
	for _, m := range hopEnd.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			code = m[2]
		} else if m[2] != code {
			t.Errorf("a hop that ended with %s led to one with %s", code, m[2])
		}
		if m[5] != "" {
			t.Errorf("guessed: %s", m[0])
		}
		from := strings.Replace(m[3], "grpc", "client", 1)
		if strings.HasSuffix(m[0], "→?") { // a client may end before it noted that it sent; no server ended
			t.Errorf("not known at the server: %s", m[0])
		}
		got[from+" "+m[2]+" "+m[4]]++
	}
	if len(wanted) != 4 || fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("%v, want %v; other lines: %.3000s", got, wanted, hopEnd.ReplaceAllString(text, ""))
	}
}

// hasHops: there is a hop between two services for each beginning of a line, with its end at both, and no other.
func hasHops(t *testing.T, text, between string, lines ...string) {
	t.Helper()
	all := 0
	for line := range strings.Lines(text) {
		if !strings.Contains(line, between) {
			continue
		}
		all++
		if strings.Contains(line, "#?") || strings.Contains(line, "~") {
			t.Errorf("not known: %s", line)
		}
	}
	for _, want := range lines {
		if !strings.Contains("\n"+text, "\n"+want+"  ") {
			t.Errorf("no %s in\n%.2000s", want, text)
		}
	}
	if all != len(lines) {
		t.Errorf("%d hops %s, want %d:\n%.2000s", all, between, len(lines), text)
	}
}
