package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// words returns what the walk of a library type wrote at the object's address.
func (r *renderer) words(t *Type, v view) ([]byte, chunkState) {
	if t.Count&InPlace != 0 && (t.Class == ClassString || t.Class == ClassSpan) {
		return r.bytes(v, 16)
	}
	k := r.node(v.address(), t.Walk)
	if k < 0 || t.Walk == 0 {
		return nil, chunkMissing
	}
	c := &r.chunks[k]
	if c.state == chunkOK && len(c.data) < 8 {
		return nil, chunkUnreadable
	}
	return c.data, c.state
}

// word is the i-th word, 0 beyond the end.
func word(b []byte, i int) uint64 {
	if 8*i+8 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8*i:])
}

// library shows an object of a library type by the node that its walk made.
func (r *renderer) library(t *Type, v view, depth int) Value {
	b, state := r.words(t, v)
	for i := range v.pieces {
		if v.pieces[i].Chunk != PieceMissing { // in registers, and not all of it is there
			continue
		}
		for at := range min(t.Size, 64) {
			if r.state(v.at(at)) == chunkMissing {
				return OptimizedOut
			}
		}
	}
	if state == chunkMissing && (t.Class == ClassSocketAddress || t.Class == ClassString && t.Name == "") {
		return r.plainPointer(v)
	}
	if state == chunkMissing { // beyond the depth, or the record was full
		return r.left(t, v.address())
	}
	if state != chunkOK {
		return markerOf(state)
	}
	switch t.Class {
	case ClassString:
		return r.libraryText(t, b, v)
	case ClassSpan:
		return r.span(t, b, v, depth)
	case ClassSeq, ClassMap:
		return r.sequence(t, b, v, depth)
	case ClassDynamic:
		return r.dynamic(t, b, v, depth)
	case ClassBig:
		return r.bigInt(t, b, v, depth)
	case ClassPairs:
		return r.pairs(t, b, v, depth)
	case ClassBitSpan:
		return r.bitSpan(t, b, v)
	case ClassCallable:
		return r.callable(b)
	case ClassTypeOf:
		return r.anything(b)
	case ClassSocketAddress:
		return r.socketAddress(b)
	case ClassVirtualBase:
		return r.item(t, t.Elem, word(b, 0), t.ElemWalk, v, depth)
	}
	return r.box(t, b, v, depth)
}

func (r *renderer) libraryText(t *Type, b []byte, v view) Value {
	unit := max(r.l.typ(t.Elem).Size, 1)
	n, addr := word(b, 0), word(b, 1)
	switch {
	case n == 0 && addr == 0 && t.Name == "": // a pointer alone
		return Value{}
	case n == 0:
		return NewText("")
	}
	k := r.node(addr, WalkBytes)
	if k < 0 {
		return r.absent(t, addr, v)
	}
	if r.chunks[k].state != chunkOK {
		return r.lost(k)
	}
	data := r.chunks[k].data
	if have := uint64(len(data)) / uint64(unit); have > n {
		data = data[:n*uint64(unit)]
	}
	left := n - uint64(len(data))/uint64(unit)
	data = fromUnits(data, unit)
	return newCapturedText(data, left*uint64(unit), false)
}

// absent stands for what is at an address that an object of a library has, and is not in the record: nowhere, or it
// found no room.
func (r *renderer) absent(t *Type, addr uint64, v view) Value {
	if addr == 0 {
		return Unreadable
	}
	return r.left(t, v.address())
}

// count keeps a hostile count from becoming a negative number of elements left out.
func count(n uint64, shown int) int {
	if n < uint64(shown) {
		return 0
	}
	return int(min(n-uint64(shown), math.MaxInt64))
}

