package strobetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func patternBehaviours(t *testing.T, r *suite) {
	p := r.launch(t, "rounds", nil, map[string]any{"stdin": "pipe"})
	p.agentComes(t)
	rounds, ext := 0, r.extension()
	// traced are the functions that a round calls with these patterns in force.
	traced := func(t *testing.T, patterns ...string) string {
		t.Helper()
		p.trace(t, patterns, nil)
		from := r.s.Query(t, p.id, map[string]any{"limit": 1}).TotalCount
		rounds++
		p.input(t, "go", fmt.Sprintf("round %d\n", rounds))
		p.trace(t, nil, patterns)
		var names []string
		for i, m := range p.timeline(t).moments {
			if int64(i) >= from && m.EventType == "function_enter" {
				names = append(names, p.plain(m.Function))
			}
		}
		return strings.Join(names, " ")
	}
	all := "alphabet beta alpha Shop.open Shop.close"
	sep := map[bool]string{true: "_", false: "."}[r.sub.Lang == "c"]
	for _, c := range []struct{ behaviour, want, patterns string }{
		{"the whole name is a pattern", "alpha", r.spell("rounds", "alpha")},
		{"* stands for a part of a name", "alphabet alpha", r.spell("rounds", "alpha*")},
		{"** stands for any names", "Shop.open Shop.close", "**Shop" + sep + "**"},
		{"@usercode is all of the program's own", all, "@usercode"},
		{"@file: is all of a file", all, "@file:rounds"},
		{"file: is all of the files of a pattern", all, "file:**/rounds" + ext},
		{"! takes out", "beta Shop.open Shop.close", "@usercode !" + r.spell("rounds", "alpha*")},
		{"patterns add up", "beta Shop.open", r.spell("rounds", "beta") + " " + r.spell("rounds", "Shop.open")},
	} {
		r.behaviour(t, p, c.behaviour, func(t *testing.T) {
			if got := traced(t, strings.Fields(c.patterns)...); got != c.want {
				t.Errorf("%s traces %q, want %q", c.patterns, got, c.want)
			}
		})
	}
	r.behaviour(t, p, "a pattern that matches nothing names what is near", func(t *testing.T) {
		name := r.spell("rounds", "alphabte")
		if a := p.trace(t, []string{name}, nil); !strings.Contains(strings.Join(a.Warnings, "\n"),
			r.spell("rounds", "alphabet")) {
			t.Errorf("warnings %q", a.Warnings)
		}
		p.trace(t, nil, []string{name})
	})
	r.behaviour(t, p, "a pattern says how many functions it matches", func(t *testing.T) {
		if a := p.trace(t, []string{"@usercode"}, nil); a.MatchedFunctions < 5 || a.HookedFunctions < 5 {
			t.Errorf("matched %d, hooked %d", a.MatchedFunctions, a.HookedFunctions)
		}
		p.trace(t, nil, []string{"@usercode"})
	})
	p.closesInput(t)
	p.endsWith(t, 5)
}

func liveBehaviours(t *testing.T, r *suite) {
	p := r.launch(t, "loop", nil, nil)
	name := r.spell("loop", "spin")
	seen := func() int64 {
		info, err := os.Stat(filepath.Join(p.dir, "seen"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	goesOn := func(t *testing.T) {
		t.Helper()
		before := seen()
		Eventually(t, endWithin, "the loop goes on", func() bool { return seen() > before+1 })
	}
	goesOn(t)
	r.behaviour(t, p, "a busy loop is traced while it runs", func(t *testing.T) {
		began := time.Now()
		p.trace(t, []string{name}, nil)
		Eventually(t, endWithin, "the first event", func() bool { return p.count(t, "spin") > 0 })
		t.Logf("first event after %v", time.Since(began))
	})
	r.behaviour(t, p, "nothing is recorded behind a removal", func(t *testing.T) {
		p.trace(t, nil, []string{name})
		n := p.count(t, "spin")
		goesOn(t)
		// One call may have been under way, with its record half written.
		if after := p.count(t, "spin"); after > n+1 {
			t.Errorf("%d calls, then %d", n, after)
		}
	})
	r.behaviour(t, p, "a program that is let go runs on, and ends as it would", func(t *testing.T) {
		p.trace(t, []string{name}, nil)
		r.s.Call(t, "debug_session", map[string]any{"action": "stop", "sessionId": p.id, "kill": false, "retain": true}, nil)
		goesOn(t)
		if err := os.WriteFile(filepath.Join(p.dir, "stop"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		Eventually(t, endWithin, "its end", func() bool { return !running(p.launched.PID) })
		// The last byte comes from what it loads only then.
		if b, err := os.ReadFile(filepath.Join(p.dir, "seen")); err != nil || !strings.HasSuffix(string(b), ".7") {
			t.Errorf("it wrote %d bytes, %q at last: %v", len(b), b[max(0, len(b)-2):], err)
		}
	})
	r.behaviour(t, p, "a session that is stopped ends its program", func(t *testing.T) {
		q := r.launch(t, "loop", nil, map[string]any{"trace": []string{name}})
		r.s.Stop(t, q.id)
		Eventually(t, endWithin, "its end", func() bool { return !running(q.launched.PID) })
	})
}

// running reports whether a process is there and is no zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}

// burst is how many calls a burst has.
const burst = 200000

func burstBehaviours(t *testing.T, r *suite) {
	for _, full := range []string{"wait", "drop", "block"} {
		p := r.launch(t, "burst", []string{fmt.Sprint(burst)},
			map[string]any{"trace": []string{r.spell("burst", "tick")}, "onFullBuffer": full})
		r.behaviour(t, p, "onFullBuffer "+full+": of a burst, calls kept and dropped are those made", func(t *testing.T) {
			p.endsWith(t, 0)
			c := p.status(t).Calls
			if c.Made != burst || c.Recorded+c.Sampled+c.Dropped != burst || full == "block" && c.Recorded != burst {
				t.Errorf("calls %+v, want %d", c, burst)
			}
			if out := r.s.Output(t, p.id, "stdout"); out != fmt.Sprintf("called %d\n", burst) {
				t.Errorf("output %q", out)
			}
		})
	}
	p := r.launch(t, "burst", []string{"20000", "kill"}, map[string]any{"trace": []string{r.spell("burst", "tick")}})
	r.behaviour(t, p, "what was recorded before a SIGKILL is there", func(t *testing.T) {
		if st := p.ended(t); st.Signal != "SIGKILL" {
			t.Errorf("ended %+v", st)
		}
		if n := p.count(t, "tick"); n != 20000 {
			t.Errorf("%d calls", n)
		}
	})
}
