package query

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// TestViewsKeepTheBudget: over random timelines and budgets no view is longer than it may be, and what it names is
// there.
func TestViewsKeepTheBudget(t *testing.T) {
	ids := regexp.MustCompile(`#(\d+)`)
	for seed := range uint64(6) {
		m := newModel(t, 100+seed, store.Options{MaxEvents: 1 << 40})
		m.grow(200 + 1500*int(seed))
		m.store(t)
		rng := rand.New(rand.NewPCG(seed, 9))
		for range 60 {
			req := Request{MaxTokens: 200 + rng.IntN(2500)}
			switch req.View = Views[3+rng.IntN(len(Views)-3)]; req.View {
			case "check":
				req.Claim = []string{"a <= b", "result >= 0", "n never repeats", "p.x < p.v[1] whenever result > 1",
					"a never decreases per b", "s == \"beta\" || result != 3", "nosuch == 1"}[rng.IntN(7)]
			case "diff":
				req.Claim = []string{"a <= b", "result >= 0", "$thread == 101", "p.x < p.v[1]"}[rng.IntN(4)]
			case "object":
				req.Object = fmt.Sprintf("0x%x", m.address(rng))
			case "why":
				req.Under = 1 + rng.Int64N(int64(len(m.events)))
			}
			if req.View == "missing" {
				req.Function = &NameFilter{Equals: modelNames[rng.IntN(numFuncs)] + "x"[rng.IntN(2):]}
			} else if !slices.Contains([]string{"object", "why", "request", "summary", "threads"}, req.View) && rng.IntN(2) == 0 {
				req.Function = &NameFilter{Equals: modelNames[rng.IntN(numFuncs)]}
			}
			res := ask1(t, m.st, req)
			if n := len(res.Text) + len(res.Hint); n > req.MaxTokens*TokenBytes {
				t.Errorf("seed %d, %+v: %d bytes for %d tokens:\n%s%s", seed, req, n, req.MaxTokens, res.Text, res.Hint)
			}
			if res.Text == "" && res.Hint == "" {
				t.Errorf("seed %d, %+v: nothing is said", seed, req)
			}
			for _, found := range ids.FindAllStringSubmatch(res.Text, -1) {
				if id, _ := strconv.Atoi(found[1]); id < 1 || id > len(m.events) {
					t.Errorf("seed %d, %+v: there is no event %d", seed, req, id)
				}
			}
		}
	}
}

// address is one that a pointer of the session had.
func (m *model) address(rng *rand.Rand) uint64 {
	for range 1000 {
		if e := &m.events[rng.IntN(len(m.events))]; e.Kind == event.FunctionEnter && e.Func == fnMove && len(e.Payload) >= 8 {
			if at := binary.LittleEndian.Uint64(e.Payload); at != 0 {
				return at
			}
		}
	}
	return 0x7f00
}

