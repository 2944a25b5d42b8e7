package event

// StreamID is session-local: the position in the session's table of streams, given by the store.
type StreamID uint16

// Streams that every session has, first in its table. Their data are events of kinds of their own.
const (
	StreamStdout StreamID = iota
	StreamStderr
)

// Directions of streams, as the target sees them.
const (
	In  = "in"
	Out = "out"
)

// Stream is one way in which something goes between a target and the world. It stands for a way, not for each
// connection.
type Stream struct {
	Channel   string // that it belongs to
	Name      string // unique in its channel
	Media     string // what its data are: text, …
	Direction string // In or Out
}

// Stdio returns the streams that every session has, by StreamID.
func Stdio() []Stream {
	return []Stream{{"stdio", "stdout", "text", Out}, {"stdio", "stderr", "text", Out}}
}

// IsOutput reports whether k is what a target wrote to its standard streams.
func (k Kind) IsOutput() bool { return k == Stdout || k == Stderr }

// IsBytes reports whether the payload of such an event is what went through a stream, as it was, and no object of ours.
func (k Kind) IsBytes() bool { return k.IsOutput() || k == Data }

// IsStreamed reports whether such an event is of a stream that its row names.
func (k Kind) IsStreamed() bool { return k == Data || k == State || k == Channel }

// OfStream returns the stream that an event of kind k belongs to, where stored is the one that it was put with; false
// where it is of none.
func (k Kind) OfStream(stored StreamID) (StreamID, bool) {
	switch k {
	case Stdout:
		return StreamStdout, true
	case Stderr:
		return StreamStderr, true
	case Data, State, Channel:
		return stored, true
	}
	return 0, false
}
