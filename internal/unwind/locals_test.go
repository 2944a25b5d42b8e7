//go:build linux && amd64

package unwind

import (
	"strconv"
	"testing"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// localsTally counts how locals compare with gdb's.
type localsTally struct{ all, same, nowhere, ours, theirs int }

// number reads an integer or pointer; ok is false when it is nowhere.
func number(u *Unwinder, l *Local) (v int64, ok bool) {
	t := l.Type.Strip()
	size := int(t.Size)
	if size < 1 || size > 8 {
		return 0, false
	}
	b, ok := u.Value(l.Place, size)
	for i, x := range b {
		v |= int64(x) << (8 * i)
	}
	if t.Encoding == symbol.EncSigned || t.Encoding == symbol.EncSignedChar {
		shift := 64 - 8*size
		v = v << shift >> shift
	}
	return v, ok
}

// compare checks the integers and pointers of all frames. Addresses differ between two runs; their
// being small does not.
func (c *localsTally) compare(t *testing.T, u *Unwinder, frames []Frame, want []gdbFrame) {
	t.Helper()
	for i := 0; i < len(frames) && i < len(want); i++ {
		ours := u.Locals(&frames[i])
		seen := map[string]bool{}
		for _, w := range want[i].locals {
			if seen[w.name] { // gdb lists inner blocks first
				continue
			}
			seen[w.name] = true
			var l *Local
			for k := range ours {
				if ours[k].Name == w.name && (l == nil || ours[k].Depth > l.Depth) {
					l = &ours[k]
				}
			}
			if l == nil && w.value == "optimized out" { // gdb adds what the source has and the code has not
				continue
			}
			if l == nil {
				t.Errorf("frame %d, %s: no local %s, gdb has %s", i, frames[i].Function, w.name, w.value)
				continue
			}
			c.all++
			got, ok := number(u, l)
			n, err := strconv.ParseInt(w.value, 10, 64)
			if err != nil {
				if un, e2 := strconv.ParseUint(w.value, 10, 64); e2 == nil {
					n, err = int64(un), nil
				}
			}
			const mapped = 1 << 20
			switch {
			case err != nil && !ok:
				c.nowhere++
			case err != nil:
				c.ours++
			case !ok:
				c.theirs++
				t.Logf("frame %d, %s: %s is nowhere (%s %x), gdb has %s", i, frames[i].Function, w.name, l.Place.Why, l.Loc.Expr,
					w.value)
			case got == n, l.Type.Strip().Kind == symbol.KindPointer && uint64(n) > mapped && uint64(got) > mapped:
				c.same++
			case uint64(n) > 1<<40 && uint64(got) > 1<<40: // an address in an integer
				c.same++
			default:
				t.Errorf("frame %d, %s: %s = %d, gdb has %s (%x, %+v)", i, frames[i].Function, w.name, got, w.value, l.Loc.Expr,
					l.Place)
			}
		}
	}
}
