// Package iochan owns the ways in which a target meets the world. Channels (model.go) are sent to and tell what they
// hear, one file per kind, in one list (Kinds); a session's are in a Hub. A program's standard files are made here
// too: pipes and the pseudo-terminal.
//
// It joins the data path at session: a goroutine per stream reads, cuts at line ends, and queues;
// one goroutine per connection hands the chunks to the session's sink. The queue between them is
// large and bounded, so that a program is not slowed down by a store that pauses, and
// nothing is ever dropped: when the queue is full too, the pipe fills and the program waits, as
// it would for any reader.
//
// Invariants: bytes are delivered exactly as written and in the order of each stream; between streams in the order in
// which they were read; a chunk is at most MaxChunk bytes and does not end inside a UTF-8 sequence unless the program
// was silent after it or the bytes are no UTF-8.
//
// Locks: Conn.mu is a leaf lock, never held over a read, a write or the sink. Conn.inMu serialises
// writers of one stdin and is held while one of them writes. Order: Conn.inMu, Keeper.mu, Conn.mu.
package iochan

import (
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// Stream is the position of one of a channel's streams in its Streams.
type Stream uint8

// Streams of the channels that a program's standard files are.
const (
	Stdout Stream = iota
	Stderr
	numStreams
)

const (
	// MaxChunk is the most that one sink call gets: small enough for one timeline event, large
	// enough that 1 GB is 16,000 of them.
	MaxChunk = 64 << 10
	// QueueBytes bounds what is read and not yet stored, per connection. A pause of the store of a second is
	// covered at the speed at which a pipe can be written.
	QueueBytes = 256 << 20
	// pipeBytes is the size of a pipe's kernel buffer, the most an ordinary user may ask for.
	pipeBytes = 1 << 20
	// lineQuiet is how long a line may stay open before it is delivered without its end: shorter than
	// anybody waits for a prompt, longer than the pause between two writes of one line.
	lineQuiet = 2 * time.Millisecond
	// tailQuiet is the same for an incomplete UTF-8 sequence, of which the rest nearly always follows.
	tailQuiet = 50 * time.Millisecond
	// The window that a program sees in a pseudo-terminal: the size that programs assume.
	terminalRows, terminalCols = 24, 80
)

// Sink takes what came out of a channel. ts is of the read that returned the first of the bytes. data is
// only valid during the call. It is called from one goroutine at a time.
type Sink func(stream Stream, ts int64, data []byte)

// Options say what a channel does beside reading.
type Options struct {
	Input     string // text for stdin
	KeepInput bool   // stdin stays open after Input, for Conn.Write
	Columns   int    // of a terminal; 0: what programs assume
	Rows      int
	Clock     func() int64 // the session's time in nanoseconds

	tailQuiet time.Duration // 0: the constant; tests wait longer
}

// Standard makes a target's standard files in one way. Safe for concurrent use.
type Standard interface {
	Name() string
	// Streams are what comes out of it, as the session tells of them.
	Streams() []event.Stream
	// Open makes the target's files and starts reading. The caller calls Started or Close.
	Open(opt Options, sink Sink) (*Conn, error)
}

// The ways to make standard files.
var (
	// Pipes gives stdout and stderr a pipe each; stdin is a pipe, or the null device if there is no input.
	Pipes Standard = pipes{}
	// Terminal makes all three a pseudo-terminal; what comes out of it is Stdout.
	Terminal Standard = terminal{}
)

func (pipes) Streams() []event.Stream    { return event.Stdio() }
func (terminal) Streams() []event.Stream { return event.Stdio()[:1] }
