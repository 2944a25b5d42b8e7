package export

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	driver "modernc.org/sqlite"

	"github.com/strobe-debug/strobe/internal/store"
)

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// nesting pairs begins and ends by line, as viewers do; what never ends, ends with the session.
type nesting struct {
	t    *testing.T
	open map[any][]call
	got  readBack
}

func (n *nesting) begin(line any, c call) { n.open[line] = append(n.open[line], c) }

func (n *nesting) end(line any, name string, ts int64) {
	s := n.open[line]
	if len(s) == 0 {
		n.t.Fatalf("%s ends at %d on line %v and never began", name, ts, line)
	}
	c := s[len(s)-1]
	if name != "" && name != c.name || ts < c.start {
		n.t.Fatalf("%s ends at %d in %+v", name, ts, c)
	}
	n.open[line], c.end = s[:len(s)-1], ts
	n.got.calls = append(n.got.calls, c)
}

func (n *nesting) rest(ts int64) readBack {
	for _, s := range n.open {
		for _, c := range s {
			c.end = ts
			n.got.calls = append(n.got.calls, c)
		}
	}
	return n.got
}

func nanos(t *testing.T, us json.Number) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.Replace(us.String(), ".", "", 1), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func readChrome(t *testing.T, st *store.Store, path string) readBack {
	var doc struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(fileOf(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	type line struct{ pid, tid int }
	names := map[line]string{}
	n := nesting{t: t, open: map[any][]call{}}
	for _, e := range doc.TraceEvents {
		at := line{e.PID, e.TID}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				names[at] = lineName(t, st, e.PID, e.TID, e.Args["name"].(string))
			}
		case "B":
			n.begin(at, call{track: names[at], name: e.Name, start: nanos(t, e.TS)})
		case "E":
			n.end(at, e.Name, nanos(t, e.TS))
		case "X":
			start := nanos(t, e.TS)
			n.got.calls = append(n.got.calls, call{names[at], e.Name, start, start + nanos(t, *e.Dur)})
		case "i":
			n.got.others++
		}
	}
	return n.rest(st.Stats().LastTS)
}

// lineName is trackName of a line whose id is the thread's or made up.
func lineName(t *testing.T, st *store.Store, pid, tid int, name string) string {
	t.Helper()
	if tid >= laneIDs {
		tid = tidOf(t, st, pid, name)
	}
	if strings.HasPrefix(name, "thread ") {
		name = ""
	}
	return trackName(int32(pid), int32(tid), name)
}

// tidOf finds the thread of a lane by its name.
func tidOf(t *testing.T, st *store.Store, pid int, name string) int {
	t.Helper()
	sn, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	for _, th := range sn.Threads() {
		if th.Name == name && int(th.PID) == pid {
			return int(th.TID)
		}
	}
	t.Fatalf("no lane %q", name)
	return 0
}

// fields is a protobuf message without its schema.
type fields map[protowire.Number][]any

func decode(t *testing.T, b []byte) fields {
	t.Helper()
	out := fields{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", num, typ)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		out[num], b = append(out[num], v), b[n:]
	}
	return out
}

func (f fields) num(field protowire.Number) uint64 {
	if len(f[field]) == 0 {
		return 0
	}
	return f[field][0].(uint64)
}

func (f fields) str(t *testing.T, field protowire.Number) string {
	t.Helper()
	if len(f[field]) == 0 {
		return ""
	}
	s := string(f[field][0].([]byte))
	if !utf8.ValidString(s) {
		t.Errorf("%q is not UTF-8", s)
	}
	return s
}

func (f fields) msg(t *testing.T, field protowire.Number) fields {
	t.Helper()
	if len(f[field]) == 0 {
		return nil
	}
	return decode(t, f[field][0].([]byte))
}

// readPerfetto orders by time, keeping the file's order, as trace_processor does. The numbers are Perfetto's own.
func readPerfetto(t *testing.T, st *store.Store, path string) readBack {
	type ev struct {
		ts   int64
		kind uint64
		line uint64
		name string
	}
	names, tracks := map[uint64]string{}, map[uint64]string{}
	var all []ev
	for i, raw := range decode(t, fileOf(t, path))[1] {
		p := decode(t, raw.([]byte))
		if p.num(10) != 1 || (p.num(13)&1 != 0) != (i == 0) {
			t.Fatalf("packet %d: sequence %d, flags %d", i, p.num(10), p.num(13))
		}
		if in := p.msg(t, 12); in != nil {
			for _, raw := range in[2] {
				n := decode(t, raw.([]byte))
				names[n.num(1)] = n.str(t, 2)
			}
		}
		if d := p.msg(t, 60); d != nil {
			if _, twice := tracks[d.num(1)]; twice {
				t.Errorf("track %d is described twice", d.num(1))
			}
			tracks[d.num(1)] = ""
			if th := d.msg(t, 4); th != nil {
				tracks[d.num(1)] = lineName(t, st, int(th.num(1)), int(th.num(2)), th.str(t, 5))
			} else if parent := d.num(5); parent != 0 {
				pid := int(uint32(parent))
				tracks[d.num(1)] = lineName(t, st, pid, laneIDs, d.str(t, 2))
			}
		}
		if e := p.msg(t, 11); e != nil {
			if _, ok := tracks[e.num(11)]; !ok {
				t.Fatalf("an event on track %d, which nothing describes", e.num(11))
			}
			all = append(all, ev{int64(p.num(8)), e.num(9), e.num(11), names[e.num(10)]})
		}
	}
	slices.SortStableFunc(all, func(a, b ev) int { return int(a.ts - b.ts) })
	n := nesting{t: t, open: map[any][]call{}}
	for _, e := range all {
		switch e.kind {
		case 1:
			n.begin(e.line, call{track: tracks[e.line], name: e.name, start: e.ts})
		case 2:
			n.end(e.line, "", e.ts)
		case 3:
			n.got.others++
		}
	}
	return n.rest(st.Stats().LastTS)
}

