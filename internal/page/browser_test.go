package page_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// driver is Chromium with the page in it.
type driver struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	base string // of the page's links
}

// drive opens the link in a browser of its own, which ends with the test.
func drive(t *testing.T, link *url.URL) *driver {
	t.Helper()
	strobetest.NeedCommand(t, "chromium", "node")
	modules := strobetest.NodePackages(t, "playwright-core@1.65.1", "axe-core@4.11.0")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/drive.mjs")
	cmd.Env = append(os.Environ(), "NODE_PACKAGES="+modules, "CHROMIUM="+chromium)
	cmd.Stderr = os.Stderr
	d := &driver{t: t, base: "http://" + link.Host}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReaderSize(out, 1<<20)
	t.Cleanup(func() {
		d.in.Close()
		io.Copy(io.Discard, out) //nolint:errcheck // so that it can end
		if err := cmd.Wait(); err != nil {
			t.Errorf("the browser ended with %v", err)
		}
	})
	d.do(args{"do": "open", "url": link.String(), "wait": "main table, main .empty"}, nil)
	return d
}

type args = map[string]any

// do has the browser do something and decodes what it answers.
func (d *driver) do(command args, answer any) {
	d.t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		d.t.Fatalf("%v: %v", command, err)
	}
	var got struct {
		OK     json.RawMessage
		Failed string
	}
	if line, err = d.out.ReadBytes('\n'); err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err != nil || got.Failed != "" {
		d.t.Fatalf("the browser, at %v: %v %s", command, err, got.Failed)
	}
	if answer != nil {
		if err := json.Unmarshal(got.OK, answer); err != nil {
			d.t.Fatalf("the browser, at %v: %v in %.300s", command, err, got.OK)
		}
	}
}

func (d *driver) open(state string) {
	d.t.Helper()
	d.do(args{"do": "open", "url": d.base + "/#" + state}, nil)
}

// drawn is what the page has drawn.
type drawn struct {
	From, To float64
	Spans    []struct {
		From, To float64
		ID       int64
		Calls    int
		Lane     int
		Depth    int
		Function string
	}
	Marks []struct {
		EventType string
		Count     int64
	}
}

// recorded are a C++ program with threads, a Python program with threads and tasks, and a Node program, as Strobe
// records them.
func recorded(t *testing.T, s *strobetest.Strobe) map[string]string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	shop, err := os.ReadFile("testdata/shop.cc")
	if err != nil {
		t.Fatal(err)
	}
	pythons := strobetest.Pythons(t)
	ids := map[string]string{}
	for _, p := range []struct {
		name, command, trace string
		args                 []string
	}{
		{"c++", strobetest.BuildSource(t, "cpp", "gcc-O0", "shop", string(shop), "-pthread"), "shop::**", []string{"60"}},
		{"python", pythons[len(pythons)-1].Path, "@usercode", []string{filepath.Join(dir, "cart.py")}},
		{"node", strobetest.Node(t).Path, "@usercode", []string{filepath.Join(dir, "cart.js")}},
	} {
		l := s.Launch(t, p.command, dir, p.args, args{"trace": []string{p.trace}})
		st := s.WaitEnd(t, l.SessionID, time.Minute)
		if st.EventCount["function_exit"] < 100 || st.DroppedEvents > 0 {
			t.Fatalf("%s: recorded %+v", p.name, st)
		}
		ids[p.name] = l.SessionID
	}
	return ids
}

// event is what the test reads of an answer of debug_query.
type event struct {
	ID, TimestampNs, DurationNs int64
	Function, ThreadName        string
	EventType                   string
}

func (d *driver) events(s *strobetest.Strobe, filter args) (all []event) {
	d.t.Helper()
	for after := int64(0); ; {
		in := args{"limit": 500, "afterEventId": after}
		for k, v := range filter {
			in[k] = v
		}
		var r struct {
			Events      []event
			HasMore     bool
			LastEventID int64
		}
		s.Call(d.t, "debug_query", in, &r)
		if all = append(all, r.Events...); !r.HasMore {
			return all
		}
		after = r.LastEventID
	}
}

