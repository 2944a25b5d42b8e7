package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// shortCrash are the members of a crash event that its short form has, which statuses and other answers carry.
var shortCrash = []string{"signal", "exitCode", "class", "reason", "faultAddress", "fatal", "function", "sourceFile", "line", "locals", "recursion",
	"exceptionType", "exceptionMessage", "thrownAt", "nestedExceptions", "causedBy", "endedBy", "message", "error"}

const (
	shortFrames    = 6 // lines of the stack in a crash's short form
	shortLocals    = 1 << 10
	crashesLooked  = 100 // crash events among which a fatal one is looked for
	lastOfThread   = 12  // events before a crash that it shows
	lastOfSession  = 12
	lastEventsScan = 4096
)

// CrashSummary returns the short form of a crash event's payload: why, where, with which values, called by whom.
func CrashSummary(payload []byte) json.RawMessage {
	m, ok := members(payload)
	if !ok {
		return nil
	}
	namePlaces(m)
	e := Event{Data: shortened(m)}
	b := []byte{'{'}
	for i, d := range e.Data {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := encode(d.Name)
		if err != nil {
			return nil
		}
		b = append(append(append(b, name...), ':'), d.Value...)
	}
	return append(b, '}')
}

func shortened(data []DataMember) []DataMember {
	var out []DataMember
	for _, m := range data {
		switch {
		case m.Name == "locals" && len(m.Value) > shortLocals:
			out = append(out, DataMember{Name: "hint", Value: json.RawMessage(`"debug_query with eventType crash has the locals, registers, all threads' stacks and the last events."`)})
		case slices.Contains(shortCrash, m.Name):
			out = append(out, m)
		case m.Name == "backtrace":
			if lines, err := encode(stackLines(m.Value, data)); err == nil {
				out = append(out, DataMember{Name: "stack", Value: lines})
			}
		}
	}
	return out
}

