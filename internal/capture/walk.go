package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// making is the programs that one call of walk makes. A program names others by their IDs, and those are made after it,
// not inside: a type may lead back to itself, through containers and over any number of other types.
type making struct {
	busy  bool
	known map[uint16]bool
	todo  []*symbol.Type
	done  []WalkProgram
}

// define sets the program of a walk, once.
func (tt *typeTable) define(id uint16, p *prog) {
	ops := p.finish()
	if id == 0 || len(ops) == 0 {
		return
	}
	tt.making.done = append(tt.making.done, WalkProgram{ID: id, Ops: ops})
	tt.publish()
}

func (tt *typeTable) publish() {
	if m := &tt.making; !m.busy && len(m.done) > 0 {
		tt.walks.publish(m.done)
		m.done = nil
	}
}

// arrayWalk returns the walk of elements that lie together.
func (tt *typeTable) arrayWalk(elem *symbol.Type) uint16 {
	elem = elem.Strip()
	id := tt.walks.id(elem, walkArray)
	loop, needs := tt.needs(elem)
	if !needs || tt.walks.defined(id) {
		return id
	}
	p := &prog{}
	p.loop(tt.walks.id(elem, walkObject), 0, sizeOf(elem), -1, loop)
	tt.define(id, p)
	return id
}

// loop runs a program for each of n elements (-1: of as many as the node has) from off on. depth is how many loops
// there are inside.
func (p *prog) loop(walk uint16, off, size, n int64, depth int) {
	at, end, cond := reg(8+2*depth), reg(9+2*depth), r7
	if n < 0 {
		p.NodeBytes(end)
	} else {
		p.Const(end, uint64(off+n*size))
	}
	p.Const(at, uint64(off))
	top, out := p.Here(), p.Label()
	p.ALU(ring.ALUULt, cond, at, end)
	p.JumpZero(cond, out)
	p.Sub(walk, 0, at)
	p.ALUImm(ring.ALUAdd, at, at, size)
	p.Jump(top)
	p.Bind(out)
}

// maxLoops is how deep arrays in objects may nest, by the registers that loops use.
const maxLoops = 4

// seqWalk returns the walk of a count and addresses of elements, and that of the elements, which lie deeper if the
// container's own type may be in them again.
func (tt *typeTable) seqWalk(container, elem *symbol.Type, deeper bool) (seq, object uint16) {
	elem = elem.Strip()
	of := elem
	if deeper {
		of = container
	}
	seq, object = tt.walks.id(of, walkSeq), tt.walks.id(elem, walkObject)
	if tt.walks.defined(seq) {
		return seq, object
	}
	one := tt.walks.id(of, walkSeqElem)
	p := &prog{}
	p.Load(r0, 0, 8)
	p.Node(object, r0, noReg, sizeOf(elem), deeper)
	tt.define(one, p)
	p = &prog{}
	p.loop(one, 8, 8, -1, 0)
	tt.define(seq, p)
	return seq, object
}

// needs reports whether an object of a type has anything to walk, and how deep arrays nest in it.
func (tt *typeTable) needs(t *symbol.Type) (loops int, needs bool) { return tt.needsAt(t, 0) }

