package session

import (
	"bytes"
	"math"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/iochan"
)

// laying lays the bytes of one stream at the writes that put them there. The stream is the truth: each byte comes out
// once and in its order, whatever the records say. They tell of how many bytes, who wrote them and when. Writers run at
// the same time, so the order of records is not quite that of the bytes: their first and last bytes say which of them
// comes next. Bytes that no record claims, when all are read that were made by then, were written where nobody looks,
// and keep the time at which they were read.
//
// What it does for a write or for what one read gave costs the same however many of them wait.
//
// It belongs to a sink and is guarded by its mu.
type laying struct {
	kind     event.Kind
	terminal bool // a line end comes out as two bytes: \r\n

	data   []byte // read and not given out, of a terminal with plain line ends
	from   int64  // place in the stream of data's first byte
	marks  []mark
	ends   []int64 // places in data of line ends that were \r\n
	cr     bool    // the last byte read was a \r that may belong to one
	last   int64   // time of what was given out: what comes behind it in the stream is not before it in time
	gone   int64   // bytes that were given out unclaimed while writes waited
	writes pending

	past    []byte // the newest bytes that were given out unclaimed: their record may come yet
	pastTS  int64  // when the last of them was read
	halfTS  int64  // and those before maxPast
	lostTS  int64  // records from until then come for bytes that are not kept any more
	staleTS int64  // when writes were looked at last that wait for too long
	misses  uint   // records in a row that came late and had no bytes there
	blinds  blinds
}

// mark says when the bytes up to a place in the stream were read.
type mark struct{ end, ts int64 }

const (
	// staleWrite is how long a write waits for its bytes: they are in the pipe when it is recorded.
	staleWrite = int64(10 * time.Second)
	// recordAfter is how much later than the reading of its bytes a write may be recorded: its thread stood behind its
	// call.
	recordAfter = int64(2 * time.Second)
	// surePrint is how much of a write's beginning tells where it begins among bytes of others.
	surePrint = 8
	// maxAhead and aheadBytes bound where the next write is looked for that can be told, behind bytes that nobody
	// claims.
	maxAhead   = 8
	aheadBytes = 1 << 20
	// maxPast bounds what is kept for records that come late, and latePlace where in it the next one's bytes may begin.
	maxPast   = 1 << 20
	latePlace = 4 << 10
)

func (l *laying) add(ts int64, data []byte) {
	if !l.terminal {
		l.data = append(l.data, data...)
	} else {
		for _, b := range data {
			if l.cr && b == '\n' {
				l.ends = append(l.ends, l.from+int64(len(l.data)))
			} else if l.cr {
				l.data = append(l.data, '\r')
			}
			if l.cr = b == '\r'; !l.cr {
				l.data = append(l.data, b)
			}
		}
	}
	l.marks = append(l.marks, mark{l.from + int64(len(l.data)), ts})
}

// settleCR makes a \r at the end of what was read a byte of its own.
func (l *laying) settleCR() {
	if l.cr && len(l.marks) > 0 {
		l.cr = false
		l.data = append(l.data, '\r')
		l.marks[len(l.marks)-1].end++
	}
}

func (l *laying) expect(w collector.Write) {
	if l.lostTS > 0 && w.TS <= l.lostTS {
		return
	}
	if newest := max(w.TS, l.writes.newest); newest > l.staleTS+staleWrite/8 {
		l.staleTS = newest
		l.writes.dropUntil(max(newest-staleWrite, l.lostTS))
	}
	if l.writes.n == 0 {
		l.gone = 0
	}
	if len(w.Head) == 0 {
		l.blinds.saw(&w)
	}
	p := pendingWrite{Write: w, left: w.N}
	if l.late(&p); p.left > 0 {
		l.writes.add(p)
	}
}

