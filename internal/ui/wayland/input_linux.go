package wayland

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/ui/x11"
)

// keys is a keyboard of ours, whose keys have the meanings that a text wants. write guards it.
type keys struct {
	pointer, keyboard object
	syms              []uint32 // of each key from firstKey on
}

const (
	firstKey = 9 // XKB's number of a keyboard's first key; the wire's is less by keyOffset
	lastKey  = 254
	keyOff   = 8
	maxKeys  = lastKey - firstKey + 1
)

// devices makes the pointer and the keyboard. Programs hear of a seat's devices late, and what is typed before is lost:
// so they are there from the beginning.
func (c *Conn) devices() (err error) {
	if c.seat == 0 {
		return nil
	}
	if c.pointer != 0 {
		if c.keys.pointer, err = c.make(c.pointer, 0, nil, c.seat, newHere); err != nil {
			return err
		}
	}
	if c.keyboard == 0 {
		return nil
	}
	if c.keys.keyboard, err = c.make(c.keyboard, 0, nil, c.seat, newHere); err != nil {
		return err
	}
	var syms []uint32
	for r := rune(' '); r < 0x7f; r++ {
		syms = append(syms, x11.SymOf(r))
	}
	c.write.Lock()
	defer c.write.Unlock()
	return c.giveLocked(syms)
}

