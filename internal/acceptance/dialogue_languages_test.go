//go:build linux

package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// spoken is one program in a language of an interpreter.
type spoken struct {
	file, source string
	none         string // a comment's line
	anyOf        string // an expression over a local variable of total, that is 2
	deep         string // where a part of the cart is, as debug_view names its parts
	error        string
}

var spokenPython = spoken{file: "cart.py", source: `import sys
class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price
class Cart:
    def __init__(self, items):
        self.items = items
        self.notes = {"by": "ann", "deep": {"x": [1, 2, [3]]}}
def price(item, n):
    p = item.price * n
    # no code is here
    return p  # priced
def total(cart, tax):
    sum = 0  # first
    for item in cart.items:
        sum += price(item, 2)  # each
    sum = sum + tax  # taxed
    return sum
def check(n):
    if n > 3:
        raise ValueError("too many: %d" % n)
    return n
def main():
    cart = Cart([Item("pear", 3), Item("fig", 5)])
    for tax in range(4):
        print("total", total(cart, tax))
    try:
        check(4)
    except ValueError as e:
        print("error", e)
    print("end")
main()
`, none: "# no code is here", anyOf: "len(cart.items)", deep: "cart notes 'deep' 'x' [1]", error: "ValueError: too many: 4"}

var spokenNode = spoken{file: "cart.js", source: `'use strict';
class Item {
  constructor(name, price) { this.name = name; this.price = price; }
}
class Cart {
  constructor(items) { this.items = items; this.notes = {by: 'ann', deep: {x: [1, 2, [3]]}}; }
}
function price(item, n) {
  const p = item.price * n;
  // no code is here
  return p;  // priced
}
function total(cart, tax) {
  let sum = 0;  // first
  for (const item of cart.items) {
    sum += price(item, 2);  // each
  }
  sum = sum + tax;  // taxed
  return sum;
}
function check(n) {
  if (n > 3) throw new RangeError('too many: ' + n);
  return n;
}
function main() {
  const cart = new Cart([new Item('pear', 3), new Item('fig', 5)]);
  for (let tax = 0; tax < 4; tax++) console.log('total', total(cart, tax));
  try { check(4); } catch (e) { console.log('error', e.message); }
  console.log('end');
}
main();
`, none: "// no code is here", anyOf: "cart.items.length", deep: "cart notes deep x [1]", error: "RangeError: too many: 4"}

// TestDialogueOfLanguages debugs a program of each interpreter as one of C: points by function and line, conditions,
// messages, steps, variables read and written, exceptions, beside a trace of every call, and it ends as it does alone.
func TestDialogueOfLanguages(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, in := range strobetest.Pythons(t) {
		t.Run("python"+in.Name, func(t *testing.T) { spokenPython.debug(t, s, in.Path) })
	}
	t.Run("node", func(t *testing.T) { spokenNode.debug(t, s, strobetest.Node(t).Path) })
}

