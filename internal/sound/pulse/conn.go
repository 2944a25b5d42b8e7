package pulse

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	version = 20
	// maxFrame bounds a frame: servers send less than their block size, 64 KiB and a little.
	maxFrame = 1 << 20
	// answerMax bounds the wait for an answer, where the call's context has no nearer end.
	answerMax = 5 * time.Second
	cookieLen = 256
)

// Commands of the protocol.
const (
	cmdError           = 0
	cmdReply           = 2
	cmdCreatePlayback  = 3
	cmdDeletePlayback  = 4
	cmdCreateRecord    = 5
	cmdDeleteRecord    = 6
	cmdAuth            = 8
	cmdSetClientName   = 9
	cmdDrainPlayback   = 12
	cmdGetServerInfo   = 20
	cmdGetSinkInfo     = 21
	cmdGetInputs       = 30
	cmdGetOutputs      = 32
	cmdSubscribe       = 35
	cmdSetDefaultSink  = 44
	cmdSetDefaultSrc   = 45
	cmdLoadModule      = 51
	cmdUnloadModule    = 52
	cmdRequest         = 61
	cmdPlaybackKilled  = 64
	cmdRecordKilled    = 65
	cmdSubscribeEvent  = 66
	cmdMoveOutput      = 68
	subscribeInputs    = 0x4
	subscribeOutputs   = 0x8
	controlStream      = 0xffffffff
	memoryStreamFields = 20
)

// errorNames are what servers answer, by number.
var errorNames = []string{"", "access denied", "unknown command", "invalid argument", "it exists already",
	"there is no such thing", "connection refused", "protocol error", "timeout", "no authentication key", "internal error",
	"connection terminated", "killed", "invalid server", "module failed to initialise", "bad state", "no data",
	"incompatible protocol", "too large", "not supported", "unknown error", "no such extension", "obsolete",
	"the server lacks it", "forked", "input or output error", "busy"}

// Event says that a stream came, changed or went.
type Event struct {
	Recording bool // a stream that records; else one that plays
	Index     uint32
	Gone, New bool
}

// Conn is a connection to a sound server. Safe for concurrent use.
type Conn struct {
	c       net.Conn
	writing sync.Mutex
	done    chan struct{}

	mu      sync.Mutex
	next    uint32
	waiting map[uint32]chan answer
	records map[uint32]*Record
	plays   map[uint32]*Play
	asked   map[uint32]int      // by the server, of sound to play, before the stream's answer is read
	early   map[uint32][][]byte // sound of records whose answer is not yet read
	events  func(Event)
	err     error // why it ended
}

type answer struct {
	r   *reader
	err error
}

// Socket is where the user's server listens: PULSE_SERVER, else the runtime directory. server may name one: a path, or
// unix:PATH.
func Socket(server string) (string, error) {
	if server == "" {
		server = os.Getenv("PULSE_SERVER")
	}
	for _, part := range strings.Fields(server) {
		if strings.HasPrefix(part, "{") { // of one machine only
			_, part, _ = strings.Cut(part, "}")
		}
		part = strings.TrimPrefix(part, "unix:")
		if strings.HasPrefix(part, "/") {
			return part, nil
		}
	}
	if server != "" {
		return "", fmt.Errorf("%q is no server on this machine: unix:PATH", server)
	}
	dir := os.Getenv("PULSE_RUNTIME_PATH")
	if dir == "" {
		if dir = os.Getenv("XDG_RUNTIME_DIR"); dir == "" {
			dir = fmt.Sprintf("/run/user/%d", os.Getuid())
		}
		dir = filepath.Join(dir, "pulse")
	}
	return filepath.Join(dir, "native"), nil
}

// Dial connects and makes itself known as name. events is told of streams that come and go, from the connection's
// goroutine.
func Dial(ctx context.Context, socket, name string, events func(Event)) (*Conn, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := &Conn{c: raw, done: make(chan struct{}), waiting: map[uint32]chan answer{}, records: map[uint32]*Record{},
		plays: map[uint32]*Play{}, early: map[uint32][][]byte{}, asked: map[uint32]int{}, events: events}
	go c.read()
	if err := c.hello(ctx, name); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) hello(ctx context.Context, name string) error {
	if _, err := c.ask(ctx, cmdAuth, packet{}.num(version).blob(cookie())); err != nil {
		return fmt.Errorf("log in to the sound server: %w", err)
	}
	props := map[string]string{"application.name": name, "application.process.id": fmt.Sprint(os.Getpid())}
	if _, err := c.ask(ctx, cmdSetClientName, packet{}.properties(props)); err != nil {
		return err
	}
	_, err := c.ask(ctx, cmdSubscribe, packet{}.num(subscribeInputs|subscribeOutputs))
	return err
}

