package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// sized asks with a budget, and fails where the answer is over it. What the front would cut from it is cut, since it
// is never sent otherwise, and counted.
func sized(t *testing.T, st *store.Store, req Request, env Env) *Result {
	t.Helper()
	res, err := Run(context.Background(), st, req, env)
	if err != nil {
		t.Fatalf("Run(%+v) = %v", req, err)
	}
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(res); err != nil {
		t.Fatal(err)
	}
	if n, limit := b.Len()-1, req.MaxTokens*TokenBytes; n > limit && req.MaxTokens >= 400 {
		t.Errorf("view %s: %d bytes for %d tokens of %d bytes: %.300s …", req.View, n, req.MaxTokens, TokenBytes, b.Bytes())
	}
	return res
}

// randomModel is a timeline of random calls, output and logpoints.
func randomModel(t *testing.T, seed uint64) *model {
	m := newModel(t, seed, store.Options{MaxEvents: 1 << 40})
	m.grow(200 + m.rng.IntN(2500))
	m.store(t)
	if err := m.st.Flush(t.Context()); err != nil { // of another session, which no question flushes
		t.Fatal(err)
	}
	return m
}

// TestEventsKeepTheBudget: over random timelines and budgets no page is too large, and the pages have each event once.
func TestEventsKeepTheBudget(t *testing.T) {
	for seed := range uint64(6) {
		m := randomModel(t, seed)
		r := rand.New(rand.NewPCG(seed, 9))
		for _, verbose := range []bool{false, true} {
			after, seen, total := int64(0), map[int64]bool{}, int64(-1)
			for {
				req := Request{AfterEventID: &after, Limit: MaxLimit, MaxTokens: MinTokens + r.IntN(3000), Verbose: verbose}
				res := sized(t, m.st, req, Env{})
				if left := int64(len(m.events) - len(seen)); res.TotalCount != left {
					t.Fatalf("seed %d: %d events are left behind %d, the answer says %d", seed, left, after, res.TotalCount)
				}
				for _, e := range res.Events {
					if seen[e.ID] {
						t.Fatalf("seed %d: event %d comes twice", seed, e.ID)
					}
					seen[e.ID] = true
				}
				if total = res.TotalCount - int64(len(res.Events)); res.HasMore != (total > 0) {
					t.Fatalf("seed %d: hasMore is %v, %d are left", seed, res.HasMore, total)
				}
				if !res.HasMore {
					break
				}
				after = res.LastEventID
			}
			if len(seen) != len(m.events) {
				t.Errorf("seed %d: %d of %d events are reached", seed, len(seen), len(m.events))
			}
		}
	}
}

// TestTextsKeepTheBudget: the pages of a view that is a text are, together, the text that a large budget gives: none is
// too large, nothing is lost, and nothing comes twice.
func TestTextsKeepTheBudget(t *testing.T) {
	for seed := range uint64(5) {
		m, other := randomModel(t, seed), randomModel(t, seed+100)
		r := rand.New(rand.NewPCG(seed, 9))
		why := int64(0)
		for i := range m.events {
			if m.events[i].Kind == event.FunctionEnter {
				why = m.events[i].id
			}
		}
		for name, req := range map[string]Request{
			"summary":    {View: "summary"},
			"stats":      {View: "stats", Limit: MaxLimit},
			"invariants": {View: "invariants"},
			"one":        {View: "invariants", Function: &NameFilter{Equals: "app::add"}},
			"check":      {View: "check", Claim: "a > 500 whenever result > 0"},
			"diff":       {View: "diff", Claim: "result > 100"},
			"against":    {View: "diff", Against: "other"},
			"why":        {View: "why", Under: why},
			"missing":    {View: "missing", Function: &NameFilter{Equals: "app::never"}},
			"rows":       {View: "table", Order: "-a", Function: &NameFilter{Equals: "app::add"}, Limit: MaxLimit},
			"threads":    {View: "tree", Limit: MaxLimit},
			"some":       {View: "tree", Limit: MaxLimit, Function: &NameFilter{Equals: "ns::colour"}},
		} {
			env := Env{}
			if req.Against != "" {
				env.Other = other.st
			}
			req.MaxTokens = MaxTokens
			whole := body(sized(t, m.st, req, env))
			var got []string
			for pages := 0; ; pages++ {
				req.MaxTokens = MinTokens + r.IntN(1500)
				res := sized(t, m.st, req, env)
				lines := strings.SplitAfter(strings.TrimSuffix(body(res), "\n"), "\n")
				if head := headLines[name]; pages > 0 && head > 0 { // of each page
					lines = lines[min(head, len(lines)):]
				}
				for i := range lines {
					got = append(got, strings.Join(strings.Fields(lines[i]), " "))
				}
				if !strings.Contains(res.Hint, " goes on") || pages > 2000 {
					break
				}
				req.Offset = next(t, res.Hint)
			}
			var want []string
			for l := range strings.Lines(whole) {
				want = append(want, strings.Join(strings.Fields(l), " "))
			}
			if name == "rows" { // below a head on each page
				head := func(l string) bool { return !strings.HasPrefix(strings.TrimPrefix(l, "!"), "#") }
				got, want = slices.DeleteFunc(got, head), slices.DeleteFunc(want, head)
			}
			if flexible[name] { // lists in it are as long as there is room: each line is there, in its order
				got, want = heads(got), heads(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %s: the pages are\n%s\nthe whole is\n%s", seed, name, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
		}
	}
}

// headLines are what a table has above its rows, on each page.
var headLines = map[string]int{"stats": 1}

// flexible are views with lists whose length goes by the budget.
var flexible = map[string]bool{"invariants": true, "one": true, "diff": true, "against": true}

// heads are the beginnings of lines.
func heads(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, l[:min(len(l), 12)])
	}
	return out
}

