package native

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/spool"
	"golang.org/x/sys/unix"
)

// Rings are small and fill within milliseconds. What moves their bytes to the spool does nothing else, so that a burst
// waits for nobody: not for the decoder, and not for the store behind it.

// mover moves records from the rings of all processes to the spool.
type mover struct {
	t     *target
	spool *spool.Spool
	told  bool  // mu: that it is full
	most  int64 // bytes of it

	mu     sync.Mutex    // held for each sweep, and by the drain goroutine while it looks at what there is; then regionMu
	stuck  bool          // mu: the spool had no room for something
	over   time.Time     // mu: since when more waits than may, or something of that was last moved; zero where it does not
	busy   chan struct{} // of one: a burst has begun
	bound  atomic.Int64  // of what may wait in the spool, in bytes
	pace   pace          // of the decoder; the drain goroutine's
	near   atomic.Bool   // the program is looked at closely: what it does now matters, not what it did
	waits  roomWaits     // mu: of threads whose rings were given back
	swept  time.Time     // mu: the last sweep
	widest int           // mu: bytes that it moved of one ring, at most
	burst  atomic.Int64  // when a sweep last met a burst; since the daemon's start
	scarce atomic.Int64  // and when CPUs were last seen to be scarce
}

// feed is where the records of one ring go.
type feed struct {
	mv   *ring.Mover
	st   *spool.Stream
	from uint64 // where the stream begins
}

// How often rings are looked at in a burst, by how fast they fill, and for how long without one.
const (
	moveEvery = 300 * time.Microsecond
	moveMost  = time.Millisecond // a ring takes 1.5 ms to fill, at the fastest
	// movePart is the part of a ring that is moved then; where it was moveAtOnce, they are looked at again at once.
	movePart   = 8
	moveAtOnce = 4
	moveQuiet  = 50 * time.Millisecond
	slice      = 100 * time.Microsecond
	timerSlack = 5 * time.Microsecond
	// burstBytes in one sweep and burstRate, in bytes a second, are a burst.
	burstBytes = 4 << 10
	burstRate  = 8 << 20
	heldBytes  = 64 << 10 // so much in the spool means that a pass of the decoder is under way
)

func newMover(t *target) *mover {
	most := max(min(spoolMost, spareMemory()/spoolPart), spoolLeast)
	m := &mover{t: t, most: most, busy: make(chan struct{}, 1),
		spool: spool.New(spool.Options{BlockBytes: t.rt.ringBytes, MostBytes: most, Room: spareMemory})}
	m.bound.Store(min(boundNear, most)) // until the pace is known
	if m.drops() {
		m.bound.Store(boundLeast)
	}
	return m
}

const warmBytes = 6 << 20

// warm has the pages of one ring and of some of the spool ready before a program that runs comes to its first burst.
func (m *mover) warm(p *process) {
	p.withRegion(func(r *ring.Region) {
		unix.Madvise(r.Data(0), unix.MADV_POPULATE_WRITE) //nolint:errcheck // before Linux 5.14 there is none
	})
	m.spool.Warm(warmBytes)
}

// loop moves records while there are many. The drain goroutine, which looks at the rings ten or a hundred times less
// often, wakes it. In a burst it must come back in time: the scheduler of goroutines looks at a timer when it gets to
// it, and a thread that wants a CPU waits for others' slices. So it has a thread of its own, which sleeps in the kernel
// and asks for a short slice.
func (m *mover) loop() {
	runtime.LockOSThread() // for good: the thread ends with it
	shortSlice()
	for {
		select {
		case <-m.t.allGone:
			return
		case <-m.busy:
		}
		every := moveEvery
		for quiet := time.Now(); time.Since(quiet) < moveQuiet; nap(every) {
			var n int
			if n, every = m.sweep(); n > 0 || m.spool.Held() > heldBytes { // meanwhile nobody else looks
				quiet = time.Now()
			}
		}
	}
}

// shortSlice asks for a thread that it runs soon after it wants to, and not for long. Kernels before 6.12 do not know
// of it.
func shortSlice() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) //nolint:errcheck // then it sleeps longer
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != 0 /* SCHED_OTHER */ {
		return
	}
	attr.Runtime = uint64(slice)
	unix.SchedSetAttr(0, attr, 0) //nolint:errcheck // then it waits longer
}

// nap is time.Sleep of the thread.
func nap(d time.Duration) {
	if d == 0 {
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil) //nolint:errcheck // a signal ends it early
}

// sweep moves what was published when it began, and returns the number of bytes, and when the next should be.
func (m *mover) sweep() (n int, next time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := min(time.Since(m.swept), moveQuiet)
	n = m.sweepLocked()
	next = moveMost
	switch {
	case m.widest > m.t.ringBytes/moveAtOnce:
		next = 0
	case m.widest > 0:
		next = min(max(since*time.Duration(m.t.ringBytes/movePart)/time.Duration(m.widest), moveEvery), moveMost)
	}
	return n, next
}

