package wayland

import (
	"errors"
	"fmt"
	"image"

	"golang.org/x/sys/unix"
)

// output is a screen.
type output struct {
	global
	id        object
	mode      Rect // by points of the device
	scale     int
	transform int
	logical   Rect // as zxdg_output_manager_v1 says; empty: it does not
}

func (c *Conn) bindOutputs(registry object) error {
	c.mu.Lock()
	all := c.outputs
	c.mu.Unlock()
	for _, o := range all {
		var err error
		if o.id, err = c.bind(registry, ifaceOutput, o.name, min(o.version, 2), o.event); err != nil {
			return err
		}
		if c.xdg == 0 {
			continue
		}
		if _, err = c.make(c.xdg, 1, o.xdgEvent, newHere, o.id); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) event(m *message) {
	switch m.op {
	case 0: // geometry
		o.mode.X, o.mode.Y = m.body.int(), m.body.int()
		for range 3 {
			m.body.int()
		}
		_, _ = m.body.string(), m.body.string()
		o.transform = m.body.int()
	case 1: // mode
		if flags := m.body.uint(); flags&1 != 0 {
			o.mode.W, o.mode.H = m.body.int(), m.body.int()
		}
	case 3:
		o.scale = m.body.int()
	}
}

func (o *output) xdgEvent(m *message) {
	switch m.op {
	case 0:
		o.logical.X, o.logical.Y = m.body.int(), m.body.int()
	case 1:
		o.logical.W, o.logical.H = m.body.int(), m.body.int()
	}
}

func (o *output) rect() Rect {
	if o.logical.W > 0 {
		return o.logical
	}
	s := max(1, o.scale)
	return Rect{o.mode.X, o.mode.Y, o.mode.W / s, o.mode.H / s}
}

// Space is what all outputs take together.
func (c *Conn) Space() (all Rect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.outputs {
		r := o.rect()
		if i == 0 {
			all = r
			continue
		}
		x, y := min(all.X, r.X), min(all.Y, r.Y)
		all = Rect{x, y, max(all.X+all.W, r.X+r.W) - x, max(all.Y+all.H, r.Y+r.H) - y}
	}
	return all
}

// clip is what two places have in common.
func (r Rect) clip(to Rect) Rect {
	x, y := max(r.X, to.X), max(r.Y, to.Y)
	return Rect{x, y, max(0, min(r.X+r.W, to.X+to.W)-x), max(0, min(r.Y+r.H, to.Y+to.H)-y)}
}

// outputOf is the output that has the most of a place, and that part of it.
func (c *Conn) outputOf(r Rect) (best *output, part, at Rect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.outputs {
		if p := r.clip(o.rect()); o.id != 0 && p.W*p.H > part.W*part.H {
			best, part, at = o, p, o.rect()
		}
	}
	return best, part, at
}

// ErrLacks is what a compositor does not offer.
type ErrLacks struct{ Protocol string }

func (e *ErrLacks) Error() string { return "the Wayland compositor has no " + e.Protocol }

// frame is a picture on its way.
type frame struct {
	format, stride uint32
	w, h           int
	upsideDown     bool
	failed         bool
	sized, done    chan struct{}
}

func (f *frame) event(m *message) {
	switch m.op {
	case 0:
		f.format = m.body.uint()
		f.w, f.h, f.stride = m.body.int(), m.body.int(), m.body.uint()
		closeOnce(f.sized)
	case 1:
		f.upsideDown = m.body.uint()&1 != 0
	case 2:
		closeOnce(f.done)
	case 3:
		f.failed = true
		closeOnce(f.sized)
		closeOnce(f.done)
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// maxPicture bounds a picture: four times what a screen of 8K has.
const maxPicture = 512 << 20

// Screen is what the screen shows in a place, or in that part of it that one output has.
func (c *Conn) Screen(r Rect) (*image.RGBA, error) {
	if c.screencopy == 0 || c.shm == 0 {
		return nil, &ErrLacks{ifaceScreencopy}
	}
	o, part, at := c.outputOf(r)
	if o == nil {
		return nil, errors.New("nothing of it is on an output")
	}
	f := &frame{sized: make(chan struct{}), done: make(chan struct{})}
	id, err := c.make(c.screencopy, 1, f.event, newHere, 0, o.id, part.X-at.X, part.Y-at.Y, part.W, part.H)
	if err != nil {
		return nil, err
	}
	defer c.send(request(id, 1)) //nolint:errcheck // it goes with the connection
	if err := c.until(f.sized); err != nil {
		return nil, err
	}
	size := int(f.stride) * f.h
	if f.failed || f.w <= 0 || f.h <= 0 || int(f.stride) < 4*f.w || size > maxPicture {
		return nil, fmt.Errorf("the Wayland compositor gives no picture of %dx%d", part.W, part.H)
	}
	pix, err := c.copyFrame(id, f, size)
	if err != nil {
		return nil, err
	}
	return f.picture(pix, part.W, part.H)
}

// copyFrame has a frame copied to memory that the compositor and we share.
func (c *Conn) copyFrame(id object, f *frame, size int) ([]byte, error) {
	fd, mem, err := shared("strobe-picture", size)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)   //nolint:errcheck // the compositor has one of its own
	defer unix.Munmap(mem) //nolint:errcheck // it was mapped
	c.write.Lock()
	pool := c.newLocked(nil)
	err = c.sendWithLocked(request(c.shm, 0, pool, size), fd)
	buffer := c.newLocked(nil)
	if err == nil {
		err = c.sendLocked(append(append(request(pool, 0, buffer, 0, f.w, f.h, int(f.stride), f.format),
			request(pool, 1)...), request(id, 0, buffer)...))
	}
	c.write.Unlock()
	if err != nil {
		return nil, err
	}
	err = c.until(f.done)
	if err == nil && f.failed {
		err = errors.New("the Wayland compositor could not take a picture")
	}
	if err = errors.Join(err, c.send(request(buffer, 0))); err != nil {
		return nil, err
	}
	return append([]byte(nil), mem...), nil
}

// shared makes memory that may be given away as a file.
func shared(name string, size int) (fd int, mem []byte, err error) {
	if fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC); err != nil {
		return -1, nil, fmt.Errorf("make shared memory: %w", err)
	}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		mem, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return -1, nil, errors.Join(fmt.Errorf("make shared memory of %d bytes: %w", size, err), unix.Close(fd))
	}
	return fd, mem, nil
}

// Orders of a point's bytes, by wl_shm's numbers.
var orders = map[uint32][3]int{0: {2, 1, 0}, 1: {2, 1, 0}, 0x34324258: {0, 1, 2}, 0x34324241: {0, 1, 2}}

// picture makes one of so many points of the compositor's space, which may be fewer than the output's.
func (f *frame) picture(pix []byte, w, h int) (*image.RGBA, error) {
	order, ok := orders[f.format]
	if !ok {
		return nil, fmt.Errorf("pictures in format %#x of Wayland are not read", f.format)
	}
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		row := y * f.h / h
		if f.upsideDown {
			row = f.h - 1 - row
		}
		for x := range w {
			from, to := row*int(f.stride)+4*(x*f.w/w), m.PixOffset(x, y)
			for i, o := range order {
				m.Pix[to+i] = pix[from+o]
			}
			m.Pix[to+3] = 0xff
		}
	}
	return m, nil
}
