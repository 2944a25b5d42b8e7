package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/value"
)

// enginePackages are DuckDB, and engines of other makers, which share no code with it.
var enginePackages = []string{"duckdb==1.5.5", "pyarrow==26.0.1", "datafusion==55.0.0"}

const (
	runs      = 8
	slowFrom  = 4 // fn3 takes three times as long from this run on
	nullFrom  = 5 // find returns null
	lastRun   = runs - 1
	callsEach = 300
)

// newRun records one run of a service, with what is planted in it.
func newRun(t *testing.T, service string, n int) *store.Store {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "s.db"), store.Meta{SessionID: fmt.Sprintf("%s-%d", service, n),
		Command: "/bin/" + service, Service: service, Commit: fmt.Sprintf("c%03d", n), Host: "h1",
		StartedAt: 1_790_000_000_000_000_000 + int64(n)*3600e9}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	layout := value.NewTree([]string{"n"}, 1).Marshal()
	th := st.Thread(event.Thread{PID: 1, TID: 1, Name: "main"})
	var batch []event.Event
	ts := int64(0)
	call := func(name string, took int64, result string, flags event.Flags) {
		f := st.Function(event.Function{Name: name, File: "/src/it's.c", Line: 3, Layout: layout})
		batch = append(batch, event.Event{TS: ts, Kind: event.FunctionEnter, Func: f, Thread: th, Payload: []byte(`{"n":1}`)},
			event.Event{TS: ts + took, Kind: event.FunctionExit, Func: f, Thread: th, Payload: []byte(result), Flags: flags})
		ts += took + 10
	}
	for i := range callsEach {
		took := int64(10_000 + i%7*100)
		call("fn1", took, "1", 0)
		call("fn3", took*map[bool]int64{true: 3, false: 1}[n >= slowFrom && service == "shop"], "true", 0)
		found := `"x"`
		if n >= nullFrom && i%50 == 0 && service == "shop" {
			found = "null"
		}
		call("find", took, found, 0)
	}
	if n == lastRun && service == "shop" {
		call("fresh", 500, "1", 0)
		call("fn1", 700, `{"$":"obj","t":"KeyError","v":{"message":"'odd' 3"}}`, event.Unwound)
		call("fn1", 700, `{"$":"obj","t":"KeyError","v":{"message":"odd 4"}}`, event.Unwound)
	}
	if err := st.Put(batch); err != nil {
		t.Fatal(err)
	}
	zero := 0
	if err := st.SetResult(store.Result{Status: "exited", ExitCode: &zero, EndedAt: 1}); err != nil {
		t.Fatal(err)
	}
	if err := st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

