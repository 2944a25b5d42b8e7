package pulse

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
)

// Stream is one that plays or records, of any program.
type Stream struct {
	Index  uint32
	Device uint32 // the sink or source that it is at
	Spec   Spec
	Name   string // media.name
	App    string // application.name
	PID    int    // of the program; 0: it does not say
	Driver string
}

// Streams lists those that play, or record.
func (c *Conn) Streams(ctx context.Context, recording bool) ([]Stream, error) {
	command := uint32(cmdGetInputs)
	if recording {
		command = cmdGetOutputs
	}
	r, err := c.ask(ctx, command, nil)
	if err != nil {
		return nil, err
	}
	var all []Stream
	for len(r.b) > 0 && r.err == nil {
		s := stream(r, recording)
		if r.err == nil {
			all = append(all, s)
		}
	}
	return all, r.err
}

// stream reads one, as version 20 of the protocol lists it.
func stream(r *reader, recording bool) Stream {
	s := Stream{Index: r.num(), Name: r.text()}
	r.num() // module
	r.num() // client
	s.Device = r.num()
	s.Spec = r.spec()
	if !recording {
		r.volume()
	}
	r.usec()
	r.usec()
	r.text() // resample method
	s.Driver = r.text()
	if !recording {
		r.flag() // mute
	}
	props := r.properties()
	r.flag() // corked
	if !recording {
		r.flag() // has a volume, which can be changed
		r.flag()
	}
	s.App = props["application.name"]
	s.PID, _ = strconv.Atoi(props["application.process.id"]) // none, or not a number: not known
	if v := props["media.name"]; v != "" {
		s.Name = v
	}
	return s
}

// Server says what runs: "PulseAudio (on PipeWire 0.3.65)", its version, and the default sink.
func (c *Conn) Server(ctx context.Context) (name, sink string, err error) {
	r, err := c.ask(ctx, cmdGetServerInfo, nil)
	if err != nil {
		return "", "", err
	}
	name = r.text() + " " + r.text()
	r.text() // user
	r.text() // host
	r.take('a', 6)
	sink = r.text()
	return name, sink, r.err
}

// monitor is the name of the source that has what a sink plays.
func (c *Conn) monitor(ctx context.Context, sink uint32) (string, error) {
	r, err := c.ask(ctx, cmdGetSinkInfo, packet{}.num(sink).text(""))
	if err != nil {
		return "", err
	}
	r.num()  // its own
	r.text() // name
	r.text() // description
	r.spec()
	r.num() // module
	r.volume()
	r.flag() // mute
	r.num()
	return r.text(), r.err
}

// Load loads a module and returns its number, for Unload.
func (c *Conn) Load(ctx context.Context, module, args string) (uint32, error) {
	r, err := c.ask(ctx, cmdLoadModule, packet{}.text(module).text(args))
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", module, err)
	}
	return r.num(), r.err
}

// Unload ends a module.
func (c *Conn) Unload(ctx context.Context, module uint32) error {
	_, err := c.ask(ctx, cmdUnloadModule, packet{}.num(module))
	return err
}

// Default makes a sink, and a source, the ones that programs get when they name none.
func (c *Conn) Default(ctx context.Context, sink, source string) error {
	if _, err := c.ask(ctx, cmdSetDefaultSink, packet{}.text(sink)); err != nil {
		return err
	}
	_, err := c.ask(ctx, cmdSetDefaultSrc, packet{}.text(source))
	return err
}

// Move brings a stream that records to a source.
func (c *Conn) Move(ctx context.Context, output uint32, source string) error {
	_, err := c.ask(ctx, cmdMoveOutput, packet{}.num(output).num(none).text(source))
	return err
}

// Record is a stream that records one other stream alone.
type Record struct {
	index  uint32 // of the stream in its connection
	Spec   Spec
	take   func(body []byte)
	killed func()
}

// fragment is how much sound comes at once, in seconds: small enough that times are good to some milliseconds.
const fragment = 0.01

