package strobetest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func callBehaviours(t *testing.T, r *suite) {
	p := r.runs(t, "calls")
	tl := p.timeline(t)
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	is("a call has its arguments by name, and its result", func(t *testing.T) {
		c := tl.of("add")[0]
		wantCall(t, c, "a", "1", "3")
		wantCall(t, c, "b", "2", "3")
	})
	is("a call without arguments has none", func(t *testing.T) {
		if c := tl.one(t, "nothing"); len(c.Arguments) != 0 {
			t.Errorf("arguments %s", c.Arguments)
		}
	})
	is("a call stands below the one that made it", func(t *testing.T) {
		if got := tl.one(t, "leaf").callers(); !strings.HasPrefix(got, "mid outer run") {
			t.Errorf("leaf stands below %s", got)
		}
		wantCall(t, tl.one(t, "leaf"), "n", "3", "4")
	})
	is("recursion nests as deep as it goes", func(t *testing.T) {
		for i, c := range tl.of("fact") {
			wantCall(t, c, "n", fmt.Sprint(5-i), []string{"120", "24", "6", "2", "1"}[i])
			if got := strings.Count(c.callers(), "fact"); got != i {
				t.Errorf("call %d stands below %d of its own kind", i, got)
			}
		}
		if n := len(tl.of("fact")); n != 5 {
			t.Errorf("%d calls", n)
		}
	})
	is("functions that call each other nest in turn", func(t *testing.T) {
		c := tl.of("even")
		if len(c) != 3 || !strings.HasPrefix(c[2].callers(), "odd even odd even run") {
			t.Errorf("%d calls, the last below %s", len(c), c[len(c)-1].callers())
		}
	})
	is("calls stand in the order in which they were made", func(t *testing.T) {
		got := tl.names(func(c *called) bool { return c.above != nil && c.above.name == "run" })
		if want := "add nothing outer fact even catcher through says warns step step step slow apply"; !strings.HasPrefix(got,
			want) {
			t.Errorf("order %s, want %s", got, want)
		}
	})
	is("every call has its end", func(t *testing.T) {
		for _, c := range tl.calls {
			if c.exit == nil {
				t.Errorf("%s %d has none", c.name, c.ID)
			}
		}
	})
	is("a call's duration is the time that it took", func(t *testing.T) {
		if d := tl.one(t, "slow").exit.DurationNs; d < 29e6 || d > 20e9 {
			t.Errorf("30 ms took %d ns", d)
		}
		if run := tl.one(t, "run").exit.DurationNs; run < tl.one(t, "slow").exit.DurationNs {
			t.Errorf("run took %d ns, less than what it calls", run)
		}
	})
	is("a function that is passed on is traced where it is called", func(t *testing.T) {
		c := tl.of("add")[1]
		wantCall(t, c, "b", "21", "42")
		if !strings.HasPrefix(c.callers(), "apply run") {
			t.Errorf("it stands below %s", c.callers())
		}
	})
	is("a call knows its function's file and line", func(t *testing.T) {
		c := tl.of("add")[0]
		if filepath.Dir(c.SourceFile) != r.programs(t) || c.Line < 3 || c.Line > 12 {
			t.Errorf("%s:%d", c.SourceFile, c.Line)
		}
	})
	exceptionBehaviours(t, r, p, tl)
	outputBehaviours(t, r, p, tl)
	formBehaviours(t, r, p, tl)
	queryBehaviours(t, r, p, tl)
}

