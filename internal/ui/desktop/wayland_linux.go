package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/atspi"
	"github.com/strobe-debug/strobe/internal/ui/wayland"
)

// wl is the accessibility bus and a Wayland compositor. Programs know places in their windows only; where those are,
// sway alone tells. Safe for concurrent use.
type wl struct {
	*atspi.Bus
	c    *wayland.Conn
	sway *wayland.Sway // nil: places stay relative to windows, and nothing can be pointed at

	input   sync.Mutex          // held while a text is typed
	mu      sync.Mutex          // leaf
	corners map[string]ui.Point // of windows, when they were looked at last
}

func openWayland(ctx context.Context, w Where) (ui.Desktop, error) {
	c, err := wayland.Dial(ctx, w.Wayland, w.Runtime)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "Launch the program with display virtual, or see to it that this "+
			"user may use the compositor's socket.", "%w", err)
	}
	b, err := connectBus(ctx, w, nil)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &wl{Bus: b, c: c, sway: c.Sway()}, nil
}

// Close implements ui.Desktop.
func (l *wl) Close() {
	l.Bus.Close()
	l.c.Close() //nolint:errcheck // it has ended
}

// Gone implements ui.Desktop.
func (l *wl) Gone() <-chan struct{} { return l.c.Gone() }

const relaunch = "Launch the program with display virtual, where it uses X11"

// cannot is what this compositor does not offer.
func (l *wl) cannot(what string) error {
	return fault.New(fault.Unsupported, relaunch+"; what accessibility does by itself works here.",
		"%s: the Wayland compositor does not tell where windows are, as sway does", what)
}

// refused is the error of a compositor, UNSUPPORTED where it has no such thing.
func refused(err error) error {
	var lacks *wayland.ErrLacks
	if errors.As(err, &lacks) {
		return fault.New(fault.Unsupported, relaunch+".", "%w", err)
	}
	return err
}

// Look implements ui.Observer.
func (l *wl) Look(ctx context.Context, look ui.Look) (*ui.Tree, error) {
	began := time.Now()
	t, err := l.Bus.Look(ctx, look)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "The desktop may have ended; launch the program again.", "%w", err)
	}
	if l.sway == nil {
		t.Relative = true
		t.Took = time.Since(began)
		return t, nil
	}
	wins, err := l.sway.Windows(ctx, look.PIDs)
	if err != nil {
		return nil, fault.New(fault.UINotAvailable, "The desktop may have ended; launch the program again.", "%w", err)
	}
	l.place(t.Windows, wins)
	for _, w := range wins {
		if slices.ContainsFunc(t.Windows, func(n *ui.Node) bool { return n.PID == w.PID }) {
			continue
		}
		t.Windows = append(t.Windows, &ui.Node{Key: swayKey(w), Role: ui.RoleWindow, Name: w.Title, PID: w.PID,
			States: ui.Visible, Rect: ui.Rect(w.Content)})
		t.Nodes++
		if !slices.Contains(t.Bare, w.PID) {
			t.Bare = append(t.Bare, w.PID)
		}
	}
	t.Took = time.Since(began)
	return t, nil
}

