package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/switches"
	"golang.org/x/sys/unix"
)

// With the pattern @switches it is recorded when each thread ran, was kept from a CPU, or waited: by the kernel's
// records of context switches, or where it refuses those by what it counts for each thread. Nothing of it is in the
// target.

const (
	switchAge   = time.Second            // that a block of intervals waits for more
	switchIdle  = 100 * time.Millisecond // between looks at buffers that do not fill
	switchLong  = 20 * time.Millisecond  // that a wait lasts until it is looked at what for
	switchLooks = 8                      // in a row
	procEvery   = 20 * time.Millisecond  // between looks at /proc
)

// switchRecorder records context switches. Goroutine: loop, until stop.
type switchRecorder struct {
	t       *target
	call    int // eventfd: somebody wants everything, or the end
	stopped chan struct{}
	refused string // why there are no records of perf

	mu       sync.Mutex  // all below
	perf     *perfSource // nil: /proc is looked at
	timeline *switches.Timeline
	order    switches.Order
	stream   event.StreamID
	ended    bool
	told     uint64 // lost records that the timeline has
	failed   error
	unseen   int // threads that could not be followed
	waits    bool
	listed   time.Time
	names    map[int32]string
	looks    map[int]*look
	looked   time.Time
}

// wantsSwitches reports whether a pattern asks for them. probeMu is held.
func (t *target) wantsSwitches() bool {
	return !t.stopping.Load() && !t.leaving.Load() &&
		slices.ContainsFunc(t.probes, func(p probe) bool { return p.pat.Switches() })
}

// hooksWanted reports whether patterns or points ask for anything in the target itself. probeMu is held.
func (t *target) hooksWanted() bool {
	return len(t.points) > 0 || slices.ContainsFunc(t.probes, func(p probe) bool { return !p.pat.Switches() })
}

// recordSwitches begins or ends the recording, as the patterns want it. probeMu is held.
func (t *target) recordSwitches() {
	have := t.switches.Load()
	switch want := t.wantsSwitches(); {
	case want && have == nil:
		r, err := newSwitchRecorder(t)
		if err != nil {
			t.noSwitches = err.Error()
			return
		}
		t.noSwitches = ""
		t.switches.Store(r)
		go r.loop()
		select {
		case <-t.allGone: // nobody ends it any more
			t.endSwitches()
		default:
		}
	case !want && have != nil:
		t.endSwitches()
	}
}

// endSwitches ends the recording and delivers what there is.
func (t *target) endSwitches() {
	if r := t.switches.Swap(nil); r != nil {
		r.stop()
	}
}

// flushSwitches delivers what was recorded until now.
func (t *target) flushSwitches() {
	if r := t.switches.Load(); r != nil {
		r.mu.Lock()
		r.round(true)
		r.mu.Unlock()
	}
}

// switchStatus is what status says of the pattern: of how many threads switches are recorded, and by what. probeMu is
// held.
func (t *target) switchStatus() (threads int, warning string) {
	r := t.switches.Load()
	if r == nil {
		return 0, t.noSwitches
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	threads = r.timeline.Threads()
	if r.refused != "" {
		warning = fmt.Sprintf("@switches: by looks at /proc every %v, since %s: sums are exact, times are not", procEvery,
			r.refused)
	} else if n := r.perf.bytes(); n < perfPages[0]*unix.Getpagesize() {
		warning = fmt.Sprintf("@switches: buffers of %d KB only, for the limits of locked memory "+
			"(kernel.perf_event_mlock_kb, ulimit -l): more may be lost", n>>10)
	}
	if r.failed != nil {
		warning = fmt.Sprintf("@switches: a part of the kernel's records could not be read: %v", r.failed)
	}
	if r.unseen > 0 {
		warning = strings.TrimPrefix(fmt.Sprintf("%s; %d threads are not followed: %v", warning, r.unseen, errPerfFiles),
			"; ")
	}
	return threads, warning
}

func newSwitchRecorder(t *target) (*switchRecorder, error) {
	sink, ok := t.sink.(collector.StreamSink)
	if !ok {
		return nil, errors.New("@switches: this session has no place for them")
	}
	r := &switchRecorder{t: t, stopped: make(chan struct{}), names: map[int32]string{}, looks: map[int]*look{}}
	var err error
	if r.stream, err = sink.Stream(event.Stream{Channel: switches.Channel, Name: "switches", Media: "json",
		Direction: event.Out}); err != nil {
		return nil, err
	}
	if r.call, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	if r.perf, err = openPerf(nil); err == nil {
		r.timeline = switches.NewTimeline(t.sink.StartMono()-clockShift(), switches.ByPerf)
		err = r.followAll()
	}
	if err != nil {
		if r.perf != nil {
			r.perf.close()
		}
		r.perf, r.refused = nil, refusal(err)
		r.timeline = switches.NewTimeline(t.sink.StartMono(), switches.ByProc)
		if _, ok := usageOf(t.pid, t.pid); !ok {
			unix.Close(r.call)
			return nil, fault.New(fault.Unsupported, "Use a kernel with CONFIG_SCHED_INFO, or allow perf_event_open.",
				"@switches: %s, and /proc has no schedstat", r.refused)
		}
		r.sample(true)
	}
	return r, nil
}

// refusal says why the kernel gives no records.
func refusal(err error) string {
	level, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	text := fmt.Sprintf("the kernel refuses perf's records (%v", err)
	if n, bad := strconv.Atoi(strings.TrimSpace(string(level))); bad == nil && n > 2 {
		text += fmt.Sprintf("; kernel.perf_event_paranoid is %d, 2 is enough", n)
	}
	return text + ")"
}

// clockShift is how much our CLOCK_MONOTONIC is ahead of the kernel's own, which records have: in a time namespace.
func clockShift() int64 {
	b, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "monotonic" || f[0] == "1") {
			s, _ := strconv.ParseInt(f[1], 10, 64)
			ns, _ := strconv.ParseInt(f[2], 10, 64)
			return s*int64(time.Second) + ns
		}
	}
	return 0
}