// TestPage opens the page in a real browser, on recordings of real programs, and compares what it has drawn with what
// debug_query says.
func TestPage(t *testing.T) {
	strobetest.NeedPtrace(t)
	windows := 2
	if strobetest.Soaks(t, "100 windows of each program") {
		windows = 100
	}
	s := strobetest.Start(t, nil)
	ids := recorded(t, s)
	d := drive(t, begin(t, s))
	for _, name := range []string{"c++", "python", "node"} {
		id := ids[name]
		exits := d.events(s, args{"sessionId": id, "eventType": "function_exit", "verbose": true})
		others := d.events(s, args{"sessionId": id, "eventType": []string{"stdout", "stderr", "process", "exception"}})
		first, last := exits[0].TimestampNs, exits[len(exits)-1].TimestampNs
		rng := rand.New(rand.NewPCG(5, uint64(len(exits))))
		for n := range windows {
			state := "s=" + url.QueryEscape(id)
			if n > 0 {
				span := (last - first) >> rng.IntN(12)
				from := first + rng.Int64N(last-first-span+1)
				state += fmt.Sprintf("&from=%d&to=%d", from, from+span+100)
			}
			d.open(state)
			var got drawn
			d.do(args{"do": "shown"}, &got)
			d.compare(name+" "+state, &got, exits, others)
			if n == 0 {
				d.clickSome(name, s, id, &got, exits, rng)
			}
		}
	}
	d.views(s, ids["c++"])
	d.keyboard(ids["c++"])
	d.accessible(ids)
	var injected struct {
		Broken  bool
		Refused []string
	}
	d.open("s=" + ids["node"])
	d.do(args{"do": "wrong"}, nil)
	if d.do(args{"do": "inject"}, &injected); injected.Broken || len(injected.Refused) < 3 {
		t.Errorf("the policy has let something through: %+v", injected)
	}
}

// compare says where a picture differs from the events.
func (d *driver) compare(what string, got *drawn, exits, others []event) {
	d.t.Helper()
	byID, want := map[int64]event{}, int64(0)
	for _, e := range exits {
		byID[e.ID] = e
		if float64(e.TimestampNs) >= got.From && float64(e.TimestampNs-e.DurationNs) <= got.To {
			want++
		}
	}
	sum := int64(0)
	for _, sp := range got.Spans {
		sum += int64(max(1, sp.Calls))
		e := byID[sp.ID]
		if e.Function != sp.Function {
			d.t.Errorf("%s: span %+v is of event %+v", what, sp, e)
		}
		if sp.Calls == 1 && (float64(e.TimestampNs) != sp.To || float64(e.TimestampNs-e.DurationNs) != sp.From) {
			d.t.Errorf("%s: call %+v is drawn as %+v", what, e, sp)
		}
	}
	if sum != want {
		d.t.Errorf("%s: %d calls are drawn, debug_query has %d", what, sum, want)
	}
	marks, events := int64(0), int64(0)
	for _, m := range got.Marks {
		switch m.EventType {
		case "stdout", "stderr", "process", "exception":
			marks += m.Count
		}
	}
	for _, e := range others {
		if float64(e.TimestampNs) >= got.From && float64(e.TimestampNs) <= got.To {
			events++
		}
	}
	if marks > events {
		d.t.Errorf("%s: %d marks are drawn, debug_query has %d", what, marks, events)
	}
}

// clickSome clicks on calls, and compares what the page shows of them.
func (d *driver) clickSome(name string, s *strobetest.Strobe, id string, got *drawn, exits []event, rng *rand.Rand) {
	d.t.Helper()
	byID := map[int64]event{}
	for _, e := range exits {
		byID[e.ID] = e
	}
	clicked := 0
	for _, at := range rng.Perm(len(got.Spans)) {
		sp := got.Spans[at]
		if sp.Calls != 1 || sp.Depth > 20 {
			continue
		}
		if clicked == 2 {
			return
		}
		d.open(fmt.Sprintf("s=%s&from=%.0f&to=%.0f", url.QueryEscape(id), sp.From-10, sp.To+10))
		var shown struct {
			Title, Text, Line string
			Lost              bool
		}
		if d.do(args{"do": "click", "id": sp.ID}, &shown); shown.Lost {
			continue // scrolled away
		}
		clicked++
		e := byID[sp.ID]
		if shown.Title != e.Function || !strings.Contains(shown.Text, fmt.Sprintf("#%d", sp.ID)) {
			d.t.Errorf("%s: a click on call %d of %s shows %q, %.300s", name, sp.ID, e.Function, shown.Title, shown.Text)
		}
	}
	if clicked == 0 {
		d.t.Errorf("%s: no call could be clicked", name)
	}
}