func body(r *Result) string { return r.Tree + r.Stats + r.Text }

// next is the offset that a hint says.
func next(t *testing.T, hint string) (n int) {
	t.Helper()
	_, after, ok := strings.Cut(hint, "offset ")
	if _, err := fmt.Sscan(after, &n); !ok || err != nil {
		t.Fatalf("no offset in %q", hint)
	}
	return n
}

// TestTreesKeepTheBudget: the pages of a thread's tree have each call once, whatever the budget.
func TestTreesKeepTheBudget(t *testing.T) {
	for seed := range uint64(6) {
		m := randomModel(t, seed)
		r := rand.New(rand.NewPCG(seed, 9))
		for i, th := range modelThreads {
			calls := 0
			for k := range m.events {
				if e := &m.events[k]; e.Thread == event.ThreadID(i) && e.Kind == event.FunctionEnter {
					calls++
				}
			}
			tid, after, seen := int64(th.TID), int64(0), 0
			for pages := 0; ; pages++ {
				res := sized(t, m.st, Request{View: "tree", ThreadID: &tid, Limit: MaxLimit, AfterEventID: &after, Unfold: true,
					MaxTokens: 400 + r.IntN(2000)}, Env{})
				for l := range strings.Lines(res.Tree) {
					l = strings.TrimSpace(l)
					if strings.Contains(l, "(") && !strings.HasPrefix(l, "end of ") && !strings.HasPrefix(l, "thread ") &&
						!strings.HasPrefix(l, "std") && !strings.HasPrefix(l, "logpoint") {
						seen++
					}
				}
				if !res.HasMore || pages > 5000 {
					break
				}
				if res.LastEventID <= after {
					t.Fatalf("seed %d: the cursor stays at %d", seed, after)
				}
				after = res.LastEventID
			}
			if seen != calls {
				t.Errorf("seed %d, thread %d: the pages show %d calls of %d", seed, th.TID, seen, calls)
			}
		}
	}
}

// TestOddIsNamed: what threw far behind a page's end is named on it.
func TestOddIsNamed(t *testing.T) {
	m := randomModel(t, 3)
	var want int64
	for i := range m.events {
		if e := &m.events[i]; e.Kind == event.FunctionExit && e.Flags&(event.Unwound|event.Lost|event.AtEnd) == event.Unwound &&
			e.id > 5 {
			want++
		}
	}
	after := int64(0)
	res := sized(t, m.st, Request{AfterEventID: &after, Limit: 5, MaxTokens: 600}, Env{})
	b, _ := json.Marshal(res.Hint)
	if want == 0 || !strings.Contains(res.Hint, fmt.Sprintf("Behind it: call left by an exception ×%d (#", want)) {
		t.Errorf("%d calls were left by exceptions behind the page, which says %s", want, b)
	}
}
