package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// session is what all forms read of the session that they write.
type session struct {
	st      *store.Store
	sn      *store.Snapshot
	meta    store.Meta
	calls   *record.Reader
	tracks  []track // by event.ThreadID
	streams []event.Stream
	first   event.ID // oldest call that is kept
	lastTS  int64
	scratch string // folder for what has no room in memory; "": the system's
	report  Report
}

// track is a thread, or a lane of one, as a viewer shows it: a line of its own, on which calls nest.
type track struct {
	event.Thread
	name string // never empty
	id   int32  // unique among the tracks of its process: the thread's, of a lane or a namesake one that no thread has
	lane bool   // id is made up
}

// laneIDs is where the made up ids of tracks begin: above the largest that Linux gives a thread.
const laneIDs = 1 << 22

func read(ctx context.Context, st *store.Store) (*session, error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{st: st, sn: sn, meta: st.Meta(), calls: record.New(sn), streams: sn.Streams(), first: sn.FirstCallID(),
		lastTS: sn.LastTS()}
	type key struct{ pid, tid int32 }
	taken := map[key]bool{}
	for i, t := range sn.Threads() {
		tr := track{Thread: t, name: valid(t.Name), id: t.TID}
		if tr.name == "" {
			tr.name = "thread " + strconv.Itoa(int(t.TID))
		}
		if taken[key{t.PID, t.TID}] {
			tr.id, tr.lane = int32(laneIDs+i), true
		}
		taken[key{t.PID, t.TID}] = true
		s.tracks = append(s.tracks, tr)
	}
	if s.report.Events, err = sn.Count(ctx, store.Filter{}); err != nil {
		sn.Close()
		return nil, fmt.Errorf("count events: %w", err)
	}
	stats := st.Stats()
	s.report.Evicted, s.report.Calls = stats.Evicted, st.Calls()
	return s, nil
}

func (s *session) close() { s.sn.Close() }

// done returns the report. Events that no form has counted would be a lie of it: what is missing is said.
func (s *session) done() *Report {
	r := &s.report
	n := r.Written
	for _, l := range r.LeftOut {
		n += l.Events
	}
	if n < r.Events {
		note(&r.LeftOut, "events", "they could not be read", r.Events-n)
	}
	return r
}

// process is what the program is called.
func (s *session) process() string { return valid(filepath.Base(s.meta.Command)) }

// track returns the line that an event is shown on; false where it belongs to no thread.
func (s *session) track(id event.ThreadID) (*track, bool) {
	if int64(id) < int64(len(s.tracks)) {
		return &s.tracks[id], true
	}
	return nil, false
}

// beganBefore reports whether a call that ends at r began before what the session's limit has kept.
func (s *session) beganBefore(r *store.Row) bool { return r.Enter == 0 || r.Enter < s.first }

// before returns the calls that end among the events of filter f and began before the first that is kept, in the order
// of their ends: on one thread the outermost is the last. There are as many as were open at one time.
func (s *session) before(ctx context.Context, f store.Filter) ([]store.Row, error) {
	if s.report.Evicted == 0 || s.first == 0 {
		return nil, nil
	}
	first, err := s.firstCall(ctx)
	if err != nil {
		return nil, err
	}
	f.Kinds, f.BeganTo = 1<<event.FunctionExit, first
	var rows []store.Row
	err = s.sn.Scan(ctx, f, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		if r.Enter != 0 && r.Enter < s.first {
			began := *r
			began.Payload = nil
			rows = append(rows, began)
		}
		return true
	})
	return rows, err
}

// firstCall is when the oldest call event that is kept was; 0 if there is none.
func (s *session) firstCall(ctx context.Context) (int64, error) {
	first, err := s.sn.Rows(ctx, []event.ID{s.first})
	if err != nil || len(first) == 0 {
		return 0, err
	}
	return first[0].TS, nil
}

// scan calls fn with all events in order, with their payloads, until it returns an error.
func (s *session) scan(ctx context.Context, f store.Filter, fn func(*store.Row) error) error {
	var failed error
	err := s.sn.Scan(ctx, f, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		failed = fn(r)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// eventName is what an event that is no call is called: its kind, or its channel and stream.
func (s *session) eventName(r *store.Row) string {
	if r.Kind.IsStreamed() && int(r.Stream) < len(s.streams) {
		return valid(s.streams[r.Stream].Channel + " " + s.streams[r.Stream].Name)
	}
	return r.Kind.String()
}

// end is how a call ended.
type end struct {
	result  value.Value
	has     bool   // there is a result
	unwound bool   // it was left without one
	thrown  string // by what, where that is known
	lost    bool   // its end was not recorded
}

func (s *session) end(r *store.Row) (e end) {
	f := s.calls.Function(r.Func)
	e.unwound, e.lost = r.Flags&event.Unwound != 0, r.Flags&event.Lost != 0
	if e.unwound {
		e.thrown, _ = f.Thrown(r)
	}
	if !e.unwound && !e.lost && f.Known() {
		e.result, e.has = f.Result(r)
	}
	return e
}

// facts are what is known of a call's begin or end besides its arguments, by name: what all forms say of it.
func (s *session) facts(r *store.Row) (o value.Object) {
	f := s.calls.Function(r.Func)
	add := func(name string, v value.Value) { o = append(o, value.Member{Name: name, Value: v}) }
	if r.Kind == event.FunctionExit {
		switch e := s.end(r); {
		case e.unwound:
			add("unwound", value.NewBool(true))
			if e.thrown != "" {
				add("thrown", value.NewText(valid(e.thrown)))
			}
		case e.lost:
			add("lost", value.NewBool(true))
		case e.has:
			add("result", e.result)
		}
		if out := f.Out(r); len(out) > 0 {
			add("out", value.NewObject(out))
		}
	}
	if w := f.Watches(r); len(w) > 0 {
		add("watches", value.NewObject(w))
	}
	for _, name := range flagNames(r.Flags) {
		add(name, value.NewBool(true))
	}
	return o
}

// flagNames are what else is to be known of an event.
func flagNames(f event.Flags) (names []string) {
	for _, n := range []struct {
		flag event.Flags
		name string
	}{{event.TailCall, "tailCall"}, {event.Sampled, "sampled"}, {event.Truncated, "truncated"},
		{event.AtRead, "timeOfReading"}, {event.AtEnd, "atEnd"}} {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// text is what went through a stream, as UTF-8 and within limit bytes. What it cuts it counts.
func (s *session) text(r *store.Row, limit int) string {
	p := r.Payload
	if len(p) > limit {
		for p = p[:limit]; len(p) > limit-utf8.UTFMax+1; p = p[:len(p)-1] { // not in the middle of a character
			if r, n := utf8.DecodeLastRune(p); r != utf8.RuneError || n != 1 {
				break
			}
		}
		s.report.change("outputs", fmt.Sprintf("their text is cut at %d bytes", limit))
	}
	if !utf8.Valid(p) {
		s.report.change("outputs", "what is not UTF-8 in them is shown as U+FFFD")
	}
	return valid(string(p))
}

// object is the JSON object that an event which is neither call nor data carries; nil: none.
func object(r *store.Row) json.RawMessage {
	if len(r.Payload) == 0 || !json.Valid(r.Payload) {
		return nil
	}
	return bytes.ToValidUTF8(r.Payload, []byte("?"))
}

// valid replaces what is not UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
