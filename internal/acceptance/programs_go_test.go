package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// goWhole is a program from the Go module proxy.
type goWhole struct {
	name, module string   // of a command
	flags        []string // of the build
	pattern      string   // its own functions
	suite        bool     // the module's tests are run
	bin          string   // neither: a command of the machine
	args         []string
	files        map[string]string
	// serves: it is a service, which this uses by its ports; the answers are compared. PORT1 and PORT2 in args and files
	// are those.
	serves func(t *testing.T, ports []string) string
}

const goWholeCode = "package main\n\nimport \"fmt\"\n\ntype T struct{ a []int }\n\nfunc (t *T) sum() (s int) {\n" +
	"\tfor _, x := range t.a {\n\t\ts += x\n\t}\n\treturn\n}\n\nfunc main() {\n\tfmt.Printf(\"%d\\n\", (&T{[]int{1}}).sum(), 2)\n}\n"

var goWholes = []goWhole{
	{name: "yq", module: "github.com/mikefarah/yq/v4@v4.44.6", pattern: "github.com/mikefarah/**",
		args:  []string{"-o=json", ".a[] | select(.b > 1) | .c = \"x\" + .d", "in.yml"},
		files: map[string]string{"in.yml": "a:\n" + strings.Repeat("  - {b: 1, d: no}\n  - {b: 2, d: yes}\n", 30)}},
	{name: "gojq", module: "github.com/itchyny/gojq/cmd/gojq@v0.12.17", pattern: "github.com/itchyny/**",
		args: []string{"-n", "[range(300)] | map(select(. % 3 == 0) | tostring) | group_by(length) | map(join(\",\"))"}},
	{name: "esbuild", module: "github.com/evanw/esbuild/cmd/esbuild@v0.24.2", pattern: "github.com/evanw/**",
		args: []string{"--bundle", "--minify", "a.ts"},
		files: map[string]string{"a.ts": "import {b} from './b'; enum E {A, B}; console.log(b<string>(`x${E.B}`), [...'abc'].map(c => c + c))",
			"b.ts": "export function b<T>(x: T): T[] { class C { #p = 1; get q() { return this.#p } }; return [x, x].slice(new C().q) }"}},
	{name: "gopls", module: "golang.org/x/tools/gopls@v0.20.0", pattern: "golang.org/x/tools/gopls/**",
		args: []string{"check", "main.go"}, files: map[string]string{"main.go": goWholeCode, "go.mod": "module m\n\ngo 1.23\n"}},
	{name: "go vet", bin: "go", pattern: "cmd/**", args: []string{"vet", "."},
		files: map[string]string{"main.go": goWholeCode, "go.mod": "module m\n\ngo 1.23\n"}},
	{name: "staticcheck", module: "honnef.co/go/tools/cmd/staticcheck@v0.6.1", pattern: "honnef.co/go/tools/**",
		args: []string{"."}, files: map[string]string{"main.go": goWholeCode, "go.mod": "module m\n\ngo 1.23\n"}},
	{name: "minify, stripped", module: "github.com/tdewolff/minify/v2/cmd/minify@v2.24.3", flags: []string{"-ldflags=-s -w"},
		pattern: "github.com/tdewolff/**", args: []string{"a.html"}, files: map[string]string{"a.html": "<html><head><style> a { color : red; }" +
			" </style><script> var a = 1 ; function f ( x ) { return x + a } </script></head><body>  <p> text </p> </body></html>"}},
	{name: "Strobe itself", bin: "strobe", pattern: "github.com/strobe-debug/**", args: []string{"scenario", "--schema"}},
	{name: "Caddy, pprof on", module: "github.com/caddyserver/caddy/v2/cmd/caddy@v2.9.1",
		pattern: "github.com/caddyserver/**", args: []string{"run", "--config", "caddy.json"},
		files: map[string]string{"www/a.txt": strings.Repeat("some text\n", 200), "www/d/index.html": "<p>hello</p>",
			"caddy.json": `{"admin":{"listen":"127.0.0.1:PORT2"},"apps":{"http":{"servers":{"s":{"listen":["127.0.0.1:PORT1"],` +
				`"routes":[{"handle":[{"handler":"file_server","root":"www"}]}]}}}},` +
				`"logging":{"logs":{"default":{"level":"PANIC"}}}}`}, serves: useCaddy},
	{name: "gRPC's interoperation server", module: grpcModule + "server@" + grpcVersion, pattern: "google.golang.org/grpc/**",
		args: []string{"-port=PORT1"}, serves: useGRPC},
	{name: "gjson's tests", suite: true, module: "github.com/tidwall/gjson@v1.18.0", pattern: "github.com/tidwall/**",
		args: []string{"."}},
	{name: "bbolt's tests", suite: true, module: "go.etcd.io/bbolt@v1.3.11", pattern: "go.etcd.io/bbolt.**",
		args: []string{"-short", "-run", "TestBucket_(Get|Put|Delete|Stats|For)|TestTx_|TestCursor_", "."}},
	{name: "go-sqlite3's tests, cgo", suite: true, module: "github.com/mattn/go-sqlite3@v1.14.24",
		pattern: "github.com/mattn/**", args: []string{"-run", "TestOpen|TestInsert|TestSelect|TestUpdate|TestFunc|TestAggregat", "."}},
}