func (tt *typeTable) needsAt(t *symbol.Type, depth int) (loops int, needs bool) {
	t = t.Strip()
	if t == nil || depth > maxTypeDepth {
		return 0, false
	}
	if n, ok := tt.needed[t]; ok {
		return n.loops, n.needs
	}
	if n, ok := tt.walks.needed.Load(t); ok {
		known := n.(need)
		tt.needed[t] = known
		return known.loops, known.needs
	}
	tt.needed[t] = need{} // no object lies within itself: only damaged debug information says so
	near, secrets := false, false
	switch t.Kind {
	case symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference:
		needs = tt.followable(t)
		if tt.formatter(t) != nil {
			needs, near = true, true
		}
	case symbol.KindFunction:
		needs = tt.formatter(t) != nil
		near = needs
	case symbol.KindArray:
		if loops, needs = tt.needsAt(t.Elem(), depth+1); needs {
			loops++
		}
		near, secrets = tt.isNear(t.Elem()), tt.needed[t.Elem().Strip()].secrets
	case symbol.KindStruct, symbol.KindUnion:
		if t.Declared {
			break
		}
		if f := tt.formatter(t); f != nil {
			needs, near = true, true
			fs := t.Fields()
			for i := range fs {
				secrets = secrets || tt.secretField(&fs[i])
			}
			f.form(&form{T: t, V: &value.Type{}, P: &prog{}, tt: tt, dry: true, part: func(t *symbol.Type, inside bool) {
				if inside {
					l, _ := tt.needsAt(t, depth+1)
					loops, secrets = max(loops, l), secrets || tt.needed[t.Strip()].secrets
				}
			}})
			break
		}
		each := func(fs []symbol.Field) {
			for i := range fs {
				f := &fs[i]
				switch {
				case tt.secretField(f):
					needs, near, secrets = true, true, true
				case !f.Static && !f.Virtual && f.Off >= 0 && f.BitSize == 0:
					l, n := tt.needsAt(f.Type, depth+1)
					loops, needs, near = max(loops, l), needs || n, near || tt.isNear(f.Type)
					secrets = secrets || tt.needed[f.Type.Strip()].secrets
				}
			}
		}
		each(t.Fields())
		if v := t.Variants(); v != nil {
			for i := range v.Variants {
				each(v.Variants[i].Fields)
			}
		}
		if hasVirtualBase(t) {
			needs, near = true, true
		}
	}
	if loops > maxLoops {
		loops, needs, near, secrets = 0, false, false, false
	}
	n := need{loops, needs, secrets, near}
	if tt.needed[t] = n; depth == 0 { // what lies in t may have been asked for within itself
		tt.walks.needed.Store(t, n)
	}
	return loops, needs
}

type need struct {
	loops   int
	needs   bool
	secrets bool // of its own bytes
	near    bool // some of what it needs is part of the object itself: the elements of a library type
}

// isNear says of a type that needs was asked for whether its walk is needed at the last depth, too.
func (tt *typeTable) isNear(t *symbol.Type) bool { return tt.needed[t.Strip()].near }

// followable reports a pointer whose pointee is captured: an object, text, and whatever a reference is to.
func (tt *typeTable) followable(t *symbol.Type) bool {
	e := t.Elem().Strip()
	if e == nil {
		return false
	}
	switch e.Kind {
	case symbol.KindStruct, symbol.KindUnion:
		return !e.Declared && sizeOf(e) > 0
	case symbol.KindFunction, symbol.KindVoid, symbol.KindUnknown:
		return false
	case symbol.KindBase:
		if tt.isText(t, e) {
			return true
		}
	}
	return tt.isReference(t) && sizeOf(e) > 0
}

// isText reports a pointer to C text.
func (tt *typeTable) isText(t, e *symbol.Type) bool {
	return e.Kind == symbol.KindBase && e.Name == "char" && e.Size == 1 && !tt.rust && !tt.golang && !tt.isReference(t)
}

// walk makes the program of a type's objects, if it has one and it is not there. The programs of its parts are made,
// too; those of pointees when their turn comes.
func (tt *typeTable) walk(t *symbol.Type) uint16 {
	t = t.Strip()
	id, m := tt.walks.id(t, walkObject), &tt.making
	if _, needs := tt.needs(t); !needs || m.known[id] || tt.walks.defined(id) {
		return id
	}
	if m.known == nil {
		m.known = map[uint16]bool{}
	}
	m.known[id] = true
	m.todo = append(m.todo, t)
	if m.busy {
		return id
	}
	m.busy = true
	for len(m.todo) > 0 {
		next := m.todo[0]
		m.todo = m.todo[1:]
		tt.define(tt.walks.id(next, walkObject), tt.objectProgram(next))
	}
	m.busy = false
	tt.publish()
	return id
}

func (tt *typeTable) objectProgram(t *symbol.Type) *prog {
	p := &prog{}
	f := tt.formatter(t)
	if f != nil && t.Kind != symbol.KindPointer { // a user's description of a class of the user's
		tt.wipes(p, t.Fields(), byteRun{})
	}
	switch {
	case f == nil:
		tt.part(p, t, 0)
	case !f.form(&form{T: t, V: &value.Type{}, P: p, tt: tt, index: -1}):
		p = &prog{}
		tt.members(p, t)
	}
	return p
}

