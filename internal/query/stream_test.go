package query

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// TestStreams: data and states of a channel are shown with their stream, whatever the data are.
func TestStreams(t *testing.T) {
	st := newStore(t, store.Options{})
	fn := st.Function(event.Function{Name: "play"})
	th := st.Thread(event.Thread{PID: 100, TID: 100})
	notes, err := st.Stream(event.Stream{Channel: "midi", Name: "notes", Media: "midi", Direction: event.Out})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Put([]event.Event{
		{TS: 1, Kind: event.FunctionEnter, Func: fn, Thread: th},
		{TS: 2, Kind: event.Data, Stream: notes, Thread: th, Payload: []byte{0xff, 60, 100}},
		{TS: 3, Kind: event.Data, Stream: notes, Thread: th, Payload: []byte(`{"note":60}`)},
		{TS: 4, Kind: event.State, Stream: notes, Thread: th, Payload: []byte(`{"tempo":120,"stream":"mine"}`)},
		{TS: 5, Kind: event.FunctionExit, Func: fn, Thread: th},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), st, Request{EventType: Kinds{"data", "state"}}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range res.Events {
		b, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	want := []string{
		`{"id":2,"timestampNs":2,"eventType":"data","pid":100,"threadId":100,"channel":"midi","stream":"notes","bytes":"/zxk","encoding":"base64"}`,
		`{"id":3,"timestampNs":3,"eventType":"data","pid":100,"threadId":100,"channel":"midi","stream":"notes","text":"{\"note\":60}"}`,
		`{"id":4,"timestampNs":4,"eventType":"state","pid":100,"threadId":100,"channel":"midi","stream":"notes","tempo":120}`,
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("event %d of\n%s, want\n%s", i, strings.Join(got, "\n"), want[i])
		}
	}
	tree, err := Run(t.Context(), st, Request{View: "tree"}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"  midi notes: 3 bytes, not text\n", "  midi notes: \"{\\\"note\\\":60}\"\n",
		"  midi notes: tempo=120\n"} {
		if !strings.Contains(tree.Tree, line) {
			t.Errorf("the tree has no %q:\n%s", line, tree.Tree)
		}
	}
	found, err := Run(t.Context(), st, Request{Text: &TextFilter{Contains: "note"}}, Env{})
	if err != nil || found.TotalCount != 1 || found.Events[0].ID != 3 {
		t.Errorf("text: %+v, %v", found, err)
	}
}
