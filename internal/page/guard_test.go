package page_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// begin starts `strobe ui` beside a daemon's home, and returns the link that it printed. It ends with the test, as
// Ctrl-C ends it.
func begin(t *testing.T, s *strobetest.Strobe, args ...string) *url.URL {
	t.Helper()
	cmd := exec.Command(s.Bin, append([]string{"ui", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // Wait says it
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("strobe ui ended with %v after an interrupt", cmd.ProcessState)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("strobe ui printed no link: %v", err)
	}
	var said struct{ URL string }
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(said.URL)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// browser is a client that keeps cookies.
func browser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask sends a request with headers, and returns its status and text.
func ask(t *testing.T, c *http.Client, method, to, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	policy := a.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "http") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%s %s has the policy %q", method, to, policy)
	}
	return a.StatusCode, string(text)
}

// TestGuard: who has not the link is not answered, nor is a page from elsewhere in the browser that has it.
func TestGuard(t *testing.T) {
	s := strobetest.Start(t, nil)
	link := begin(t, s)
	base := "http://" + link.Host
	if name := link.Hostname(); name != "127.0.0.1" {
		t.Fatalf("the page is served on %s", name)
	}
	mine, other := browser(t), browser(t)
	for _, path := range []string{"/", "/app.js", "/api/sessions", "/api/picture?s=x", "/open", "/open?token=x",
		"/open?token=" + strings.Repeat("A", 43)} {
		if code, text := ask(t, other, "GET", base+path, ""); code != http.StatusUnauthorized {
			t.Errorf("GET %s without a token: %d %.80s", path, code, text)
		}
	}
	// The link opens the page once; who has opened it may do so again.
	if code, text := ask(t, mine, "GET", link.String(), ""); code != http.StatusOK || !strings.Contains(text, "<title>") {
		t.Fatalf("the link: %d %.200s", code, text)
	}
	if code, _ := ask(t, other, "GET", link.String(), ""); code != http.StatusUnauthorized {
		t.Errorf("the link, again, in another browser: %d", code)
	}
	if code, _ := ask(t, mine, "GET", link.String(), ""); code != http.StatusOK {
		t.Errorf("the link, again, in the same browser: %d", code)
	}
	port := link.Port()
	for _, c := range []struct {
		what    string
		code    int
		method  string
		path    string
		headers []string
	}{
		{"the page itself", 200, "GET", "/api/sessions", nil},
		{"the page itself", 200, "GET", "/api/sessions", []string{"Origin", base, "Sec-Fetch-Site", "same-origin"}},
		{"a tunnel", 200, "GET", "/api/sessions", []string{"Host", "localhost:9", "Origin", "http://localhost:9"}},
		{"a name that leads here", 403, "GET", "/", []string{"Host", "evil.example:" + port}},
		{"a name that leads here", 403, "GET", "/api/sessions", []string{"Host", "127.0.0.1.evil.example"}},
		{"a name that leads here, of its own origin", 403, "POST", "/api/query",
			[]string{"Host", "evil.example:" + port, "Origin", "http://evil.example:" + port}},
		{"another origin", 403, "POST", "/api/query", []string{"Origin", "https://evil.example"}},
		{"another port", 403, "GET", "/api/sessions", []string{"Origin", "http://127.0.0.1:1"}},
		{"a sandbox", 403, "GET", "/api/sessions", []string{"Origin", "null"}},
		{"an image of another site", 403, "GET", "/app.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
		{"another site on this host", 403, "GET", "/api/sessions", []string{"Sec-Fetch-Site", "same-site"}},
		{"a link to an answer", 403, "GET", "/api/sessions", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}},
	} {
		at, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		cookie := mine.Jar.Cookies(at)[0].String() // a client in Go sends none to another name
		if code, text := ask(t, other, c.method, base+c.path, "{}", append(c.headers, "Cookie", cookie)...); code != c.code {
			t.Errorf("%s: %s %s is answered with %d, want %d: %.80s", c.what, c.method, c.path, code, c.code, text)
		}
	}
	if code, text := ask(t, mine, "GET", base+"/api/lanes?s=no-such", ""); code != 404 ||
		!strings.Contains(text, "SESSION_NOT_FOUND") || strings.Contains(text, "debug_") {
		t.Errorf("a session that does not exist: %d %s", code, text)
	}
	if code, text := ask(t, mine, "POST", base+"/api/query", `{"sessionId":`); code != 400 ||
		!strings.Contains(text, "VALIDATION_ERROR") {
		t.Errorf("a broken question: %d %s", code, text)
	}
}

// TestPageOutlivesDaemon: a daemon that was stopped under the page is started again by its next request.
func TestPageOutlivesDaemon(t *testing.T) {
	s := strobetest.Start(t, nil)
	link, c := begin(t, s), browser(t)
	if code, text := ask(t, c, "GET", link.String(), ""); code != http.StatusOK {
		t.Fatalf("the link: %d %.200s", code, text)
	}
	s.StopDaemon(t)
	if code, text := ask(t, c, "GET", "http://"+link.Host+"/api/sessions", ""); code != http.StatusOK {
		t.Errorf("after the daemon was stopped: %d %s", code, text)
	}
}