// part emits the walk of a part at off.
func (tt *typeTable) part(p *prog, t *symbol.Type, off int64) {
	t = t.Strip()
	loops, needs := tt.needs(t)
	if !needs {
		return
	}
	switch t.Kind {
	case symbol.KindFunction:
		p.Sub(tt.walk(t), off, noReg)
	case symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference:
		if tt.formatter(t) != nil {
			p.Sub(tt.walk(t), off, noReg)
			return
		}
		if e := t.Elem().Strip(); tt.isText(t, e) {
			p.Follow(walkText, off, maxString, true, false) // text is no level of its own: its owner is shown with it
		} else {
			p.Follow(tt.pointeeWalk(e), off, sizeOf(e), false, true)
		}
	case symbol.KindArray:
		n := min(t.Count, value.MaxElems)
		if tt.hasSecrets(t) { // also in those that are not shown
			n = min(t.Count, maxObject/max(sizeOf(t.Elem().Strip()), 1)+1)
		}
		if n > 0 {
			p.loop(tt.walk(t.Elem()), off, sizeOf(t.Elem().Strip()), n, loops-1)
		}
	case symbol.KindStruct, symbol.KindUnion:
		if tt.formatter(t) != nil || off > 0 || p.inlined >= maxInlined {
			p.Sub(tt.walk(t), off, noReg)
			return
		}
		p.inlined++
		tt.members(p, t)
		p.inlined--
	}
}

// maxInlined bounds how deep the first members of first members have their walk in their owner's: damaged debug
// information has several that begin at the same byte, and the same again in each of them.
const maxInlined = 6

// members emits the walk of a struct's members.
func (tt *typeTable) members(p *prog, t *symbol.Type) {
	if t.Kind == symbol.KindUnion {
		if tt.secretUnion(t) {
			p.Wipe(0, max(sizeOf(t), 0))
		}
		return // which member is meant is not known
	}
	fs := t.Fields()
	tt.wipes(p, fs, byteRun{})
	for i := range fs {
		if f := &fs[i]; !tt.secretField(f) && !f.Static && !f.Virtual && f.Off >= 0 && f.BitSize == 0 {
			tt.part(p, f.Type, f.Off)
		}
	}
	if v := t.Variants(); v != nil {
		tt.variantParts(p, v)
	}
	tt.virtualBases(p, t)
}

// variantParts emits the walk of the variant that an enum has.
func (tt *typeTable) variantParts(p *prog, vp *symbol.VariantPart) {
	var size int64
	if vp.Discr != nil {
		if size = sizeOf(vp.Discr.Type.Strip()); size != 1 && size != 2 && size != 4 && size != 8 {
			return
		}
	}
	end := p.Label()
	var other *symbol.Variant
	for i := range vp.Variants {
		v := &vp.Variants[i]
		if vp.Discr == nil || v.Default || len(v.Discr) == 0 {
			other = v
			continue
		}
		if !tt.variantNeeds(v) && !tt.defaultNeeds(vp) {
			continue
		}
		for _, span := range v.Discr {
			next := p.Label()
			p.Load(r1, vp.Discr.Off, size)
			p.Const(r2, span.Lo)
			p.ALU(ring.ALUULe, r3, r2, r1)
			p.JumpZero(r3, next)
			p.Const(r2, span.Hi)
			p.ALU(ring.ALUULe, r3, r1, r2)
			p.JumpZero(r3, next)
			tt.variantFields(p, vp, v)
			p.Jump(end)
			p.Bind(next)
		}
	}
	if other != nil {
		tt.variantFields(p, vp, other)
	}
	p.Bind(end)
}

func (tt *typeTable) variantFields(p *prog, vp *symbol.VariantPart, v *symbol.Variant) {
	keep := byteRun{}
	if vp.Discr != nil {
		keep = byteRun{vp.Discr.Off, max(sizeOf(vp.Discr.Type.Strip()), 0)}
	}
	tt.wipes(p, v.Fields, keep)
	for i := range v.Fields {
		if f := &v.Fields[i]; f.Off >= 0 && !tt.secretField(f) {
			tt.part(p, f.Type, f.Off)
		}
	}
}

func (tt *typeTable) variantNeeds(v *symbol.Variant) bool {
	for i := range v.Fields {
		if _, n := tt.needs(v.Fields[i].Type); n || tt.secretField(&v.Fields[i]) {
			return true
		}
	}
	return false
}

func (tt *typeTable) defaultNeeds(vp *symbol.VariantPart) bool {
	for i := range vp.Variants {
		if v := &vp.Variants[i]; (v.Default || len(v.Discr) == 0) && tt.variantNeeds(v) {
			return true
		}
	}
	return false
}
