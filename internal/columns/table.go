package columns

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/value"
)

// Place says what of a call a column is.
type Place uint8

// The places. Out is what pointers led to, and what watches were, at the end.
const (
	Argument Place = iota
	Watch
	Result
	Out
	Thrown
	Took
	Computed // what an expression gave
	numPlaces
)

// Bounds of a table and of the values in it.
const (
	MaxBytes   = 64 << 20 // of cells: 500,000 calls with a dozen columns that vary
	MaxColumns = 240      // more of one function's values nobody reads
	maxOfOne   = 60       // of these, of one argument: a large object must not leave the others none
	MaxDepth   = 6        // objects in objects
	maxMembers = 40       // of an object, each its own columns
	maxElems   = 3        // of an array, the same
	maxCodes   = 254      // different cells of a column that has a byte for each
	maxNames   = 1 << 13  // texts that are kept for showing them
	nameWidth  = 48       // bytes of such a text
	rowBytes   = 24       // of a row without its cells
	wideBytes  = 9        // of a cell that does not fit in a byte
)

// Room is memory that several tables share, in bytes.
type Room struct{ Left int }

// Table is calls of one function.
type Table struct {
	Rows      []Row
	Recursive bool // calls stood in calls of the same function on one thread
	Skipped   int  // values that got no column, because there were MaxColumns
	Cut       bool // objects with more members, or deeper, than columns are made for
	Depth     int  // objects in objects that have columns; 0: MaxDepth
	roots     [numPlaces]*node
	columns   []*Column
	names     map[Cell]string
	room      *Room
	top       *node // of the value that is being put in
}

// Row is a call. Exit is 0 while it is not known.
type Row struct {
	Enter, Exit int64 // event ids
	Thread      uint32
}

// Column is one value of the calls.
type Column struct {
	Path  string // "a.b[2]", "result.x", "out.a.b", "len(a)"
	Place Place
	order int // where it stands among its siblings
	n     int // cells that are not absent
	codes []byte
	dict  []Cell // code 1 is the first
	count []int  // of each
	index map[Cell]byte
	kinds []Kind // with words: instead of codes
	words []uint64
	of    *node // whose value it is

	last     Cell // the newest one with its code: it comes again most often
	lastCode byte
}

// node is a member on the way to columns.
type node struct {
	name   string
	path   string
	kids   []*node
	column *Column // of a single value here
	length *Column // of an array
	made   int     // of a whole value: how many columns it has
	up     *node   // that it is a member of
	laid   bool    // in a union that reads its bytes as several things
}

// New returns an empty table that takes its memory from room.
func New(room *Room) *Table { return &Table{room: room} }

// Columns are in the order of first seen values.
func (t *Table) Columns() []*Column { return t.columns }

// Add puts in a call; false: the table is full.
func (t *Table) Add(r Row) (row int, ok bool) {
	if t.room.Left <= 0 {
		return 0, false
	}
	t.room.Left -= rowBytes
	t.Rows = append(t.Rows, r)
	return len(t.Rows) - 1, true
}

// Put puts a value into a row, below the name that stands for it at its place.
func (t *Table) Put(row int, p Place, name string, v value.Value) {
	root := t.roots[p]
	if root == nil {
		root = &node{}
		t.roots[p] = root
	}
	t.top = root.kid(0, name, name)
	t.spread(t.top, p, row, v, MaxDepth-cmp.Or(t.Depth, MaxDepth))
}

// kid returns the member of a name, which is probably the i-th.
func (n *node) kid(i int, name, path string) *node {
	if i < len(n.kids) && n.kids[i].name == name {
		return n.kids[i]
	}
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	k := &node{name: name, path: path, up: n}
	n.kids = append(n.kids, k)
	return k
}

// member is kid with its path below n.
func (n *node) member(i int, name string) *node {
	if i < len(n.kids) && n.kids[i].name == name {
		return n.kids[i]
	}
	return n.kid(i, name, n.path+"."+name)
}

