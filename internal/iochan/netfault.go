package iochan

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

// faultSet is how the channel's connections are disturbed.
type faultSet struct {
	DelayMs             int
	Drop, Reset, Refuse bool
	BytesPerSecond      int64
}

// faults is the faultSet that holds now.
type faults struct{ set_ atomic.Pointer[faultSet] }

func (f *faults) now() faultSet {
	if s := f.set_.Load(); s != nil {
		return *s
	}
	return faultSet{}
}

func (f *faults) set(m Message) error {
	var s faultSet
	if err := m.Into(&s); err != nil {
		return err
	}
	f.set_.Store(&s)
	return nil
}

// faultyConn is a connection that faults act on, in both directions.
type faultyConn struct {
	net.Conn
	n *network
}

// piece is how much goes at once where the speed is limited.
const piece = 1 << 10

func (c *faultyConn) Read(p []byte) (int, error) {
	for {
		f := c.n.faults.now()
		if f.BytesPerSecond > 0 && len(p) > piece {
			p = p[:piece]
		}
		k, err := c.Conn.Read(p)
		f = c.n.faults.now()
		if err != nil || k == 0 || f == (faultSet{}) {
			return k, err
		}
		if f.Reset {
			return 0, c.reset()
		}
		if f.Drop {
			c.told("drop", k)
			continue
		}
		c.pause(f, k)
		return k, nil
	}
}

func (c *faultyConn) Write(p []byte) (int, error) {
	f := c.n.faults.now()
	switch {
	case f.Reset:
		return 0, c.reset()
	case f.Drop:
		c.told("drop", len(p))
		return len(p), nil
	case f.BytesPerSecond == 0:
		c.pause(f, 0)
		return c.Conn.Write(p)
	}
	done := 0
	for len(p) > 0 {
		k, err := c.Conn.Write(p[:min(len(p), piece)])
		done += k
		if err != nil {
			return done, err
		}
		p = p[k:]
		c.pause(f, k)
	}
	return done, nil
}

func (c *faultyConn) pause(f faultSet, bytes int) {
	d := time.Duration(f.DelayMs) * time.Millisecond
	if f.BytesPerSecond > 0 {
		d += time.Duration(bytes) * time.Second / time.Duration(f.BytesPerSecond)
	}
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-c.n.ctx.Done():
	}
}

func (c *faultyConn) reset() error {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // then it is closed in order
	}
	c.told("reset", 0)
	c.Conn.Close()
	return net.ErrClosed
}

func (c *faultyConn) told(what string, bytes int) {
	c.n.tell(netEvent{What: "fault", Direction: event.In, Name: what, Bytes: count(bytes)})
}

// faultyListener makes the server's connections faulty.
type faultyListener struct {
	net.Listener
	n *network
}

func (l *faultyListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.n.faults.now().Refuse {
			l.n.tell(netEvent{What: "fault", Direction: event.In, Name: "refuse"})
			(&faultyConn{c, l.n}).quietReset()
			continue
		}
		return &faultyConn{c, l.n}, nil
	}
}

func (c *faultyConn) quietReset() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // then it is closed in order
	}
	c.Conn.Close()
}
