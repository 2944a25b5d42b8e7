// Package dbus owns a client of D-Bus for one purpose: thousands of small calls at once, as reading a user interface
// takes. Calls are put together in few writes, and each reply goes to a function by its serial number: a general
// client, with a goroutine and reflection for each call, costs several times what the bus and the program do.
//
// It stands at the bottom of ui: atspi asks by it. Bytes of a program never panic it: what cannot be read ends the
// connection with an error.
package dbus

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names of the bus itself.
const (
	busName  = "org.freedesktop.DBus"
	busPath  = "/org/freedesktop/DBus"
	Props    = "org.freedesktop.DBus.Properties"
	greeting = 5 * time.Second // a bus answers at once, or is none
)

// Conn is a connection to a bus. Safe for concurrent use. Its goroutine reads, and calls what waits for replies; Close
// ends it.
type Conn struct {
	c    net.Conn
	Name string // unique name that the bus gave us
	gone chan struct{}

	mu      sync.Mutex // leaf
	out     []byte
	serial  uint32
	pending map[uint32]func(*Message)
	signals func(*Message)
	err     error

	writing sync.Mutex // before mu
}

// ErrClosed is what calls get whose connection ended.
var ErrClosed = errors.New("the bus is gone")

// Dial connects to the first address of a list that answers ("unix:path=/run/user/1000/bus;…").
func Dial(ctx context.Context, addresses string) (*Conn, error) {
	err := fmt.Errorf("connect to bus: no address in %q", addresses)
	for a := range strings.SplitSeq(addresses, ";") {
		var c *Conn
		if c, err = dial(ctx, a); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func dial(ctx context.Context, address string) (*Conn, error) {
	kind, rest, _ := strings.Cut(address, ":")
	path := ""
	for kv := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(kv, "=")
		if v, err := url.PathUnescape(v); err == nil {
			switch k {
			case "path":
				path = v
			case "abstract":
				path = "@" + v
			}
		}
	}
	if kind != "unix" || path == "" {
		return nil, fmt.Errorf("connect to bus: address %q is of a kind that is not known here", address)
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to bus: %w", err)
	}
	c := &Conn{c: nc, pending: map[uint32]func(*Message){}, gone: make(chan struct{})}
	in := bufio.NewReaderSize(nc, 256<<10)
	if err := c.authenticate(in); err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	go c.read(in)
	m, err := c.Call(ctx, busName, busPath, busName, "Hello", "", nil)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("greet bus: %w", err)
	}
	c.Name = m.Body.String()
	return c, nil
}

func (c *Conn) authenticate(in *bufio.Reader) error {
	if err := c.c.SetDeadline(time.Now().Add(greeting)); err != nil {
		return err
	}
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	if _, err := io.WriteString(c.c, "\x00AUTH EXTERNAL "+uid+"\r\n"); err != nil {
		return fmt.Errorf("authenticate at bus: %w", err)
	}
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "OK") {
		return fmt.Errorf("authenticate at bus: it says %q (%w)", strings.TrimSpace(line), err)
	}
	if _, err := io.WriteString(c.c, "BEGIN\r\n"); err != nil {
		return fmt.Errorf("authenticate at bus: %w", err)
	}
	return c.c.SetDeadline(time.Time{})
}

// Close ends the connection. Calls that wait get ErrClosed.
func (c *Conn) Close() {
	c.c.Close() //nolint:errcheck // nothing of it is wanted any more
	<-c.gone
}

// Gone is closed when the connection has ended.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// OnSignal has f called for every signal, by the goroutine that reads: it must not wait.
func (c *Conn) OnSignal(f func(*Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signals = f
}

// Go makes a call; done gets the reply, or nil where the connection ended. It is called by the goroutine that reads and
// must not wait; it may call Go. From elsewhere Flush sends what was called.
func (c *Conn) Go(dest, path, iface, member, sig string, body []byte, done func(*Message)) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		if done != nil {
			go done(nil) // the caller may hold what done wants
		}
		return
	}
	c.serial++
	if done != nil {
		c.pending[c.serial] = done
	}
	c.out = append(c.out, call(c.serial, dest, path, iface, member, sig, body, done == nil)...)
	c.mu.Unlock()
}

// Flush sends what was called.
func (c *Conn) Flush() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	out := c.out
	c.out = nil
	c.mu.Unlock()
	if len(out) > 0 {
		if _, err := c.c.Write(out); err != nil {
			c.c.Close() //nolint:errcheck // the reader notices
		}
	}
}

// Call makes a call and waits for its reply. An error reply is an *Error.
func (c *Conn) Call(ctx context.Context, dest, path, iface, member, sig string, body []byte) (*Message, error) {
	reply := make(chan *Message, 1)
	c.Go(dest, path, iface, member, sig, body, func(m *Message) { reply <- m })
	c.Flush()
	select {
	case m := <-reply:
		if m == nil {
			return nil, ErrClosed
		}
		return m, m.Err()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s of %s: no answer: %w", member, dest, ctx.Err())
	}
}

// Property asks for a property whose value is a number, a text or a truth value.
func (c *Conn) Property(ctx context.Context, dest, path, iface, name string) (any, error) {
	m, err := c.Call(ctx, dest, path, Props, "Get", "ss", Strings(iface, name))
	if err != nil {
		return nil, err
	}
	return m.Body.Scalar(), m.Body.Err()
}

// PID asks the bus for the process behind a name.
func (c *Conn) PID(ctx context.Context, name string) (int, error) {
	m, err := c.Call(ctx, busName, busPath, busName, "GetConnectionUnixProcessID", "s", Strings(name))
	if err != nil {
		return 0, err
	}
	return int(m.Body.Uint32()), m.Body.Err()
}

// AddMatch subscribes to signals.
func (c *Conn) AddMatch(ctx context.Context, rule string) error {
	_, err := c.Call(ctx, busName, busPath, busName, "AddMatch", "s", Strings(rule))
	return err
}

// Strings is a body of texts.
func Strings(s ...string) []byte {
	w := Builder{}
	for _, v := range s {
		w.String(v)
	}
	return w.b
}

// Body is the bytes of a builder.
func (w *Builder) Body() []byte { return w.b }

func (c *Conn) read(in *bufio.Reader) {
	defer close(c.gone)
	err := c.readAll(in)
	c.c.Close() //nolint:errcheck // it is at its end
	c.mu.Lock()
	c.err = errors.Join(ErrClosed, err)
	waiting := c.pending
	c.pending = map[uint32]func(*Message){}
	c.mu.Unlock()
	for _, done := range waiting {
		done(nil)
	}
}

func (c *Conn) readAll(in *bufio.Reader) error {
	for {
		head, err := in.Peek(16)
		if err != nil {
			return err
		}
		size, err := sizeOf(head)
		if err != nil {
			return err
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		m, err := parse(b)
		if err != nil {
			return err
		}
		c.dispatch(m)
		if in.Buffered() == 0 {
			c.Flush()
		}
	}
}

func (c *Conn) dispatch(m *Message) {
	var f func(*Message)
	c.mu.Lock()
	switch m.Type {
	case typeReturn, typeError:
		f = c.pending[m.replySerial]
		delete(c.pending, m.replySerial)
	case typeSignal:
		f = c.signals
	}
	c.mu.Unlock()
	if f != nil {
		f(m)
	}
}
