package export

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// perfetto is a trace of track events: a packet for each event, a track for each thread. Calls are slices, with the
// arguments, the result and the place in the source; output, crashes and all else are instants. Timestamps are those of
// the session, in nanoseconds; a snapshot of the clocks says when that was.
var perfetto = &Format{Name: "perfetto", Extension: ".perfetto-trace", stream: writePerfetto,
	About: "Perfetto's protobuf trace, for https://ui.perfetto.dev and trace_processor"}

// Fields of Perfetto's messages, by the names that they have in protos/perfetto/trace.
const (
	fTracePacket = 1 // of Trace

	fPacketClockSnapshot = 6
	fPacketTimestamp     = 8
	fPacketSequenceID    = 10
	fPacketTrackEvent    = 11
	fPacketInternedData  = 12
	fPacketSequenceFlags = 13
	fPacketTrack         = 60

	fSnapshotClocks = 1
	fClockID        = 1
	fClockTimestamp = 2

	fTrackUUID    = 1
	fTrackName    = 2
	fTrackProcess = 3
	fTrackThread  = 4
	fTrackParent  = 5

	fProcessPID     = 1
	fProcessCmdline = 2
	fProcessName    = 6

	fThreadPID  = 1
	fThreadTID  = 2
	fThreadName = 5

	fEventCategoryIID = 3
	fEventAnnotation  = 4
	fEventType        = 9
	fEventNameIID     = 10
	fEventTrack       = 11
	fEventSourceIID   = 34

	fInternedCategory   = 1
	fInternedName       = 2
	fInternedAnnotation = 3
	fInternedSource     = 4

	fInternedIID = 1 // of each of them
	fInternedStr = 2 // of the first three

	fSourceFile     = 2
	fSourceFunction = 3
	fSourceLine     = 4

	fAnnotationNameIID = 1
	fAnnotationBool    = 2
	fAnnotationUint    = 3
	fAnnotationInt     = 4
	fAnnotationDouble  = 5
	fAnnotationString  = 6
	fAnnotationName    = 10
	fAnnotationDict    = 11
	fAnnotationArray   = 12
)

// Values of Perfetto's enumerations.
const (
	clockRealtime = 1
	clockBoottime = 6 // that of packets' timestamps

	stateCleared = 1 // of sequence flags: interned data begins
	stateNeeded  = 2

	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
)

// Ids of tracks are made of what they are and a number.
const (
	processTracks = 1 << 40 // and the process's id
	threadTracks  = 2 << 40 // and the thread's event.ThreadID
	sessionTrack  = 3 << 40 // of what belongs to no thread
	cpuTracks     = 4 << 40 // and the thread's event.ThreadID
)

// maxInterned bounds the names of annotations that are remembered. Those of parameters are as many as parameters; keys
// of maps may be any number, and are not interned.
const maxInterned = 1 << 16

// perfettoWriter writes one trace. A packet is made in packet, what it interns for the first time in interned.
type perfettoWriter struct {
	*session
	w                 *bufio.Writer
	packet, interned  message
	flags             uint64
	names, categories map[string]uint64
	annotations       map[string]uint64
	sources           map[event.FuncID]bool
	lanes             threadLanes
}

func writePerfetto(ctx context.Context, s *session, w *bufio.Writer) error {
	p := &perfettoWriter{session: s, w: w, flags: stateCleared | stateNeeded, names: map[string]uint64{},
		categories: map[string]uint64{}, annotations: map[string]uint64{}, sources: map[event.FuncID]bool{}}
	if err := p.preamble(); err != nil {
		return err
	}
	began, err := s.before(ctx, store.Filter{})
	if err != nil {
		return err
	}
	for i := len(began) - 1; i >= 0; i-- { // outermost first
		r := began[i]
		r.TS -= r.Duration
		if err := p.event(&r, sliceBegin, nil); err != nil {
			return err
		}
	}
	if n := int64(len(began)); n > 0 {
		note(&s.report.Changed, "ends of calls", "their begins are not in the session: slices without arguments", n)
	}
	return s.scan(ctx, store.Filter{}, p.row)
}

