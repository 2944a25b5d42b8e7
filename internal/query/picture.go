package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// A picture is what a screen shows of a stretch of time: calls that are wide enough one by one, the others added up by
// lane, depth and bucket. However many events there are, it is no larger than the screen.

// Bounds of a picture.
const (
	MaxBuckets   = 4096
	MaxLevels    = 64     // depths of a lane that are drawn
	maxCells     = 600000 // 20 MB; a screen of 2,000 pixels and 100 rows has at most 200,000
	maxMarks     = 20000
	maxOpenDepth = 10000 // calls that are open on one lane
)

// PictureRequest asks for a picture.
type PictureRequest struct {
	From, To int64            // nanoseconds since the session's start, both inside
	Buckets  int              // 1 to MaxBuckets: as many as there are pixels
	Lanes    []event.ThreadID // nil: all
	Levels   int              // depths that are drawn, 1 to MaxLevels
}

// Picture is the answer. Spans is a table of numbers by column, little endian (Spans.append).
type Picture struct {
	From      int64       `json:"from"`
	To        int64       `json:"to"`
	Newest    int64       `json:"newest"` // the session's newest event's time
	LastID    int64       `json:"lastId"`
	Count     int         `json:"count"` // of spans
	Spans     []byte      `json:"spans"`
	Marks     []Mark      `json:"marks"`
	Lanes     []LaneDepth `json:"lanes"` // that have calls in the picture
	Functions []PicName   `json:"functions"`
	Cut       string      `json:"cut,omitempty"` // what is not in it
}

// LaneDepth is how deep calls go on a lane, of those in the picture.
type LaneDepth struct {
	Lane  event.ThreadID `json:"lane"`
	Depth int            `json:"depth"`
}

// PicName is a function of the picture.
type PicName struct {
	ID   event.FuncID `json:"id"`
	Name string       `json:"name"`
}

// Mark is one event that is no call, or several of a kind in one bucket.
type Mark struct {
	TimestampNs int64  `json:"timestampNs"` // of the first
	Lane        int64  `json:"lane"`        // -1: of no thread
	EventType   string `json:"eventType"`
	ID          int64  `json:"id"` // of the first
	Count       int64  `json:"count"`
}

// cell is a call, or calls of one bucket.
type cell struct {
	from, to int64
	id       event.ID // exit of the longest call; of an open one its enter
	count    uint32   // 0: an open call
	fn       event.FuncID
	lane     event.ThreadID
	depth    uint16
	bucket   int64
	longest  int64
	busy     int64
}

// spanBytes is the size of a span in Picture.Spans.
const spanBytes = 8 + 8 + 8 + 4 + 4 + 4 + 2 + 2

// pack writes columns: from, to, id as float64; count, function, lane as uint32; depth as uint16; busy as a share of
// 65,535 of the span.
func pack(cells []cell) []byte {
	b := make([]byte, 0, len(cells)*spanBytes)
	float := func(of func(c *cell) int64) {
		for i := range cells {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(of(&cells[i]))))
		}
	}
	long := func(of func(c *cell) uint32) {
		for i := range cells {
			b = binary.LittleEndian.AppendUint32(b, of(&cells[i]))
		}
	}
	float(func(c *cell) int64 { return c.from })
	float(func(c *cell) int64 { return c.to })
	float(func(c *cell) int64 { return c.id })
	long(func(c *cell) uint32 { return c.count })
	long(func(c *cell) uint32 { return uint32(c.fn) })
	long(func(c *cell) uint32 { return uint32(c.lane) })
	for i := range cells {
		b = binary.LittleEndian.AppendUint16(b, cells[i].depth)
	}
	for i := range cells {
		c := &cells[i]
		busy := uint16(math.MaxUint16)
		if length := c.to - c.from; c.count > 1 && c.busy < length {
			busy = uint16(float64(c.busy) / float64(length) * math.MaxUint16)
		}
		b = binary.LittleEndian.AppendUint16(b, busy)
	}
	return b
}

// painter makes one picture, walking from the newest event to the oldest: then a call is known before those in it.
type painter struct {
	req   PictureRequest
	width float64 // of a bucket, in nanoseconds
	lanes []*paintLane
	cells []cell
	marks []kindMark
	last  map[markKey]int // the newest mark of a kind and lane, which more may be added to

	lostMarks int64

	since  event.ID // only what is newer
	most   int      // more cells make buckets wider; 0: they do not
	widest float64  // which they become at most
}

