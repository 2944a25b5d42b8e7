package capture

import (
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

const (
	walkPairs walkWhat = 32 + iota // words: a count, and addresses of a key and of its value in turns
	walkPair                       // these two addresses
)

// Pairs is Map for keys and values that lie apart: each pushes the address of a key and that of its value, for at most
// limit keys, and leaves n alone.
func (f *form) Pairs(key, val *symbol.Type, n reg, each func()) bool {
	key, val = key.Strip(), val.Strip()
	if sizeOf(key) < 0 || sizeOf(val) < 0 {
		return false
	}
	f.V.Class, f.V.Elem = value.ClassPairs, f.Elem(key)
	f.V.Fields = []value.TypeField{{Type: f.Elem(val)}}
	if f.dry {
		return true
	}
	tt := f.tt
	f.V.Deeper = tt.recursive(f.T, val) || tt.recursive(f.T, key)
	tt.walk(key)
	tt.walk(val)
	f.V.ElemWalk, f.V.Num = tt.walks.id(key, walkObject), int64(tt.walks.id(val, walkObject))
	f.V.Walk = tt.walks.id(f.T, walkPairs)
	if !tt.walks.defined(f.V.Walk) {
		one := tt.walks.id(f.T, walkPair)
		p := &prog{}
		p.Load(r0, 0, 8)
		p.Node(f.V.ElemWalk, r0, noReg, sizeOf(key), f.V.Deeper)
		p.Load(r0, 8, 8)
		p.Node(uint16(f.V.Num), r0, noReg, sizeOf(val), f.V.Deeper)
		tt.define(one, p)
		p = &prog{}
		p.loop(one, 8, 16, -1, 0)
		tt.define(f.V.Walk, p)
	}
	f.P.Open(f.V.Walk)
	f.P.Push(n)
	each()
	f.P.Close()
	return true
}
