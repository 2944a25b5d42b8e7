package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

func TestCheck(t *testing.T) {
	s := sums(t)
	o := orders(t)
	for name, c := range map[string]struct {
		st    *store.Store
		claim string
		req   Request
	}{
		"proved":    {s.st, "b == 1 and a >= 0", Request{}},
		"broken":    {s.st, "result == a", Request{Function: &NameFilter{Equals: "app::add"}}},
		"whenever":  {s.st, "result >= 0 whenever a > 20", Request{Function: &NameFilter{Equals: "app::add"}}},
		"every":     {s.st, "every app::add(x, y) has result == x || thrown != null", Request{}},
		"sequence":  {s.st, "result never decreases", Request{Function: &NameFilter{Equals: "app::add"}}},
		"per":       {s.st, "a always grows per b, $thread", Request{Function: &NameFilter{Equals: "app::add"}}},
		"repeats":   {o.st, "a never repeats", Request{Function: &NameFilter{Equals: "app::add"}}},
		"never":     {s.st, "result == 1 whenever a > 1000", Request{Function: &NameFilter{Equals: "app::add"}}},
		"unknown":   {s.st, "resul == 1", Request{Function: &NameFilter{Equals: "app::add"}}},
		"several":   {o.st, "result >= 0", Request{}},
		"enum":      {o.st, "result == blue", Request{Function: &NameFilter{Equals: "ns::colour"}}},
		"pointees":  {o.st, "p.x < p.v[1] and p.v[0] == 8", Request{}},
		"nocalls":   {o.st, "n > 0", Request{Function: &NameFilter{Equals: "nosuch"}}},
		"filtered":  {s.st, "result >= 0", Request{Argument: &ArgumentFilter{Name: "a", ValueFilter: ValueFilter{LessThan: "20"}}}},
		"threadone": {o.st, "result == 3", Request{ThreadID: new(int64(101))}},
	} {
		t.Run(name, func(t *testing.T) {
			req := c.req
			req.View, req.Claim = "check", c.claim
			res := ask1(t, c.st, req)
			golden(t, "check_"+name+".golden", fmt.Sprintf("%s\n%stotal %d, more %v\nhint: %s\n", c.claim, res.Text, res.TotalCount,
				res.HasMore, res.Hint))
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	s := sums(t)
	for claim, want := range map[string]string{
		"":                                    "missing",
		"a <":                                 "the expression ends here",
		"(long)a > 1":                         "casts",
		"a never decreases lane":              "not understood",
		"f(a) > 1":                            "Functions of the program cannot be called",
		"a never repeats per b,b,b,b,b,b,b,b": "more than",
	} {
		_, err := Run(t.Context(), s.st, Request{View: "check", Claim: claim}, Env{})
		if err == nil || !strings.Contains(fmt.Sprintf("%v %+v", err, hintOf(err)), want) {
			t.Errorf("claim %q: %v, want %q", claim, err, want)
		}
	}
	if _, err := Run(t.Context(), s.st, Request{View: "tree", Claim: "a > 1"}, Env{}); err == nil {
		t.Error("view tree takes a claim")
	}
}

func hintOf(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Hint
	}
	return ""
}

// TestCheckAgainstBruteForce compares verdicts with the model's own values.
func TestCheckAgainstBruteForce(t *testing.T) {
	m := newModel(t, 21, store.Options{MaxEvents: 1 << 40})
	m.grow(20000)
	m.store(t)
	ended := map[int64]*modelEvent{}
	for i := range m.events {
		if e := &m.events[i]; e.enter != 0 {
			ended[e.enter] = e
		}
	}
	var held, broken, untold int64
	for i := range m.events {
		e := &m.events[i]
		if e.Func != fnAdd || e.args == nil {
			continue
		}
		end := ended[e.id]
		if end == nil || !end.hasRet {
			untold++
		} else if end.ret.(int64) > e.args["a"].(int64)+e.args["b"].(int64) {
			broken++
		} else {
			held++
		}
	}
	res := ask1(t, m.st, Request{View: "check", Claim: "result <= a + b", Function: &NameFilter{Equals: "app::add"}})
	if want := fmt.Sprintf("broken by %d of %d calls of app::add:", broken, held+broken); !strings.HasPrefix(res.Text, want) ||
		res.TotalCount != held+broken+untold {
		t.Errorf("got %s\ntotal %d, want %s and %d that cannot tell", res.Text, res.TotalCount, want, untold)
	}
}

func TestDiff(t *testing.T) {
	s, o := sums(t), orders(t)
	for name, c := range map[string]struct {
		st    *store.Store
		claim string
	}{
		"result": {s.st, "result < 0"}, "half": {s.st, "a >= 30"}, "thread": {o.st, "$thread == 101"},
		"time": {s.st, "$time > 60000"}, "none": {s.st, "nosuch == 1"},
	} {
		res := ask1(t, c.st, Request{View: "diff", Claim: c.claim})
		golden(t, "diff_"+name+".golden", fmt.Sprintf("%stotal %d, more %v\nhint: %s\n", res.Text, res.TotalCount, res.HasMore,
			res.Hint))
	}
	for _, claim := range []string{"", "a never repeats", "a > 1 whenever b == 1"} {
		if _, err := Run(t.Context(), s.st, Request{View: "diff", Claim: claim}, Env{}); err == nil {
			t.Errorf("diff takes %q", claim)
		}
	}
}
