package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/atspi"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
	"github.com/strobe-debug/strobe/internal/ui/x11"
)

// linux is the accessibility bus and the X server. Safe for concurrent use.
type linux struct {
	*atspi.Bus
	x *x11.Conn

	input sync.Mutex // held while a text is typed
}

const connectMax = 5 * time.Second

func open(ctx context.Context, w Where) (ui.Desktop, error) {
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	if w.Wayland != "" {
		return openWayland(ctx, w)
	}
	if w.Display == "" {
		return nil, fault.New(fault.UINotAvailable, "Launch it with display virtual.",
			"the program has no display: DISPLAY is not set")
	}
	x, err := x11.Dial(ctx, w.Display, w.Authority)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "Launch the program with display virtual, or see to it that "+
			"this user may use the display (xauth list).", "%w", err)
	}
	b, err := connectBus(ctx, w, x)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	if w.Own {
		if err := x.RedirectAll(); err != nil {
			return nil, errors.Join(err, x.Close())
		}
	}
	return &linux{Bus: b, x: x}, nil
}

func connectBus(ctx context.Context, w Where, x *x11.Conn) (*atspi.Bus, error) {
	address, err := busAddress(ctx, w, x)
	if err != nil {
		return nil, err
	}
	b, err := atspi.Connect(ctx, address)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "Launch the program with display virtual.",
			"connect to the accessibility bus: %w", err)
	}
	return b, nil
}

// busAddress finds the accessibility bus: the X server's root, where there is one, says where it is, and else the
// session's bus.
func busAddress(ctx context.Context, w Where, x *x11.Conn) (string, error) {
	if w.Accessibility != "" {
		return w.Accessibility, nil
	}
	if x != nil {
		if b, err := x.Property(x.Root, "AT_SPI_BUS"); err == nil && len(b) > 0 {
			return string(b), nil
		}
	}
	c, err := dbus.Dial(ctx, w.Bus)
	if err == nil {
		defer c.Close()
		var m *dbus.Message
		if m, err = c.Call(ctx, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", "", nil); err == nil {
			return m.Body.String(), nil
		}
	}
	return "", fault.New(fault.UINotAvailable, "Install at-spi2-core, or launch the program with display virtual.",
		"the display has no accessibility bus: %w", err)
}

// Close implements ui.Desktop.
func (l *linux) Close() {
	l.x.Restore() //nolint:errcheck // the server may be gone
	l.Bus.Close()
	l.x.Close() //nolint:errcheck // it has ended
}

// Look implements ui.Observer.
func (l *linux) Look(ctx context.Context, look ui.Look) (*ui.Tree, error) {
	began := time.Now()
	t, err := l.Bus.Look(ctx, look)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "The display may have ended; launch the program again.", "%w", err)
	}
	tops, err := l.x.Tops()
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "The display may have ended; launch the program again.", "%w", err)
	}
	var shown []*ui.Node
	for _, n := range t.Windows {
		top, ok := topOf(n, tops)
		if l.Relative(n) && ok {
			move(n, top)
		}
		if n.Name == "" && ok && !top.Popup {
			n.Name = top.Title
		}
		shown = append(shown, n)
	}
	t.Windows = shown
	t.Windows = append(t.Windows, bare(t, tops, look.PIDs)...)
	t.Took = time.Since(began)
	return t, nil
}

// bare are windows of processes that show nothing to accessibility: as such they can be clicked and looked at.
func bare(t *ui.Tree, tops []x11.Top, pids []int) (out []*ui.Node) {
	for _, top := range tops {
		if !slices.Contains(pids, top.PID) || slices.ContainsFunc(t.Windows,
			func(n *ui.Node) bool { return n.PID == top.PID }) {
			continue
		}
		out = append(out, &ui.Node{Key: windowKey(top.Window), Role: ui.RoleWindow, Name: top.Title, PID: top.PID,
			States: ui.Visible, Rect: ui.Rect(top.Rect)})
		if !slices.Contains(t.Bare, top.PID) {
			t.Bare = append(t.Bare, top.PID)
		}
	}
	t.Nodes += len(out)
	return out
}

// topOf is the X server's window of a window: of the same process, by its title, or by its size.
func topOf(n *ui.Node, tops []x11.Top) (x11.Top, bool) {
	best, score := x11.Top{}, -1
	for _, t := range slices.Backward(tops) {
		if t.PID != n.PID {
			continue
		}
		s := 0
		if t.Title == n.Name {
			s += 4
		}
		if t.Popup == (n.Role == "window" || n.Role == "popup menu" || n.Role == "tool tip") {
			s++
		}
		if t.Rect.W == n.Rect.W && t.Rect.H == n.Rect.H {
			s += 2
		}
		if s > score {
			best, score = t, s
		}
	}
	return best, score >= 0
}