// views looks at the other views: table, filters, statistics, a link to an event, errors.
func (d *driver) views(s *strobetest.Strobe, id string) {
	t := d.t
	t.Helper()
	filter := args{"function": args{"contains": "price"}, "eventType": []string{"function_exit"}}
	text, err := json.Marshal(filter)
	if err != nil {
		t.Fatal(err)
	}
	state := "s=" + id + "&view=events&filter=" + url.QueryEscape(string(text))
	d.do(args{"do": "open", "url": d.base + "/#" + state, "wait": ".events tbody tr"}, nil)
	want := s.Query(t, id, filter).TotalCount
	var sum string
	if d.do(args{"do": "text", "of": ".events .sum"}, &sum); !strings.HasSuffix(sum, fmt.Sprintf(" of %d events", want)) &&
		!strings.HasSuffix(sum, fmt.Sprintf(" of %d,%03d events", want/1000, want%1000)) {
		t.Errorf("the table says %q, debug_query counts %d", sum, want)
	}
	d.do(args{"do": "choose", "of": ".question > details > summary"}, nil)
	var query string
	d.do(args{"do": "text", "of": ".question .query"}, &query)
	var asked args
	if err := json.Unmarshal([]byte(strings.TrimPrefix(query, "debug_query ")), &asked); err != nil {
		t.Fatalf("the query for an agent is %q: %v", query, err)
	}
	delete(asked, "sessionId")
	if got := s.Query(t, id, asked).TotalCount; got != want {
		t.Errorf("the query for an agent counts %d, want %d", got, want)
	}
	// What is typed is asked, and what cannot be asked is said.
	d.do(args{"do": "fill", "of": "[aria-label=Function]", "text": "no_such"}, nil)
	d.do(args{"do": "wait", "of": ".sum", "text": "no_such"}, nil)
	d.do(args{"do": "fill", "of": "[placeholder='ns or -5s']", "text": "yesterday"}, nil)
	d.do(args{"do": "wait", "of": ".sum.failure", "text": "yesterday"}, nil)

	d.do(args{"do": "open", "url": d.base + "/#view=stats&s=" + id, "wait": ".stats tbody tr"}, nil)
	var rows [][]string
	d.do(args{"do": "rows", "of": ".stats tbody tr"}, &rows)
	found := false
	for _, r := range rows {
		if r[0] == "shop::check" {
			exits := s.Count(t, id, "function_exit", "shop::check")
			found = strings.TrimSpace(r[1]) == fmt.Sprint(exits) && r[2] != ""
		}
	}
	if !found {
		t.Errorf("statistics of shop::check are wrong in %v", rows)
	}
	// A link to an event shows it with its values, its source and its callers.
	exit := d.events(s, args{"sessionId": id, "eventType": "function_exit", "function": args{"equals": "shop::total"}})[3]
	d.open(fmt.Sprintf("s=%s&event=%d", id, exit.ID))
	var shown struct{ Title, Text, Line string }
	d.do(args{"do": "detail"}, &shown)
	d.do(args{"do": "wait", "of": "#detail .line.here", "text": "long total("}, nil)
	for _, part := range []string{"round", "pear", "shop::work", "shop::price", "shop::depth"} {
		if !strings.Contains(shown.Text, part) {
			t.Errorf("details of a call lack %q: %s", part, shown.Text)
		}
	}
	d.do(args{"do": "wrong"}, nil)
	d.do(args{"do": "open", "url": d.base + "/#s=gone-2020-01-01-00h00", "wait": ".empty"}, nil)
	if d.do(args{"do": "text", "of": ".empty"}, &sum); !strings.Contains(sum, "gone-2020-01-01-00h00") ||
		strings.Contains(sum, "debug_") {
		t.Errorf("a session that does not exist is %q", sum)
	}
}

