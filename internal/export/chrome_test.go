package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

func newStore(t *testing.T, maxEvents int64) *store.Store {
	t.Helper()
	st, err := store.Create(filepath.Join(t.TempDir(), "s.db"),
		store.Meta{SessionID: "app-1", Command: "/opt/app", StartedAt: 1700000000000000000, Version: "v1"},
		store.Options{MaxEvents: maxEvents})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

type traceEvent struct {
	Name, Ph, Cat, S string
	TS               json.Number
	Dur              *json.Number
	PID, TID         int
	Args             map[string]any
}

func exported(t *testing.T, st *store.Store) []traceEvent {
	t.Helper()
	if err := st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := chrome.Write(context.Background(), st, &b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		DisplayTimeUnit string
		TraceEvents     []traceEvent
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("not JSON: %v\n%.2000s", err, b.String())
	}
	if doc.DisplayTimeUnit != "ns" {
		t.Errorf("displayTimeUnit = %q", doc.DisplayTimeUnit)
	}
	return doc.TraceEvents
}

func TestChromeTrace(t *testing.T) {
	st := newStore(t, 0)
	f := st.Function(event.Function{Name: "ns::f<int>", File: "/src/a.cpp", Line: 7, Module: "/opt/app"})
	g := st.Function(event.Function{Name: "g\xff", Module: "/lib/libg.so"})
	main := st.Thread(event.Thread{PID: 10, TID: 10, Name: "app"})
	worker := st.Thread(event.Thread{PID: 10, TID: 11})
	notes, err := st.Stream(event.Stream{Channel: "midi", Name: "notes", Media: "midi", Direction: event.Out})
	if err != nil {
		t.Fatal(err)
	}
	batch := []event.Event{
		{TS: 1000, Kind: event.FunctionEnter, Func: f, Thread: main},
		{TS: 1001, Kind: event.FunctionEnter, Func: g, Thread: main},
		{TS: 1500, Kind: event.Stdout, Thread: worker, Payload: []byte("hi \"there\"\x00\xfe\n")},
		{TS: 2345678, Kind: event.FunctionExit, Func: g, Thread: main, Flags: event.Unwound},
		{TS: 2345679, Kind: event.FunctionExit, Func: f, Thread: main},
		{TS: 2345680, Kind: event.Process, Thread: event.NoThread, Payload: []byte(`{"what":"exit"}`)},
		{TS: 2345681, Kind: event.Data, Stream: notes, Thread: event.NoThread, Payload: []byte("note on")},
		{TS: 2345682, Kind: event.State, Stream: notes, Thread: event.NoThread, Payload: []byte(`{"tempo":120}`)},
	}
	if err := st.Put(batch); err != nil {
		t.Fatal(err)
	}
	got := exported(t, st)
	var phases []string
	for _, e := range got {
		phases = append(phases, e.Ph)
	}
	if p := strings.Join(phases, ""); p != "MMMBBiEEiii" {
		t.Fatalf("phases = %s", p)
	}
	if e := got[3]; e.Name != "ns::f<int>" || e.TS != "1.000" || e.PID != 10 || e.TID != 10 || e.Cat != "app" ||
		e.Args["source"] != "/src/a.cpp:7" {
		t.Errorf("enter = %+v", e)
	}
	if e := got[9]; e.Name != "midi notes" || e.Args["text"] != "note on" {
		t.Errorf("data = %+v", e)
	}
	if e := got[10]; e.Name != "midi notes" || e.Args["data"] == nil {
		t.Errorf("state = %+v", e)
	}
	if e := got[5]; e.Name != "stdout" || e.TID != 11 || e.S != "t" || e.Args["text"] != "hi \"there\"\x00\uFFFD\n" {
		t.Errorf("output = %+v", e)
	}
	if e := got[6]; e.TS != "2345.678" || e.Args["unwound"] != true {
		t.Errorf("exit = %+v", e)
	}
	if e := got[8]; e.Args["data"].(map[string]any)["what"] != "exit" {
		t.Errorf("process = %+v", e)
	}
}

func TestChromeTraceOfEmptySession(t *testing.T) {
	if got := exported(t, newStore(t, 0)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// Where the limit dropped enters, their exits still make slices, and nothing ends that did not begin.
func TestChromeTraceAfterEviction(t *testing.T) {
	st := newStore(t, 20_000)
	f := st.Function(event.Function{Name: "f"})
	outer := st.Function(event.Function{Name: "outer"})
	th := st.Thread(event.Thread{PID: 1, TID: 1, Name: "m"})
	batch := []event.Event{{TS: 1, Kind: event.FunctionEnter, Func: outer, Thread: th}}
	ts := int64(1)
	const calls = 50_000
	for range calls {
		ts += 10
		batch = append(batch, event.Event{TS: ts, Kind: event.FunctionEnter, Func: f, Thread: th},
			event.Event{TS: ts + 5, Kind: event.FunctionExit, Func: f, Thread: th})
	}
	batch = append(batch, event.Event{TS: ts + 9, Kind: event.FunctionExit, Func: outer, Thread: th})
	if err := st.Put(batch); err != nil {
		t.Fatal(err)
	}
	open, whole := 0, 0
	for _, e := range exported(t, st) {
		switch e.Ph {
		case "B":
			open++
		case "E":
			if open--; open < 0 {
				t.Fatalf("%s ends without a begin at %s", e.Name, e.TS)
			}
		case "X":
			whole++
			if e.Name == "outer" && (e.TS != "0.001" || *e.Dur != "500.009") {
				t.Errorf("outer = %s + %s", e.TS, *e.Dur)
			}
		}
	}
	if open != 0 || whole == 0 {
		t.Errorf("%d slices are open, %d whole ones", open, whole)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestChromeTraceReportsWriteErrors(t *testing.T) {
	st := newStore(t, 0)
	f := st.Function(event.Function{Name: strings.Repeat("f", 1000)})
	th := st.Thread(event.Thread{PID: 1, TID: 1})
	var batch []event.Event
	for i := range int64(2000) {
		batch = append(batch, event.Event{TS: i, Kind: event.FunctionEnter, Func: f, Thread: th},
			event.Event{TS: i, Kind: event.FunctionExit, Func: f, Thread: th})
	}
	if err := errors.Join(st.Put(batch), st.Flush(context.Background())); err != nil {
		t.Fatal(err)
	}
	if _, err := chrome.Write(context.Background(), st, &failing{after: 300_000}); err == nil ||
		!strings.Contains(err.Error(), "disk full") {
		t.Errorf("Write = %v, want the write error", err)
	}
}