// TestCursorsReachEverything: over random timelines and budgets the pages of a view together are what one answer with
// room for all of it says, line by line, each within its budget.
func TestCursorsReachEverything(t *testing.T) {
	line := regexp.MustCompile(`(?m)^[ !] ?#.*$|[^ ,\n]+:\d+`)
	for seed := range uint64(6) {
		m := newModel(t, 200+seed, store.Options{MaxEvents: 1 << 40})
		m.grow(400 + 1000*int(seed))
		rng := rand.New(rand.NewPCG(seed, 3))
		var covered []store.Covered
		for i := range 40 + rng.IntN(400) {
			covered = append(covered, store.Covered{Name: fmt.Sprintf("ns::part%d::%s", i, strings.Repeat("x", rng.IntN(40))),
				File: fmt.Sprintf("/src/dir%d/file%d.c", i%3, rng.IntN(9)), Line: i + 1, Module: "/bin/x"})
		}
		first := m.st.Cover(covered)
		for i := range covered {
			if rng.IntN(3) == 0 {
				m.st.Covered(first+i, true, int64(i), 0, "")
			}
		}
		m.store(t)
		for range 12 {
			req := Request{View: "coverage"}
			if rng.IntN(2) == 0 {
				req = Request{View: "object", Object: fmt.Sprintf("0x%x", m.address(rng))}
			}
			req.MaxTokens = MaxTokens
			whole := ask1(t, m.st, req)
			want := line.FindAllString(whole.Text, -1)
			req.MaxTokens = 200 + rng.IntN(1500)
			var got []string
			for pages := 0; ; pages++ {
				res := ask1(t, m.st, req)
				if n := len(res.Text) + len(res.Hint); n > req.MaxTokens*TokenBytes || pages > 2000 {
					t.Fatalf("seed %d, %+v: page %d has %d bytes for %d tokens", seed, req, pages, n, req.MaxTokens)
				}
				got = append(got, line.FindAllString(res.Text, -1)...)
				if !res.HasMore {
					break
				}
				if req.View == "coverage" {
					at := regexp.MustCompile(`offset (\d+) goes on`).FindStringSubmatch(res.Hint)
					req.Offset, _ = strconv.Atoi(at[1])
				} else {
					req.AfterEventID = &res.LastEventID
				}
			}
			if !slices.Equal(got, want) || whole.HasMore {
				t.Fatalf("seed %d, %+v: pages have %d lines, one answer %d:\n%s\n\n%s", seed, req, len(got), len(want),
					strings.Join(got, "\n"), whole.Text)
			}
		}
	}
}

// TestInvariantsAreTrue: a rule about two integers says of every call what is so.
func TestInvariantsAreTrue(t *testing.T) {
	s := newScript(t)
	rng := rand.New(rand.NewPCG(3, 4))
	broken := map[int64]bool{}
	for i := range 500 {
		a, b := uint64(rng.IntN(40)), uint64(0)
		if b = a + uint64(rng.IntN(30)); i%100 == 99 {
			b = a - 2 - uint64(rng.IntN(3))
			broken[int64(len(s.events)+1)] = true
		}
		s.call(fnAdd, a, b)
		s.ret(fnAdd, int64(i%3))
	}
	s.store(t)
	res := ask1(t, s.st, Request{View: "invariants"})
	line := regexp.MustCompile(`a <= b in (\d+) of 500, not (.*)`).FindStringSubmatch(res.Text)
	if line == nil || line[1] != "495" {
		t.Fatalf("a <= b is not found:\n%s", res.Text)
	}
	for _, found := range regexp.MustCompile(`#(\d+)`).FindAllStringSubmatch(line[2], -1) {
		id, _ := strconv.ParseInt(found[1], 10, 64)
		if !broken[id] {
			t.Errorf("#%d keeps the rule: %s", id, line[0])
		}
	}
	check := ask1(t, s.st, Request{View: "check", Claim: "a <= b"})
	if want := fmt.Sprintf("broken by %d of 500 calls", len(broken)); check.Text[:len(want)] != want {
		t.Errorf("check says %s, want %s", check.Text, want)
	}
}

// TestViewsOfDroppedCalls: what the session's limit took is said, and the rest is answered.
func TestViewsOfDroppedCalls(t *testing.T) {
	m := newModel(t, 77, store.Options{MaxEvents: 20_000})
	m.grow(60_000)
	m.store(t)
	if err := m.st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.st.Stats().Evicted == 0 {
		t.Fatal("nothing was dropped")
	}
	for _, req := range []Request{{View: "table"}, {View: "invariants"}, {View: "check", Claim: "a < b"}, {View: "summary"}} {
		res := ask1(t, m.st, req)
		if !regexp.MustCompile(`limit dropped its \d+ oldest call events`).MatchString(res.Hint) {
			t.Errorf("view %s does not say what is missing: %q", req.View, res.Hint)
		}
		if res.Text == "" {
			t.Errorf("view %s is empty", req.View)
		}
	}
}
