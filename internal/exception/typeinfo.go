package exception

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// typeKind is which class of the C++ ABI describes a type (Itanium C++ ABI 2.9.5).
type typeKind uint8

const (
	notType     typeKind = iota
	fundamental          // int, char, …
	plainClass           // without bases
	oneBase              // one public base, at offset 0
	manyBases
	pointerType
	otherType // enum, function, array, pointer to member
)

var typeKinds = map[string]typeKind{
	"N10__cxxabiv123__fundamental_type_infoE":       fundamental,
	"N10__cxxabiv117__class_type_infoE":             plainClass,
	"N10__cxxabiv120__si_class_type_infoE":          oneBase,
	"N10__cxxabiv121__vmi_class_type_infoE":         manyBases,
	"N10__cxxabiv119__pointer_type_infoE":           pointerType,
	"N10__cxxabiv116__enum_type_infoE":              otherType,
	"N10__cxxabiv120__function_type_infoE":          otherType,
	"N10__cxxabiv117__array_type_infoE":             otherType,
	"N10__cxxabiv129__pointer_to_member_type_infoE": otherType,
}

// maxTypeName bounds a type's mangled name.
const maxTypeName = 64 << 10

// typeInfo is a std::type_info in the program.
type typeInfo struct {
	addr  uint64
	kind  typeKind
	name  string // mangled, without _ZTS
	bases []baseInfo
}

// baseInfo is a base class: where its type_info is, and where its part of the object.
type baseInfo struct {
	addr    uint64
	off     uint64
	virtual bool // off is where in the vtable the offset stands
}

// maxTypes bounds the types that are remembered.
const maxTypes = 4096

// typeAt reads a type_info. Those of modules do not change, and are read once.
func (r *Reader) typeAt(addr uint64) (typeInfo, bool) {
	if t := r.types[addr]; t != nil {
		return *t, true
	}
	t, ok := r.readType(addr)
	if !ok {
		return t, false
	}
	t.bases = r.readBases(&t)
	if _, in := r.module(addr); in {
		if len(r.types) >= maxTypes {
			clear(r.types)
		}
		r.types[addr] = &t
	}
	return t, true
}

// readType reads a type_info without its bases. It is one only if the class of its vtable is one of the ABI's: that
// class's own type_info, in front of the vtable, has its name.
func (r *Reader) readType(addr uint64) (t typeInfo, ok bool) {
	if addr < 1<<16 || addr%8 != 0 {
		return t, false
	}
	vtable, ok1 := r.word(addr)
	meta, ok2 := r.word(vtable - 8)
	metaName, ok3 := r.word(meta + 8)
	name, ok4 := r.word(addr + 8)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return t, false
	}
	class, ok := r.machine(r.fsBase).Text(metaName, 64)
	if !ok {
		return t, false
	}
	t.addr, t.kind = addr, typeKinds[strings.TrimPrefix(class, "*")]
	if t.kind == notType {
		return t, false
	}
	t.name, ok = r.machine(r.fsBase).Text(name, maxTypeName)
	t.name = strings.TrimPrefix(t.name, "*")
	return t, ok && t.name != ""
}

func (r *Reader) readBases(t *typeInfo) (bases []baseInfo) {
	switch t.kind {
	case oneBase:
		if ti, ok := r.word(t.addr + 16); ok {
			bases = append(bases, baseInfo{addr: ti})
		}
	case manyBases:
		count, _ := r.word32(t.addr + 20)
		for i := range min(uint64(count), maxBases) {
			ti, ok1 := r.word(t.addr + 24 + 16*i)
			flags, ok2 := r.word(t.addr + 32 + 16*i)
			if ok1 && ok2 {
				bases = append(bases, baseInfo{ti, uint64(int64(flags) >> 8), flags&1 != 0})
			}
		}
	}
	return bases
}

// String is the type as source has it.
func (t *typeInfo) String() string { return typeText(t.name) }

// typeText demangles a type's name.
func typeText(name string) string {
	out, err := demangle.ToString("_ZTS"+name, demangle.NoClones)
	if err != nil {
		return name
	}
	out = strings.TrimPrefix(out, "typeinfo name for ")
	for _, long := range stringTypes {
		out = strings.ReplaceAll(out, long, "std::string")
	}
	// inline namespaces: nobody writes them
	return strings.NewReplacer("std::__1::", "std::", "std::__cxx11::", "std::").Replace(out)
}

// stringTypes are the demangled names of std::string.
var stringTypes = []string{
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>",
	"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >",
	"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>",
}

// Bounds of a class's ancestry.
const (
	maxBases   = 64 // of one class
	maxClasses = 256
)

// base finds a base class, or the class itself, of an object by its mangled name, and the address of that part of it.
func (r *Reader) base(t typeInfo, object uint64, name string) (at uint64, ok bool) {
	type part struct {
		t  typeInfo
		at uint64
	}
	queue := []part{{t, object}}
	for n := 0; n < len(queue) && n < maxClasses; n++ {
		p := queue[n]
		if p.t.name == name {
			return p.at, true
		}
		for _, base := range p.t.bases {
			b, ok := r.typeAt(base.addr)
			if !ok {
				continue
			}
			off := base.off
			if base.virtual {
				vtable, ok1 := r.word(p.at)
				real, ok2 := r.word(vtable + off)
				if !ok1 || !ok2 {
					continue
				}
				off = real
			}
			queue = append(queue, part{b, p.at + off})
		}
	}
	return 0, false
}
