package acceptance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// scenarioServer adds, echoes, says what it does, writes a file, and asks somebody else where UPSTREAM is set.
const scenarioServer = `
import http.server, json, os, sys, urllib.parse, urllib.request
def add(a, b):
    return a + b
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        u = urllib.parse.urlparse(self.path)
        q = dict(urllib.parse.parse_qsl(u.query))
        status, out = 200, {"ok": True}
        if u.path == "/add":
            out = {"sum": add(int(q["a"]), int(q["b"]))}
            print("sum", out["sum"], flush=True)
        elif u.path == "/file":
            with open(q["name"], "w") as f:
                f.write(q["text"])
        elif u.path == "/up":
            with urllib.request.urlopen(os.environ["UPSTREAM"] + "/v1/" + q["x"]) as r:
                out = {"up": json.load(r)}
        else:
            status = 404
        body = json.dumps(out).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 0), H).serve_forever()
`

// scenarioVerdict is a debug_test_scenario's answer.
type scenarioVerdict struct {
	Passed    bool
	Steps     int64
	SessionID string
	Status    string
	Failed    *struct {
		Index                      int
		At, Expected, Actual, Hint string
		Nearest                    []struct{ Event any }
	}
	Captured map[string]string
}

// step makes one of pairs of name and value.
func step(pairs ...any) args {
	out := args{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// launchScenarioServer runs the server with the channels net and file, its own functions traced.
func launchScenarioServer(t *testing.T, s *strobetest.Strobe) (id, dir string) {
	t.Helper()
	strobetest.NeedCommand(t, "python3")
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server.py"), []byte(scenarioServer), 0o666); err != nil {
		t.Fatal(err)
	}
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", args{"command": "python3", "args": []string{"server.py"}, "cwd": dir, "projectRoot": dir,
		"trace": []string{"server.add"}, "channels": []string{"net", "file:*.txt"}, "env": args{"UPSTREAM": "${net.url}"}}, &l)
	s.Call(t, "debug_channel", args{"sessionId": l.SessionID, "action": "send", "channel": "net", // a busy machine
		"message": args{"do": "request", "path": "/ready", "withinMs": 60000}}, nil)
	return l.SessionID, dir
}

// generated makes a scenario with a known verdict: steps that hold, and at fails, if it is not -1, one that does not.
func generated(rnd *rand.Rand, n int) (steps []args, fails int) {
	wrong := rnd.IntN(2) == 0
	size := 2 + rnd.IntN(5)
	bad := rnd.IntN(size)
	fails = -1
	for i := range size {
		a, b := rnd.IntN(1000), rnd.IntN(1000)
		off := 0
		if wrong && i == bad {
			off = 1 + rnd.IntN(9)
		}
		doit := step("do", "net.request", "path", fmt.Sprintf("/add?a=%d&b=%d", a, b))
		var check []args
		switch rnd.IntN(9) {
		case 0:
			check = []args{doit, step("assert", "net", "status", 200+off, "body", step("sum", a+b))}
		case 1:
			check = []args{doit, step("assert", "net", "body", step("sum", step("between", []int{a + b + off, a + b + off + 5})))}
		case 2:
			check = []args{doit, step("assert", "trace", "function", "server.add", "argument",
				step("name", "a", "equals", a), "returnValue", step("equals", a+b+off), "since", "do",
				"eventType", "function_exit")}
		case 3:
			check = []args{doit, step("assert", "trace", "function", "server.add", "times", 1+off, "since", "do")}
		case 4:
			check = []args{doit, step("assert", "stdio", "stream", "stdout", "text", fmt.Sprintf("sum %d\n", a+b+off), "since", "do",
				"withinMs", 300)}
		case 5:
			name := fmt.Sprintf("f%d-%d.txt", n, i)
			check = []args{step("do", "net.request", "path", "/file?name="+name+"&text="+strings.Repeat("x", 3+i)),
				step("assert", "file:*.txt", "path", name, "size", 3+i+off, "withinMs", 300)}
		case 6:
			check = []args{step("do", "net.request", "path", "/nothing"), step("assert", "net", "status", 404+off)}
		case 7:
			check = []args{step("repeat", 3, "steps", []args{step("do", "net.request", "path", fmt.Sprintf("/add?a=${i}&b=%d", b)),
				step("assert", "net", "body", step("sum", step("lessThan", b+4-3*min(off, 1))))})}
		case 8:
			check = []args{doit, step("capture", "sum", "from", "answer.body.sum"),
				step("do", "net.request", "path", fmt.Sprintf("/add?a=${sum}&b=%d", b)),
				step("assert", "net", "body.sum", a+2*b+off)}
		}
		if off > 0 {
			fails = len(steps) + len(check) - 1
		}
		steps = append(steps, check...)
	}
	return steps, fails
}

func runGenerated(t *testing.T, s *strobetest.Strobe, id string, seed uint64, n int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	failed := 0
	for i := range n {
		steps, fails := generated(rnd, i)
		var v scenarioVerdict
		s.Call(t, "debug_test_scenario", args{"sessionId": id, "scenario": args{"steps": steps}}, &v)
		got := -1
		if v.Failed != nil {
			got = v.Failed.Index
			failed++
		}
		if got != fails || v.Passed != (fails < 0) || v.Status != "running" {
			raw, _ := json.Marshal(steps)
			t.Errorf("scenario %d of seed %d: fails at %d, want %d (%+v, %s): %s", i, seed, got, fails, v.Failed, v.Status, raw)
		}
		if v.Failed != nil && (v.Failed.Expected == "" || v.Failed.Actual == "") {
			t.Errorf("scenario %d: %+v says not why", i, v.Failed)
		}
	}
	t.Logf("%d scenarios, %d of them fail as they have to", n, failed)
}

