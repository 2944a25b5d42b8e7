package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/session"
)

// RunWorker is the process of one launch's session, or of one traced test run: the same service as an undivided daemon, whose one client is
// the daemon. It ends when the daemon says so. Where the daemon dies, it lets its programs run on, decodes what they had recorded, and ends.
func RunWorker(home string) error {
	manyThreads()
	keepHeapFloor()
	nameWorker()
	level := slog.LevelInfo
	if os.Getenv(envDebugLog) == "debug" {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("worker", os.Getpid())
	go boundMemory(log) // as long as we live
	var conns [3]net.Conn
	for i, fd := range []uintptr{workerCalls, workerAsked, workerAsks} {
		f := os.NewFile(fd, "daemon")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("find the daemon, which starts workers, at file %d: %w", fd, err)
		}
		conns[i] = c
	}
	sealFiles()
	w := &worker{log: log, daemon: rpc.NewClient(conns[2]), gone: make(chan struct{}), end: make(chan struct{})}
	link := &session.Link{Reserve: w.reserve, Settled: w.settled, Changed: w.changed}
	svc, err := newService(home, log, nil, link)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.svc = svc
	w.mu.Unlock()
	svc.Sessions().Warm(nil)
	tools, err := mcp.Tools(w.svc, nil)
	if err != nil {
		return err
	}
	asked := rpc.NewServer()
	if err := asked.RegisterName("Worker", (*workerAPI)(w)); err != nil {
		return err
	}
	go func() { // ends with the daemon, or with us
		asked.ServeConn(conns[1])
		close(w.gone)
	}()
	srv := mcp.NewServer(mcp.Config{Tools: tools, Version: Version(), Logger: log, Relayed: true})
	go srv.Serve(context.Background(), conns[0]) //nolint:errcheck // its end is the daemon's
	return w.wait()
}

type worker struct {
	log    *slog.Logger
	svc    *service.Service
	daemon *rpc.Client
	gone   chan struct{} // closed when the daemon has died, or ended
	end    chan struct{} // closed when it wants us to end
	once   sync.Once
	left   atomic.Bool // nothing is here any more

	mu   sync.Mutex // held over a call, so that what is newer is told later
	told []byte
}

// wait is the worker's life.
func (w *worker) wait() error {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-w.end:
	case <-terms:
	case <-w.gone:
		select {
		case <-w.end: // said, and then hung up
		default:
			if w.left.Load() {
				break
			}
			w.log.Warn("the daemon has died: programs are let go")
			return w.svc.Orphaned()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return w.svc.Close(ctx)
}

func (w *worker) reserve(_ context.Context, binary string, limit int) (string, error) {
	var r ReserveReply
	if err := w.daemon.Call("Daemon.Reserve", ReserveArgs{binary, limit}, &r); err != nil {
		return "", fmt.Errorf("ask the daemon for a session's id: %w", err)
	}
	return r.ID, r.Fault.err()
}

func (w *worker) settled(id string) {
	w.daemon.Call("Daemon.Settled", id, &None{}) //nolint:errcheck // it has died: then nobody counts
}

// changed tells the daemon what lives here, where that is other than it was.
func (w *worker) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.svc == nil {
		return
	}
	h := HaveArgs{Busy: w.svc.Busy()}
	for _, l := range w.svc.Sessions().Living() {
		h.Sessions = append(h.Sessions, HaveSession{l.ID, l.Live, l.Kept})
	}
	for _, r := range w.svc.Runs() {
		b, err := json.Marshal(r)
		if err != nil {
			w.log.Warn("describe test run", "run", r.ID, "error", err)
			continue
		}
		h.Runs = append(h.Runs, HaveRun{r.ID, b})
	}
	now, err := json.Marshal(h)
	if err != nil || bytes.Equal(now, w.told) {
		return
	}
	if w.daemon.Call("Daemon.Have", h, &None{}) == nil {
		w.told = now
	}
}

// workerAPI is what the daemon asks.
type workerAPI worker

// Stage takes what the launch that follows begins with.
func (w *workerAPI) Stage(a StageArgs, _ *None) error {
	return w.svc.PutStaged(a.Client, a.Root, a.Staged)
}

// Infos lists the sessions.
func (w *workerAPI) Infos(_ None, r *InfosReply) error {
	b, err := json.Marshal(w.svc.Sessions().Living())
	r.JSON = b
	return err
}

// Room is told whether there is space to record.
func (w *workerAPI) Room(f WireFault, _ *None) error {
	w.svc.Sessions().SetRoom(f.err())
	return nil
}

// Told has the daemon hear of what has changed before this returns.
func (w *workerAPI) Told(None, *None) error {
	(*worker)(w).changed()
	return nil
}

// Warm reads symbols that the launch to come may need.
func (w *workerAPI) Warm(files []string, _ *None) error {
	w.svc.Sessions().Warm(files)
	return nil
}

// Known lists the files whose symbols are there.
func (w *workerAPI) Known(_ None, files *[]string) error {
	*files = w.svc.Sessions().Known()
	return nil
}

// Leave closes what has ended. Where all has, the worker ends.
func (w *workerAPI) Leave(_ None, r *LeaveReply) error {
	if w.svc.Busy() || !w.svc.Sessions().Leave() {
		return nil
	}
	r.OK = true
	w.left.Store(true) // it hangs up when it has read this
	return nil
}

// Close ends the worker: programs are asked to end, data is kept.
func (w *workerAPI) Close(None, *None) error {
	(*worker)(w).finish()
	return nil
}

func (w *worker) finish() { w.once.Do(func() { close(w.end) }) }