// late takes from a write what was given out before its record came.
func (l *laying) late(w *pendingWrite) {
	if len(l.past) == 0 || len(w.Head) == 0 {
		return
	}
	if w.TS > l.pastTS { // its thread may have stood behind its call for a while: then nobody waits for these bytes
		if w.TS < l.pastTS+recordAfter && bytes.Contains(l.past, w.Head) {
			l.gone += w.N
		}
		return
	}
	where := l.past
	// seldom further on: many records may be missing
	if most := latePlace + len(w.Head); l.misses&(l.misses-1) != 0 && len(where) > most {
		where = where[:most]
	}
	for at := 0; at < len(where); at++ {
		i := bytes.Index(where[at:], w.Head)
		if i < 0 {
			break
		}
		at += i
		end := int64(at) + w.N
		if end > int64(len(l.past)) { // its end is still to come
			w.left, w.begun = end-int64(len(l.past)), true
			l.past, l.misses = nil, 0
			return
		}
		if bytes.HasSuffix(l.past[at:end], w.Tail) {
			w.left = 0
			l.past, l.misses = l.past[end:], 0
			return
		}
	}
	l.misses++
}

// remember keeps what was given out unclaimed, for records that come late.
func (l *laying) remember(ts int64, data []byte) {
	if l.pastTS < ts-staleWrite {
		l.past = nil
	}
	if l.past = append(l.past, data...); len(l.past) <= maxPast {
		l.halfTS = ts
	} else if len(l.past) > 2*maxPast {
		l.past = bytes.Clone(l.past[len(l.past)-maxPast:])
		l.lostTS, l.halfTS = l.halfTS, ts
	}
	l.pastTS = ts
}

// lacks reports whether writes are known of which bytes have not come.
func (l *laying) lacks() bool { return l.writes.left > int64(len(l.data))+l.gone }

// lay gives out what can be told now. Bytes that were read until then do not wait for records any more.
func (l *laying) lay(until int64, emit func(event.Event)) {
	if until == math.MaxInt64 {
		l.settleCR()
	}
	for len(l.data) > 0 {
		late := l.marks[0].ts <= until
		switch w, n, sure := l.next(); {
		case w != nil && (sure || late):
			w.doubted = w.doubted || !sure && len(w.Head) == 0
			l.give(w, n, emit)
		case !late:
			return
		case !l.writes.heal(l.here):
			l.unclaimed(until, emit)
		}
	}
}

// here reports whether the first bytes are a write's beyond doubt.
func (l *laying) here(w *pendingWrite) bool {
	fits, whole, _ := l.fits(w)
	return fits && whole && w.N >= surePrint && len(w.Head) > 0 && !w.begun
}

// next finds the write that the first bytes are of, and how many of them. Not sure: more may come that shows better.
func (l *laying) next() (found *candidate, n int, sure bool) {
	candidates := l.writes.candidates()
	begins, mixed, follows, blind := -1, -1, -1, -1
	for i := range candidates {
		w := &candidates[i]
		fits, whole, all := l.fits(w.pendingWrite)
		switch {
		// a write's bytes may be gone by
		case !fits || !w.leads() && (w.N < surePrint || w.begun || len(w.Head) == 0 || !whole):
		case len(w.Head) == 0:
			if blind < 0 || l.startsAfter(i) && !l.startsAfter(blind) {
				blind = i
			}
			w.doubted = w.doubted || blind != i
			candidates[blind].doubted = candidates[blind].doubted || blind != i
		case whole:
			return w, int(w.left), true
		case w.begun:
			if follows < 0 {
				follows = i
			}
		case all:
			if mixed < 0 {
				mixed = i
			}
		case begins < 0:
			begins = i
		}
	}
	of := func(i, n int, sure bool) (*candidate, int, bool) { return &candidates[i], n, sure }
	switch {
	case mixed >= 0: // its end is not where it should be: others wrote meanwhile
		return of(mixed, l.cut(mixed), true)
	case begins >= 0:
		return of(begins, len(l.data), false)
	case blind >= 0 && l.startsAfter(blind):
		return of(blind, int(candidates[blind].left), true)
	case follows >= 0:
		return of(follows, l.cut(follows), candidates[follows].left <= int64(len(l.data)))
	case blind >= 0:
		return of(blind, int(min(candidates[blind].left, int64(len(l.data)))), false)
	}
	return nil, 0, false
}

