package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// gdbValue is a value as testdata/stepping.py tells it.
type gdbValue struct {
	K        string
	V        json.RawMessage
	Name     string // of an enumerator
	Text     *string
	Hex      string // of an array of characters
	Size     int
	Members  []gdbMember
	Elements []gdbValue
	More     int
	To       *gdbValue
	Why      string
	Line     int // of the declaration
	Static   bool
	Argument bool
}

type gdbMember struct {
	Name  string
	Value gdbValue
}

// UnmarshalJSON reads [name, value].
func (m *gdbMember) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[2]any{&m.Name, &m.Value})
}

// readStop reads where a thread stands, and what gdb showed in the caller of a function that was just entered.
func readStop(t *testing.T, s *strobetest.Strobe, session string, stops []gdbStep, i int, o *ourStep) {
	read := func(frame int, targets ...args) []shownValue {
		var r struct{ Results []shownValue }
		q := args{"sessionId": session, "threadId": o.At.ThreadID, "frame": frame, "depth": 3, "targets": targets}
		if err := s.Try("debug_memory", q, &r); err != nil || len(r.Results) != len(targets) {
			t.Fatalf("at %s: read %v of frame %d: %v", o, targets, frame, err)
		}
		return r.Results
	}
	pc := read(0, args{"expression": "$rip"})[0]
	if err := json.Unmarshal(pc.Value, &o.PC); err != nil {
		t.Fatalf("$rip is %s: %v", pc.Value, err)
	}
	if i >= len(stops) || len(stops[i].Caller) == 0 || stops[i].String() != o.String() {
		return
	}
	o.Caller = map[string]any{}
	for name := range stops[i].Caller {
		if strings.Contains(name, "#") { // of a parameter pack
			continue
		}
		if v := read(1, args{"variable": name})[0]; !strings.Contains(v.Error, "is not known here") {
			o.Caller[name] = v.any(t)
		}
	}
}

// shownValue is a row of debug_memory's answer.
type shownValue struct {
	Value, Fields json.RawMessage
	Error         string
}

func (m *shownValue) any(t *testing.T) any {
	switch {
	case m.Fields != nil:
		return exactJSON(t, m.Fields)
	case m.Value != nil:
		return exactJSON(t, m.Value)
	case strings.Contains(m.Error, "optimized out"):
		return goneMarker
	}
	return "error: " + m.Error
}

// exactJSON decodes JSON with numbers as they are written.
func exactJSON(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", b, err)
	}
	return v
}

// compareValues compares what both show at the stops that both have.
func compareValues(t *testing.T, stops []gdbStep, ours []ourStep) (out []string) {
	t.Helper()
	for _, pair := range samePlaces(stops, ours) {
		g, o := &stops[pair[0]], &ours[pair[1]]
		counted.stops.Add(1)
		differs := func(format string, args ...any) {
			out = append(out, "at "+g.String()+fmt.Sprintf(format, args...))
		}
		got := o.values(t)
		compareFrame(g.Line, g.Values, got, differs)
		for name := range got {
			if _, ok := g.Values[name]; !ok && !strings.Contains(name, "#") && name != "…" {
				differs(": %s is %s, gdb has no such variable", name, kindOf(got[name]))
			}
		}
		if o.Caller == nil || pair[0] != pair[1] { // it was read for what gdb had at the same count
			continue
		}
		compareFrame(g.CallerLine, g.Caller, o.Caller, func(format string, args ...any) {
			if strings.Contains(fmt.Sprintf(format, args...), ": "+goneMarker+", gdb has") {
				counted.lost.Add(1) // gdb takes registers that a callee may change for unchanged
				return
			}
			differs(", in its caller"+format, args...)
		})
	}
	return out
}

// values are the arguments and variables at a stop.
func (o *ourStep) values(t *testing.T) map[string]any {
	t.Helper()
	got := map[string]any{}
	for _, m := range []map[string]json.RawMessage{o.At.Arguments, o.At.Locals} {
		for name, v := range m {
			got[name] = exactJSON(t, v)
		}
	}
	return got
}

// sameAgain are the differences that are the same in another run: others are of memory that the program has not
// written, or has given back.
func sameAgain(one, other []string) []string {
	return slices.DeleteFunc(one, func(d string) bool {
		if slices.Contains(other, d) {
			return false
		}
		counted.random.Add(1)
		return true
	})
}

// notYetSet reports a difference of an argument of Rust's library that is stored one line later: until then there is
// what lay there before, which differs between gdb's run and ours.
func notYetSet(difference string) bool {
	if !strings.Contains(difference, " slice_from_raw_parts_mut: len: ") {
		return false
	}
	counted.unset.Add(1)
	return true
}

// maxShown is how many differences a build's test shows.
const maxShown = 12

// compareFrame compares the variables of a frame.
func compareFrame(line int, want map[string]gdbValue, got map[string]any, differs func(string, ...any)) {
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			if strings.Contains(name, "#") { // of a parameter pack: no expression can name it
				continue
			}
			// gdb has also variables of blocks that the thread is not in, where the compiler has nothing of them.
			if _, cut := got["…"]; !cut && (w.Argument || w.K != "gone") && w.K != "empty" {
				differs(": %s is missing, gdb has it (%s)", name, w.K)
			}
			continue
		}
		d := w.differs(g)
		if twin, ok := got[name+"#2"]; ok && d != "" { // two of a name in one block
			d = w.differs(twin)
		}
		switch {
		case d == "":
		// not yet set: what lay there before
		case line > 0 && w.Line >= line && !w.Static && w.K != "gone" && g != goneMarker:
			counted.unset.Add(1)
		default:
			differs(": %s: %s", name, d)
		}
	}
}

// samePlaces pairs the stops of both that are the same instruction of the same line, in order.
func samePlaces(stops []gdbStep, ours []ourStep) (pairs [][2]int) {
	same := func(i, k int) bool {
		return stops[i].What == "" && ours[k].PC%4096 == stops[i].PC%4096 && stops[i].String() == ours[k].String()
	}
	long := make([][]int, len(stops)+1) // the longest common part from a stop of each on
	for i := range long {
		long[i] = make([]int, len(ours)+1)
	}
	for i := len(stops) - 1; i >= 0; i-- {
		for k := len(ours) - 1; k >= 0; k-- {
			long[i][k] = max(long[i+1][k], long[i][k+1])
			if same(i, k) {
				long[i][k] = max(long[i][k], 1+long[i+1][k+1])
			}
		}
	}
	for i, k := 0, 0; i < len(stops) && k < len(ours); {
		switch {
		case same(i, k) && long[i][k] == 1+long[i+1][k+1]:
			pairs = append(pairs, [2]int{i, k})
			i, k = i+1, k+1
		case long[i+1][k] >= long[i][k+1]:
			i++
		default:
			k++
		}
	}
	return pairs
}

const goneMarker = "<optimized out>"