func (r *renderer) span(t *Type, b []byte, v view, depth int) Value {
	n, addr := word(b, 0), word(b, 1)
	e := r.l.typ(t.Elem)
	show := min(n, MaxElems)
	elems := make([]Value, 0, show)
	if n == 0 {
		return Value{kind: Array, elems: elems}
	}
	if t.Deeper && v.deep >= r.l.Depth {
		return MaxDepth(r.l.Depth)
	}
	if e.Size == 0 {
		for range show {
			elems = append(elems, r.value(t.Elem, view{}, depth+1))
		}
		return Value{kind: Array, elems: elems, more: count(n, len(elems))}
	}
	k := r.node(addr, t.ElemWalk)
	if k < 0 {
		return r.absent(t, addr, v)
	}
	if r.chunks[k].state != chunkOK {
		return r.lost(k)
	}
	at := r.nodeView(k)
	have := uint64(len(r.chunks[k].data)) / uint64(e.Size)
	for i := range min(show, have) {
		ev := at.at(uint32(i) * e.Size)
		elems = append(elems, r.within(t, ev.address(), v, func(deep int) Value {
			ev.deep = deep
			return r.value(t.Elem, ev, depth+1)
		}))
	}
	return Value{kind: Array, elems: elems, more: count(n, len(elems))}
}

// bigInt shows an integer of any size.
func (r *renderer) bigInt(t *Type, b []byte, v view, depth int) Value {
	words := r.span(t, b, v, depth)
	if words.kind != Array {
		return words
	}
	n := new(big.Int)
	for i := range words.elems {
		w := &words.elems[i]
		if w.kind != Int {
			return *w
		}
		n.Or(n, new(big.Int).Lsh(new(big.Int).SetUint64(w.lo), uint(64*i)))
	}
	if words.more > 0 {
		return NewText(fmt.Sprintf("<an integer of %d words of 64 bits>", word(b, 0)))
	}
	if neg, ok := r.bytes(v.at(t.Discr.Off), 1); ok == chunkOK && neg[0] == 1 {
		n.Neg(n)
	}
	if bits := n.BitLen(); bits < 128 || bits == 128 && n.Sign() > 0 {
		return fromBig(n)
	}
	return Value{kind: Text, text: n.String(), bare: true}
}

// within shows an element of v, a container. One that may hold the container's type again lies deeper, and encloses
// what is in it.
func (r *renderer) within(t *Type, addr uint64, v view, show func(deep int) Value) Value {
	if !t.Deeper {
		return show(v.deep)
	}
	for _, a := range r.addrs {
		if a == addr {
			return CircularRef(addr)
		}
	}
	r.addrs = append(r.addrs, addr)
	out := show(v.deep + 1)
	r.addrs = r.addrs[:len(r.addrs)-1]
	return out
}

// sequence shows elements that lie apart: of a map as an object where the keys are text or numbers, each once.
func (r *renderer) sequence(t *Type, b []byte, v view, depth int) Value {
	n := word(b, 0)
	if t.Deeper && n > 0 && v.deep >= r.l.Depth {
		return MaxDepth(r.l.Depth)
	}
	elems := make([]Value, 0, min(len(b)/8, MaxElems))
	for i := 1; i < len(b)/8 && len(elems) < MaxElems; i++ {
		addr := word(b, i)
		k := r.node(addr, t.ElemWalk)
		switch {
		case r.l.typ(t.Elem).Size == 0:
			elems = append(elems, r.value(t.Elem, view{}, depth+1))
		case k < 0 && t.Class == ClassMap: // neither key nor value is known: counted as left out
		case k < 0:
			elems = append(elems, r.left(r.l.typ(t.Elem), addr))
		case r.chunks[k].state != chunkOK:
			elems = append(elems, r.lost(k))
		default:
			at := r.nodeView(k)
			elems = append(elems, r.within(t, addr, v, func(deep int) Value {
				at.deep = deep
				return r.element(t, at, depth+1)
			}))
		}
	}
	out := Value{kind: Array, elems: elems, more: count(n, len(elems))}
	if t.Class == ClassMap {
		return mapOf(out)
	}
	return out
}

// element is one element of a sequence; of a map an array of key and value.
func (r *renderer) element(t *Type, at view, depth int) Value {
	e := r.l.typ(t.Elem)
	if t.Class != ClassMap || len(e.Fields) < 2 {
		return r.value(t.Elem, at, depth)
	}
	key, f := r.member(&e.Fields[0], at.at(e.Fields[0].Off), depth+1), &e.Fields[1]
	val := r.keyed(key, func() Value {
		to := at.at(f.Off)
		r.bytes(to, r.l.typ(f.Type).Size)
		return r.member(f, to, depth+1)
	})
	return Value{kind: Array, elems: []Value{key, val}}
}

