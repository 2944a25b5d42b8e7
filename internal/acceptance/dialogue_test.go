package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/collector/native"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

const talked = `
#include <map>
#include <string>
#include <vector>
struct Item { std::string name; int count; unsigned flag : 3; };
struct Base { int id; };
struct Node : Base {
	Node *left;
	std::vector<Item> items;
	std::map<std::string, Item *> byName;
	int *weight;
	double grid[2][3];
};
static volatile int go;
static long total;
__attribute__((noinline)) static long sum(Node *node, int times)
{
	long all = 0;
	for (auto &i : node->items)
		all += i.count; // adds
	return all * times; // returned
}
int main()
{
	int weight = 77;
	Node inner{}, outer{};
	inner.id = 2;
	inner.weight = &weight;
	for (int i = 0; i < 150; i++) inner.items.push_back({"item " + std::to_string(i), i, 5});
	inner.byName["first"] = &inner.items[0];
	outer.id = 1;
	outer.left = &inner;
	outer.items.push_back({"only", 4, 1});
	outer.grid[1][2] = 1.5;
	long result = sum(&outer, 3);
	total = result; // written
	while (!go) result++; // turns
	Node *none = outer.left->left;
	return none->id; // dies
}
`

// dialogue is a debugger's, through the types of the model alone.
type dialogue struct {
	t   *testing.T
	s   *session.Session
	ctx context.Context // whose calls are a client's
	ref collector.Ref   // of the frame at hand
}

func (d *dialogue) as(client string) context.Context {
	return session.WithCaller(context.Background(), client)
}

func (d *dialogue) view(f func(ctx context.Context, v collector.Viewer, e collector.Evaluator) error) {
	d.t.Helper()
	if err := d.s.View(d.ctx, f); err != nil {
		d.t.Fatal(err)
	}
}

// continues lets threads go on, and returns the one that pauses next.
func (d *dialogue) continues(client string, r collector.Resume) collector.Pause {
	d.t.Helper()
	status, pauses, err := d.s.Continue(d.as(client), r, endLimit)
	if err != nil || status != session.Paused || len(pauses) != 1 {
		d.t.Fatalf("it is %s, paused %+v: %v", status, pauses, err)
	}
	return pauses[0]
}

// frames looks at a paused thread's stack, and takes its innermost frame.
func (d *dialogue) frames(tid int) (out []collector.Frame) {
	d.t.Helper()
	d.view(func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) error {
		var total int
		var err error
		if out, total, err = v.Frames(ctx, tid, 0, 0); err != nil {
			return err
		}
		second, same, err := v.Frames(ctx, tid, 1, 1)
		if err != nil || len(second) != 1 || same != total || second[0] != out[1] || len(out) != total {
			return fmt.Errorf("the second frame alone is %+v of %d, in the list of %d it is %+v: %w", second, same, total,
				out[1], err)
		}
		return nil
	})
	d.ref = out[0].Ref
	return out
}

// scope returns the variables of a scope of the frame.
func (d *dialogue) scope(kind collector.ScopeKind) (out []collector.Variable) {
	d.t.Helper()
	d.view(func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) error {
		scopes, err := v.Scopes(ctx, d.ref)
		i := slices.IndexFunc(scopes, func(s collector.Scope) bool { return s.Kind == kind })
		if err != nil || i < 0 {
			return fmt.Errorf("no scope %s in %+v: %w", kind, scopes, err)
		}
		out, err = v.Variables(ctx, scopes[i].Ref, 0, 0)
		if len(out) != scopes[i].Count && scopes[i].Count <= 100 {
			return fmt.Errorf("%d variables of the %d of scope %s", len(out), scopes[i].Count, kind)
		}
		return err
	})
	return out
}

// parts reads some parts of a variable.
func (d *dialogue) parts(of collector.Variable, from, n int) (out []collector.Variable) {
	d.t.Helper()
	if of.Ref == 0 {
		d.t.Fatalf("%+v has no parts", of)
	}
	d.view(func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) (err error) {
		out, err = v.Variables(ctx, of.Ref, from, n)
		return err
	})
	return out
}

// named is the variable of a list with a name.
func (d *dialogue) named(list []collector.Variable, name string) collector.Variable {
	d.t.Helper()
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	d.t.Fatalf("no %s in %+v", name, list)
	return collector.Variable{}
}

