package atspi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
)

// Bounds of a walk.
const (
	inFlight  = 256 // calls: more do not make it faster, and a program that hangs has no more to forget
	maxDepth  = 100 // deeper than any interface; elements may contain each other
	maxRows   = 2000
	textShown = 200 // letters of a content that are read
)

// walk is one look. Its callbacks run one at a time, in the goroutine of the bus's reader.
type walk struct {
	b    *Bus
	look ui.Look
	over chan struct{}

	mu      sync.Mutex // against the look's time limit
	ended   bool
	flying  int
	waiting []func()
	seen    map[ref]bool
	left    int // elements that may still be looked at
	cut     int
	asked   map[*ui.Node]bool // without an answer yet
	nodes   int
}

// Look implements ui.Observer but for what only the window system knows.
func (b *Bus) Look(ctx context.Context, l ui.Look) (*ui.Tree, error) {
	began := time.Now()
	if l.Timeout == 0 {
		l.Timeout = ui.DefaultTimeout
	}
	if l.Most == 0 {
		l.Most = ui.MaxNodes
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	roots, err := b.roots(ctx, l.PIDs)
	if err != nil {
		return nil, err
	}
	w := &walk{b: b, look: l, over: make(chan struct{}), seen: map[ref]bool{}, left: l.Most, asked: map[*ui.Node]bool{}}
	for _, r := range roots {
		b.detail(ctx, r)
	}
	var apps []*ui.Node
	w.mu.Lock()
	for _, r := range roots {
		a := b.app(ctx, r)
		n := &ui.Node{Key: r.key(), Role: ui.RoleApplication, PID: a.pid}
		apps = append(apps, n)
		if a.gtk4 {
			w.cached(n, r)
		} else {
			w.children(n, r, 0, false)
		}
	}
	w.stepLocked()
	w.mu.Unlock()
	b.c.Flush()
	select {
	case <-w.over:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	t := &ui.Tree{Nodes: w.nodes, Cut: w.cut, Silent: len(w.asked)}
	for n := range w.asked {
		n.Mute = true
	}
	for _, a := range apps {
		t.Windows = append(t.Windows, compact(a)...)
	}
	t.Took = time.Since(began)
	return t, nil
}

// compact takes out the places of children that are not there, and returns the rest.
func compact(n *ui.Node) []*ui.Node {
	out := n.Children[:0]
	for _, c := range n.Children {
		if c == nil || c.Key == "" {
			continue
		}
		c.Children = compact(c)
		for _, below := range c.Children {
			below.Parent = c
		}
		out = append(out, c)
	}
	return out
}

// call makes a call when there is room for it; done gets its reply, nil for none.
func (w *walk) call(r ref, iface, member, sig string, body []byte, done func(m *dbus.Message)) {
	w.waiting = append(w.waiting, func() {
		w.b.c.Go(r.bus, r.path, iface, member, sig, body, func(m *dbus.Message) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.ended {
				return
			}
			w.flying--
			if m != nil && m.Err() != nil {
				m = nil
			}
			done(m)
			w.stepLocked()
		})
	})
}

// stepLocked makes calls that wait, and notes the end.
func (w *walk) stepLocked() {
	for w.flying < inFlight && len(w.waiting) > 0 && !w.ended {
		next := w.waiting[0]
		w.waiting = w.waiting[1:]
		w.flying++
		next()
	}
	if w.flying == 0 && len(w.waiting) == 0 && !w.ended {
		w.ended = true
		close(w.over)
	}
}

// children reads what is below an element.
func (w *walk) children(n *ui.Node, r ref, depth int, gtk4 bool) {
	w.call(r, accessible, "GetChildren", "", nil, func(m *dbus.Message) {
		if m == nil {
			return
		}
		var all []ref
		m.Body.Array(8, func() { all = append(all, readRef(&m.Body)) })
		if depth >= maxDepth {
			w.cut += len(all)
			return
		}
		n.Children = make([]*ui.Node, 0, min(len(all), maxRows))
		for i, c := range all {
			if i >= maxRows && !w.look.All {
				n.Beyond = len(all) - i
				break
			}
			w.child(n, c, i, depth+1, gtk4)
		}
	})
}

// child visits one that is below an element.
func (w *walk) child(n *ui.Node, c ref, i, depth int, gtk4 bool) {
	if c.path == nowhere || c.bus == "" || w.seen[c] {
		return
	}
	if w.left == 0 {
		w.cut++
		return
	}
	w.left--
	w.seen[c] = true
	child := &ui.Node{Index: i, PID: n.PID}
	n.Children = append(n.Children, child)
	w.visit(n, child, c, depth, gtk4)
}

// visit asks whether an element shows, and only then for more of it.
func (w *walk) visit(parent, n *ui.Node, r ref, depth int, gtk4 bool) {
	w.asked[n] = true
	w.call(r, accessible, "GetState", "", nil, func(m *dbus.Message) {
		delete(w.asked, n)
		if m == nil {
			return // it has gone
		}
		n.States = readStates(m, gtk4)
		if n.States == gone {
			return
		}
		if !n.Is(ui.Visible) && !w.look.All {
			parent.Hidden++
			return
		}
		n.Key = r.key()
		w.nodes++
		w.details(n, r, depth, gtk4)
	})
}

// gone is the state of an element that is none any more.
const gone ui.States = 1 << 31

func readStates(m *dbus.Message, gtk4 bool) ui.States {
	var bits uint64
	shift := 0
	m.Body.Array(4, func() {
		if v := m.Body.Uint32(); shift < 64 {
			bits |= uint64(v) << shift
		}
		shift += 32
	})
	s, defunct := statesOf(bits, gtk4)
	if defunct {
		return gone
	}
	return s
}

// called reads what an element is called.
func (w *walk) called(n *ui.Node, r ref, gtk4 bool) {
	w.call(r, accessible, "GetRole", "", nil, func(m *dbus.Message) {
		if m != nil {
			n.Role = roleOf(m.Body.Uint32())
		}
	})
	w.call(r, dbus.Props, "Get", "ss", nameOf, func(m *dbus.Message) {
		if m != nil {
			n.Name = nameIn(m, gtk4)
		}
	})
}

// details reads what an element is.
func (w *walk) details(n *ui.Node, r ref, depth int, gtk4 bool) {
	w.called(n, r, gtk4)
	w.call(r, accessible, "GetInterfaces", "", nil, func(m *dbus.Message) {
		if m == nil {
			return
		}
		n.Can = readPowers(m)
		w.place(n, r, gtk4)
		w.content(n, r)
		w.described(n, r)
	})
	w.children(n, r, depth, gtk4)
}

// described takes what is said of an element without a name for it, where it can be acted on.
func (w *walk) described(n *ui.Node, r ref) {
	if n.Name != "" || !n.Has(ui.CanAct) || n.Role.IsBox() || n.Role.HoldsText() {
		return
	}
	w.call(r, dbus.Props, "Get", "ss", dbus.Strings(accessible, "Description"), func(m *dbus.Message) {
		if m != nil && n.Name == "" {
			s, _ := m.Body.Scalar().(string)
			n.Name = ui.Short(s)
		}
	})
}

var nameOf = dbus.Strings(accessible, "Name")

// className is what GTK 4 gives as the name of what has none.
var className = lazyregexp.MustCompile(`^(Gtk|Adw|Gdk|Pango)[A-Z][A-Za-z]*$`)

func nameIn(m *dbus.Message, gtk4 bool) string {
	name, _ := m.Body.Scalar().(string)
	return nameOrNone(name, gtk4)
}

func nameOrNone(name string, gtk4 bool) string {
	if gtk4 && className.MatchString(name) {
		return ""
	}
	if n := len(name) / 2; gtk4 && len(name)%2 == 1 && name[n] == ' ' && name[:n] == name[n+1:] {
		return name[:n] // of a button and of the label in it
	}
	return name
}

func readPowers(m *dbus.Message) (c ui.Can) {
	m.Body.Array(4, func() { c |= powers[m.Body.String()] })
	return c
}

func roleOf(n uint32) ui.Role {
	if int(n) < len(ui.Names) {
		return ui.Names[n]
	}
	return "unknown"
}

// place asks where it is: of GTK 4 within its window, which is all that it knows.
func (w *walk) place(n *ui.Node, r ref, gtk4 bool) {
	if !n.Has(ui.CanPlace) { // programs that have none write a warning when they are asked
		return
	}
	w.call(r, component, "GetExtents", "u", coordinates(gtk4), func(m *dbus.Message) {
		if m != nil {
			n.Rect = readRect(m)
		}
	})
}

func coordinates(gtk4 bool) []byte {
	b := &dbus.Builder{}
	if gtk4 {
		b.Uint32(1)
	} else {
		b.Uint32(0)
	}
	return b.Body()
}

// maxPlace is beyond every screen: programs say absurd places of what they do not show.
const maxPlace = 1 << 16

func readRect(m *dbus.Message) ui.Rect {
	m.Body.Struct()
	r := ui.Rect{X: int(m.Body.Int32()), Y: int(m.Body.Int32()), W: int(m.Body.Int32()), H: int(m.Body.Int32())}
	if m.Body.Err() != nil || r.W <= 0 || r.H <= 0 || max(r.X, r.Y, r.W, r.H) > maxPlace || min(r.X, r.Y) < -maxPlace {
		return ui.Rect{}
	}
	return r
}

// content asks for the number or the text of an element that has one. Its role and name are there.
func (w *walk) content(n *ui.Node, r ref) {
	if n.Has(ui.CanValue) && n.Role.HasNumber() {
		v := &ui.Value{}
		n.Value = v
		for name, into := range map[string]*float64{"CurrentValue": &v.Now, "MinimumValue": &v.Min, "MaximumValue": &v.Max} {
			w.call(r, dbus.Props, "Get", "ss", dbus.Strings(value, name), func(m *dbus.Message) {
				if m != nil {
					*into, _ = m.Body.Scalar().(float64)
				}
			})
		}
	}
	if !n.Has(ui.CanText) || n.Role != ui.RolePassword && !n.Role.HoldsText() && n.Name != "" && !n.Is(ui.Editable) {
		return
	}
	w.call(r, dbus.Props, "Get", "ss", dbus.Strings(text, "CharacterCount"), func(m *dbus.Message) {
		if m == nil {
			return
		}
		count, _ := m.Body.Scalar().(int32)
		n.Length = int(count)
		if n.Role == ui.RolePassword {
			n.Text = ui.Redacted
			return
		}
		if count <= 0 {
			return
		}
		w.call(r, text, "GetText", "ii", span(0, min(int(count), textShown)), func(m *dbus.Message) {
			if m != nil {
				n.Text = withoutPlaces(m.Body.String())
			}
		})
	})
}

// withoutPlaces takes out the marks by which Chromium says that another element stands there.
func withoutPlaces(s string) string {
	const mark = "\uFFFC"
	if !strings.Contains(s, mark) {
		return s
	}
	return strings.TrimSpace(strings.ReplaceAll(s, mark, ""))
}

func span(from, to int) []byte {
	b := &dbus.Builder{}
	b.Int32(int32(from))
	b.Int32(int32(to))
	return b.Body()
}

// Again implements ui.Observer.
func (b *Bus) Again(ctx context.Context, n *ui.Node) (*ui.Node, error) {
	one := &ui.Node{PID: n.PID, Index: n.Index, Parent: n.Parent, ID: n.ID}
	w := b.small(false)
	r := refOf(n.Key)
	w.mu.Lock()
	w.seen[r] = true
	w.look.All = true
	gtk4 := b.gtk4(r.bus)
	w.asked[one] = true
	w.call(r, accessible, "GetState", "", nil, func(m *dbus.Message) {
		delete(w.asked, one)
		if m == nil {
			return
		}
		if one.States = readStates(m, gtk4); one.States == gone {
			return
		}
		one.Key = n.Key
		w.one(one, r, gtk4)
	})
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	if one.Key == "" {
		return nil, fmt.Errorf("element %s has gone", n.ID)
	}
	return one, nil
}

// one is details without what is below.
func (w *walk) one(n *ui.Node, r ref, gtk4 bool) {
	w.called(n, r, gtk4)
	w.call(r, accessible, "GetInterfaces", "", nil, func(m *dbus.Message) {
		if m != nil {
			n.Can = readPowers(m)
			w.place(n, r, gtk4)
			w.content(n, r)
		}
	})
}

func (b *Bus) small(all bool) *walk {
	return &walk{b: b, look: ui.Look{All: all}, over: make(chan struct{}), seen: map[ref]bool{}, left: maxRows,
		asked: map[*ui.Node]bool{}}
}

// finish runs a small walk whose first calls are made; mu is held, and released.
func (w *walk) finish(ctx context.Context) error {
	w.stepLocked()
	w.mu.Unlock()
	w.b.c.Flush()
	ctx, cancel := context.WithTimeout(ctx, 2*ui.DefaultTimeout)
	defer cancel()
	select {
	case <-w.over:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		return fmt.Errorf("the program does not answer: %w", ctx.Err())
	}
}

// Children implements ui.Observer.
func (b *Bus) Children(ctx context.Context, n *ui.Node, most int) ([]*ui.Node, error) {
	w := b.small(true)
	r := refOf(n.Key)
	gtk4 := b.gtk4(r.bus)
	var out []*ui.Node
	w.mu.Lock()
	w.call(r, accessible, "GetChildren", "", nil, func(m *dbus.Message) {
		if m == nil {
			return
		}
		var all []ref
		m.Body.Array(8, func() { all = append(all, readRef(&m.Body)) })
		for i, c := range all[:min(len(all), most)] {
			child := &ui.Node{Key: c.key(), Index: i, PID: n.PID, Parent: n}
			out = append(out, child)
			w.call(c, accessible, "GetRole", "", nil, func(m *dbus.Message) {
				if m != nil {
					child.Role = roleOf(m.Body.Uint32())
				}
			})
			w.call(c, dbus.Props, "Get", "ss", nameOf, func(m *dbus.Message) {
				if m != nil {
					child.Name = nameIn(m, gtk4)
				}
			})
		}
	})
	return out, w.finish(ctx)
}