// mapOf makes an object of pairs, if their keys can be names.
func mapOf(pairs Value) Value {
	o := make(Object, 0, len(pairs.elems))
	seen := map[string]bool{}
	for _, p := range pairs.elems {
		if p.kind != Array || len(p.elems) != 2 {
			return pairs
		}
		key := p.elems[0]
		switch key.kind {
		case Text, Int, Bool, Float:
		default:
			return pairs
		}
		name := key.text
		if key.kind != Text {
			name = string(key.AppendJSON(nil))
		}
		if seen[name] {
			return pairs
		}
		seen[name] = true
		o = append(o, Member{name, p.elems[1]})
	}
	if pairs.more > 0 {
		o = append(o, Member{"…", NewText("+" + strconv.Itoa(pairs.more) + " elements")})
	}
	return NewObject(o)
}

func (r *renderer) bitSpan(t *Type, b []byte, v view) Value {
	n, addr := word(b, 0), word(b, 1)
	elems := make([]Value, 0, min(n, MaxElems))
	if n > 0 {
		k := r.node(addr, WalkBytes)
		if k < 0 {
			return r.absent(t, addr, v)
		}
		if r.chunks[k].state != chunkOK {
			return r.lost(k)
		}
		for i, data := uint64(0), r.chunks[k].data; i < min(n, MaxElems, 8*uint64(len(data))); i++ {
			elems = append(elems, NewBool(data[i/8]>>(i%8)&1 != 0))
		}
	}
	return Value{kind: Array, elems: elems, more: count(n, len(elems))}
}

// box shows a pointer-like object as what it points to.
func (r *renderer) box(t *Type, b []byte, v view, depth int) Value {
	addr := word(b, 0)
	if addr == 0 {
		return Value{}
	}
	inner := newAddress(addr)
	switch {
	case t.Elem == ElemTooDeep && v.deep >= r.l.Depth:
		inner = MaxDepth(r.l.Depth)
	case t.Elem >= 0 && t.ElemWalk != 0:
		inner = r.follow(t.Elem, addr, t.ElemWalk, v, depth, true)
	}
	if t.ElemWalk == 0 && r.l.typ(t.Elem).Walk != 0 {
		inner = r.value(t.Elem, v, depth+1) // words of its own at the same address
	}
	if len(t.Fields) == 0 {
		return inner.inside("*")
	}
	o := Object{{"value", inner}}
	for i := range t.Fields {
		o = append(o, Member{t.Fields[i].Name, NewInt(int64(word(b, i+1)))})
	}
	return NewObject(o)
}

// maxBits bounds what a bitset shows.
const maxBits = 1024

// newBits shows bits as C++ prints a bitset: the highest first.
func newBits(b []byte, n uint32) Value {
	shown := min(n, uint32(len(b)*8), maxBits)
	s := make([]byte, shown)
	for i := range shown {
		s[shown-1-i] = '0' + b[i/8]>>(i%8)&1
	}
	text := string(s)
	if n > shown {
		text = "…(+" + strconv.Itoa(int(n-shown)) + " bits)" + text
	}
	return NewText(text)
}

// callable shows what a std::function calls. Its invoker's name has the type of what it holds: a pointer to a function,
// which is the second word, or a class.
func (r *renderer) callable(b []byte) Value {
	invoker, held := word(b, 0), word(b, 1)
	if invoker == 0 {
		return Value{}
	}
	name := codeName(r.rest, invoker)
	if to := codeName(r.rest, held); to != "" && (name == "" || strings.Contains(name, "(*)")) {
		return newNamed(to, held)
	}
	if name == "" {
		return newAddress(invoker)
	}
	return newNamed(heldType(name), invoker)
}

func newNamed(name string, addr uint64) Value {
	v := newAddress(addr)
	v.text = name
	return v
}