// move puts a window with places relative to itself where it is on the screen.
func move(n *ui.Node, top x11.Top) {
	dx, dy := top.Rect.X+top.Shadow[0], top.Rect.Y+top.Shadow[2]
	n.Walk(func(c *ui.Node) bool {
		if !c.Rect.Empty() {
			c.Rect.X, c.Rect.Y = c.Rect.X+dx, c.Rect.Y+dy
		}
		return true
	})
}

func windowKey(w x11.Window) string { return fmt.Sprintf("x%x", uint32(w)) }

// topAt is the topmost window of an element's process that has a place in common with it.
func (l *linux) topAt(n *ui.Node, r ui.Rect) (x11.Top, error) {
	tops, err := l.x.Tops()
	if err != nil {
		return x11.Top{}, err
	}
	w := n.Window()
	if top, ok := topOf(w, tops); ok && ui.Rect(top.Rect).Intersects(r) && !popupOver(tops, w.PID, r) {
		return top, nil
	}
	for _, t := range slices.Backward(tops) {
		if t.PID == n.PID && ui.Rect(t.Rect).Intersects(r) {
			return t, nil
		}
	}
	return x11.Top{}, fault.New(fault.UIQueryFailed, "debug_ui shows what is there.", "no window of process %d is there",
		n.PID)
}

func popupOver(tops []x11.Top, pid int, r ui.Rect) bool {
	x, y := r.Center()
	return slices.ContainsFunc(tops, func(t x11.Top) bool {
		return t.Popup && t.PID == pid && ui.Rect(t.Rect).Intersects(ui.Rect{X: x, Y: y, W: 1, H: 1})
	})
}

// Picture implements ui.Pictures.
func (l *linux) Picture(_ context.Context, n *ui.Node, r ui.Rect) (*image.RGBA, error) {
	t, err := l.topAt(n, r)
	if err != nil {
		return nil, err
	}
	return l.x.Picture(t, x11.Rect(r))
}

// Screen implements ui.Pictures.
func (l *linux) Screen(_ context.Context, r ui.Rect) (*image.RGBA, error) {
	return l.x.Screen(x11.Rect(r))
}

// Move implements ui.Input.
func (l *linux) Move(x, y int) error { return l.x.Move(x, y) }

// Button implements ui.Input.
func (l *linux) Button(b int, down bool) error { return l.x.Button(byte(b), down) }

// Type implements ui.Input.
func (l *linux) Type(ctx context.Context, text string) error {
	l.input.Lock()
	defer l.input.Unlock()
	return l.x.Type(ctx, text)
}

// Chord implements ui.Input.
func (l *linux) Chord(ctx context.Context, key string, modifiers []string) error {
	l.input.Lock()
	defer l.input.Unlock()
	return l.x.Chord(ctx, key, modifiers)
}

// Restore implements ui.Input.
func (l *linux) Restore() error {
	l.input.Lock()
	defer l.input.Unlock()
	return l.x.Restore()
}

// Activate implements ui.Input.
func (l *linux) Activate(_ context.Context, n *ui.Node) error {
	tops, err := l.x.Tops()
	if err != nil {
		return err
	}
	t, ok := topOf(n.Window(), tops)
	if !ok || t.Window == l.x.Active() {
		return nil
	}
	return l.x.Activate(t)
}

// Again implements ui.Observer.
func (l *linux) Again(ctx context.Context, n *ui.Node) (*ui.Node, error) {
	if l.bareWindow(n) {
		return l.bareAgain(n)
	}
	again, err := l.Bus.Again(ctx, n)
	if err == nil && l.Relative(n) && !again.Rect.Empty() {
		w := n.Window().Rect
		again.Rect.X, again.Rect.Y = again.Rect.X+w.X, again.Rect.Y+w.Y
	}
	return again, err
}

func (l *linux) bareWindow(n *ui.Node) bool { return n.Key != "" && n.Key[0] == 'x' }

func (l *linux) bareAgain(n *ui.Node) (*ui.Node, error) {
	tops, err := l.x.Tops()
	if err != nil {
		return nil, err
	}
	for _, t := range tops {
		if windowKey(t.Window) == n.Key {
			again := *n
			again.Rect, again.Name = ui.Rect(t.Rect), t.Title
			return &again, nil
		}
	}
	return nil, fmt.Errorf("window %s has gone", n.ID)
}