// kindMark is a mark with its kind.
type kindMark struct {
	Mark
	kind event.Kind
}

type markKey struct {
	lane int64
	kind event.Kind
}

// paintLane is a lane under way.
type paintLane struct {
	depth   int // calls that are open at this point
	deepest int
	hidden  int64  // calls below the wanted levels
	rows    []cell // by depth: the bucket that is being added up; count 0: none
}

// DrawPicture makes the picture of what the store has. It does not flush.
func DrawPicture(ctx context.Context, st *store.Store, req PictureRequest) (*Picture, error) {
	if req.To < req.From || req.Buckets < 1 || req.Buckets > MaxBuckets || req.Levels < 1 || req.Levels > MaxLevels {
		return nil, invalid("from", "Give from before to, 1 to 4096 buckets and 1 to 64 levels.",
			"no picture of %d to %d in %d buckets and %d levels", req.From, req.To, req.Buckets, req.Levels)
	}
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	p := newPainter(req, sn)
	if req.From > 0 || req.To < sn.LastTS() {
		err = p.paint(ctx, sn)
	} else {
		err = p.wholly(ctx, st, sn)
	}
	if err != nil {
		return nil, err
	}
	return p.picture(sn), nil
}

func newPainter(req PictureRequest, sn *store.Snapshot) *painter {
	p := &painter{req: req, width: max(1, float64(req.To-req.From)/float64(req.Buckets)), last: map[markKey]int{},
		lanes: make([]*paintLane, len(sn.Threads()))}
	p.wanted(req.Lanes)
	return p
}

// paint walks over the events.
func (p *painter) paint(ctx context.Context, sn *store.Snapshot) error {
	if err := p.open(ctx, sn); err != nil {
		return err
	}
	f := store.Filter{FromTS: p.req.From, BeganTo: max(1, p.req.To)}
	if p.since > 0 {
		f.FromID = p.since + 1
	}
	err := sn.Scan(ctx, f, store.ScanOptions{Reverse: true, Times: true}, func(r *store.Row) bool {
		p.row(r)
		return len(p.cells) < maxCells && (p.most == 0 || len(p.cells) <= p.most || !p.overfull())
	})
	if err != nil {
		return fmt.Errorf("draw picture: %w", err)
	}
	p.flushAll()
	return nil
}

func (p *painter) wanted(lanes []event.ThreadID) {
	if lanes == nil {
		for i := range p.lanes {
			p.lanes[i] = &paintLane{rows: make([]cell, p.req.Levels)}
		}
	}
	for _, id := range lanes {
		if int(id) < len(p.lanes) {
			p.lanes[id] = &paintLane{rows: make([]cell, p.req.Levels)}
		}
	}
}

// open draws the calls that have not ended, which no exit tells of.
func (p *painter) open(ctx context.Context, sn *store.Snapshot) error {
	for id, lane := range p.lanes {
		if lane == nil {
			continue
		}
		rows, err := openCalls(ctx, sn, event.ThreadID(id))
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.TS > p.req.To {
				break
			}
			if lane.depth < p.req.Levels {
				p.cells = append(p.cells, cell{from: r.TS, to: max(r.TS, sn.LastTS()), id: r.ID, fn: r.Func,
					lane: event.ThreadID(id), depth: uint16(lane.depth)})
			}
			lane.depth++
		}
		lane.deepest = lane.depth
	}
	return nil
}

// openCalls returns the enters of a lane that have no exit, the outermost first.
func openCalls(ctx context.Context, sn *store.Snapshot, lane event.ThreadID) (open []store.Row, err error) {
	threads := new(store.Bits)
	threads.Set(uint32(lane))
	f := store.Filter{Kinds: callKinds, Threads: threads}
	var last store.Row
	err = sn.Scan(ctx, f, store.ScanOptions{Reverse: true, Times: true}, func(r *store.Row) bool {
		last = *r
		return false
	})
	if err != nil || last.ID == 0 {
		return nil, err
	}
	next := last.ID
	for n := 0; next != 0 && n < maxOpenDepth; n++ {
		rows, err := sn.Rows(ctx, []event.ID{next})
		if err != nil {
			return nil, fmt.Errorf("look for open calls: %w", err)
		}
		if len(rows) == 0 { // the limit has dropped it
			break
		}
		if rows[0].Kind == event.FunctionEnter && rows[0].Thread == lane {
			open = append(open, rows[0])
		}
		next = rows[0].Parent
	}
	slices.Reverse(open)
	return open, nil
}