// fits reports whether the first bytes may be a write's, whether its end is there as it should be, and whether it would
// be there.
func (l *laying) fits(w *pendingWrite) (fits, whole, all bool) {
	if !w.begun {
		n := min(len(w.Head), len(l.data))
		if !bytes.Equal(w.Head[:n], l.data[:n]) {
			return false, false, false
		}
	}
	if all = w.left <= int64(len(l.data)); !all {
		return true, false, false
	}
	tail := w.Tail[max(0, len(w.Tail)-int(min(w.left, int64(len(w.Tail))))):]
	return true, len(tail) > 0 && bytes.HasSuffix(l.data[:w.left], tail), true
}

// startsAfter reports whether a write of which nothing but the length is known ends where another one begins, or the
// bytes end.
func (l *laying) startsAfter(i int) bool { return l.chained(i, 0, maxBlind) }

// maxBlind bounds how many such writes may follow each other.
const maxBlind = 8

func (l *laying) chained(i, off, depth int) bool {
	candidates := l.writes.candidates()
	end := off + int(min(candidates[i].left, 1<<40))
	if end >= len(l.data) || depth == 0 {
		return end == len(l.data)
	}
	rest := l.data[end:]
	for k := range candidates {
		switch o := &candidates[k]; {
		case k == i || o.begun:
		case len(o.Head) > 0 && bytes.HasPrefix(rest, o.Head[:min(len(o.Head), len(rest))]):
			return true
		case len(o.Head) == 0 && k > i:
			return l.chained(k, end, depth-1)
		}
	}
	return false
}

// cut returns how many bytes of a write come before the first that begins another thread's.
func (l *laying) cut(at int) int {
	candidates := l.writes.candidates()
	n := int(min(candidates[at].left, int64(len(l.data))))
	for i := range candidates {
		w := &candidates[i]
		if w.begun || len(w.Head) < surePrint || w.Thread == candidates[at].Thread {
			continue
		}
		if off := bytes.Index(l.data[1:n], w.Head); off >= 0 {
			n = off + 1
		}
	}
	return n
}

// give takes n bytes off the stream for a write. What its thread wrote before is gone by.
func (l *laying) give(c *candidate, n int, emit func(event.Event)) {
	w, q, at := c.pendingWrite, c.q, c.at
	w.doubted = w.doubted || len(w.Head) == 0 && w.TS < l.blinds.mixed
	l.last = max(l.last, w.TS)
	l.take(n, func(_ int64, data []byte) {
		e := event.Event{TS: l.last, Kind: l.kind, Thread: w.Thread, Payload: data}
		if w.doubted {
			e.Thread, e.Flags = event.NoThread, event.AtRead
		}
		emit(e)
	})
	w.left, w.begun = w.left-int64(n), true
	l.writes.left -= int64(n)
	if w.left <= 0 {
		at++
	}
	l.writes.drop(q, at)
}

// unclaimed gives out what nobody is known to have written: what was read until then, up to where a write begins that
// is known.
func (l *laying) unclaimed(until int64, emit func(event.Event)) {
	n := 0
	for i := 0; i < len(l.marks) && l.marks[i].ts <= until && n < aheadBytes; i++ {
		n = int(l.marks[i].end - l.from)
	}
	n, before := l.ahead(n)
	for n > 0 {
		m := min(n, int(l.marks[0].end-l.from))
		n -= m
		if l.writes.n > 0 {
			l.gone += int64(m)
		}
		l.take(m, func(ts int64, data []byte) {
			l.remember(ts, data)
			l.last = max(l.last, min(ts, before))
			emit(event.Event{TS: l.last, Kind: l.kind, Flags: event.AtRead, Thread: event.NoThread, Payload: data})
		})
	}
}

