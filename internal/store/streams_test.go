package store

import (
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

// midi is a stream as a channel registers it.
var midi = event.Stream{Channel: "midi", Name: "notes", Media: "midi", Direction: event.In}

func TestStreams(t *testing.T) {
	path := t.TempDir() + "/s.db"
	st, err := Create(path, Meta{SessionID: "s"}, Options{})
	must(t, err)
	if err := st.Put([]event.Event{{Kind: event.Data, Stream: 2, Thread: event.NoThread}}); err == nil {
		t.Error("data of a stream that nobody registered were taken")
	}
	id, err := st.Stream(midi)
	must(t, err)
	again, err := st.Stream(midi)
	must(t, err)
	if first, err := st.Stream(event.Stdio()[1]); id != 2 || again != id || first != event.StreamStderr || err != nil {
		t.Errorf("ids %d, %d, %d, %v", id, again, first, err)
	}
	must(t, st.Put([]event.Event{
		{TS: 1, Kind: event.Stderr, Thread: event.NoThread, Payload: []byte("a")},
		{TS: 2, Kind: event.Data, Stream: id, Thread: event.NoThread, Payload: []byte{0x90, 60, 100}},
		{TS: 3, Kind: event.State, Stream: id, Thread: event.NoThread, Payload: []byte(`{"tempo":120}`)},
		{TS: 4, Kind: event.Process, Thread: event.NoThread, Payload: []byte(`{}`)},
	}))
	must(t, st.Flush(t.Context()))
	check := func(when string, st *Store) {
		t.Helper()
		sn := snapshot(t, st)
		defer sn.Close()
		if want := append(event.Stdio(), midi); !slices.Equal(sn.Streams(), want) {
			t.Errorf("%s: streams %+v, want %+v", when, sn.Streams(), want)
		}
		var got []event.StreamID
		must(t, sn.Scan(t.Context(), Filter{}, ScanOptions{Cold: true}, func(r *Row) bool {
			got = append(got, r.Stream)
			return true
		}))
		if want := []event.StreamID{event.StreamStderr, id, id, 0}; !slices.Equal(got, want) {
			t.Errorf("%s: streams of events %v, want %v", when, got, want)
		}
	}
	check("while recording", st)
	must(t, st.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	check("opened again", re)
	problems, err := Check(t.Context(), path)
	if must(t, err); len(problems) > 0 {
		t.Errorf("Check: %q", problems)
	}
	db, err := openSQL(path, nil)
	must(t, err)
	defer db.Close()
	var rows int
	must(t, db.QueryRow("SELECT count(*) FROM stream_data WHERE channel='midi' AND direction='in' OR "+
		"stream='stderr'").Scan(&rows))
	if rows != 3 {
		t.Errorf("view stream_data has %d rows, want 3", rows)
	}
	if _, err := db.Exec("UPDATE outputs SET ret=77 WHERE ret=2"); err != nil {
		t.Fatal(err)
	}
	if problems, err := Check(t.Context(), path); err != nil || len(problems) != 2 {
		t.Errorf("Check of a file with unknown streams: %q, %v", problems, err)
	}
}

// Keeps out: files of before streams, in which standard error has no id, that read otherwise than they were.
func TestFileOfSchema4(t *testing.T) {
	path := t.TempDir() + "/s.db"
	st, err := Create(path, Meta{SessionID: "s"}, Options{})
	must(t, err)
	must(t, st.Put([]event.Event{
		{TS: 5, Kind: event.Stdout, Thread: event.NoThread, Payload: []byte("out")},
		{TS: 6, Kind: event.Stderr, Thread: event.NoThread, Payload: []byte("err")},
	}))
	must(t, st.Close())
	db, err := openSQL(path, nil)
	must(t, err)
	for _, stmt := range []string{"DROP VIEW stream_data", "DROP TABLE streams",
		"DELETE FROM kinds WHERE name IN ('data','state')",
		"UPDATE outputs SET ret=0", "PRAGMA user_version=4"} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
	must(t, db.Close())
	re, err := Open(path)
	must(t, err)
	defer re.Close()
	sn := snapshot(t, re)
	defer sn.Close()
	rows, err := sn.Rows(t.Context(), []event.ID{1, 2})
	must(t, err)
	if len(rows) != 2 || rows[0].Kind != event.Stdout || rows[0].Stream != event.StreamStdout ||
		rows[1].Stream != event.StreamStderr ||
		string(rows[1].Payload) != "err" || !slices.Equal(sn.Streams(), event.Stdio()) {
		t.Errorf("%+v, streams %+v", rows, sn.Streams())
	}
	if problems, err := Check(t.Context(), path); err != nil || len(problems) > 0 {
		t.Errorf("Check: %q, %v", problems, err)
	}
}
