package exception

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/emulate"
)

const (
	// maxMessage bounds what an exception says.
	maxMessage = 4096
	// maxNested bounds the exceptions within exceptions.
	maxNested = 4
)

// describe says what a header's exception is.
func (r *Reader) describe(h header, fsBase uint64) *Exception {
	r.machine(fsBase)
	return r.describeObject(h.typ, h.object, fsBase, maxNested)
}

// Object describes a thrown object by its type_info, as __cxa_throw has them. Not ok: typeInfo is no type_info.
func (r *Reader) Object(object, typeInfo, fsBase uint64) (*Exception, bool) {
	r.machine(fsBase)
	t, ok := r.typeAt(typeInfo)
	if !ok {
		return nil, false
	}
	return r.describeObject(t, object, fsBase, maxNested), true
}

// Class says of what class the exception of an _Unwind_Exception is: "c++", "rust", "foreign", or "" for what is no
// exception but a forced unwinding, by pthread_exit or pthread_cancel. Of C++ object is the one that was thrown, if
// known.
func (r *Reader) Class(unwind, fsBase uint64) (class string, object uint64) {
	r.machine(fsBase)
	c, ok := r.word(unwind)
	switch {
	case !ok || c == 0:
		return "", 0
	case c == classRust:
		return "rust", 0
	case c&^1 != classGNU && c&^1 != classClang:
		return "foreign", 0
	}
	if h, ok := r.headerAt(unwind); ok {
		return "c++", h.object
	}
	return "c++", 0
}

// Header describes the C++ exception of an _Unwind_Exception.
func (r *Reader) Header(unwind, fsBase uint64) *Exception {
	r.machine(fsBase)
	h, ok := r.headerAt(unwind)
	if !ok {
		return &Exception{Address: hex(unwind + unwindBytes), Object: unwind + unwindBytes}
	}
	return r.describe(h, fsBase)
}

// Kept describes the exception that a std::exception_ptr keeps: object is its only word.
func (r *Reader) Kept(object, fsBase uint64) (*Exception, bool) {
	r.machine(fsBase)
	h, ok := r.headerAt(object - unwindBytes)
	if !ok { // made by make_exception_ptr, and never thrown: it has no class yet
		ti, ok := r.word(object - unwindBytes - 80)
		if !ok {
			return nil, false
		}
		return r.Object(object, ti, fsBase)
	}
	return r.describe(h, fsBase), true
}

// Held is Kept for the address of a std::exception_ptr.
func (r *Reader) Held(pointer, fsBase uint64) (*Exception, bool) {
	r.machine(fsBase)
	object, ok := r.word(pointer)
	if !ok || object == 0 {
		return nil, false
	}
	return r.Kept(object, fsBase)
}

func (r *Reader) describeObject(t typeInfo, object, fsBase uint64, depth int) *Exception {
	e := &Exception{Type: t.String(), Address: hex(object), Object: object}
	if at, ok := r.base(t, object, "St9exception"); ok {
		e.Message, e.Note = r.what(t, object, at, fsBase)
	} else {
		e.Message = r.render(t, object)
	}
	if at, ok := r.base(t, object, "St16nested_exception"); ok && depth > 0 {
		if inner, ok := r.word(at + 8); ok && inner != 0 {
			if h, ok := r.headerAt(inner - unwindBytes); ok && h.object != object {
				e.Nested = r.describeObject(h.typ, h.object, fsBase, depth-1)
			}
		}
	}
	return e
}

// whatSlot is the place of what() in std::exception's vtable, behind the two destructors.
const whatSlot = 2