// ahead finds where the next write begins that can be told from its surroundings, within the first n bytes, and when
// that was.
func (l *laying) ahead(n int) (at int, ts int64) {
	at, ts = n, math.MaxInt64
	tried := 0
	for _, w := range l.writes.candidates() {
		if w.begun || len(w.Head) < surePrint {
			continue
		}
		if tried++; tried > maxAhead {
			break
		}
		for from := 1; from < at; from++ {
			off := bytes.Index(l.data[from:min(len(l.data), at+len(w.Head))], w.Head)
			if off < 0 || from+off >= at {
				break
			}
			from += off
			end := int64(from) + w.N
			if end > int64(len(l.data)) || bytes.HasSuffix(l.data[from:end], w.Tail) {
				at, ts = from, min(ts, w.TS)
				break
			}
		}
	}
	return at, ts
}

// take removes the first n bytes and passes them on as they were read, in pieces of about iochan.MaxChunk.
func (l *laying) take(n int, pass func(ts int64, data []byte)) {
	for n > 0 {
		m := min(n, iochan.MaxChunk)
		if m < n { // where it can be, at the end of a line
			if at := bytes.LastIndexByte(l.data[:m], '\n'); at >= 0 {
				m = at + 1
			}
		}
		ts := l.marks[0].ts
		piece := bytes.Clone(l.data[:m])
		n -= m
		l.data = l.data[m:]
		l.from += int64(m)
		if len(l.ends) > 0 {
			piece = l.withReturns(piece)
		}
		for len(l.marks) > 0 && l.marks[0].end <= l.from {
			l.marks = l.marks[1:]
		}
		pass(ts, piece)
	}
	if len(l.data) == 0 {
		l.data = nil
	}
}

// withReturns puts back what a terminal had made of line ends.
func (l *laying) withReturns(piece []byte) []byte {
	begin := l.from - int64(len(piece))
	out := make([]byte, 0, len(piece)+len(piece)/16)
	for i, b := range piece {
		if len(l.ends) > 0 && l.ends[0] == begin+int64(i) {
			out = append(out, '\r')
			l.ends = l.ends[1:]
		}
		out = append(out, b)
	}
	return out
}

// How close two pieces of output of one thread are that become one event, where nothing lies between: the rest of an
// open line, and whole lines.
const (
	joinOpen  = int64(5 * time.Millisecond)
	joinLines = int64(200 * time.Microsecond)
)

// joinOutput makes pieces of output that follow each other one event.
func joinOutput(batch []event.Event) []event.Event {
	out := batch[:0]
	for _, e := range batch {
		if n := len(out); n > 0 && follows(&out[n-1], &e) {
			last := &out[n-1]
			last.Payload = append(last.Payload, e.Payload...)
			last.Ret = e.TS // of its newest piece; put takes it out
			continue
		}
		if e.Kind.IsOutput() {
			e.Ret, e.Payload = e.TS, e.Payload[:len(e.Payload):len(e.Payload)] // what lies behind it may be a ring's
		}
		out = append(out, e)
	}
	for i := range out {
		if out[i].Kind.IsOutput() {
			out[i].Ret = 0
		}
	}
	return out
}

func follows(a, b *event.Event) bool {
	if a.Kind != b.Kind || !a.Kind.IsOutput() || a.Thread != b.Thread || a.Flags != b.Flags ||
		len(a.Payload)+len(b.Payload) > iochan.MaxChunk || len(a.Payload) == 0 {
		return false
	}
	if a.Flags&event.AtRead != 0 { // the reader has cut it where it had to
		return false
	}
	most := joinOpen
	if a.Payload[len(a.Payload)-1] == '\n' {
		most = joinLines
	}
	return b.TS-a.Ret <= most
}
