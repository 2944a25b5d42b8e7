// Package atspi owns Linux's accessibility bus: the tree of elements that programs of all toolkits show there, and what
// can be done by it. It knows where toolkits differ.
//
// It stands between ui, whose Observer and Hands it is, and dbus. Its walks run in the callbacks of the bus's
// connection, hundreds of calls at once; a program that hangs costs a walk its time limit and no more.
package atspi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
)

const (
	registry     = "org.a11y.atspi.Registry"
	rootPath     = "/org/a11y/atspi/accessible/root"
	accessible   = "org.a11y.atspi.Accessible"
	application  = "org.a11y.atspi.Application"
	component    = "org.a11y.atspi.Component"
	action       = "org.a11y.atspi.Action"
	value        = "org.a11y.atspi.Value"
	text         = "org.a11y.atspi.Text"
	editableText = "org.a11y.atspi.EditableText"
	selection    = "org.a11y.atspi.Selection"
	table        = "org.a11y.atspi.Table"
)

// Bus is a connection to the accessibility bus. Safe for concurrent use.
type Bus struct {
	c *dbus.Conn

	mu     sync.Mutex // leaf
	apps   map[string]app
	listen []func(key, how string)
	wants  bool // events
}

// app is what is known of a program on the bus.
type app struct {
	pid     int
	toolkit string
	gtk4    bool // places are relative to the window, and little is said to be showing
	known   bool
}

// Connect reaches the bus at an address.
func Connect(ctx context.Context, address string) (*Bus, error) {
	c, err := dbus.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	b := &Bus{c: c, apps: map[string]app{}}
	c.OnSignal(b.signal)
	return b, nil
}

// Close ends the connection.
func (b *Bus) Close() { b.c.Close() }

// Gone is closed when the bus has ended.
func (b *Bus) Gone() <-chan struct{} { return b.c.Gone() }

// ref names an element: who has it, and where.
type ref struct{ bus, path string }

func (r ref) key() string { return r.bus + r.path }

func refOf(key string) ref {
	if i := strings.IndexByte(key, '/'); i > 0 {
		return ref{key[:i], key[i:]}
	}
	return ref{}
}

func readRef(r *dbus.Reader) ref {
	r.Struct()
	return ref{r.String(), r.String()}
}

const nowhere = "/org/a11y/atspi/null"

// roots lists the programs on the bus that are of some processes.
func (b *Bus) roots(ctx context.Context, pids []int) ([]ref, error) {
	m, err := b.c.Call(ctx, registry, rootPath, accessible, "GetChildren", "", nil)
	if err != nil {
		return nil, fmt.Errorf("list programs on the accessibility bus: %w", err)
	}
	var all []ref
	m.Body.Array(8, func() { all = append(all, readRef(&m.Body)) })
	wanted := map[int]bool{}
	for _, p := range pids {
		wanted[p] = true
	}
	var out []ref
	for _, r := range all {
		a := b.app(ctx, r)
		if wanted[a.pid] {
			out = append(out, r)
		}
	}
	return out, nil
}

// app asks once who a program on the bus is.
func (b *Bus) app(ctx context.Context, r ref) app {
	b.mu.Lock()
	a := b.apps[r.bus]
	b.mu.Unlock()
	if a.pid == 0 {
		pid, err := b.c.PID(ctx, r.bus)
		if err != nil {
			return a // it has gone
		}
		a.pid = pid
		b.keep(r.bus, a)
	}
	return a
}

// detail asks once for a program's toolkit. It may hang.
func (b *Bus) detail(ctx context.Context, r ref) app {
	a := b.app(ctx, r)
	if a.known {
		return a
	}
	if v, err := b.c.Property(ctx, r.bus, r.path, application, "ToolkitName"); err == nil {
		a.toolkit, _ = v.(string)
		if v, err = b.c.Property(ctx, r.bus, r.path, application, "Version"); err == nil {
			version, _ := v.(string)
			a.gtk4 = strings.EqualFold(a.toolkit, "gtk") && strings.HasPrefix(version, "4")
			a.toolkit += " " + version
			a.known = true
		}
	}
	b.keep(r.bus, a)
	return a
}

func (b *Bus) keep(bus string, a app) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.apps[bus] = a
}

// gtk4 reports whether an element is of GTK 4.
func (b *Bus) gtk4(bus string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apps[bus].gtk4
}

// stateBits are AT-SPI's numbers of the states that are kept.
var stateBits = map[int]ui.States{
	1: ui.Active, 3: ui.Busy, 4: ui.Checked, 7: ui.Editable, 9: ui.Expandable, 10: ui.Expanded, 11: ui.Focusable,
	12: ui.Focused, 16: ui.Modal, 17: ui.MultiLine, 20: ui.Pressed, 22: ui.Selectable, 23: ui.Selected,
	32: ui.Indeterminate, 41: ui.Checkable, 43: ui.ReadOnly,
}

const (
	bitEnabled   = 8
	bitSensitive = 24
	bitShowing   = 25
	bitVisible   = 30
	bitDefunct   = 6
)

// statesOf are those of 64 bits as they come on the bus.
func statesOf(bits uint64, gtk4 bool) (s ui.States, defunct bool) {
	has := func(n int) bool { return bits&(1<<n) != 0 }
	for n, state := range stateBits {
		if has(n) {
			s |= state
		}
	}
	if !has(bitEnabled) && !has(bitSensitive) {
		s |= ui.Disabled
	}
	if has(bitVisible) && (has(bitShowing) || gtk4) {
		s |= ui.Visible
	}
	return s, has(bitDefunct)
}

var powers = map[string]ui.Can{action: ui.CanAct, value: ui.CanValue, text: ui.CanText, editableText: ui.CanEdit,
	selection: ui.CanSelect, component: ui.CanPlace, table: ui.CanTable}

// Changes implements ui.Observer.
func (b *Bus) Changes(ctx context.Context, f func(key, how string)) error {
	b.mu.Lock()
	b.listen = append(b.listen, f)
	first := !b.wants
	b.wants = true
	b.mu.Unlock()
	if !first {
		return nil
	}
	return b.subscribe(ctx)
}

// subscribe asks for events. Programs make them, and GTK 3 its cache, for who has asked only.
func (b *Bus) subscribe(ctx context.Context) error {
	var errs []error
	for _, class := range []string{"object:state-changed", "object:children-changed", "object:text-changed",
		"object:property-change", "object:selection-changed", "window:"} {
		_, err := b.c.Call(ctx, registry, "/org/a11y/atspi/registry", registry, "RegisterEvent", "s", dbus.Strings(class))
		errs = append(errs, err)
	}
	for _, iface := range []string{"Object", "Window"} {
		errs = append(errs, b.c.AddMatch(ctx, "type='signal',interface='org.a11y.atspi.Event."+iface+"'"))
	}
	return errors.Join(errs...)
}

// signal is called by the bus's reader.
func (b *Bus) signal(m *dbus.Message) {
	class, ok := strings.CutPrefix(m.Interface, "org.a11y.atspi.Event.")
	if !ok {
		return
	}
	how := m.Member
	if class == "Object" {
		if detail := m.Body.String(); detail != "" {
			how += ":" + detail
		}
	}
	b.mu.Lock()
	listen := b.listen
	b.mu.Unlock()
	for _, f := range listen {
		f(m.Sender+m.Path, how)
	}
}

// Relative reports whether an element's places are relative to its window.
func (b *Bus) Relative(n *ui.Node) bool { return b.gtk4(refOf(n.Key).bus) }
