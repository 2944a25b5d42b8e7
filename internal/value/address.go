package value

import "strings"

// Address returns the address that v shows, false where v is anything else; a null pointer is null, and no address.
func (v Value) Address() (uint64, bool) {
	return v.lo, v.kind == Text && v.num && strings.HasPrefix(v.text, "0x")
}
