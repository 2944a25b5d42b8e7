package native

import (
	"bytes"
	"errors"
	"slices"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/snapshot"
)

// lastValue is what is known of the value that a data breakpoint watches.
type lastValue struct {
	b      []byte   // as the last event told it
	by     *thread  // that stopped last
	silent *pause   // a thread that stopped since then and wrote what was there already, as it seemed
	told   [][]byte // what the last writes wrote
}

// maxTold bounds the writes of threads whose stops are handled in another order than they wrote in.
const maxTold = 16

func (v *lastValue) tell(b []byte) {
	if v.told = append(v.told, b); len(v.told) > maxTold {
		v.told = v.told[1:]
	}
}

// dataEvent is one access to what is watched, as its event tells it.
type dataEvent struct {
	c       *pause
	members map[string]any
}

// judged is what a thread did to a value.
type judged struct {
	changed     bool
	read        bool // it wrote nothing
	old, now    []byte
	overwritten []byte // what another thread has written there since; nil: nothing
	sure        bool   // old is what the thread itself found
	elsewhere   bool   // its instruction writes nothing there, and nothing has changed
	unseen      bool   // it read what nobody was seen to write
	unsure      bool   // now is what was there when the thread stopped, and another one wrote at the same time
}

// judge finds out what a thread did, by what is there now and by its instruction's operands: between its write and its
// stop others may have written, and their stops may have been handled before. The slots' mu is held.
func (t *target) judge(c *pause, pt *point, last *lastValue, pic *snapshot.Picture, addr uint64,
	now []byte) (j judged) {
	after := last.by
	if j.old, j.now, last.by = last.b, now, c.th; c.alone && after == c.th && !pt.Reads { // nobody else has written
		j.changed, last.b = !bytes.Equal(now, j.old), now
		return j
	}
	w, err := c.wrote(pic, addr, last.b)
	if err == nil && w.Old != nil {
		j.old, j.sure = w.Old, w.Exact
	}
	switch {
	case pt.Reads && errors.Is(err, emulate.ErrElsewhere):
		if j.read = true; c.alone {
			j.unseen, last.b = !bytes.Equal(now, j.old), now
		} else { // what changed it may be told later
			j.old = now
		}
		return j
	case err != nil: // what is there is all that is known
		j.changed, last.b = !bytes.Equal(now, j.old), now
		j.elsewhere = !j.changed && errors.Is(err, emulate.ErrElsewhere)
		j.read = !j.changed && pt.Reads
		return j
	case w.New == nil: // it wrote a value that is not known
		j.unsure = !bytes.Equal(w.Old, last.b) || !t.othersTold(c)
		j.changed, last.b = j.unsure || !bytes.Equal(now, j.old), now
		return j
	case bytes.Equal(w.New, now):
		j.changed, last.b = !bytes.Equal(now, j.old), now
		return j
	}
	told := t.othersTold(c) && (!w.Exact || slices.ContainsFunc(last.told,
		func(b []byte) bool { return bytes.Equal(b, now) }))
	if !w.Exact && (told || !w.Atomic) { // it made its value of one that is not known
		j.changed, j.unsure, last.b = true, true, now
		return j
	}
	j.changed, j.now, j.overwritten = !bytes.Equal(w.New, j.old), w.New, now
	if last.b = w.New; told {
		last.b = now
	}
	return j
}