// newLake is a folder with all runs of two services; it returns the last one's name.
func newLake(t *testing.T) (dir, last string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "the lake's")
	place, err := OpenPlace(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"shop", "till/odd %"} {
		for n := range runs {
			st := newRun(t, service, n)
			if _, err := place.Push(t.Context(), st, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			if service == "shop" {
				last = export.Name(st.Meta())
			}
		}
	}
	for n := range runs {
		if _, err := place.PushTests(t.Context(), newTestRun(n), t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, last
}

// newTestRun is one run of shop's tests, two of each commit: of those in the last the second fails.
func newTestRun(n int) *TestRun {
	began := time.Unix(1_790_000_000+int64(n)*3600, 0)
	r := &TestRun{Name: RunName(began, fmt.Sprintf("test/%d", n)), Service: "shop", Branch: "main", Host: "h1",
		Commit: fmt.Sprintf("c%03d", n/2), Framework: "go", BeganNs: began.UnixNano(), Green: n != lastRun,
		Tests: []TestResult{{Suite: "till", Name: "TestSum", Status: "passed", DurationNs: 1e6},
			{Name: "TestIt's", Status: "passed", DurationNs: 2e6, File: "a.go", Line: 3}}}
	if n == lastRun {
		t := &r.Tests[1]
		t.Status, t.Fails, t.Message = "failed", true, "no \xff\n'good'"
	}
	return r
}

// TestLastGreen: of runs of other branches, scopes and later ones none is compared with.
func TestLastGreen(t *testing.T) {
	place, err := OpenPlace(t.TempDir(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for n := range runs {
		r := newTestRun(n)
		if n == 3 {
			r.Branch = "a/b"
		}
		if n == 4 {
			r.Branch = "a_b" // lies in the same folder
		}
		if n == 6 {
			r.Scope = "test=TestSum"
		}
		for i, made := range []int{2, 0} {
			if p, err := place.PushTests(t.Context(), r, t.TempDir()); err != nil || p.Made != made {
				t.Fatalf("push %d of run %d: %+v, %v", i, n, p, err)
			}
		}
	}
	for _, c := range []struct {
		n      int
		branch string
		want   int
	}{{lastRun, "main", 5}, {5, "main", 2}, {0, "main", -1}, {lastRun, "a/b", 3}, {lastRun, "a_b", 4}, {lastRun, "", -1}} {
		green, err := place.LastGreen(t.Context(), newTestRun(c.n), c.branch)
		switch {
		case err != nil:
			t.Error(err)
		case green == nil && c.want >= 0, green != nil && (c.want < 0 || green.Name != newTestRun(c.want).Name):
			t.Errorf("of run %d and branch %q: %+v, want run %d", c.n, c.branch, green, c.want)
		}
	}
	foreign := runPrefix("shop", "main") + "0.json"
	file := filepath.Join(t.TempDir(), "0.json")
	if err := os.WriteFile(file, []byte(`{"schema":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := place.bucket.Put(t.Context(), foreign, file); err != nil {
		t.Fatal(err)
	}
	if _, err := place.LastGreen(t.Context(), newTestRun(0), "main"); err == nil || !strings.Contains(err.Error(), foreign) {
		t.Errorf("a foreign file: %v", err)
	}
}

// TestChanges: what is worse is told, tests without names of their own by their order.
func TestChanges(t *testing.T) {
	test := func(name, status string, took time.Duration) TestResult {
		return TestResult{Name: name, Status: status, Fails: status == "failed", DurationNs: took.Nanoseconds()}
	}
	green := &TestRun{Tests: []TestResult{test("twice", "passed", 0), test("twice", "passed", 0), test("gone", "passed", 0),
		test("slow", "passed", 100e6), test("little", "passed", 1e6), test("skips", "passed", 0)}}
	now := &TestRun{Tests: []TestResult{test("twice", "passed", 0), test("twice", "failed", 0), test("fresh", "failed", 0),
		test("slow", "passed", 300e6), test("little", "passed", 90e6), test("skips", "skipped", 9e9), test("ok", "passed", 9e9)}}
	var got []string
	for _, c := range now.Changes(green) {
		got = append(got, c.What+" "+c.Test)
	}
	want := []string{"newly failing twice", "new and failing fresh", "slower slow", "gone gone"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// duckDB is the engine that is tested: Python's module, of which CI has one.
func duckDB(t *testing.T) *Engine {
	t.Helper()
	return &Engine{"duckdb", []string{strobetest.PythonWith(t, enginePackages...), "-c", pythonEngine}}
}

// soakEngines are those that are larger: packages of PyPI.
var soakEngines = map[string]struct{ pkg, script string }{"clickhouse": {"chdb==4.4.0", `
import sys, json
from chdb import session
db = session.Session()
for s in [s for s in sys.stdin.read().split(";\n") if s.strip()]:
    got = str(db.query(s, "JSONEachRow"))
print(json.dumps([{k: int(v) if k.endswith("_ns") and isinstance(v, str) else v for k, v in json.loads(l).items()}
    for l in got.splitlines()]))
`}, "spark": {"pyspark==3.5.9", `
import sys, json
from pyspark.sql import SparkSession
db = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate())
db.sparkContext.setLogLevel("ERROR")
for s in [s for s in sys.stdin.read().split(";\n") if s.strip()]:
    got = db.sql(s)
print(json.dumps([r.asDict() for r in got.collect()]))
`}}

// otherEngines run a script of statements and print the rows of the last one.
var otherEngines = map[string]string{"datafusion": `
import sys, json, datafusion
db = datafusion.SessionContext()
for s in [s for s in sys.stdin.read().split(";\n") if s.strip()]:
    got = db.sql(s)
    rows = got.to_pydict()
names = list(rows)
print(json.dumps([dict(zip(names, r)) for r in zip(*rows.values())]))
`}

func ask(t *testing.T, e *Engine, d *Dialect, dir, sql string) string {
	t.Helper()
	tables := []string{"sessions", "calls", "events"}
	if strings.Contains(sql, "FROM tests") {
		tables = testsAlone
	}
	rows, err := e.Run(t.Context(), d.Relations(dir, tables)+sql+";\n")
	if err != nil {
		t.Fatalf("%s: %v\n%s", d.Name, err, sql)
	}
	var out strings.Builder
	out.WriteString(strings.Join(rows.Columns, " ") + "\n")
	for _, row := range rows.Values {
		var line bytes.Buffer
		for _, v := range row {
			_ = json.Compact(&line, v) // what the engine's JSON is was read as JSON
			line.WriteByte(' ')
		}
		out.WriteString(line.String() + "\n")
	}
	return out.String()
}

// TestQuestions: what was planted is found, and nothing else; engines give the same rows.
func TestQuestions(t *testing.T) {
	dir, last := newLake(t)
	duck := duckDB(t)
	var others []*Engine
	for name, script := range otherEngines {
		others = append(others, &Engine{name, []string{strobetest.PythonWith(t, enginePackages...), "-c", script}})
	}
	if strobetest.Soaks(t, "ClickHouse and Spark") {
		for name, e := range soakEngines {
			others = append(others, &Engine{name, []string{strobetest.PythonWith(t, e.pkg), "-c", e.script}})
		}
	}
	wants := map[string]func(rows string) bool{
		"sessions":   func(r string) bool { return strings.Count(r, "\n") == runs+1 && strings.Contains(r, last) },
		"p99":        func(r string) bool { return strings.Contains(r, `"fn3" 2400 `) },
		"first-null": func(r string) bool { return strings.HasPrefix(line(r, 1), fmt.Sprintf(`"shop-%d.`, nullFrom)) },
		"slow":       func(r string) bool { return strings.Count(r, "fn3") == runs-slowFrom && !strings.Contains(r, "fn1") },
		"new-functions": func(r string) bool {
			return strings.HasPrefix(line(r, 1), `"fresh" 1 `) && strings.Count(r, "\n") == 2
		},
		"new-errors": func(r string) bool {
			return strings.HasPrefix(line(r, 1), `"fn1" "KeyError" 2 `) && strings.Count(r, "\n") == 2
		},
		"regressions": func(r string) bool {
			return strings.Contains(r, `"newly called" "fresh"`) && strings.Contains(r, `"newly failing" "fn1"`) &&
				strings.Count(r, "\n") == 3
		},
		"test": func(r string) bool {
			return strings.HasPrefix(line(r, 1), `"shop" "main" "c003" null "TestIt's" 2 1 2000000 2000000 "no `) &&
				strings.Count(r, "\n") == runs/2+1
		},
		"flaky": func(r string) bool {
			return strings.HasPrefix(line(r, 1), `"shop" "c003" null "TestIt's" 2 1 `) && strings.Count(r, "\n") == 2
		},
	}
	for _, q := range Questions {
		asked := Asked{Service: "shop", Session: last, Test: "TestIt's", OverNs: 20_000, Limit: 100}
		if q.Name == "first-null" {
			asked.Function = "find"
		}
		sql, err := q.SQL(&Dialects[0], asked)
		if err != nil {
			t.Fatal(err)
		}
		got := ask(t, duck, &Dialects[0], dir, sql)
		if !wants[q.Name](got) {
			t.Errorf("%s: %s", q.Name, got)
		}
		for _, e := range others {
			d, err := FindDialect(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if sql, err = q.SQL(d, asked); err != nil {
				t.Fatal(err)
			}
			if other := ask(t, e, d, dir, sql); q.Name != "p99" && other != got { // percentiles are sketches there
				t.Errorf("%s: %s answers %s\nDuckDB %s", q.Name, e.Name, other, got)
			}
		}
	}
	slower, err := FindQuestion("regressions").SQL(&Dialects[0], Asked{Session: nameOf(t, duck, dir, slowFrom), Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, duck, &Dialects[0], dir, slower); !strings.HasPrefix(line(got, 1), `"slower" "fn3" 300 300 `) ||
		strings.Count(got, "\n") != 2 {
		t.Errorf("of the run in which fn3 became slower: %s", got)
	}
}

func line(s string, n int) string { return strings.Split(s, "\n")[n] }

// nameOf is the name of a run of shop.
func nameOf(t *testing.T, e *Engine, dir string, n int) string {
	t.Helper()
	rows := ask(t, e, &Dialects[0], dir, fmt.Sprintf("SELECT session FROM sessions WHERE id = 'shop-%d'", n))
	var name string
	if err := json.Unmarshal([]byte(strings.TrimSpace(line(rows, 1))), &name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestUnfinishedPush: of a push that was interrupted nothing shows, whatever was put; it can be made again, by tickets
// and from several sides at once too.
func TestUnfinishedPush(t *testing.T) {
	dir := t.TempDir()
	st := newRun(t, "shop", 0)
	name := export.Name(st.Meta())
	place, err := OpenPlace(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	other := newRun(t, "shop", 1)
	if _, err := place.Push(t.Context(), other, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	broken := &breaking{Bucket: place.bucket, left: 3}
	if _, err := (&Place{bucket: broken}).Push(t.Context(), st, t.TempDir()); err == nil {
		t.Fatal("a push into a bucket that breaks succeeded")
	}
	count := func() string {
		return line(ask(t, duckDB(t), &Dialects[0], dir, "SELECT count(DISTINCT session) AS a, count(*) AS b FROM calls"), 1)
	}
	if got := count(); got != fmt.Sprint("1 ", 3*callsEach, " ") {
		t.Errorf("questions see %s", got)
	}
	var made []int
	for range 2 {
		p, err := place.Push(t.Context(), st, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p.Made)
	}
	if !slices.Equal(made, []int{1, 0}) {
		t.Errorf("objects made at the second and third push: %v", made)
	}
	if got := count(); got != fmt.Sprint("2 ", 6*callsEach, " ") {
		t.Errorf("then questions see %s", got)
	}
	back := filepath.Join(t.TempDir(), "back.db")
	if full, err := Pull(t.Context(), place.bucket, "shop-0", back); err != nil || full != name {
		t.Errorf("pull: %q, %v", full, err)
	}
	if problems, err := store.Check(t.Context(), back); err != nil || len(problems) > 0 {
		t.Errorf("what came back: %v, %v", problems, err)
	}
	for _, name := range []string{"shop", "none", "", "../x"} {
		if _, err := Pull(t.Context(), place.bucket, name, filepath.Join(t.TempDir(), "x")); err == nil {
			t.Errorf("pulled %q", name)
		}
	}
}

// breaking is a bucket whose network fails.
type breaking struct {
	bucket.Bucket
	left int
}

func (b *breaking) Put(ctx context.Context, key, file string) (bool, error) {
	if b.left--; b.left < 0 {
		return false, os.ErrDeadlineExceeded
	}
	return b.Bucket.Put(ctx, key, file)
}

// TestForeignFiles: a file among ours that hinders questions is named.
func TestForeignFiles(t *testing.T) {
	dir, _ := newLake(t)
	duck := duckDB(t)
	if got := duck.Foreign(t.Context(), strings.ReplaceAll(dir, "\x00", "")); got != "" {
		t.Errorf("of our own: %s", got)
	}
	foreign := filepath.Join(dir, "calls", "service=shop", "day=2026-09-21", "foreign.parquet")
	if err := os.MkdirAll(filepath.Dir(foreign), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "import pyarrow as pa, pyarrow.parquet as pq, sys; pq.write_table(pa.table({'session': [[1]]}), sys.argv[1])"
	if out, err := exec.Command(duck.command[0], "-c", script, foreign).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := duck.Foreign(t.Context(), dir); !strings.Contains(got, "foreign.parquet is not of this version") {
		t.Errorf("another program's table: %s", got)
	}
	if err := os.WriteFile(foreign, []byte("nonsense, and no table"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := duck.Foreign(t.Context(), dir); !strings.Contains(got, "foreign.parquet") {
		t.Errorf("no table at all: %s", got)
	}
}