// giveLocked sees to it that all symbols have a key: those that are there stay where there is room.
func (c *Conn) giveLocked(syms []uint32) error {
	all := slices.Clone(c.keys.syms)
	for _, s := range syms {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) == len(c.keys.syms) {
		return nil
	}
	if len(all) > maxKeys {
		all = nil
		for _, s := range syms {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	text := keymap(all)
	fd, mem, err := shared("strobe-keymap", len(text)+1)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // the compositor has one of its own
	copy(mem, text)
	if err := unix.Munmap(mem); err != nil {
		return err
	}
	if err := c.sendWithLocked(request(c.keys.keyboard, 0, uint32(1), len(text)+1), fd); err != nil {
		return err
	}
	c.keys.syms = all
	return nil
}

// keymap is what keys mean, in XKB's words.
func keymap(syms []uint32) string {
	var codes, means strings.Builder
	for i, s := range syms {
		fmt.Fprintf(&codes, "<K%d> = %d;\n", firstKey+i, firstKey+i)
		fmt.Fprintf(&means, "key <K%d> { [ %#x ] };\n", firstKey+i, s)
	}
	return "xkb_keymap {\nxkb_keycodes \"strobe\" {\nminimum = 8;\nmaximum = 255;\n" + codes.String() + "};\n" +
		"xkb_types \"strobe\" { include \"complete\" };\nxkb_compatibility \"strobe\" { include \"complete\" };\n" +
		"xkb_symbols \"strobe\" {\n" + means.String() + "};\n};\n"
}

// Bits of keys that are held, as keymaps with the usual types have them.
var modifierBits = map[string]uint32{"shift": 1, "ctrl": 4, "control": 4, "alt": 8, "super": 64, "meta": 64}

// now is the time that goes with input, in ms.
func now() uint32 { return uint32(time.Now().UnixMilli()) }

func (c *Conn) strokeLocked(sym uint32) error {
	i := slices.Index(c.keys.syms, sym)
	if i < 0 {
		return fmt.Errorf("no key for symbol %#x", sym)
	}
	code := uint32(firstKey - keyOff + i)
	return c.sendLocked(append(request(c.keys.keyboard, 1, now(), code, uint32(1)),
		request(c.keys.keyboard, 1, now(), code, uint32(0))...))
}

// Type presses the keys of a text, whatever its letters. Line ends are Return, tabs Tab.
func (c *Conn) Type(ctx context.Context, text string) error {
	if c.keys.keyboard == 0 {
		return &ErrLacks{ifaceKeyboard}
	}
	letters := []rune(text)
	for len(letters) > 0 {
		var syms []uint32
		seen := map[uint32]bool{}
		for _, r := range letters {
			s := x11.SymOf(r)
			if seen[s] = true; len(seen) > maxKeys {
				break
			}
			syms = append(syms, s)
		}
		if err := c.typeSome(ctx, syms); err != nil {
			return err
		}
		letters = letters[len(syms):]
	}
	return nil
}

// strokesAtOnce are followed by a wait for the compositor: it hangs up on programs that do not keep up with it.
const strokesAtOnce = 50

func (c *Conn) typeSome(ctx context.Context, syms []uint32) error {
	c.write.Lock()
	err := c.giveLocked(syms)
	c.write.Unlock()
	for len(syms) > 0 && err == nil {
		n := min(strokesAtOnce, len(syms))
		c.write.Lock()
		for _, s := range syms[:n] {
			if err == nil {
				err = c.strokeLocked(s)
			}
		}
		c.write.Unlock()
		if err == nil {
			err = c.wait()
		}
		if syms = syms[n:]; err == nil {
			err = ctx.Err()
		}
	}
	return err
}

// Chord presses a key with others held: "ctrl", "shift", "alt", "super".
func (c *Conn) Chord(_ context.Context, name string, modifiers []string) error {
	if c.keys.keyboard == 0 {
		return &ErrLacks{ifaceKeyboard}
	}
	sym, err := x11.SymOfName(name)
	if err != nil {
		return err
	}
	var held uint32
	for _, m := range modifiers {
		bit, ok := modifierBits[strings.ToLower(m)]
		if !ok {
			return fmt.Errorf("%q is no key that is held: shift, ctrl, alt or super", m)
		}
		held |= bit
	}
	c.write.Lock()
	if err = c.giveLocked([]uint32{sym}); err == nil {
		hold := func(bits uint32) []byte {
			return request(c.keys.keyboard, 2, bits, uint32(0), uint32(0), uint32(0))
		}
		if err = c.sendLocked(hold(held)); err == nil {
			err = c.strokeLocked(sym)
		}
		if err == nil {
			err = c.sendLocked(hold(0))
		}
	}
	c.write.Unlock()
	if err != nil {
		return err
	}
	return c.wait()
}

// Move puts the pointer there.
func (c *Conn) Move(x, y int) error {
	if c.keys.pointer == 0 {
		return &ErrLacks{ifacePointer}
	}
	s := c.Space()
	x, y = min(max(0, x-s.X), s.W), min(max(0, y-s.Y), s.H)
	err := c.send(request(c.keys.pointer, 1, now(), uint32(x), uint32(y), uint32(s.W), uint32(s.H)),
		request(c.keys.pointer, 4))
	if err != nil {
		return err
	}
	return c.wait()
}

// codes are the kernel's numbers of buttons, by X's.
var codes = map[int]uint32{x11.Left: 0x110, x11.Middle: 0x112, x11.Right: 0x111}

// turn is a wheel's axis and direction.
type turn struct {
	axis uint32
	step int
}

var turns = map[int]turn{x11.WheelUp: {0, -1}, x11.WheelDown: {0, 1}, x11.WheelLeft: {1, -1}, x11.WheelRight: {1, 1}}

// perTurn is how far a wheel's step goes, as drivers have it.
const perTurn = 15

// Button presses or releases a button by X's number of it; a wheel turns when it is pressed.
func (c *Conn) Button(b int, down bool) error {
	if c.keys.pointer == 0 {
		return &ErrLacks{ifacePointer}
	}
	p := c.keys.pointer
	var req []byte
	if t, ok := turns[b]; ok {
		if !down {
			return nil
		}
		req = append(request(p, 5, uint32(0)), request(p, 7, now(), t.axis, fixed(t.step*perTurn), t.step)...)
	} else {
		state := uint32(0)
		if down {
			state = 1
		}
		req = request(p, 2, now(), codes[b], state)
	}
	if err := c.send(req, request(p, 4)); err != nil {
		return err
	}
	return c.wait()
}
