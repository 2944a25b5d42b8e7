package strobetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func familyBehaviours(t *testing.T, r *suite) {
	native := compiledProgram(t, "family")
	p := r.launch(t, "family", []string{native}, map[string]any{"trace": []string{"@usercode", "leaf"}})
	p.endsWith(t, 6)
	tl := p.timeline(t)
	leaf := func(n string) *called {
		for _, c := range tl.of("leaf") {
			if c.arg("n") == n {
				return c
			}
		}
		return nil
	}
	for _, c := range [][2]string{
		{"2", "a child that was forked is traced"}, {"3", "a child of the same runtime is traced"},
		{"4", "a child behind a shell is traced"}, {"5", "a child of machine code is traced"},
	} {
		r.behaviour(t, p, c[1], func(t *testing.T) {
			if l := leaf(c[0]); l == nil || l.PID == p.launched.PID || l.exit == nil {
				t.Errorf("leaf(%s) is %+v; calls of leaf: %d", c[0], l, len(tl.of("leaf")))
			}
		})
	}
	r.behaviour(t, p, "what a process becomes by exec is traced", func(t *testing.T) {
		if l := leaf("8"); l == nil || l.PID != p.launched.PID {
			t.Errorf("leaf(8) is %+v", l)
		}
	})
	r.behaviour(t, p, "a process that starts others is traced before and after", func(t *testing.T) {
		if n := len(tl.of("own")); n != 2 {
			t.Errorf("%d calls of own", n)
		}
	})
}

