// Package exchange puts what several processes did to their sockets together: which end of a connection
// belongs to which other end, which answer to which request, and which request was made because of which other.
//
// It stands between the events of channel sockets (collector/native), which each process tells of itself, and view
// request (query). It is pure: calls in, exchanges out.
//
// Sessions of several machines have several clocks, which Fit brings together first.
//
// Ends meet by both addresses and by when each use of those began. What was sent at an offset of a connection's bytes
// came at the same offset, so requests and answers meet exactly, however they were cut into calls. Answers follow their
// requests in order, also where several requests were sent before the first answer; those of HTTP/2 have their stream.
// Which request caused another is known by the identifier that both name, or by the thread: what a thread sent last
// follows from what it received last. Where neither says it for sure, Exchange.Guess says what was gone by.
package exchange

import (
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/wire"
)

// Call is one event of channel sockets.
type Call struct {
	Session int    `json:"-"` // its place among the sessions
	ID      int64  `json:"id"`
	Parent  int64  `json:"parent,omitempty"` // the call of a function around it; 0: none
	Below   int64  `json:"below,omitempty"`  // of one that received a request: the first call of a function after it
	End     int64  `json:"end"`              // nanoseconds on the clock that all have
	PID     int32  `json:"pid"`
	Thread  uint32 `json:"thread"`

	What       string `json:"what"`
	FD         int    `json:"fd"`
	Connection int    `json:"connection,omitempty"`
	Transport  string `json:"transport,omitempty"`
	Local      string `json:"local,omitempty"`
	Peer       string `json:"peer,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
	DurationNs int64  `json:"durationNs,omitempty"`
	TLS        bool   `json:"tls,omitempty"`
	Error      string `json:"error,omitempty"`
	wire.Message
}

// Start is when the call began.
func (c *Call) Start() int64 { return c.End - c.DurationNs }

// Exchange is a request and its answer. Where one of its ends was not recorded, that end's calls are nil.
type Exchange struct {
	Proto, Method, Path, Command string
	Status                       int    // of HTTP; 0: no answer, or none that was recognised
	Answer                       string // of Redis and Postgres; of gRPC how the call ended
	Trace                        string
	Error                        string // why there is no answer
	Client, Server               string // addresses

	Sent, Got           *Call // at the client: the call that sent the request's first byte, got the answer's last
	Received, Answered  *Call // at the server: that got its first byte, sent the answer's first
	AnswerSent          *Call // that sent the answer's last
	SentBytes, GotBytes int64 // of request and answer

	Cause    *Exchange   // that the client made this one for; nil: none that is known
	Children []*Exchange // in order of time
	Guess    string      // by what the cause, or the other end, was guessed; "": they are known
	Open     int         // where no cause is known: how many requests it may have been for

	conn     *conn
	at       int64   // of its first byte
	answerAt int64   // of the answer's; none: there is none
	first    bool    // on a connection that was seen being opened
	calls    []*Call // of a stream's, until they are entered
}

// none is no offset. Those before the first byte that was seen are negative.
const none = -1 << 63

// At is where the request begins in its connection's bytes; 0 where it has none.
func (x *Exchange) At() int64 { return x.at }

// ClientSpan is when the client sent the request and had the answer; ok: it was recorded, and did.
func (x *Exchange) ClientSpan() (from, to int64, ok bool) {
	if x.Sent == nil {
		return 0, 0, false
	}
	if x.Got == nil {
		return x.sentAt(), x.Sent.End, false
	}
	return x.sentAt(), x.Got.End, true
}

// Ends are calls that tell who the client and the server were: its own or, where those were not recorded, others of the
// connection; nil: that end was not.
func (x *Exchange) Ends() (client, server *Call) {
	client, server = x.Sent, x.Received
	if c := x.conn; c != nil && client == nil {
		client = c.client.any()
	}
	if c := x.conn; c != nil && server == nil {
		server = c.server.any()
	}
	return client, server
}

// sentAt is when the client sent the request. Where only the call's end is known, its thread may have lost the CPU
// before that was noted: the server got the request, and another thread the answer, before it.
func (x *Exchange) sentAt() int64 {
	at := x.Sent.Start()
	for _, after := range []*Call{x.Received, x.Got} {
		if after != nil {
			at = min(at, after.End)
		}
	}
	return at
}

// ServerSpan is when the server had the request and had sent the answer.
func (x *Exchange) ServerSpan() (from, to int64, ok bool) {
	if x.Received == nil {
		return 0, 0, false
	}
	if x.AnswerSent == nil {
		return x.Received.End, x.Received.End, false
	}
	to = x.AnswerSent.End
	if x.Got != nil { // a call may return long after the client has what it sent
		to = min(to, x.Got.End)
	}
	return x.Received.End, max(to, x.Received.End), true
}

// Span is how long it took, by the client where that was recorded.
func (x *Exchange) Span() (from, to int64) {
	if from, to, ok := x.ClientSpan(); ok || x.Received == nil {
		return from, to
	}
	from, to, _ = x.ServerSpan()
	return from, to
}

// Took is Span as a length.
func (x *Exchange) Took() int64 {
	from, to := x.Span()
	return to - from
}

// Own is the time in the server without that of the requests that it made meanwhile; ok: it is known.
func (x *Exchange) Own() (ns int64, ok bool) {
	from, to, ok := x.ServerSpan()
	ns, upTo := to-from, from
	for _, c := range x.Children {
		f, t, _ := c.ClientSpan()
		if f, t = max(f, upTo), min(t, to); t > f {
			ns, upTo = ns-(t-f), t
		}
	}
	return ns, ok
}

// Failed reports an answer that says so, or none.
func (x *Exchange) Failed() bool {
	return x.Error != "" || x.Status >= 500 || x.Answer != "" && x.Answer[0] == '-' ||
		x.Proto == "HTTP/2" && grpcFailed(x.Answer) ||
		x.Proto == "postgres" && len(x.Answer) > 6 && x.Answer[:6] == "error "
}

// grpcFailed reports an answer of gRPC's that says that the server could not do it, not that it would not.
func grpcFailed(answer string) bool {
	var code int
	_, err := fmt.Sscanf(answer, "grpc %d", &code)
	return err == nil && slices.Contains([]int{2, 4, 12, 13, 14, 15}, code)
}

// Root is the first of the exchanges that led to this one.
func (x *Exchange) Root() *Exchange {
	for range maxDepth {
		if x.Cause == nil {
			break
		}
		x = x.Cause
	}
	return x
}

// maxDepth bounds how far causes are followed.
const maxDepth = 100

// Result is what Join found.
type Result struct {
	All         []*Exchange // by when they began
	Connections int         // on which there was one
	Unread      int         // connections whose bytes were not recognised
	TLS, HTTP2  int         // of those: encrypted without a library that is known, HTTP/2
	Clocks      []Clock     // of the sessions; none: they have one
	calls       map[*Call][]*Exchange
}

// Clock is that of a session.
func (r *Result) Clock(session int) *Clock {
	if session < len(r.Clocks) {
		return &r.Clocks[session]
	}
	return &Clock{}
}

// Of is the exchange that a call on a socket was part of, of several the last; nil: of none.
func (r *Result) Of(c *Call) *Exchange {
	if all := r.calls[c]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// Join puts calls together, which have to be in order in each session. clocks are those of Fit; without them all
// sessions have one.
func Join(calls []*Call, clocks ...Clock) *Result {
	r := &Result{calls: map[*Call][]*Exchange{}, Clocks: clocks}
	b := newJoiner(r)
	b.sides(calls)
	for _, c := range b.meet() {
		b.pair(c)
	}
	b.refused(calls)
	b.sort()
	b.causes(calls)
	return r
}
