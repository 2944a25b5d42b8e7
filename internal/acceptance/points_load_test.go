package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// What is set in the busy program: all that a session takes, less those that come and go.
const (
	busyThreads = 16
	busyBreaks  = 45
	busyLogs    = 95
	busyRare    = 64 // of so many rounds, the rare functions are called in one
)

// busyKind is what a function of the busy program has.
type busyKind struct {
	point   args   // with %d for the function's number
	n       int    // of how many functions
	rare    bool   // called in few rounds
	at      string // of the program: when the point takes effect. i is the round, who the thread
	outside bool   // the tracer decides
}

var busyBreakKinds = []busyKind{
	{n: 15, point: args{"condition": "i == -1 - %d"}, at: "0"},
	{n: 10, point: args{"condition": "who * 1000 + v < %d - 5000000"}, at: "0"},
	{n: 4, point: args{"condition": "i * 1.0 < -1.0 - %d"}, at: "0", rare: true, outside: true},
	{n: 8, point: args{"hitCount": 1000}, at: "seen == 999"},
	{n: 6, point: args{"condition": "i % 640 == 63 && who % 5 == %d % 5"}, at: "i % 640 == 63 && who % 5 == K % 5"},
	{n: 2, point: args{"condition": "i % 3200 == 64 && i * 0.5 >= 0.0"}, at: "i % 3200 == 64", rare: true, outside: true},
}

var busyLogKinds = []busyKind{
	{n: 60, point: args{"condition": "i % 500 == %d", "message": "f%03d {who} {i}"}, at: "i % 500 == K"},
	{n: 20, point: args{"message": "f%03d {who} {i}"}, at: "1", rare: true},
	{n: 5, point: args{"condition": "who == 7 && i % 40 == 1", "message": "f%03d {who} {i}"},
		at: "who == 7 && i % 40 == 1"},
	{n: 10, point: args{"message": "f%03d {who} {i} {$threadName}"}, at: "1", rare: true, outside: true},
}

// busyProgram is a program of many functions that sixteen threads call in rounds. Each function counts its calls, and
// those at which its point takes effect; toggled functions have none.
func busyProgram(kinds []busyKind) (source string, of []busyKind) {
	var b, calls, print strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdio.h>\n")
	for _, kind := range kinds {
		for range kind.n {
			k := len(of)
			of = append(of, kind)
			fmt.Fprintf(&b, `static _Atomic long calls%03d, met%03d;
__attribute__((noinline, noclone)) long f%03d(long i, long who)
{
	long v = i * 3 + who; // body %03d
	long seen = calls%03d++; (void)seen;
	if (%s) met%03d++;
	return (v & 7) + (who > 99) + (i < 0);
}
`, k, k, k, k, k, strings.ReplaceAll(kind.at, "K", fmt.Sprint(k)), k)
			rare := ""
			if kind.rare {
				rare = fmt.Sprintf("if (i %% %d == 0) ", busyRare)
			}
			fmt.Fprintf(&calls, "\t\t%smine += f%03d(i, who);\n", rare, k)
			fmt.Fprintf(&print, "\t\tprintf(\"f%03d %%ld %%ld\\n\", calls%03d, met%03d);\n", k, k, k)
		}
	}
	fmt.Fprintf(&b, `static long rounds;
static _Atomic long sum;
static void *work(void *p)
{
	long mine = 0, who = (long)p;
	for (long i = 0; i < rounds; i++) {
%s	}
	sum += mine;
	return 0;
}
int main(void)
{
	char line[64];
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%%ld", &rounds) == 1) {
		pthread_t t[%d];
		for (long k = 0; k < %d; k++) pthread_create(&t[k], 0, work, (void *)k);
		for (long k = 0; k < %d; k++) pthread_join(t[k], 0);
%s		printf("total %%ld\n", sum);
		fflush(stdout);
	}
}
`, calls.String(), busyThreads, busyThreads, busyThreads, print.String())
	return b.String(), of
}

// busy is the busy program under test.
type busy struct {
	debugged
	source string
	of     []busyKind
	path   string
	pid    int
	ids    []string // of the points, by function
	gone   []int    // messages of each logpoint that came and went
	seen   int64    // event up to which they are counted
}