// is checks a variable.
func (d *dialogue) is(v collector.Variable, value, eval string) {
	d.t.Helper()
	if v.Value != value || v.Eval != eval {
		d.t.Errorf("%s is %q, %q, want %q, %q", v.Name, v.Value, v.Eval, value, eval)
	}
	if eval == "" {
		return
	}
	d.view(func(ctx context.Context, _ collector.Viewer, e collector.Evaluator) error {
		again, err := e.Evaluate(ctx, d.ref, eval)
		if err != nil || again.Value != v.Value || again.Type != v.Type || again.Ref != v.Ref {
			return fmt.Errorf("evaluated, %+v is %+v: %w", v, again, err)
		}
		return nil
	})
}

// TestDialogue drives a debugger's whole dialogue by the types of the model, while somebody else hears every change in
// order, with who caused it.
func TestDialogue(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "talked", talked)
	root := filepath.Dir(path)
	m, err := session.NewManager(session.Config{Home: t.TempDir(),
		Runtimes: []collector.Runtime{native.New(native.Config{CacheDir: t.TempDir()})}, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	d := &dialogue{t: t}
	d.ctx = d.as("editor")
	if d.s, err = m.Launch(d.ctx, session.LaunchRequest{Command: path, ProjectRoot: root, StopOnEntry: true}); err != nil {
		t.Fatal(err)
	}
	heard := make(chan []session.Change)
	go func() { // the second one
		var all []session.Change
		l := d.s.Listen(0)
		for {
			c, err := l.Next(context.Background())
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				heard <- all
				return
			}
			all = append(all, c)
		}
	}()
	st, err := d.s.ChangePoints(d.as("model"), []collector.Point{{Function: "sum"}}, nil)
	if err != nil || len(st.Added) != 1 {
		t.Fatalf("%+v: %v", st, err)
	}
	p := d.continues("editor", collector.Resume{})
	if p.PointID != st.Added[0] || p.Reason != "breakpoint" {
		t.Errorf("paused at %+v", p)
	}
	d.inspects(p)
	d.sets(p)

	if p = d.continues("model", collector.Resume{Step: collector.StepOver, Thread: p.TID}); p.Reason != "step" {
		t.Errorf("a step: %+v", p)
	}
	stale := d.ref
	err = d.s.View(d.ctx, func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) error {
		_, err := v.Scopes(ctx, stale)
		return err
	})
	if fault.CodeOf(err) != fault.NotPaused {
		t.Errorf("a ref of before the step: %v", err)
	}
	if p = d.continues("editor", collector.Resume{Step: collector.StepOut, Thread: p.TID}); p.Result == nil ||
		p.Result.String() != "126" {
		t.Errorf("what sum returned: %+v", p)
	}

	st, err = d.s.ChangePoints(d.as("editor"), []collector.Point{{Variable: "total", Pause: true}}, []string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	if p = d.continues("editor", collector.Resume{}); p.Reason != "data" || p.PointID != st.Added[0] {
		t.Errorf("at the data breakpoint: %+v", p)
	}
	if _, err := d.s.ChangePoints(d.as("model"), nil, []string{"all"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.s.Trace(d.as("model"), session.TraceChange{Add: []string{"sum"}}); err != nil {
		t.Fatal(err)
	}
	if status, _, err := d.s.Continue(d.as("editor"), collector.Resume{}, 0); err != nil || status != session.Running {
		t.Fatalf("it is %s: %v", status, err)
	}
	_, pauses, later, err := d.s.PauseNow(d.as("model"), 0)
	if err != nil || len(pauses) != 1 || len(later) != 0 || pauses[0].Line != lineOf(talked, "// turns") {
		t.Fatalf("paused now: %+v, later %+v: %v", pauses, later, err)
	}
	d.frames(pauses[0].TID)
	d.view(func(ctx context.Context, _ collector.Viewer, e collector.Evaluator) error {
		v, err := e.SetExpression(ctx, d.ref, "go", "1")
		if err != nil || v.Value != "1" {
			return fmt.Errorf("go is %+v: %w", v, err)
		}
		return nil
	})
	if status, _, err := d.s.Continue(d.as("editor"), collector.Resume{}, endLimit); err != nil ||
		status != session.Crashed {
		t.Errorf("it is %s: %v", status, err)
	}
	if _, err := m.Stop(d.as("model"), d.s.ID, session.StopOptions{Kill: true}); err != nil {
		t.Fatal(err)
	}
	d.heard(<-heard)
}

// inspects looks at everything at the breakpoint.
func (d *dialogue) inspects(p collector.Pause) {
	d.view(func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) error {
		threads, err := v.LiveThreads(ctx)
		if err != nil || len(threads) != 1 || threads[0].TID != p.TID || !threads[0].Paused || threads[0].Pause != p.Number ||
			threads[0].Name != "talked" {
			return fmt.Errorf("threads %+v: %w", threads, err)
		}
		return nil
	})
	frames := d.frames(p.TID)
	if f := frames[0]; f.Function != "sum" || f.Index != 0 || !f.User || !strings.HasSuffix(f.File, "talked.cpp") ||
		f.Line == 0 {
		d.t.Errorf("the first frame is %+v", f)
	}
	if last := frames[len(frames)-1]; frames[1].Function != "main" || last.User {
		d.t.Errorf("the frames are %+v", frames)
	}
	args := d.scope(collector.ScopeArguments)
	d.is(d.named(args, "times"), "3", "times")
	node := d.named(args, "node")
	if !strings.HasPrefix(node.Value, "0x") || node.Type != "Node*" || node.Count != 6 {
		d.t.Errorf("node is %+v", node)
	}
	members := d.parts(node, 0, 0)
	d.is(d.named(members, "id"), "1", "node->id")
	left := d.parts(d.named(members, "left"), 0, 0) // the first level
	d.is(d.named(left, "left"), "null", "node->left->left")
	weight := d.parts(d.named(left, "weight"), 0, 0)
	d.is(weight[0], "77", "*node->left->weight")
	items := d.named(left, "items")
	if items.Count != 150 || !items.List {
		d.t.Errorf("items are %+v", items)
	}
	some := d.parts(items, 120, 2) // the second
	if len(some) != 2 || some[1].Name != "[121]" {
		d.t.Fatalf("two items are %+v", some)
	}
	item := d.parts(some[1], 0, 0) // the third
	d.is(d.named(item, "name"), `"item 121"`, "node->left->items[121].name")
	d.is(d.named(item, "count"), "121", "node->left->items[121].count")
	d.is(d.named(item, "flag"), "5", "node->left->items[121].flag")
	first := d.parts(d.named(left, "byName"), 0, 0)
	d.is(d.named(d.parts(d.named(first, "first"), 0, 0), "name"), `"item 0"`, "")
	grid := d.parts(d.named(members, "grid"), 0, 0)
	d.is(d.parts(grid[1], 2, 1)[0], "1.5", "node->grid[1][2]")
	if rip := d.named(d.scope(collector.ScopeRegisters), "$rip"); rip.Value != frames[0].Address || !rip.Fixed {
		d.t.Errorf("%+v at %s", rip, frames[0].Address)
	}
	d.named(d.scope(collector.ScopeGlobals), "total")
}

// sets changes a part of a part, and a local of a caller.
func (d *dialogue) sets(p collector.Pause) {
	items := d.named(d.parts(d.named(d.scope(collector.ScopeArguments), "node"), 0, 0), "items")
	only := d.parts(items, 0, 1)[0]
	d.view(func(ctx context.Context, v collector.Viewer, e collector.Evaluator) error {
		now, err := e.SetVariable(ctx, only.Ref, "count", "42")
		if err != nil || now.Value != "42" || now.Name != "count" {
			return fmt.Errorf("it is %+v: %w", now, err)
		}
		if _, err := e.SetVariable(ctx, only.Ref, "count", "many"); fault.CodeOf(err) != fault.ValidationError {
			return fmt.Errorf("many: %w", err)
		}
		if _, err := e.SetVariable(ctx, only.Ref, "none", "1"); fault.CodeOf(err) != fault.ValidationError {
			return fmt.Errorf("no such member: %w", err)
		}
		return nil
	})
	d.is(d.named(d.parts(only, 0, 0), "count"), "42", "node->items[0].count")
}

// heard is what the second listener has to have heard.
func (d *dialogue) heard(all []session.Change) {
	want := []string{
		"launched editor", "paused editor entry",
		"points-changed model", "resumed editor", "paused program breakpoint",
		"value-changed editor node->items[0].count",
		"stepped model step-over", "paused model step",
		"stepped editor step-out", "paused editor step",
		"points-changed editor", "resumed editor", "paused program data",
		"points-changed model", "trace-changed model sum", "resumed editor",
		"paused model pause", "value-changed editor go", "resumed editor",
		"crashed program SIGSEGV", "process-ended program", "exited program SIGSEGV crashed", "stopped model crashed",
	}
	var got []string
	last := int64(-1)
	for i, c := range all {
		words := []string{string(c.Kind), c.By}
		if c.Pause != nil {
			words = append(words, c.Pause.Reason)
		}
		words = append(words, string(c.Step), strings.Join(c.Patterns, ","), strings.Join(c.What, ","), c.Signal,
			string(c.Status))
		got = append(got, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
		if c.Seq != int64(i+1) || c.TS < last {
			d.t.Errorf("change %d has number %d and time %d, behind %d", i+1, c.Seq, c.TS, last)
		}
		last = c.TS
	}
	if !slices.Equal(got, want) {
		d.t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
