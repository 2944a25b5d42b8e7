package acceptance

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// shopService is the shop behind nginx: what is bought is kept in Redis. Each command has the order's number in it, so
// that it can be counted which request it was really for.
const shopService = `package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

type redis struct {
	net.Conn
	r *bufio.Reader
}

func ask(c *redis, words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	io.WriteString(c, b.String())
	line, _ := c.r.ReadString('\n')
	return strings.TrimSpace(line)
}

func main() {
	pool := make(chan *redis, 3)
	for range cap(pool) {
		c, err := net.Dial("tcp", os.Args[2])
		if err != nil {
			panic(err)
		}
		pool <- &redis{c, bufio.NewReader(c)}
	}
	http.HandleFunc("/buy", func(w http.ResponseWriter, r *http.Request) {
		order := r.Header.Get("X-Order") + r.URL.Query().Get("p")
		c := <-pool
		n := ask(c, "HINCRBY", "stock", order, "1")
		pool <- c
		c = <-pool
		ask(c, "SET", "order:"+order, n)
		pool <- c
		fmt.Fprintf(w, "order %s\n", order)
	})
	fmt.Println("ready")
	panic(http.ListenAndServe(os.Args[1], nil))
}
`

// shopClients buy 50 times each, on 4 connections; then one sends three requests before it reads an answer.
const shopClients = `
import http.client, socket, sys, threading
port = int(sys.argv[1])
def client(k):
    c = http.client.HTTPConnection("127.0.0.1", port)
    for i in range(50):
        order = "%d-%d" % (k, i)
        c.request("GET", "/buy", headers={"X-Order": order})
        text = c.getresponse().read().decode()
        assert text == "order %s\n" % order, text
threads = [threading.Thread(target=client, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
c = socket.create_connection(("127.0.0.1", port))
c.sendall(b"".join(b"GET /buy?p=p%d HTTP/1.1\r\nHost: shop\r\n\r\n" % i for i in range(3)))
got = b""
while got.count(b"order p") < 3: got += c.recv(4096)
`

const shopFront = `daemon off; master_process off; pid DIR/pid; error_log stderr;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  upstream shop { server 127.0.0.1:SHOP; keepalive 3; }
  server { listen 127.0.0.1:FRONT; location / { proxy_pass http://shop; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`

// hopLine is a line of view request: how deep it is, what was asked, its event at the client and at the server.
var hopLine = regexp.MustCompile(`(?m)^( *)(.*?) → .*  #(\d+)[^→]*→#(\d+)([^~\n]*)(~.*)?$`)

// TestRequestsAcrossServices: each request is followed from the client through nginx and a service in Go to Redis, and
// no hop is attributed to another's request, by the numbers that all of them carry.
func TestRequestsAcrossServices(t *testing.T) {
	for _, c := range []string{"nginx", "redis-server", "go"} {
		strobetest.NeedCommand(t, c)
	}
	dir := t.TempDir()
	ports := freePorts(t, 3)
	here := strings.NewReplacer("FRONT", ports[0], "SHOP", ports[1], "REDIS", ports[2], "DIR", dir)
	for name, text := range map[string]string{"shop.go": shopService, "clients.py": shopClients,
		"nginx.conf": here.Replace(shopFront), "up.yaml": here.Replace(shopGroup)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "shop", "shop.go")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	ids := startShop(t, s, dir)
	pythons := strobetest.Pythons(t)
	l := s.Launch(t, pythons[len(pythons)-1].Path, dir, []string{"-S", filepath.Join(dir, "clients.py"), ports[0]},
		args{"trace": []string{"@sockets:200"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Fatalf("ended with %+v: %s", st, s.Output(t, l.SessionID, "stderr"))
	}
	orders := map[string]map[int64]string{} // by session's name: which order an event was of
	for name, id := range ids {
		orders[name] = ordersOf(t, s, id)
	}
	orders["clients"] = ordersOf(t, s, l.SessionID)
	var res struct {
		Text       string
		TotalCount int
	}
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "view": "request", "limit": 500, "maxTokens": 200000}, &res)
	checkHops(t, res.Text, orders)
	// of one event of the service in the middle, all of its request
	for event, order := range orders["shop"] {
		s.Call(t, "debug_query", args{"sessionId": ids["shop"], "view": "request", "under": event}, &res)
		if hops := hopLine.FindAllString(res.Text, -1); len(hops) != 4 || !strings.Contains(res.Text, "order:"+order+" ") {
			t.Errorf("request of event %d, order %s:\n%s", event, order, res.Text)
		}
		break
	}
	refused(t, s, "debug_query", args{"sessionId": l.SessionID, "view": "request", "under": 999999}, "VALIDATION_ERROR")
	refused(t, s, "debug_query", args{"sessionId": l.SessionID, "view": "request", "function": "f"}, "VALIDATION_ERROR")
}

