package dap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// scripted are programs of interpreters.
var scripted = []struct {
	name, file, source string
	interpreter        func(t *testing.T) string
}{
	{"python", "cart file.py", `class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price
def price(item, n):
    p = item.price * n
    return p  # priced
def total(items, tax):
    sum = 0
    for item in items:
        sum += price(item, 2)  # each
    sum = sum + tax  # taxed
    return sum
def check(n):
    if n > 3:
        raise ValueError("too many")
    return n
print("total", total([Item("pear", 3), Item("fig", 5)], 1))
try:
    check(4)
except ValueError as e:
    print("caught", e)
`, func(t *testing.T) string {
		all := strobetest.Pythons(t)
		return all[len(all)-1].Path
	}},
	{"node", "cart file.js", `class Item {
  constructor(name, price) { this.name = name; this.price = price; }
}
function price(item, n) {
  const p = item.price * n;
  return p;  // priced
}
function total(items, tax) {
  let sum = 0;
  for (const item of items) {
    sum += price(item, 2);  // each
  }
  sum = sum + tax;  // taxed
  return sum;
}
function check(n) {
  if (n > 3) throw new RangeError('too many');
  return n;
}
console.log('total', total([new Item('pear', 3), new Item('fig', 5)], 1));
try { check(4); } catch (e) { console.log('caught', e.message); }
`, func(t *testing.T) string { return strobetest.Node(t).Path }},
}

// TestScripts debugs programs of interpreters as an editor does: points by line before they run, a logpoint, variables
// looked into and set, steps, exceptions.
func TestScripts(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, p := range scripted {
		t.Run(p.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), p.file)
			if err := os.WriteFile(file, []byte(p.source), 0o600); err != nil {
				t.Fatal(err)
			}
			line := func(text string) int { return 1 + strings.Count(p.source[:strings.Index(p.source, text)], "\n") }
			e := open(t, s.Home)
			e.launch(args{"program": p.interpreter(t), "args": []string{file}, "cwd": filepath.Dir(file)}, func() {
				e.breaks(file, args{"line": line("taxed")}, args{"line": line("each"), "logMessage": "{item.name} at {sum}"},
					args{"line": line("priced") - 1, "condition": "item.name == 'fig'"})
				ask[*proto.SetExceptionBreakpointsResponse](e, "setExceptionBreakpoints", args{"filters": []string{"@exceptions"}})
			})
			stop := e.stops("breakpoint")
			stack := e.stack(stop.ThreadId)
			if stack[0].Line != line("priced")-1 || stack[0].Source == nil || stack[0].Source.Path != file ||
				!strings.HasSuffix(stack[1].Name, "total") {
				t.Errorf("stack %+v", stack)
			}
			if v, _ := e.part(stop.ThreadId, "item name"); !strings.Contains(v.Value, "fig") {
				t.Errorf("a part of an argument is %+v", v)
			}
			v, parent := e.part(stop.ThreadId, "item price")
			if set := ask[*proto.SetVariableResponse](e, "setVariable",
				args{"variablesReference": parent, "name": v.Name, "value": "50"}); set.Body.Value != "50" {
				t.Errorf("set to %+v", set.Body)
			}
			ask[*proto.NextResponse](e, "next", args{"threadId": stop.ThreadId})
			stop = e.stops("step")
			if at := e.stack(stop.ThreadId)[0]; at.Line != line("priced") {
				t.Errorf("a step leads to %+v", at)
			}
			if got := e.evaluate(e.stack(stop.ThreadId)[0].Id, "p + 1", "watch"); got != "101" {
				t.Errorf("p + 1 is %s", got)
			}
			ask[*proto.StepOutResponse](e, "stepOut", args{"threadId": stop.ThreadId})
			e.stops("step")
			ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
			stop = e.stops("breakpoint")
			if at := e.stack(stop.ThreadId)[0]; at.Line != line("taxed") {
				t.Errorf("the next point is at %+v", at)
			}
			ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
			stop = e.stops("exception")
			info := ask[*proto.ExceptionInfoResponse](e, "exceptionInfo", args{"threadId": stop.ThreadId})
			if !strings.Contains(info.Body.ExceptionId+info.Body.Description, "too many") {
				t.Errorf("the exception is %+v", info.Body)
			}
			ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
			e.ends(0)
			if e.said["stdout"] != "total 107\ncaught too many\n" || !strings.Contains(e.said["console"], "fig at 6") {
				t.Errorf("said %q", e.said)
			}
		})
	}
}
