//go:build linux && amd64

package acceptance

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const basketSource = `
#include <pthread.h>
#include <stdio.h>
struct item { int id; double price; const char *name; };
struct basket { struct item items[3]; int n; };
static int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
static double total(const struct basket *b) {
  double t = 0;
  for (int i = 0; i < b->n; i++) t += b->items[i].price;
  return t;
}
static int checkout(struct basket *b, const char *who) {
  printf("%s pays %.2f\n", who, total(b));
  return depth(b->n + 3);
}
static void *work(void *arg) {
  struct basket b = {{{1, 1.5, "a"}, {2, 2.25, "b\"<&>"}, {3, 100, "c"}}, 3};
  for (int i = 0; i < 40; i++) { b.n = i % 4; checkout(&b, arg); }
  return 0;
}
int main(int argc, char **argv) {
  pthread_t t[3];
  char *names[] = {"ann", "bob", "c\xff"};
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, names[i]);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  fprintf(stderr, "<script>alert(1)</script>\n");
  if (argc > 1) { int *p = 0; *p = depth(2); }
  return 0;
}
`

const bankSource = `
import threading

def fee(n):
    if n % 7 == 0:
        raise ValueError(f"no fee for {n}")
    return n / 100

def pay(who, n):
    try:
        return n - fee(n)
    except ValueError as e:
        print(who, e)
        return None

def amounts(n):
    for i in range(n):
        yield i

def work(who):
    for n in amounts(40):
        pay(who, n)

def main():
    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("done")

main()
`

// exportForms are what strobe can write and what the script of testdata reads.
var exportForms = []string{"chrome", "perfetto", "speedscope", "otlp", "sqlite"}

// exportedCall is a call as an export or a query shows it.
type exportedCall struct {
	ID, Parent int64
	Name       string
	PID, TID   int64
	Start, Dur int64
	lane       bool
}

func (c *exportedCall) UnmarshalJSON(b []byte) error {
	var id, pid, tid, parent *int64
	err := json.Unmarshal(b, &[]any{&id, &c.Name, &pid, &tid, &c.Start, &c.Dur, &parent})
	for _, p := range []struct{ to, from *int64 }{{&c.ID, id}, {&c.PID, pid}, {&c.TID, tid}, {&c.Parent, parent}} {
		if p.from != nil {
			*p.to = *p.from
		}
	}
	return err
}

func compareExported(a, b exportedCall) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Dur, b.Dur),
		strings.Compare(a.Name, b.Name))
}

// queried is what debug_query says of a session's calls, and how many other events it has.
func queried(t *testing.T, s *strobetest.Strobe, id string) (calls []exportedCall, others int) {
	t.Helper()
	byID := map[int64]int{}
	for after := int64(0); ; {
		var p struct {
			Events []struct {
				ID, TimestampNs, DurationNs, PID, ThreadID, ParentEventID, EnterEventID int64
				EventType, Function, ThreadName                                         string
			}
			HasMore     bool
			LastEventID int64
		}
		s.Call(t, "debug_query", args{"sessionId": id, "verbose": true, "limit": 500, "afterEventId": after,
			"maxTokens": 100000}, &p)
		for _, e := range p.Events {
			switch e.EventType {
			case "function_enter":
				byID[e.ID] = len(calls)
				calls = append(calls, exportedCall{ID: e.ID, Parent: e.ParentEventID, Name: e.Function, PID: e.PID,
					TID: e.ThreadID, Start: e.TimestampNs, lane: strings.HasSuffix(e.ThreadName, ")")})
			case "function_exit":
				calls[byID[e.EnterEventID]].Dur = e.DurationNs
			default:
				others++
			}
		}
		if !p.HasMore || len(p.Events) == 0 {
			return calls, others
		}
		after = p.LastEventID
	}
}

// TestExportsAsOthersRead: programs of others find in each export what the session holds.
func TestExportsAsOthersRead(t *testing.T) {
	t.Parallel()
	s := strobetest.Start(t, nil)
	python := strobetest.PythonWith(t, "perfetto==0.59.1", "protobuf")
	dir := t.TempDir()
	script := filepath.Join(dir, "bank.py")
	if err := os.WriteFile(script, []byte(bankSource), 0o600); err != nil {
		t.Fatal(err)
	}
	shop := strobetest.BuildSource(t, "c", "gcc-O0", "shop", basketSource, "-g", "-pthread")
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name, command, root string
		args                []string
		trace               []string
		least               int // calls
	}{
		{"C", shop, filepath.Dir(shop), nil, []string{"main", "work", "checkout", "total", "depth"}, 500},
		{"C that crashes", shop, filepath.Dir(shop), []string{"crash"}, []string{"work", "checkout", "depth"}, 300},
		{"Python", interpreter, dir, []string{script}, []string{"@usercode"}, 200},
	} {
		t.Run(p.name, func(t *testing.T) {
			id := s.Launch(t, p.command, p.root, p.args, args{"trace": p.trace}).SessionID
			s.WaitEnd(t, id, endLimit)
			want, others := queried(t, s, id)
			if len(want) < p.least {
				t.Fatalf("%d calls, want %d at least", len(want), p.least)
			}
			checkExports(t, s, id, python, want, others)
		})
	}
}

