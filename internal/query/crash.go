package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

const (
	crashBytes     = 12 << 10 // of a crash event where it is not asked for whole
	crashesLooked  = 100      // crash events among which a fatal one is looked for
	lastOfThread   = 12       // events before a crash that it shows
	lastOfSession  = 12
	lastEventsScan = 4096
)

// crash returns the newest crash in short, a fatal one before others; nil without one.
func (a *asker) crash() (*Event, error) {
	if a.st.Stats().Events[event.Crash] == 0 {
		return nil, nil
	}
	var e *Event
	n := 0
	err := a.sn.Scan(a.ctx, store.Filter{Kinds: 1 << event.Crash}, store.ScanOptions{Reverse: true, Cold: true},
		func(row *store.Row) bool {
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
	e := Event{ID: r.ID, TimestampNs: r.TS, EventType: r.Kind.String(), PID: t.PID, ThreadID: t.TID,
		ThreadName: a.threadName(r)}
	if short {
		if c, err := crash.Parse(r.Payload); err == nil {
			if b, err := encode(c.Short()); err == nil {
				e.Data, _ = members(b)
				return e
			}
		}
		e.payload(r, false) // not ours: shown as it is
		return e
	}
	e.payload(r, true)
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
func (a *asker) lastEvents(of *store.Row) (*LastEvents, error) {
	if of.ID <= 1 {
		return nil, nil
	}
	var own, all []store.Row
	n := 0
	f := store.Filter{ToID: of.ID - 1, Kinds: 1<<event.FunctionEnter | 1<<event.FunctionExit | 1<<event.Stdout |
		1<<event.Stderr | 1<<event.Exception | 1<<event.Process}
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(r *store.Row) bool {
		n++
		if len(all) < lastOfSession {
			all = append(all, *r)
		}
		if len(own) < lastOfThread && r.Thread == of.Thread {
			own = append(own, *r)
		}
		return n < lastEventsScan && (len(all) < lastOfSession || len(own) < lastOfThread)
	})
	if err != nil {
		return nil, fmt.Errorf("read what led to crash %d: %w", of.ID, err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	alone := slices.EqualFunc(own, all, func(a, b store.Row) bool { return a.ID == b.ID })
	out := &LastEvents{}
	if out.Thread, err = a.lastLines(own, of); err != nil {
		return nil, err
	}
	if alone {
		return out, nil
	}
	out.Session, err = a.lastLines(all, of)
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
		what = r.Kind.String() + ": " + strings.TrimRight(cut(strings.ToValidUTF8(string(r.Payload), "\ufffd"), lastWidth),
			"\n")
	}
	thread := ""
	if r.Thread != crash.Thread {
		if t := a.thread(r.Thread); t.TID != 0 {
			thread = fmt.Sprintf(" [%d]", t.TID)
		}
	}
	return fmt.Sprintf("#%d -%s%s %s", r.ID, duration(crash.TS-r.TS), thread, what)
}

// fitCrash shortens a crash event to about limit bytes.
func fitCrash(e *Event, limit int) {
	size := 0
	for _, m := range e.Data {
		size += len(m.Name) + len(m.Value) + 4
	}
	fit := crash.NewFit(limit)
	changed := false
	for i := range e.Data {
		m := &e.Data[i]
		v, err := value.ParseJSON(m.Value)
		if err != nil {
			continue
		}
		var cut bool
		if m.Name == "lastEvents" {
			v, cut = v.Fit(limit / 6)
		} else {
			v, cut = fit.Member(m.Name, v)
		}
		if cut {
			m.Value, changed = v.AppendJSON(nil), true
		}
	}
	if changed {
		why, err := encode(fmt.Sprintf("Shortened from %d bytes: verbose has all of it, debug_memory with eventId %d reads "+
			"single values.", size, e.ID))
		if err == nil {
			e.Data = append(e.Data, DataMember{Name: "hint", Value: why})
		}
	}
}
