package iochan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// ErrNoInput says that a target's stdin takes nothing: it was never open, or is closed.
var ErrNoInput = errors.New("stdin is not open")

// Conn is the files of one target. Safe for concurrent use.
//
// Goroutines: one reader per stream, one that delivers, one that writes Options.Input. Close ends and waits for all.
type Conn struct {
	Stdin, Stdout, Stderr *os.File // the target's ends; nil after Started or Close

	sink      Sink
	clock     func() int64
	streams   []*stream
	eof       string // what ends the input, for terminals
	maxQueue  int
	tailQuiet time.Duration

	inputFile *os.File // set by Open; for deadlines, which need no lock

	inMu  sync.Mutex
	input *os.File // inputFile while it is open, else nil
	inRow bool     // the last byte sent was no line end: a terminal then takes the first end-of-file as one

	mu        sync.Mutex
	changed   sync.Cond // on mu: queue, counters or closed changed
	queue     []chunk
	queued    int // bytes
	pushed    int64
	delivered int64 // chunks
	open      int   // streams not at their end
	lastRead  time.Time
	closed    bool
	inputEnds bool   // stdin is ended, or was never open
	onInput   func() // called once when it ends: another process holds it open too

	done    chan struct{} // closed when every stream ended and was delivered
	closing chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

type chunk struct {
	stream Stream
	ts     int64
	data   []byte
}

// stream is one output. pending and ts are guarded by Conn.mu.
type stream struct {
	id       Stream
	file     *os.File
	busy     atomic.Bool  // between a read and the queueing of what it returned
	received atomic.Int64 // bytes queued or pending
	pending  []byte       // read, not yet cut
	ts       int64        // of pending's first byte
}

func newConn(opt Options, sink Sink) *Conn {
	c := &Conn{
		sink: sink, clock: opt.Clock, maxQueue: QueueBytes, lastRead: time.Now(), tailQuiet: cmp.Or(opt.tailQuiet, tailQuiet),
		done: make(chan struct{}), closing: make(chan struct{}),
	}
	c.changed.L = &c.mu
	return c
}

// start begins to read and to write opt.Input.
func (c *Conn) start(opt Options) {
	c.open = len(c.streams)
	for _, s := range c.streams {
		c.wg.Go(func() { c.read(s) })
	}
	c.wg.Go(c.deliver)
	if opt.Input != "" && c.input != nil {
		c.wg.Go(func() {
			_, err := c.Write(context.Background(), []byte(opt.Input))
			if err == nil && !opt.KeepInput {
				c.CloseInput()
			}
		})
	}
}

// Started closes the target's ends here; call it once the target has them. Until then no stream ends.
func (c *Conn) Started() {
	for _, f := range []**os.File{&c.Stdin, &c.Stdout, &c.Stderr} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}

// Write sends p to the target's stdin and returns how much of it went. It waits while the target does not read.
func (c *Conn) Write(ctx context.Context, p []byte) (int, error) {
	c.inMu.Lock()
	defer c.inMu.Unlock()
	if c.input == nil {
		return 0, ErrNoInput
	}
	in := c.input
	in.SetWriteDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { in.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if c.isClosing() { // Close may have set its deadline before this reset it
		return 0, ErrNoInput
	}
	n, err := in.Write(p)
	if n > 0 {
		c.inRow = p[n-1] != '\n'
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return n, fmt.Errorf("write to stdin: %w", err)
	}
	return n, nil
}

// CloseInput ends the target's stdin. On a terminal it sends the end-of-file character.
func (c *Conn) CloseInput() error {
	c.inMu.Lock()
	defer c.inMu.Unlock()
	if c.input == nil {
		return ErrNoInput
	}
	if c.eof != "" {
		c.input.SetWriteDeadline(time.Now().Add(time.Second)) // a full terminal queue must not hold us
		end := c.eof
		if c.inRow {
			end += c.eof
		}
		if _, err := c.input.WriteString(end); err != nil {
			return fmt.Errorf("end stdin: %w", err)
		}
		return nil
	}
	err := c.input.Close()
	c.input = nil
	c.mu.Lock()
	c.inputEnds = true
	told := c.onInput
	c.mu.Unlock()
	if told != nil {
		told()
	}
	return err
}

// watchInput returns stdin's file and makes f be called when it ends, or returns nil if there is nothing to end.
func (c *Conn) watchInput(f func()) *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inputFile == nil || c.inputEnds || c.inputFile == c.streams[0].file {
		return nil
	}
	c.onInput = f
	return c.inputFile
}

// read is the goroutine of one stream.
func (c *Conn) read(s *stream) {
	defer c.endStream(s)
	buf := make([]byte, MaxChunk)
	waits := 0 // reads that timed out since the last byte
	for !c.isClosing() {
		n, err := c.readSome(s, buf)
		if n > 0 {
			more := c.receive(s, buf[:n])
			s.busy.Store(false)
			if waits = 0; more {
				s.file.SetReadDeadline(time.Now().Add(lineQuiet))
			}
			continue
		}
		s.busy.Store(false)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if waits++; c.isClosing() {
			return
		}
		if c.cutQuiet(s, waits > 1) {
			s.file.SetReadDeadline(time.Now().Add(c.tailQuiet))
		} else {
			s.file.SetReadDeadline(time.Time{})
		}
		// The loop's condition comes after this: Close's deadline may just have been overwritten.
	}
}

func (c *Conn) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// receive takes what was read. It reports whether an open line is left.
func (c *Conn) receive(s *stream, data []byte) (more bool) {
	ts := c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queued >= c.maxQueue && !c.closed {
		c.changed.Wait()
	}
	c.lastRead = time.Now()
	for _, other := range c.streams {
		if other != s { // its bytes came before these
			c.pushLocked(other, completeLen(other.pending))
		}
	}
	if len(s.pending) == 0 {
		s.ts = ts
	}
	s.pending = append(s.pending, data...)
	for len(s.pending) >= MaxChunk {
		cut := bytes.LastIndexByte(s.pending[:MaxChunk], '\n') + 1
		if cut == 0 {
			cut = completeLen(s.pending[:MaxChunk])
		}
		c.pushLocked(s, cut)
		s.ts = ts
	}
	if cut := bytes.LastIndexByte(s.pending, '\n') + 1; cut > 0 {
		c.pushLocked(s, cut)
		s.ts = ts
	}
	s.received.Add(int64(len(data)))
	c.changed.Broadcast()
	return len(s.pending) > 0
}

// cutQuiet delivers an open line after a pause; all of it, or up to an incomplete UTF-8 sequence.
// It reports whether something is left.
func (c *Conn) cutQuiet(s *stream, all bool) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(s.pending)
	if !all {
		n = completeLen(s.pending)
	}
	c.pushLocked(s, n)
	c.changed.Broadcast()
	return len(s.pending) > 0
}