// met is which points a thread's instruction was about, of those that its trap names: the status that names them is not
// to be relied on (see ptrace.Siginfo.OfDebug), and says all where it says nothing. Where the instruction is known to
// write to some of what is watched, it is those.
func (t *target) met(c *pause, s *dataSlots, look *pauseLook, named []*point) []*point {
	if len(named) == 0 {
		return named
	}
	pic, err := look.picture()
	if err != nil {
		return named
	}
	var list, out []*point
	writes, elsewhere := map[*point]bool{}, map[*point]bool{}
	for _, pt := range s.points {
		if pt == nil || slices.Contains(list, pt) {
			continue
		}
		list = append(list, pt)
		addr, ok := s.start(pt)
		if !ok {
			addr = pt.data.addr
		}
		before := make([]byte, pt.data.size)
		switch _, err := c.wrote(pic, addr, before); {
		case err == nil:
			writes[pt] = true
		case errors.Is(err, emulate.ErrElsewhere) && !pt.Reads:
			elsewhere[pt] = true
		}
	}
	if len(list) == 1 || len(writes) == 0 {
		return named
	}
	for _, pt := range list {
		if writes[pt] || slices.Contains(named, pt) && !elsewhere[pt] {
			out = append(out, pt)
		}
	}
	return out
}

// access counts one access and describes it; none: nothing changed, and only changes were asked for.
func (t *target) access(c *pause, s *dataSlots, look *pauseLook, pt *point) []dataEvent {
	d := pt.data
	addr, ok := s.start(pt)
	if !ok {
		addr = d.addr
	}
	pic, err := look.picture()
	now := make([]byte, d.size)
	s.mu.Lock()
	if pt.gone.Load() || err != nil || c.p.mem.Read(addr, now) != nil {
		s.mu.Unlock()
		return nil
	}
	last := s.old[pt]
	if last == nil {
		last = &lastValue{b: now}
		s.old[pt] = last
	}
	was := last.b
	j := t.judge(c, pt, last, pic, addr, now)
	if !j.read {
		last.tell(j.now)
	}
	silent := last.silent
	if last.silent = nil; !j.changed && !j.sure && !j.elsewhere && !pt.Reads {
		last.silent = c
	}
	s.mu.Unlock()
	if !j.changed && !pt.Reads {
		if !j.elsewhere { // a trap's status may still name what an earlier one was for: virtual machines are seen to do that
			pt.same.Add(1)
		}
		return nil
	}
	if d.cfa != 0 && (c.th.tid == d.tid || c.p != d.p) && !d.stands(pic, c) {
		if c.p == d.p {
			t.frameGone(c, pt)
		}
		return nil
	}
	out := []dataEvent{t.dataEvent(c, pic, pt, j, dataFrames)}
	// it was no change because its stop was handled first
	if silent != nil && silent.th != c.th && j.overwritten != nil && bytes.Equal(was, now) {
		pt.same.Add(-1)
		out = append(out, t.dataEvent(silent, pic, pt, judged{old: j.now, now: now}, 0))
	}
	return out
}

// dataEvent describes an access. With no frames, the thread's stack is that of the time no more.
func (t *target) dataEvent(c *pause, pic *snapshot.Picture, pt *point, j judged, frames int) dataEvent {
	pt.hits.Add(1)
	d, r := pt.data, capture.NewReader(pic.Mem, 1, nil, t.walks.Own(), t.cmd.Secrets)
	members := map[string]any{"breakpointId": pt.ID, "variable": pt.Variable, "access": "write",
		"oldValue": r.Bytes(d.typ, d.lang, j.old), "newValue": r.Bytes(d.typ, d.lang, j.now)}
	if j.read {
		members["access"] = "read"
	}
	if j.overwritten != nil {
		members["overwrittenWith"] = r.Bytes(d.typ, d.lang, j.overwritten)
	}
	if j.unsure {
		members["note"] = "another thread wrote at the same time: newValue is what was there when this one was stopped"
	}
	if j.unseen {
		members["note"] = "it was changed before by what no data breakpoint sees: the kernel in a system call, or " +
			"another process"
	}
	c.seen.Behind = true // the trap comes behind the instruction
	top, lines := c.where(pic, frames, false)
	c.seen.Behind = false
	c.Function, c.File, c.Line = top.Function, top.File, top.Line
	if len(lines) > 0 {
		members["backtrace"] = lines
	}
	return dataEvent{c, members}
}