// checkHops counts the hops of 203 requests that are right.
func checkHops(t *testing.T, text string, orders map[string]map[int64]string) {
	t.Helper()
	const wanted = 4 * 203
	by := []string{"clients", "front", "shop", "redis"}
	right, guessed, root := 0, 0, ""
	for _, m := range hopLine.FindAllStringSubmatch(text, -1) {
		depth := min(len(m[1])/2, 2)
		at := func(name, id string) string {
			n, _ := strconv.ParseInt(id, 10, 64)
			return orders[name][n]
		}
		client, server := at(by[depth], m[3]), at(by[depth+1], m[4])
		if depth == 0 {
			if root = client; strings.Contains(m[2], "?p=") { // several in one call, which tells the first's
				_, root, _ = strings.Cut(m[2], "?p=")
				client, server = root, root
			}
		}
		if client != root || server != root || root == "" {
			t.Errorf("order %q has a hop of %q and %q: %s", root, client, server, m[0])
			continue
		}
		right++
		if m[6] != "" {
			guessed++
		}
	}
	t.Logf("%d of %d hops are right, %d of them guessed", right, wanted, guessed)
	if right > wanted || right*100 < wanted*99 || guessed*100 > wanted {
		t.Errorf("%d of %d hops are right, %d of them guessed: %.3000s", right, wanted, guessed, text)
	}
}

var orderNamed = regexp.MustCompile(`(?:X-Order: |\?p=|order:|stock )(\d+-\d+|p\d)`)

// ordersOf says of a session's events on sockets which order each was of.
func ordersOf(t *testing.T, s *strobetest.Strobe, id string) map[int64]string {
	t.Helper()
	orders := map[int64]string{}
	for after := int64(0); ; {
		var page struct {
			Events []struct {
				ID                        int64
				Text, Command, Path, What string
			}
			HasMore bool
		}
		s.Call(t, "debug_query", args{"sessionId": id, "eventType": "channel", "channel": "sockets", "limit": 500,
			"maxTokens": 500000, "verbose": true, "afterEventId": after}, &page)
		for _, e := range page.Events {
			after = e.ID
			if m := orderNamed.FindStringSubmatch(e.Command + " " + e.Path + " " + e.Text); m != nil {
				orders[e.ID] = m[1]
			}
		}
		if !page.HasMore {
			return orders
		}
	}
}

// freePorts are some that nobody listens on.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// shopGroup is the shop as a group.
const shopGroup = `services:
  front: {command: nginx, args: [-e, stderr, -c, DIR/nginx.conf], depends: [shop], trace: ["@sockets:200"], readyWhen: {port: FRONT}}
  shop:
    command: ./shop
    args: ["127.0.0.1:SHOP", "127.0.0.1:REDIS"]
    depends: [redis]
    trace: ["@sockets:200", "main.*"]
    readyWhen: {output: ready, port: SHOP}
  redis:
    command: redis-server
    args: [--port, "REDIS", --bind, 127.0.0.1, --save, "", --dir, .]
    readyWhen: {port: REDIS}
`

// startShop starts the group, and says which session each of its services is.
func startShop(t *testing.T, s *strobetest.Strobe, dir string) map[string]string {
	t.Helper()
	var up struct {
		Sessions []struct{ Name, SessionID string }
	}
	s.Call(t, "debug_launch", args{"group": "up.yaml", "projectRoot": dir}, &up)
	ids := map[string]string{}
	order := ""
	for _, one := range up.Sessions {
		ids[one.Name] = one.SessionID
		order += one.Name + " "
	}
	if order != "redis shop front " {
		t.Fatalf("started %s", order)
	}
	return ids
}
