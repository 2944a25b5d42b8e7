package switches

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Channel is the channel on which blocks stand.
const Channel = "threads"

// State is what a thread does for a while.
type State uint8

// The states. Their numbers are stored; append only.
const (
	Unknown  State = iota // records are missing
	Running               // on a CPU
	Runnable              // it could run, and another one does
	Blocked               // it waits; also for the moment from being woken to getting a CPU
	NumStates
)

var stateNames = [NumStates]string{"unknown", "running", "runnable", "blocked"}

func (s State) String() string {
	if s < NumStates {
		return stateNames[s]
	}
	return stateNames[Unknown]
}

// Interval is one while of a thread, in nanoseconds since the session's start.
type Interval struct {
	From, To int64
	State    State
	// Begun reports that the state began here: else it goes on from the interval before.
	Begun bool
}

// Why is what a thread waits for that did for so long that it was looked at.
type Why struct {
	At  int64  `json:"atNs"` // when the wait began
	Why string `json:"why"`
}

// What a Block tells.
const (
	WhatRan  = "ran"
	WhatLost = "lost" // so many records that no thread's are
	WhatEnd  = "end"  // nothing more is recorded
)

// Block is an event's payload: what one thread did in a row, some hundred times or for a second.
type Block struct {
	What     string `json:"what"`
	From     int64  `json:"fromNs,omitempty"`
	Running  int64  `json:"runningNs,omitempty"`
	Runnable int64  `json:"runnableNs,omitempty"`
	Blocked  int64  `json:"blockedNs,omitempty"`
	Switches int64  `json:"switches,omitempty"` // away from a CPU
	Preempts int64  `json:"preempted,omitempty"`
	Then     string `json:"then,omitempty"` // what it does from the end on; none where it has ended
	Waits    []Why  `json:"waits,omitempty"`
	// By is how it is known: "perf", or "proc": by looks at /proc, whose sums are exact, and in whose intervals that
	// stands first which took most of the time between two looks.
	By     string `json:"by,omitempty"`
	Count  uint64 `json:"count,omitempty"`  // of lost
	Packed string `json:"packed,omitempty"` // the intervals
}

// packer writes intervals: for each a number of base 128 with the duration, above the state and whether it goes on.
type packer struct{ b []byte }

const (
	stateBits = 3
	goesOn    = 1 << 2
)

func (p *packer) add(d int64, s State, begun bool) {
	v := uint64(max(d, 0))<<stateBits | uint64(s&3)
	if !begun {
		v |= goesOn
	}
	p.b = binary.AppendUvarint(p.b, v)
}

func (p *packer) text() string { return base64.RawStdEncoding.EncodeToString(p.b) }

// MaxPacked is from how many intervals on a block is taken out, at the next look: of one that comes late it has more.
const MaxPacked = 1024

// Intervals takes a block apart.
func (b *Block) Intervals() ([]Interval, error) {
	raw, err := base64.RawStdEncoding.DecodeString(b.Packed)
	if err != nil {
		return nil, fmt.Errorf("read intervals: %w", err)
	}
	var all []Interval
	at := b.From
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 || v>>stateBits > 1<<60 || at > 1<<61 {
			return all, fmt.Errorf("read intervals: damaged after %d", len(all))
		}
		raw = raw[n:]
		to := at + int64(v>>stateBits)
		all = append(all, Interval{From: at, To: to, State: State(v & 3), Begun: v&goesOn == 0})
		at = to
	}
	return all, nil
}

// Read reads an event's payload.
func Read(payload []byte) (*Block, error) {
	b := &Block{}
	if err := json.Unmarshal(payload, b); err != nil {
		return nil, fmt.Errorf("read what a thread did: %w", err)
	}
	return b, nil
}
