package wayland

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// answerMax bounds the wait for one answer: a compositor that is there answers within milliseconds.
const answerMax = 5 * time.Second

// Rect is a place in the compositor's space of all outputs, in its points.
type Rect struct{ X, Y, W, H int }

// global is something that the compositor offers.
type global struct {
	name    uint32
	version uint32
}

// Conn is a connection to a compositor. Safe for concurrent use.
type Conn struct {
	PID int // of the compositor
	dir string

	c    *net.UnixConn
	gone chan struct{}

	write sync.Mutex // held over a request and what is kept of it; taken before mu
	next  object

	mu      sync.Mutex // leaf
	bad     error
	on      map[object]func(m *message) // called by the reader with mu held
	globals map[string]global           // the first of each
	outputs []*output
	tops    []*toplevel

	shm, seat, xdg, screencopy, pointer, keyboard, windows object // 0: the compositor has it not

	keys keys
}

// Interfaces of which one object each is wanted, and the version that is spoken.
const (
	ifaceShm        = "wl_shm"
	ifaceSeat       = "wl_seat"
	ifaceOutput     = "wl_output"
	ifaceXdgOutput  = "zxdg_output_manager_v1"
	ifaceScreencopy = "zwlr_screencopy_manager_v1"
	ifacePointer    = "zwlr_virtual_pointer_manager_v1"
	ifaceKeyboard   = "zwp_virtual_keyboard_manager_v1"
	ifaceWindows    = "zwlr_foreign_toplevel_manager_v1"
)

// Dial connects to a compositor by its name (WAYLAND_DISPLAY) in a folder (XDG_RUNTIME_DIR), or by a whole path.
func Dial(ctx context.Context, name, dir string) (*Conn, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to Wayland compositor: %w", err)
	}
	c := &Conn{dir: filepath.Dir(path), c: nc.(*net.UnixConn), gone: make(chan struct{}), next: display,
		on: map[object]func(*message){}, globals: map[string]global{}}
	c.PID = peer(c.c)
	c.on[display] = c.onDisplay
	go c.read()
	if err := c.setup(); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to Wayland compositor %s: %w", path, err), c.Close())
	}
	return c, nil
}

// peer is the process that listens at the other end, 0 where the system does not say.
func peer(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if err != nil {
		return 0
	}
	return pid
}

// Close ends the connection; the compositor takes away what we made.
func (c *Conn) Close() error {
	err := c.c.Close()
	<-c.gone
	return err
}

// Gone is closed when the connection has ended.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

func (c *Conn) setup() error {
	registry, err := c.make(display, 1, c.onRegistry)
	if err != nil {
		return err
	}
	if err := c.wait(); err != nil {
		return err
	}
	for _, one := range []struct {
		iface   string
		version uint32
		into    *object
		on      func(*message)
	}{{ifaceShm, 1, &c.shm, nil}, {ifaceSeat, 1, &c.seat, nil}, {ifaceXdgOutput, 1, &c.xdg, nil},
		{ifaceScreencopy, 1, &c.screencopy, nil}, {ifacePointer, 1, &c.pointer, nil}, {ifaceKeyboard, 1, &c.keyboard, nil},
		{ifaceWindows, 1, &c.windows, c.onWindows}} {
		c.mu.Lock()
		g, ok := c.globals[one.iface]
		c.mu.Unlock()
		if !ok {
			continue
		}
		if *one.into, err = c.bind(registry, one.iface, g.name, one.version, one.on); err != nil {
			return err
		}
	}
	if err := c.bindOutputs(registry); err != nil {
		return err
	}
	if err := c.devices(); err != nil {
		return err
	}
	return errors.Join(c.wait(), c.wait()) // the second: what was told of objects that the first brought
}

func (c *Conn) bind(registry object, iface string, name, version uint32, on func(*message)) (object, error) {
	c.write.Lock()
	defer c.write.Unlock()
	id := c.newLocked(on)
	return id, c.sendLocked(request(registry, 0, name, iface, version, id))
}

// newLocked is the number of an object of ours; write is held.
func (c *Conn) newLocked(on func(*message)) object {
	c.next++
	if on != nil {
		c.mu.Lock()
		c.on[c.next] = on
		c.mu.Unlock()
	}
	return c.next
}

