package collector

import "github.com/strobe-debug/strobe/internal/event"

// Write is one system call of the target's that put bytes into a file of the session's.
type Write struct {
	TS         int64 // when it had, on the session's clock
	Thread     event.ThreadID
	Stream     event.Kind // Stdout or Stderr, by the file
	N          int64
	Head, Tail []byte // its first and its last bytes, as many of both; none where they are not known
}

// WriteSink is a Sink that wants to know who wrote what it reads.
type WriteSink interface {
	// Wrote is called before the Events of the same time. The order is that of time, within a thread that of the bytes.
	// It is called with none when the first are to be expected.
	Wrote([]Write)
	// WroteAll says that Wrote has had every write that was recorded until then: bytes that were read a while before
	// are nobody's.
	WroteAll(until int64)
}

// StreamSink is a Sink that takes what went through a channel: events of kind Channel have the stream's ID.
type StreamSink interface {
	Stream(event.Stream) (event.StreamID, error)
}

// SecretSink is a Sink that counts the values that were left out of events as secrets.
type SecretSink interface {
	Redacted(n int64) // so many more
}

// SocketsChannel is the channel of what a program itself does with sockets.
const SocketsChannel = "sockets"

// The channels of what goroutines do, and of what is done to Go's channels.
const (
	GoroutinesChannel = "goroutines"
	GoChannelsChannel = "gochannels"
)

// AgentFolder begins the names of folders by which agents of other runtimes are spoken to: their sockets are none of
// the program's.
const AgentFolder = "strobe-agent-"
