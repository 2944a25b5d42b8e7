package session

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/report"
	"github.com/strobe-debug/strobe/internal/store"
)

const (
	// reportWait is how long a report of something that does not by itself end the process waits for that end, so that
	// both are one event.
	reportWait = 300 * time.Millisecond
	// reportMax bounds the wait for what a dying process has written.
	reportMax = time.Second
	// maxReports bounds the reports that wait, and maxReportEvents those that become events: a check that goes on may
	// report without end.
	maxReports      = 64
	maxReportEvents = 1000
)

// crashes brings together what the collector says of a dying process and what its runtime wrote to standard error about
// it.
type crashes struct {
	log  *slog.Logger
	emit func(e event.Event)             // puts one event on the timeline, behind the output before it
	last func(e event.Event)             // the same, of a process that has stood still since the event's time
	read func(ctx context.Context) error // delivers what the target has written
	now  func() int64

	known func(pid int) bool           // a process of the session's
	main  func(pid int) event.ThreadID // a process's first thread
	root  atomic.Int64                 // the process launched; 0: not known yet

	mu      sync.Mutex
	parser  report.Parser
	out     report.Parser // of standard output, where a JVM writes
	pending []pendingReport
	fatal   map[int]bool // processes of which a fatal crash is on the timeline
	dying   map[int]bool // processes whose picture is taken, or that are about to end after that
	events  int          // made of reports alone
	timer   *time.Timer
	closed  bool
}

type pendingReport struct {
	report.Report
	ts int64
}

// write takes bytes of standard error as they come.
func (c *crashes) write(b []byte, ts int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addLocked(c.parser.Write(b), ts)
}

// writeOut takes bytes of standard output as they come.
func (c *crashes) writeOut(b []byte, ts int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Only = report.JVM
	c.addLocked(c.out.Write(b), ts)
}

func (c *crashes) addLocked(rs []report.Report, ts int64) {
	for _, r := range rs {
		if r.Tool == report.Python { // an exception that ends a script, or one that it only logs: not known
			continue
		}
		if len(c.pending) == maxReports {
			c.pending = c.pending[1:]
		}
		c.pending = append(c.pending, pendingReport{r, ts})
	}
	if len(c.pending) > 0 && c.timer == nil && !c.closed {
		c.timer = time.AfterFunc(reportWait, c.expire)
	}
}

// goesOn reports a tool that may write its report and let the program run on: what it found is worth an event all the
// same.
func goesOn(r *report.Report) bool {
	switch r.Tool {
	case report.ASan, report.HWASan, report.UBSan, report.TSan, report.LSan, report.MSan, report.Valgrind:
		return true
	}
	return false
}

// expire makes events of what was reported and did not end its process.
func (c *crashes) expire() {
	c.mu.Lock()
	limit := c.now() - int64(reportWait)
	var out []pendingReport
	kept := c.pending[:0]
	for _, r := range c.pending {
		if r.ts <= limit && goesOn(&r.Report) && !r.Fatal && !c.awaitedLocked(r.PID) {
			out = append(out, r)
		} else {
			kept = append(kept, r)
		}
	}
	c.pending, c.timer = kept, nil
	if len(kept) > 0 && !c.closed {
		c.timer = time.AfterFunc(reportWait, c.expire)
	}
	c.mu.Unlock()
	for i := range out {
		c.put(&out[i], nil)
	}
}

// settle reads what a dying process wrote last.
func (c *crashes) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), reportMax)
	defer cancel()
	if err := c.read(ctx); err != nil {
		c.log.Warn("read what a dying process wrote", "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addLocked(append(c.parser.Close(), c.out.Close()...), c.now())
}

// take removes the newest report that fits a process's end, and those before it that its runtime wrote on the same
// occasion.
func (c *crashes) take(pid int, fits func(*report.Report) bool) *pendingReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.pending) - 1; i >= 0; i-- {
		r := c.pending[i]
		if r.PID != pid && c.known(r.PID) || !fits(&r.Report) { // what is not known is a number of another namespace
			continue
		}
		c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
		return &r
	}
	return nil
}