// preamble writes the clocks, processes and threads.
func (p *perfettoWriter) preamble() error {
	snapshot := p.packet.begin(fPacketClockSnapshot)
	for _, c := range [][2]uint64{{clockBoottime, 0}, {clockRealtime, uint64(p.meta.StartedAt)}} {
		clock := p.packet.begin(fSnapshotClocks)
		p.packet.uint(fClockID, c[0])
		p.packet.uint(fClockTimestamp, c[1])
		p.packet.end(clock)
	}
	p.packet.end(snapshot)
	if err := p.put(); err != nil {
		return err
	}
	if err := p.trackOf(sessionTrack, 0, p.process(), nil); err != nil {
		return err
	}
	seen := map[int32]bool{}
	for i := range p.tracks {
		t := &p.tracks[i]
		if !seen[t.PID] {
			seen[t.PID] = true
			err := p.trackOf(processTracks|uint64(uint32(t.PID)), 0, "", func(m *message) {
				at := m.begin(fTrackProcess)
				m.int(fProcessPID, int64(t.PID))
				for _, arg := range append([]string{p.meta.Command}, p.meta.Args...) {
					m.text(fProcessCmdline, valid(arg))
				}
				m.text(fProcessName, p.process())
				m.end(at)
			})
			if err != nil {
				return err
			}
		}
		uuid, parent := threadTracks|uint64(i), processTracks|uint64(uint32(t.PID))
		var err error
		if t.lane {
			err = p.trackOf(uuid, parent, t.name, nil) // a thread has one track of its own
		} else {
			err = p.trackOf(uuid, 0, "", func(m *message) {
				at := m.begin(fTrackThread)
				m.int(fThreadPID, int64(t.PID))
				m.int(fThreadTID, int64(t.TID))
				m.text(fThreadName, t.name)
				m.end(at)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trackOf describes a track; 0 and "" leave out what they are.
func (p *perfettoWriter) trackOf(uuid, parent uint64, name string, more func(*message)) error {
	track := p.packet.begin(fPacketTrack)
	p.packet.uint(fTrackUUID, uuid)
	if name != "" {
		p.packet.text(fTrackName, name)
	}
	if more != nil {
		more(&p.packet)
	}
	if parent != 0 {
		p.packet.uint(fTrackParent, parent)
	}
	p.packet.end(track)
	return p.put()
}

// row writes an event of the session.
func (p *perfettoWriter) row(r *store.Row) error {
	p.report.Written++
	if done, err := p.lane(r); done {
		return err
	}
	switch {
	case r.Kind == event.FunctionEnter:
		return p.event(r, sliceBegin, p.enterArgs)
	case r.Kind != event.FunctionExit:
		return p.event(r, instant, p.payloadArgs)
	}
	if r.Enter == 0 {
		p.report.change("ends of calls", "nothing is known of their begins: slices without a length")
		if err := p.event(r, sliceBegin, nil); err != nil {
			return err
		}
	}
	return p.event(r, sliceEnd, p.factArgs)
}

// event writes a packet of an event, which is a begin, an end or an instant.
func (p *perfettoWriter) event(r *store.Row, kind uint64, annotate func(*store.Row)) error {
	m := &p.packet
	if r.TS < 0 {
		p.report.change("events", "they are from before the session's start and are put there")
	}
	m.uint(fPacketTimestamp, uint64(max(r.TS, 0)))
	at := m.begin(fPacketTrackEvent)
	m.uint(fEventType, kind)
	track := uint64(sessionTrack)
	if _, ok := p.track(r.Thread); ok {
		track = threadTracks | uint64(r.Thread)
	}
	m.uint(fEventTrack, track)
	switch kind {
	case sliceBegin:
		f := p.calls.Function(r.Func)
		m.uint(fEventCategoryIID, p.intern(p.categories, fInternedCategory, filepath.Base(f.Module)))
		m.uint(fEventNameIID, p.intern(p.names, fInternedName, f.Name))
		if f.File != "" {
			m.uint(fEventSourceIID, p.source(r.Func, f.Name, f.File, f.Line))
		}
	case instant:
		m.uint(fEventCategoryIID, p.intern(p.categories, fInternedCategory, "strobe"))
		m.uint(fEventNameIID, p.intern(p.names, fInternedName, p.eventName(r)))
	}
	if annotate != nil {
		annotate(r)
	}
	m.end(at)
	return p.put()
}

// put writes the packet.
func (p *perfettoWriter) put() error {
	if len(p.interned) > 0 {
		at := p.packet.begin(fPacketInternedData)
		p.packet = append(p.packet, p.interned...)
		p.packet.end(at)
	}
	p.packet.uint(fPacketSequenceID, 1)
	p.packet.uint(fPacketSequenceFlags, p.flags)
	var head [20]byte
	b := protowire.AppendTag(head[:0], fTracePacket, protowire.BytesType)
	if _, err := p.w.Write(protowire.AppendVarint(b, uint64(len(p.packet)))); err != nil {
		return err
	}
	_, err := p.w.Write(p.packet)
	p.packet, p.interned, p.flags = p.packet[:0], p.interned[:0], stateNeeded
	return err
}

// intern returns the number of a name, which goes with the packet where it is new.
func (p *perfettoWriter) intern(known map[string]uint64, field protowire.Number, name string) uint64 {
	iid, ok := known[name]
	if !ok {
		iid = uint64(len(known) + 1)
		known[name] = iid
		at := p.interned.begin(field)
		p.interned.uint(fInternedIID, iid)
		p.interned.text(fInternedStr, valid(name))
		p.interned.end(at)
	}
	return iid
}

// source is intern of where a function stands.
func (p *perfettoWriter) source(id event.FuncID, name, file string, line int) uint64 {
	iid := uint64(id) + 1
	if !p.sources[id] {
		p.sources[id] = true
		at := p.interned.begin(fInternedSource)
		p.interned.uint(fInternedIID, iid)
		p.interned.text(fSourceFile, valid(file))
		p.interned.text(fSourceFunction, valid(name))
		p.interned.uint(fSourceLine, uint64(min(max(line, 0), math.MaxInt32)))
		p.interned.end(at)
	}
	return iid
}

func (p *perfettoWriter) enterArgs(r *store.Row) {
	p.annotate("event", value.NewInt(r.ID))
	if args := p.calls.Function(r.Func).Arguments(r); len(args) > 0 {
		p.annotate("arguments", value.NewObject(args))
	}
	p.factArgs(r)
}

func (p *perfettoWriter) factArgs(r *store.Row) {
	for _, m := range p.facts(r) {
		p.annotate(m.Name, m.Value)
	}
}

// payloadArgs shows what an event that is no call carries.
func (p *perfettoWriter) payloadArgs(r *store.Row) {
	p.annotate("event", value.NewInt(r.ID))
	if r.Kind.IsBytes() {
		p.annotate("text", value.NewText(p.text(r, maxOutputText)))
		return
	}
	if o := object(r); o != nil {
		v, err := value.ParseJSON(o)
		if err != nil {
			v = value.NewText(string(o)) // nested deeper than is looked into
		}
		p.annotate("data", v)
	}
}

// annotate adds an annotation of the event to the packet.
func (p *perfettoWriter) annotate(name string, v value.Value) {
	at := p.packet.begin(fEventAnnotation)
	p.packet.uint(fAnnotationNameIID, p.intern(p.annotations, fInternedAnnotation, name))
	p.annotation(v)
	p.packet.end(at)
}

// annotation adds a value's fields.
func (p *perfettoWriter) annotation(v value.Value) {
	m := &p.packet
	elems, more := v.Elems()
	switch {
	case v.Kind() == value.Array && len(elems)+more == 0, v.Kind() == value.Obj && len(v.Object()) == 0:
		m.text(fAnnotationString, string(v.AppendJSON(nil))) // an annotation without a value is none
		return
	}
	switch v.Kind() {
	case value.Null:
		m.text(fAnnotationString, "null")
	case value.Bool:
		m.bool(fAnnotationBool, v.Bool())
	case value.Int:
		if n, ok := v.Int64(); ok {
			m.int(fAnnotationInt, n)
		} else if n, ok := v.Uint64(); ok {
			m.uint(fAnnotationUint, n)
		} else {
			m.text(fAnnotationString, string(v.AppendJSON(nil)))
		}
	case value.Float:
		if f, ok := v.Float(); ok {
			m.fixed64(fAnnotationDouble, math.Float64bits(f))
		} else {
			m.text(fAnnotationString, string(v.AppendJSON(nil)))
		}
	case value.Array:
		for _, e := range elems {
			at := m.begin(fAnnotationArray)
			p.annotation(e)
			m.end(at)
		}
		if more > 0 {
			at := m.begin(fAnnotationArray)
			m.text(fAnnotationString, moreElems(more))
			m.end(at)
		}
	case value.Obj:
		for _, member := range v.Object() {
			at := m.begin(fAnnotationDict)
			if iid, ok := p.annotations[member.Name]; ok || len(p.annotations) < maxInterned {
				if !ok {
					iid = p.intern(p.annotations, fInternedAnnotation, member.Name)
				}
				m.uint(fAnnotationNameIID, iid)
			} else {
				m.text(fAnnotationName, valid(member.Name))
			}
			p.annotation(member.Value)
			m.end(at)
		}
	default:
		m.text(fAnnotationString, valid(v.Text()))
	}
}

func moreElems(n int) string { return fmt.Sprintf("…(+%d elements)", n) }
