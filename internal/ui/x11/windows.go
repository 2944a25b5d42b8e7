package x11

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Rect is a place on the screen.
type Rect struct{ X, Y, W, H int }

// Top is a window that a user sees as one.
type Top struct {
	Window Window
	Frame  Window // child of the root that it stands in: itself, or the window manager's
	PID    int    // as the program says; 0: it does not
	Title  string
	Class  string
	Rect   Rect // of the window itself, on the screen
	Shadow [4]int
	Popup  bool // a menu or the like, which no window manager has
	Modal  bool
}

// maxProperty is how much of a property is read, in bytes.
const maxProperty = 1 << 16

// Property returns the bytes of a property, nil where there is none.
func (c *Conn) Property(w Window, name string) ([]byte, error) {
	atom, err := c.Atom(name)
	if err != nil {
		return nil, err
	}
	r, err := c.ask(20, 0, u32(uint32(w)), u32(atom), u32(0), u32(0), u32(maxProperty/4))
	if err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(r[16:])) * int(r[1]) / 8
	if n > len(r)-32 {
		return nil, errShort
	}
	return r[32 : 32+n], nil
}

// SetText sets a property of type STRING.
func (c *Conn) SetText(w Window, name, value string) error {
	atom, err := c.Atom(name)
	if err != nil {
		return err
	}
	return c.do(request(18, 0, u32(uint32(w)), u32(atom), u32(31), []byte{8, 0, 0, 0}, u32(uint32(len(value))),
		[]byte(value)))
}

func (c *Conn) words(w Window, name string) []uint32 {
	b, err := c.Property(w, name)
	if err != nil {
		return nil // it has gone
	}
	var out []uint32
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, binary.LittleEndian.Uint32(b))
	}
	return out
}

func (c *Conn) text(w Window, names ...string) string {
	for _, name := range names {
		if b, err := c.Property(w, name); err == nil && len(b) > 0 {
			return strings.TrimRight(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00")
		}
	}
	return ""
}

// children lists a window's children from the lowest to the topmost, and its parent.
func (c *Conn) children(w Window) (parent Window, all []Window, err error) {
	r, err := c.ask(15, 0, u32(uint32(w)))
	if err != nil {
		return 0, nil, err
	}
	parent = Window(binary.LittleEndian.Uint32(r[12:]))
	for b := r[32:]; len(b) >= 4; b = b[4:] {
		all = append(all, Window(binary.LittleEndian.Uint32(b)))
	}
	return parent, all, nil
}

// Geometry is where a window is on the screen.
func (c *Conn) Geometry(w Window) (Rect, error) {
	r, err := c.ask(14, 0, u32(uint32(w)))
	if err != nil {
		return Rect{}, err
	}
	g := Rect{W: int(binary.LittleEndian.Uint16(r[16:])), H: int(binary.LittleEndian.Uint16(r[18:]))}
	if r, err = c.ask(40, 0, u32(uint32(w)), u32(uint32(c.Root)), u32(0)); err != nil {
		return Rect{}, err
	}
	g.X, g.Y = int(int16(binary.LittleEndian.Uint16(r[12:]))), int(int16(binary.LittleEndian.Uint16(r[14:])))
	return g, nil
}

// viewable reports whether a window is shown, and whether window managers leave it alone.
func (c *Conn) viewable(w Window) (shown, popup bool) {
	r, err := c.ask(3, 0, u32(uint32(w)))
	if err != nil || len(r) < 44 {
		return false, false
	}
	return r[26] == 2 && binary.LittleEndian.Uint16(r[12:]) == 1, r[27] == 1
}

// maxFrame is how deep window managers hide a window in theirs.
const maxFrame = 4

// Tops lists the windows that are shown, from the lowest to the topmost.
func (c *Conn) Tops() ([]Top, error) {
	_, frames, err := c.children(c.Root)
	if err != nil {
		return nil, err
	}
	clients := c.words(c.Root, "_NET_CLIENT_LIST")
	var out []Top
	for _, f := range frames {
		shown, popup := c.viewable(f)
		if !shown {
			continue
		}
		w, ok := c.clientIn(f, clients, 0)
		if !ok {
			if w = f; !popup && len(clients) > 0 && !slices.Contains(clients, uint32(f)) {
				continue // the window manager's own
			}
		}
		t := Top{Window: w, Frame: f, Popup: popup && !ok}
		if t.Rect, err = c.Geometry(w); err != nil || t.Rect.W <= 1 || t.Rect.H <= 1 {
			continue // it has just gone, or holds a selection
		}
		if p := c.words(w, "_NET_WM_PID"); len(p) > 0 {
			t.PID = int(p[0])
		} else {
			t.PID = c.owner(w)
		}
		t.Title, t.Class = c.text(w, "_NET_WM_NAME", "WM_NAME"), c.text(w, "WM_CLASS")
		if s := c.words(w, "_GTK_FRAME_EXTENTS"); len(s) == 4 {
			for i := range s {
				t.Shadow[i] = int(s[i])
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// owner asks the server whose process made a window, for programs that do not say (Tk); 0: it does not know.
func (c *Conn) owner(w Window) int {
	if c.res == 0 {
		return 0
	}
	const localPID = 2
	r, err := c.ask(c.res, 4, u32(1), u32(uint32(w)), u32(localPID))
	if err != nil || len(r) < 32+16 || binary.LittleEndian.Uint32(r[8:]) == 0 ||
		binary.LittleEndian.Uint32(r[40:]) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(r[44:]))
}

// clientIn finds the window of a program in the frame around it.
func (c *Conn) clientIn(w Window, clients []uint32, depth int) (Window, bool) {
	if slices.Contains(clients, uint32(w)) {
		return w, true
	}
	if depth == maxFrame || len(clients) == 0 {
		return 0, false
	}
	_, below, err := c.children(w)
	if err != nil {
		return 0, false
	}
	for _, b := range below {
		if found, ok := c.clientIn(b, clients, depth+1); ok {
			return found, true
		}
	}
	return 0, false
}

// HasManager reports whether a window manager runs.
func (c *Conn) HasManager() bool { return len(c.words(c.Root, "_NET_SUPPORTING_WM_CHECK")) > 0 }

// Activate raises a window and gives it the keyboard.
func (c *Conn) Activate(t Top) error {
	if t.Popup {
		return nil
	}
	if !c.HasManager() {
		return c.do(request(12, 0, u32(uint32(t.Window)), u16(1<<6), u16(0), u32(0)), // ConfigureWindow: above
			request(42, 1, u32(uint32(t.Window)), u32(0))) // SetInputFocus
	}
	atom, err := c.Atom("_NET_ACTIVE_WINDOW")
	if err != nil {
		return err
	}
	event := append([]byte{33, 32, 0, 0}, u32(uint32(t.Window))...)
	event = append(append(event, u32(atom)...), u32(2)...) // as a pager asks: at once
	event = append(event, make([]byte, 32-len(event))...)
	return c.do(request(25, 0, u32(uint32(c.Root)), u32(1<<20|1<<19), event))
}

// Active is the window that the window manager gives the keyboard, 0 where it does not say.
func (c *Conn) Active() Window {
	if w := c.words(c.Root, "_NET_ACTIVE_WINDOW"); len(w) > 0 {
		return Window(w[0])
	}
	return 0
}
