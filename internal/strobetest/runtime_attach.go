package strobetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

// attachBehaviours come to a program that runs already.
func attachBehaviours(t *testing.T, r *suite) {
	command, arguments := r.command(t, "rounds")
	cmd := exec.Command(command, arguments...)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	lines, n := bufio.NewReader(out), 0
	hears := func(t *testing.T, want string) {
		t.Helper()
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("the program says %q, want %q: %v", got, want, err)
		}
	}
	round := func(t *testing.T) {
		t.Helper()
		if _, err := io.WriteString(in, "go\n"); err != nil {
			t.Fatal(err)
		}
		n++
		hears(t, fmt.Sprintf("round %d\n", n))
	}
	attach := func(t *testing.T) *program {
		t.Helper()
		p := &program{r: r, name: "rounds", dir: cmd.Dir}
		r.s.Call(t, "debug_launch", map[string]any{"pid": cmd.Process.Pid, "projectRoot": r.programs(t),
			"trace": []string{r.spell("rounds", "alpha*")}}, &p.launched)
		p.id = p.launched.SessionID
		return p
	}
	round(t)
	p := attach(t)
	r.behaviour(t, p, "a program that runs is traced from its next calls on", func(t *testing.T) {
		round(t)
		if a, b := p.count(t, "alpha"), p.count(t, "alphabet"); a != 1 || b != 1 {
			t.Errorf("%d calls of alpha and %d of alphabet, want 1 and 1", a, b)
		}
	})
	r.behaviour(t, p, "patterns are added while a program is attached to", func(t *testing.T) {
		p.trace(t, []string{r.spell("rounds", "beta")}, nil)
		round(t)
		if b := p.count(t, "beta"); b != 1 {
			t.Errorf("%d calls of beta, want 1", b)
		}
	})
	r.s.Stop(t, p.id)
	round(t)
	p = attach(t)
	r.behaviour(t, p, "a program that was let go can be attached to again", func(t *testing.T) {
		round(t)
		if a, b := p.count(t, "alpha"), p.count(t, "beta"); a != 1 || b != 0 {
			t.Errorf("%d calls of alpha and %d of beta, want 1 and 0", a, b)
		}
	})
	r.s.Stop(t, p.id)
	r.behaviour(t, p, "a program that was attached to ends as it would", func(t *testing.T) {
		round(t)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		hears(t, "bye\n")
		err := cmd.Wait()
		ended = true
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 5 {
			t.Errorf("it ended with %v, want code 5", err)
		}
	})
}
