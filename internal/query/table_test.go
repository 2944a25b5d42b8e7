package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// sums is 60 calls of app::add(a, 1), whose result is a but for one, one that threw, and one that still runs.
func sums(t testing.TB) *script {
	s := newScript(t)
	for i := range 60 {
		s.call(fnAdd, uint64(i), 1)
		switch i {
		case 30:
			s.ret(fnAdd, -5)
		case 40:
			s.end(fnAdd, event.Unwound)
		default:
			s.ret(fnAdd, int64(i))
		}
	}
	for i := range 4 {
		s.call(fnOK, uint64(i))
		s.ret(fnOK, 1)
	}
	s.call(fnAdd, 61, 1)
	s.store(t)
	return s
}

func TestTable(t *testing.T) {
	s := sums(t)
	for name, req := range map[string]Request{
		"all":    {},
		"cursor": {AfterEventID: new(int64(100)), Limit: 4},
		"sorted": {Order: "-a", Limit: 4},
		"fields": {Fields: []string{"result", "b"}, Limit: 3},
		"expr":   {Fields: []string{"a * 2 - result", "a > 20 && b == 1", "thrown"}, Limit: 6},
		"odd":    {Function: &NameFilter{Equals: "app::add"}, ReturnValue: &ValueFilter{LessThan: "0"}},
		"small":  {MaxTokens: 300},
		"tree":   {Function: &NameFilter{Contains: "hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.View = "table"
			res := ask1(t, s.st, req)
			golden(t, "table_"+name+".golden", fmt.Sprintf("%stotal %d, more %v, last %d\nhint: %s\n", res.Text, res.TotalCount,
				res.HasMore, res.LastEventID, res.Hint))
		})
	}
}

// TestTablePages: the cursor leads through all calls, each once, whatever the budget is.
func TestTablePages(t *testing.T) {
	m := newModel(t, 11, store.Options{MaxEvents: 1 << 40})
	m.grow(6000)
	m.store(t)
	want := map[int64]bool{}
	for i := range m.events {
		if e := &m.events[i]; e.Kind == event.FunctionEnter && e.Func == fnMove {
			want[e.id] = true
		}
	}
	row := regexp.MustCompile(`(?m)^!?#(\d+)(?:\s+×(\d+))?`)
	for _, tokens := range []int{200, 700, 4000} {
		calls, after := 0, int64(0)
		for page := 0; ; page++ {
			res := ask1(t, m.st, Request{View: "table", Function: &NameFilter{Equals: modelNames[fnMove]}, MaxTokens: tokens,
				AfterEventID: &after})
			if n := len(res.Text); n > tokens*TokenBytes {
				t.Errorf("%d bytes for %d tokens", n, tokens)
			}
			for _, found := range row.FindAllStringSubmatch(res.Text, -1) {
				id, _ := strconv.ParseInt(found[1], 10, 64)
				if id <= after || !want[id] {
					t.Fatalf("page after %d shows %d, which is no call of it:\n%s", after, id, res.Text)
				}
				n, _ := strconv.Atoi(found[2])
				if !res.HasMore || id <= res.LastEventID {
					calls += max(n, 1)
				}
			}
			if !res.HasMore {
				break
			}
			if res.LastEventID <= after || page > len(want) {
				t.Fatalf("the cursor stays at %d", after)
			}
			after = res.LastEventID
		}
		if calls < len(want) {
			t.Errorf("%d tokens: pages have %d calls, want %d", tokens, calls, len(want))
		}
	}
}

// TestTableFollowsTheBudget: an answer is never longer than it may be.
func TestTableFollowsTheBudget(t *testing.T) {
	m := newModel(t, 5, store.Options{MaxEvents: 1 << 40})
	m.grow(8000)
	m.store(t)
	for _, tokens := range []int{200, 350, 900, 2000} {
		for fn := range numFuncs {
			res := ask1(t, m.st, Request{View: "table", Function: &NameFilter{Equals: modelNames[fn]}, MaxTokens: tokens})
			if n := len(res.Text) + len(res.Hint); n > tokens*TokenBytes {
				t.Errorf("%s: %d bytes for %d tokens:\n%s%s", modelNames[fn], n, tokens, res.Text, res.Hint)
			}
			if !strings.Contains(res.Text, "call") {
				t.Errorf("%s: no rows:\n%s", modelNames[fn], res.Text)
			}
		}
	}
}

