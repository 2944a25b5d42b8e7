package parquet

import "encoding/binary"

// Types of fields in Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift appends structs in Thrift's compact protocol, in which Parquet's headers and footer are written.
type thrift struct {
	b    []byte
	last []int16 // number of the last field, of each struct that is open
}

func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) field(id int16, kind byte) {
	last := &t.last[len(t.last)-1]
	if d := id - *last; d > 0 && d < 16 {
		t.b = append(t.b, byte(d)<<4|kind)
	} else {
		t.b = binary.AppendVarint(append(t.b, kind), int64(id))
	}
	*last = id
}

func (t *thrift) i32(id int16, v int) {
	t.field(id, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(id int16, v int64) {
	t.field(id, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) bool(id int16, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) text(id int16, s string) {
	t.field(id, thriftBinary)
	t.bareText(s)
}

func (t *thrift) bareText(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

// open begins a struct that is a field; end ends it.
func (t *thrift) open(id int16) {
	t.field(id, thriftStruct)
	t.begin()
}

// list begins a list of n elements, which follow without numbers.
func (t *thrift) list(id int16, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
	} else {
		t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(n))
	}
}