// sweepLocked is sweep with mu held. All rings are looked at before any is moved: their records are merged by time.
func (m *mover) sweepLocked() (total int) {
	m.stuck, m.widest = false, 0
	now := time.Now()
	limit, since := m.limit(now), now.Sub(m.swept)
	m.swept = now
	procs := m.t.processes()
	for _, p := range procs {
		p.withRegion(func(r *ring.Region) {
			r.Beat(m.t.rt.clock.Now()) // the decoder may take long
			m.look(p, r)
		})
	}
	for _, p := range procs {
		p.withRegion(func(*ring.Region) {
			for _, f := range p.feeds {
				if m.spool.Held() > limit && !f.st.Empty() { // of each ring there is something: they are merged by time
					m.stuck = m.stuck || len(f.mv.Bytes()) > 0
					continue
				}
				n := m.moved(f.move())
				total, m.widest = total+n, max(m.widest, n)
			}
		})
	}
	if total > burstBytes && float64(total) > burstRate*since.Seconds() {
		m.burst.Store(int64(now.Sub(epoch)))
	}
	return total
}

// overMost is how long nothing is moved where more waits than may. Where the decoder is kept for longer than a
// thread waits for room (waitMost), as on a busy machine, what that thread has is moved all the same.
const overMost = time.Second

// limit is how much may wait while a sweep moves what there is. mu is held.
func (m *mover) limit(now time.Time) int64 {
	bound := m.bound.Load()
	switch {
	case m.spool.Held() <= bound:
		m.over = time.Time{}
	case m.over.IsZero():
		m.over = now
	case now.Sub(m.over) >= overMost && !m.drops():
		m.over = now
		return m.most
	}
	return bound
}

// moved takes note of what came of a move. mu is held.
func (m *mover) moved(n int, all bool) int {
	if !all {
		m.stuck = true
		m.full()
	}
	return n
}

// roomWaits is how often threads have waited for room, and how long by their clock.
type roomWaits struct{ times, ticks uint64 }

func (w *roomWaits) add(mv *ring.Mover) {
	times, ticks := mv.Waited()
	w.times, w.ticks = w.times+times, w.ticks+ticks
}

// waited says how much the program was slowed by waits for room, "" where it was not.
func (m *mover) waited() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.waits
	for _, p := range m.t.processes() {
		p.withRegion(func(*ring.Region) {
			for _, f := range p.feeds {
				all.add(f.mv)
			}
		})
	}
	took := m.t.rt.clock.Duration(all.ticks)
	if took < tellWaits {
		return ""
	}
	return fmt.Sprintf("the program's threads waited %v in all for room for their records, in %d waits: onFullBuffer "+
		"drop loses calls instead; fewer functions or less serializationDepth cost less", took.Round(time.Millisecond),
		all.times)
}

// tellWaits is how long a program has to wait for that to be told.
const tellWaits = 10 * time.Millisecond

// A burst is recorded as fast as the program makes it, and decoded behind it: what is decoded in so many seconds may
// wait. A program that goes on like that is slowed by and by, until what waits is decoded in a short time: then a
// question sees what just happened. So is one in which points are set. Who would rather lose calls than wait waits less
// for answers, too.
const (
	burstFor   = 5 * time.Second
	burstIn    = 10 * time.Second // is decoded what a burst may leave
	decodedIn  = time.Second
	droppedIn  = 250 * time.Millisecond
	boundLeast = 16 << 20  // of who does not wait
	boundNear  = 256 << 20 // the least of who waits: a decoder that wants a CPU is slow, and not too much is there
	slowed     = 4         // a program that is slowed records one byte for so many that are decoded
	paceWeight = 8         // of the pace that was, against one pass
)

// pace is how fast records are decoded.
type pace struct {
	rate float64   // bytes a second; 0: not known
	calm time.Time // when next to nothing waited last
}

// drops reports whether the program does not wait for room.
func (m *mover) drops() bool { return m.t.cmd.OnFull == collector.OnFullDrop || m.t.cmd.OnFull == "" }

// paced takes note of how fast records are decoded, in bytes, and says how much may wait from now on.
func (m *mover) paced(bytes int64, took time.Duration, now time.Time) {
	if took >= time.Millisecond {
		rate := float64(bytes) / took.Seconds()
		if m.pace.rate == 0 {
			m.pace.rate = rate
		}
		m.pace.rate = (m.pace.rate*paceWeight + rate) / (paceWeight + 1)
	}
	m.bound.Store(m.allowed(bytes, now))
}

// allowed is how much may wait when so many bytes were decoded.
func (m *mover) allowed(decoded int64, now time.Time) int64 {
	within, least := decodedIn, int64(boundNear)
	if m.drops() {
		within, least = droppedIn, boundLeast
	}
	in := func(d time.Duration) int64 { return min(max(int64(m.pace.rate*d.Seconds()), least), m.most) }
	lasting := in(within)
	held := m.spool.Held()
	if held < lasting/2 {
		m.pace.calm = now
	}
	switch {
	case m.drops():
		return lasting
	case !m.near.Load() && now.Sub(m.pace.calm) < burstFor:
		return in(burstIn)
	}
	return max(lasting, held+decoded/slowed)
}

