package x11

import (
	"errors"
	"fmt"
	"image"
)

// RedirectAll has the server keep what all windows show, also where others cover them.
func (c *Conn) RedirectAll() error {
	if c.composite == 0 {
		return errors.New("the X server has no Composite extension")
	}
	return c.do(request(c.composite, 2, u32(uint32(c.Root)), []byte{0, 0, 0, 0})) // RedirectSubwindows, automatic
}

// redirect is RedirectAll for one window.
func (c *Conn) redirect(w Window) error {
	return c.do(request(c.composite, 1, u32(uint32(w)), []byte{0, 0, 0, 0}))
}

// Screen is what the screen shows there.
func (c *Conn) Screen(r Rect) (*image.RGBA, error) {
	return c.image(uint32(c.Root), r.clip(Rect{W: c.Width, H: c.Height}))
}

// Picture is what a window shows in a rectangle of the screen, whatever covers it. What has been covered since before
// RedirectAll may be missing.
func (c *Conn) Picture(t Top, r Rect) (*image.RGBA, error) {
	if c.composite == 0 {
		return c.Screen(r)
	}
	frame, err := c.Geometry(t.Frame)
	if err != nil {
		return nil, err
	}
	pixmap := c.newID()
	name := request(c.composite, 6, u32(uint32(t.Frame)), u32(pixmap)) // NameWindowPixmap
	if err := c.do(name); err != nil {
		if err := c.redirect(t.Frame); err != nil {
			return nil, err
		}
		pixmap = c.newID()
		if err := c.do(request(c.composite, 6, u32(uint32(t.Frame)), u32(pixmap))); err != nil {
			return nil, err
		}
	}
	defer c.do(request(54, 0, u32(pixmap))) //nolint:errcheck // it goes with the connection
	r = r.clip(frame)
	r.X, r.Y = r.X-frame.X, r.Y-frame.Y
	return c.image(pixmap, r)
}

func (r Rect) clip(to Rect) Rect {
	x, y := max(r.X, to.X), max(r.Y, to.Y)
	return Rect{x, y, max(0, min(r.X+r.W, to.X+to.W)-x), max(0, min(r.Y+r.H, to.Y+to.H)-y)}
}

// Empty reports that nothing is in it.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// image is GetImage in ZPixmap form, of 24 or 32 bits.
func (c *Conn) image(drawable uint32, r Rect) (*image.RGBA, error) {
	if r.Empty() {
		return nil, errors.New("nothing of it is on the screen")
	}
	b, err := c.ask(73, 2, u32(drawable), u16(uint16(r.X)), u16(uint16(r.Y)), u16(uint16(r.W)), u16(uint16(r.H)),
		u32(0xffffffff))
	if err != nil {
		return nil, err
	}
	if depth := b[1]; depth != 24 && depth != 32 {
		return nil, fmt.Errorf("pictures of %d bits a point are not read", depth)
	}
	b = b[32:]
	if len(b) < 4*r.W*r.H {
		return nil, errShort
	}
	m := image.NewRGBA(image.Rect(0, 0, r.W, r.H))
	for i := 0; i < 4*r.W*r.H; i += 4 {
		m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3] = b[i+2], b[i+1], b[i], 0xff
	}
	return m, nil
}
