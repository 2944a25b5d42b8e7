package acceptance

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// manyClients buy on so many connections at once, in all so often.
const manyClients = `
import http.client, sys, threading
host, port, conns, total = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
def client(k):
    c = http.client.HTTPConnection(host, port)
    for i in range(k, total, conns):
        order = "%d-%d" % (k, i)
        c.request("GET", "/buy", headers={"X-Order": order})
        text = c.getresponse().read().decode()
        assert text == "order %s\n" % order, text
threads = [threading.Thread(target=client, args=(k,)) for k in range(conns)]
for t in threads: t.start()
for t in threads: t.join()
`

// clockFitted is what is said of a clock: how far it is off, its drift, how far that may be wrong, messages there and back.
var clockFitted = regexp.MustCompile(`Clock of (\S+) fitted to \S+'s: (\S+) s at the first message, drift (\S+) ppm, ` +
	`within (\S+), by (\d+) messages there and (\d+) back`)

// TestRequestsAcrossClocks: a shop of nginx, a service in Go and Redis is bought from over many connections at once. Each
// hop belongs to the order that it was for, also where the session of the service in the middle was recorded by another
// clock, on this machine or another.
func TestRequestsAcrossClocks(t *testing.T) {
	for _, c := range []string{"nginx", "redis-server", "go", "python3"} {
		strobetest.NeedCommand(t, c)
	}
	sizes := [][2]int{{64, 192}}
	whole := strobetest.Soaks(t, "1,000 requests at 4 and at 64 connections, another clock on one machine; 192 at 64 were made")
	if whole {
		sizes = [][2]int{{4, 1000}, {64, 1000}}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("%d connections", n[0]), func(t *testing.T) { acrossClocks(t, n[0], n[1], whole) })
	}
}

