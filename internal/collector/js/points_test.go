package js

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPointsOfNode: points, frames, variables, assignments and steps in every version, and a program that does not
// notice.
func TestPointsOfNode(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			d := debug(t, in, []agentlink.Point{
				{ID: "add", Function: "Cart.add", Condition: "price === 20"},
				{ID: "tax", File: "points/shop.cjs", Line: 13, Message: "tax of {sum}, {this.lines}"},
				{ID: "half", Function: "shop.half"},
				{ID: "never", Function: "shop.nothing"},
			}, "shop.cjs")
			s := d.next()
			same(t, "the first pause", fmt.Sprint(s.Reason, s.Point, s.Hit, s.at()),
				"breakpointadd1shop.Cart.add:11 shop.main:37 shop.<module>:50")
			same(t, "its arguments", string(s.Arguments),
				`{"this":{"$":"obj","t":"Cart","v":{"lines":[{"$":"depth","t":"Object"}],"total":22,"trap":{"$":"unreadable"}}},"price":20,"count":2}`)
			frames := d.frames(s)
			args, ref := d.scope(s, frames[0], "arguments")
			same(t, "the arguments", args, "this: Cart = Cart {lines: Array(1), total: 22, trap: (getter)}; price: number = "+
				"20; count: number = 2")
			this := d.evaluate(s, frames[0], "this")
			same(t, "this", d.variables(s, this.Ref),
				"lines: Array = Array(1) [{…}]; total: number = 22; trap: getter = (getter)")
			same(t, "a map", d.evaluate(s, frames[1], "prices").Value, `Map(2) {"tea" => 3, "milk" => 2}`)
			same(t, "its parts", d.variables(s, d.evaluate(s, frames[1], "prices").Ref), `"tea": number = 3; "milk": number = 2`)
			d.ask(s, "assign", map[string]any{"ref": ref, "name": "count", "text": "count + 1"}, nil)
			d.ask(s, "assign", map[string]any{"ref": this.Ref, "name": "total", "text": "30"}, nil)
			for text, want := range map[string]string{"nobody.x": "ReferenceError", "n +": "SyntaxError"} {
				if err := s.agent.Ask(d.context(), "evaluate", map[string]any{"ref": frames[1], "text": text}, nil); err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", text, err)
				}
			}
			if err := s.agent.Ask(d.context(), "assign", map[string]any{"ref": frames[1], "expression": "prices", "text": "1"},
				nil); err == nil {
				t.Error("a constant was assigned to")
			}
			s = d.step(s, "over")
			same(t, "a step over", s.at(), "shop.Cart.add:12 shop.main:37 shop.<module>:50")
			s = d.step(s, "over")
			same(t, "a step over", s.at(), "shop.Cart.add:13 shop.main:37 shop.<module>:50")
			if !bytes.Contains(s.Locals, []byte(`"sum":60`)) {
				t.Errorf("the locals are %s", s.Locals)
			}
			s = d.step(s, "out")
			same(t, "a step out", fmt.Sprint(s.at(), s.ResultOf, string(s.Result)),
				"shop.main:36 shop.<module>:50shop.Cart.add96")
			s = d.step(s, "over")
			same(t, "a step over", s.at(), "shop.main:37 shop.<module>:50")
			s = d.step(s, "into")
			same(t, "a step into", s.at(), "shop.Cart.add:11 shop.main:37 shop.<module>:50")
			d.ask(s, "step", map[string]any{"tid": s.TID, "how": "line", "id": "until-1", "file": "shop.cjs", "line": 25}, nil)
			s = d.next()
			same(t, "a step to a line", fmt.Sprint(s.Reason, s.Point, s.at()), "untiluntil-1shop.load:25")
			s = d.step(s, "out")
			same(t, "a step out of a coroutine", fmt.Sprint(s.at(), s.ResultOf, string(s.Result)), "shop.main:40shop.load400")
			s = d.next2(s)
			same(t, "the point in an arrow function", fmt.Sprint(s.Point, s.at(), string(s.Arguments)),
				`halfshop.half:21 shop.main:40{"n":8}`)
			d.ask(s, "status", nil, nil)
			ap, _ := s.agent.Applied()
			var states []string
			for _, p := range ap.Points {
				states = append(states, fmt.Sprintf("%s %d %d %s", p.ID, len(p.Locations), p.Hits, p.Why))
			}
			same(t, "the points", strings.Join(states, "\n"),
				"add 1 1 \ntax 1 3 \nhalf 1 1 \nnever 0 0 no function of this name is loaded yet")
			d.set(nil)
			d.resume(s)
			<-d.ended
			same(t, "the program's end", d.out.String()+d.cmd.ProcessState.String(), "caught bad 2\n162 404 2\nexit status 3")
			same(t, "what it reports", d.errs.String(), "")
			d.link.Close()
			var logs []string
			for _, e := range d.book.All() {
				if bytes.Contains(e.Payload, []byte(`"breakpointId":"tax"`)) {
					logs = append(logs, string(e.Payload))
				}
			}
			if len(logs) != 3 || !strings.Contains(logs[1],
				`"message":"tax of 60, Array(1) [{\u2026}]","function":"shop.Cart.add"`) {
				t.Errorf("the logpoint says\n%s", strings.Join(logs, "\n"))
			}
		})
	}
}