func exceptionBehaviours(t *testing.T, r *suite, p *program, tl *timeline) {
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	is("a call that an exception leaves says so", func(t *testing.T) {
		for _, c := range tl.of("thrower") {
			if c.exit == nil || !c.exit.Unwound {
				t.Errorf("thrower(%s) ended otherwise", c.arg("n"))
			}
		}
	})
	is("a call that catches an exception returns", func(t *testing.T) {
		c := tl.one(t, "catcher")
		if c.exit.Unwound {
			t.Error("it is told as left by the exception")
		}
		wantCall(t, c, "n", "7", "-1")
	})
	is("an exception that goes through several calls ends each of them", func(t *testing.T) {
		for _, name := range []string{"deep", "deeper"} {
			if !tl.one(t, name).exit.Unwound {
				t.Errorf("%s returned", name)
			}
		}
		wantCall(t, tl.one(t, "through"), "n", "8", "-2")
		if got := tl.of("thrower")[1].callers(); !strings.HasPrefix(got, "deep deeper through run") {
			t.Errorf("it was thrown below %s", got)
		}
	})
	is("an exception has its type and its message", func(t *testing.T) {
		q := p.r.s.Query(t, p.id, map[string]any{"view": "tree", "unfold": true})
		class := map[string]string{"java": "calls.", "go": "main."}[r.sub.Lang] + "TypeError"
		if !strings.Contains(q.Tree, "thrower(n=7) ✗ "+class+": no 7") {
			t.Errorf("tree\n%s", q.Tree)
		}
	})
	is("calls behind an exception stand where they belong", func(t *testing.T) {
		if got := tl.one(t, "says").callers(); !strings.HasPrefix(got, "run") {
			t.Errorf("says stands below %s", got)
		}
	})
}

func outputBehaviours(t *testing.T, r *suite, p *program, tl *timeline) {
	for _, c := range [][3]string{{"stdout", "mine\n", "says"}, {"stderr", "warned\n", "warns"}} {
		r.behaviour(t, p, c[0]+" stands below the call that wrote it", func(t *testing.T) {
			for _, m := range tl.moments {
				if m.EventType != c[0] || m.Text != c[1] {
					continue
				}
				if w := tl.byID[m.Parent]; w == nil || w.name != c[2] {
					t.Errorf("%q stands below %v", c[1], w)
				}
				return
			}
			t.Errorf("no %s %q", c[0], c[1])
		})
	}
	r.behaviour(t, p, "output stands between the calls that came before and after it", func(t *testing.T) {
		var got []string
		for _, m := range tl.moments {
			switch {
			case m.EventType == "stdout" && len(m.Text) == 2:
				got = append(got, strings.TrimSpace(m.Text))
			case m.EventType == "function_enter" && p.plain(m.Function) == "step":
				got = append(got, "step")
			}
		}
		if s := strings.Join(got, " "); s != "step 0 step 1 step 2" {
			t.Errorf("order %s", s)
		}
	})
}

// formBehaviours are of functions of every form.
func formBehaviours(t *testing.T, r *suite, p *program, tl *timeline) {
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	is("a method is named with its class", func(t *testing.T) { wantCall(t, tl.one(t, "Order.total"), "n", "3", "8") })
	is("a method shows the object that it is called on", func(t *testing.T) {
		self := cmp.Or(map[string]string{"js": "this", "java": "this", "go": "o"}[r.sub.Lang], "self")
		if v := tl.one(t, "Order.total").arg(self); !strings.Contains(v, `"id":5`) {
			t.Errorf("%s = %s", self, v)
		}
	})
	is("a constructor is a call of its class", func(t *testing.T) {
		calls := tl.of("Order.constructor")
		if len(calls) != 2 || calls[0].above == nil || calls[0].above.name != "Order.make" {
			t.Fatalf("%d calls", len(calls))
		}
		wantCall(t, calls[0], "id", "5", "")
	})
	is("a method without an object is named with its class",
		func(t *testing.T) { wantCall(t, tl.one(t, "Order.make"), "id", "5", "") })
	is("a property that is computed is a call", func(t *testing.T) {
		c := tl.of("Order.size")
		if len(c) == 0 {
			c = tl.of("Order.get size")
		}
		if len(c) != 1 || c[0].result() != "3" {
			t.Errorf("%d calls: %s", len(c), tl.names(func(c *called) bool { return strings.Contains(c.name, "Order") }))
		}
	})
	is("an inner function is named below the one that has it", func(t *testing.T) {
		calls := tl.of("counter.count")
		if len(calls) != 2 {
			t.Fatalf("%d calls", len(calls))
		}
		wantCall(t, calls[0], "by", "1", "11")
		wantCall(t, calls[1], "by", "2", "13")
	})
	is("any number of arguments is a list", func(t *testing.T) { wantCall(t, tl.one(t, "rest"), "more", "[2,3]", "2") })
	is("an argument that was not given has its default",
		func(t *testing.T) { wantCall(t, tl.one(t, "defaulted"), "b", "4", "5") })
	is("a function without a name is traced", func(t *testing.T) {
		for _, c := range tl.calls {
			if c.above != nil && c.above.name == "lambdas" {
				wantCall(t, c, "x", "14", "42")
				return
			}
		}
		t.Error("there is no call below lambdas")
	})
}