// TestScenarioVerdicts: scenarios with known results over requests, calls, output and files, each verdict right.
func TestScenarioVerdicts(t *testing.T) {
	s := strobetest.Start(t, nil)
	id, _ := launchScenarioServer(t, s)
	runGenerated(t, s, id, 1, 40)
	s.Stop(t, id)
}

// TestSoakScenarioVerdicts does so with five times as many.
func TestSoakScenarioVerdicts(t *testing.T) {
	if !strobetest.Soaks(t, "200 scenarios") {
		return
	}
	s := strobetest.Start(t, nil)
	id, _ := launchScenarioServer(t, s)
	runGenerated(t, s, id, rand.Uint64(), 200)
	s.Stop(t, id)
}

// TestScenarioStays: after a failure in the middle the program is there, and the other tools look at it; the nearest
// event is the one that was nearly right.
func TestScenarioStays(t *testing.T) {
	s := strobetest.Start(t, nil)
	id, dir := launchScenarioServer(t, s)
	file := filepath.Join(dir, ".strobe", "scenarios", "up.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	text := `
steps:
  - do: net.serve
    match: {path: /v1/*}
    json: {name: ann}
  - do: net.request
    path: /up?x=7
  - assert: net
    body: {up: {name: ann}}
  - assert: net
    direction: out
    path: /v1/7
    method: GET
    times: 1
  - do: file:*.txt.write
    path: seen.txt
    text: hello
  - assert: file:*.txt
    path: seen.txt
    text: {contains: world}
    withinMs: 200
  - note: not reached
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var v scenarioVerdict
	s.Call(t, "debug_test_scenario", args{"sessionId": id, "file": "up.yaml"}, &v)
	if v.Passed || v.Failed.Index != 5 || v.Status != "running" || len(v.Failed.Nearest) == 0 ||
		!strings.Contains(fmt.Sprint(v.Failed.Nearest[0].Event), "seen.txt") {
		t.Fatalf("%+v", v.Failed)
	}
	var p struct {
		Events []struct{ What, Path, Channel string }
	}
	s.Call(t, "debug_query", args{"sessionId": id, "eventType": "channel", "channel": "net",
		"message": args{"what": "request", "direction": "out"}}, &p)
	if len(p.Events) != 1 || p.Events[0].Path != "/v1/7" {
		t.Errorf("requests of the program: %+v", p.Events)
	}
	var proposed struct{ Scenario json.RawMessage }
	s.Call(t, "debug_test_scenario", args{"from": id}, &proposed)
	s.Stop(t, id)

	// What is proposed holds for the same program: only what it was told by its environment is to be added.
	var sc map[string]any
	if err := json.Unmarshal(proposed.Scenario, &sc); err != nil {
		t.Fatal(err)
	}
	sc["launch"].(map[string]any)["env"] = args{"UPSTREAM": "${net.url}"}
	var again scenarioVerdict
	s.Call(t, "debug_test_scenario", args{"scenario": sc}, &again)
	if !again.Passed || again.Steps < 4 {
		t.Errorf("the proposed scenario fails: %+v: %s", again.Failed, proposed.Scenario)
	}
	s.Stop(t, again.SessionID)
}

// TestScenarioRefused: what is wrong with a scenario is said before anything is done, with its place.
func TestScenarioRefused(t *testing.T) {
	s := strobetest.Start(t, nil)
	id, _ := launchScenarioServer(t, s)
	for _, c := range []struct{ steps, code, has string }{
		{`[]`, "VALIDATION_ERROR", "no steps"},
		{`[{"do":"net.requst"}]`, "VALIDATION_ERROR", `steps[0]: channel net takes no message "requst"`},
		{`[{"do":"net.request","pth":"/"}]`, "VALIDATION_ERROR", `unknown field "pth"`},
		{`[{"note":"x"},{"assert":"net","stats":200}]`, "VALIDATION_ERROR", `unknown field "stats" in steps[1]`},
		{`[{"do":"net.request","path":"/${nme}"}]`, "VALIDATION_ERROR", `no variable "nme"`},
		{`[{"assert":"trace","function":{"matches":"("}}]`, "VALIDATION_ERROR", "steps[0]"},
		{`[{"repeat":2,"steps":[{"wait":-1}]}]`, "VALIDATION_ERROR", "steps[0].steps[0]: wait = -1"},
		{`[{"wait":1,"do":"net.request"}]`, "VALIDATION_ERROR", "at once"},
		{`[{"do":"midi.note"}]`, "VALIDATION_ERROR", "key of midi.note is required"},
		{`[{"assert":"audio","pitch":440}]`, "VALIDATION_ERROR", `unknown field "pitch"`},
	} {
		err := s.Try("debug_test_scenario", args{"sessionId": id, "scenario": json.RawMessage(`{"steps":` + c.steps + `}`)}, nil)
		if err == nil || !strings.Contains(err.Error(), c.code) || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v, want %s with %q", c.steps, err, c.code, c.has)
		}
	}
	for _, c := range []struct{ channel, code string }{{"audio:unix:/nowhere/native", "UNSUPPORTED"}, {"nets", "VALIDATION_ERROR"},
		{"net:99999", "VALIDATION_ERROR"}, {"file:/nowhere/*", "VALIDATION_ERROR"}} {
		err := s.Try("debug_channel", args{"sessionId": id, "action": "add", "channel": c.channel}, nil)
		if err == nil || !strings.Contains(err.Error(), c.code) {
			t.Errorf("add %s: %v, want %s", c.channel, err, c.code)
		}
	}
	s.Stop(t, id)
}
