package daemon

import (
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/service"
)

// A daemon and its worker have three sockets between them: one for calls, which are MCP and nothing else, and one each way for what they
// must know of each other, by net/rpc: both ends are this very binary.

// The worker's files.
const (
	workerCalls = 3 // MCP, the daemon is the client
	workerAsked = 4 // the daemon asks
	workerAsks  = 5 // the worker asks
)

// WireFault is a fault on its way; empty: none.
type WireFault struct {
	Code fault.Code
	Msg  string
	Hint string
}

func onWire(err error) WireFault {
	if err == nil {
		return WireFault{}
	}
	f := fault.From(err)
	return WireFault{f.Code, f.Msg, f.Hint}
}

func (w *WireFault) err() error {
	if w.Code == "" {
		return nil
	}
	return fault.New(w.Code, w.Hint, "%s", w.Msg)
}

// What the worker asks the daemon, of which the receiver is named Daemon.

type ReserveArgs struct {
	Binary string
	Limit  int
}

type ReserveReply struct {
	ID    string
	Fault WireFault
}

// HaveArgs is what lives in a worker.
type HaveArgs struct {
	Sessions []HaveSession
	Runs     []HaveRun
	Busy     bool
}

type HaveSession struct {
	ID   string
	Live bool
	Kept bool // it could be opened by another process
}

// HaveRun is a service.RunState, as JSON: what it holds is made for that.
type HaveRun struct {
	ID   string
	JSON []byte
}

// What the daemon asks the worker, of which the receiver is named Worker.

type StageArgs struct {
	Client, Root string
	Staged       service.Staged
}

type InfosReply struct {
	JSON []byte // of []session.Living
}

type None struct{}

type LeaveReply struct{ OK bool }
