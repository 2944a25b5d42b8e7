package ptrace

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Handler gets every stop and end of a tracer's threads, on the tracer's thread. It must resume the
// thread, now or later.
type Handler func(Stop)

// Tracer is one operating system thread that traces. Its one goroutine ends with Close.
type Tracer struct {
	handle  Handler
	calls   chan *call
	quit    chan struct{}
	done    chan struct{}
	tid     atomic.Int32
	waiting atomic.Bool  // in wait4, or about to be
	pending atomic.Int32 // calls announced and not yet taken
	traces  bool         // tracer thread only: there may be something to wait for
	queue   []Stop
	once    sync.Once
	held    []int // processes that were attached to; tracer thread only
	late    map[int]func(Stop) bool
}

type call struct {
	fn  func() error
	err chan error
}

// NewTracer starts the thread. Close it.
func NewTracer(handle Handler) (*Tracer, error) {
	if err := installWake(); err != nil {
		return nil, err
	}
	t := &Tracer{handle: handle, calls: make(chan *call), quit: make(chan struct{}), done: make(chan struct{})}
	go t.run()
	return t, nil
}

// ErrClosed: the tracer was closed.
var ErrClosed = errors.New("tracer is closed")

// lostAfter is when a wake signal is taken for lost: far longer than the thread takes to come out of its wait, which a
// second signal would only disturb.
const lostAfter = 200 * time.Microsecond

// Do runs fn on the tracer's thread and returns its error. fn must not block for long: stopped threads wait.
// Once fn began, Do waits for it. From the tracer's thread itself it just calls fn.
func (t *Tracer) Do(ctx context.Context, fn func() error) error {
	if t.OnThread() {
		return fn()
	}
	c := &call{fn: fn, err: make(chan error, 1)}
	delay := lostAfter
	timer := time.NewTimer(delay)
	defer timer.Stop()
	t.pending.Add(1) // until it is taken, or given up
	for {
		// The signal is lost when it comes just before the system call: hence again and again.
		if t.waiting.Load() {
			unix.Tgkill(unix.Getpid(), int(t.tid.Load()), wakeSignal)
		}
		select {
		case t.calls <- c:
			return <-c.err
		case <-t.done:
			t.pending.Add(-1)
			return ErrClosed
		case <-ctx.Done():
			t.pending.Add(-1)
			return ctx.Err()
		case <-timer.C:
			delay = min(delay*2, 2*time.Millisecond)
			timer.Reset(delay)
		}
	}
}

// OnThread reports whether the caller is on the tracer's thread, whose goroutine is the only one that ever runs there.
func (t *Tracer) OnThread() bool { return int(t.tid.Load()) == unix.Gettid() }