// tellBehind is how much has to wait for that to be told.
const tellBehind = 64 << 20

// waiting says how much is still to be decoded, "" where it is not much.
func (m *mover) waiting() string {
	held := m.spool.Held()
	if held < tellBehind {
		return ""
	}
	what := "calls are made faster than they are decoded"
	if len(m.t.PIDs()) == 0 {
		what = "the program has ended"
	}
	return fmt.Sprintf("%s: %d MB of records are still to come, the newest ones; ask again in some seconds", what,
		held>>20)
}

// behind says why not all that was recorded can be read yet.
func (m *mover) behind(err error) error {
	if n := m.spool.Held() >> 20; n > 0 {
		return fmt.Errorf("some %d MB of records are still to be decoded, ask again in a moment: %w", n, err)
	}
	return err
}

// full tells once that records no longer fit the spool. mu is held.
func (m *mover) full() {
	if m.told {
		return
	}
	m.told = true
	why := fmt.Sprintf("its bound of %d MB is reached", m.most>>20)
	if err := m.spool.Err(); err != nil {
		why = err.Error()
	}
	m.t.warn(fmt.Sprintf("calls are made faster than they are decoded, and no more records can wait for that (%s): the "+
		"program waits for room, or loses calls (onFullBuffer). Trace fewer functions, or with less serializationDepth", why))
}

// close frees the spool, when nothing is left in it.
func (m *mover) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spool.Close()
}

// Where CPUs are scarce the decoder stands back while a burst is on, until so much waits for it. What a program does in
// a moment is recorded in that moment, and decoded when it has its CPU back.
const (
	burstGap   = 5 * time.Millisecond
	scarceFor  = 20 * time.Millisecond
	standsBack = 0.75 // of the bound
)

var epoch = time.Now()

// Bursting implements collector.Burster.
func (t *target) Bursting() bool { return t.mover.bursting() }

// bursting reports whether records come so fast that who decodes them would be in the program's way.
func (m *mover) bursting() bool {
	return m.flows() &&
		float64(m.spool.Held()) < standsBack*float64(m.bound.Load()) && m.scarceLately()
}

// flows reports whether a burst is on.
func (m *mover) flows() bool { return time.Since(epoch)-time.Duration(m.burst.Load()) < burstGap }

// scarceLately reports whether CPUs were scarce a moment ago. Who asks takes a CPU for it, and threads that wait for
// each other are not both seen at every look.
func (m *mover) scarceLately() bool {
	now := time.Since(epoch)
	if now-time.Duration(m.scarce.Load()) < scarceFor {
		return true
	}
	if !scarce() {
		return false
	}
	m.scarce.Store(int64(now))
	return true
}

// scarce reports whether as many threads want a CPU as there are, or more.
func scarce() bool {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var load [3]float64
	var running int
	n, _ := fmt.Sscanf(string(b), "%f %f %f %d/", &load[0], &load[1], &load[2], &running)
	return n == 4 && running >= runtime.NumCPU()
}

// wake begins to look at the rings often.
func (m *mover) wake() {
	select {
	case m.busy <- struct{}{}:
	default:
	}
}

// look finds the rings of a process and sees what they hold.
func (m *mover) look(p *process, r *ring.Region) {
	for i := range r.Rings() {
		if atomic.LoadUint32(r.State(i)) == ring.RingFree {
			if i >= p.fed { // they are given out in order
				break
			}
			continue
		}
		f := p.feeds[i]
		if f == nil {
			tid := int(atomic.LoadUint32(&r.Header(i).TID))
			if tid == 0 {
				continue // its thread is just taking it
			}
			p.threadName(tid, tid) // it may have ended when its first record is read
			f = &feed{mv: r.Mover(i)}
			f.from = f.mv.Pos()
			f.st = m.spool.Stream(f.from)
			if p.feeds == nil {
				p.feeds = map[int]*feed{}
			}
			p.feeds[i] = f
			p.fed = max(p.fed, i+1)
		}
		f.mv.Look()
	}
}

// move takes what the last look saw. Not all: the spool has no room.
func (f *feed) move() (moved int, all bool) {
	for f.mv.Err() == nil {
		b := f.mv.Bytes()
		if len(b) == 0 {
			break
		}
		n := f.st.Append(b)
		if n == 0 {
			return moved, false
		}
		moved += n
		if f.mv.Take(n) {
			futexWake(f.mv.TailWord())
		}
	}
	return moved, true
}

// mend goes on behind what the program has overwritten.
func (f *feed) mend() {
	if f.mv.Mend() {
		futexWake(f.mv.TailWord())
	}
	f.st.Restart(f.mv.Pos())
}

// Bounds of the spool.
const (
	spoolMost  = 4 << 30
	spoolLeast = 32 << 20
	spoolPart  = 4 // of the memory that the machine has to spare it takes no more than one in so many
)
