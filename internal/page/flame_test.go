package page_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// side is what a flame graph has of one session.
type side struct {
	All             int64
	Weight, Calls   []int64
	TotalNs, SelfNs []int64
}

// flamed is the flame graph that the page has drawn.
type flamed struct {
	Names        []string
	Parent, Name []int
	A            side
	B            *side
	Nodes, Of    int
	Picked       int
	Found        int
	Path         string
	Functions    []flameSum
	Notes        []string
}

type flameSum struct {
	Function                  string
	Calls, TotalNs, SelfNs    int64
	CallsB, TotalNsB, SelfNsB int64
}

// find is a node of a name, -1: there is none.
func (f *flamed) find(name string) int {
	return slices.IndexFunc(f.Name, func(n int) bool { return n >= 0 && f.Names[n] == name })
}

func (d *driver) flame() *flamed {
	d.t.Helper()
	f := &flamed{}
	d.do(args{"do": "flame"}, f)
	return f
}

func (d *driver) openFlame(state string) *flamed {
	d.t.Helper()
	d.do(args{"do": "open", "url": d.base + "/#view=flame&" + state, "wait": ".flame .sums tbody"}, nil)
	return d.flame()
}

// stats are the rows of view stats by function.
func stats(t *testing.T, s *strobetest.Strobe, id, filter string) map[string]flameSum {
	t.Helper()
	var r struct{ Rows []flameSum }
	s.Call(t, "debug_timeline", args{"action": "stats", "sessionId": id, "filter": filter}, &r)
	out := map[string]flameSum{}
	for _, row := range r.Rows {
		out[row.Function] = row
	}
	return out
}

// TestFlamePage: the flame graphs that the page draws say what debug_query's statistics say, of a session, a thread, a
// function and a stretch of time; they are zoomed by mouse and keyboard and searched; two sessions are compared.
func TestFlamePage(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	ids := recorded(t, s)
	id := ids["c++"]
	d := drive(t, begin(t, s))
	for _, name := range []string{"c++", "python", "node"} {
		d.sameAsStats(s, ids[name], "{}", "")
	}
	workers := d.events(s, args{"sessionId": id, "eventType": "function_exit", "function": args{"equals": "shop::work"},
		"verbose": true})
	last := d.events(s, args{"sessionId": id, "eventType": "function_exit", "verbose": true})
	middle := last[len(last)/2].TimestampNs
	d.sameAsStats(s, id, fmt.Sprintf(`{"timeTo":%d}`, middle), "")
	d.sameAsStats(s, id, `{"function":{"equals":"shop::price"}}`, "shop::price")
	if len(workers) < 2 {
		t.Fatalf("%d calls of shop::work", len(workers))
	}
	d.zoomAndSearch(id)
	d.differences(s, id)
}

// sameAsStats compares a graph with statistics of the same filter: calls always, times where no call is cut by the
// filter's time. only: of one function, what is below it being called by others, too.
func (d *driver) sameAsStats(s *strobetest.Strobe, id, filter, only string) {
	t := d.t
	t.Helper()
	got, want := d.openFlame("s="+url.QueryEscape(id)+"&filter="+url.QueryEscape(filter)), stats(t, s, id, filter)
	if len(got.Functions) == 0 || only == "" && len(got.Functions) < 3 {
		t.Errorf("%s %s: only %d functions", id, filter, len(got.Functions))
	}
	calls, self := int64(0), int64(0)
	for _, f := range got.Functions {
		calls, self = calls+f.Calls, self+f.SelfNs
		if only != "" && only != f.Function {
			continue
		}
		w := want[f.Function]
		if f.Calls != w.Calls || !strings.Contains(filter, "time") && (f.TotalNs != w.TotalNs || f.SelfNs != w.SelfNs) {
			t.Errorf("%s %s: %+v, statistics have %+v", id, filter, f, w)
		}
	}
	inNodes, selfs := int64(0), int64(0)
	for i := range got.Parent {
		inNodes, selfs = inNodes+got.A.Calls[i], selfs+got.A.SelfNs[i]
	}
	if inNodes != calls || selfs != self || got.A.Weight[0] != self {
		t.Errorf("%s %s: nodes have %d calls, %d ns; functions %d, %d; the root %d ns", id, filter, inNodes, selfs, calls,
			self, got.A.Weight[0])
	}
}