// cookie is what PulseAudio knows its users by; PipeWire takes any.
func cookie() []byte {
	places := []string{os.Getenv("PULSE_COOKIE")}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "pulse", "cookie"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, filepath.Join(home, ".pulse-cookie"))
	}
	for _, p := range places {
		if b, err := os.ReadFile(p); err == nil && len(b) == cookieLen {
			return b
		}
	}
	return make([]byte, cookieLen)
}

// frame writes one.
func (c *Conn) frame(stream uint32, body []byte) error {
	head := make([]byte, memoryStreamFields, memoryStreamFields+len(body))
	binary.BigEndian.PutUint32(head, uint32(len(body)))
	binary.BigEndian.PutUint32(head[4:], stream)
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.c.SetWriteDeadline(time.Now().Add(answerMax)); err != nil {
		return err
	}
	_, err := c.c.Write(append(head, body...))
	return err
}

// ask sends a command and waits for its answer.
func (c *Conn) ask(ctx context.Context, command uint32, body packet) (*reader, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	return c.wait(ctx, command, body)
}

// wait is ask that takes as long as ctx lets it.
func (c *Conn) wait(ctx context.Context, command uint32, body packet) (*reader, error) {
	got := make(chan answer, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	tag := c.next
	c.next++
	c.waiting[tag] = got
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, tag)
		c.mu.Unlock()
	}()
	if err := c.frame(controlStream, append(packet{}.num(command).num(tag), body...)); err != nil {
		return nil, fmt.Errorf("ask the sound server: %w", err)
	}
	select {
	case a := <-got:
		return a.r, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the sound server does not answer: %w", ctx.Err())
	}
}

// errEnded says that the server closed the connection.
var errEnded = errors.New("the sound server has closed the connection")

// read is the connection's goroutine.
func (c *Conn) read() {
	defer close(c.done)
	in := bufio.NewReaderSize(c.c, 64<<10)
	head := make([]byte, memoryStreamFields)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			break
		}
		size, stream := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
		if size > maxFrame {
			break
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			break
		}
		if stream == controlStream {
			c.control(&reader{b: body})
		} else {
			c.sound(stream, body)
		}
	}
	c.mu.Lock()
	c.err = errEnded
	for tag, w := range c.waiting {
		w <- answer{nil, errEnded}
		delete(c.waiting, tag)
	}
	plays, records := c.plays, c.records
	c.plays, c.records = map[uint32]*Play{}, map[uint32]*Record{}
	c.mu.Unlock()
	for _, p := range plays {
		p.kill()
	}
	for _, r := range records {
		r.killed()
	}
}

// control takes one packet.
func (c *Conn) control(r *reader) {
	command, tag := r.num(), r.num()
	switch command {
	case cmdReply, cmdError:
		a := answer{r: r}
		if command == cmdError {
			a.err = errors.New("unknown error")
			if n := r.num(); int(n) < len(errorNames) {
				a.err = errors.New(errorNames[n])
			}
		}
		c.mu.Lock()
		w := c.waiting[tag]
		delete(c.waiting, tag)
		c.mu.Unlock()
		if w != nil {
			w <- a
		}
	case cmdRequest:
		stream, n := r.num(), r.num()
		c.mu.Lock()
		p := c.plays[stream]
		if p == nil && len(c.asked) < maxEarly {
			c.asked[stream] += int(n)
		}
		c.mu.Unlock()
		if p != nil && r.err == nil {
			p.want(int(n))
		}
	case cmdPlaybackKilled:
		if p := c.play(r.num()); p != nil {
			p.kill()
		}
	case cmdRecordKilled:
		stream := r.num()
		c.mu.Lock()
		rec := c.records[stream]
		delete(c.records, stream)
		c.mu.Unlock()
		if rec != nil {
			rec.killed()
		}
	case cmdSubscribeEvent:
		what, index := r.num(), r.num()
		// The lower bits are the facility (2: plays, 3: records), the next what happened: new, change, remove.
		if kind := what & 0xf; r.err == nil && (kind == 2 || kind == 3) {
			c.events(Event{Recording: kind == 3, Index: index, New: what&0x30 == 0, Gone: what&0x30 == 0x20})
		}
	}
}

// play finds a stream that plays by its number in the server.
func (c *Conn) play(stream uint32) *Play {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plays[stream]
}

// maxEarly bounds what is kept of a record's sound before its answer is read.
const maxEarly = 256

func (c *Conn) sound(stream uint32, body []byte) {
	c.mu.Lock()
	rec := c.records[stream]
	if rec == nil && len(c.early) < maxEarly && len(c.early[stream]) < maxEarly {
		c.early[stream] = append(c.early[stream], body)
	}
	c.mu.Unlock()
	if rec != nil {
		rec.take(body)
	}
}

// samples are a frame's floats.
func samples(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// Close ends the connection and all of its streams.
func (c *Conn) Close() {
	c.c.Close() //nolint:errcheck // it only reads from now on
	<-c.done
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }
