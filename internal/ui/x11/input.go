package x11

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Buttons of a pointer.
const (
	Left       = 1
	Middle     = 2
	Right      = 3
	WheelUp    = 4
	WheelDown  = 5
	WheelLeft  = 6
	WheelRight = 7
)

const (
	keyPress      = 2
	keyRelease    = 3
	buttonPress   = 4
	buttonRelease = 5
	motion        = 6
)

// ErrNoInput is what a server without XTEST gives.
var ErrNoInput = errors.New("the X server has no XTEST extension: it takes no input from programs")

func (c *Conn) fake(kind, detail byte, x, y int) ([]byte, error) {
	if c.xtest == 0 {
		return nil, ErrNoInput
	}
	return request(c.xtest, 2, []byte{kind, detail, 0, 0}, u32(0), u32(0), make([]byte, 8), u16(uint16(int16(x))),
		u16(uint16(int16(y))), make([]byte, 8)), nil
}

// Move puts the pointer there.
func (c *Conn) Move(x, y int) error {
	r, err := c.fake(motion, 0, x, y)
	if err != nil {
		return err
	}
	return c.do(r)
}

// Pointer is where the pointer is.
func (c *Conn) Pointer() (x, y int, err error) {
	r, err := c.ask(38, 0, u32(uint32(c.Root)))
	if err != nil {
		return 0, 0, err
	}
	return int(int16(binary.LittleEndian.Uint16(r[16:]))), int(int16(binary.LittleEndian.Uint16(r[18:]))), nil
}

// Button presses or releases a button.
func (c *Conn) Button(b byte, down bool) error {
	kind := byte(buttonRelease)
	if down {
		kind = buttonPress
	}
	r, err := c.fake(kind, b, 0, 0)
	if err != nil {
		return err
	}
	return c.do(r)
}

