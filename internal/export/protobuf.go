package export

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message that is being written, with fields in the order of the calls.
type message []byte

func (m *message) uint(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) int(field protowire.Number, v int64) { m.uint(field, uint64(v)) }

func (m *message) bool(field protowire.Number, v bool) { m.uint(field, protowire.EncodeBool(v)) }

func (m *message) fixed64(field protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

// text writes a string, which must be UTF-8.
func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

// begin begins a message in the message and returns what end wants.
func (m *message) begin(field protowire.Number) int {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	return len(*m)
}

// end ends the message that begin began at: its length goes in front of it.
func (m *message) end(at int) {
	var size [10]byte
	*m = slices.Insert(*m, at, protowire.AppendVarint(size[:0], uint64(len(*m)-at))...)
}
