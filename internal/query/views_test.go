package query

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

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
			case "why":
				req.Under = 1 + rng.Int64N(int64(len(m.events)))
			}
			if req.View != "why" && req.View != "summary" && rng.IntN(2) == 0 {
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
