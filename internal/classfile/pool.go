package classfile

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Tags of constants: JVMS 4.4.
const (
	tagUtf8        = 1
	tagInteger     = 3
	tagLong        = 5
	tagDouble      = 6
	tagClass       = 7
	tagMethodref   = 10
	tagInterfaceMr = 11
	tagNameAndType = 12
)

// sizes of constants behind their tag; 0: there is none, -1: it says so itself.
var sizes = [...]int{1: -1, 3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4,
	19: 2, 20: 2}

// Pool is a class's constants. It only grows.
type Pool struct {
	raw   []byte
	at    []int // of each constant in raw; -1: none has this index
	added map[string]uint16
}

func (p *Pool) read(r *reader) error {
	n := int(r.u16())
	start := r.b
	p.at = append(p.at, -1)
	for len(p.at) < n {
		p.at = append(p.at, len(start)-len(r.b))
		tag := r.u8()
		if tag >= len(sizes) || sizes[tag] == 0 {
			return fmt.Errorf("%w: constant %d has tag %d", ErrMalformed, len(p.at)-1, tag)
		}
		size := sizes[tag]
		if size < 0 {
			size = int(r.u16())
		}
		r.take(size)
		if r.bad {
			return fmt.Errorf("%w: it ends in constant %d of %d", ErrMalformed, len(p.at)-1, n)
		}
		if tag == tagLong || tag == tagDouble {
			p.at = append(p.at, -1)
		}
	}
	if len(p.at) != max(n, 1) {
		return fmt.Errorf("%w: its last constant has no room", ErrMalformed)
	}
	used := len(start) - len(r.b)
	p.raw = start[:used:used]
	return nil
}

// entry is a constant with this tag, without it; nil: there is none.
func (p *Pool) entry(i uint16, tag byte) []byte {
	if int(i) >= len(p.at) || p.at[i] < 0 || p.raw[p.at[i]] != tag {
		return nil
	}
	return p.raw[p.at[i]+1:]
}

// Utf8 is a text. Surrogates that stand for one character become it, as does the zero that is written in two bytes.
func (p *Pool) Utf8(i uint16) (string, bool) {
	b := p.entry(i, tagUtf8)
	if b == nil {
		return "", false
	}
	b = b[2 : 2+int(binary.BigEndian.Uint16(b))]
	if utf8.Valid(b) {
		return string(b), true
	}
	return decodeModified(b), true
}

// decodeModified reads the "modified UTF-8" of JVMS 4.4.7.
func decodeModified(b []byte) string {
	var units []uint16
	for len(b) > 0 {
		switch c := b[0]; {
		case c < 0x80:
			units, b = append(units, uint16(c)), b[1:]
		case c>>5 == 6 && len(b) > 1:
			units, b = append(units, uint16(c&0x1f)<<6|uint16(b[1]&0x3f)), b[2:]
		case c>>4 == 14 && len(b) > 2:
			units, b = append(units, uint16(c)<<12|uint16(b[1]&0x3f)<<6|uint16(b[2]&0x3f)), b[3:]
		default:
			units, b = append(units, utf8.RuneError), b[1:]
		}
	}
	return fromUnits(units)
}

// Class is a class's name; "" where there is none.
func (p *Pool) Class(i uint16) string {
	if b := p.entry(i, tagClass); b != nil {
		s, _ := p.Utf8(binary.BigEndian.Uint16(b))
		return s
	}
	return ""
}

func (p *Pool) nameAndType(i uint16) (name, desc string) {
	if b := p.entry(i, tagNameAndType); b != nil {
		name, _ = p.Utf8(binary.BigEndian.Uint16(b))
		desc, _ = p.Utf8(binary.BigEndian.Uint16(b[2:]))
	}
	return name, desc
}

// method is the name of a method that is called.
func (p *Pool) method(i uint16) string {
	b := p.entry(i, tagMethodref)
	if b == nil {
		if b = p.entry(i, tagInterfaceMr); b == nil {
			return ""
		}
	}
	name, _ := p.nameAndType(binary.BigEndian.Uint16(b[2:]))
	return name
}

// mostConstants is what a pool's count can say, less one.
const mostConstants = 0xFFFF

// add appends a constant that is not there from an earlier add.
func (p *Pool) add(entry []byte) (uint16, error) {
	if i, ok := p.added[string(entry)]; ok {
		return i, nil
	}
	if len(p.at) >= mostConstants {
		return 0, fmt.Errorf("%w: it has %d constants", ErrTooLarge, len(p.at)-1)
	}
	if p.added == nil {
		p.added = map[string]uint16{}
	}
	i := uint16(len(p.at))
	p.at = append(p.at, len(p.raw))
	p.raw = append(p.raw, entry...)
	p.added[string(entry)] = i
	return i, nil
}

// addUtf8 is of texts without zeros and of characters below U+10000 only.
func (p *Pool) addUtf8(s string) (uint16, error) {
	return p.add(append(put16([]byte{tagUtf8}, uint16(len(s))), s...))
}

func (p *Pool) addClass(name string) (uint16, error) {
	i, err := p.addUtf8(name)
	if err != nil {
		return 0, err
	}
	return p.add(put16([]byte{tagClass}, i))
}

func (p *Pool) addInteger(v int32) (uint16, error) {
	return p.add(put32([]byte{tagInteger}, uint32(v)))
}

func (p *Pool) addMethod(class, name, desc string) (uint16, error) {
	c, err := p.addClass(class)
	if err != nil {
		return 0, err
	}
	n, err := p.addUtf8(name)
	if err != nil {
		return 0, err
	}
	d, err := p.addUtf8(desc)
	if err != nil {
		return 0, err
	}
	nt, err := p.add(put16(put16([]byte{tagNameAndType}, n), d))
	if err != nil {
		return 0, err
	}
	return p.add(put16(put16([]byte{tagMethodref}, c), nt))
}

func fromUnits(units []uint16) string { return string(utf16.Decode(units)) }
