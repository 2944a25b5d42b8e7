package acceptance

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestChannelCounts: of a server that keeps a log of its own, what the channel recorded is what the log says: requests
// that others made through the relay, and those of the channel itself.
func TestChannelCounts(t *testing.T) {
	strobetest.NeedCommand(t, "python3")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte("<p>page</p>"), 0o666); err != nil {
		t.Fatal(err)
	}
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", args{"command": "python3", "args": []string{"-u", "-m", "http.server", "0", "--bind",
		"127.0.0.1"}, "cwd": dir, "projectRoot": dir}, &l)
	var added struct {
		Channels []struct{ Variables map[string]string }
	}
	s.Call(t, "debug_channel", args{"sessionId": l.SessionID, "action": "add", "channel": "net",
		"options": args{"relay": true}}, &added)
	const each = 25
	var answer struct{ Answer struct{ Status int } }
	for i := range each { // the first one waits until the program listens
		s.Call(t, "debug_channel", args{"sessionId": l.SessionID, "action": "send", "channel": "net",
			"message": args{"do": "request", "path": fmt.Sprintf("/page.html?own%d", i), "withinMs": 60000}}, &answer)
		if answer.Answer.Status != 200 {
			t.Fatalf("request %d: %+v", i, answer)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	for i := range each {
		res, err := client.Get(fmt.Sprintf("http://%s/page.html?relayed%d", added.Channels[0].Variables["relay"], i))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(body) != "<p>page</p>" {
			t.Errorf("relayed request %d: %q, %v", i, body, err)
		}
	}
	heard := func(match args) int64 {
		var h struct{ TotalCount int64 }
		s.Call(t, "debug_channel", args{"sessionId": l.SessionID, "action": "query", "channel": "net", "match": match,
			"limit": 1}, &h)
		return h.TotalCount
	}
	strobetest.Eventually(t, 10*time.Second, "the end of all connections", func() bool {
		return heard(args{"what": "connection"}) == each
	})
	log := s.Output(t, l.SessionID, "stderr")
	if own, relayed := strings.Count(log, "GET /page.html?own"), strings.Count(log, "GET /page.html?relayed"); own != each ||
		relayed != each {
		t.Errorf("the program's own log has %d and %d requests, want %d of each", own, relayed, each)
	}
	for what, match := range map[string]args{
		"own requests":     {"what": "request", "path": args{"contains": "?own"}},
		"relayed requests": {"what": "request", "direction": "in", "path": args{"contains": "?relayed"}},
		"own answers":      {"what": "answer", "status": 200, "bytes": 11, "path": args{"contains": "?own"}},
		"relayed answers":  {"what": "answer", "status": 200, "bytes": 11, "path": args{"contains": "?relayed"}},
	} {
		if n := heard(match); n != each {
			t.Errorf("%s: %d recorded, want %d", what, n, each)
		}
	}
	s.Stop(t, l.SessionID)
}
