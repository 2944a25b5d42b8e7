package dap_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const shop = `#include <stdio.h>
#include <stdlib.h>
struct price { int cents; const char *currency; };
struct item { const char *name; struct price price; int stock[4]; struct item *next; };
int total;
static int sum(struct item *item, int n)
{
	int line = item->price.cents * n; // the product
	total += line;
	printf("sold %d %s\n", n, item->name); // told
	return line;
}
int main(int argc, char **argv)
{
	struct item pear = {"pear", {70, "EUR"}, {4, 3, 2, 1}, NULL}, apple = {"apple", {50, "EUR"}, {1, 2, 3, 4}, &pear};
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i <= 3; i++)
		sum(&apple, i);
	fprintf(stderr, "total %d of %d arguments\n", total, argc - 1); // the end
	return argc > 1 ? atoi(argv[1]) : 7;
}
`

// program compiles a C program and returns it with its source.
func program(t *testing.T, name, source string, flags ...string) (bin, file string) {
	t.Helper()
	strobetest.NeedPtrace(t)
	bin = strobetest.BuildSource(t, "c", "gcc-O0", name, source, flags...)
	return bin, strobetest.SourceOf(t, "c", name, source)
}

// TestDialogue is a whole one: launch, breakpoint, stack, scopes, three levels of variables, changes, steps, a
// logpoint, output, the end.
func TestDialogue(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "args": []string{"5"}}, func() {
		got := e.breaks(file, args{"line": lineOf(t, shop, "total += line")},
			args{"line": lineOf(t, shop, "// told"), "logMessage": "line {line} of {n}"})
		if len(got) != 2 || !got[0].Verified || !got[1].Verified {
			t.Fatalf("set %+v", got)
		}
	})
	stop := e.stops("breakpoint")
	if len(stop.HitBreakpointIds) != 1 || !stop.AllThreadsStopped {
		t.Errorf("stopped: %+v", stop)
	}
	frames := e.stack(stop.ThreadId)
	if f := frames[0]; f.Name != "sum" || f.Source.Path != file || f.Line != lineOf(t, shop, "total += line") ||
		frames[1].Name != "main" {
		t.Errorf("frames %+v", frames)
	}
	arguments, ref := e.scope(frames[0].Id, "Arguments")
	item := e.variables(arguments["item"].VariablesReference)
	price := e.variables(item["price"].VariablesReference)
	if price["cents"].Value != "50" || !strings.Contains(price["currency"].Value, "EUR") || price["cents"].Type != "int" {
		t.Errorf("price %+v", price)
	}
	next := e.variables(item["next"].VariablesReference)
	if !strings.Contains(next["name"].Value, "pear") {
		t.Errorf("next %+v", next)
	}
	if stock := item["stock"]; stock.IndexedVariables != 4 {
		t.Errorf("stock %+v", stock)
	}
	set := ask[*proto.SetVariableResponse](e, "setVariable", args{"variablesReference": ref, "name": "n", "value": "40"})
	if got := set.Body; got.Value != "40" {
		t.Errorf("n is set to %+v", got)
	}
	cents := ask[*proto.SetExpressionResponse](e, "setExpression",
		args{"frameId": frames[0].Id, "expression": "item->price.cents", "value": "51"})
	if got := cents.Body; got.Value != "51" {
		t.Errorf("cents are set to %+v", got)
	}
	for expression, want := range map[string]string{"n + 2": "42", "item->price.cents": "51", "line": "50"} {
		for _, context := range []string{"watch", "hover", "repl"} {
			if got := e.evaluate(frames[0].Id, expression, context); got != want {
				t.Errorf("%s in %s is %s, want %s", expression, context, got, want)
			}
		}
	}
	ask[*proto.NextResponse](e, "next", args{"threadId": stop.ThreadId})
	if stop = e.stops("step"); e.stack(stop.ThreadId)[0].Line != lineOf(t, shop, "// told") {
		t.Errorf("a step leads to %+v", e.stack(stop.ThreadId)[0])
	}
	ask[*proto.StepOutResponse](e, "stepOut", args{"threadId": stop.ThreadId})
	if stop = e.stops("step"); e.stack(stop.ThreadId)[0].Name != "main" {
		t.Errorf("a step out leads to %+v", e.stack(stop.ThreadId)[0])
	}
	if got := e.said["stdout"]; got != "sold 40 apple\n" {
		t.Errorf("output before the pause that is behind it: %q", got)
	}
	e.breaks(file, args{"line": lineOf(t, shop, "// told"), "logMessage": "line {line} of {n}"})
	if !ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId}).Body.AllThreadsContinued {
		t.Error("not all go on")
	}
	e.ends(5)
	for category, want := range map[string]string{"stdout": "sold 40 apple\nsold 2 apple\nsold 3 apple\n",
		"stderr": "total 305 of 1 arguments\n", "console": "line 50 of 40\nline 102 of 2\nline 153 of 3\n"} {
		if e.said[category] != want {
			t.Errorf("%s is %q, want %q", category, e.said[category], want)
		}
	}
}