// get is the body of an answer.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Errorf("get %s: %v", url, err)
		return ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return fmt.Sprintln(r.StatusCode, len(b), err) + string(b[:min(len(b), 64)])
}

// useCaddy asks for files while the program's own profiler runs.
func useCaddy(t *testing.T, ports []string) (said string) {
	profile := make(chan string)
	go func() {
		r, err := http.Get("http://127.0.0.1:" + ports[1] + "/debug/pprof/profile?seconds=2")
		if err != nil {
			profile <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		profile <- fmt.Sprint("profile ", r.StatusCode, len(b) > 200)
	}()
	for i := range 300 {
		said += get(t, "http://127.0.0.1:"+ports[0]+[]string{"/a.txt", "/d/", "/none"}[i%3])
	}
	return said + <-profile
}

const (
	grpcModule  = "google.golang.org/grpc/interop/"
	grpcVersion = "v1.81.1"
)

// useGRPC has gRPC's own client go through its cases, by the names that it has for them, and then make calls without a rest.
func useGRPC(t *testing.T, ports []string) (said string) {
	client := strobetest.GoCommand(t, grpcModule+"client@"+grpcVersion)
	for _, name := range []string{"empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong",
		"empty_stream", "timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "custom_metadata",
		"special_status_message", "unimplemented_method", "status_code_and_message", "rpc_soak"} {
		c := exec.Command(client, "-server_host=127.0.0.1", "-server_port="+ports[0], "-test_case="+name,
			"-soak_iterations=1000", "-soak_overall_timeout_seconds=60", "-soak_max_failures=0")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("gRPC's %s: %v: %s", name, err, out)
		}
		said += fmt.Sprintln(name, c.ProcessState.ExitCode())
	}
	return said
}

// goTimes is what a run of tests says that is another each time.
var goTimes = regexp.MustCompile(`\(?\d+\.\d+s\)?|\(cached\)|"ts":[\d.]+`)

// goFetches is what the first run of a suite says beside, on a machine that has not all yet.
var goFetches = regexp.MustCompile(`(?m:^go: downloading .*\n)`)