// Record records what stream in, which plays into the sink of that number, plays. data is called from the connection's
// goroutine with whole frames, ended when the server ends it.
func (c *Conn) Record(ctx context.Context, in Stream, data func([]float32), ended func()) (*Record, error) {
	frame := 4 * in.Spec.Channels
	size := uint32(float64(in.Spec.Rate)*fragment) * uint32(frame)
	source, err := c.monitor(ctx, in.Device)
	if err != nil {
		return nil, err
	}
	p := packet{}.spec(in.Spec).num(none).text(source).num(none).flag(false).num(size)
	// Its channels, format, rate and place stay as they are.
	p = p.flags(false, false, false, false, false, true, false)
	p = p.flags(false, true).properties(map[string]string{"media.name": "Strobe records " + in.App}).num(in.Index)
	p = p.flags(false, false, false)
	r, err := c.ask(ctx, cmdCreateRecord, p)
	if err != nil {
		return nil, err
	}
	rec := &Record{index: r.num(), Spec: in.Spec, killed: ended}
	if r.err != nil {
		return nil, r.err
	}
	var rest []byte
	rec.take = func(body []byte) {
		rest = append(rest, body...)
		whole := len(rest) / frame * frame
		data(samples(rest[:whole]))
		rest = append(rest[:0], rest[whole:]...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	for _, b := range c.early[rec.index] {
		rec.take(b)
	}
	delete(c.early, rec.index)
	c.records[rec.index] = rec
	return rec, nil
}

// Stop ends a recording.
func (c *Conn) Stop(ctx context.Context, rec *Record) error {
	c.mu.Lock()
	_, there := c.records[rec.index]
	delete(c.records, rec.index)
	c.mu.Unlock()
	if !there {
		return nil
	}
	_, err := c.ask(ctx, cmdDeleteRecord, packet{}.num(rec.index))
	c.mu.Lock()
	delete(c.early, rec.index)
	c.mu.Unlock()
	return err
}

// Play is a stream that plays.
type Play struct {
	mu      sync.Mutex
	wanted  int
	more    chan struct{} // has room for one
	gone    chan struct{}
	killing sync.Once
}

func (p *Play) want(n int) {
	p.mu.Lock()
	p.wanted += n
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *Play) kill() { p.killing.Do(func() { close(p.gone) }) }

// PlayMono plays mono sound into a sink and returns when it was played. Cancelled by ctx, it stops at once.
func (c *Conn) PlayMono(ctx context.Context, sink string, rate int, sound []float32) error {
	s := Spec{Rate: rate, Channels: 1}
	target := uint32(rate / 10 * 4) // a tenth of a second is queued
	p := packet{}.spec(s).num(none).text(sink).num(none).flag(false).num(target).num(0).num(none).num(0).volume(1)
	p = p.flags(false, false, false, false, false, true, false)
	p = p.flags(false, true).properties(map[string]string{"media.name": "Strobe plays"})
	p = p.flags(true, false, false, false, false, false, false)
	r, err := c.ask(ctx, cmdCreatePlayback, p)
	if err != nil {
		return fmt.Errorf("play into %s: %w", sink, err)
	}
	index := r.num()
	r.num() // the sink input
	play := &Play{more: make(chan struct{}, 1), gone: make(chan struct{}), wanted: int(r.num())}
	if r.err != nil {
		return r.err
	}
	c.mu.Lock()
	play.wanted += c.asked[index] // before its answer was read
	delete(c.asked, index)
	c.plays[index] = play
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.plays, index)
		c.mu.Unlock()
		defer func() { // what it was asked for meanwhile
			c.mu.Lock()
			delete(c.asked, index)
			c.mu.Unlock()
		}()
		c.ask(context.WithoutCancel(ctx), cmdDeletePlayback, packet{}.num(index)) //nolint:errcheck // it ends with us too
	}()
	if err := c.feed(ctx, play, index, sound); err != nil {
		return err
	}
	// PulseAudio's sinks without a device hardly ever say that they have played all: what was taken is played.
	drained, cancel := context.WithTimeout(ctx, drainMax)
	defer cancel()
	if _, err = c.wait(drained, cmdDrainPlayback, packet{}.num(index)); ctx.Err() == nil && drained.Err() != nil {
		return nil
	}
	return err
}

// drainMax is longer than what is queued: a tenth of a second, and the server's own two.
const drainMax = 3 * time.Second

// feed writes as much as the server asks for.
func (c *Conn) feed(ctx context.Context, play *Play, index uint32, sound []float32) error {
	for len(sound) > 0 {
		play.mu.Lock()
		n := min(play.wanted/4, len(sound), maxFrame/8)
		play.wanted -= 4 * n
		play.mu.Unlock()
		if n == 0 {
			select {
			case <-play.more:
				continue
			case <-play.gone:
				return errEnded
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b := make([]byte, 0, 4*n)
		for _, v := range sound[:n] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		if err := c.frame(index, b); err != nil {
			return err
		}
		sound = sound[n:]
	}
	return nil
}