func readSpeedscope(t *testing.T, st *store.Store, path string) readBack {
	var doc struct {
		Schema string `json:"$schema"`
		Shared struct {
			Frames []struct{ Name string }
		}
		Profiles []struct {
			Type, Name, Unit     string
			StartValue, EndValue int64
			Events               []struct {
				Type  string
				Frame int
				At    int64
			}
		}
	}
	if err := json.Unmarshal(fileOf(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	n := nesting{t: t, open: map[any][]call{}}
	for i, p := range doc.Profiles {
		if p.Type != "evented" || p.Unit != "nanoseconds" {
			t.Errorf("profile %+v", p)
		}
		at := p.StartValue
		var track string
		name, ids, ok := strings.Cut(p.Name, " (process ")
		if ok {
			pid, tid, _ := strings.Cut(strings.TrimSuffix(ids, ")"), ", thread ")
			a, err := strconv.Atoi(pid)
			b, err2 := strconv.Atoi(tid)
			if err != nil || err2 != nil {
				t.Fatalf("profile %q", p.Name)
			}
			track = lineName(t, st, a, b, name)
		}
		for _, e := range p.Events {
			if e.At < at || e.At > p.EndValue {
				t.Fatalf("%+v behind %d, in %d to %d", e, at, p.StartValue, p.EndValue)
			}
			at = e.At
			if name := doc.Shared.Frames[e.Frame].Name; e.Type == "O" {
				n.begin(i, call{track: track, name: name, start: e.At})
			} else {
				n.end(i, name, e.At)
			}
		}
		if len(n.open[i]) > 0 {
			t.Errorf("profile %s has %d frames that are open", p.Name, len(n.open[i]))
		}
	}
	return n.got
}

func readOTLP(t *testing.T, st *store.Store, path string) (b readBack) {
	type attr struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	seen := map[string]bool{}
	var parents []string
	trace := ""
	for i, line := range bytes.Split(bytes.TrimSpace(fileOf(t, path)), []byte("\n")) {
		var doc struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID, SpanID, ParentSpanID, Name  string
						StartTimeUnixNano, EndTimeUnixNano   string
						Attributes                           []attr
						DroppedAttributesCount, DroppedEvent int
					}
				}
			}
		}
		if err := json.Unmarshal(line, &doc); err != nil {
			t.Fatal(err)
		}
		for k, s := range doc.ResourceSpans[0].ScopeSpans[0].Spans {
			if seen[s.SpanID] || len(s.SpanID) != 16 || len(s.TraceID) != 32 || trace != "" && s.TraceID != trace {
				t.Fatalf("span %+v", s)
			}
			seen[s.SpanID], trace = true, s.TraceID
			if i == 0 && k == 0 {
				continue // the root
			}
			parents = append(parents, s.ParentSpanID)
			has := map[string]string{}
			for _, a := range s.Attributes {
				has[a.Key] = a.Value.StringValue + a.Value.IntValue
			}
			if _, ok := has["code.function.name"]; !ok {
				b.others++
				continue
			}
			c := call{name: s.Name, start: since(t, st, s.StartTimeUnixNano), end: since(t, st, s.EndTimeUnixNano)}
			pid, _ := strconv.Atoi(has["process.pid"])
			tid, _ := strconv.Atoi(has["thread.id"])
			c.track = lineName(t, st, pid, tid, has["thread.name"])
			b.calls = append(b.calls, c)
		}
	}
	for _, p := range parents {
		if !seen[p] {
			t.Fatalf("no span is parent %s", p)
		}
	}
	return b
}

func since(t *testing.T, st *store.Store, unix string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n - st.Meta().StartedAt
}

func readSQLite(t *testing.T, st *store.Store, path string) (b readBack) {
	conn, err := driver.NewConnector("file:" + path + "?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM events WHERE event_type NOT LIKE 'function%'").Scan(&b.others); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT function, coalesce(pid,0), coalesce(thread_id,0), coalesce(thread_name,''),
		timestamp_ns, timestamp_ns + coalesce(duration_ns, (SELECT max(timestamp_ns) FROM events) - timestamp_ns) FROM calls
		UNION ALL SELECT function, pid, thread_id, coalesce(thread_name,''), timestamp_ns - duration_ns, timestamp_ns
		FROM events e WHERE event_type='function_exit' AND NOT EXISTS (SELECT 1 FROM events b WHERE b.id=e.enter_event_id)`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c call
		var pid, tid int32
		var name string
		if err := rows.Scan(&c.name, &pid, &tid, &name, &c.start, &c.end); err != nil {
			t.Fatal(err)
		}
		c.track = trackName(pid, tid, name)
		b.calls = append(b.calls, c)
	}
	return b
}