// TestConditions are breakpoints of every form, of which only the difference is changed.
func TestConditions(t *testing.T) {
	bin, file := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	product, told := lineOf(t, shop, "// the product"), lineOf(t, shop, "// told")
	var ids []proto.Breakpoint
	e.launch(args{"program": bin}, func() {
		ids = e.breaks(file, args{"line": product, "condition": "n == 2"}, args{"line": told, "hitCondition": "== 3"},
			args{"line": 4000}, args{"line": told, "hitCondition": "% 2"}, args{"line": product - 1, "condition": "nobody == 1"},
			args{"line": product - 2})
	})
	for i, verified := range []bool{true, true, false, false, false, true} {
		if ids[i].Verified != verified || (ids[i].Message == "") == !verified && i != 5 {
			t.Errorf("breakpoint %d: %+v", i, ids[i])
		}
	}
	if ids[5].Line <= product-2 {
		t.Errorf("a line without code stays: %+v", ids[5])
	}
	stop := e.stops("breakpoint")
	if !slices.Contains(stop.HitBreakpointIds, ids[5].Id) {
		t.Errorf("stopped at %+v, want %d", stop, ids[5].Id)
	}
	again := e.breaks(file, args{"line": told, "hitCondition": "== 3"}, args{"line": product, "condition": "n == 2"})
	if again[0].Id != ids[1].Id || again[1].Id != ids[0].Id {
		t.Errorf("breakpoints that stay have other ids: %+v, were %+v", again, ids[:2])
	}
	for _, want := range []string{"2", "3"} {
		ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
		stop = e.stops("breakpoint")
		if got := e.evaluate(e.stack(stop.ThreadId)[0].Id, "n", "watch"); got != want {
			t.Errorf("paused with n = %s, want %s", got, want)
		}
	}
	e.breaks(file)
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}

// TestFunctionsAndData pauses at a function, and where a variable changes.
func TestFunctionsAndData(t *testing.T) {
	bin, _ := program(t, "shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin, "stopOnEntry": true}, func() {
		got := ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints",
			args{"breakpoints": []args{{"name": "sum", "condition": "n > 1"}, {"name": "nowhere"}}}).Body.Breakpoints
		if len(got) != 2 || !got[0].Verified || got[1].Verified {
			t.Errorf("functions: %+v", got)
		}
	})
	stop := e.stops("entry")
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	stop = e.stops("function breakpoint")
	frame := e.stack(stop.ThreadId)[0]
	if n := e.evaluate(frame.Id, "n", "watch"); n != "2" {
		t.Errorf("n is %s", n)
	}
	info := ask[*proto.DataBreakpointInfoResponse](e, "dataBreakpointInfo",
		args{"name": "total", "frameId": frame.Id}).Body
	if info.DataId != "total" {
		t.Fatalf("total: %+v", info)
	}
	set := ask[*proto.SetDataBreakpointsResponse](e, "setDataBreakpoints",
		args{"breakpoints": []args{{"dataId": "total", "accessType": "write"}}}).Body.Breakpoints
	if !set[0].Verified {
		t.Fatalf("data breakpoint %+v", set)
	}
	ask[*proto.SetFunctionBreakpointsResponse](e, "setFunctionBreakpoints", args{"breakpoints": []args{}})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	stop = e.stops("data breakpoint")
	if stop.HitBreakpointIds[0] != set[0].Id || e.stack(stop.ThreadId)[0].Name != "sum" {
		t.Errorf("data: %+v", stop)
	}
	ask[*proto.SetDataBreakpointsResponse](e, "setDataBreakpoints", args{"breakpoints": []args{}})
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(7)
}

// TestPathWithBlanks has them in the program, its source and its directory.
func TestPathWithBlanks(t *testing.T) {
	strobetest.NeedPtrace(t)
	dir := filepath.Join(t.TempDir(), "a place – with blanks")
	bin, file := strobetest.BuildIn(t, dir, "my shop", shop)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": "./" + filepath.Base(bin), "cwd": dir}, func() {
		if got := e.breaks(file, args{"line": lineOf(t, shop, "// the product")}); !got[0].Verified {
			t.Errorf("%+v", got)
		}
	})
	stop := e.stops("breakpoint")
	if f := e.stack(stop.ThreadId)[0]; f.Source.Path != file {
		t.Errorf("frame %+v of %s", f, file)
	}
	ask[*proto.DisconnectResponse](e, "disconnect", args{"terminateDebuggee": true})
}

// TestPages reads parts of a list of 10,000.
func TestPages(t *testing.T) {
	const source = `static int many[10000];
int main(void)
{
	for (int i = 0; i < 10000; i++) many[i] = i * 2;
	return many[9999] == 19998 ? 0 : 1; // full
}
`
	bin, file := program(t, "pages", source)
	s := strobetest.Start(t, nil)
	e := open(t, s.Home)
	e.launch(args{"program": bin}, func() { e.breaks(file, args{"line": lineOf(t, source, "// full")}) })
	stop := e.stops("breakpoint")
	frame := e.stack(stop.ThreadId)[0].Id
	many := ask[*proto.EvaluateResponse](e, "evaluate",
		args{"frameId": frame, "expression": "many", "context": "watch"}).Body
	if many.IndexedVariables != 10000 {
		t.Fatalf("many: %+v", many)
	}
	page := func(a args) []proto.Variable {
		a["variablesReference"] = many.VariablesReference
		return ask[*proto.VariablesResponse](e, "variables", a).Body.Variables
	}
	for _, from := range []int{0, 100, 5000, 9990} {
		got := page(args{"filter": "indexed", "start": from, "count": 10})
		if len(got) != 10 || got[3].Value != fmt.Sprint(2*(from+3)) || got[3].Name != fmt.Sprintf("[%d]", from+3) {
			t.Errorf("from %d: %+v", from, got)
		}
	}
	if got := page(args{"filter": "named"}); len(got) != 0 {
		t.Errorf("named parts of a list: %+v", got)
	}
	if got := page(args{}); len(got) < 10000 || got[9999].Value != "19998" {
		t.Errorf("all: %d", len(got))
	}
	ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
	e.ends(0)
}