func acrossClocks(t *testing.T, conns, total int, whole bool) {
	dir, host := t.TempDir(), ownAddress(t)
	ports := freePorts(t, 3)
	here := strings.NewReplacer("FRONT", ports[0], "SHOP", ports[1], "REDIS", ports[2], "DIR", dir, "127.0.0.1:", host+":",
		`, "main.*"`, "", "worker_connections 64", "worker_connections 512",
		`--bind, 127.0.0.1`, "--protected-mode, no, --bind, "+host)
	for name, text := range map[string]string{"shop.go": shopService, "clients.py": manyClients,
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
	l := s.Launch(t, pythons[len(pythons)-1].Path, dir, []string{"-S", filepath.Join(dir, "clients.py"), host, ports[0],
		strconv.Itoa(conns), strconv.Itoa(total)}, args{"trace": []string{"@sockets:200"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Fatalf("ended with %+v: %s", st, s.Output(t, l.SessionID, "stderr"))
	}
	ids["clients"] = l.SessionID
	shop := &clockShop{total: total, orders: map[string]map[int64]string{}, clients: l.SessionID}
	for _, name := range []string{"front", "shop", "redis", "clients"} {
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": ids[name], "retain": true}, nil)
		shop.orders[ids[name]] = ordersOf(t, s, ids[name])
	}
	shop.check(t, s, "")

	plain := filepath.Join(dir, "plain.db")
	strobeIn(t, s, "export", ids["shop"], "--format", "session", "-o", plain)
	s.Call(t, "debug_session", args{"action": "delete", "sessionId": ids["shop"]}, nil)
	machines := []string{"elsewhere", ""}
	if strings.HasPrefix(host, "127.") {
		t.Log("no address but the machine's own name for itself: sessions of two machines were not tried")
		machines = machines[1:]
	}
	if !whole {
		machines = machines[:1]
	}
	for i, machine := range machines {
		moved := filepath.Join(dir, fmt.Sprintf("moved%d.db", i))
		first, last := shiftFile(t, plain, moved, 1234000000, 50e-6, machine)
		var got struct{ SessionID string }
		if err := json.Unmarshal(strobeIn(t, s, "import", moved, "--json"), &got); err != nil {
			t.Fatal(err)
		}
		shop.orders[got.SessionID] = ordersOf(t, s, got.SessionID)
		shop.fitted(t, shop.check(t, s, got.SessionID), first, last)
		var res struct{ Hint string }
		s.Call(t, "debug_query", args{"sessionId": l.SessionID, "view": "request", "limit": 1}, &res)
		if !clockFitted.MatchString(res.Hint) {
			t.Errorf("view request says %s", res.Hint)
		}
		s.Call(t, "debug_session", args{"action": "delete", "sessionId": got.SessionID}, nil)
	}
}

// ownAddress is one that others than the machine itself call it by, else 127.0.0.1.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// shiftFile writes a session, of which calls on sockets were recorded alone, as a clock has it that is so much ahead and
// faster by so large a part; machine: also as one of another machine. It says when the first and the last message came.
func shiftFile(t *testing.T, from, to string, ahead int64, faster float64, machine string) (first, last int64) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in, err := store.Open(from)
	must(err)
	defer in.Close()
	sn, err := in.Snapshot(t.Context())
	must(err)
	defer sn.Close()
	m := in.Meta()
	if m.StartMono += ahead; machine != "" {
		m.Host, m.BootID = machine, machine
	}
	out, err := store.Create(to, m, store.Options{})
	must(err)
	for _, th := range sn.Threads() {
		out.Thread(th)
	}
	for _, st := range sn.Streams() {
		_, err := out.Stream(st)
		must(err)
	}
	var all []event.Event
	must(sn.Scan(t.Context(), store.Filter{}, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		if strings.Contains(string(r.Payload), `"what":"receive"`) && strings.Contains(string(r.Payload), `"bytes":`) {
			if last = max(last, r.TS); first == 0 {
				first = r.TS
			}
		}
		all = append(all, event.Event{TS: r.TS + int64(math.Round(float64(r.TS)*faster)), Ret: r.Ret,
			Payload: slices.Clone(r.Payload), Thread: r.Thread, Kind: r.Kind, Flags: r.Flags, Stream: r.Stream})
		return true
	}))
	must(out.Put(all))
	must(out.SetResult(in.Result()))
	must(out.Close())
	return first, last
}

// clockShop is what is known of a shop's requests.
type clockShop struct {
	total   int
	clients string
	orders  map[string]map[int64]string // by session: which order an event was of
}

// clockSpan is one end of a hop.
type clockSpan struct {
	SpanID, ParentSpanID, StartTimeUnixNano, EndTimeUnixNano string
	TraceID                                                  string
	Kind                                                     int
	Attributes                                               []clockAttribute
	session                                                  string
}

type clockAttribute struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

func (s *clockSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

func (s *clockSpan) span(t *testing.T) (from, to int64) {
	t.Helper()
	if _, err := fmt.Sscan(s.StartTimeUnixNano, &from); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(s.EndTimeUnixNano, &to); err != nil {
		t.Fatal(err)
	}
	return from, to
}

// check counts the hops that are right, of four for each request: each is a span at the client and one at the server,
// both of the order that their trace's first one is of. It returns what was said of clocks.
func (c *clockShop) check(t *testing.T, s *strobetest.Strobe, shifted string) string {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), "request", c.clients, "--otlp", "-")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	spans, roots := map[string]*clockSpan{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		var d struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []clockAttribute }
				ScopeSpans []struct{ Spans []*clockSpan }
			}
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		of := clockSpan{Attributes: d.ResourceSpans[0].Resource.Attributes}
		for _, x := range d.ResourceSpans[0].ScopeSpans[0].Spans {
			x.session = of.attribute("strobe.session")
			spans[x.TraceID+x.SpanID] = x
			if x.ParentSpanID == "" && x.session == c.clients {
				roots[x.TraceID] = c.order(t, x)
			}
		}
	}
	right, wrong, guessed, early := 0, 0, 0, 0
	for _, x := range spans {
		by := spans[x.TraceID+x.ParentSpanID]
		root, ours := roots[x.TraceID]
		if x.Kind != 2 || !ours || by == nil || by.Kind != 3 {
			continue
		}
		if root == "" || c.order(t, x) != root || c.order(t, by) != root {
			if wrong++; wrong < 5 {
				t.Errorf("order %q has a hop of %q and %q: %+v, %+v", root, c.order(t, by), c.order(t, x), by, x)
			}
			continue
		}
		right++
		if x.attribute("strobe.guess") != "" {
			guessed++
		}
		from, to := by.span(t)
		if f, u := x.span(t); f < from || u > to {
			early++
		}
	}
	wanted := 4 * c.total
	t.Logf("%q: precision %.4f, recall %.4f, %d of %d hops guessed, %d came before they were sent. %s", shifted,
		float64(right)/float64(max(right+wrong, 1)), float64(right)/float64(wanted), guessed, wanted, early, said.String())
	if wrong > 0 || right > wanted || right*100 < wanted*99 || early > 0 {
		t.Errorf("%d of %d hops are right, %d wrong, %d came before they were sent", right, wanted, wrong, early)
	}
	return said.String()
}

func (c *clockShop) order(t *testing.T, s *clockSpan) string {
	t.Helper()
	id, err := strconv.ParseInt(s.attribute("strobe.event"), 10, 64)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return c.orders[s.session][id]
}

// fitted holds what was said of a clock that is 1.234 s ahead and 50 ppm fast against that, at the first and the last
// message: fleet's contract is 100 µs.
func (c *clockShop) fitted(t *testing.T, said string, first, last int64) {
	t.Helper()
	m := clockFitted.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("nothing of a clock in %q", said)
	}
	offset, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	drift, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		t.Fatal(err)
	}
	at := func(ts int64) float64 { // what is to be added
		return -(1.234e9 + float64(ts)*50e-6)
	}
	off := [2]float64{offset*1e9 - at(first), offset*1e9 + drift*1e-6*float64(last-first) - at(last)}
	t.Logf("%s: wrong by %.1f µs at the first message, %.1f µs at the last one, %.1f s later", m[0], off[0]/1e3, off[1]/1e3,
		float64(last-first)/1e9)
	within, err := time.ParseDuration(m[4])
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range off { // what is said is rounded
		if math.Abs(ns) > 100e3 || math.Abs(ns) > float64(within)*1.01+1e3 {
			t.Errorf("the fit is wrong by %.0f ns", ns)
		}
	}
}
