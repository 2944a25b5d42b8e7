package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// RunWorker is the process of one launch's session, or of one traced test run: the same service as an undivided daemon,
// whose one client is the daemon. It ends when the daemon says so. Where the daemon dies, it lets its programs run on,
// decodes what they had recorded, and ends.
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
	var conns [2]net.Conn
	for i, fd := range []uintptr{workerCalls, workerAsks} {
		f := os.NewFile(fd, "daemon")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("find the daemon, which starts workers, at file %d: %w", fd, err)
		}
		conns[i] = c
	}
	sealFiles()
	w := &worker{log: log, end: make(chan struct{}), there: make(chan struct{})}
	w.daemon = newPeer(conns[1], w.asked)
	link := &session.Link{Reserve: w.reserve, Settled: w.settled, Changed: w.changed}
	svc, err := newService(home, log, nil, link)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.svc = svc
	w.mu.Unlock()
	tools, err := mcp.Tools(w.svc, nil)
	if err != nil {
		return err
	}
	close(w.there)
	go func() { // its end is the daemon's, for which wait waits
		if err := mcp.Answer(context.Background(), conns[0], tools, log); err != nil {
			log.Warn("the daemon's calls", "error", err)
		}
	}()
	return w.wait()
}

type worker struct {
	log    *slog.Logger
	svc    *service.Service
	daemon *peer
	end    chan struct{} // closed when the daemon wants us to end
	there  chan struct{} // closed when svc is
	once   sync.Once
	left   atomic.Bool // nothing is here any more

	mu   sync.Mutex // held over a question, so that what is newer is told later
	told []byte
}

// wait is the worker's life.
func (w *worker) wait() error {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-w.end:
	case <-terms:
	case <-w.daemon.gone:
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

func (w *worker) reserve(ctx context.Context, binary string, limit int) (string, error) {
	var r reserveReply
	if err := w.daemon.ask(ctx, askReserve, reserveArgs{binary, limit}, &r); err != nil {
		return "", fmt.Errorf("ask the daemon for a session's id: %w", err)
	}
	return r.ID, r.Fault.err()
}

func (w *worker) settled(id string) { w.tell(id) }

func (w *worker) changed() { w.tell("") }

// tell tells the daemon what lives here, where that is other than it was, and that a session's launch is over, where
// one is.
func (w *worker) tell(settled string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.svc == nil {
		return
	}
	h := haveArgs{Busy: w.svc.Busy(), Runs: w.svc.Runs()}
	for _, l := range w.svc.Sessions().Living() {
		h.Sessions = append(h.Sessions, haveSession{l.ID, l.Live, l.Kept})
	}
	sorting.By(h.Sessions, func(a, b haveSession) int { return strings.Compare(a.ID, b.ID) })
	now, err := json.Marshal(h)
	if err != nil {
		w.log.Warn("describe what lives here", "error", err)
		return
	}
	if settled == "" && bytes.Equal(now, w.told) {
		return
	}
	h.Settled = settled
	if w.daemon.ask(context.Background(), askHave, h, nil) == nil {
		w.told = now
	}
}

// asked is what the daemon asks.
func (w *worker) asked(method string, body json.RawMessage) (any, error) {
	if method == askClose {
		w.finish()
		return nil, nil
	}
	<-w.there
	sessions := w.svc.Sessions()
	switch method {
	case askStage:
		a, err := into[stageArgs](body)
		if err != nil {
			return nil, err
		}
		return nil, w.svc.PutStaged(a.Client, a.Root, a.Staged)
	case askInfos:
		return sessions.Living(), nil
	case askRoom:
		f, err := into[wireFault](body)
		if err == nil {
			sessions.SetRoom(f.err())
		}
		return nil, err
	case askTold:
		w.changed()
		return nil, nil
	case askKnown:
		return sessions.Known(), nil
	case askWarm:
		files, err := into[[]string](body)
		if err == nil {
			sessions.Warm(files)
		}
		return nil, err
	case askSockets:
		a, err := into[socketsArgs](body)
		if err != nil {
			return nil, err
		}
		calls, err := w.svc.Sockets(context.Background(), a.ID, a.Under)
		if err != nil {
			return socketsReply{Fault: onWire(err)}, nil
		}
		raw, err := json.Marshal(calls)
		return socketsReply{Calls: raw}, err
	case askLeave:
		if w.svc.Busy() || !sessions.Leave() {
			return false, nil
		}
		w.left.Store(true)
		return true, nil
	}
	return nil, fmt.Errorf("the daemon asks %q, which this worker does not know", method)
}

func (w *worker) finish() { w.once.Do(func() { close(w.end) }) }
