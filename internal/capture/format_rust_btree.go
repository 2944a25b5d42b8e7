package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// rustBTreeMap is BTreeMap<K, V>.
var rustBTreeMap = &formatter{
	name:  "rust BTreeMap",
	match: rustType("BTreeMap"),
	form: func(f *form) bool {
		tree, ok := findRustTree(f.T, 0)
		if !ok {
			return false
		}
		f.P.Load(r7, tree.length, 8)
		return f.Pairs(tree.k, tree.v, r7, func() { f.entries(&tree, true) })
	},
}

// rustBTreeSet is BTreeSet<T>: a map to nothing.
var rustBTreeSet = &formatter{
	name:  "rust BTreeSet",
	match: rustType("BTreeSet"),
	form: func(f *form) bool {
		off, m, ok := f.Field("map")
		if !ok {
			return false
		}
		tree, ok := findRustTree(m.Strip(), off)
		if !ok {
			return false
		}
		f.P.Load(r7, tree.length, 8)
		return f.Sequence(tree.k, r7, func() { f.entries(&tree, false) })
	},
}

// rustTree is a B-tree: a node has len keys, in order, each with its value, and, height levels above the leaves, a
// child before each key and one behind the last. Offsets of root, height and length are in the object, the others in a
// node.
type rustTree struct {
	root, height, length            int64
	keys, vals, count, parent, slot int64
	edges                           int64
	k, v                            *symbol.Type
}

func findRustTree(t *symbol.Type, at int64) (tree rustTree, ok bool) {
	root, rt, ok := field(t, "root")
	node, leaf, ok1 := rustPointer(rt)
	height, ok2 := rustWord(rt, "height")
	length, _, ok3 := field(t, "length")
	if !ok || !ok1 || !ok2 || !ok3 {
		return tree, false
	}
	tree = rustTree{root: at + root + node, height: at + root + height, length: at + length}
	tree.k, ok = rustParam(t, "K")
	tree.v, ok1 = rustParam(t, "V")
	if !ok || !ok1 {
		return tree, false
	}
	var ks, vs *symbol.Type
	tree.keys, ks, ok = field(leaf, "keys")
	tree.vals, vs, ok1 = field(leaf, "vals")
	tree.count, ok2 = rustNumber(leaf, "len", 2)
	tree.slot, ok3 = rustNumber(leaf, "parent_idx", 2)
	if !ok || !ok1 || !ok2 || !ok3 || sizeOf(ks.Strip().Elem()) != sizeOf(tree.k) ||
		sizeOf(vs.Strip().Elem()) != sizeOf(tree.v) {
		return tree, false
	}
	parent, pt, ok := field(leaf, "parent")
	up, inner, ok1 := rustPointer(pt)
	data, _, ok2 := field(inner, "data")
	edges, _, ok3 := field(inner, "edges")
	tree.parent, tree.edges = parent+up, edges-data
	return tree, ok && ok1 && ok2 && ok3 && data == 0
}

// entries pushes the addresses of the first keys, each followed by that of its value if there are pairs, in order. r7
// has the number of entries. A tree that does not hold together ends the walk by its steps, or by an address that
// cannot be read.
func (f *form) entries(t *rustTree, pairs bool) {
	const node, height, index, left, tmp = r0, r1, r2, r3, r4
	p := f.P
	p.ALUImm(ring.ALUAdd, left, r7, 0)
	few := p.Label()
	p.ALUImm(ring.ALUULe, tmp, left, limit)
	p.JumpNot(tmp, few)
	p.Const(left, limit)
	p.Bind(few)
	p.Load(node, t.root, 8)
	p.Load(height, t.height, 8)
	out, leftmost, entry := p.Label(), p.Here(), p.Label()
	p.JumpZero(left, out)
	p.JumpZero(node, out)
	p.Const(index, 0)
	p.JumpZero(height, entry)
	p.LoadMem(node, node, t.edges, 8)
	p.ALUImm(ring.ALUSub, height, height, 1)
	p.Jump(leftmost)

	p.Bind(entry) // of this node the one at index, if it has that; or else its parent's
	p.JumpZero(left, out)
	here := p.Label()
	p.LoadMem(tmp, node, t.count, 2)
	p.ALU(ring.ALUULt, tmp, index, tmp)
	p.JumpNot(tmp, here)
	p.LoadMem(index, node, t.slot, 2)
	p.LoadMem(node, node, t.parent, 8)
	p.JumpZero(node, out)
	p.ALUImm(ring.ALUAdd, height, height, 1)
	p.Jump(entry)

	p.Bind(here)
	f.pushItem(node, index, t.keys, sizeOf(t.k))
	if pairs {
		f.pushItem(node, index, t.vals, sizeOf(t.v))
	}
	p.ALUImm(ring.ALUSub, left, left, 1)
	p.ALUImm(ring.ALUAdd, index, index, 1)
	p.JumpZero(height, entry)
	p.ALUImm(ring.ALUMul, tmp, index, 8) // the child behind the key, then down to its first leaf
	p.ALU(ring.ALUAdd, tmp, tmp, node)
	p.LoadMem(node, tmp, t.edges, 8)
	p.ALUImm(ring.ALUSub, height, height, 1)
	p.Jump(leftmost)
	p.Bind(out)
}

// pushItem pushes the address of an item of an array in a node.
func (f *form) pushItem(node, index reg, off, size int64) {
	f.P.ALUImm(ring.ALUMul, r4, index, size)
	f.P.ALU(ring.ALUAdd, r4, r4, node)
	f.P.ALUImm(ring.ALUAdd, r4, r4, off)
	f.P.Push(r4)
}
