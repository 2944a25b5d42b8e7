package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// llvmList is {__end_: {__prev_, __next_}, a count}, a ring of nodes; an element follows its node's pointers.
func llvmList(f *form) bool {
	elem, ok := typeArg(f.T, 0)
	end, node, ok1 := f.any(path{"__end_"})
	first, _, ok2 := f.any(path{"__end_", "__next_"})
	_, ok3 := f.load(r4, path{"__size_alloc_", "__value_"}, path{"__size_"})
	if !ok || !ok1 || !ok2 || !ok3 || sizeOf(node) <= 0 {
		return false
	}
	f.P.Load(r0, first, 8)
	return f.Sequence(elem, r4, f.chain(elem, first-end, aligned(sizeOf(node), elem)))
}

// llvmForwardList is {__before_begin_: {__next_}}, without a count.
func llvmForwardList(f *form) bool {
	elem, ok := typeArg(f.T, 0)
	first, next, ok1 := f.any(path{"__before_begin_", "__value_", "__next_"}, path{"__before_begin_", "__next_"})
	if !ok || !ok1 || next.Kind != symbol.KindPointer {
		return false
	}
	f.P.Load(r0, first, 8)
	f.P.Const(r6, 0)
	f.countChain(0, r6)
	return f.Sequence(elem, r4, f.chain(elem, 0, aligned(8, elem)))
}

// llvmTree is {__tree_: {__begin_node_, __end_node_: {__left_}, a count}}. __left_ leads to {__right_, __parent_,
// __is_black_}, which an element follows where it finds room.
func llvmTree(f *form, isMap bool) bool {
	_, tree, ok := f.any(path{"__tree_"})
	if !ok {
		return false
	}
	elem, ok := f.llvmElem(tree)
	end, ok1 := f.loadPointer(r0, path{"__tree_", "__begin_node_"})
	_, ok2 := f.load(r4, path{"__tree_", "__pair3_", "__value_"}, path{"__tree_", "__size_"})
	left, toNode, ok3 := field(end, "__left_")
	if !ok || !ok1 || !ok2 || !ok3 || toNode.Strip().Kind != symbol.KindPointer {
		return false
	}
	node := toNode.Strip().Elem()
	right, _, ok := field(node, "__right_")
	parent, _, ok1 := field(node, "__parent_")
	black, _, ok2 := field(node, "__is_black_")
	if !ok || !ok1 || !ok2 {
		return false
	}
	each := f.inOrder(aligned(black+1, elem), left, right, parent)
	if isMap {
		return f.Map(elem, r4, each)
	}
	return f.Sequence(elem, r4, each)
}

// llvmElem is the type of a tree's or table's elements: its first template argument, or of one that maps keys the pair
// in that, or since version 21 what the container's allocator is for.
func (f *form) llvmElem(t *symbol.Type) (*symbol.Type, bool) {
	elem, ok := typeArg(t, 0)
	if !ok {
		return nil, false
	}
	for _, name := range []string{"__cc_", "__cc"} {
		if _, pair, ok := field(elem, name); ok {
			return pair, true
		}
	}
	if !isClass(elem.Strip(), "__value_type") && !isClass(elem.Strip(), "__hash_value_type") {
		return elem, true
	}
	allocator, ok := typeArg(f.T, len(f.T.TemplateParams())-1)
	if !ok {
		return nil, false
	}
	return typeArg(allocator, 0)
}

// llvmHash is {__table_: {__first_node_: {__next_}, a count}}: all nodes are one list. An element follows the pointer
// and the hash.
func llvmHash(f *form, isMap bool) bool {
	_, table, ok := f.any(path{"__table_"})
	if !ok {
		return false
	}
	elem, ok := f.llvmElem(table)
	first, _, ok1 := f.any(path{"__table_", "__p1_", "__value_", "__next_"}, path{"__table_", "__first_node_", "__next_"})
	_, ok2 := f.load(r4, path{"__table_", "__p2_", "__value_"}, path{"__table_", "__size_"})
	if !ok || !ok1 || !ok2 {
		return false
	}
	f.P.Load(r0, first, 8)
	each := f.chain(elem, 0, aligned(16, elem))
	if isMap {
		return f.Map(elem, r4, each)
	}
	return f.Sequence(elem, r4, each)
}
