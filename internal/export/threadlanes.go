package export

import (
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/switches"
	"github.com/strobe-debug/strobe/internal/value"
)

// A thread whose switches were recorded has a lane of its own beside that of its calls: when it ran, was kept from a
// CPU, and waited, with the reason where that is known.

// cpuLane is what stands behind a thread's name for its lane.
const cpuLane = " (on CPU)"

// threadLanes takes apart what is told of threads' switches.
type threadLanes struct {
	known map[event.ThreadID]bool
	whys  map[event.ThreadID]map[int64]string // of waits that have not ended
}

// laneSlice is a while on a lane.
type laneSlice struct {
	from, to int64
	name     string
	why      string
}

// read returns what an event tells of its thread's lane, and whether that is the first; false where it tells nothing.
func (l *threadLanes) read(s *session, r *store.Row) (slices []laneSlice, first, ok bool) {
	if r.Kind != event.Channel || int(r.Stream) >= len(s.streams) || s.streams[r.Stream].Channel != switches.Channel {
		return nil, false, false
	}
	b, err := switches.Read(r.Payload)
	if _, thread := s.track(r.Thread); err != nil || b.What != switches.WhatRan || !thread {
		return nil, false, false
	}
	all, err := b.Intervals()
	if err != nil {
		return nil, false, false
	}
	if l.known == nil {
		l.known, l.whys = map[event.ThreadID]bool{}, map[event.ThreadID]map[int64]string{}
	}
	if first = !l.known[r.Thread]; first {
		l.known[r.Thread], l.whys[r.Thread] = true, map[int64]string{}
	}
	whys := l.whys[r.Thread]
	for _, w := range b.Waits {
		whys[w.At] = w.Why
	}
	for _, i := range all {
		if i.State != switches.Unknown && i.To > i.From {
			slices = append(slices, laneSlice{i.From, i.To, i.State.String(), whys[i.From]})
		}
		delete(whys, i.From)
	}
	return slices, first, true
}

// lane writes a thread's lane to a trace of Chrome's.
func (c *chromeWriter) lane(r *store.Row) bool {
	slices, first, ok := c.lanes.read(c.session, r)
	if !ok {
		return false
	}
	t, _ := c.track(r.Thread)
	id := int32(cpuLanes + r.Thread)
	if first {
		c.put(entry{Name: "thread_name", Phase: "M", PID: t.PID, TID: id, Args: argList{text("name", t.name+cpuLane)}})
	}
	for _, s := range slices {
		e := entry{Name: s.name, Cat: "cpu", Phase: "X", TS: s.from, Dur: s.to - s.from, PID: t.PID, TID: id}
		if s.why != "" {
			e.Args = argList{text("why", s.why)}
		}
		c.put(e)
		c.report.Written--
	}
	c.report.Written++
	return true
}

// cpuLanes is where the made up ids of these lanes begin in Chrome's traces.
const cpuLanes = 1 << 23

// lane writes a thread's lane to a trace of Perfetto's.
func (p *perfettoWriter) lane(r *store.Row) (bool, error) {
	slices, first, ok := p.lanes.read(p.session, r)
	if !ok {
		return false, nil
	}
	t, _ := p.track(r.Thread)
	uuid := cpuTracks | uint64(r.Thread)
	if first {
		if err := p.trackOf(uuid, processTracks|uint64(uint32(t.PID)), t.name+cpuLane, nil); err != nil {
			return true, err
		}
	}
	for _, s := range slices {
		for _, end := range []bool{false, true} {
			m := &p.packet
			at := s.from
			if end {
				at = s.to
			}
			m.uint(fPacketTimestamp, uint64(max(at, 0)))
			e := m.begin(fPacketTrackEvent)
			m.uint(fEventTrack, uuid)
			if end {
				m.uint(fEventType, sliceEnd)
			} else {
				m.uint(fEventType, sliceBegin)
				m.uint(fEventCategoryIID, p.intern(p.categories, fInternedCategory, "cpu"))
				m.uint(fEventNameIID, p.intern(p.names, fInternedName, s.name))
				if s.why != "" {
					p.annotate("why", value.NewText(s.why))
				}
			}
			m.end(e)
			if err := p.put(); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}