func startBusy(t *testing.T, s *strobetest.Strobe, variant string) *busy {
	t.Helper()
	b := &busy{}
	b.source, b.of = busyProgram(slices.Concat(busyBreakKinds, busyLogKinds))
	b.path = strobetest.BuildSource(t, "c", variant, "busy", b.source)
	l := s.Launch(t, b.path, filepath.Dir(b.path), nil, map[string]any{"stdin": "pipe", "onFullBuffer": "block"})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	b.debugged, b.pid = debugged{t, s, l.SessionID}, l.PID
	var add []any
	for k, kind := range b.of {
		p := args{"function": fmt.Sprintf("f%03d", k)}
		if k%4 == 3 { // the same by its line
			p = args{"file": "busy.c", "line": lineOf(b.source, fmt.Sprintf("// body %03d", k)) + 1}
		}
		for name, v := range kind.point {
			if text, ok := v.(string); ok && strings.Contains(strings.ReplaceAll(text, "% ", ""), "%0") {
				v = fmt.Sprintf(text, k)
			} else if ok {
				v = strings.ReplaceAll(text, "%d", fmt.Sprint(k))
			}
			p[name] = v
		}
		add = append(add, p)
	}
	r := b.points(args{"add": add})
	b.ids = r.Added
	if len(r.Breakpoints) != busyBreaks || len(r.Logpoints) != busyLogs {
		t.Fatalf("%d breakpoints and %d logpoints", len(r.Breakpoints), len(r.Logpoints))
	}
	for k, row := range slices.Concat(r.Breakpoints, r.Logpoints) {
		if row.InTarget == b.of[k].outside {
			t.Errorf("decided in the target: %v: %+v", row.InTarget, row)
		}
	}
	return b
}

// untraced runs the program alone.
func (b *busy) untraced(input string) string {
	b.t.Helper()
	cmd := exec.Command(b.path)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

// repeat has a client of its own do something beside the program until quit is closed.
func (b *busy) repeat(wg *sync.WaitGroup, quit <-chan struct{}, what func() error) {
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
			}
			if err := what(); err != nil {
				b.t.Error(err)
				return
			}
		}
	})
}

// goOn lets the paused threads go on at once.
func (b *busy) goOn() error {
	err := b.s.Try("debug_continue", args{"sessionId": b.id, "waitMs": 200}, nil)
	if e := (*strobetest.ToolError)(nil); errors.As(err, &e) && e.Code == "NOT_PAUSED" {
		return nil
	}
	return err
}

// toggle sets and removes five breakpoints and five logpoints where other points are, and between them, and counts the
// messages that are there when the removal is answered.
func (b *busy) toggle() error {
	var add []any
	for i := range 5 {
		b.gone = append(b.gone, 0)
		n := len(b.gone)
		line := lineOf(b.source, fmt.Sprintf("// body %03d", n*11%len(b.of)))
		add = append(add, args{"function": fmt.Sprintf("f%03d", n*7%len(b.of)), "condition": "i < -7"},
			args{"file": "busy.c", "line": line + i%4, "message": fmt.Sprintf("toggled %d {i}", n-1),
				"condition": "i % 97 == 0"})
	}
	var r pointsResult
	if err := b.s.Try("debug_breakpoint", args{"sessionId": b.id, "add": add}, &r); err != nil {
		return err
	}
	if err := b.s.Try("debug_breakpoint", args{"sessionId": b.id, "remove": r.Added}, nil); err != nil {
		return err
	}
	for more := true; more; {
		var page struct {
			Events      []struct{ Message string }
			LastEventID int64
			HasMore     bool
		}
		if err := b.s.Try("debug_query", args{"sessionId": b.id, "eventType": "logpoint", "text": args{"contains": "toggled"},
			"afterEventId": b.seen, "limit": 500}, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			b.gone[toggled(e.Message)]++
		}
		b.seen, more = max(b.seen, page.LastEventID), page.HasMore
	}
	return nil
}

// toggled is the number of the logpoint that came and went of which a message is; -1: it is of none.
func toggled(message string) (n int) {
	if _, err := fmt.Sscanf(message, "toggled %d ", &n); err != nil {
		return -1
	}
	return n
}

// TestPointsUnderLoad has 50 breakpoints and 100 logpoints in a program of sixteen threads that counts for itself: by
// its own count no hit is missing and none is there twice, while some of them come and go and pauses are continued at
// once. Without them the program's code is what its file says, and its output what it is untraced.
func TestPointsUnderLoad(t *testing.T) {
	strobetest.NeedPtrace(t)
	pointsUnderLoad(t, "gcc-O2", 1600, endLimit)
}

// TestSoakPointsUnderLoad does the same for the time that STROBE_SOAK says, a minute or more at a time.
func TestSoakPointsUnderLoad(t *testing.T) {
	limit := strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	for started, n := time.Now(), 0; time.Since(started) < limit && !t.Failed(); n++ {
		variant := []string{"gcc-O0", "gcc-O2"}[n%2]
		t.Run(fmt.Sprintf("%s/%d", variant, n), func(t *testing.T) { pointsUnderLoad(t, variant, 64000, 20*time.Minute) })
	}
}