func endBehaviours(t *testing.T, r *suite) {
	ends := func(how string) *program {
		return r.launch(t, "ends", []string{how}, map[string]any{"trace": []string{"@usercode"}})
	}
	code, quick, uncaught, term := ends("code"), ends("quick"), ends("uncaught"), ends("term")
	r.behaviour(t, code, "the exit code is the program's", func(t *testing.T) { code.endsWith(t, 3) })
	r.behaviour(t, quick, "an end at once keeps what was recorded", func(t *testing.T) {
		quick.endsWith(t, 4)
		if n := quick.count(t, "last"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
	r.behaviour(t, uncaught, "a program that fails keeps its end, its calls and its report", func(t *testing.T) {
		st := uncaught.ended(t)
		code := map[string]int{"go": 2}[r.sub.Lang]
		if code == 0 {
			code = 1
		}
		if r.sub.Lang == "c" && st.Signal != "SIGABRT" || r.sub.Lang != "c" && (st.ExitCode == nil || *st.ExitCode != code) {
			t.Errorf("ended %+v", st)
		}
		if r.sub.Lang != "c" && !strings.Contains(r.s.Output(t, uncaught.id, "stderr"), "uncaught 2") {
			t.Errorf("stderr %q", r.s.Output(t, uncaught.id, "stderr"))
		}
		tl := uncaught.timeline(t)
		if c := tl.one(t, "dies"); !c.exit.Unwound || len(tl.of("last")) != 2 {
			t.Errorf("dies ended %+v", c.exit)
		}
	})
	r.behaviour(t, term, "a signal ends the program as it would", func(t *testing.T) {
		Eventually(t, endWithin, "it waits", func() bool { return r.s.Output(t, term.id, "stdout") == "waits\n" })
		target, err := os.FindProcess(term.launched.PID)
		if err == nil {
			err = target.Signal(syscall.SIGTERM)
		}
		if err != nil {
			t.Fatal(err)
		}
		// A JVM makes an exit of it.
		if st := term.ended(t); r.sub.Lang == "java" && (st.ExitCode == nil || *st.ExitCode != 143) ||
			r.sub.Lang != "java" && st.Signal != "SIGTERM" {
			t.Errorf("ended %+v", st)
		}
		if n := term.count(t, "last"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func untouchedBehaviours(t *testing.T, r *suite) {
	p := r.launch(t, "echo", []string{"one", "two words", "ü"},
		map[string]any{"trace": []string{"@usercode"}, "stdin": "a line\n", "env": map[string]any{"OWN": "1"}})
	command, args := r.command(t, "echo")
	cmd := exec.Command(command, append(args, "one", "two words", "ü")...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader("a line\n")
	cmd.Env = append(os.Environ(), "STROBE_HOME="+r.s.Home, "OWN=1", "PWD="+p.dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 9 {
		t.Fatalf("without strobe: %v", err)
	}
	sees := func(t *testing.T, of func(line string) bool) {
		t.Helper()
		p.endsWith(t, 9)
		only := func(s string) []string {
			return slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return !of(l) })
		}
		if diff := cmp.Diff(only(stdout.String()), only(r.s.Output(t, p.id, "stdout"))); diff != "" {
			t.Errorf("without strobe (-) and with it (+):\n%s", diff)
		}
	}
	ofItself := func(line string) bool { return strings.HasPrefix(line, "source ") }
	r.behaviour(t, p, "the program sees the environment, arguments and input that it would see", func(t *testing.T) {
		sees(t, func(l string) bool { // the daemon is started with a little more
			return !ofItself(l) && !strings.HasPrefix(l, "env STROBE_") && !strings.HasPrefix(l, "env PWD=") &&
				!strings.HasPrefix(l, "env _=")
		})
		if got := r.s.Output(t, p.id, "stderr"); got != stderr.String() {
			t.Errorf("stderr %q, want %q", got, stderr.String())
		}
	})
	r.behaviour(t, p, "the program sees its functions as they are", func(t *testing.T) { sees(t, ofItself) })
	const hooks = "the interpreter's own hooks work for the program"
	if r.lacksAll(t, hooks) {
		return
	}
	h := r.runs(t, "hooks")
	r.behaviour(t, h, hooks, func(t *testing.T) {
		command, args := r.command(t, "hooks")
		want, err := exec.Command(command, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.s.Output(t, h.id, "stdout"); got != string(want) {
			t.Errorf("they saw %s, want %s", got, want)
		}
		if n := h.count(t, "watched"); n < 3 {
			t.Errorf("%d calls of watched", n)
		}
	})
}

// faultBehaviours do harm to what the agent in an interpreter needs.
func faultBehaviours(t *testing.T, r *suite) {
	harm := []struct {
		behaviour string
		do        func(t *testing.T, dir string, p *program)
	}{
		{"a program whose agent's folder goes away runs on", func(t *testing.T, dir string, _ *program) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}},
		{"garbage in what an agent wrote harms nobody, and is told", func(t *testing.T, dir string, _ *program) {
			scribble(t, dir)
		}},
		{"what is to be traced is damaged, and a child runs as it would", func(t *testing.T, dir string, p *program) {
			if err := os.WriteFile(filepath.Join(dir, "start.json"), []byte(`{"m":"set","gen":[`), 0o600); err != nil {
				t.Fatal(err)
			}
			p.input(t, "child", `child 5 'round 1\nbye\n'`)
		}},
	}
	for _, h := range harm {
		if r.lacksAll(t, h.behaviour) {
			continue
		}
		p := r.launch(t, "rounds", nil, map[string]any{"stdin": "pipe", "trace": []string{"@usercode"}})
		r.behaviour(t, p, h.behaviour, func(t *testing.T) {
			p.input(t, "go", "round 1\n")
			dir := agentFolder(p.launched.PID)
			if !strings.Contains(dir, "strobe-agent-") {
				t.Fatalf("the agent's folder is %q", dir)
			}
			h.do(t, dir, p)
			p.input(t, "go", "round 2\n")
			p.closesInput(t)
			p.endsWith(t, 5)
			if strings.HasPrefix(h.behaviour, "garbage") && len(p.status(t).Warnings) == 0 {
				t.Error("no warning tells of it")
			}
		})
	}
}

// scribble writes over the lengths of the records that an agent has not written yet.
func scribble(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.ev"))
	if err != nil || len(names) == 0 {
		t.Fatalf("segments %q: %v", names, err)
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xee}, int(info.Size())-16), 16)
		}
		if err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func sessionBehaviours(t *testing.T, r *suite) {
	extra := map[string]any{"stdin": "pipe", "trace": []string{r.spell("rounds", "beta")}}
	p := r.launch(t, "rounds", nil, extra)
	q := r.launch(t, "rounds", nil, map[string]any{"stdin": "pipe", "trace": []string{r.spell("rounds", "alpha")}})
	p.input(t, "go", "round 1\n")
	q.input(t, "go", "round 1\n")
	r.behaviour(t, p, "a pattern is in force from the start", func(t *testing.T) {
		if n := p.count(t, "beta"); n != 1 {
			t.Errorf("%d calls of beta", n)
		}
	})
	r.behaviour(t, p, "two sessions of one program have each their own", func(t *testing.T) {
		if a, b := p.count(t, "alpha"), q.count(t, "beta"); a != 0 || b != 0 || q.count(t, "alpha") != 1 {
			t.Errorf("%d and %d calls of the other's", a, b)
		}
	})
	r.behaviour(t, p, "the status names the runtime and what it can", func(t *testing.T) {
		p.agentComes(t)
		st := p.status(t)
		if st.Runtime == "" || st.Capabilities.FunctionTracing != "full" || st.Capabilities.RuntimeDetail == "" {
			t.Errorf("%+v", st)
		}
	})
	r.behaviour(t, p, "the status counts the functions that are traced", func(t *testing.T) {
		Eventually(t, endWithin, "a count of 1", func() bool { return p.status(t).HookedFunctions == 1 })
	})
	r.behaviour(t, p, "a session that is deleted leaves no files", func(t *testing.T) {
		dir := agentFolder(p.launched.PID)
		if (dir == "") != !r.inProcess() {
			t.Errorf("the agent's folder is %q", dir)
		}
		r.s.Stop(t, p.id)
		if _, err := os.Stat(dir); dir != "" && !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
		if left, err := filepath.Glob(filepath.Join(r.s.Home, "sessions", p.id+".*")); err != nil || len(left) > 0 {
			t.Errorf("%q are left, %v", left, err)
		}
	})
}