// row takes the next older event.
func (p *painter) row(r *store.Row) {
	if !r.Kind.IsCall() {
		p.mark(r)
		return
	}
	if int(r.Thread) >= len(p.lanes) || p.lanes[r.Thread] == nil {
		return
	}
	lane := p.lanes[r.Thread]
	if r.Kind == event.FunctionEnter {
		lane.depth = max(0, lane.depth-1)
		return
	}
	depth := lane.depth
	lane.depth++
	lane.deepest = max(lane.deepest, lane.depth)
	if depth >= p.req.Levels {
		lane.hidden++
		return
	}
	c := cell{from: r.TS - r.Duration, to: r.TS, id: r.ID, count: 1, fn: r.Func, lane: r.Thread, depth: uint16(depth),
		longest: r.Duration, busy: r.Duration}
	p.add(&lane.rows[depth], &c)
}

// add draws a call, or calls that were added up before.
func (p *painter) add(row, c *cell) {
	if c.count == 0 || c.count == 1 && float64(c.to-c.from) >= p.width {
		p.flush(row)
		p.cells = append(p.cells, *c)
		return
	}
	bucket := int64(float64(c.from-p.req.From) / p.width)
	if row.count == 0 || row.bucket != bucket {
		p.flush(row)
		*row = *c
		row.bucket = bucket
		return
	}
	row.from, row.to = min(row.from, c.from), max(row.to, c.to)
	row.count, row.busy = row.count+c.count, row.busy+c.busy
	if c.longest > row.longest {
		row.longest, row.id, row.fn = c.longest, c.id, c.fn
	}
}

func (p *painter) flushAll() {
	for _, lane := range p.lanes {
		if lane != nil {
			for d := range lane.rows {
				p.flush(&lane.rows[d])
			}
		}
	}
}

func (p *painter) flush(row *cell) {
	if row.count > 0 {
		p.cells = append(p.cells, *row)
		row.count = 0
	}
}

// mark takes an event that is no call.
func (p *painter) mark(r *store.Row) {
	m := kindMark{Mark{TimestampNs: r.TS, Lane: -1, EventType: r.Kind.String(), ID: r.ID, Count: 1}, r.Kind}
	if int(r.Thread) < len(p.lanes) {
		m.Lane = int64(r.Thread)
	}
	p.addMark(&m)
}

func (p *painter) addMark(m *kindMark) {
	if m.Lane >= 0 && p.lanes[m.Lane] == nil {
		return
	}
	key := markKey{m.Lane, m.kind}
	bucket := func(ts int64) int64 { return int64(float64(ts-p.req.From) / p.width) }
	if at, ok := p.last[key]; ok && bucket(p.marks[at].TimestampNs) == bucket(m.TimestampNs) {
		had := &p.marks[at]
		had.TimestampNs, had.ID, had.Count = m.TimestampNs, m.ID, had.Count+m.Count
		return
	}
	if len(p.marks) == maxMarks {
		p.lostMarks += m.Count
		return
	}
	p.last[key] = len(p.marks)
	p.marks = append(p.marks, *m)
}

func (p *painter) picture(sn *store.Snapshot) *Picture {
	pic := &Picture{From: p.req.From, To: p.req.To, Newest: sn.LastTS(), LastID: sn.LastID(), Marks: []Mark{},
		Lanes: []LaneDepth{}, Functions: []PicName{}}
	for _, m := range slices.Backward(p.marks) {
		pic.Marks = append(pic.Marks, m.Mark)
	}
	hidden := p.lostMarks
	for id, lane := range p.lanes {
		if lane == nil {
			continue
		}
		hidden += lane.hidden
		if lane.deepest > 0 {
			pic.Lanes = append(pic.Lanes, LaneDepth{event.ThreadID(id), lane.deepest})
		}
	}
	fns, seen := sn.Functions(), new(store.Bits)
	for i := range p.cells {
		if id := uint32(p.cells[i].fn); !seen.Has(id) && int(id) < len(fns) {
			seen.Set(id)
			pic.Functions = append(pic.Functions, PicName{p.cells[i].fn, fns[id].Name})
		}
	}
	pic.Count, pic.Spans = len(p.cells), pack(p.cells)
	if len(p.cells) >= maxCells {
		pic.Cut = "The oldest calls of this stretch are left out: fewer lanes or a shorter time shows them."
	} else if hidden > 0 {
		pic.Cut = fmt.Sprintf("%d calls below level %d, or marks, are left out.", hidden, p.req.Levels)
	}
	return pic
}