// TestSoakGoPrograms: programs from the Go module proxy and suites of their own tests, with their own functions traced
// and then with all functions, do what they do untraced, and no call is lost.
func TestSoakGoPrograms(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	strobetest.NeedNetwork(t)
	for _, w := range goWholes {
		t.Run(w.name, func(t *testing.T) {
			bin, source := w.build(t)
			patterns := []string{"", w.pattern}
			if w.serves == nil && !w.suite {
				patterns = append(patterns, "**")
			}
			var want string
			var bare time.Duration
			for _, pattern := range patterns {
				began := time.Now()
				got, st := w.run(t, bin, source, pattern)
				took := time.Since(began).Round(10 * time.Millisecond)
				if pattern == "" {
					want, bare = got, took
					continue
				}
				if got != want {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					at = max(0, at-100)
					t.Errorf("with %s it did\n%s\nuntraced\n%s\nfrom byte %d on", pattern, shorten(got[at:]), shorten(want[at:]), at)
				}
				if st.Calls.Dropped > 0 || st.DroppedEvents > 0 || st.EventCount["function_enter"] == 0 {
					t.Errorf("with %s: %+v, %d events dropped: %q", pattern, st.Calls, st.DroppedEvents, st.Warnings)
				}
				t.Logf("%s: %d functions, %d calls, %d of them counted only; %v, untraced %v", pattern, st.HookedFunctions,
					st.Calls.Made, st.Calls.Sampled, took, bare)
			}
		})
	}
}

func shorten(s string) string { return s[:min(len(s), 1000)] }

// build makes the program; of a module's tests, a copy of it that can be written to.
func (w *goWhole) build(t *testing.T) (bin, source string) {
	goBin, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case w.bin == "strobe":
		return strobetest.Binary(t), ""
	case w.bin == "go":
		return goBin, ""
	case !w.suite:
		return strobetest.GoCommand(t, w.module, w.flags...), ""
	}
	out, err := exec.Command("go", "mod", "download", "-json", w.module).Output()
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		t.Fatalf("download %s: %v, %s", w.module, err, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range [][]string{{"cp", "-r", m.Dir + "/.", dir}, {"chmod", "-R", "u+w", dir}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", c, err, out)
		}
	}
	return goBin, dir
}

// run runs it once, and returns what it did.
func (w *goWhole) run(t *testing.T, bin, source, pattern string) (did string, st strobetest.Status) {
	dir, argv := t.TempDir(), slices.Clone(w.args)
	if w.suite {
		dir, argv = source, slices.Concat([]string{"test", "-count=1"}, w.args)
	}
	ports := freePorts(t, 2)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "PORT1", ports[0])
	}
	for name, text := range w.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("PORT1", ports[0], "PORT2", ports[1]).Replace(text)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { did = strings.ReplaceAll(did, dir, "DIR") }()
	env := map[string]string{"XDG_CONFIG_HOME": dir, "XDG_DATA_HOME": dir, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"}
	if pattern == "" {
		cmd := exec.Command(bin, argv...)
		var out, errs bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, os.Environ(), &out, &errs
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		did = w.use(t, ports, cmd.Process.Pid)
		cmd.Wait() //nolint:errcheck // its code is looked at
		return did + w.said(cmd.ProcessState.ExitCode(), out.String(), errs.String()), st
	}
	s := strobetest.Start(t, nil)
	l := s.Launch(t, bin, dir, argv, args{"cwd": dir, "env": env, "trace": []string{pattern}})
	did = w.use(t, ports, l.PID)
	st = s.WaitEnd(t, l.SessionID, 10*time.Minute)
	code := -1
	if st.ExitCode != nil {
		code = *st.ExitCode
	}
	return did + w.said(code, s.Output(t, l.SessionID, "stdout"), s.Output(t, l.SessionID, "stderr")), st
}

// use asks a service, and ends it.
func (w *goWhole) use(t *testing.T, ports []string, pid int) (did string) {
	if w.serves == nil {
		return ""
	}
	strobetest.Eventually(t, time.Minute, "the service answers", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+ports[0])
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	did = w.serves(t, ports)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	return did
}

func (w *goWhole) said(code int, out, errs string) string {
	return goTimes.ReplaceAllString(fmt.Sprintf("code %d\nstdout:\n%s\nstderr:\n%s", code, out,
		goFetches.ReplaceAllString(errs, "")), "TIME")
}
