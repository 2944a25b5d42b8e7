package strobetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What capabilities call breakpoints and stepping.
const (
	broken  = "a breakpoint pauses the thread that comes there, with its arguments"
	decided = "a condition decides whether a thread pauses"
	logged  = "a logpoint tells its message, and nothing pauses"
	stepped = "a step leads from a call into the one that it makes"
)

// standing is what debug_continue says.
type standing struct {
	Status        string `json:"status"`
	PausedThreads []struct {
		Reason    string                     `json:"reason"`
		Function  string                     `json:"function"`
		Line      int                        `json:"line"`
		Arguments map[string]json.RawMessage `json:"arguments"`
	} `json:"pausedThreads"`
}

// pauseBehaviours are of places where a program's threads pause.
func pauseBehaviours(t *testing.T, r *suite) {
	p := r.launch(t, "rounds", nil, map[string]any{"stdin": "pipe"})
	p.agentComes(t)
	// What they say that they can they must; what not, they must give the reason for.
	caps := p.status(t).Capabilities
	offers := map[string]string{broken: caps.Breakpoints, decided: caps.Breakpoints, logged: caps.Breakpoints,
		stepped: caps.Stepping}
	for name, offered := range offers {
		if offered == "none" {
			r.cannot[name] = "Breakpoints are places in machine code only"
		}
	}
	ext := r.extension()
	source, err := os.ReadFile(filepath.Join(r.programs(t), "rounds"+ext))
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	round := func(t *testing.T) {
		t.Helper()
		rounds++
		r.s.Call(t, "debug_session", map[string]any{"action": "input", "sessionId": p.id, "text": "go\n"}, nil)
	}
	// lets the paused thread go on, by an action, to where it pauses again.
	lets := func(t *testing.T, action string) (st standing) {
		t.Helper()
		r.s.Call(t, "debug_continue", map[string]any{"sessionId": p.id, "action": action, "waitMs": 20000}, &st)
		return st
	}
	// sets a point, until the behaviour was looked at. Where the interpreter waits in a system call it may take effect
	// some rounds later.
	sets := func(t *testing.T, point map[string]any) {
		t.Helper()
		type row struct{ Locations int }
		var set struct {
			Breakpoints, Logpoints []row
			PausedThreads          []any
		}
		r.s.Call(t, "debug_breakpoint", map[string]any{"sessionId": p.id, "add": []any{point}}, &set)
		Eventually(t, endWithin, "the point's place", func() bool {
			if rows := append(set.Breakpoints, set.Logpoints...); len(set.PausedThreads) > 0 || len(rows) > 0 &&
				rows[len(rows)-1].Locations > 0 {
				return true
			}
			round(t)
			set.Breakpoints, set.Logpoints, set.PausedThreads = nil, nil, nil
			r.s.Call(t, "debug_breakpoint", map[string]any{"sessionId": p.id}, &set)
			return false
		})
		t.Cleanup(func() {
			r.s.Call(t, "debug_breakpoint", map[string]any{"sessionId": p.id, "remove": []string{"all"}}, nil)
			var none *ToolError
			err := r.s.Try("debug_continue", map[string]any{"sessionId": p.id, "waitMs": 0}, nil)
			if err != nil && !isCode(err, &none, "NOT_PAUSED") {
				t.Error(err)
			}
		})
	}
	// pauses does rounds until the thread stands.
	pauses := func(t *testing.T) (st standing) {
		t.Helper()
		stands := func() bool {
			st = standing{}
			r.s.Call(t, "debug_session", map[string]any{"action": "status", "sessionId": p.id}, &st)
			return len(st.PausedThreads) > 0
		}
		for range 20 {
			if stands() {
				return st
			}
			round(t)
			for until := time.Now().Add(200 * time.Millisecond); time.Now().Before(until); {
				if stands() {
					return st
				}
			}
		}
		t.Fatal("nothing pauses")
		return st
	}
	at := func(t *testing.T, st standing, name string) {
		t.Helper()
		if len(st.PausedThreads) != 1 || st.PausedThreads[0].Function != r.spell("rounds", name) {
			t.Fatalf("it stands %+v, want %s", st, name)
		}
	}
	alpha := map[string]any{"function": r.spell("rounds", "alpha")}
	r.behaviour(t, p, broken, func(t *testing.T) {
		first := rounds + 1
		sets(t, alpha)
		st := pauses(t)
		at(t, st, "alpha")
		// A busy machine tells of an earlier round's pause when a later one was asked for already.
		if n, err := strconv.Atoi(string(st.PausedThreads[0].Arguments["n"])); err != nil || n < first || n > rounds {
			t.Errorf("n is %d (%v) in rounds %d to %d: %+v", n, err, first, rounds, st)
		}
	})
	r.behaviour(t, p, decided, func(t *testing.T) {
		want := strconv.Itoa(rounds + 10)
		sets(t, map[string]any{"function": alpha["function"], "condition": "n == " + want})
		st := pauses(t)
		at(t, st, "alpha")
		if n := string(st.PausedThreads[0].Arguments["n"]); n != want {
			t.Errorf("n is %s, not %s", n, want)
		}
	})
	r.behaviour(t, p, stepped, func(t *testing.T) {
		sets(t, map[string]any{"function": r.spell("rounds", "beta")})
		at(t, pauses(t), "beta")
		st := lets(t, "step-into")
		at(t, st, "alpha")
		if reason := st.PausedThreads[0].Reason; reason != "step" {
			t.Errorf("it paused by %s", reason)
		}
	})
	r.behaviour(t, p, logged, func(t *testing.T) {
		line := lineWith(string(source), "return alpha(n)")
		sets(t, map[string]any{"file": "rounds" + ext, "line": line, "message": "beta has {n}"})
		round(t)
		Eventually(t, endWithin, "its message", func() bool {
			type hit struct{ Message string }
			var page struct{ Events []hit }
			r.s.Call(t, "debug_query", map[string]any{"sessionId": p.id, "eventType": "logpoint"}, &page)
			return slices.ContainsFunc(page.Events, func(h hit) bool { return strings.HasPrefix(h.Message, "beta has ") })
		})
	})
	p.closesInput(t)
	p.endsWith(t, 5)
}

// lineWith is the number of the first line that has a text.
func lineWith(source, text string) int {
	before, _, _ := strings.Cut(source, text)
	return strings.Count(before, "\n") + 1
}