// what runs the virtual what() of a std::exception.
func (r *Reader) what(t typeInfo, object, at, fsBase uint64) (text, note string) {
	vtable, ok1 := r.word(at)
	fn, ok2 := r.word(vtable + 8*whatSlot)
	if !ok1 || !ok2 {
		return "", "its vtable cannot be read"
	}
	err := r.call(fsBase, fn, func(m *emulate.Machine, v uint64) {
		if s, ok := m.Text(v, maxMessage); ok {
			text = clean(s)
		}
	}, at)
	if err == nil {
		return text, ""
	}
	// These keep their text in a reference-counted string: a pointer to it is all that follows the vtable.
	for _, keeper := range []string{"St13runtime_error", "St11logic_error"} {
		if part, ok := r.base(t, object, keeper); ok {
			if p, ok := r.word(part + 8); ok {
				if s, ok := r.machine(fsBase).Text(p, maxMessage); ok {
					return clean(s), "what() could not be run (" + reason(err) + "): this is what the base class keeps"
				}
			}
		}
	}
	return "", "what() could not be run: " + reason(err)
}

// reason is an error without the address of what was run.
func reason(err error) string {
	_, why, ok := strings.Cut(err.Error(), "at 0x")
	if _, rest, found := strings.Cut(why, ": "); ok && found {
		return rest
	}
	return err.Error()
}

// clean makes text valid UTF-8.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// render is the value of what is no std::exception: numbers, pointers to text, strings.
func (r *Reader) render(t typeInfo, object uint64) string {
	switch {
	case t.kind == fundamental:
		return r.number(t.name, object)
	case t.kind == pointerType:
		p, ok := r.word(object)
		if !ok {
			return ""
		}
		if t.name == "PKc" || t.name == "Pc" {
			if p == 0 {
				return "null"
			}
			if s, ok := r.machine(r.fsBase).Text(p, maxMessage); ok {
				return clean(s)
			}
		}
		return hex(p)
	case t.name == "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE":
		p, ok1 := r.word(object)
		n, ok2 := r.word(object + 8)
		if ok1 && ok2 {
			return r.bytes(p, n)
		}
	case t.name == "NSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE":
		first, ok := r.word32(object)
		if !ok {
			return ""
		}
		if first&1 == 0 { // short: its length in the first byte, its text behind
			return r.bytes(object+1, uint64(first&0xff)>>1)
		}
		n, ok1 := r.word(object + 8)
		p, ok2 := r.word(object + 16)
		if ok1 && ok2 {
			return r.bytes(p, n)
		}
	case t.kind == otherType:
		if v, ok := r.word32(object); ok && !strings.HasPrefix(t.name, "F") && !strings.HasPrefix(t.name, "M") {
			return strconv.Itoa(int(int32(v)))
		}
	default:
		return r.members(t, object)
	}
	return ""
}

func (r *Reader) bytes(p, n uint64) string {
	b := make([]byte, min(n, maxMessage))
	if r.machine(r.fsBase).Read(p, b) != nil {
		return ""
	}
	return clean(string(b))
}

// number renders a fundamental type by its mangled letter.
func (r *Reader) number(letter string, at uint64) string {
	w, ok := r.word(at)
	if !ok {
		return ""
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w)
	switch letter {
	case "b":
		return strconv.FormatBool(b[0] != 0)
	case "c":
		return strconv.QuoteRune(rune(b[0]))
	case "a":
		return strconv.Itoa(int(int8(b[0])))
	case "h":
		return strconv.Itoa(int(b[0]))
	case "s":
		return strconv.Itoa(int(int16(w)))
	case "t":
		return strconv.Itoa(int(uint16(w)))
	case "i":
		return strconv.Itoa(int(int32(w)))
	case "j":
		return strconv.FormatUint(uint64(uint32(w)), 10)
	case "l", "x":
		return strconv.FormatInt(int64(w), 10)
	case "m", "y":
		return strconv.FormatUint(w, 10)
	case "f":
		return fmt.Sprint(math.Float32frombits(uint32(w)))
	case "d":
		return fmt.Sprint(math.Float64frombits(w))
	case "Dn":
		return "nullptr"
	case "w", "Di":
		return strconv.QuoteRune(rune(uint32(w)))
	}
	return ""
}
