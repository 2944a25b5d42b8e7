package classfile

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Method describes a method.
type Method struct {
	Index      int // in File.Methods
	Name       string
	Descriptor string
	Access     uint16
	Params     []Param // without this, and without what Suspend adds
	Result     byte    // first letter of its type's descriptor, 'V' for none
	Line       int     // the first that has code; 0: not known
	HasCode    bool
	Suspend    Suspend
	last       int    // of a suspend function: the slot of its last argument
	own        uint16 // SuspendFunction: the class of its continuation
}

// Param is a parameter.
type Param struct {
	Name string // argN where the class does not say
	Type byte   // first letter of its descriptor
	slot int
}

// Static reports whether it has no object.
func (m *Method) Static() bool { return m.Access&AccStatic != 0 }

// Constructor reports whether it makes an object.
func (m *Method) Constructor() bool { return m.Name == "<init>" }

// Method describes the method at an index of Methods.
func (f *File) Method(i int) (Method, error) {
	m := Method{Index: i, Name: f.names[i], Descriptor: f.descriptors[i], Access: f.Methods[i].Access}
	params, result, err := parseDescriptor(m.Descriptor)
	if err != nil {
		return m, err
	}
	m.Result = result
	slot := 1
	if m.Static() {
		slot = 0
	}
	for k, t := range params {
		m.Params = append(m.Params, Param{Name: fmt.Sprintf("arg%d", k), Type: t, slot: slot})
		slot += width(t)
	}
	f.nameParams(&m)
	f.suspends(&m)
	return m, nil
}

func width(t byte) int {
	switch t {
	case 'J', 'D':
		return 2
	case 'V':
		return 0
	}
	return 1
}

// parseDescriptor splits a method's descriptor into the first letters of its types.
func parseDescriptor(s string) (params []byte, result byte, err error) {
	rest, ok := strings.CutPrefix(s, "(")
	for ok && rest != "" && rest[0] != ')' {
		var t byte
		if t, rest, ok = oneType(rest); ok {
			params = append(params, t)
		}
	}
	if ok && strings.HasPrefix(rest, ")") {
		if result, rest, ok = oneType(rest[1:]); ok && rest == "" && len(params) <= 255 {
			return params, result, nil
		}
	}
	return nil, 0, fmt.Errorf("%w: descriptor %q", ErrMalformed, s)
}

func oneType(s string) (t byte, rest string, ok bool) {
	n := 0
	for n < len(s) && s[n] == '[' {
		n++
	}
	if n == len(s) {
		return 0, "", false
	}
	end := n + 1
	switch s[n] {
	case 'L':
		i := strings.IndexByte(s[n:], ';')
		if i < 0 {
			return 0, "", false
		}
		end = n + i + 1
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
	case 'V':
		if n > 0 {
			return 0, "", false
		}
	default:
		return 0, "", false
	}
	return s[0], s[end:], true
}

// nameParams takes names from the variables that are there from the beginning, else from MethodParameters.
func (f *File) nameParams(m *Method) {
	attrs := f.Methods[m.Index].Attributes
	r := &reader{b: f.attribute(attrs, "MethodParameters")}
	if n := r.u8(); n == len(m.Params) {
		for i := range n {
			name, _ := f.Pool.Utf8(r.u16())
			if r.u16(); name != "" && !r.bad {
				m.Params[i].Name = name
			}
		}
	}
	c, err := readCode(f.attribute(attrs, "Code"))
	if err != nil {
		return
	}
	m.HasCode = true
	r = &reader{b: f.attribute(c.attributes, "LineNumberTable")}
	for range r.u16() {
		r.u16()
		if line := int(r.u16()); !r.bad && line > 0 && (m.Line == 0 || line < m.Line) {
			m.Line = line
		}
	}
	r = &reader{b: f.attribute(c.attributes, "LocalVariableTable")}
	for range r.u16() {
		start := r.u16()
		r.u16()
		name, _ := f.Pool.Utf8(r.u16())
		r.u16()
		slot := int(r.u16())
		for i := range m.Params {
			if start == 0 && !r.bad && m.Params[i].slot == slot && name != "" {
				m.Params[i].Name = name
			}
		}
	}
}

// returns reports whether an opcode returns from a method.
func returns(op byte) bool { return op >= opIreturn && op <= opReturn }

// superCall finds the call of this(…) or super(…) in a constructor: an <init> that belongs to no new. It returns the
// index of the instruction behind it; -1: there is none, or more than one.
func (f *File) superCall(b []byte, list []instruction) int {
	pending, found := 0, -1
	for i, in := range list {
		switch b[in.at] {
		case opNew:
			pending++
		case opInvokespec:
			if f.Pool.method(binary.BigEndian.Uint16(b[in.at+1:])) != "<init>" {
				continue
			}
			if pending > 0 {
				pending--
				continue
			}
			if found >= 0 || i+1 >= len(list) {
				return -1
			}
			found = i + 1
		}
	}
	return found
}