// stackLines is a backtrace in a few lines of text: the innermost frame, and those from the crash's place in the user's code on.
func stackLines(raw json.RawMessage, crash []DataMember) []string {
	var function string
	var line int
	for _, m := range crash {
		switch m.Name {
		case "function":
			json.Unmarshal(m.Value, &function)
		case "line":
			json.Unmarshal(m.Value, &line)
		}
	}
	var frames []struct {
		Frame    int
		Function string
		File     string `json:"sourceFile"`
		Line     int
		Module   string
		Address  string
		Signal   bool `json:"signalHandlerCall"`
	}
	lines := []string{}
	if json.Unmarshal(raw, &frames) != nil {
		return lines
	}
	place := 0
	for i := range frames {
		if frames[i].Function == function && frames[i].Line == line {
			place = i
			break
		}
	}
	for i, f := range frames {
		if len(lines) >= shortFrames {
			return append(lines, fmt.Sprintf("… %d more", len(frames)-i))
		}
		if i > 0 && i < place {
			continue
		}
		name := f.Function
		switch {
		case f.Signal:
			name = "<signal handler called>"
		case name == "":
			name = f.Address
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf(" (%s:%d)", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		} else if f.Module != "" {
			where = " in " + f.Module[strings.LastIndexByte(f.Module, '/')+1:]
		}
		lines = append(lines, fmt.Sprintf("#%d %s%s", f.Frame, event.ShortName(name, 100), where))
	}
	return lines
}

// crash returns the newest crash in short, a fatal one before others; nil without one.
func (a *asker) crash() (*Event, error) {
	if a.st.Stats().Events[event.Crash] == 0 {
		return nil, nil
	}
	var e *Event
	n := 0
	err := a.sn.Scan(a.ctx, store.Filter{Kinds: 1 << event.Crash}, store.ScanOptions{Reverse: true, Cold: true}, func(row *store.Row) bool {
		n++
		full := a.renderCrash(row, true)
		if e == nil || full.fatal() {
			e = &full
		}
		return !full.fatal() && n < crashesLooked
	})
	if err != nil {
		return nil, fmt.Errorf("read crash: %w", err)
	}
	return e, nil
}

func (e *Event) fatal() bool {
	return slices.ContainsFunc(e.Data, func(m DataMember) bool { return m.Name == "fatal" && string(m.Value) == "true" })
}

// renderCrash makes a crash event: whole where it is asked for by its type or verbosely.
func (a *asker) renderCrash(r *store.Row, short bool) Event {
	t := a.thread(r.Thread)
	e := Event{ID: r.ID, TimestampNs: r.TS, EventType: r.Kind.String(), PID: t.PID, ThreadID: t.TID, ThreadName: a.threadName(r)}
	e.payload(r, !short)
	if short {
		e.Data = shortened(e.Data)
		return e
	}
	if last, err := a.lastEvents(r); err == nil && last != nil {
		if b, err := encode(last); err == nil {
			e.Data = append(e.Data, DataMember{Name: "lastEvents", Value: b})
		}
	}
	if !a.req.Verbose {
		fitCrash(&e, crashBytes)
	}
	return e
}

// LastEvents are what happened before a crash, as lines of text, the newest last.
type LastEvents struct {
	Thread  []string `json:"thread"`            // of the crashed thread
	Session []string `json:"session,omitempty"` // of all, where others were at work
}

// lastEvents returns the calls and the output before a crash.
func (a *asker) lastEvents(crash *store.Row) (*LastEvents, error) {
	if crash.ID <= 1 {
		return nil, nil
	}
	var own, all []store.Row
	n := 0
	f := store.Filter{ToID: crash.ID - 1, Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit | 1<<event.Stdout | 1<<event.Stderr | 1<<event.Exception | 1<<event.Process}
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(r *store.Row) bool {
		n++
		if len(all) < lastOfSession {
			all = append(all, *r)
		}
		if len(own) < lastOfThread && r.Thread == crash.Thread {
			own = append(own, *r)
		}
		return n < lastEventsScan && (len(all) < lastOfSession || len(own) < lastOfThread)
	})
	if err != nil {
		return nil, fmt.Errorf("read what led to crash %d: %w", crash.ID, err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	alone := slices.EqualFunc(own, all, func(a, b store.Row) bool { return a.ID == b.ID })
	out := &LastEvents{}
	if out.Thread, err = a.lastLines(own, crash); err != nil {
		return nil, err
	}
	if alone {
		return out, nil
	}
	out.Session, err = a.lastLines(all, crash)
	return out, err
}

// lastLines renders rows, the newest first, in chronological order.
func (a *asker) lastLines(rows []store.Row, crash *store.Row) ([]string, error) {
	slices.Reverse(rows)
	lines := make([]string, 0, len(rows))
	ids := make([]event.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	full, err := a.sn.Rows(a.ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d events: %w", len(ids), err)
	}
	for i := range full {
		lines = append(lines, a.lastLine(&full[i], crash))
	}
	return lines, nil
}

const lastWidth = 160 // characters of a line

func (a *asker) lastLine(r *store.Row, crash *store.Row) string {
	what := ""
	switch r.Kind {
	case event.FunctionEnter, event.FunctionExit:
		f := a.fn(r.Func)
		name := event.ShortName(f.Name, 60)
		if r.Kind == event.FunctionEnter {
			what = "→ " + name + "("
			if f.Known() {
				what += f.Arguments(r).Short(lastWidth / 2)
			}
			what += ")"
		} else {
			what = "← " + name
			if v, ok := f.Result(r); ok {
				what += " = " + v.Short(lastWidth/2)
			}
		}
	default:
		what = r.Kind.String() + ": " + strings.TrimRight(cut(strings.ToValidUTF8(string(r.Payload), "\ufffd"), lastWidth), "\n")
	}
	thread := ""
	if r.Thread != crash.Thread {
		if t := a.thread(r.Thread); t.TID != 0 {
			thread = fmt.Sprintf(" [%d]", t.TID)
		}
	}
	return fmt.Sprintf("#%d -%s%s %s", r.ID, duration(crash.TS-r.TS), thread, what)
}
