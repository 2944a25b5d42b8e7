package agentlink

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// busyEvery and idleEvery are how often what agents write is looked at.
	busyEvery = time.Millisecond
	idleEvery = 20 * time.Millisecond
	// recordLate is how much later than its time a record may be there: its writer was put off its CPU in between.
	recordLate = int64(2 * time.Millisecond)
	// roundBytes bounds what one round reads of a stream, so that others have their turn.
	roundBytes = 4 << 20
	maxBroke   = 3
	// While others are busy, a stream in which nothing was at idleLooks looks is looked at in every idleShare-th round:
	// a program has a thousand threads of which three do something.
	idleLooks, idleShare = 64, 8
	// dirSettled is for how long a folder is as it was when its time may tell a change: clocks of files are coarse.
	dirSettled = 50 * time.Millisecond
)

// rounds reads all streams of a link, again and again.
type rounds struct {
	l    *Link
	kick chan struct{}
	stop chan struct{}

	mu    sync.Mutex // held for a round
	feeds map[string]*feed
	seen  map[string]bool         // names of first segments that are read
	known map[string]event.FuncID // functions, by what agents tell of them: one is registered once, whoever has it
	names map[string]bool         // theirs
	n     int                     // rounds
	busy  bool                    // the last one had records
	dirAt time.Time               // when the folder had changed last, when it was read
	gone  int64                   // records that made no sense, of processes that have ended
	broke []error                 // of streams that could not be read on
}

// told is the functions that agents have told of. They were hooked when they were loaded, perhaps behind the last word
// of an agent that is gone.
func (r *rounds) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.names))
}

// complaints say what of the agents' records is not on the timeline.
func (r *rounds) complaints() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused := r.gone
	for _, f := range r.feeds {
		refused += f.refused
	}
	if refused > 0 {
		out = append(out, fmt.Sprintf("%d records of an agent made no sense and are not on the timeline", refused))
	}
	for _, err := range r.broke {
		out = append(out, "what an agent wrote can be read no further: "+err.Error())
	}
	return out
}

func (r *rounds) init(l *Link) {
	r.l, r.kick, r.stop = l, make(chan struct{}, 1), make(chan struct{})
	r.feeds, r.seen, r.known, r.names = map[string]*feed{}, map[string]bool{}, map[string]event.FuncID{}, map[string]bool{}
}

func (r *rounds) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *rounds) loop() {
	timer := time.NewTimer(idleEvery)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-r.kick:
		case <-timer.C:
		}
		r.mu.Lock()
		n, more := r.round(false)
		r.mu.Unlock()
		switch {
		case more:
			timer.Reset(0)
		case n > 0:
			timer.Reset(busyEvery)
		default:
			timer.Reset(idleEvery)
		}
	}
}

// end stops reading, after all that is there was read.
func (r *rounds) end() {
	close(r.stop)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discover()
	for _, f := range r.feeds {
		if f.ended {
			continue
		}
		for more := true; more; {
			more = r.read(f)
		}
		f.close(math.MaxInt64)
	}
}

