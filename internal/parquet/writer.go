package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Numbers of the format: Parquet's enumerations.
const (
	typeInt64     = 2
	typeByteArray = 6

	encodingPlain       = 0
	encodingRLE         = 3
	encodingDelta       = 5
	encodingDeltaLength = 6
	encodingDictionary  = 8

	codecZstd = 6

	pageData       = 0
	pageDictionary = 2
)

const (
	magic = "PAR1"
	// groupRows and groupBytes bound a row group. All of it is in memory until it is written, compressed, beside a
	// page of each column; and it is what a reader takes or leaves as a whole.
	groupRows  = 1 << 20
	groupBytes = 32 << 20
	// checkRows is how often sizes are looked at.
	checkRows = 256
)

// codec compresses pages.
type codec struct {
	enc    *zstd.Encoder
	raw    []byte // room for a page
	packed []byte
	head   thrift
}

// page appends a page of that kind with its header, whose own part head writes, and says how long it would be without
// compression.
func (c *codec) page(dst, raw []byte, kind int, head func(*thrift)) ([]byte, int) {
	c.packed = c.enc.EncodeAll(raw, c.packed[:0])
	t := &c.head
	t.b = t.b[:0]
	t.begin()
	t.i32(1, kind)
	t.i32(2, len(raw))
	t.i32(3, len(c.packed))
	head(t)
	t.end()
	return append(append(dst, t.b...), c.packed...), len(t.b) + len(raw)
}

// Writer writes one table. Not safe for concurrent use. What cannot be written is told by EndRow or Close.
type Writer struct {
	w     io.Writer
	at    int64 // bytes that are written
	cols  []column
	codec *codec
	meta  [][2]string
	rows  int64 // of the group
	total int64
	// groupRows bounds a group; tests have smaller ones.
	groupRows int64

	groups thrift // of the footer, as elements of a list
	count  int
	word   []byte
	fresh  int // bytes of texts since sizes were looked at
}

// NewWriter begins a table; meta are names and values for its footer.
func NewWriter(w io.Writer, columns []Column, meta [][2]string) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	out := &Writer{w: w, codec: &codec{enc: enc}, meta: meta, cols: make([]column, len(columns)), groupRows: groupRows}
	out.groups.last = []int16{0}
	for i := range out.cols {
		c := &out.cols[i]
		c.Column, c.codec = columns[i], out.codec
		c.reset()
	}
	return out, out.write([]byte(magic))
}

// Int sets a column of the row. Each is set once at most; one that is not set is a gap, or 0 or "" where the column has
// none.
func (w *Writer) Int(col int, v int64) { w.cols[col].int(v) }

// Text is Int for a text.
func (w *Writer) Text(col int, v string) {
	w.word = append(w.word[:0], v...)
	w.Bytes(col, w.word)
}

// Bytes is Int for bytes, which are not kept.
func (w *Writer) Bytes(col int, v []byte) {
	w.fresh += len(v)
	w.cols[col].text(v)
}

// EndRow ends the row.
func (w *Writer) EndRow() error {
	w.rows++
	for i := range w.cols {
		c := &w.cols[i]
		if c.values+int64(c.rows) < w.rows {
			switch {
			case c.Optional:
				c.gap()
			case c.Kind == Int:
				c.int(0)
			default:
				c.text(nil)
			}
		}
	}
	if w.rows%checkRows != 0 && w.fresh < pageBytes && w.rows < w.groupRows {
		return nil
	}
	w.fresh = 0
	size := 0
	for i := range w.cols {
		c := &w.cols[i]
		if c.full() {
			c.flush()
		}
		size += c.size()
	}
	if w.rows >= w.groupRows || size >= groupBytes {
		return w.flush()
	}
	return nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.w.Write(b)
	w.at += int64(n)
	if err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// flush writes the row group.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	t := &w.groups
	t.begin()
	t.list(1, thriftStruct, len(w.cols))
	start := w.at
	var raw int64
	for i := range w.cols {
		c := &w.cols[i]
		c.flush()
		first := w.at
		dict := c.dictionary()
		for _, b := range [][]byte{dict, c.pages} {
			if err := w.write(b); err != nil {
				return err
			}
		}
		w.chunk(c, first, int64(len(dict)))
		raw += c.raw
		c.reset()
	}
	t.i64(2, raw)
	t.i64(3, w.rows)
	t.i64(5, start)
	t.i64(6, w.at-start)
	t.end()
	w.count++
	w.total += w.rows
	w.rows = 0
	return nil
}

// chunk describes a column of the group in the footer.
func (w *Writer) chunk(c *column, first, dict int64) {
	t := &w.groups
	t.begin()
	t.i64(2, first)
	t.open(3)
	t.i32(1, c.physical())
	encodings := []int{encodingRLE}
	if c.plain && c.Kind == Int {
		encodings = append(encodings, encodingDelta)
	} else if c.plain {
		encodings = append(encodings, encodingDeltaLength)
	}
	if c.indexed {
		encodings = append(encodings, encodingDictionary)
	}
	if c.indexed || c.bare {
		encodings = append(encodings, encodingPlain)
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.b = binary.AppendVarint(t.b, int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.bareText(c.Name)
	t.i32(4, codecZstd)
	t.i64(5, c.values)
	t.i64(6, c.raw)
	t.i64(7, w.at-first)
	t.i64(9, first+dict)
	if dict > 0 {
		t.i64(11, first)
	}
	c.statistics(t)
	t.end()
	t.end()
}

func (c *column) physical() int {
	if c.Kind == Int {
		return typeInt64
	}
	return typeByteArray
}

// Close writes the footer. It does not close what is below.
func (w *Writer) Close() error {
	defer w.codec.enc.Close()
	if err := w.flush(); err != nil {
		return err
	}
	var t thrift
	t.begin()
	t.i32(1, 2)
	t.list(2, thriftStruct, len(w.cols)+1)
	t.begin()
	t.text(4, "schema")
	t.i32(5, len(w.cols))
	t.end()
	for i := range w.cols {
		w.cols[i].schema(&t)
	}
	t.i64(3, w.total)
	t.list(4, thriftStruct, w.count)
	t.b = append(t.b, w.groups.b...)
	t.list(5, thriftStruct, len(w.meta))
	for _, m := range w.meta {
		t.begin()
		t.text(1, m[0])
		t.text(2, m[1])
		t.end()
	}
	t.text(6, "strobe")
	t.list(7, thriftStruct, len(w.cols))
	for range w.cols { // texts are ordered by their bytes, integers by their numbers
		t.begin()
		t.open(1)
		t.end()
		t.end()
	}
	t.end()
	n := len(t.b)
	return w.write(append(binary.LittleEndian.AppendUint32(t.b, uint32(n)), magic...))
}

func (c *column) schema(t *thrift) {
	t.begin()
	t.i32(1, c.physical())
	repetition := 0
	if c.Optional {
		repetition = 1
	}
	t.i32(3, repetition)
	t.text(4, c.Name)
	if c.Kind == Text {
		t.i32(6, 0) // UTF8
		t.open(10)
		t.open(1)
		t.end()
		t.end()
	}
	t.end()
}
