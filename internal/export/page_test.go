package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

func pageOf(t *testing.T, st *store.Store, calls int) (string, *Report) {
	t.Helper()
	var b bytes.Buffer
	r, err := Page(calls).Write(t.Context(), st, &b)
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, st, r)
	checkTags(t, b.String())
	return b.String(), r
}

var (
	anchors = regexp.MustCompile(`id="e\d+"`)
	tags    = regexp.MustCompile(`</?([a-z0-9]+)[^>]*>`)
)

// checkTags: every element is closed in order, so that nothing that was recorded has ended one.
func checkTags(t *testing.T, html string) {
	t.Helper()
	var open []string
	for _, m := range tags.FindAllStringSubmatch(html[strings.Index(html, "<html"):], -1) {
		switch {
		case m[1] == "meta":
		case !strings.HasPrefix(m[0], "</"):
			open = append(open, m[1])
		case len(open) == 0 || open[len(open)-1] != m[1]:
			t.Fatalf("%s ends in %v", m[0], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %v", open)
	}
	if strings.Contains(html, "<script") || strings.Contains(html, "http://") || strings.Contains(html, "https://") {
		t.Error("the page has a script or leads into the network")
	}
}

func TestPage(t *testing.T) {
	html, r := pageOf(t, oddStore(t), PageCalls)
	if len(r.LeftOut) > 0 || r.Written != r.Events {
		t.Errorf("left out: %+v", r.LeftOut)
	}
	for _, want := range []string{`&lt;b&gt;`, "SIGSEGV", "has not ended", "end not recorded", "ended with its thread",
		"ns::f&lt;int&gt;", "18446744073709551615", "/src/a.cpp:7", "midi notes", "tempo"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := len(anchors.FindAllString(html, -1)); n != 7 {
		t.Errorf("%d calls, want 7", n)
	}
	if html, r := pageOf(t, newStore(t, 0), PageCalls); r.Events != 0 || !strings.Contains(html, "app-1") {
		t.Errorf("an empty session: %+v", r)
	}
}

// TestPageBounds: what has no place is counted, and the page does not grow with the session.
func TestPageBounds(t *testing.T) {
	st := randomStore(t, 0, 60_000)
	want := held(t, st)
	html, r := pageOf(t, st, 100)
	if n := len(anchors.FindAllString(html, -1)); n != 100 {
		t.Errorf("%d calls, want 100", n)
	}
	if more := fmt.Sprintf("%d later ones are not in this\ntree", len(want.calls)-100); !strings.Contains(html, more) {
		t.Errorf("the page does not say %q", more)
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0].Events+r.Written != r.Events || len(html) > 4<<20 {
		t.Errorf("%d bytes, left out: %+v", len(html), r.LeftOut)
	}
	pageOf(t, randomStore(t, 20_000, 60_000), 1000)
}

// TestPageOfMuch: much output, deep recursion, many errors and events of other kinds, hostile text everywhere.
func TestPageOfMuch(t *testing.T) {
	st := newStore(t, 0)
	const hostile = `</pre></details><script>alert(1)</script><img src=x onerror="alert(2)">`
	layout := value.NewTree([]string{hostile}, 1).Marshal()
	f := st.Function(event.Function{Name: hostile, File: hostile, Line: 1, Module: hostile, Layout: layout})
	th := st.Thread(event.Thread{PID: 1, TID: 1, Name: hostile})
	var batch []event.Event
	const deep, outputs, others = 2000, 20_000, 1000
	for i := range int64(deep) {
		batch = append(batch, event.Event{TS: i, Kind: event.FunctionEnter, Func: f, Thread: th,
			Payload: []byte(`{"` + "x" + `":"</pre><script>"}`)})
	}
	for i := range int64(outputs) {
		batch = append(batch, event.Event{TS: deep + i, Kind: event.Stdout, Thread: th,
			Payload: fmt.Appendf(nil, "%d %s\n", i, hostile)})
	}
	for i := range int64(others) {
		batch = append(batch, event.Event{TS: deep + outputs + i, Kind: event.Logpoint, Thread: th,
			Payload: []byte(`{"text":"<script>"}`)})
	}
	for i := range 20 {
		batch = append(batch, event.Event{TS: deep + outputs + others, Kind: event.Crash, Thread: th,
			Payload: fmt.Appendf(nil, `{"reason":"</h3><script>","signal":"SIG%d","locals":{"<script>":"<script>"}}`, i)})
	}
	for i := range int64(deep) {
		batch = append(batch, event.Event{TS: deep + outputs + others + 1 + i, Kind: event.FunctionExit, Func: f, Thread: th,
			Flags: event.Unwound})
	}
	put(t, st, batch)
	html, r := pageOf(t, st, PageCalls)
	left := map[string]int64{}
	for _, n := range r.LeftOut {
		left[n.What] = n.Events
	}
	if left["other events"] != others-pageOthers || left["crashes"] != 20-pageCrashes || left["outputs"] < outputs/2 {
		t.Errorf("left out: %v", left)
	}
	for _, want := range []string{"level 1999:", fmt.Sprintf("%d more crashes are not shown", 20-pageCrashes),
		"\n19999 &lt;/pre&gt;", ">0 &lt;/pre&gt;", fmt.Sprintf("… %d outputs of ", left["outputs"])} {
		if !strings.Contains(strings.ReplaceAll(html, `">19999`, "\n19999"), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	depth, most := 0, 0
	for _, m := range tags.FindAllString(html, -1) {
		if strings.HasPrefix(m, "<details") {
			depth++
		} else if m == "</details>" {
			depth--
		}
		most = max(most, depth)
	}
	if most > nested+1 {
		t.Errorf("%d elements within each other", most)
	}
}

// TestPageEscapes: in every place where a session's text stands it is text.
func TestPageEscapes(t *testing.T) {
	const hostile, escaped = `</script><b>"&'`, `&lt;/script&gt;&lt;b&gt;&#34;&amp;&#39;`
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	st := newStore(t, 0)
	layout := value.NewTree([]string{hostile}, 1).Marshal()
	f := st.Function(event.Function{Name: hostile, File: hostile, Line: 1, Module: hostile, Layout: layout})
	th := st.Thread(event.Thread{PID: 1, TID: 1, Name: hostile})
	object := fmt.Sprintf(`{%s:%s}`, quoted, quoted)
	fill := strings.NewReplacer("$H", string(quoted), "$O", object).Replace
	frames := fill(`[{"frame":0,"function":$H,"file":$H,"line":3,"foundBy":$H,"arguments":$O,"locals":$O}]`)
	told := strings.ReplaceAll(fill(`{"reason":$H,"signal":$H,"function":$H,"file":$H,"line":3,"exceptionType":$H,
		"exceptionMessage":$H,"thrownAt":{"function":$H,"file":$H,"line":3},"nestedExceptions":[$H],"recursion":$H,
		"endedBy":$H,"stackEnd":$H,"faultAddress":$H,"causedBy":[$H],"registers":$O,
		"causes":[{"exceptionType":$H,"message":$H,"backtrace":$B}],"backtrace":$B,
		"threads":[{"threadId":1,"name":$H,"backtrace":[$H]}],
		"report":{"tool":$H,"kind":$H,"message":$H,"location":$H,"stacks":[{"title":$H,"backtrace":$B}]}}`), "$B", frames)
	enter := event.Event{TS: 1, Kind: event.FunctionEnter, Func: f, Thread: th, Payload: []byte(object)}
	put(t, st, []event.Event{enter,
		{TS: 2, Kind: event.Stdout, Thread: th, Payload: []byte(hostile)},
		{TS: 3, Kind: event.Stderr, Thread: th, Payload: []byte(hostile)},
		{TS: 4, Kind: event.Logpoint, Thread: th, Payload: []byte(object)},
		{TS: 5, Kind: event.Crash, Thread: th, Payload: []byte(told)},
		{TS: 6, Kind: event.Crash, Thread: th, Payload: []byte(hostile)},
		{TS: 1000, Kind: event.FunctionExit, Func: f, Thread: th, Flags: event.Unwound}})
	html, _ := pageOf(t, st, PageCalls)
	if n := strings.Count(html, "a crash that does not read"); n != 1 {
		t.Errorf("%d crashes do not read, want 1", n)
	}
	n := strings.Count(html, escaped)
	if n < 53 || strings.Contains(html, "</script>") || strings.Contains(html, `<b>"`) {
		t.Errorf("it is there %d times as text:\n%s", n, html[strings.Index(html, "<body>"):])
	}
}
