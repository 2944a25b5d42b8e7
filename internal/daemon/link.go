package daemon

import (
	"encoding/json"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/service"
)

// A daemon and its worker have two sockets between them: one for calls (mcp.Relay), and one for what they must know of
// each other (peer.go).

// The worker's files.
const (
	workerCalls = 3 // mcp.Answer, the daemon has the mcp.Relay
	workerAsks  = 4 // a peer
)

// What the worker asks.
const (
	askReserve = "reserve" // reserveArgs: an id for a launch
	askHave    = "have"    // haveArgs: what lives here, and perhaps that a launch is over
)

// What the daemon asks.
const (
	askStage = "stage" // stageArgs: what the launch that follows begins with
	askInfos = "infos" // the sessions: []session.Living
	askRoom  = "room"  // a wireFault: whether there is space to record
	askTold  = "told"  // tell what has changed before the answer
	askKnown = "known" // the files whose symbols are there
	askWarm  = "warm"  // files: read their symbols; none: rehearse a launch
	// socketsArgs: what a session did to sockets, a query.SocketCalls
	askSockets = "sockets"
	// close what has ended; where all has, the answer is true and the worker ends when the daemon hangs up
	askLeave = "leave"
	askClose = "close" // end: programs are asked to end, data is kept
)

// wireFault is a fault on its way; empty: none.
type wireFault struct {
	Code fault.Code
	Msg  string
	Hint string
}

func onWire(err error) wireFault {
	if err == nil {
		return wireFault{}
	}
	f := fault.From(err)
	return wireFault{f.Code, f.Msg, f.Hint}
}

func (w *wireFault) err() error {
	if w.Code == "" {
		return nil
	}
	return fault.New(w.Code, w.Hint, "%s", w.Msg)
}

type reserveArgs struct {
	Binary string
	Limit  int
}

type reserveReply struct {
	ID    string
	Fault wireFault
}

// haveArgs is what lives in a worker.
type haveArgs struct {
	Sessions []haveSession
	Runs     []service.RunState
	Busy     bool
	Settled  string `json:",omitempty"` // the session whose launch is over
}

type haveSession struct {
	ID   string
	Live bool
	Kept bool // it could be opened by another process
}

type socketsArgs struct {
	ID    string
	Under int64
}

// socketsReply has the answer, or why there is none.
type socketsReply struct {
	Calls json.RawMessage
	Fault wireFault
}

type stageArgs struct {
	Client, Root string
	Staged       service.Staged
}

// into decodes a request's arguments.
func into[T any](body json.RawMessage) (v T, err error) {
	err = json.Unmarshal(body, &v)
	return v, err
}