func checkExports(t *testing.T, s *strobetest.Strobe, id, python string, want []exportedCall, others int) {
	t.Helper()
	dir := t.TempDir()
	read := []string{filepath.Join(strobetest.Root(t), "internal", "acceptance", "testdata", "exports.py")}
	for _, form := range exportForms {
		path := filepath.Join(dir, form)
		var r struct {
			Events, Written int64
			LeftOut         []struct{ Events int64 }
		}
		if err := json.Unmarshal(strobeIn(t, s, "export", id, "--format", form, "-o", path, "--json"), &r); err != nil {
			t.Fatal(err)
		}
		left := int64(0)
		for _, l := range r.LeftOut {
			left += l.Events
		}
		if all := int64(2*len(want) + others); r.Events != all || r.Written+left != all {
			t.Errorf("%s: %d events, %d written, %d left out; the session has %d", form, r.Events, r.Written, left, all)
		}
		if form == "speedscope" != (left > 0) {
			t.Errorf("%s: %d events are left out", form, left)
		}
		read = append(read, form+"="+path)
	}
	out, err := exec.Command(python, read...).Output()
	if err != nil {
		t.Fatalf("read the exports: %v\n%s", err, stderrOf(err))
	}
	var got map[string]struct {
		Calls  []exportedCall
		Others int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, form := range exportForms {
		g := got[form]
		if form != "speedscope" && g.Others != others {
			t.Errorf("%s: %d events that are no calls, want %d", form, g.Others, others)
		}
		compareToQuery(t, form, g.Calls, slices.Clone(want))
	}
}

// compareToQuery: on lines, a call's parent is what encloses it there; that of a lane is elsewhere.
func compareToQuery(t *testing.T, form string, got, want []exportedCall) {
	t.Helper()
	lines := form == "chrome" || form == "perfetto"
	for i := range want {
		w := &want[i]
		if form == "speedscope" {
			w.ID, w.Parent = 0, 0
		}
		if form == "speedscope" || lines && w.lane {
			w.PID, w.TID = 0, 0
		}
	}
	slices.SortFunc(got, compareExported)
	slices.SortFunc(want, compareExported)
	if len(got) != len(want) {
		t.Fatalf("%s: %d calls, want %d", form, len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if lines && w.lane {
			g.PID, g.TID = 0, 0
			if g.Parent == 0 {
				w.Parent = 0
			}
		}
		if w.lane = false; g != w {
			t.Fatalf("%s: call %d is %+v, want %+v", form, i, g, w)
		}
	}
}

// TestSpeedscopeImports: speedscope's own schema holds for what is exported, and the program itself opens it in a
// browser with a profile for each thread.
func TestSpeedscopeImports(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "chromium")
	s := strobetest.Start(t, nil)
	release := filepath.Join(strobetest.NodePackage(t, "speedscope", "1.25.0"), "dist", "release")
	shop := strobetest.BuildSource(t, "c", "gcc-O0", "shop", basketSource, "-g", "-pthread")
	id := s.Launch(t, shop, filepath.Dir(shop), nil,
		args{"trace": []string{"main", "work", "checkout", "total", "depth"}}).SessionID
	s.WaitEnd(t, id, endLimit)
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.json")
	strobeIn(t, s, "export", id, "--format", "speedscope", "-o", path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	schema := filepath.Join(release, "file-format-schema.json")
	if err := checkSchema(t, schema, data); err != nil {
		t.Errorf("not what the schema says: %.2000v", err)
	}
	if checkSchema(t, schema, bytes.ReplaceAll(data, []byte(`"type":"O"`), []byte(`"type":"X"`))) == nil {
		t.Error("the schema says nothing of events")
	}
	script := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", "shop.json", base64.StdEncoding.EncodeToString(data))
	if err := os.WriteFile(filepath.Join(dir, "load.js"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
		"--allow-file-access-from-files", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000", "--dump-dom",
		"file://"+filepath.Join(release, "index.html")+"#localProfilePath="+filepath.Join(dir, "load.js")).Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, stderrOf(err))
	}
	page := regexp.MustCompile("<[^>]*>").ReplaceAllString(string(out), "")
	for _, want := range []string{"shop (process ", "(1/4)"} {
		if !strings.Contains(page, want) {
			t.Errorf("speedscope does not show %q:\n%.3000s", want, page)
		}
	}
}

// checkSchema says how data is not what a JSON schema says.
func checkSchema(t *testing.T, file string, data []byte) error {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(doc)
}

// TestReportInABrowser: a page says what debug_query says, and nothing that the program wrote becomes a part of it.
func TestReportInABrowser(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "chromium")
	s := strobetest.Start(t, nil)
	shop := strobetest.BuildSource(t, "c", "gcc-O0", "shop", basketSource, "-g", "-pthread")
	id := s.Launch(t, shop, filepath.Dir(shop), []string{"crash"},
		args{"trace": []string{"main", "work", "checkout", "depth"}}).SessionID
	s.WaitEnd(t, id, endLimit)
	want, _ := queried(t, s, id)
	for _, calls := range []int{len(want), 50} {
		path := filepath.Join(t.TempDir(), "r.html")
		strobeIn(t, s, "report", id, "-o", path, "--calls", strconv.Itoa(calls))
		cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
			"--user-data-dir="+t.TempDir(), "file://"+path)
		dom, err := cmd.Output()
		if err != nil {
			t.Fatalf("chromium: %v\n%s", err, stderrOf(err))
		}
		page := string(dom)
		for _, text := range []string{"<title>" + id + "</title>", "SIGSEGV", "null pointer: write of address 0x0",
			"#0 main (shop.c:", `p =</span> null`, "&lt;script&gt;alert(1)&lt;/script&gt;", "ann pays 103.75", "<svg"} {
			if !strings.Contains(page, text) {
				t.Errorf("the page does not say %q", text)
			}
		}
		if strings.Contains(page, "<script") {
			t.Error("what the program wrote is a part of the page")
		}
		shown := 0
		for _, c := range want {
			if strings.Contains(page, fmt.Sprintf(`id="e%d"`, c.ID)) {
				shown++
			}
		}
		if shown != calls {
			t.Errorf("%d calls are shown, want %d", shown, calls)
		}
		if more := len(want) - calls; (more > 0) != strings.Contains(page, fmt.Sprintf("; %d later ones", more)) {
			t.Errorf("the page does not say that %d calls are left out", more)
		}
	}
}

