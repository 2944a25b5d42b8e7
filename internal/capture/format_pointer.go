package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// pointerForms know pointers that mean more than the type that they point to. They are shown by words of their own, as
// objects of libraries are.
var pointerForms = []*formatter{
	{name: "wide text", form: wideText},
	{name: "socket address", form: socketAddress},
}

// wideUnit returns the type of a wide character that a pointer leads to, nil if it leads to something else.
func wideUnit(t *symbol.Type) *symbol.Type {
	for e := t.Elem(); e != nil; e = e.Elem() {
		switch {
		case e.Name == "wchar_t" || e.Name == "char16_t" || e.Name == "char32_t":
			return e
		case e.Kind != symbol.KindTypedef && e.Kind != symbol.KindConst && e.Kind != symbol.KindVolatile:
			return nil
		}
	}
	return nil
}

// maxWideText bounds the characters of wide text: each takes a few of an event's steps.
const maxWideText = value.MaxText / 4

// wideText is a pointer to wchar_t, char16_t or char32_t: text up to a zero.
func wideText(f *form) bool {
	if f.T.Kind != symbol.KindPointer {
		return false
	}
	unit := wideUnit(f.T)
	size := sizeOf(unit.Strip())
	if unit == nil || size != 2 && size != 4 {
		return false
	}
	p := f.P
	count, done := p.Label(), p.Label()
	p.Load(r0, 0, 8)
	p.Const(r1, 0)
	p.JumpZero(r0, done)
	p.ALUImm(ring.ALUAdd, r2, r0, 0)
	p.Bind(count)
	p.LoadMem(r3, r2, 0, size)
	p.JumpZero(r3, done)
	p.ALUImm(ring.ALUAdd, r1, r1, 1)
	p.ALUImm(ring.ALUAdd, r2, r2, size)
	p.ALUImm(ring.ALUULt, r3, r1, maxWideText)
	p.JumpNot(r3, count)
	p.Bind(done)
	return f.Text(unit, r0, r1)
}

// Sizes and families of socket addresses: bits/socket.h, netinet/in.h, sys/un.h.
const (
	familyUnix, familyInet, familyInet6 = 1, 2, 10
	sizeInet, sizeInet6, maxUnixPath    = 16, 28, 108
)

// isSocketAddress reports the types that programs pass socket addresses as.
func isSocketAddress(t *symbol.Type) bool {
	if t = t.Strip(); t == nil || t.Kind != symbol.KindStruct {
		return false
	}
	switch t.Name {
	case "sockaddr", "sockaddr_in", "sockaddr_in6", "sockaddr_un", "sockaddr_storage":
		return true
	}
	return strings.HasPrefix(t.Name, "sockaddr_") && t.Declared
}

// socketAddress is a pointer to a sockaddr, whatever the function says of its kind, or glibc's union of such pointers:
// the family, and what that has. Its words are the address and the family.
func socketAddress(f *form) bool {
	switch {
	case f.T.Kind == symbol.KindPointer && isSocketAddress(f.T.Elem()):
	case f.T.Kind == symbol.KindUnion && isAddressUnion(f.T):
	default:
		return false
	}
	f.V.Class, f.V.Walk, f.V.Size = value.ClassSocketAddress, f.Words(), 8
	p := f.P
	known, null, end := p.Label(), p.Label(), p.Label()
	p.Load(r0, 0, 8)
	p.Const(r1, 0)
	p.JumpZero(r0, null)
	p.LoadMem(r1, r0, 0, 2)
	p.Bind(null)
	p.Open(f.V.Walk)
	p.Push(r0)
	p.Push(r1)
	p.Close()
	for _, family := range []struct {
		is   uint64
		size int64
	}{{familyInet, sizeInet}, {familyInet6, sizeInet6}} {
		next := p.Label()
		p.ALUImm(ring.ALUEq, r2, r1, int64(family.is))
		p.JumpZero(r2, next)
		p.Const(r3, uint64(family.size))
		p.Jump(known)
		p.Bind(next)
	}
	p.ALUImm(ring.ALUEq, r2, r1, familyUnix)
	p.JumpZero(r2, end)
	p.ALUImm(ring.ALUAdd, r4, r0, 2)
	p.LoadMem(r2, r4, 0, 1)
	abstract := p.Label()
	p.JumpNot(r2, abstract)
	p.ALUImm(ring.ALUAdd, r4, r4, 1) // the name has no file: it follows a zero
	p.Bind(abstract)
	p.Text(r4, maxUnixPath, false)
	p.Jump(end)
	p.Bind(known)
	p.Node(value.WalkBytes, r0, r3, sizeInet6, false)
	p.Bind(end)
	return true
}

// isAddressUnion reports a union of nothing but pointers to socket addresses: __SOCKADDR_ARG of sys/socket.h. In
// glibc's own debug information it has no members at all, as no other union of that size.
func isAddressUnion(t *symbol.Type) bool {
	fs := t.Fields()
	if len(fs) == 0 {
		return t.Name == "" && sizeOf(t) == 8 && !t.Declared && t.Variants() == nil
	}
	for i := range fs {
		s := fs[i].Type.Strip()
		if s == nil || s.Kind != symbol.KindPointer || s.Elem() == nil {
			return false
		}
		if e := s.Elem().Strip(); e == nil || !strings.HasPrefix(e.Name, "sockaddr") {
			return false
		}
	}
	return isSocketAddress(fs[0].Type.Strip().Elem())
}