func pointsUnderLoad(t *testing.T, variant string, rounds int, within time.Duration) {
	s := strobetest.Start(t, map[string]any{"events.maxPerSession": 10_000_000,
		"output.recordWrites": "off"}) // its probes stand while the program is observed
	b := startBusy(t, s, variant)
	phases := []string{fmt.Sprintln(rounds), fmt.Sprintln(rounds * 64)}
	want := b.untraced(strings.Join(phases, ""))
	var goOn, toggle sync.WaitGroup
	ended, still := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended); goOn.Wait() })
	defer end()
	b.repeat(&goOn, ended, b.goOn)
	b.repeat(&toggle, still, b.toggle)
	started := time.Now()
	b.input(phases[0])
	first := b.totals(1, within)
	t.Logf("%v for %d rounds", time.Since(started), rounds)
	close(still)
	toggle.Wait()
	b.counted(first)
	if t.Failed() {
		return
	}
	b.input(phases[1]) // all are removed while it runs
	b.points(args{"remove": []string{"all"}})
	left := s.Count(t, b.id, "logpoint", "")
	strobetest.Eventually(t, endLimit, "every byte of code to be what its file says",
		func() bool { return onDisk(t, readText(t, b.pid)) == "" })
	out := b.totals(2, within)
	if out != want {
		t.Errorf("output:\n%s\nwant\n%s", out, want)
	}
	if n := s.Count(t, b.id, "logpoint", ""); n != left {
		t.Errorf("%d messages, and %d when the last removal was answered", n, left)
	}
	end()
	b.s.Call(t, "debug_session", args{"action": "input", "sessionId": b.id, "eof": true}, nil)
	if st := s.WaitEnd(t, b.id, endLimit); st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Errorf("it ended with %+v", st)
	}
}

// totals waits for the n-th total and returns the output until then.
func (b *busy) totals(n int, within time.Duration) (out string) {
	b.t.Helper()
	strobetest.Eventually(b.t, within, "the program's total", func() bool {
		out = b.s.Output(b.t, b.id, "stdout")
		return strings.Count(out, "total") >= n && strings.HasSuffix(out, "\n") || b.t.Failed()
	})
	return out
}

// counted compares what points did with what the program counted.
func (b *busy) counted(out string) {
	b.t.Helper()
	if b.t.Failed() {
		return
	}
	pauses, logs, known, gone := map[string]int64{}, map[string]int64{}, map[string]bool{}, make([]int, len(b.gone))
	for _, e := range b.all("pause") {
		pauses[fmt.Sprint(e["breakpointId"])]++
	}
	for _, e := range b.all("logpoint") {
		text, id := fmt.Sprint(e["message"]), fmt.Sprint(e["breakpointId"])
		if n := toggled(text); n >= 0 {
			gone[n]++
			continue
		}
		logs[id]++
		if known[text] {
			b.t.Errorf("%q is there twice", text)
		}
		known[text] = true
		if k := slices.Index(b.ids, id); !strings.HasPrefix(text, fmt.Sprintf("f%03d ", k)) {
			b.t.Errorf("%q of point %d", text, k)
		}
	}
	r := b.points(args{})
	rows := slices.Concat(r.Breakpoints, r.Logpoints)
	var hits, calls int64
	for k, line := range strings.Split(out, "\n")[:len(b.of)] {
		var n int
		var called, met int64
		if _, err := fmt.Sscanf(line, "f%d %d %d", &n, &called, &met); err != nil || n != k {
			b.t.Fatalf("output %q: %v", line, err)
		}
		got := logs[b.ids[k]]
		if b.of[k].point["message"] == nil {
			got = pauses[b.ids[k]]
		}
		if got != met || int64(rows[k].Hits) != met || rows[k].ID != b.ids[k] {
			b.t.Errorf("f%03d: %d events and %d hits, want %d: %+v", k, got, rows[k].Hits, met, rows[k])
		}
		hits, calls = hits+met, calls+called
	}
	b.t.Logf("%d hits in %d calls; %d logpoints came and went, with %d messages", hits, calls, len(gone), tally(gone))
	if errs := b.all("condition_error"); len(errs) > 0 {
		b.t.Errorf("%d condition errors: %v", len(errs), errs[0])
	}
	if !slices.Equal(gone, b.gone) || tally(gone) == 0 {
		b.t.Errorf("messages of logpoints that came and went: %v; when their removal was answered: %v", gone, b.gone)
	}
}

func tally(of []int) (n int) {
	for _, i := range of {
		n += i
	}
	return n
}

// TestCountsOfLongLivedPoints counts on while more than a thousand others come and go: one of those once got the place
// in the program where the counts of the first were.
func TestCountsOfLongLivedPoints(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	h := startHot(t, s, "c", "gcc-O2", map[string]any{"onFullBuffer": "block"})
	h.points(args{"add": []any{args{"function": "work", "message": "{i}"},
		args{"function": "work", "hitCount": 70, "thread": 1}}})
	h.input("50\n")
	var others []any
	for range 49 {
		others = append(others, args{"function": "work", "hitCount": 3, "thread": 1})
	}
	for range 22 {
		h.points(args{"remove": h.points(args{"add": others}).Added})
	}
	h.input("50\n")
	strobetest.Eventually(t, endLimit, "two rounds", func() bool { return len(h.events("stdout")) == 2 })
	if n := len(h.all("logpoint")); n != 100 {
		t.Errorf("%d messages, want 100", n)
	}
	if r := h.points(args{}); r.Logpoints[0].Hits != 100 || r.Breakpoints[0].Hits != 0 {
		t.Errorf("hits: %+v", r)
	}
}
