package unwind

import (
	"encoding/binary"
	"fmt"
)

// Memory is what the stopped or dead thread sees. Read fills b or returns an error; it need not be
// safe for concurrent use.
type Memory interface {
	Read(addr uint64, b []byte) error
}

const (
	pageSize = 4096
	// keptPages bounds what is remembered: one thread's stack is read upwards, its text in a few places.
	keptPages = 64
)

// pages reads memory by the page and remembers it: a frame is a handful of words next to each other.
type pages struct {
	mem  Memory
	slot [keptPages]struct {
		addr  uint64
		state uint8 // 0 empty, 1 readable, 2 not
		data  *[pageSize]byte
	}
}

func (p *pages) page(addr uint64) *[pageSize]byte {
	s := &p.slot[(addr/pageSize)%keptPages]
	if s.state == 0 || s.addr != addr {
		if s.data == nil {
			s.data = new([pageSize]byte)
		}
		s.addr, s.state = addr, 1
		if p.mem.Read(addr, s.data[:]) != nil {
			s.state = 2
		}
	}
	if s.state == 2 {
		return nil
	}
	return s.data
}

// read fills b from addr.
func (p *pages) read(addr uint64, b []byte) error {
	if addr+uint64(len(b)) < addr {
		return fmt.Errorf("read memory at %#x: it wraps around", addr)
	}
	for len(b) > 0 {
		off := addr % pageSize
		n := min(uint64(len(b)), pageSize-off)
		if pg := p.page(addr - off); pg != nil {
			copy(b[:n], pg[off:])
		} else if err := p.mem.Read(addr, b[:n]); err != nil { // a core file may end in the middle of a page
			return fmt.Errorf("read memory at %#x: %w", addr, err)
		}
		addr += n
		b = b[n:]
	}
	return nil
}

func (p *pages) word(addr uint64) (uint64, error) {
	var b [8]byte
	if err := p.read(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// cursor walks bytes. Past the end it returns zeros and sets bad.
type cursor struct {
	b   []byte
	off int
	bad bool
}

func (c *cursor) done() bool { return c.bad || c.off >= len(c.b) }

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)-c.off) {
		c.off, c.bad = len(c.b), true
		return nil
	}
	b := c.b[c.off : c.off+int(n)]
	c.off += int(n)
	return b
}

func (c *cursor) u8() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// fixed reads a little-endian number of n bytes, at most 8.
func (c *cursor) fixed(n uint64) (v uint64) {
	for i, x := range c.take(n) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if c.bad {
			return 0
		}
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		b := c.u8()
		if c.bad {
			return 0
		}
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}
