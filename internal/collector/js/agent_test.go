package js

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for _, name := range []string{"agent.cjs", "hooks.cjs", "bun.cjs", "core.cjs", "control.cjs", "transform.cjs",
		"loader.mjs", "segment_linux_amd64.node"} {
		if strings.HasSuffix(name, ".node") && (err != nil || strings.TrimSpace(string(version)) != agentCompiler) {
			t.Logf("%s is made with gcc %s, here is %s: not compared", name, agentCompiler, version)
			continue
		}
		made, err1 := os.ReadFile(filepath.Join(dir, "dist", name))
		kept, err2 := os.ReadFile(filepath.Join("agent/dist", name))
		if err1 != nil || err2 != nil || !bytes.Equal(made, kept) {
			t.Errorf("the committed %s (%d bytes, %v) is not what its sources make (%d bytes, %v): make generate", name,
				len(kept), err2, len(made), err1)
		}
	}
}

// traced is what a run with the agent left.
type traced struct {
	stdout, stderr string
	calls          string // enters, exits and yields, a line each, without threads' numbers
	applied        []agentlink.Applied
	book           *strobetest.Book
}

// run runs a program with the agent.
func run(t *testing.T, in strobetest.Interpreter, rules []agentlink.Rule, args ...string) traced {
	t.Helper()
	root, err := filepath.Abs("testdata/program")
	if err != nil {
		t.Fatal(err)
	}
	return runIn(t, in, root, rules, args...)
}