// make sends a request that makes an object, whose number stands where the arguments have it, or first.
func (c *Conn) make(of object, op uint16, on func(*message), more ...any) (object, error) {
	c.write.Lock()
	defer c.write.Unlock()
	id := c.newLocked(on)
	args := slices.Clone(more)
	if i := slices.Index(args, any(newHere)); i >= 0 {
		args[i] = id
	} else {
		args = append([]any{id}, args...)
	}
	return id, c.sendLocked(request(of, op, args...))
}

// newHere stands for the new object's number among arguments.
const newHere object = 0xffffffff

// send sends requests.
func (c *Conn) send(reqs ...[]byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	return c.sendLocked(slices.Concat(reqs...))
}

func (c *Conn) sendLocked(b []byte) error { return c.sendWithLocked(b, -1) }

// sendWithLocked sends a request with a file, unless fd is -1.
func (c *Conn) sendWithLocked(b []byte, fd int) error {
	if err := c.err(); err != nil {
		return err
	}
	var with []byte
	if fd >= 0 {
		with = unix.UnixRights(fd)
	}
	err := c.c.SetWriteDeadline(time.Now().Add(answerMax))
	if err == nil {
		_, _, err = c.c.WriteMsgUnix(b, with, nil)
	}
	if err == nil {
		return nil
	}
	select { // the compositor says why before it hangs up
	case <-c.gone:
	case <-time.After(answerMax):
	}
	return errors.Join(c.err(), fmt.Errorf("ask the Wayland compositor: %w", err))
}

func (c *Conn) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad
}

// wait waits until the compositor has done what it was asked.
func (c *Conn) wait() error {
	done := make(chan struct{})
	_, err := c.make(display, 0, func(*message) { close(done) })
	if err != nil {
		return err
	}
	return c.until(done)
}

func (c *Conn) until(done <-chan struct{}) error {
	t := time.NewTimer(answerMax)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-c.gone:
		return c.err()
	case <-t.C:
		return fmt.Errorf("the Wayland compositor does not answer within %v", answerMax)
	}
}

// readSize holds the largest message, 64 KB.
const readSize = 128 << 10

// read takes messages until the connection ends.
func (c *Conn) read() {
	err := c.readAll()
	c.mu.Lock()
	if c.bad == nil {
		c.bad = fmt.Errorf("the Wayland compositor has ended: %w", err)
	}
	c.mu.Unlock()
	c.c.Close() //nolint:errcheck // it has ended
	close(c.gone)
}

func (c *Conn) readAll() error {
	buf, have := make([]byte, readSize), 0
	for {
		n, err := c.c.Read(buf[have:]) // files that come with it are closed by the system: nothing of ours is sent any
		if err != nil {
			return err
		}
		have += n
		rest := buf[:have]
		for {
			m, after, ok, err := next(rest)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if rest = after; !c.deliver(&m) {
				return errDamaged
			}
		}
		have = copy(buf, rest)
	}
}

// deliver has a message dealt with, and reports whether it was whole.
func (c *Conn) deliver(m *message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.on[m.to]; f != nil {
		f(m)
	}
	return !m.body.bad && c.bad == nil
}

func (c *Conn) onDisplay(m *message) {
	switch m.op {
	case 0: // it hangs up
		id, code := m.body.uint(), m.body.uint()
		c.bad = fmt.Errorf("the Wayland compositor refuses: object %d, error %d: %s", id, code, m.body.string())
	case 1: // an object has gone
		delete(c.on, object(m.body.uint()))
	}
}

func (c *Conn) onRegistry(m *message) {
	switch m.op {
	case 0:
		g := global{name: m.body.uint()}
		iface := m.body.string()
		g.version = m.body.uint()
		if iface == ifaceOutput {
			c.outputs = append(c.outputs, &output{global: g})
		} else if _, ok := c.globals[iface]; !ok {
			c.globals[iface] = g
		}
	case 1:
		name := m.body.uint()
		c.outputs = slices.DeleteFunc(c.outputs, func(o *output) bool { return o.name == name })
	}
}

// Lacks says which of the protocols for pictures and input the compositor does not offer; nil: none.
func (c *Conn) Lacks() (out []string) {
	for _, one := range []struct {
		has  object
		name string
	}{{c.screencopy, ifaceScreencopy}, {c.pointer, ifacePointer}, {c.keyboard, ifaceKeyboard}} {
		if one.has == 0 {
			out = append(out, one.name)
		}
	}
	return out
}