// now is the time on the records' clock.
func (r *switchRecorder) now() int64 {
	if r.perf == nil {
		return ring.Monotonic()
	}
	return ring.Monotonic() - clockShift()
}

// followPasses bounds how often threads are listed: those that are made meanwhile are followed as their makers are,
// unless these were not yet.
const followPasses = 8

// followAll opens events of all threads that are there. mu is held, or nobody else knows it.
func (r *switchRecorder) followAll() error {
	for range followPasses {
		before := len(r.perf.opened)
		for _, p := range r.t.processes() {
			if p.dead.Load() || p.detached.Load() {
				continue
			}
			for _, tid := range listThreads(p.pid) {
				if r.timeline.Has(int32(tid)) || r.perf.born[int32(tid)] {
					continue
				}
				switch err := r.perf.follow(tid); {
				case errors.Is(err, unix.ESRCH):
					continue
				case errors.Is(err, errPerfFiles), errors.Is(err, unix.EMFILE):
					r.unseen++
					continue
				case err != nil:
					return err
				}
				state := switches.Blocked
				if taskState(p.pid, tid) == 'R' {
					state = switches.Unknown
				}
				r.timeline.Know(int32(p.pid), int32(tid), r.now(), state)
			}
			r.take()
		}
		if len(r.perf.opened) == before {
			break
		}
	}
	return nil
}

// loop reads until the end.
func (r *switchRecorder) loop() {
	defer close(r.stopped)
	for {
		r.mu.Lock()
		if r.ended {
			r.mu.Unlock()
			return
		}
		r.round(false)
		perf, wait := r.perf, switchIdle
		if r.waits {
			wait = switchLong
		}
		r.mu.Unlock()
		if perf != nil {
			perf.poll(r.call, int(wait/time.Millisecond))
		} else {
			unix.Poll([]unix.PollFd{{Fd: int32(r.call), Events: unix.POLLIN}}, int(procEvery/time.Millisecond)) //nolint:errcheck
		}
	}
}

// take reads what is in the buffers. mu is held.
func (r *switchRecorder) take() {
	first, second, err := r.perf.read()
	if err != nil && r.failed == nil {
		r.failed = err
	}
	r.timeline.Add(r.order.Take(first, second))
}

// round takes what there is, and delivers what is complete; all: everything. mu is held.
func (r *switchRecorder) round(all bool) {
	if r.ended {
		return
	}
	if r.perf != nil {
		r.take()
		if all { // what was read last may lack what led to it
			r.take()
			r.timeline.Add(r.perf.missing(r.now(), nil))
		}
	} else {
		r.sample(all)
	}
	r.waits = r.lookAtWaits()
	r.deliver(r.timeline.Blocks(r.now(), switchAge, all))
}

// stop ends the recording.
func (r *switchRecorder) stop() {
	r.mu.Lock()
	r.round(true)
	r.timeline.End(r.now())
	r.deliver(r.timeline.Blocks(r.now(), 0, true))
	r.put(event.NoThread, r.t.sink.Now(), &switches.Block{What: switches.WhatEnd})
	r.ended = true
	r.mu.Unlock()
	unix.Write(r.call, []byte{1, 0, 0, 0, 0, 0, 0, 0}) //nolint:errcheck // the loop also looks by itself
	<-r.stopped
	unix.Close(r.call)
	if r.perf != nil {
		r.perf.close()
	}
}

// deliver makes events of blocks. mu is held.
func (r *switchRecorder) deliver(blocks []switches.Told) {
	for i := range blocks {
		b := &blocks[i]
		name, ok := r.names[b.TID]
		if !ok {
			name = threadName(int(b.PID), int(b.TID))
			r.names[b.TID] = name
		}
		if b.Block.Then == "" {
			delete(r.names, b.TID)
		}
		r.put(r.t.sink.Thread(event.Thread{PID: b.PID, TID: b.TID, Name: name}), b.At, b.Block)
	}
	if r.perf == nil {
		return
	}
	if n := r.perf.lostAll(); n > r.told {
		r.put(event.NoThread, r.t.sink.Now(), &switches.Block{What: switches.WhatLost, Count: n - r.told})
		r.told = n
	}
}

func (r *switchRecorder) put(th event.ThreadID, at int64, b *switches.Block) {
	payload, err := json.Marshal(b)
	if err != nil {
		return
	}
	r.t.sink.Events([]event.Event{{TS: max(at, 0), Kind: event.Channel, Thread: th, Stream: r.stream, Payload: payload}})
}