// TestProgramsWithPointsAreAsUntraced: points that are never hit, a `debugger` statement, and an agent that is gone
// while the program stands.
func TestProgramsWithPointsAreAsUntraced(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			never := []agentlink.Point{{ID: "a", Function: "**", Condition: "0"}, {ID: "b", File: "nowhere.js", Line: 1},
				{ID: "c", Function: "@uncaught"}}
			for _, program := range []string{"shop.cjs", "workers.cjs"} {
				debug(t, in, never, program).end(in, program)
			}
			debug(t, in, never[:2], "uncaught.mjs").end(in, "uncaught.mjs")
			d := debug(t, in, []agentlink.Point{{ID: "add", Function: "Cart.add"}}, "shop.cjs")
			d.next()
			go d.link.Close() // what it stands for is gone
			d.end(in, "shop.cjs")
		})
	}
}

// TestPauseOfNode: a loop that never ends is paused and changed, and a thread that waits for events pauses with the
// next.
func TestPauseOfNode(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			d := debug(t, in, nil, "busy.cjs")
			if !d.link.AwaitAgent(d.context(), d.cmd.Process.Pid) {
				t.Fatal("there is no agent")
			}
			a := d.link.Agents()[0]
			pause := func() int {
				t.Helper()
				var answer struct{ Later []struct{ Why string } }
				if err := a.Ask(d.context(), "pause", nil, &answer); err != nil {
					t.Fatal(err)
				}
				return len(answer.Later)
			}
			pause()
			s := d.next()
			if s.Reason != "pause" || !strings.HasPrefix(s.at(), "busy.spin:") || s.TID != d.cmd.Process.Pid {
				t.Errorf("it paused by %s in thread %d at %s", s.Reason, s.TID, s.at())
			}
			d.ask(s, "assign", map[string]any{"ref": d.frames(s)[0], "expression": "stop", "text": "true"}, nil)
			d.set([]agentlink.Point{{ID: "later", Function: "busy.later"}})
			d.resume(s)
			if _, err := io.WriteString(d.stdin, "now\n"); err != nil {
				t.Fatal(err)
			}
			s = d.next()
			same(t, "a point that was set while it ran", fmt.Sprint(s.Point, s.at()), "laterbusy.later:9 busy.<anonymous>:14")
			d.resume(s)
			<-d.ended
			same(t, "its end", d.out.String()+d.cmd.ProcessState.String(), "stopped\nidle\nlater\nexit status 0")
		})
	}
}

// TestPointsInWorkers: threads of the program's own pause by themselves.
func TestPointsInWorkers(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		d := debug(t, in, []agentlink.Point{{ID: "job", Function: "workers.job"}}, "workers.cjs")
		s := d.next()
		same(t, in.Name+": the pause", fmt.Sprint(s.Point, s.at()), "jobworkers.job:4 workers.<module>:13")
		if s.TID == d.cmd.Process.Pid || s.TID == 0 {
			t.Errorf("%s: it is of thread %d", in.Name, s.TID)
		}
		s = d.step(s, "over")
		same(t, in.Name+": a step", s.at(), "workers.job:5 workers.<module>:13")
		d.resume(s)
		d.end(in, "workers.cjs")
	}
}

// TestStepsThroughForeignCode: what is not the user's is passed over, on the way in and out, and where a function
// returns to the event loop the step ends with what runs next.
func TestStepsThroughForeignCode(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			d := debug(t, in, []agentlink.Point{{ID: "ring", File: "turns.cjs", Line: 20}}, "turns.cjs")
			s := d.next()
			same(t, "the pause", s.at(), "turns.<anonymous>:20")
			s = d.step(s, "into")
			same(t, "a step into, by the library", s.at(), "turns.heard:10 turns.<anonymous>:20")
			s = d.step(s, "into")
			same(t, "a step into", s.at(), "turns.first:5 turns.heard:10 turns.<anonymous>:20")
			s = d.step(s, "out")
			same(t, "a step out", fmt.Sprint(s.at(), " ", s.ResultOf, " ", string(s.Result)),
				"turns.heard:11 turns.<anonymous>:20 turns.first 6")
			s = d.step(s, "over")
			same(t, "a step over the end, by the library", s.at(), "turns.<anonymous>:21")
			s = d.step(s, "over")
			same(t, "a step over the end of a callback", s.at()+" "+s.Note,
				"turns.second:15 its function returned to the event loop: this is what ran next")
			d.resume(s)
			d.end(in, "turns.cjs")
		})
	}
}