func (t *Table) spread(n *node, p Place, row int, v value.Value, depth int) {
	n.laid = n.laid || v.Overlaid() || n.up != nil && n.up.laid
	switch {
	case v.Kind() == value.Obj && depth < MaxDepth && len(v.Object()) > 0:
		if n.column != nil {
			t.room.Left -= n.column.set(row, there)
		}
		for i, m := range v.Object() {
			if i == maxMembers {
				t.Cut = true
				break
			}
			t.spread(n.member(i, m.Name), p, row, m.Value, depth+1)
		}
		return
	case v.Kind() == value.Array:
		elems, more := v.Elems()
		t.set(n, &n.length, "len("+n.path+")", p, row, Cell{Int, uint64(len(elems) + more)})
		for i := range min(len(elems), maxElems) {
			if depth < MaxDepth {
				e := n.kid(i, elementNames[i], n.path+elementNames[i])
				t.spread(e, p, row, elems[i], depth+1)
			}
		}
	case v.Kind() == value.Obj && depth >= MaxDepth:
		t.Cut = true
	}
	c := CellOf(v)
	if (c.Kind == Text || c.Kind == Name || c.Kind == Marker) && len(t.names) < maxNames {
		if _, ok := t.names[c]; !ok {
			if t.names == nil {
				t.names = map[Cell]string{}
			}
			t.names[c] = v.Short(nameWidth)
		}
	}
	fresh := n.column == nil && len(n.kids) > 0 && v.Kind() != value.Array
	if t.set(n, &n.column, n.path, p, row, c); fresh && n.column != nil {
		t.room.Left -= n.column.fill(n.first(), row)
	}
}

// there is an object that has columns of its own, in a column that says whether it is null.
var there = Cell{Whole, 1}

// first returns the first column below n.
func (n *node) first() *Column {
	for _, k := range n.kids {
		if k.column != nil {
			return k.column
		}
		if c := k.first(); c != nil {
			return c
		}
	}
	return nil
}

// fill says of the rows before that an object was there, if a member of it was.
func (c *Column) fill(member *Column, before int) (grown int) {
	for row := range before {
		if member != nil && member.At(row).Kind != Absent {
			grown += c.set(row, there)
		}
	}
	return grown
}

// Expected is how many of rows have what the value is a member of.
func (c *Column) Expected(rows int) int {
	for n := c.of.up; n != nil; n = n.up {
		if n.column == nil {
			continue
		}
		rows = 0
		for i, cell := range n.column.dict {
			if cell.Kind == Whole {
				rows += n.column.count[i]
			}
		}
		if n.column.words != nil {
			rows = n.column.n
		}
		break
	}
	return rows
}

var elementNames = [maxElems]string{"[0]", "[1]", "[2]"}

// set puts a cell into a column that may have to be made.
func (t *Table) set(n *node, at **Column, path string, p Place, row int, cell Cell) {
	if *at == nil {
		if len(t.columns) == MaxColumns || t.top.made == maxOfOne {
			t.Skipped++
			return
		}
		t.top.made++
		*at = &Column{Path: path, Place: p, order: len(t.columns), index: map[Cell]byte{}, of: n}
		t.columns = append(t.columns, *at)
	}
	t.room.Left -= (*at).set(row, cell)
}

// set returns how many bytes more the column has.
func (c *Column) set(row int, cell Cell) int {
	if c.words != nil {
		return c.setWide(row, cell)
	}
	code, ok := c.lastCode, c.lastCode != 0 && cell == c.last
	if !ok {
		code, ok = c.index[cell]
	}
	if !ok && len(c.dict) == maxCodes {
		return c.widen() + c.setWide(row, cell)
	}
	if !ok {
		c.dict, c.count = append(c.dict, cell), append(c.count, 0)
		code = byte(len(c.dict))
		c.index[cell] = code
	}
	c.last, c.lastCode = cell, code
	before := len(c.codes)
	for len(c.codes) <= row {
		c.codes = append(c.codes, 0)
	}
	if c.codes[row] == 0 {
		c.n++
		c.codes[row] = code
		c.count[code-1]++
	}
	return len(c.codes) - before
}

func (c *Column) setWide(row int, cell Cell) int {
	before := len(c.words)
	for len(c.words) <= row {
		c.words, c.kinds = append(c.words, 0), append(c.kinds, Absent)
	}
	if c.kinds[row] == Absent {
		c.n++
		c.kinds[row], c.words[row] = cell.Kind, cell.Word
	}
	return (len(c.words) - before) * wideBytes
}