func queryBehaviours(t *testing.T, r *suite, p *program, tl *timeline) {
	ask := func(t *testing.T, filter map[string]any) Page { t.Helper(); return r.s.Query(t, p.id, filter) }
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	fact := map[string]any{"equals": r.spell("calls", "fact")}
	is("calls are found by an argument", func(t *testing.T) {
		for filter, n := range map[string]int64{"equals": 1, "greaterThan": 2, "lessThan": 2, "notEquals": 4} {
			q := ask(t, map[string]any{"eventType": "function_enter", "function": fact,
				"argument": map[string]any{"name": "n", filter: 3}})
			if q.TotalCount != n {
				t.Errorf("n %s 3: %d, want %d", filter, q.TotalCount, n)
			}
		}
	})
	is("calls are found by their result", func(t *testing.T) {
		q := ask(t, map[string]any{"eventType": "function_exit", "function": fact,
			"returnValue": map[string]any{"greaterThan": 20}})
		if q.TotalCount != 2 {
			t.Errorf("%d, want 2", q.TotalCount)
		}
	})
	is("calls are found by a part of the name, and by a pattern", func(t *testing.T) {
		for _, f := range []map[string]any{{"contains": "Order"}, {"matches": "Order.tot.l$"}} {
			if ask(t, map[string]any{"eventType": "function_enter", "function": f}).TotalCount == 0 {
				t.Errorf("%v finds none", f)
			}
		}
	})
	is("what a call caused is found below it", func(t *testing.T) {
		q := ask(t, map[string]any{"under": tl.one(t, "outer").ID, "eventType": "function_enter"})
		if q.TotalCount < 2 || q.TotalCount > 3 {
			t.Errorf("%d calls", q.TotalCount)
		}
	})
	is("calls are found by how long they took", func(t *testing.T) {
		q := ask(t, map[string]any{"eventType": "function_exit", "minDurationNs": 29000000,
			"function": map[string]any{"contains": "slow"}})
		if q.TotalCount != 1 {
			t.Errorf("%d, want 1", q.TotalCount)
		}
	})
	is("view stats counts calls and errors", func(t *testing.T) {
		for _, line := range strings.Split(ask(t, map[string]any{"view": "stats"}).Stats, "\n") {
			if f := strings.Fields(line); len(f) > 3 && f[0] == r.spell("calls", "fact") {
				if f[1] != "5" {
					t.Error(line)
				}
				return
			}
		}
		t.Error("no line of fact")
	})
	is("view tree shows a part, and says how to go on", func(t *testing.T) {
		q := ask(t, map[string]any{"view": "tree", "limit": 3})
		if !q.HasMore || strings.Count(q.Tree, "\n") > 5 || !strings.Contains(q.Tree, r.spell("calls", "run")) {
			t.Errorf("more %t:\n%s", q.HasMore, q.Tree)
		}
	})
}