func runIn(t *testing.T, in strobetest.Interpreter, root string, rules []agentlink.Rule, args ...string) traced {
	t.Helper()
	b := strobetest.NewBook()
	link, err := agentlink.Listen(agentlink.Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if err := link.Apply(t.Context(), agentlink.Set{Root: root, OnFull: collector.OnFullWait, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	agent, err := filepath.Abs("agent/dist/agent.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := in.Command(args...)
	cmd.Env = append(cmd.Env, agentlink.EnvFolder+"="+link.Dir(), "STROBE_AGENT_WAS=")
	if in.Name == "bun" {
		cmd.Env = append(cmd.Env, "BUN_INSPECT_PRELOAD="+agent)
	} else {
		cmd.Env = append(cmd.Env, "NODE_OPTIONS=--require "+agent)
	}
	r := traced{book: b}
	r.stdout, r.stderr = output(t, cmd)
	link.Close()
	r.calls = b.Calls()
	return r
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
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			for _, program := range []string{"main.js", "semantics.js", "texts.js", "threads.mjs", "crash.js", "crash.mjs",
				"rejected.mjs"} {
				program = "testdata/program/" + program
				stdout, stderr := output(t, in.Command(program))
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
	for _, in := range strobetest.Nodes(t) {
		r := run(t, in, append(everything, agentlink.Rule{ID: 2, On: "name", Glob: "main.sleep**", Not: true}),
			"testdata/program/main.js")
		golden(t, in.Name, "testdata/main.calls", r.calls)
	}
}

// TestCallsOfOthers: Bun and Deno, too, where they run the same program; and what TypeScript's types were is not in the
// way.
func TestCallsOfOthers(t *testing.T) {
	all := strobetest.BunAndDeno(t)
	for _, in := range strobetest.Nodes(t) {
		if in.Name == "node24" || in.Name == "node26" { // which take types out themselves
			all = append(all, in)
		}
	}
	for _, in := range all {
		stdout, _ := output(t, in.Command("testdata/program/shop.ts"))
		r := run(t, in, everything, "testdata/program/shop.ts")
		if r.stdout != stdout {
			t.Errorf("%s wrote\n%s\ninstead of\n%s", in.Name, r.stdout, stdout)
		}
		golden(t, in.Name, "testdata/shop.calls", r.calls)
	}
}

// TestReceivers: what methods are called on, and functions as values by the names that their calls have; the same in
// all of them.
func TestReceivers(t *testing.T) {
	for _, in := range append(strobetest.Nodes(t), strobetest.BunAndDeno(t)...) {
		r := run(t, in, everything, "testdata/program/receivers.cjs")
		golden(t, in.Name, "testdata/receivers.calls", r.calls)
	}
}

// TestFieldsInOrder: what tells a request or an answer stands before names that are its own business, and an object that
// was made of another one has the class of that.
func TestFieldsInOrder(t *testing.T) {
	for _, in := range append(strobetest.Nodes(t), strobetest.BunAndDeno(t)...) {
		r := run(t, in, everything, "testdata/program/order.mjs")
		for _, want := range []string{
			`"t":"Incoming","v":{"method":"GET","url":"/items/7","body":null,"app":"shop","_events":{}}`,
			`"t":"Incoming","v":{"id":2,"_a":1}`, `"t":"IncomingMessage"`,
			`{"$":"repr","v":"http://a.example/b?c=1"}`, `{"$":"repr","v":"c=1"}`,
			`"t":"Hidden","v":{"method":"POST","url":"http://a.example/b"`,
			`"t":"Response","v":{"status":404,"url":""`, `"message":"two","errors":[{"$":"obj","t":"RangeError"`, `{"_own":1,"method":2}`, `"t":"Fake","v":{}`,
		} {
			if !strings.Contains(r.calls, want) {
				t.Errorf("%s: no %s in\n%s%s", in.Name, want, r.calls, r.stderr)
			}
		}
	}
}

// TestProgramsHooks: what a program's own hooks make of a file (tsx) is what is traced.
func TestProgramsHooks(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		r := run(t, in, everything, "testdata/program/hooked.mjs")
		if want := `typed.add {"a":2,"b":3}`; !strings.HasPrefix(r.stdout, "5\n") || !strings.Contains(r.calls, want) {
			t.Errorf("%s wrote %q, no %s in\n%s%s", in.Name, r.stdout, want, r.calls, r.stderr)
		}
	}
}

// TestTSX: a program of TypeScript that tsx compiles, in Node's own thread for hooks or beside the program.
func TestTSX(t *testing.T) {
	if !strobetest.Soaks(t, "tsx") {
		return
	}
	tsx := filepath.Join(strobetest.NodePackages(t, "tsx@4.23.15"), "tsx/dist/loader.mjs")
	for _, in := range strobetest.Nodes(t) {
		r := run(t, in, everything, "--import", tsx, "testdata/program/shop.ts")
		if !strings.Contains(r.calls, "function_enter main shop.") {
			t.Errorf("%s wrote %s%s, and was recorded as\n%s", in.Name, r.stdout, r.stderr, r.calls)
		}
	}
}

// TestBundles: functions of a bundle have the names of their own files by its map, which may be in sections; what the
// bundler made, and packages in it, are none of the user's.
func TestBundles(t *testing.T) {
	user := []agentlink.Rule{{ID: 1, On: "user", Depth: 3}}
	for _, in := range strobetest.Nodes(t) {
		r := run(t, in, user, "testdata/program/bundle [1].cjs")
		want := "function_enter main src.shop.own.own {\"x\":3}\nfunction_exit main src.shop.own.own 7"
		if r.calls != want {
			t.Errorf("%s: %s%s, want\n%s", in.Name, r.calls, r.stderr, want)
		}
	}
}

// golden compares calls with those that a file has.
func golden(t *testing.T, name, file, calls string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(calls+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), calls); diff != "" {
		t.Errorf("%s: calls differ from %s:\n%s", name, file, diff)
	}
}

// TestEveryCallIsThere: of a burst that fills many segments, and of a program that is killed right behind its last
// call.
func TestEveryCallIsThere(t *testing.T) {
	for _, in := range append(strobetest.Nodes(t)[:1], strobetest.BunAndDeno(t)...) {
		for _, end := range []string{"return", "kill"} {
			r := run(t, in, []agentlink.Rule{{ID: 1, On: "name", Glob: "burst.step"}}, "testdata/program/burst.js", end)
			enters, exits, lost := r.book.Count(event.FunctionEnter, "burst.step"),
				r.book.Count(event.FunctionExit, "burst.step"), r.book.LostOf("burst.step")
			if enters != 200_000 || exits != 200_000 || lost != [2]int64{} {
				t.Errorf("%s, %s: %d enters, %d exits, lost %v: want 200,000 of each", in.Name, end, enters, exits, lost)
			}
		}
	}
}

// TestWorkersOfModules: what runs in worker threads is recorded in modules, too, whichever thread loads them.
func TestWorkersOfModules(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		r := run(t, in, []agentlink.Rule{{ID: 1, On: "name", Glob: "threads.square"}}, "testdata/program/threads.mjs")
		if n := r.book.Count(event.FunctionEnter, "threads.square"); n != 4 || r.stdout != "9 81\n9 81\nexit status 0" {
			t.Errorf("%s: %d calls of 4, it printed %q and %q", in.Name, n, r.stdout, r.stderr)
		}
	}
}

// TestWideValues: a function that is handed a large graph in each call tells all of it at first, then what is near; the
// next function has its first call told whole, one whose depth was asked for each call.
func TestWideValues(t *testing.T) {
	for _, in := range append(strobetest.Nodes(t)[:1], strobetest.BunAndDeno(t)...) {
		size := func(asked bool) (first, last, whole int) {
			r := run(t, in, []agentlink.Rule{{ID: 1, On: "name", Glob: "wide.*", Depth: 3, Given: asked}},
				"testdata/program/wide.js")
			var walks []string
			for line := range strings.Lines(r.calls) {
				if strings.Contains(line, `wide.walk {"node"`) {
					walks = append(walks, line)
				}
				if strings.Contains(line, "wide.once {") {
					whole = len(line)
				}
			}
			if len(walks) != 3000 || !strings.Contains(walks[2999], `"text":"text 2999","flag":false`) ||
				!strings.Contains(walks[2999], `"id":59,"label":"node 59"`) {
				t.Fatalf("%s: %d walks, the last %q", in.Name, len(walks), walks[len(walks)-1:])
			}
			return len(walks[0]), len(walks[2999]), whole
		}
		if first, last, whole := size(false); first < 4000 || last > 600 || whole < 4000 {
			t.Errorf("%s: %d bytes in the first call, %d in the last, %d in the other's", in.Name, first, last, whole)
		}
		if first, last, _ := size(true); first < 4000 || last < 4000 {
			t.Errorf("%s, asked for: %d bytes in the first call, %d in the last", in.Name, first, last)
		}
	}
}

// TestBigProgramsAreAsUntraced: compilers and parsers, with every call going through the recorder, give what they give
// without it.
func TestBigProgramsAreAsUntraced(t *testing.T) {
	modules := strobetest.NodePackages(t, "@babel/parser@7.29.14", "@jridgewell/sourcemap-codec@1.6.0", "acorn@8.19.0",
		"esbuild@0.28.2",
		"meriyah@7.4.2", "typescript@5.9.3")
	modes := []string{"finally"}
	if strobetest.Soaks(t, "exits of calls seen by catch") {
		modes = append(modes, "catch")
	}
	for _, mode := range modes {
		in := strobetest.Nodes(t)[0]
		cmd := in.Command("testdata/big.cjs", modules, mode)
		stdout, stderr := output(t, cmd)
		if !strings.HasSuffix(stdout, "exit status 0") || strings.Count(stdout, "equal") != 4 {
			t.Errorf("%s:\n%s%s", mode, stdout, stderr)
		}
	}
}