// keyboard does all that a mouse does.
func (d *driver) keyboard(id string) {
	t := d.t
	t.Helper()
	d.open("s=" + id)
	d.do(args{"do": "press", "keys": []string{"Tab"}}, nil)
	var at string
	d.do(args{"do": "focused"}, &at)
	for n := 0; n < 40 && !strings.HasPrefix(at, "CANVAS"); n++ {
		if at == "A " || at == "BUTTON " || at == "INPUT " {
			t.Errorf("something without a name has the focus: %q", at)
		}
		d.do(args{"do": "press", "keys": []string{"Tab"}}, nil)
		d.do(args{"do": "focused"}, &at)
	}
	if !strings.HasPrefix(at, "CANVAS") {
		t.Fatalf("the timeline cannot be reached by Tab; the last is %q", at)
	}
	var before, after drawn
	d.do(args{"do": "shown"}, &before)
	d.do(args{"do": "press", "keys": []string{"+", "+", "+", "ArrowRight"}}, nil)
	d.do(args{"do": "shown"}, &after)
	if after.To-after.From >= before.To-before.From {
		t.Errorf("plus does not zoom: %.0f and %.0f", after.To-after.From, before.To-before.From)
	}
	d.do(args{"do": "press", "keys": []string{"0", "n"}}, nil)
	var shown struct{ Title, Text string }
	d.do(args{"do": "detail"}, &shown)
	if shown.Title == "" {
		t.Error("N selects nothing")
	}
	d.do(args{"do": "wait", "of": "#say", "text": "Selected"}, nil)
	d.do(args{"do": "press", "keys": []string{"Escape"}}, nil)
	var n int
	if d.do(args{"do": "count", "of": "#detail:not([hidden])"}, &n); n != 0 {
		t.Error("Escape does not close the details")
	}
	d.do(args{"do": "press", "keys": []string{"/", "p", "r", "i", "c", "e", "Enter"}}, nil)
	d.do(args{"do": "wait", "of": "#detail h2", "text": "shop::price"}, nil)
}

// accessible has axe-core look at every view, and again at the contrast of the other theme. With STROBE_SHOTS set to a folder, pictures of them are
// kept there.
func (d *driver) accessible(ids map[string]string) {
	t := d.t
	t.Helper()
	for _, theme := range []string{"light", "dark"} {
		d.do(args{"do": "theme", "name": theme}, nil)
		for _, view := range []struct{ name, state, wait string }{
			{"sessions", "", ".sessions tr"},
			{"timeline", "s=" + ids["c++"] + "&event=40&find=price", "#detail .query"},
			{"tasks", "s=" + ids["python"], ".labels .task"},
			{"events", "view=events&s=" + ids["node"] + "&event=4", ".events tbody tr"},
			{"statistics", "view=stats&s=" + ids["c++"], ".stats tbody tr"},
			{"flame", "view=flame&find=price&s=" + ids["c++"], ".sums tbody tr"},
			{"difference", "view=flame&by=count&s=" + ids["python"] + "&against=" + ids["node"], ".sums tbody tr"},
			{"error", "s=none", ".empty"},
		} {
			d.do(args{"do": "open", "url": d.base + "/#" + view.state, "wait": view.wait}, nil)
			var found []string
			if d.do(args{"do": "axe", "colours": theme == "dark"}, &found); len(found) > 0 {
				t.Errorf("%s, %s: %s", view.name, theme, strings.Join(found, "\n"))
			}
			if dir := os.Getenv("STROBE_SHOTS"); dir != "" {
				d.do(args{"do": "shot", "path": filepath.Join(dir, view.name+"-"+theme+".png")}, nil)
			}
		}
	}
	var w struct{ Wrong, Elsewhere []string }
	d.do(args{"do": "wrong"}, &w)
	for _, line := range w.Wrong {
		if !strings.Contains(line, "404") { // of the session that does not exist
			t.Errorf("the page's console says %q", line)
		}
	}
	if len(w.Elsewhere) > 0 {
		t.Errorf("the page asks elsewhere: %v", w.Elsewhere)
	}
}
