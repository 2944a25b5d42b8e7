package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// rustHashMap is HashMap<K, V>, that of std and of hashbrown.
var rustHashMap = &formatter{
	name:  "rust HashMap",
	match: rustType("HashMap"),
	form: func(f *form) bool {
		table, ok := findRustTable(f.T)
		if !ok {
			return false
		}
		f.P.Load(r0, table.items, 8)
		return f.Map(table.pair, r0, func() { f.buckets(&table, 0) })
	},
}

// rustHashSet is HashSet<T>: a map to ().
var rustHashSet = &formatter{
	name:  "rust HashSet",
	match: rustType("HashSet"),
	form: func(f *form) bool {
		table, ok := findRustTable(f.T)
		if !ok {
			return false
		}
		key, kt, ok := field(table.pair, "__0")
		if !ok {
			return false
		}
		f.P.Load(r0, table.items, 8)
		return f.Sequence(kt, r0, func() { f.buckets(&table, key) })
	},
}

// rustTable is a hashbrown table: control bytes from ctrl on, one for each bucket, those of buckets in use below 128;
// the buckets lie below ctrl, the first one nearest.
//
//	… | bucket 2 | bucket 1 | bucket 0 | c0 c1 c2 … | copies of the first ones
//	                                    ^ ctrl
type rustTable struct {
	ctrl, mask, items int64 // offsets of the members; mask is the number of buckets less one
	pair              *symbol.Type
}

func findRustTable(t *symbol.Type) (table rustTable, ok bool) {
	at, raw, ok := rustFind(t, func(_ string, t *symbol.Type) bool { return strings.HasPrefix(t.Name, "RawTable<") })
	if !ok {
		return table, false
	}
	pair, ok := rustParam(raw, "T")
	ctrl, ct, ok1 := rustMember(raw, "ctrl")
	ptr, _, ok2 := rustPointer(ct)
	mask, ok3 := rustWord(raw, "bucket_mask")
	items, ok4 := rustWord(raw, "items")
	return rustTable{at + ctrl + ptr, at + mask, at + items, pair}, ok && ok1 && ok2 && ok3 && ok4
}

// maxGroups bounds how many times 8 control bytes are looked at: a table from which nearly all was removed stays large.
const maxGroups = 1000

// buckets pushes the addresses of what is at off in the buckets in use. r0 has their number.
func (f *form) buckets(t *rustTable, off int64) {
	p, size := f.P, sizeOf(t.pair)
	f.upTo(r4, r0)
	p.Load(r1, t.ctrl, 8)
	p.ALUImm(ring.ALUAdd, r5, r1, off-size) // of the first bucket
	p.Load(r2, t.mask, 8)
	p.ALUImm(ring.ALUShr, r2, r2, 3)
	f.atMost(r2, maxGroups)
	p.ALUImm(ring.ALUAdd, r2, r2, 1) // groups of 8 to look at
	group, out := p.Here(), p.Label()
	p.JumpZero(r4, out)
	p.JumpZero(r2, out)
	p.LoadMem(r6, r1, 0, 8)
	p.ALUImm(ring.ALUXor, r6, r6, -1)
	p.Const(r3, 0x8080808080808080)
	p.ALU(ring.ALUAnd, r6, r6, r3) // bit 7 of each byte: its bucket is in use
	p.ALUImm(ring.ALUAdd, r3, r5, 0)
	bucket, next, done := p.Here(), p.Label(), p.Label()
	p.JumpZero(r6, done)
	p.JumpZero(r4, done)
	p.ALUImm(ring.ALUAnd, r7, r6, 0x80)
	p.JumpZero(r7, next)
	p.Push(r3)
	p.ALUImm(ring.ALUSub, r4, r4, 1)
	p.Bind(next)
	p.ALUImm(ring.ALUSub, r3, r3, size)
	p.ALUImm(ring.ALUShr, r6, r6, 8)
	p.Jump(bucket)
	p.Bind(done)
	p.ALUImm(ring.ALUSub, r5, r5, 8*size)
	p.ALUImm(ring.ALUAdd, r1, r1, 8)
	p.ALUImm(ring.ALUSub, r2, r2, 1)
	p.Jump(group)
	p.Bind(out)
}

// atMost keeps a at or below n.
func (f *form) atMost(a reg, n uint64) {
	fits := f.P.Label()
	f.P.ALUImm(ring.ALUULe, r7, a, int64(n))
	f.P.JumpNot(r7, fits)
	f.P.Const(a, n)
	f.P.Bind(fits)
}
