package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// tableReaders are the packages of PyPI that read tables back: two implementations of the format that share no code.
var tableReaders = []string{"duckdb==1.5.5", "pyarrow==26.0.1"}

// tablesScript prints each row as JSON, as both readers see it, which must be the same.
const tablesScript = `
import json, sys, duckdb, pyarrow.parquet as pq
path, limit = sys.argv[1], int(sys.argv[2])
both = [pq.read_table(path).to_pylist()]
got = duckdb.connect().execute("SELECT * FROM read_parquet('" + path.replace("'", "''") + "')")
names = [d[0] for d in got.description]
both.append([dict(zip(names, row)) for row in got.fetchall()])
if both[0] != both[1]:
    for a, b in zip(*both):
        if a != b: sys.exit("pyarrow reads %r\nDuckDB %r" % (a, b))
    sys.exit("pyarrow reads %d rows, DuckDB %d" % (len(both[0]), len(both[1])))
for row in both[0][:limit]:
    print(json.dumps({k: v.hex() if isinstance(v, bytes) else v for k, v in row.items()}))
`

// tableRows reads a table with pyarrow and DuckDB.
func tableRows[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	cmd := exec.Command(strobetest.PythonWith(t, tableReaders...), "-c", tablesScript, path, "1000000000")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read %s: %v\n%s", path, err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

type tableCall struct {
	Call, Exit, Parent, Line, Ret *int64
	PID, TID                      int32
	Function, Thread, Outcome     string
	Args, Result, Out, Watches    *string
	Start                         int64  `json:"start_unix_ns"`
	Duration                      *int64 `json:"duration_ns"`
}

type tableEvent struct {
	Event  int64
	Kind   string
	Text   *string
	Data   *string
	Parent *int64
}

func readTables(t *testing.T, st *store.Store, path string) (b readBack) {
	t.Helper()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	began := st.Meta().StartedAt
	for _, c := range tableRows[tableCall](t, filepath.Join(path, "calls.parquet")) {
		got := call{name: c.Function, start: c.Start - began, end: sn.LastTS()}
		if c.Exit != nil {
			got.end = got.start
			if c.Duration != nil {
				got.end += *c.Duration
			}
		}
		if c.TID != 0 || c.PID != 0 {
			got.track = trackName(c.PID, c.TID, c.Thread)
		}
		b.calls = append(b.calls, got)
	}
	b.others = int64(len(tableRows[tableEvent](t, filepath.Join(path, "events.parquet"))))
	sessions := tableRows[struct {
		ID      string
		Session string
		Events  int64
	}](t, filepath.Join(path, "sessions.parquet"))
	n, err := sn.Count(t.Context(), store.Filter{})
	if err != nil || len(sessions) != 1 || sessions[0].ID != st.Meta().SessionID || sessions[0].Session !=
		Name(st.Meta()) || sessions[0].Events != n {
		t.Errorf("sessions %+v of %d events, %v", sessions, n, err)
	}
	return b
}

// TestTablesFolder: an export takes the place of an earlier one, and of nothing else.
func TestTablesFolder(t *testing.T) {
	st := newStore(t, 0)
	dir := filepath.Join(t.TempDir(), "x")
	for range 2 {
		if _, err := tables.WriteFile(t.Context(), st, dir); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, mine} {
		if _, err := tables.WriteFile(t.Context(), st, path); err == nil {
			t.Errorf("%s was overwritten", path)
		}
	}
	if got, err := os.ReadFile(mine); err != nil || string(got) != "mine" {
		t.Errorf("the file in it: %q, %v", got, err)
	}
	if _, err := tables.Write(t.Context(), st, &bytes.Buffer{}); err == nil {
		t.Error("a folder went into a stream")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := filepath.Join(t.TempDir(), "y")
	if _, err := tables.WriteFile(ctx, st, other); err == nil {
		t.Error("a cancelled export succeeded")
	}
	if left, _ := os.ReadDir(filepath.Dir(other)); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// TestTablesValues: what a call and an output held is in their rows, whatever bytes they are of.
func TestTablesValues(t *testing.T) {
	st := newStore(t, 0)
	th := st.Thread(event.Thread{PID: 7, TID: 8, Name: "odd ' \" name"})
	f := st.Function(event.Function{Name: "f<'ü'>", Line: 3})
	batch := []event.Event{{Kind: event.Stdout, Thread: th, Payload: []byte("whole\n")},
		{Kind: event.Stdout, Thread: th, Payload: []byte{0xff, 0}}}
	want := []int64{0, -1, 1 << 62, -1 << 63, 1<<63 - 1, 7}
	for i, ret := range want {
		batch = append(batch, event.Event{TS: int64(i)*10 + 1, Kind: event.FunctionEnter, Func: f, Thread: th},
			event.Event{TS: int64(i)*10 + 5, Kind: event.FunctionExit, Func: f, Thread: th, Flags: event.HasRet, Ret: ret})
	}
	put(t, st, batch)
	dir := filepath.Join(t.TempDir(), "x")
	if _, err := tables.WriteFile(t.Context(), st, dir); err != nil {
		t.Fatal(err)
	}
	calls := tableRows[tableCall](t, filepath.Join(dir, "calls.parquet"))
	if len(calls) != len(want) {
		t.Fatalf("%d calls, want %d", len(calls), len(want))
	}
	for i, c := range calls {
		if got := fmt.Sprint(c.Function, c.Thread, c.Outcome, *c.Line, *c.Duration, c.PID, c.TID); got !=
			fmt.Sprint("f<'ü'>", "odd ' \" name", "returned", 3, 4, 7, 8) {
			t.Errorf("call %d is %s", i, got)
		}
	}
	events := tableRows[tableEvent](t, filepath.Join(dir, "events.parquet"))
	if len(events) != 2 || *events[0].Text != "whole\n" || events[1].Text != nil || *events[1].Data != "ff00" {
		t.Errorf("events %+v", events)
	}
}