const tickSource = `
#include <stdio.h>
#include <unistd.h>
static int tick(int n) { return n + 1; }
int main(void) {
  for (int i = 0; i < 300; i++) tick(i);
  puts("ready");
  fflush(stdout);
  for (int i = 0;; i++) { tick(i); usleep(1000); }
}
`

// TestImportElsewhere: a session that still runs is given away as one file and reads elsewhere as it was then, beside
// whatever has its name there.
func TestImportElsewhere(t *testing.T) {
	t.Parallel()
	here, there := strobetest.Start(t, nil), strobetest.Start(t, nil)
	tick := strobetest.BuildSource(t, "c", "gcc-O0", "tick", tickSource, "-g")
	id := here.Launch(t, tick, filepath.Dir(tick), nil, args{"trace": []string{"tick"}}).SessionID
	here.Query(t, id, args{"eventType": "stdout", "text": args{"contains": "ready"}, "waitMs": 30000})
	dir := t.TempDir()
	var said struct{ Events, Written int64 }
	file := filepath.Join(dir, "given.db")
	err := json.Unmarshal(strobeIn(t, here, "export", id, "--format", "session", "-o", file, "--json"), &said)
	if err != nil || said.Written != said.Events || said.Events < 600 {
		t.Fatalf("export: %+v, %v", said, err)
	}
	for _, want := range []string{id, id + "-2"} {
		var got struct {
			SessionID, Status string
			EventCount        int64
		}
		if err := json.Unmarshal(strobeIn(t, there, "import", file, "--json"), &got); err != nil {
			t.Fatal(err)
		}
		// It is as one that was cut off: what was open then has an end.
		if got.SessionID != want || got.EventCount != said.Events ||
			got.Status != "interrupted" {
			t.Errorf("imported as %+v, want %s with %d events", got, want, said.Events)
		}
		p := there.Query(t, want, args{"limit": 1})
		if p.TotalCount != got.EventCount {
			t.Errorf("session %s has %d events, want %d", want, p.TotalCount, got.EventCount)
		}
		enter := args{"eventType": "function_enter", "limit": 100, "verbose": true}
		mine, theirs := here.Query(t, id, enter), there.Query(t, want, enter)
		if len(theirs.Events) != 100 || fmt.Sprint(mine.Events) != fmt.Sprint(theirs.Events) {
			t.Errorf("the first calls are\n%v, want\n%v", theirs.Events, mine.Events)
		}
	}
	if st := here.Status(t, id); st.Status != "running" {
		t.Errorf("the program is %s", st.Status)
	}
	refused(t, there, "debug_session", args{"action": "import", "path": tick}, "VALIDATION_ERROR", tick)
	refused(t, there, "debug_session", args{"action": "import"}, "VALIDATION_ERROR", "path")
	refused(t, there, "debug_session", args{"action": "list", "path": file}, "VALIDATION_ERROR", "path")
}

// strobeIn runs a command beside the daemon of s and returns its standard output.
func strobeIn(t *testing.T, s *strobetest.Strobe, arg ...string) []byte {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), arg...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("strobe %v: %v\n%s", arg, err, stderrOf(err))
	}
	return out
}

func stderrOf(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}
