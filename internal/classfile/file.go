package classfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Access flags that matter here: JVMS 4.1, 4.6.
const (
	AccStatic    = 0x0008
	AccBridge    = 0x0040
	AccNative    = 0x0100
	AccAbstract  = 0x0400
	AccSynthetic = 0x1000
	AccEnum      = 0x4000
)

// Errors that callers tell apart.
var (
	ErrMalformed = errors.New("no class file, or a damaged one")
	ErrTooLarge  = errors.New("its code would be larger than a method can be")
)

const magic = 0xCAFEBABE

// File is one class.
type File struct {
	Minor, Major       uint16
	Pool               Pool
	Access             uint16
	This, Super        uint16 // pool indices
	Interfaces         []uint16
	Fields, Methods    []Member
	Attributes         []Attribute
	names, descriptors []string // of Methods
	kotlin             int      // 1: Kotlin's compiler made it, -1: it did not, 0: nobody asked yet
}

// Member is a field or a method.
type Member struct {
	Access, Name, Descriptor uint16
	Attributes               []Attribute
}

// Attribute has its name's pool index and its contents.
type Attribute struct {
	Name uint16
	Data []byte
}

// reader reads big-endian numbers; once something is missing, all that follows is zero and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) u8() int {
	if p := r.take(1); p != nil {
		return int(p[0])
	}
	return 0
}

func (r *reader) u16() uint16 {
	if p := r.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if p := r.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func put16(b []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(b, v) }
func put32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// Parse reads a class. The result refers to b.
func Parse(b []byte) (*File, error) {
	r := &reader{b: b}
	f := &File{}
	if r.u32() != magic {
		return nil, ErrMalformed
	}
	f.Minor, f.Major = r.u16(), r.u16()
	if err := f.Pool.read(r); err != nil {
		return nil, err
	}
	f.Access, f.This, f.Super = r.u16(), r.u16(), r.u16()
	for range r.u16() {
		f.Interfaces = append(f.Interfaces, r.u16())
	}
	f.Fields, f.Methods = readMembers(r), readMembers(r)
	f.Attributes = readAttributes(r)
	if r.bad || len(r.b) != 0 {
		return nil, ErrMalformed
	}
	if f.Name() == "" {
		return nil, fmt.Errorf("%w: it has no name", ErrMalformed)
	}
	for _, m := range f.Methods {
		name, ok := f.Pool.Utf8(m.Name)
		desc, ok2 := f.Pool.Utf8(m.Descriptor)
		if !ok || !ok2 {
			return nil, fmt.Errorf("%w: a method has no name", ErrMalformed)
		}
		f.names, f.descriptors = append(f.names, name), append(f.descriptors, desc)
	}
	return f, nil
}

func readMembers(r *reader) []Member {
	var all []Member
	for range r.u16() {
		if r.bad {
			return nil
		}
		m := Member{Access: r.u16(), Name: r.u16(), Descriptor: r.u16()}
		m.Attributes = readAttributes(r)
		all = append(all, m)
	}
	return all
}

func readAttributes(r *reader) []Attribute {
	var all []Attribute
	for range r.u16() {
		if r.bad {
			return nil
		}
		a := Attribute{Name: r.u16()}
		a.Data = r.take(int(r.u32()))
		all = append(all, a)
	}
	return all
}

// Bytes writes the class.
func (f *File) Bytes() []byte {
	b := put32(nil, magic)
	b = put16(put16(b, f.Minor), f.Major)
	b = put16(b, uint16(len(f.Pool.at)))
	b = append(b, f.Pool.raw...)
	b = put16(put16(put16(b, f.Access), f.This), f.Super)
	b = put16(b, uint16(len(f.Interfaces)))
	for _, i := range f.Interfaces {
		b = put16(b, i)
	}
	b = writeMembers(writeMembers(b, f.Fields), f.Methods)
	return writeAttributes(b, f.Attributes)
}

func writeMembers(b []byte, all []Member) []byte {
	b = put16(b, uint16(len(all)))
	for _, m := range all {
		b = put16(put16(put16(b, m.Access), m.Name), m.Descriptor)
		b = writeAttributes(b, m.Attributes)
	}
	return b
}

func writeAttributes(b []byte, all []Attribute) []byte {
	b = put16(b, uint16(len(all)))
	for _, a := range all {
		b = append(put32(put16(b, a.Name), uint32(len(a.Data))), a.Data...)
	}
	return b
}

// Name is the class's own, with slashes: java/lang/String.
func (f *File) Name() string { return f.Pool.Class(f.This) }

// SourceFile is the name of the file that it was compiled from, without its folder; "" where it does not say.
func (f *File) SourceFile() string {
	if data := f.attribute(f.Attributes, "SourceFile"); len(data) == 2 {
		s, _ := f.Pool.Utf8(binary.BigEndian.Uint16(data))
		return s
	}
	return ""
}

// Inner says what InnerClasses tells of one class: which class it stands in ("" where it is local or has no name),
// and what it is called there ("": nothing).
func (f *File) Inner(class string) (outer, simple string, ok bool) {
	r := &reader{b: f.attribute(f.Attributes, "InnerClasses")}
	for range r.u16() {
		inner, out, name := r.u16(), r.u16(), r.u16()
		r.u16()
		if r.bad {
			break
		}
		if f.Pool.Class(inner) == class {
			simple, _ = f.Pool.Utf8(name)
			return f.Pool.Class(out), simple, true
		}
	}
	return "", "", false
}

// Enclosing is the method in which a local class or one without a name stands.
func (f *File) Enclosing() (class, method string, ok bool) {
	r := &reader{b: f.attribute(f.Attributes, "EnclosingMethod")}
	c, nt := r.u16(), r.u16()
	if r.bad {
		return "", "", false
	}
	method, _ = f.Pool.nameAndType(nt)
	return f.Pool.Class(c), method, f.Pool.Class(c) != ""
}

func (f *File) attribute(all []Attribute, name string) []byte {
	for _, a := range all {
		if s, ok := f.Pool.Utf8(a.Name); ok && s == name {
			return a.Data
		}
	}
	return nil
}