func TestTableRefuses(t *testing.T) {
	s := sums(t)
	for _, req := range []Request{{View: "table", Order: "nope"}, {View: "table", Fields: []string{"nope"}}} {
		_, err := Run(t.Context(), s.st, req, Env{})
		if err == nil || !strings.Contains(err.Error(), "nope") {
			t.Errorf("Run(%+v) = %v", req, err)
		}
	}
}

func TestInvariants(t *testing.T) {
	s := sums(t)
	for name, req := range map[string]Request{
		"all":   {},
		"one":   {Function: &NameFilter{Equals: "app::add"}},
		"few":   {Function: &NameFilter{Equals: "app::ok"}},
		"small": {MaxTokens: 250},
		"none":  {Function: &NameFilter{Contains: "hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.View = "invariants"
			res := ask1(t, s.st, req)
			golden(t, "invariants_"+name+".golden", fmt.Sprintf("%stotal %d, more %v\nhint: %s\n", res.Text, res.TotalCount,
				res.HasMore, res.Hint))
		})
	}
}

func TestSummary(t *testing.T) {
	for name, s := range map[string]*script{"orders": orders(t), "sums": sums(t)} {
		res := ask1(t, s.st, Request{View: "summary"})
		golden(t, "summary_"+name+".golden", fmt.Sprintf("%stotal %d, more %v\nhint: %s\n", res.Text, res.TotalCount, res.HasMore,
			res.Hint))
		small := ask1(t, s.st, Request{View: "summary", MaxTokens: 300})
		if n := len(small.Text); n > 300*TokenBytes || !small.HasMore && n < len(res.Text) {
			t.Errorf("%d bytes for 300 tokens, more %v", n, small.HasMore)
		}
	}
	if _, err := Run(t.Context(), sums(t).st, Request{View: "summary", PID: new(int64(100))}, Env{}); err == nil {
		t.Error("a summary takes a filter")
	}
}

func TestWhy(t *testing.T) {
	o, s := orders(t), sums(t)
	for name, c := range map[string]struct {
		s  *script
		id int64
	}{
		"odd": {s, 62}, "inner": {o, 43}, "output": {o, 162}, "thrown": {o, 174}, "open": {o, 1}, "exception": {o, 172},
	} {
		res := ask1(t, c.s.st, Request{View: "why", Under: c.id})
		golden(t, "why_"+name+".golden", fmt.Sprintf("%smore %v\nhint: %s\n", res.Text, res.HasMore, res.Hint))
		if small := ask1(t, c.s.st, Request{View: "why", Under: c.id, MaxTokens: 250}); len(small.Text) > 250*TokenBytes {
			t.Errorf("%d bytes for 250 tokens", len(small.Text))
		}
	}
	for _, req := range []Request{{View: "why"}, {View: "why", Under: 1, ThreadID: new(int64(1))}, {View: "why", Under: 9999}} {
		if _, err := Run(t.Context(), s.st, req, Env{}); err == nil {
			t.Errorf("Run(%+v) answers", req)
		}
	}
}

// TestSummaryOfReleased: a program that was let go is not said to have ended.
func TestSummaryOfReleased(t *testing.T) {
	st := sums(t).st
	for want, r := range map[string]store.Result{": observed no more, ": {Status: "exited"},
		": exited 0, ": {Status: "exited", ExitCode: new(int)}, ": crashed SIGSEGV, ": {Status: "crashed", Signal: "SIGSEGV"}} {
		if err := st.SetResult(r); err != nil {
			t.Fatal(err)
		}
		if res := ask1(t, st, Request{View: "summary"}); !strings.Contains(res.Text, want) {
			t.Errorf("%s, want %q", res.Text, want)
		}
	}
}

func TestShortCommand(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/tmux -f /dev/null new":        "tmux -f /dev/null new",
		`"/opt/my tools/a b" x "/y z"`:          `"a b" x "/y z"`,
		"cat":                                   "cat",
		"":                                      ".",
		`"unended /x`:                           `"unended /x`,
		"/bin/sh -c " + strings.Repeat("x", 99): "sh -c " + strings.Repeat("x", 74) + "…(+25 bytes)",
	} {
		if got := shortCommand(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
