package agentlink

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Version of the protocol.
const Version = 1

// maxLine bounds a message of an agent.
const maxLine = 16 << 20

// writeWithin bounds how long an agent may take to read what it is told: one that does not read is let go.
const writeWithin = 2 * time.Second

// Hello is what an agent says of itself first.
type Hello struct {
	V       int      `json:"v"`
	Runtime string   `json:"runtime"`
	Version string   `json:"version"`
	PID     int      `json:"pid"`
	PPID    int      `json:"ppid"`
	Nonce   string   `json:"nonce"`
	Exe     string   `json:"exe"`
	Argv    []string `json:"argv"`
	Backend string   `json:"backend"`
	Can     []string `json:"can"`
	Cannot  string   `json:"cannot"` // why nothing can be traced, where that is so
	// Inspected: it came by an inspector that was open already, and whose user may debug the program.
	Inspected bool `json:"inspected"`
}

// Applied is what became of a set, and answers status.
type Applied struct {
	Gen        int64        `json:"gen"`
	Rules      []RuleState  `json:"rules"`
	Functions  int          `json:"functions"`
	Unhookable []Unhookable `json:"unhookable"`
	Near       []string     `json:"near"`
	Points     []PointState `json:"points"`
	Cut        Cut          `json:"cut"`
	Warnings   []string     `json:"warnings"`
}

// Cut is calls whose values were not followed as deep as the others', for the time that it takes.
type Cut struct {
	Calls     int64    `json:"calls"`
	Functions int      `json:"functions"`
	Most      []string `json:"most"`
}

// RuleState says how many functions a rule matches.
type RuleState struct {
	ID      int `json:"id"`
	Matched int `json:"matched"`
}

// Unhookable names a function that matches and cannot be traced.
type Unhookable struct {
	Function string `json:"function"`
	Reason   string `json:"reason"`
}

// Agent is one process's agent. Safe for concurrent use.
type Agent struct {
	Hello
	conn net.Conn
	link *Link

	writeMu sync.Mutex

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan json.RawMessage
	applied Applied
	told    int64 // the newest set that it was sent; Link.mu
	said    bool  // applied is
	gone    chan struct{}

	Own any // what the runtime keeps of it, for Kind.Answer and Kind.Complete
}

// head is what every message has.
type head struct {
	M string `json:"m"`
	Q int64  `json:"q"`
}

var errGone = errors.New("the agent is gone")

// tell sends a message that wants no answer.
func (a *Agent) tell(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	a.writeMu.Lock()
	defer a.writeMu.Unlock()
	if err := a.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	if _, err = a.conn.Write(append(b, '\n')); err != nil {
		_ = a.conn.Close() // half a message may be there
	}
	return err
}

// can reports whether the agent has something of what is in Hello.Can.
func (a *Agent) can(what string) bool { return slices.Contains(a.Can, what) }

// Ask sends a message and reads its answer into answer. The message's members are those of body, which marshals to an
// object; nil: none.
func (a *Agent) Ask(ctx context.Context, m string, body, answer any) error {
	ch := make(chan json.RawMessage, 1)
	a.mu.Lock()
	a.next++
	q := a.next
	a.waiting[q] = ch
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.waiting, q)
		a.mu.Unlock()
	}()
	line, err := json.Marshal(map[string]any{"m": m, "q": q})
	if err != nil {
		return err
	}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		if members, ok := bytes.CutPrefix(b, []byte{'{'}); ok && len(members) > 1 {
			line = append(append(line[:len(line)-1], ','), members...)
		}
	}
	if err := a.tell(json.RawMessage(line)); err != nil {
		return fmt.Errorf("ask the agent of process %d: %w", a.PID, err)
	}
	var raw json.RawMessage
	select {
	case raw = <-ch:
	case <-a.gone:
		select {
		case raw = <-ch: // the last that it said
		default:
			return fmt.Errorf("ask the agent of process %d: %w", a.PID, errGone)
		}
	case <-ctx.Done():
		return fmt.Errorf("the agent of process %d has not answered %s: %w", a.PID, m, context.Cause(ctx))
	}
	var no struct {
		head
		refusal
	}
	if err := json.Unmarshal(raw, &no); err != nil {
		return fmt.Errorf("the agent of process %d answers %s with no message: %w", a.PID, m, err)
	}
	if no.M == "error" {
		return &no.refusal
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(raw, answer)
}

// Applied returns what the agent said last of its functions; false: nothing yet.
func (a *Agent) Applied() (Applied, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.applied, a.said
}

// serve reads an agent's messages until it is gone.
func (l *Link) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 64<<10), maxLine)
	a := &Agent{conn: conn, link: l, waiting: map[int64]chan json.RawMessage{}, gone: make(chan struct{})}
	if !in.Scan() || json.Unmarshal(in.Bytes(), &a.Hello) != nil || a.PID <= 0 || a.Nonce == "" {
		return
	}
	if a.V != Version {
		l.log.Warn("an agent speaks another version", "pid", a.PID, "version", a.V, "ours", Version)
		_ = a.tell(map[string]any{"m": "bye"})
		if l.opts.Foreign != nil {
			l.opts.Foreign(a)
		}
		l.ended(a.PID) // nobody need wait for it
		return
	}
	if !l.join(a) {
		return
	}
	defer func() {
		close(a.gone)
		l.leave(a)
	}()
	for in.Scan() {
		line := append([]byte(nil), in.Bytes()...)
		var h head
		if json.Unmarshal(line, &h) != nil {
			continue
		}
		a.hear(h, line)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		l.log.Warn("an agent's message is too long", "pid", a.PID, "most", maxLine)
	}
}

// hear takes one message.
func (a *Agent) hear(h head, line []byte) {
	if h.M == "applied" {
		var ap Applied
		if json.Unmarshal(line, &ap) == nil {
			if k := a.link.opts.kind; k != nil && k.Complete != nil {
				k.Complete(a, a.link.inForce(), &ap)
			}
			a.mu.Lock()
			a.applied, a.said = ap, true
			a.mu.Unlock()
			a.link.changed()
			if h.Q == 0 {
				a.link.catchUp(a, ap.Gen)
			}
		}
	}
	if k := a.link.opts.kind; k != nil && k.Answer != nil && h.Q == 0 {
		if answer := k.Answer(a, a.link.inForce(), h.M, line); answer != nil {
			_ = a.tell(answer)
		}
	}
	a.mu.Lock()
	ch := a.waiting[h.Q]
	a.mu.Unlock()
	if h.Q != 0 && ch != nil {
		select {
		case ch <- line:
		default: // it was answered
		}
		return
	}
	a.link.told(a, h.M, line)
}