func (p spoken) debug(t *testing.T, s *strobetest.Strobe, interpreter string) {
	dir := t.TempDir()
	write(t, dir, p.file, p.source, 0o644)
	line := func(text string) int { return lineOf(p.source, text) }
	l := s.Launch(t, interpreter, dir, []string{p.file},
		args{"trace": []string{"@usercode"}, "cwd": dir, "stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	set := d.points(args{"add": []any{
		args{"function": "total", "condition": "tax == 2"},
		args{"file": p.file, "line": line("each"), "message": "{item.name} at {sum}"},
		args{"file": p.file, "line": line(p.none), "hitCount": 7},
		args{"function": "check", "condition": "n.nothing.more"},
	}})
	if len(set.Breakpoints) != 3 || !strings.Contains(set.Breakpoints[0].Note, "nowhere yet") {
		t.Errorf("before the program runs: %+v", set)
	}
	stands := func(what string, r standing, function, text string) (th pausedThread) {
		t.Helper()
		if r.Status != "paused" || len(r.PausedThreads) != 1 {
			t.Fatalf("%s: %+v", what, r)
		}
		th = r.PausedThreads[0]
		if short := th.Function[strings.LastIndexByte(th.Function, '.')+1:]; short != function || th.Line != line(text) {
			t.Errorf("%s: it stands in %s at line %d, want %s at %d (%s)", what, th.Function, th.Line, function, line(text),
				text)
		}
		return th
	}
	th := stands("breakpoint", d.next(args{}), "total", "first")
	if fmt.Sprint(th.Arguments["tax"]) != "2" || th.BreakpointID != set.Added[0] || th.Reason != "breakpoint" {
		t.Errorf("breakpoint: %+v", th)
	}
	if stack := fmt.Sprint(th.Backtrace); !strings.Contains(stack, "#1 ") || !strings.Contains(stack, "main ("+p.file) {
		t.Errorf("stack %s", stack)
	}
	have := d.points(args{})
	if b := have.Breakpoints; b[0].Line != line("first") || b[0].Hits != 1 || b[1].Line != line("priced") ||
		!strings.Contains(b[1].Note, "no code") || have.Logpoints[0].Hits != 4 {
		t.Errorf("points when they are there: %+v", have)
	}
	step := func(how, function, text string) pausedThread {
		t.Helper()
		return stands(how, d.next(args{"action": how, "threadId": th.ThreadID}), function, text)
	}
	for range 5 { // an interpreter may stand twice at a loop's head
		if th := d.next(args{"action": "step-over", "threadId": th.ThreadID}).PausedThreads[0]; th.Line == line("each") {
			break
		}
	}
	step("step-into", "price", p.source[strings.Index(p.source, "p = item"):strings.Index(p.source, "p = item")+8])
	out := d.next(args{"action": "step-out", "threadId": th.ThreadID})
	if len(out.PausedThreads) != 1 || !strings.HasSuffix(out.PausedThreads[0].Function, "total") {
		t.Fatalf("step-out: %+v", out)
	}
	if r := out.PausedThreads[0]; fmt.Sprint(r.Result) != "6" || !strings.HasSuffix(r.ResultOf, "price") {
		t.Errorf("it returned %v of %q", r.Result, r.ResultOf)
	}
	var mem struct {
		Results []struct {
			Value any
			Error any
		}
	}
	read := func(expression string) string {
		t.Helper()
		mem.Results = nil
		s.Call(t, "debug_memory", args{"sessionId": d.id, "action": "read", "threadId": th.ThreadID,
			"targets": []any{args{"variable": expression}}}, &mem)
		return fmt.Sprintf("%v, error %v", mem.Results[0].Value, mem.Results[0].Error)
	}
	if got := read(p.anyOf); got != "2, error <nil>" {
		t.Errorf("%s is %s", p.anyOf, got)
	}
	if got := read("cart.items[1].name"); got != "fig, error <nil>" {
		t.Errorf("a name is %s", got)
	}
	if got := read("nobody.has(this)"); !strings.Contains(got, "nobody") {
		t.Errorf("what is not there is %s", got)
	}
	if got := d.part(th.ThreadID, p.deep); got.Value != "2" {
		t.Errorf("%s is %+v", p.deep, got)
	}
	s.Call(t, "debug_memory", args{"sessionId": d.id, "action": "write", "threadId": th.ThreadID, "targets": []any{
		args{"variable": "tax", "value": 1000}, args{"variable": "cart.items[1].price", "value": 7}}}, &mem)
	if got := read("tax"); got != "1000, error <nil>" {
		t.Errorf("tax is then %s", got)
	}
	if i := line("taxed"); i > 0 {
		stands("until a line", d.next(args{"until": fmt.Sprintf("%s:%d", p.file, i), "threadId": th.ThreadID}), "total",
			"taxed")
	}
	exc := d.points(args{"add": []any{args{"function": "@exceptions"}}, "remove": []any{set.Added[2]}})
	thrown := d.next(args{})
	if len(thrown.PausedThreads) != 1 || thrown.PausedThreads[0].BreakpointID != exc.Added[0] ||
		!strings.HasSuffix(thrown.PausedThreads[0].Function, "check") ||
		!strings.Contains(thrown.PausedThreads[0].Note, p.error) {
		t.Errorf("an exception: %+v", thrown)
	}
	if end := d.next(args{}); end.Status != "exited" || end.ExitCode == nil || *end.ExitCode != 0 {
		t.Errorf("it ends as %+v", end)
	}
	// The price of 7 counts from the second fig on: 6+14+1000, 6+14+3.
	if got := s.Output(t, d.id, "stdout"); got != "total 16\ntotal 17\ntotal 1020\ntotal 23\nerror too many: 4\nend\n" {
		t.Errorf("it wrote %q", got)
	}
	logs := d.events("logpoint")
	if len(logs) != 8 || logs[1]["message"] != "fig at 6" {
		t.Errorf("%d messages: %v", len(logs), logs)
	}
	if wrong := d.events("condition_error"); len(wrong) != 1 || wrong[0]["breakpointId"] != set.Added[3] ||
		wrong[0]["error"] == nil {
		t.Errorf("a condition that raises is told as %v", wrong)
	}
	if p := d.events("pause"); len(p) < 6 {
		t.Errorf("%d pauses are on the timeline", len(p))
	}
	calls := map[string]int{}
	for _, e := range d.events("function_enter") {
		name := fmt.Sprint(e["function"])
		calls[name[strings.LastIndexByte(name, '.')+1:]]++
	}
	if calls["price"] != 8 || calls["total"] != 4 || calls["check"] != 1 || calls["main"] != 1 {
		t.Errorf("calls %v", calls)
	}
}
