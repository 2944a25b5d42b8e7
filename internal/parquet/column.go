package parquet

import (
	"encoding/binary"
	"math/bits"
)

// Kind is what a column holds.
type Kind uint8

const (
	Int   Kind = iota // 64 bits with a sign
	Text              // UTF-8
	Bytes             // anything
)

// Column is one column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool // rows may have none
}

const (
	// pageValues and pageBytes bound a page: a reader holds one of each column in memory.
	pageValues = 1 << 16
	pageBytes  = 512 << 10
	// dictValues and dictBytes bound a dictionary: beyond it texts are hardly repeated.
	dictValues = 1 << 15
	dictBytes  = 1 << 20
	// statBytes bounds a text that is told as a column's least or greatest: it is in the footer.
	statBytes = 64
)

// column is what a row group has of a column.
type column struct {
	Column
	codec *codec

	rows  int // in the page, gaps too
	defs  []uint32
	gaps  int64 // in the group
	ints  []int64
	index []uint32 // of texts, in the dictionary
	data  []byte   // of texts beyond it, of which ints are the lengths

	dict      map[string]uint32 // nil: texts are written as they are
	words     []byte            // the dictionary's page
	dictFull  bool              // in this group some texts are not in it
	useless   bool              // the group before found nothing twice
	min, max  int64
	low, high string
	any       bool // min and max hold; of texts only while dict has all of them

	values  int64 // in finished pages, gaps too
	pages   []byte
	raw     int64 // bytes of the pages before compression, with their headers
	indexed bool  // there are pages of indexes
	plain   bool  // there are pages without
	bare    bool  // there are pages of nothing but gaps
}

func (c *column) int(v int64) {
	if c.rows++; c.Optional {
		c.defs = append(c.defs, 1)
	}
	c.ints = append(c.ints, v)
	if !c.any {
		c.min, c.max, c.any = v, v, true
	}
	c.min, c.max = min(c.min, v), max(c.max, v)
}

func (c *column) gap() {
	c.rows++
	c.gaps++
	c.defs = append(c.defs, 0)
}

func (c *column) text(v []byte) {
	if c.dict != nil {
		i, ok := c.dict[string(v)]
		if !ok {
			i, ok = c.word(v)
		}
		if ok {
			if c.rows++; c.Optional {
				c.defs = append(c.defs, 1)
			}
			c.index = append(c.index, i)
			return
		}
		c.flush() // what comes has another encoding
		c.dict, c.dictFull = nil, true
	}
	if c.rows++; c.Optional {
		c.defs = append(c.defs, 1)
	}
	c.data, c.ints = append(c.data, v...), append(c.ints, int64(len(v)))
}

// word adds a text to the dictionary; false: there is no room.
func (c *column) word(v []byte) (uint32, bool) {
	i := len(c.dict)
	if i == dictValues || len(c.words)+len(v) > dictBytes {
		return 0, false
	}
	s := string(v)
	c.dict[s] = uint32(i)
	c.words = append(binary.LittleEndian.AppendUint32(c.words, uint32(len(v))), v...)
	if i == 0 {
		c.low, c.high = s, s
	}
	c.low, c.high = min(c.low, s), max(c.high, s)
	return uint32(i), true
}

// full reports whether the page is to be finished.
func (c *column) full() bool { return c.rows >= pageValues || len(c.data) >= pageBytes }

// size is what the group has of the column so far, in bytes.
func (c *column) size() int { return len(c.pages) + len(c.words) + len(c.data) + 4*len(c.index) }

// flush finishes the page.
func (c *column) flush() {
	if c.rows == 0 {
		return
	}
	b := c.codec.raw[:0]
	if c.Optional {
		b = append(b, 0, 0, 0, 0)
		b = appendHybrid(b, c.defs, 1)
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	}
	encoding := encodingDelta
	switch {
	case len(c.ints)+len(c.index) == 0: // gaps alone
		encoding = encodingPlain
		c.bare = true
	case c.Kind == Int:
		b = appendDelta(b, c.ints)
		c.plain = true
	case c.dict != nil:
		encoding = encodingDictionary
		width := bits.Len(uint(max(len(c.dict)-1, 0)))
		b = appendHybrid(append(b, byte(width)), c.index, width)
		c.indexed = true
	default:
		encoding = encodingDeltaLength
		b = append(appendDelta(b, c.ints), c.data...)
		c.plain = true
	}
	c.codec.raw = b
	var n int
	c.pages, n = c.codec.page(c.pages, b, pageData, func(t *thrift) {
		t.open(5)
		t.i32(1, c.rows)
		t.i32(2, encoding)
		t.i32(3, encodingRLE)
		t.i32(4, encodingRLE)
		t.end()
	})
	c.raw += int64(n)
	c.values += int64(c.rows)
	c.rows, c.defs, c.ints, c.index, c.data = 0, c.defs[:0], c.ints[:0], c.index[:0], c.data[:0]
	if cap(c.data) > 4*pageBytes { // of one that was very long
		c.data = nil
	}
}

// dictionary returns the page that goes before the others, nil: there is none.
func (c *column) dictionary() []byte {
	if !c.indexed {
		return nil
	}
	entries := 0
	for b := c.words; len(b) > 0; entries++ {
		b = b[4+binary.LittleEndian.Uint32(b):]
	}
	page, raw := c.codec.page(nil, c.words, pageDictionary, func(t *thrift) {
		t.open(7)
		t.i32(1, entries)
		t.i32(2, encodingPlain)
		t.bool(3, false)
		t.end()
	})
	c.raw += int64(raw)
	return page
}

// statistics tells readers which groups they need not read.
func (c *column) statistics(t *thrift) {
	t.open(12)
	t.i64(3, c.gaps)
	switch {
	case c.Kind == Int && c.any:
		t.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.max))))
		t.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.min))))
	case c.Kind != Int && c.indexed && !c.dictFull && len(c.low) <= statBytes && len(c.high) <= statBytes:
		t.text(5, c.high)
		t.text(6, c.low)
	}
	t.end()
}

// reset makes the column ready for the next group.
func (c *column) reset() {
	useless := c.Kind != Int && (c.dictFull || c.useless)
	*c = column{Column: c.Column, codec: c.codec, defs: c.defs[:0], ints: c.ints[:0], index: c.index[:0],
		data: c.data[:0], words: c.words[:0], pages: c.pages[:0], useless: useless}
	if c.Kind != Int && !useless {
		c.dict = map[string]uint32{}
	}
}
