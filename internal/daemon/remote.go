package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/mcp"
)

// remote is a worker as the daemon sees it. front.mu guards what changes.
type remote struct {
	cmd   *exec.Cmd
	relay *mcp.Relay
	peer  *peer
	gone  chan struct{} // closed when it has ended, and what it left can be asked for

	calls    int // under way
	used     time.Time
	have     haveArgs
	reported bool
	leaving  chan struct{} // not nil: it is to end, and calls wait until it has
	how      string        // it ended
}

func (w *remote) pid() int { return w.cmd.Process.Pid }

func (w *remote) kill() { w.cmd.Process.Kill() } //nolint:errcheck // it has ended

func (w *remote) hasLocked(id string) bool {
	return slices.ContainsFunc(w.have.Sessions, func(s haveSession) bool { return s.ID == id })
}

func (w *remote) liveLocked(id string) bool {
	i := slices.IndexFunc(w.have.Sessions, func(s haveSession) bool { return s.ID == id })
	return i < 0 || w.have.Sessions[i].Live // its launch is under way
}

// askMax bounds a question to a worker that it answers from what it has at hand.
const askMax = 10 * time.Second

// ask asks the worker, which may hang or end meanwhile.
func (w *remote) ask(method string, args, reply any) error {
	ctx, cancel := context.WithTimeout(context.Background(), askMax)
	defer cancel()
	return w.peer.ask(ctx, method, args, reply)
}

// spareDelay is how long the daemon waits before it makes the next launch ready: what that takes, about as much as a
// short session does itself, would slow down what was launched just now, and is in vain where the daemon ends at once.
const spareDelay = 400 * time.Millisecond

// greetMax bounds a worker's start, which takes some 20 ms where it has a CPU.
const greetMax = time.Minute

// start starts a worker and greets it. taken runs before anybody else sees it.
func (f *front) start(taken func(*remote)) (_ *remote, err error) {
	var ours [2]net.Conn
	var theirs [2]*os.File
	defer func() {
		for i := range theirs {
			if theirs[i] != nil {
				theirs[i].Close()
			}
			if err != nil && ours[i] != nil {
				ours[i].Close()
			}
		}
	}()
	for i := range theirs {
		if ours[i], theirs[i], err = socketPair(); err != nil {
			return nil, fmt.Errorf("make sockets for a worker: %w", err)
		}
	}
	w := &remote{gone: make(chan struct{}), used: time.Now()}
	w.cmd = exec.Command(selfExe())
	w.cmd.Args = []string{"strobe", "worker"}
	w.cmd.Dir = "/"
	w.cmd.Env = append(os.Environ(), envHome+"="+f.home)
	w.cmd.Stderr = os.Stderr
	w.cmd.ExtraFiles = theirs[:]
	w.cmd.SysProcAttr = detached()
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	w.peer = newPeer(ours[workerAsks-workerCalls],
		func(method string, body json.RawMessage) (any, error) { return f.asked(w, method, body) })
	greet, cancel := context.WithTimeout(f.ctx, greetMax)
	defer cancel()
	if taken != nil {
		taken(w)
	}
	f.mu.Lock()
	f.workers[w] = true
	room, closed := f.room, f.closed
	f.mu.Unlock()
	if closed {
		cancel() // it ends with the greeting
	}
	relay, err := mcp.NewRelay(greet, ours[0])
	w.relay = relay
	f.wg.Go(func() {
		w.cmd.Wait() //nolint:errcheck // its state says it
		for _, c := range ours {
			c.Close()
		}
		f.lost(w, w.cmd.ProcessState)
		close(w.gone)
	})
	if err == nil && room != nil {
		err = w.ask(askRoom, onWire(room), nil)
	}
	if err != nil {
		w.kill()
		<-w.gone
		return nil, err
	}
	return w, nil
}

// socketPair makes two ends of a connection, one of them for another process.
func socketPair() (net.Conn, *os.File, error) {
	a, b, err := unixPair()
	if err != nil {
		return nil, nil, err
	}
	c, err := net.FileConn(a)
	if err := errors.Join(err, a.Close()); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return c, b, nil
}

// asked is what a worker asks.
func (f *front) asked(w *remote, method string, body json.RawMessage) (any, error) {
	switch method {
	case askReserve:
		a, err := into[reserveArgs](body)
		if err != nil {
			return nil, err
		}
		id, err := f.reserve(w, a)
		return reserveReply{id, onWire(err)}, nil
	case askHave:
		h, err := into[haveArgs](body)
		if err == nil {
			f.told(w, h)
			if h.Settled != "" {
				f.settled(w, h.Settled)
			}
		}
		return nil, err
	}
	return nil, fmt.Errorf("the worker asks %q, which this daemon does not know", method)
}