// died is collector.Sink's Crash.
func (c *crashes) died(k collector.Crash) {
	if k.Language != "" { // an interpreter's: it tells before its process ends, and its report is no other's
		c.toldBy(k)
		return
	}
	c.settle()
	handlerEnded := k.EndedBy != ""
	aborts := k.Signal == "SIGABRT" || handlerEnded || k.Signal == "" && k.Panicking
	exits := k.Signal == "" && !handlerEnded && !k.Panicking
	r := c.take(k.PID, func(r *report.Report) bool {
		if exits { // others find their errors elsewhere than where they end the program
			return r.Tool == report.ASan || r.Tool == report.HWASan || r.Tool == report.UBSan || r.Tool == report.MSan
		}
		switch r.Tool {
		case report.RustPanic: // one that was caught has nothing to do with a later end; that memory is out is no panic
			return aborts && (k.Panicking || r.Kind == "out-of-memory")
		case report.UBSan, report.TSan, report.LSan, report.Valgrind:
			return aborts || r.Fatal
		}
		return aborts
	})
	if exits && r == nil {
		return // with a report that comes later, if at all
	}
	c.mu.Lock()
	if c.fatal == nil {
		c.fatal = map[int]bool{}
	}
	c.fatal[k.PID] = true
	c.mu.Unlock()
	if r != nil && r.Tool == report.JVM {
		readJVMLog(k.PID, &r.Report)
	}
	c.last(event.Event{TS: k.TS, Kind: event.Crash, Thread: k.Thread,
		Payload: c.payload(withReport(&k.Crash, r, c.causes(r)))})
}

// toldBy puts a crash that an interpreter's agent tells of. The process runs on to its end.
func (c *crashes) toldBy(k collector.Crash) {
	c.mu.Lock()
	if c.fatal == nil {
		c.fatal = map[int]bool{}
	}
	c.fatal[k.PID] = c.fatal[k.PID] || k.Fatal
	c.mu.Unlock()
	c.emit(event.Event{TS: k.TS, Kind: event.Crash, Thread: k.Thread, Payload: c.payload(&k.Crash)})
}

// ended is collector.Sink's Ended: a process that a checker or a runtime ended by exiting has crashed as well.
func (c *crashes) ended(pid int, how collector.ExitInfo) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.dying, pid)
	}()
	if root := c.root.Load(); how.Signal == "" && how.Code == 0 && root != 0 && root != int64(pid) && !c.anything() {
		return
	}
	c.settle()
	c.mu.Lock()
	done := c.fatal[pid]
	c.mu.Unlock()
	for !done {
		r := c.take(pid, func(r *report.Report) bool {
			switch {
			case how.Signal != "":
				return r.Fatal
			case how.Code == 0:
				return goesOn(r)
			case r.Tool == report.RustPanic:
				return how.Code == 101
			}
			return r.Fatal || goesOn(r)
		})
		if r == nil {
			break
		}
		r.Fatal = how.Code != 0 || how.Signal != ""
		if c.put(r, &how); r.Fatal && r.Tool != report.LSan {
			c.mu.Lock()
			if c.fatal == nil {
				c.fatal = map[int]bool{}
			}
			c.fatal[pid] = true
			c.mu.Unlock()
		}
	}
}

func (c *crashes) anything() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0 || c.parser.Open()
}

// hasDied reports whether a fatal crash of a process is on the timeline.
func (c *crashes) hasDied(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatal[pid]
}

// close ends the waiting: what was reported and not yet told is told.
func (c *crashes) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.addLocked(c.parser.Close(), c.now())
	out := c.pending
	c.pending = nil
	c.mu.Unlock()
	for i := range out {
		if goesOn(&out[i].Report) {
			c.put(&out[i], nil)
		}
	}
}

// put makes an event of a report alone.
func (c *crashes) put(r *pendingReport, how *collector.ExitInfo) {
	c.mu.Lock()
	c.events++
	n := c.events
	c.mu.Unlock()
	if n > maxReportEvents {
		if n == maxReportEvents+1 {
			c.log.Warn("more reports than events", "limit", maxReportEvents)
		}
		return
	}
	if p := panicOf(r, how); p != nil {
		c.emit(event.Event{TS: r.ts, Kind: event.Crash, Thread: p.Thread, Payload: c.payload(panicked(p, r, how))})
		return
	}
	id := event.NoThread
	if c.known(r.PID) {
		id = c.main(r.PID)
	}
	c.emit(event.Event{TS: r.ts, Kind: event.Crash, Thread: id, Payload: c.payload(alone(&r.Report, how))})
}

// newestCrash returns what the last crash event tells, of a fatal one before others.
func newestCrash(ctx context.Context, db *store.Store) (*crash.Crash, error) {
	sn, err := db.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	const looked = 100 // for a fatal one
	var newest []byte
	n := 0
	f := store.Filter{Kinds: 1 << event.Crash}
	err = sn.Scan(ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(r *store.Row) bool {
		n++
		fatal := crash.Fatal(r.Payload)
		if newest == nil || fatal {
			newest = bytes.Clone(r.Payload)
		}
		return !fatal && n < looked
	})
	if err != nil || newest == nil {
		return nil, err
	}
	k, err := crash.Parse(newest)
	if err != nil { // not ours: the events themselves show it as it is
		return nil, nil
	}
	return k, nil
}