// heldType finds F among the template arguments in a name such as std::_Function_handler<int (int), F>::_M_invoke or
// std::__1::__function::__func<F, std::__1::allocator<F>, int (int)>::__clone.
func heldType(name string) string {
	args := templateArgs(name)
	if len(args) == 0 {
		return name
	}
	for _, a := range args {
		if strings.Contains(a, "lambda") || strings.Contains(a, "'") {
			return a
		}
	}
	for _, a := range args {
		if !strings.HasSuffix(a, ")") || strings.Contains(a, "(*)") {
			return a
		}
	}
	return args[0]
}

// templateArgs splits the first template argument list of a name.
func templateArgs(name string) []string {
	at := strings.IndexByte(name, '<')
	if at < 0 {
		return nil
	}
	var args []string
	depth, from := 0, at+1
	for i := at + 1; i < len(name); i++ {
		switch name[i] {
		case '<', '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case '>':
			if i > 0 && name[i-1] == '-' {
				continue
			}
			if depth == 0 {
				return append(args, strings.TrimSpace(name[from:i]))
			}
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(name[from:i]))
				from = i + 1
			}
		}
	}
	return args
}

// duration shows a span or a point of time.
func (r *renderer) duration(t *Type, v view) Value {
	if len(t.Fields) == 0 {
		return Unreadable
	}
	f := &t.Fields[0]
	n := r.member(f, v.at(f.Off), 1)
	if n.kind == Marker {
		return n
	}
	if len(t.Fields) > 1 {
		g := &t.Fields[1]
		nanos := r.member(g, v.at(g.Off), 1)
		if nanos.kind == Marker {
			return nanos
		}
		if sec := n.big(); t.Class == ClassDuration && !sec.IsInt64() {
			_, frac, _ := strings.Cut(secondsAndNanos(false, 0, int64(nanos.lo)).text, "0")
			return NewText(sec.String() + frac)
		}
		return secondsAndNanos(t.Class == ClassTime, int64(n.lo), int64(nanos.lo))
	}
	num, den := max(t.Num, 1), max(t.Den, 1)
	if n.kind == Float {
		return NewText(strconv.FormatFloat(n.f, 'g', -1, 64) + unitOf(num, den))
	}
	ticks, ok := n.Int64()
	if !ok {
		return n
	}
	if t.Class == ClassTime && num == 1 && den <= 1e9 && 1_000_000_000%den == 0 {
		per := 1_000_000_000 / den
		sec, rest := ticks/den, ticks%den
		return secondsAndNanos(true, sec, rest*per)
	}
	return NewText(strconv.FormatInt(ticks, 10) + unitOf(num, den))
}

// unitOf names a tick.
func unitOf(num, den int64) string {
	switch [2]int64{num, den} {
	case [2]int64{1, 1}:
		return "s"
	case [2]int64{1, 1000}:
		return "ms"
	case [2]int64{1, 1000000}:
		return "us"
	case [2]int64{1, 1000000000}:
		return "ns"
	case [2]int64{60, 1}:
		return "min"
	case [2]int64{3600, 1}:
		return "h"
	case [2]int64{86400, 1}:
		return "d"
	}
	if den == 1 {
		return "[" + strconv.FormatInt(num, 10) + "]s"
	}
	return "[" + strconv.FormatInt(num, 10) + "/" + strconv.FormatInt(den, 10) + "]s"
}

func secondsAndNanos(point bool, sec, nanos int64) Value {
	if point {
		return NewText(time.Unix(sec, nanos).UTC().Format(time.RFC3339Nano))
	}
	sign := ""
	if sec < 0 && nanos > 0 { // some count up from the second below, others have both below zero
		sec, nanos = sec+1, nanos-1e9
	}
	if nanos < 0 && sec <= 0 {
		sign, sec, nanos = "-", -sec, -nanos
	}
	s := sign + strconv.FormatInt(sec, 10)
	if nanos > 0 {
		frac := strconv.FormatInt(1_000_000_000+nanos%1_000_000_000, 10)[1:]
		s += "." + strings.TrimRight(frac, "0")
	}
	return NewText(s + "s")
}
