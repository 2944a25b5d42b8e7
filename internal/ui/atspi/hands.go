package atspi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/strobe-debug/strobe/internal/ui"
	"github.com/strobe-debug/strobe/internal/ui/dbus"
)

// answerMax bounds one action: programs answer when they have done it, which may take an animation.
const answerMax = 2 * time.Second

// errRefused is an action to which the program said no.
var errRefused = errors.New("the program refused")

// yes makes a call that answers whether it did what was asked.
func (b *Bus) yes(ctx context.Context, n *ui.Node, iface, member, sig string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	r := refOf(n.Key)
	m, err := b.c.Call(ctx, r.bus, r.path, iface, member, sig, body)
	if err != nil {
		return fmt.Errorf("%s: %w", member, err)
	}
	if m.Signature == "b" && !m.Body.Bool() {
		return fmt.Errorf("%s: %w", member, errRefused)
	}
	return nil
}

// Actions implements ui.Hands.
func (b *Bus) Actions(ctx context.Context, n *ui.Node) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	r := refOf(n.Key)
	m, err := b.c.Call(ctx, r.bus, r.path, action, "GetActions", "", nil)
	if err != nil {
		return nil, fmt.Errorf("list actions: %w", err)
	}
	var names []string
	m.Body.Array(8, func() {
		m.Body.Struct()
		names = append(names, m.Body.String())
		_, _ = m.Body.String(), m.Body.String()
	})
	return names, m.Body.Err()
}

// Act implements ui.Hands.
func (b *Bus) Act(ctx context.Context, n *ui.Node, i int) error {
	w := &dbus.Builder{}
	w.Int32(int32(i))
	return b.yes(ctx, n, action, "DoAction", "i", w.Body())
}

// SetValue implements ui.Hands.
func (b *Bus) SetValue(ctx context.Context, n *ui.Node, v float64) error {
	w := &dbus.Builder{}
	w.String(value)
	w.String("CurrentValue")
	w.Signature("d")
	w.Uint64(math.Float64bits(v))
	return b.yes(ctx, n, dbus.Props, "Set", "ssv", w.Body())
}

// SetText implements ui.Hands.
func (b *Bus) SetText(ctx context.Context, n *ui.Node, s string) error {
	return b.yes(ctx, n, editableText, "SetTextContents", "s", dbus.Strings(s))
}

// Select implements ui.Hands.
func (b *Bus) Select(ctx context.Context, n *ui.Node, child int) error {
	w := &dbus.Builder{}
	w.Int32(int32(child))
	return b.yes(ctx, n, selection, "SelectChild", "i", w.Body())
}

// Focus implements ui.Hands.
func (b *Bus) Focus(ctx context.Context, n *ui.Node) error {
	return b.yes(ctx, n, component, "GrabFocus", "", nil)
}

// Reveal implements ui.Hands.
func (b *Bus) Reveal(ctx context.Context, n *ui.Node) error {
	w := &dbus.Builder{}
	w.Uint32(6) // anywhere
	return b.yes(ctx, n, component, "ScrollTo", "u", w.Body())
}

// maxText is how much of a content is read to verify what was typed.
const maxText = 1 << 20

// ReadText implements ui.Hands.
func (b *Bus) ReadText(ctx context.Context, n *ui.Node) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	r := refOf(n.Key)
	v, err := b.c.Property(ctx, r.bus, r.path, text, "CharacterCount")
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	count, _ := v.(int32)
	if count <= 0 {
		return "", nil
	}
	m, err := b.c.Call(ctx, r.bus, r.path, text, "GetText", "ii", span(0, min(int(count), maxText)))
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	return m.Body.String(), m.Body.Err()
}

// Caret implements ui.Hands.
func (b *Bus) Caret(ctx context.Context, n *ui.Node) (at, selected int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	r := refOf(n.Key)
	v, err := b.c.Property(ctx, r.bus, r.path, text, "CaretOffset")
	if err != nil {
		return 0, 0, fmt.Errorf("read caret: %w", err)
	}
	offset, _ := v.(int32)
	w := &dbus.Builder{}
	w.Int32(0)
	m, err := b.c.Call(ctx, r.bus, r.path, text, "GetSelection", "i", w.Body())
	if err == nil {
		from, to := m.Body.Int32(), m.Body.Int32()
		selected = int(to - from)
	}
	return int(offset), selected, nil
}
