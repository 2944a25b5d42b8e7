package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
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
	asked *rpc.Client
	gone  chan struct{} // closed when it has ended, and what it left can be asked for

	calls    int // under way
	used     time.Time
	have     HaveArgs
	reported bool
	leaving  chan struct{} // not nil: it is to end, and calls wait until it has
	how      string        // it ended
}

func (w *remote) pid() int { return w.cmd.Process.Pid }

func (w *remote) kill() { w.cmd.Process.Kill() } //nolint:errcheck // it has ended

func (w *remote) hasLocked(id string) bool {
	return slices.ContainsFunc(w.have.Sessions, func(s HaveSession) bool { return s.ID == id })
}

func (w *remote) liveLocked(id string) bool {
	i := slices.IndexFunc(w.have.Sessions, func(s HaveSession) bool { return s.ID == id })
	return i < 0 || w.have.Sessions[i].Live // its launch is under way
}

// lastUsed is when its last call ended. Only tend reads it, of workers without calls.
func (w *remote) lastUsed() time.Time { return w.used }

// greetMax bounds a worker's start.
const greetMax = 20 * time.Second

// start starts a worker and greets it. taken runs before anybody else sees it.
func (f *front) start(taken func(*remote)) (_ *remote, err error) {
	var ours [3]net.Conn
	var theirs [3]*os.File
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
	asks := rpc.NewServer()
	if err := asks.RegisterName("Daemon", &daemonAPI{f, w}); err != nil {
		return nil, errors.Join(err, w.cmd.Process.Kill())
	}
	w.asked = rpc.NewClient(ours[workerAsked-workerCalls])
	f.wg.Go(func() { asks.ServeConn(ours[workerAsks-workerCalls]) }) // ends with the worker
	greet, cancel := context.WithTimeout(f.ctx, greetMax)
	defer cancel()
	if taken != nil {
		taken(w)
	}
	f.mu.Lock()
	f.workers[w] = true
	room := f.room
	f.mu.Unlock()
	relay, err := mcp.NewRelay(greet, ours[0], Version())
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
		err = w.asked.Call("Worker.Room", onWire(room), &None{})
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

// daemonAPI is what a worker asks.
type daemonAPI struct {
	f *front
	w *remote
}

// Reserve gives an id to a launch.
func (d *daemonAPI) Reserve(a ReserveArgs, r *ReserveReply) error {
	id, err := d.f.reserve(d.w, a)
	r.ID, r.Fault = id, onWire(err)
	return nil
}

// Settled ends a launch.
func (d *daemonAPI) Settled(id string, _ *None) error {
	d.f.settled(d.w, id)
	return nil
}

// Have is told what lives in the worker.
func (d *daemonAPI) Have(h HaveArgs, _ *None) error {
	d.f.told(d.w, h)
	return nil
}
