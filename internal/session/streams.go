package session

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/iochan"
)

// intake registers a channel's streams and returns what takes their data.
func (k *sink) intake(streams []event.Stream) (iochan.Sink, error) {
	ids := make([]event.StreamID, len(streams))
	for i, s := range streams {
		var err error
		if ids[i], err = k.st.Stream(s); err != nil {
			return nil, err
		}
	}
	return func(stream iochan.Stream, ts int64, data []byte) {
		switch id := ids[stream]; id {
		case event.StreamStdout:
			k.output(iochan.Stdout, ts, data)
		case event.StreamStderr:
			k.output(iochan.Stderr, ts, data)
		default:
			k.data(id, ts, data)
		}
	}, nil
}

// message takes what went through a channel as one: a JSON object. at is on CLOCK_MONOTONIC.
func (k *sink) message(s event.Stream, at int64, payload []byte) {
	id, err := k.st.Stream(s)
	if err != nil { // the store is full or closed: a loss as any other
		k.dropped.Add(1)
		return
	}
	k.streamed(event.Channel, id, at, payload)
}

// data takes what went through a stream that is no standard one; ts is on CLOCK_MONOTONIC.
func (k *sink) data(stream event.StreamID, ts int64, data []byte) {
	k.streamed(event.Data, stream, ts, slices.Clone(data))
}

func (k *sink) streamed(kind event.Kind, stream event.StreamID, ts int64, payload []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.holdLocked(event.Event{TS: max(0, ts-k.startMono), Kind: kind, Stream: stream, Thread: event.NoThread,
		Payload: payload})
	if k.heldBytes >= holdBytes {
		k.putHeldLocked(len(k.held))
	}
	k.alarmLocked()
}

// openChannel makes the target's input and output, which go to k.
func (m *Manager) openChannel(ch iochan.Standard, opt iochan.Options, k *sink) (*iochan.Conn, error) {
	into, err := k.intake(ch.Streams())
	if err != nil {
		return nil, err
	}
	c, err := ch.Open(opt, into)
	if err != nil || m.keeper == nil {
		return c, err
	}
	if err := m.keeper.Add(c); err != nil { // what it guards against is rare; the launch is not
		m.log.Warn("a program would not outlive this daemon", "err", err)
	}
	return c, nil
}

// closeChannel ends reading. A program that still writes gets a broken pipe.
func (m *Manager) closeChannel(c *iochan.Conn) error {
	if m.keeper != nil {
		m.keeper.Drop(c)
	}
	return c.Close()
}

// detachChannel lets go of a program that runs on: its output is read and thrown away.
func (m *Manager) detachChannel(c *iochan.Conn) error {
	if m.keeper != nil {
		m.keeper.Release(c)
		return c.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.detached = append(m.detached, c)
	return nil
}
