package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// rustText is &str, &Path, &OsStr, &CStr and boxes of them: an address and a length in bytes.
var rustText = &formatter{
	name:  "rust text",
	match: func(name string) bool { return rustTexts[rustReferent(name)] },
	form: func(f *form) bool {
		ptr, n, unit, ok := rustFat(f.T)
		if !ok {
			return false
		}
		f.P.Load(r0, ptr, 8)
		f.P.Load(r1, n, 8)
		if unit = rustUnit(unit); unit == nil {
			return false
		}
		if strings.HasSuffix(rustReferent(f.T.Name), "CStr") {
			f.lessNUL(r1)
		}
		return f.Text(unit, r0, r1)
	},
}

var rustTexts = map[string]bool{"str": true, "std::path::Path": true, "std::ffi::os_str::OsStr": true,
	"core::ffi::c_str::CStr": true}

// rustReferent is what the name of a reference, raw pointer or box says that it leads to, "" for other types.
func rustReferent(name string) string {
	for _, prefix := range []string{"&mut ", "&", "*const ", "*mut "} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(name, "alloc::boxed::Box<"); ok {
		rest = strings.TrimSuffix(rest, ">")
		return strings.TrimSuffix(rest, ", alloc::alloc::Global")
	}
	return ""
}

// rustFat finds the halves of a reference to a slice, and its element: of newtypes of slices, such as Path, the
// innermost.
func rustFat(t *symbol.Type) (ptr, n int64, elem *symbol.Type, ok bool) {
	ptr, p, ok := field(t, "data_ptr")
	if !ok || p.Strip().Kind != symbol.KindPointer {
		return 0, 0, nil, false
	}
	n, _, ok = field(t, "length")
	return ptr, n, p.Strip().Elem().Strip(), ok
}

// rustUnit goes through newtypes of str and of slices, which have no size of their own, to what they are of.
func rustUnit(t *symbol.Type) *symbol.Type {
	for range maxRustDepth {
		if t = t.Strip(); t == nil || t.Kind != symbol.KindStruct || sizeOf(t) != 0 || len(t.Fields()) == 0 {
			return t
		}
		fs := t.Fields()
		t = fs[len(fs)-1].Type
	}
	return t
}

// lessNUL takes the NUL at the end from a length.
func (f *form) lessNUL(n reg) {
	f.P.Const(r6, 0)
	f.P.ALU(ring.ALUNe, r6, n, r6)
	f.P.ALU(ring.ALUSub, n, n, r6)
}

// rustString is alloc::string::String, a Vec of bytes.
var rustString = &formatter{
	name:  "rust String",
	match: rustType("String"),
	form:  rustVecText,
}

// rustOSString is OsString and PathBuf, which wrap a Vec of bytes.
var rustOSString = &formatter{
	name:  "rust OsString",
	match: rustType("OsString", "PathBuf"),
	form:  rustVecText,
}

func rustVecText(f *form) bool {
	at, v, ok := rustFind(f.T, func(_ string, t *symbol.Type) bool { return strings.HasPrefix(t.Name, "Vec<u8") })
	if !ok {
		return false
	}
	unit, ok := f.vec(v, at)
	return ok && f.Text(unit, r0, r1)
}

// vec sets r0 and r1 to the address and count of a Vec at off, and returns what it is of.
func (f *form) vec(v *symbol.Type, at int64) (elem *symbol.Type, ok bool) {
	elem, ok = rustParam(v, "T")
	buf, bt, found := field(v, "buf")
	n, _, counted := field(v, "len")
	ptr, _, pointed := rustPointer(bt)
	if !ok || !found || !counted || !pointed {
		return nil, false
	}
	f.P.Load(r0, at+buf+ptr, 8)
	f.P.Load(r1, at+n, 8)
	return elem, true
}

// rustCString is CString: a boxed slice of bytes with the NUL.
var rustCString = &formatter{
	name:  "rust CString",
	match: rustType("CString"),
	form: func(f *form) bool {
		at, box, ok := rustFind(f.T, func(_ string, t *symbol.Type) bool { _, _, _, ok := rustFat(t); return ok })
		if !ok {
			return false
		}
		ptr, n, unit, _ := rustFat(box)
		f.P.Load(r0, at+ptr, 8)
		f.P.Load(r1, at+n, 8)
		f.lessNUL(r1)
		return f.Text(unit, r0, r1)
	},
}