// widen gives every cell its own word.
func (c *Column) widen() int {
	words, kinds := make([]uint64, 0, 2*len(c.codes)), make([]Kind, 0, 2*len(c.codes))
	for i := range c.codes {
		cell := c.At(i)
		words, kinds = append(words, cell.Word), append(kinds, cell.Kind)
	}
	c.words, c.kinds = words, kinds
	grown := len(c.codes) * (wideBytes - 1)
	c.codes, c.dict, c.count, c.index = nil, nil, nil, nil
	return grown
}

// At returns a row's cell.
func (c *Column) At(row int) Cell {
	if c.words != nil {
		if row < len(c.words) {
			return Cell{c.kinds[row], c.words[row]}
		}
		return Cell{}
	}
	if row < len(c.codes) && c.codes[row] != 0 {
		return c.dict[c.codes[row]-1]
	}
	return Cell{}
}

// Len is how many rows have a value.
func (c *Column) Len() int { return c.n }

// Inner reports whether a column says nothing to who reads the program: it is of a library's or compiler's own, by its
// reserved name, or what a union would be if it held something else.
func (c *Column) Inner() bool {
	return c.of.laid ||
		strings.Contains(c.Path, "._M_") || strings.Contains(c.Path, ".__") || strings.HasPrefix(c.Path, "__")
}

// Same returns the value that the column has wherever it has one; false: it has several, or none.
func (c *Column) Same() (Cell, bool) {
	if c.words != nil || len(c.dict) != 1 {
		return Cell{}, false
	}
	return c.dict[0], true
}

// Different is how many different values the column has; 0: very many.
func (c *Column) Different() int { return len(c.dict) }

// Show writes a cell in short; a text that was not kept is "…".
func (t *Table) Show(c Cell) string {
	if s, ok := c.show(); ok {
		return s
	}
	if s, ok := t.names[c]; ok {
		return s
	}
	switch c.Kind {
	case Absent:
		return "-"
	case Whole:
		if c == there {
			return "{…}"
		}
		return fmt.Sprintf("{%04x}", uint16(c.Word))
	}
	return "…"
}

// Find returns the column of a path.
func (t *Table) Find(path string) *Column {
	for _, c := range t.columns {
		if c.Path == path {
			return c
		}
	}
	return nil
}

// Range returns the least and the greatest number of a column; false: it has none.
func (c *Column) Range() (lo, hi Cell, ok bool) {
	for i := range max(len(c.codes), len(c.words)) {
		v := c.At(i)
		if !v.Number() {
			continue
		}
		if below, _ := Compare(v, lo); !ok || below < 0 {
			lo = v
		}
		if above, _ := Compare(v, hi); !ok || above > 0 {
			hi = v
		}
		ok = true
	}
	return lo, hi, ok
}

// Cell is At of a column that may be nil.
func (t *Table) Cell(c *Column, row int) Cell {
	if c == nil {
		return Cell{}
	}
	return c.At(row)
}

// Counted is what a column has in some rows.
type Counted struct {
	All         map[Cell]int // the first maxDistinct different ones
	Values      map[Cell]int // those that come often enough to say something; Absent too
	Numbers     int
	Least, Most Cell // of the numbers
}

// maxDistinct bounds the different values that are counted.
const maxDistinct = 1 << 16

// Count adds up what a column has in rows.
func (t *Table) Count(c *Column, rows []int) Counted {
	n := Counted{All: map[Cell]int{}, Values: map[Cell]int{}}
	for _, row := range rows {
		v := c.At(row)
		if n.All[v] > 0 || len(n.All) < maxDistinct {
			n.All[v]++
		}
		if !v.Number() {
			continue
		}
		if below, _ := Compare(v, n.Least); n.Numbers == 0 || below < 0 {
			n.Least = v
		}
		if above, _ := Compare(v, n.Most); n.Numbers == 0 || above > 0 {
			n.Most = v
		}
		n.Numbers++
	}
	for v, k := range n.All {
		if k*20 >= len(rows) {
			n.Values[v] = k
		}
	}
	return n
}