// Close ends the thread; what it still traces is detached by the kernel and runs on.
func (t *Tracer) Close() {
	t.once.Do(func() {
		close(t.quit)
		for {
			if t.waiting.Load() {
				unix.Tgkill(unix.Getpid(), int(t.tid.Load()), wakeSignal)
			}
			select {
			case <-t.done:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	})
	<-t.done
}

// hasChildren reports whether the calling thread has started processes that nobody has waited for.
func hasChildren() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WNOTHREAD|unix.WALL, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

func (t *Tracer) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	// But the first thread of a Go program never does, so that what it traces would stay traced; and of one that has
	// started other children it would take their ends, which somebody else waits for.
	if unix.Gettid() == unix.Getpid() || hasChildren() {
		go t.run() // on another one, since this is taken
		<-t.done
		runtime.UnlockOSThread()
		return
	}
	defer close(t.done)
	defer func() { // its end lets go all that is left
		for _, pid := range t.held {
			letGo(pid)
		}
	}()
	t.tid.Store(int32(unix.Gettid()))
	defer t.tid.Store(0) // another thread may get that number
	for {
		if !t.serve() {
			return
		}
		var s Stop
		if len(t.queue) > 0 {
			s, t.queue = t.queue[0], t.queue[1:]
		} else {
			t.waiting.Store(true)
			if t.pending.Load() > 0 {
				t.waiting.Store(false)
				continue
			}
			var ws unix.WaitStatus
			tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
			t.waiting.Store(false)
			if err == unix.ECHILD {
				t.traces = false
			}
			if err != nil {
				continue
			}
			s = statusOf(tid, ws)
		}
		t.report(s)
	}
}

func statusOf(tid int, ws unix.WaitStatus) Stop {
	if ws.Stopped() {
		return stopOf(tid, ws)
	}
	return endOf(tid, ws)
}

// serve runs the calls that wait; with nothing traced it waits for one. False: quit.
func (t *Tracer) serve() bool {
	for {
		if !t.traces {
			select {
			case c := <-t.calls:
				t.traces = true // it may have attached to something; wait4 says if not
				t.pending.Add(-1)
				c.err <- c.fn()
			case <-t.quit:
				return false
			}
			continue
		}
		if t.pending.Load() == 0 {
			select {
			case <-t.quit:
				return false
			default:
				return true
			}
		}
		select {
		case c := <-t.calls:
			t.pending.Add(-1) // by us: while its caller has not woken up, stops must not wait
			c.err <- c.fn()
		case <-t.quit:
			return false
		case <-time.After(100 * time.Microsecond): // its caller gave up
			return true
		}
	}
}

// Defer keeps a report that was met while waiting for another; the handler gets it later. Tracer thread only.
func (t *Tracer) Defer(s Stop) { t.queue = append(t.queue, s) }

// Late has fn be given the next report about a thread that did not stop when it should have: false hands it to the
// handler. Tracer thread only.
func (t *Tracer) Late(tid int, fn func(Stop) bool) {
	if t.late == nil {
		t.late = map[int]func(Stop) bool{}
	}
	t.late[tid] = fn
}

// report gives the handler what was reported of a thread.
func (t *Tracer) report(s Stop) {
	if fn := t.late[s.TID]; fn != nil {
		delete(t.late, s.TID)
		if !s.Ended && fn(s) {
			return
		}
	}
	t.handle(s)
}

// HandleWith has h handle what is reported from now on. Tracer thread only.
func (t *Tracer) HandleWith(h Handler) { t.handle = h }

// Settle handles every stop that was reported by now. Tracer thread only, and not from the handler.
func (t *Tracer) Settle() {
	for {
		var s Stop
		if len(t.queue) > 0 {
			s, t.queue = t.queue[0], t.queue[1:]
		} else {
			var ws unix.WaitStatus
			tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || tid <= 0 {
				return
			}
			s = statusOf(tid, ws)
		}
		t.report(s)
	}
}

// Program is what Launch starts.
type Program struct {
	Path  string
	Args  []string
	Env   []string
	Dir   string
	Files [3]uintptr
	TTY   bool // Files are a terminal: make it the controlling one
}

// Launch starts a program, stopped before its first instruction and traced in PTRACE_SEIZE style. Tracer thread only.
//
// The child of a fork cannot be seized before it runs. So it asks to be traced in the old style, is
// let go at exec with a SIGSTOP on its way, and is seized in that stop.
func (t *Tracer) Launch(p Program) (pid int, err error) {
	t.traces = true
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: p.Files[:], Sys: &syscall.SysProcAttr{Ptrace: true}}
	if p.TTY {
		attr.Sys.Setsid, attr.Sys.Setctty = true, true
	} else {
		attr.Sys.Setpgid = true // so that kill(0, …) in the target does not meet us
	}
	if pid, err = syscall.ForkExec(p.Path, p.Args, attr); err != nil {
		return 0, err
	}
	if err = t.seizeAtExec(pid); err != nil {
		unix.Kill(pid, unix.SIGKILL)
		for {
			if _, werr := WaitStop(pid); werr != nil {
				break
			}
		}
		return 0, fmt.Errorf("seize %d at exec: %w", pid, err)
	}
	return pid, nil
}

// launchMost is how long a program that is launched may take to stop: nobody else waits for this tracer yet, and on a
// machine with fifty others for each CPU it may be seconds until it gets one.
const launchMost = 20 * time.Second

func waitLaunched(pid int) (Stop, error) {
	for started := time.Now(); ; {
		s, err := WaitStop(pid)
		if !errors.Is(err, ErrBusy) || time.Since(started) > launchMost {
			return s, err
		}
	}
}

func (t *Tracer) seizeAtExec(pid int) error {
	if _, err := waitLaunched(pid); err != nil {
		return err
	}
	if err := Detach(pid, unix.SIGSTOP); err != nil {
		return err
	}
	if err := Seize(pid); err != nil {
		return err
	}
	for continued := false; ; {
		s, err := waitLaunched(pid)
		if err != nil {
			return err
		}
		if s.Event == 0 && s.Signal == unix.SIGCONT {
			return nil // stopped at the delivery of a signal that we will not deliver
		}
		if s.GroupStop() && !continued {
			continued = true
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				return err
			}
		}
		if err := Cont(pid, 0); err != nil {
			return err
		}
	}
}