// zoomAndSearch does it by mouse, then by keyboard.
func (d *driver) zoomAndSearch(id string) {
	t := d.t
	t.Helper()
	all := d.openFlame("s=" + id)
	price := all.find("shop::price")
	if price < 0 {
		t.Fatalf("no stack of shop::price in %v", all.Names)
	}
	var tip string
	if d.do(args{"do": "hover", "id": price}, &tip); !strings.Contains(tip, "shop::price") || !strings.Contains(tip, "% of all") {
		t.Errorf("the mouse on a call says %q", tip)
	}
	zoomed := &flamed{}
	d.do(args{"do": "clickNode", "id": price}, zoomed)
	if zoomed.Names[zoomed.Name[0]] != "shop::price" || zoomed.A.Weight[0] != all.A.Weight[price] || zoomed.A.All != all.A.All {
		t.Errorf("a click zooms to %+v", zoomed)
	}
	d.do(args{"do": "wait", "of": ".path-of", "text": "shop::price"}, nil)
	d.do(args{"do": "choose", "of": ".path-of button"}, nil)
	if back := d.flame(); back.Name[0] != -1 || back.A.Weight[0] != all.A.Weight[0] {
		t.Errorf("the first of the path shows %+v", back.Name)
	}
	d.do(args{"do": "fill", "of": ".flame input[type=search]", "text": "price"}, nil)
	d.do(args{"do": "wait", "of": ".flame .found", "text": " %"}, nil)
	d.do(args{"do": "press", "keys": []string{"Enter"}}, nil)
	if f := d.flame(); f.Found != 1 || f.Picked < 0 || f.Names[f.Name[f.Picked]] != "shop::price" {
		t.Errorf("a search selects %d of %d found", f.Picked, f.Found)
	}
	d.do(args{"do": "wait", "of": "#say", "text": "shop::price"}, nil)
	d.do(args{"do": "press", "keys": []string{"Enter"}}, nil)
	d.do(args{"do": "wait", "of": ".path-of", "text": "shop::price"}, nil)
	if f := d.flame(); f.Names[f.Name[0]] != "shop::price" {
		t.Errorf("Enter zooms to %q", f.Names[f.Name[0]])
	}
	d.do(args{"do": "press", "keys": []string{"ArrowDown"}}, nil)
	d.do(args{"do": "wait", "of": "#say", "text": "shop::price"}, nil)
	d.do(args{"do": "press", "keys": []string{"0"}}, nil)
	d.do(args{"do": "wait", "of": "#say", "text": ""}, nil)
	if f := d.flame(); f.Name[0] != -1 {
		t.Error("0 does not show all")
	}
}

// differences compares a run with one of another length.
func (d *driver) differences(s *strobetest.Strobe, id string) {
	t := d.t
	t.Helper()
	var all struct {
		Sessions []struct{ SessionID, Command string }
	}
	s.Call(t, "debug_session", args{"action": "list"}, &all)
	at := slices.IndexFunc(all.Sessions, func(o struct{ SessionID, Command string }) bool { return o.SessionID == id })
	bin, _, _ := strings.Cut(all.Sessions[at].Command, " ")
	l := s.Launch(t, bin, t.TempDir(), []string{"20"}, args{"trace": []string{"shop::**", "!shop::check"}})
	s.WaitEnd(t, l.SessionID, time.Minute)
	a, b := stats(t, s, id, "{}"), stats(t, s, l.SessionID, "{}")
	d.openFlame("s=" + id)
	d.do(args{"do": "select", "of": ".flame select[aria-label='Compare with session']", "value": l.SessionID}, nil)
	d.do(args{"do": "wait", "of": ".sums th", "text": "Self, change"}, nil)
	got := d.flame()
	if got.B == nil || len(got.Functions) < len(a) {
		t.Fatalf("no comparison: %+v", got)
	}
	for _, f := range got.Functions {
		x, y := a[f.Function], b[f.Function]
		if f.Calls != x.Calls || f.SelfNs != x.SelfNs || f.CallsB != y.Calls || f.SelfNsB != y.SelfNs || f.TotalNsB != y.TotalNs {
			t.Errorf("%+v, statistics have %+v and %+v", f, x, y)
		}
	}
	if a["shop::check"].Calls == 0 || b["shop::check"].Calls > 0 {
		t.Errorf("shop::check is of one session alone, and has %d and %d calls", a["shop::check"].Calls, b["shop::check"].Calls)
	}
	var rows [][]string
	d.do(args{"do": "rows", "of": ".sums tbody tr"}, &rows)
	for _, r := range rows {
		if r[0] == "shop::check" && !strings.HasPrefix(r[4], "−") {
			t.Errorf("shop::check was not called in b: %q", r)
		}
	}
	var tip string
	if d.do(args{"do": "hover", "id": got.find("shop::check")}, &tip); !strings.Contains(tip, "− ") && !strings.Contains(tip, "−") {
		t.Errorf("the sign of a difference is not in %q", tip)
	}
}
