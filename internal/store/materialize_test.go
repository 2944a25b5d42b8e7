package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

func TestMaterialize(t *testing.T) {
	st, path := testStore(t, Options{})
	f := st.Function(event.Function{Name: "ns::f", Raw: "_Zf", File: "/x.cc", Line: 9, Module: "/m"})
	th := st.Thread(event.Thread{PID: 4, TID: 5, Name: "main"})
	must(t, st.Put([]event.Event{
		{TS: 10, Kind: event.FunctionEnter, Func: f, Thread: th, Payload: []byte{7}},
		{TS: 15, Kind: event.Stdout, Thread: th, Payload: []byte("hello")},
		{TS: 30, Kind: event.FunctionExit, Func: f, Thread: th, Flags: event.HasRet, Ret: 42},
	}))
	n, err := st.Materialize(context.Background(), func(r *Row, f *event.Function) (string, string) {
		if r.Kind == event.FunctionEnter {
			return fmt.Sprintf(`{"%s":%d}`, f.Name, r.Payload[0]), ""
		}
		return "", fmt.Sprint(r.Ret)
	})
	if n != 3 || err != nil {
		t.Fatalf("Materialize() = %d, %v, want 3", n, err)
	}
	must(t, st.Close())
	db, err := openSQL(path, nil)
	must(t, err)
	defer db.Close()
	c, err := db.Conn(context.Background())
	must(t, err)
	defer c.Close()
	var got strings.Builder
	const stmt = "SELECT id, timestamp_ns, session_id, thread_id, thread_name, pid, coalesce(parent_event_id,0), " +
		"event_type, coalesce(function,''), " +
		"coalesce(source_file,''), coalesce(arguments,''), coalesce(return_value,''), coalesce(duration_ns,0), " +
		"coalesce(text,'') FROM events ORDER BY id"
	must(t, query(context.Background(), c, stmt, func(rows *sql.Rows) error {
		v := make([]any, 14)
		for i := range v {
			v[i] = new(string)
		}
		err := rows.Scan(v...)
		for _, p := range v {
			fmt.Fprintf(&got, "%s|", *p.(*string))
		}
		got.WriteString("\n")
		return err
	}))
	want := `1|10|s|5|main|4|0|function_enter|ns::f|/x.cc|{"ns::f":7}||0||
2|15|s|5|main|4|1|stdout||||||hello|
3|30|s|5|main|4|0|function_exit|ns::f|/x.cc||42|20||
`
	want = strings.Replace(want, "stdout||||||hello", "stdout|||||0|hello", 1)
	if got.String() != want {
		t.Errorf("events:\n%swant:\n%s", got.String(), want)
	}
}