// place puts windows where they are on the screen. Where popups are no program knows: a click would hit something else,
// so they have no place.
func (l *wl) place(all []*ui.Node, wins []wayland.Window) {
	corners := map[string]ui.Point{}
	for _, n := range all {
		w, ok := windowOf(n, wins)
		if ok && n.Name == "" && !popup(n) {
			n.Name = w.Title
		}
		at := corner(n, w)
		corners[n.Key] = at
		n.Walk(func(c *ui.Node) bool {
			if !ok || popup(c) {
				c.Walk(func(d *ui.Node) bool { d.Rect = ui.Rect{}; return true })
				return false
			}
			shift(c, at)
			return true
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corners = corners
}

func shift(n *ui.Node, by ui.Point) {
	if !n.Rect.Empty() {
		n.Rect.X, n.Rect.Y = n.Rect.X+by.X, n.Rect.Y+by.Y
	}
}

// corner is where on the screen the corner is that a window's places are told from. Programs that paint a shadow around
// the window tell them from that: sway does not say how wide it is, but what is in the window begins behind it.
func corner(n *ui.Node, w wayland.Window) ui.Point {
	wide, high := max(0, n.Rect.W-w.Content.W), max(0, n.Rect.H-w.Content.H)
	top := high
	for _, c := range n.Children {
		if !c.Rect.Empty() {
			top = min(top, max(0, c.Rect.Y-n.Rect.Y))
		}
	}
	return ui.Point{X: w.Content.X - wide/2, Y: w.Content.Y - top}
}

func popup(n *ui.Node) bool {
	return n.Role == "window" || n.Role == "popup menu" || n.Role == "tool tip"
}

// windowOf is sway's window of a window: of the same process, by its title or its size, or that which has the keyboard.
func windowOf(n *ui.Node, wins []wayland.Window) (wayland.Window, bool) {
	best, score := wayland.Window{}, -1
	for _, w := range wins {
		if w.PID != n.PID {
			continue
		}
		s := 0
		if w.Title == n.Name && n.Name != "" {
			s += 4
		}
		if w.Content.W == n.Rect.W && w.Content.H == n.Rect.H {
			s += 2
		}
		if w.Focused {
			s++
		}
		if s > score {
			best, score = w, s
		}
	}
	return best, score >= 0
}

func swayKey(w wayland.Window) string { return fmt.Sprintf("w%d", w.ID) }

// window asks for an element's window as it is now.
func (l *wl) window(ctx context.Context, n *ui.Node) (wayland.Window, error) {
	wins, err := l.sway.Windows(ctx, []int{n.PID})
	if err != nil {
		return wayland.Window{}, err
	}
	top := n.Window()
	for _, w := range wins {
		if swayKey(w) == top.Key {
			return w, nil
		}
	}
	if w, ok := windowOf(top, wins); ok && !unknown(top) {
		return w, nil
	}
	return wayland.Window{}, fmt.Errorf("window %s has gone", top.ID)
}

// unknown reports whether a window is one that accessibility does not know.
func unknown(n *ui.Node) bool { return !strings.Contains(n.Key, "/") }

// Again implements ui.Observer.
func (l *wl) Again(ctx context.Context, n *ui.Node) (*ui.Node, error) {
	if unknown(n) {
		w, err := l.window(ctx, n)
		again := *n
		again.Rect, again.Name = ui.Rect(w.Content), w.Title
		return &again, err
	}
	again, err := l.Bus.Again(ctx, n)
	for up := n; up != nil && err == nil && l.sway != nil; up = up.Parent {
		if popup(up) {
			again.Rect = ui.Rect{}
		}
	}
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		shift(again, l.corners[n.Window().Key])
	}
	return again, err
}

// Picture implements ui.Pictures.
func (l *wl) Picture(ctx context.Context, n *ui.Node, r ui.Rect) (*image.RGBA, error) {
	if l.sway == nil {
		return nil, l.cannot("take a picture of a window")
	}
	w, err := l.window(ctx, n)
	if err != nil {
		return nil, err
	}
	if !w.Shown {
		return nil, fault.New(fault.UIQueryFailed, "Any debug_ui_action by pointer or keyboard shows it.",
			"window [%s] is on a workspace that does not show", w.Title)
	}
	return l.Screen(ctx, r)
}

// Screen implements ui.Pictures.
func (l *wl) Screen(_ context.Context, r ui.Rect) (*image.RGBA, error) {
	if l.sway == nil {
		return nil, l.cannot("take a picture of a window")
	}
	m, err := l.c.Screen(wayland.Rect(r))
	return m, refused(err)
}

// Move implements ui.Input.
func (l *wl) Move(x, y int) error {
	if l.sway == nil {
		return l.cannot("point at something")
	}
	return refused(l.c.Move(x, y))
}

// Button implements ui.Input.
func (l *wl) Button(b int, down bool) error { return refused(l.c.Button(b, down)) }

// Type implements ui.Input.
func (l *wl) Type(ctx context.Context, text string) error {
	l.input.Lock()
	defer l.input.Unlock()
	return refused(l.c.Type(ctx, text))
}

// Chord implements ui.Input.
func (l *wl) Chord(ctx context.Context, key string, modifiers []string) error {
	l.input.Lock()
	defer l.input.Unlock()
	return refused(l.c.Chord(ctx, key, modifiers))
}

// Restore implements ui.Input: the keyboard is one of our own.
func (l *wl) Restore() error { return nil }

// Activate implements ui.Input.
func (l *wl) Activate(ctx context.Context, n *ui.Node) error {
	if l.sway == nil && n.Window().Is(ui.Active) {
		return nil
	}
	if lacks := l.c.Lacks(); l.sway == nil && len(lacks) > 0 {
		return refused(&wayland.ErrLacks{Protocol: strings.Join(lacks, ", ")})
	}
	if l.sway == nil {
		return refused(l.c.Activate(n.Window().Name))
	}
	w, err := l.window(ctx, n)
	if err != nil || w.Focused || popup(n.Window()) {
		return err
	}
	return l.sway.Focus(ctx, w)
}