// TestPointsInTypeScript: lines are those of the source.
func TestPointsInTypeScript(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		if !slices.Contains([]string{"node24", "node26"}, in.Name) { // which take types out themselves
			continue
		}
		d := debug(t, in, []agentlink.Point{{ID: "total", Function: "typed.total"}, {ID: "line", File: "typed.ts", Line: 11}},
			"typed.ts")
		s := d.next()
		same(t, in.Name+": the function's point", fmt.Sprint(s.Point, s.at()), "totaltyped.total:9 typed.<module>:16")
		s = d.next2(s)
		same(t, in.Name+": the line's point", fmt.Sprint(s.Point, s.at()), "linetyped.total:11 typed.<module>:16")
		d.resume(s)
		d.end(in, "typed.ts")
	}
}

// TestPointsInCompiled: a line of the user's is none of what a compiler put before the text, which may have the same
// name as what it was made of.
func TestPointsInCompiled(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		d := debug(t, in, []agentlink.Point{{ID: "line", File: "named.ts", Line: 2}}, "named.cjs")
		s := d.next()
		same(t, in.Name, fmt.Sprint(s.Point, " ", s.at(), string(s.Arguments)),
			`line named.double:2 named.<module>:4 named.<module>:3 <anonymous>:11{"n":4}`)
		d.resume(s)
		d.end(in, "named.cjs")
	}
}

// TestPointsInBundles: where a thread stands is called as its calls are, by the function's own file.
func TestPointsInBundles(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		points := []agentlink.Point{{ID: "line", File: "own.ts", Line: 3}}
		d := debugBelow(t, in, "testdata/program", points, "bundle [1].cjs")
		s := d.next()
		if got := s.Frames[0].Function; got != "src.shop.own.own" {
			t.Errorf("%s stands in %s", in.Name, got)
		}
		d.resume(s)
	}
}

// TestExceptionsOfNode: all that are thrown, and those that nobody catches.
func TestExceptionsOfNode(t *testing.T) {
	for _, in := range strobetest.Nodes(t) {
		t.Run(in.Name, func(t *testing.T) {
			for point, want := range map[string][]string{
				"@exceptions": {"uncaught.check:3 uncaught.tries:10 uncaught.<module>:21 RangeError: bad -1",
					"uncaught.check:3 uncaught.later:18 RangeError: bad -2",
					"uncaught.check:3 uncaught.<anonymous>:23 RangeError: bad -3"},
				"@uncaught": {"uncaught.check:3 uncaught.<anonymous>:23 RangeError: bad -3"},
			} {
				d := debug(t, in, []agentlink.Point{{ID: "x", Function: point}}, "uncaught.mjs")
				for _, w := range want {
					s := d.next()
					if got := s.at() + " " + s.Note; got != w || s.Reason != "exception" {
						t.Errorf("%s: it paused by %s at\n%s\nwant\n%s", point, s.Reason, got, w)
					}
					d.resume(s)
				}
				<-d.ended
				same(t, point+": how it ends", d.cmd.ProcessState.String(), "exit status 1")
			}
		})
	}
}

// TestAnotherDebugger: a program with a debugger of its own has no points, and says why.
func TestAnotherDebugger(t *testing.T) {
	in := strobetest.Nodes(t)[0]
	in.Args = []string{"--inspect=127.0.0.1:0"}
	d := debug(t, in, []agentlink.Point{{ID: "half", Function: "shop.half"}}, "shop.cjs")
	<-d.ended
	same(t, "its end", d.out.String()+d.cmd.ProcessState.String(), "caught bad 2\n132 404 2\nexit status 3")
	if strings.Contains(d.errs.String(), "Waiting for the debugger") {
		t.Error(d.errs.String())
	}
	d.link.Close()
	if d.last.Points[0].Why == "" || !strings.Contains(d.last.Points[0].Why, "--inspect") {
		t.Errorf("it says %+v", d.last.Points)
	}
}

// TestPointsThatAreWrong: what is wrong in itself is said.
func TestPointsThatAreWrong(t *testing.T) {
	in := strobetest.Nodes(t)[0]
	d := debug(t, in, []agentlink.Point{
		{ID: "condition", Function: "shop.half", Condition: "n >"},
		{ID: "message", Function: "shop.half", Message: "half of {n"},
		{ID: "raises", Function: "shop.half", Condition: "nobody.is"}, {ID: "line", File: "shop.cjs", Line: 500},
		{ID: "half", Function: "shop.half"},
	}, "shop.cjs")
	s := d.next()
	d.ask(s, "status", nil, nil)
	ap, _ := s.agent.Applied()
	var states []string
	for _, p := range ap.Points {
		states = append(states, strings.TrimSpace(
			strings.ReplaceAll(fmt.Sprintf("%s: %s%s", p.ID, p.Error, p.Why), d.root+"/", "")))
	}
	same(t, "the points", strings.Join(states, "\n"),
		"condition: condition: Unexpected token ')'\nmessage: message: a { has no }: {n\nraises:\nline: shop.cjs has no "+
			"code at or behind line 500\nhalf:")
	d.resume(s)
	d.end(in, "shop.cjs")
	d.link.Close()
	if !slices.ContainsFunc(d.book.All(), func(e event.Event) bool {
		return bytes.Contains(e.Payload, []byte(
			`"breakpointId":"raises","condition":"nobody.is","error":"ReferenceError: nobody is not defined"`))
	}) {
		t.Error("the condition that raises is not told")
	}
}
