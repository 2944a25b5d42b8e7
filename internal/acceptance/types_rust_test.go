package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestRustTypes compares what debug_query shows of Rust's library types and of a program's own ones, at several depths,
// with what the program computes from the values: everything right in debug builds; in release builds right or
// <optimized out>, never wrong.
func TestRustTypes(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	depths := []int{6, 2}
	if strobetest.Soaks(t, "depths 1, 3 and 10") {
		depths = append(depths, 1, 3, 10)
	}
	for _, target := range []string{"types_library", "types_own"} {
		for _, variant := range []string{"rust-debug", "rust-release"} {
			for _, depth := range depths {
				t.Run(fmt.Sprintf("%s/%s/%d", target, variant, depth), func(t *testing.T) {
					checkRustTypes(t, s, target, variant == "rust-debug", depth, strobetest.Build(t, target, variant))
				})
			}
		}
	}
}

// wanted is one line of the program: what must be shown of an argument or result.
type wanted struct {
	Case string          `json:"case"`
	Arg  string          `json:"arg"` // or "return"
	Want json.RawMessage `json:"want"`
}

// typeCase finds the case in a function's qualified name.
var typeCase = regexp.MustCompile(`::((?:take|make)_\w+)(?:(?:::)?<|$)`)

func checkRustTypes(t *testing.T, s *strobetest.Strobe, target string, exact bool, depth int, path string) {
	l := s.Launch(t, path, strobetest.TargetsDir(t), []string{fmt.Sprint(depth)},
		args{"trace": []string{"**::take_*", "**::make_*"},
			"serializationDepth": depth, "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Fatalf("%s ended as %+v", target, st)
	}
	right, missing, uncalled := shownAsPrinted(t, s, l.SessionID, typeCase, exact, exact)
	t.Logf("%d functions hooked; values right %d, optimized out %d, functions never called %d", l.HookedFunctions, right,
		missing, uncalled)
	if missing > right/5 || uncalled > right/10 {
		t.Errorf("too little was seen to tell")
	}
}

// shownAsPrinted compares every value that a program printed of itself with what its calls show of it; allCalled: each
// case must be seen.
func shownAsPrinted(t *testing.T, s *strobetest.Strobe, session string, cases *regexp.Regexp, exact,
	allCalled bool) (right, missing, uncalled int) {
	t.Helper()
	seen := calls(t, s, session, cases)
	for _, line := range strings.Split(strings.TrimSpace(s.Output(t, session, "stdout")), "\n") {
		var w wanted
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		got := seen[w.Case]
		if got == nil || got.enters == 0 {
			if uncalled++; allCalled {
				t.Errorf("%s: was not seen", w.Case)
			}
			continue
		}
		shown := got.ret
		if w.Arg != "return" {
			shown = got.args[w.Arg]
		}
		g, want := oneForm(shown), oneForm(w.Want)
		switch {
		case g == want:
			right++
		case !exact && strings.Contains(g, optimizedOut) && (g == optimizedOut || partly(g, want)):
			missing++
			t.Logf("%s: %s = %.100s", w.Case, w.Arg, g)
		default:
			t.Errorf("%s: %s = %.700s\n  want %.700s", w.Case, w.Arg, g, want)
		}
	}
	return right, missing, uncalled
}

// oneForm takes the space out of JSON. The order of members stays: it is part of what a map shows.
func oneForm(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return "nothing: " + string(raw)
	}
	return b.String()
}

// TestBrokenRustTypes shows objects of library types whose memory is not theirs: every call is there, with an argument
// of some length, and the program does not notice.
func TestBrokenRustTypes(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"rust-debug", "rust-release"} {
		for depth := 1; depth <= 10; depth += 3 {
			t.Run(fmt.Sprintf("%s/%d", variant, depth), func(t *testing.T) {
				const rounds, functions = 50, 20
				l := s.Launch(t, strobetest.Build(t, "types_broken", variant), strobetest.TargetsDir(t),
					[]string{fmt.Sprint(rounds), fmt.Sprint(depth * 7919)},
					args{"trace": []string{"**::take_*", "!std::**", "!core::**", "!alloc::**"}, "serializationDepth": depth,
						"onFullBuffer": "block"})
				defer s.Stop(t, l.SessionID)
				st := s.WaitEnd(t, l.SessionID, endLimit)
				if out := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 ||
					out != fmt.Sprintf("%d rounds\n", rounds) {
					t.Fatalf("printed %q and ended as %+v", out, st)
				}
				counts, longest := map[string]int{}, 0
				for after := int64(0); ; {
					p := s.Query(t, l.SessionID, args{"eventType": "function_enter", "verbose": true, "limit": 500,
						"afterEventId": after})
					for _, e := range p.Events {
						counts[e.Function]++
						longest = max(longest, len(e.Arguments))
						if len(e.Arguments) > 1<<20 || len(e.Arguments) < len(`{"v":1}`) {
							t.Errorf("%s has %d bytes of arguments: %.300s", e.Function, len(e.Arguments), e.Arguments)
						}
					}
					if !p.HasMore || len(p.Events) == 0 {
						break
					}
					after = p.LastEventID
				}
				if len(counts) != functions {
					t.Errorf("%d functions were called, want %d", len(counts), functions)
				}
				for name, n := range counts {
					if n != rounds {
						t.Errorf("%s was called %d times, want %d", name, n, rounds)
					}
				}
				t.Logf("the longest arguments have %d bytes", longest)
			})
		}
	}
}
