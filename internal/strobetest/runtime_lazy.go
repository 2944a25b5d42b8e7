package strobetest

import (
	"slices"
	"strings"
	"testing"
)

func lazyBehaviours(t *testing.T, r *suite) {
	const (
		yields      = "a generator tells each value that it gives"
		runner      = "a generator stands below who runs it, and what it calls below it"
		early       = "a generator that is closed early ends"
		interleaved = "generators that take turns keep their calls apart"
		awaited     = "a coroutine has the result that it comes to"
		behind      = "calls behind an await stand below the coroutine"
		together    = "coroutines that run at once keep their calls apart"
		fails       = "an exception that leaves a coroutine ends it"
		asyncGen    = "an asynchronous generator tells its values"
	)
	if r.lacksAll(t, yields, runner, early, interleaved, awaited, behind, together, fails, asyncGen) {
		return
	}
	p := r.runs(t, "lazy")
	tl := p.timeline(t)
	is := func(name string, check func(t *testing.T)) { t.Helper(); r.behaviour(t, p, name, check) }
	tree := r.s.Query(t, p.id, map[string]any{"view": "tree", "unfold": true, "limit": 500}).Tree
	gave := func(name string) (lines []string) {
		for _, line := range strings.Split(tree, "\n") {
			if at := strings.Index(line, "yield: "); at >= 0 && strings.Contains(line, `"`+r.spell("lazy", name)+`"`) {
				_, v, _ := strings.Cut(line, "value=")
				lines = append(lines, strings.Fields(v)[0])
			}
		}
		return lines
	}
	is(yields, func(t *testing.T) {
		if got := gave("numbers"); !slices.Equal(got, []string{"0", "1", "4"}) {
			t.Errorf("numbers gave %q\n%s", got, tree)
		}
	})
	is(runner, func(t *testing.T) {
		if c := tl.one(t, "numbers"); c.above == nil || c.above.name != "consume" {
			t.Errorf("numbers stands below %q", c.callers())
		}
		for _, c := range tl.of("square") {
			if c.above == nil || c.above.name != "numbers" {
				t.Errorf("square stands below %q", c.callers())
			}
		}
	})
	is(early, func(t *testing.T) {
		if c := tl.one(t, "endless"); c.exit.ID > tl.of("interleaved")[0].ID {
			t.Error("it ends later than the call behind it")
		}
	})
	is(interleaved, func(t *testing.T) {
		for _, pair := range [][2]string{{"inLeft", "left"}, {"inRight", "right"}} {
			calls := tl.of(pair[0])
			if len(calls) != 2 {
				t.Errorf("%d calls of %s", len(calls), pair[0])
			}
			for _, c := range calls {
				if c.above == nil || c.above.name != pair[1] {
					t.Errorf("%s stands below %q", pair[0], c.callers())
				}
			}
		}
	})
	is(awaited, func(t *testing.T) { wantCall(t, tl.one(t, "fetch"), "n", "4", "8") })
	is(behind, func(t *testing.T) {
		if got := tl.one(t, "double").callers(); !strings.HasPrefix(got, "fetch asynchronous") {
			t.Errorf("double stands below %q", got)
		}
	})
	is(together, func(t *testing.T) {
		for _, name := range []string{"before", "after"} {
			for _, c := range tl.of(name) {
				if c.above == nil || c.above.name != "slow" || c.above.arg("n") != c.arg("n") {
					t.Errorf("%s(%s) stands below %q", name, c.arg("n"), c.callers())
				}
			}
		}
		if n := len(tl.of("after")); n != 2 {
			t.Errorf("%d calls of after", n)
		}
	})
	is(fails, func(t *testing.T) {
		if c := tl.one(t, "fails"); !c.exit.Unwound {
			t.Error("it is told as one that returned")
		}
	})
	is(asyncGen, func(t *testing.T) {
		if got := gave("ticks"); !slices.Equal(got, []string{"0", "1"}) {
			t.Errorf("ticks gave %q", got)
		}
	})
}

func threadBehaviours(t *testing.T, r *suite) {
	// Not the function that names its thread: that one begins before it has the name.
	p := r.launch(t, "threads", nil, map[string]any{"trace": []string{r.spell("threads", "work"),
		r.spell("threads", "part")}})
	p.endsWith(t, 0)
	tl := p.timeline(t)
	threads := map[int][]*called{}
	for _, c := range tl.of("work") {
		threads[c.ThreadID] = append(threads[c.ThreadID], c)
	}
	r.behaviour(t, p, "calls of threads that run at once are each on their own", func(t *testing.T) {
		if len(threads) != 2 {
			t.Errorf("%d threads", len(threads))
		}
		for id, calls := range threads {
			if len(calls) != 200 {
				t.Errorf("%d calls on thread %d", len(calls), id)
			}
		}
		for _, c := range tl.of("part") {
			if c.above == nil || c.above.name != "work" || c.above.ThreadID != c.ThreadID || c.above.arg("n") != c.arg("n") {
				t.Fatalf("part(%s) stands below %q", c.arg("n"), c.callers())
			}
		}
	})
	r.behaviour(t, p, "a thread has the name that the program gave it", func(t *testing.T) {
		for _, name := range []string{"reader-one", "reader-two"} {
			q := r.s.Query(t, p.id, map[string]any{"threadName": map[string]any{"contains": name}, "eventType": "function_enter",
				"limit": 1})
			if q.TotalCount < 400 {
				t.Errorf("%d calls of %s", q.TotalCount, name)
			}
		}
	})
}