// flush passes on all that was written before. What is written meanwhile is left to the rounds: a busy program may
// write as fast as it is read.
func (r *rounds) flush(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.l.opts.Sink.Now() + r.l.opts.Sink.StartMono()
	for {
		if _, more := r.round(true); !more || r.reached(asked) {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
}

// reached reports whether all that was written before a moment of the monotonic clock was passed on.
func (r *rounds) reached(moment int64) bool {
	for _, f := range r.feeds {
		if f.ended {
			continue
		}
		if len(f.pending) > 0 && f.pending[0].ts < moment {
			return false
		}
		for _, s := range f.streams {
			if s.idle == 0 && s.last < moment {
				return false
			}
		}
	}
	return true
}

// replaced is finish for what a process was before another image began in it, which is now.
func (r *rounds) replaced(pid int) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	if !r.l.closed {
		at := r.l.opts.Sink.Now() + r.l.opts.Sink.StartMono()
		r.l.wg.Go(func() { r.finishBefore(pid, "", at) })
	}
}

// finish reads all of a process's image, or with an empty nonce of a process, and ends it: nobody writes any more.
func (r *rounds) finish(pid int, nonce string) { r.finishBefore(pid, nonce, math.MaxInt64) }

// finishBefore is finish for images that wrote something before a moment of the monotonic clock.
func (r *rounds) finishBefore(pid int, nonce string, before int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discover()
	for _, f := range r.feeds {
		if f.pid != pid || nonce != "" && f.nonce != nonce || f.ended {
			continue
		}
		for more := true; more; {
			more = r.read(f)
		}
		if f.first() > before {
			continue
		}
		f.flush()
		if nonce != "" && alive(pid) { // it closed its socket, and may still write what was under way
			continue
		}
		f.close(before)
		r.sweep(f)
	}
}

func alive(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", itoa(pid)))
	return err == nil
}

// round reads every stream once. With all what was written right before it is passed on, too; what comes meanwhile is
// not: of a call that goes from thread to thread one stream may have been read too early for it, and another not.
func (r *rounds) round(all bool) (records int64, more bool) {
	now := r.l.opts.Sink.Now()
	r.discover()
	r.n++
	for _, f := range r.feeds {
		if f.ended {
			continue
		}
		before, oldest := f.count(), now
		for n, s := range f.streams {
			if s.idle > idleLooks && r.busy && !all && (r.n+n)%idleShare != 0 {
				oldest = min(oldest, s.seen)
				continue
			}
			s.seen = now
			if r.readStream(f, n, s) {
				more = true // what it has behind that comes before what others have by now
				oldest = min(oldest, s.last-f.startMono+recordLate)
			}
		}
		records += f.count() - before
		if all {
			f.flushUntil(oldest)
			more = more || len(f.pending) > 0
		} else {
			f.flushUntil(oldest - recordLate)
		}
		records += int64(len(f.pending))
	}
	r.busy = records > 0
	return records, more
}

// discover finds streams that are new.
func (r *rounds) discover() {
	info, err := os.Stat(r.l.dir)
	if err != nil || info.ModTime().Equal(r.dirAt) {
		return
	}
	if time.Since(info.ModTime()) > dirSettled {
		r.dirAt = info.ModTime()
	}
	d, err := os.Open(r.l.dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		k, seq, ok := parseSegmentName(name)
		if !ok || seq != 0 || r.seen[name] {
			continue
		}
		r.seen[name] = true
		id := itoa(k.pid) + "-" + k.nonce
		f := r.feeds[id]
		if f == nil {
			f = newFeed(r.l.opts.Sink, r.l.log, k.pid, k.nonce, func() int { return r.l.opts.Depth })
			f.secrets = r.l.opts.Secrets
			f.known, f.names = r.known, r.names
			r.feeds[id] = f
		}
		if f.streams[k.number] == nil {
			f.streams[k.number] = &stream{dir: r.l.dir, key: k}
		}
	}
}

// read reads a process's streams.
func (r *rounds) read(f *feed) (more bool) {
	for n, s := range f.streams {
		if r.readStream(f, n, s) {
			more = true
		}
	}
	return more
}

// readStream reads one. If it is broken that is said once, and it is left alone.
func (r *rounds) readStream(f *feed, n int, s *stream) (more bool) {
	before := s.read
	more = s.next(roundBytes, f.take)
	if s.idle++; s.read != before {
		s.idle = 0
	}
	if s.broke == nil {
		return more
	}
	r.l.log.Warn("cannot read what an agent wrote", "pid", f.pid, "err", s.broke)
	if len(r.broke) < maxBroke {
		r.broke = append(r.broke, s.broke)
	}
	s.remove()
	delete(f.streams, n)
	return more
}

// sweep removes a process's files.
func (r *rounds) sweep(f *feed) {
	for _, s := range f.streams {
		delete(r.seen, s.key.segmentName(0))
		s.remove()
	}
	r.gone += f.refused
	delete(r.feeds, f.String())
	left, err := filepath.Glob(filepath.Join(r.l.dir, f.String()+"-*.ev"))
	if err != nil {
		return
	}
	for _, name := range left {
		_ = os.Remove(name)
	}
}