// pushLocked queues the first n pending bytes of s.
func (c *Conn) pushLocked(s *stream, n int) {
	if n == 0 {
		return
	}
	c.queue = append(c.queue, chunk{s.id, s.ts, bytes.Clone(s.pending[:n])})
	c.queued += n
	c.pushed++
	s.pending = append(s.pending[:0], s.pending[n:]...)
}

// completeLen returns the length of p without an incomplete UTF-8 sequence at its end.
func completeLen(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

func (c *Conn) endStream(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pushLocked(s, len(s.pending))
	c.open--
	c.changed.Broadcast()
}

// deliver is the goroutine that calls the sink.
func (c *Conn) deliver() {
	defer close(c.done)
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && c.open > 0 {
			c.changed.Wait()
		}
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			c.sink(batch[i].stream, batch[i].ts, batch[i].data)
			c.mu.Lock()
			c.queued -= len(batch[i].data)
			c.delivered++
			c.changed.Broadcast()
			c.mu.Unlock()
			batch[i].data = nil
		}
	}
}

// Flush delivers what the target has written before the call: what is in the pipes, in open lines, in the queue.
func (c *Conn) Flush(ctx context.Context) error {
	if err := c.drainPipes(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		c.changed.Broadcast()
		c.mu.Unlock()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		c.pushLocked(s, completeLen(s.pending))
	}
	c.changed.Broadcast()
	for target := c.pushed; c.delivered < target; c.changed.Wait() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// drainPipes waits until the readers have taken what was in the kernel's buffers at the call.
func (c *Conn) drainPipes(ctx context.Context) error {
	const poll = 200 * time.Microsecond
	for _, s := range c.streams {
		// A reader may hold one buffer of older bytes that received does not count yet.
		limit := s.received.Load() + int64(unread(s.file)) + MaxChunk
		for s.received.Load() < limit && (unread(s.file) > 0 || s.busy.Load()) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-c.done:
				return nil
			case <-time.After(poll):
			}
		}
	}
	return nil
}

// Settle waits, after the target's first process ended, until every stream ended or nothing was written for
// quiet: a process that it left behind may hold the streams open for ever. It reports whether all ended.
func (c *Conn) Settle(ctx context.Context, quiet time.Duration) bool {
	since := time.Now()
	for {
		c.mu.Lock()
		if c.lastRead.After(since) {
			since = c.lastRead
		}
		c.mu.Unlock()
		wait := time.Until(since.Add(quiet))
		if wait <= 0 {
			return false
		}
		select {
		case <-c.done:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// Done is closed when every stream ended and was delivered.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Received returns how many bytes were read so far.
func (c *Conn) Received() int64 {
	var n int64
	for _, s := range c.streams {
		n += s.received.Load()
	}
	return n
}

// Close ends reading, delivers what was read, and releases everything. A process that still writes gets a broken pipe.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closing)
		c.mu.Lock()
		c.closed = true
		c.changed.Broadcast()
		c.mu.Unlock()
		for _, s := range c.streams {
			s.file.SetReadDeadline(time.Unix(1, 0))
		}
		// Under no lock: a writer that waits for the target holds inMu.
		if c.inputFile != nil {
			c.inputFile.SetWriteDeadline(time.Unix(1, 0))
		}
		c.Started()
		c.wg.Wait()
		for _, s := range c.streams {
			s.file.Close()
		}
		c.inMu.Lock()
		if c.input != nil {
			c.input.Close()
			c.input = nil
		}
		c.inMu.Unlock()
	})
	return nil
}

var _ io.Closer = (*Conn)(nil)
