package store

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

// A function pointer is shown by the name that stood at its address in its process at its time: also where another
// process, or a library that came later, has another function there; in a live session, and in one that is read again.
func TestCodeNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Create(path, Meta{SessionID: "s"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &value.Layout{OnEnter: value.Shape{GPRs: 1}, Args: []value.Field{{Name: "f", Pieces: []value.Piece{{Size: 8}}}},
		Types: []value.Type{{Class: value.ClassFuncPtr, Size: 8, Elem: -1}}}
	with := st.Function(event.Function{Name: "takes", Layout: l.Marshal(), Code: l.CodeStep()})
	without := st.Function(event.Function{Name: "counts", Layout: l.Marshal()})
	one, two := st.Thread(event.Thread{PID: 1, TID: 1}), st.Thread(event.Thread{PID: 2, TID: 2})
	const addr = 0x401000
	st.CodeName(1, addr, 0, "first")
	st.CodeName(1, addr, 100, "later")
	st.CodeName(1, addr, 200, "later") // said again
	st.CodeName(1, addr, 500, "")      // its library is gone, and what came there begins no function
	st.CodeName(1, addr+8, 0, "")      // never was one
	st.CodeName(2, addr, 0, "others")
	payload := binary.LittleEndian.AppendUint64(nil, addr)
	unnamed := binary.LittleEndian.AppendUint64(nil, addr+1)
	var batch []event.Event
	for i, e := range []event.Event{
		{Thread: one, Func: with, Payload: payload}, {Thread: one, Func: with, Payload: payload},
		{Thread: two, Func: with, Payload: payload},
		{Thread: two, Func: without, Payload: payload}, {Thread: two, Func: with, Payload: unnamed},
		{Thread: one, Func: with, Payload: payload},
	} {
		e.Kind, e.TS = event.FunctionEnter, int64(50+i*100)
		batch = append(batch, e)
	}
	if err := st.Put(batch); err != nil {
		t.Fatal(err)
	}
	want := []string{"first", "later", "others", "0x401000", "0x401001", "0x401000"}
	look := func(st *Store) {
		t.Helper()
		sn, err := st.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		shown := func(r *Row) string { return l.Enter(r.Payload)[0].Value.String() }
		rows, err := sn.Rows(context.Background(), []event.ID{1, 2, 3, 4, 5, 6})
		if err != nil || len(rows) != len(want) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i := range rows {
			if got := shown(&rows[i]); got != want[i] {
				t.Errorf("row %d shows %s, want %s", i, got, want[i])
			}
		}
		all := &Bits{}
		all.Set(uint32(with))
		for _, o := range []ScanOptions{{Cold: true}, {Args: true}} {
			var got []string
			err := sn.Scan(context.Background(), Filter{Funcs: all}, o,
				func(r *Row) bool { got = append(got, shown(r)); return true })
			if err != nil || len(got) != 5 || got[4] != "0x401000" || got[0] != "first" || got[1] != "later" ||
				got[2] != "others" || got[3] != "0x401001" {
				t.Errorf("%+v: %v, %v", o, got, err)
			}
		}
	}
	if err := st.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	look(st)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	look(again)
}