// Click presses and releases a button so often.
func (c *Conn) Click(b byte, times int) error {
	for range times {
		if err := errors.Join(c.Button(b, true), c.Button(b, false)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) key(code byte, down bool) error {
	kind := byte(keyRelease)
	if down {
		kind = keyPress
	}
	r, err := c.fake(kind, code, 0, 0)
	if err != nil {
		return err
	}
	return c.do(r)
}

// keymap is what the keys mean: symbols of each keycode from the lowest on.
type keymap struct {
	low  int
	per  int
	syms []uint32
}

func (c *Conn) keymap() (*keymap, error) {
	r, err := c.ask(101, 0, []byte{c.low, c.high - c.low + 1, 0, 0})
	if err != nil {
		return nil, err
	}
	m := &keymap{low: int(c.low), per: int(r[1])}
	for b := r[32:]; len(b) >= 4; b = b[4:] {
		m.syms = append(m.syms, binary.LittleEndian.Uint32(b))
	}
	if m.per == 0 || len(m.syms)/m.per < int(c.high-c.low) {
		return nil, errShort
	}
	return m, nil
}

// find returns the key of a symbol, alone or with shift.
func (m *keymap) find(sym uint32) (code byte, shift, ok bool) {
	for level := range min(2, m.per) {
		for i := 0; i+level < len(m.syms); i += m.per {
			if m.syms[i+level] == sym {
				return byte(m.low + i/m.per), level == 1, true
			}
		}
	}
	return 0, false, false
}

// unused are the keys without any symbol.
func (m *keymap) unused() (codes []byte) {
	for i := 0; i < len(m.syms); i += m.per {
		if !slices.ContainsFunc(m.syms[i:i+m.per], func(s uint32) bool { return s != 0 }) {
			codes = append(codes, byte(m.low+i/m.per))
		}
	}
	return codes
}

// spareKeys are keys without a meaning that were given one. All programs read the whole keyboard again at each change,
// and window managers take a tenth of a second for it: so there is one change for a text, and what was given stays
// until others are wanted.
type spareKeys struct {
	codes []byte
	syms  []uint32 // that they have now; 0: none
	used  []int    // when each was wanted last
	turn  int
}

// settle is how long programs take to read the keyboard anew.
const settle = 30 * time.Millisecond

// readMax is how long they take to read what was typed.
const readMax = 300 * time.Millisecond

// ErrKeys is a text with more letters that the keyboard lacks than it has keys to give.
var errKeys = errors.New("the keyboard has no keys left for these letters")

// give makes sure that all symbols have a key, by one change of the keyboard at the most.
func (c *Conn) give(m *keymap, syms []uint32) (changed bool, err error) {
	if c.spare == nil {
		codes := m.unused()
		c.spare = &spareKeys{codes: codes, syms: make([]uint32, len(codes)), used: make([]int, len(codes))}
	}
	s := c.spare
	s.turn++
	var lacking []uint32
	for _, sym := range syms {
		if _, _, ok := m.find(sym); ok {
			if i := slices.Index(s.syms, sym); i >= 0 {
				s.used[i] = s.turn
			}
			continue
		}
		if !slices.Contains(lacking, sym) {
			lacking = append(lacking, sym)
		}
	}
	if len(lacking) == 0 {
		return false, nil
	}
	for _, sym := range lacking {
		oldest := -1
		for i := range s.syms {
			if s.used[i] < s.turn && (oldest < 0 || s.used[i] < s.used[oldest]) {
				oldest = i
			}
		}
		if oldest < 0 {
			return false, errKeys
		}
		s.syms[oldest], s.used[oldest] = sym, s.turn
	}
	return true, c.meaning(m)
}

// meaning gives spare keys their symbols, with shift and without, by one request: keys that stand between them get what
// they have.
func (c *Conn) meaning(m *keymap) error {
	s := c.spare
	if len(s.codes) == 0 {
		return nil
	}
	first, last := s.codes[0], s.codes[len(s.codes)-1]
	from := (int(first) - m.low) * m.per
	syms := slices.Clone(m.syms[from : from+(int(last-first)+1)*m.per])
	for i, code := range s.codes {
		at := int(code-first) * m.per
		clear(syms[at : at+m.per])
		for k := range min(2, m.per) {
			syms[at+k] = s.syms[i]
		}
	}
	var body []byte
	for _, sym := range syms {
		body = append(body, u32(sym)...)
	}
	return c.do(request(100, last-first+1, []byte{first, byte(m.per), 0, 0}, body))
}

// Restore takes the meaning away that keys were given.
func (c *Conn) Restore() error {
	s := c.spare
	if s == nil || !slices.ContainsFunc(s.syms, func(v uint32) bool { return v != 0 }) {
		return nil
	}
	m, err := c.keymap()
	if err != nil {
		return err
	}
	clear(s.syms)
	return c.meaning(m)
}

// Type presses the keys of a text, whatever its letters. Line ends are Return, tabs Tab.
func (c *Conn) Type(ctx context.Context, text string) error {
	m, err := c.keymap()
	if err != nil {
		return err
	}
	letters := []rune(text)
	for part := 0; len(letters) > 0; part++ {
		if part > 0 { // what was typed must be read before its keys get other letters
			if err := pause(ctx, readMax); err != nil {
				return err
			}
		}
		n, lacking := 0, map[uint32]bool{}
		room := len(m.unused())
		if c.spare != nil {
			room = len(c.spare.syms)
		}
		for ; n < len(letters); n++ { // as many as the keyboard can hold at once
			if _, _, ok := m.find(SymOf(letters[n])); !ok || c.spare != nil && slices.Contains(c.spare.syms, SymOf(letters[n])) {
				if lacking[SymOf(letters[n])] = true; len(lacking) > room {
					break
				}
			}
		}
		if n == 0 {
			return errKeys
		}
		if m, err = c.press(ctx, m, letters[:n]); err != nil {
			return err
		}
		letters = letters[n:]
	}
	return nil
}

// press types letters for which there is room.
func (c *Conn) press(ctx context.Context, m *keymap, letters []rune) (*keymap, error) {
	var syms []uint32
	for _, r := range letters {
		syms = append(syms, SymOf(r))
	}
	changed, err := c.give(m, syms)
	if err != nil {
		return nil, err
	}
	if changed {
		if err := pause(ctx, settle); err != nil {
			return nil, err
		}
		if m, err = c.keymap(); err != nil {
			return nil, err
		}
	}
	shiftKey, _, _ := m.find(symShift)
	for _, sym := range syms {
		code, shift, ok := m.find(sym)
		if !ok {
			return nil, fmt.Errorf("no key for symbol %#x", sym)
		}
		if err := c.stroke(code, shift, shiftKey); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if changed { // programs look a key up when they get to it: later ones must not find another meaning
		return m, pause(ctx, settle)
	}
	return m, nil
}

func (c *Conn) stroke(code byte, shift bool, shiftKey byte) error {
	if !shift {
		return errors.Join(c.key(code, true), c.key(code, false))
	}
	return errors.Join(c.key(shiftKey, true), c.key(code, true), c.key(code, false), c.key(shiftKey, false))
}

// Chord presses a key with others held: "ctrl", "shift", "alt", "super".
func (c *Conn) Chord(ctx context.Context, name string, modifiers []string) error {
	sym, err := SymOfName(name)
	if err != nil {
		return err
	}
	m, err := c.keymap()
	if err != nil {
		return err
	}
	if changed, err := c.give(m, []uint32{sym}); err != nil {
		return err
	} else if changed {
		if err := pause(ctx, settle); err != nil {
			return err
		}
		if m, err = c.keymap(); err != nil {
			return err
		}
	}
	code, shift, ok := m.find(sym)
	if !ok {
		return fmt.Errorf("no key for %q", name)
	}
	var held []byte
	for _, mod := range modifiers {
		s, err := SymOfName(mod)
		if err != nil {
			return err
		}
		if k, _, ok := m.find(s); ok {
			held = append(held, k)
		}
	}
	shiftKey, _, _ := m.find(symShift)
	var errs []error
	for _, k := range held {
		errs = append(errs, c.key(k, true))
	}
	errs = append(errs, c.stroke(code, shift && !slices.Contains(held, shiftKey), shiftKey))
	for _, k := range slices.Backward(held) {
		errs = append(errs, c.key(k, false))
	}
	return errors.Join(errs...)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
