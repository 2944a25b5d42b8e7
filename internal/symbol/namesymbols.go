package symbol

import (
	"bytes"
	"debug/elf"
	"strconv"
	"strings"
)

// holdsData reports whether a variable can be at vaddr: discarded ones are at 0 or at a linker's tombstone.
func (im *image) holdsData(vaddr uint64) bool {
	if vaddr == 0 {
		return false
	}
	for i := range im.sects {
		s := &im.sects[i]
		// The end counts: an empty array may stand there.
		if s.flags&uint64(elf.SHF_ALLOC) != 0 && s.flags&uint64(elf.SHF_TLS) == 0 && vaddr >= s.addr &&
			vaddr-s.addr <= s.size {
			return true
		}
	}
	if len(im.sects) > 0 {
		return false
	}
	for _, p := range im.progs {
		if p.typ == uint32(elf.PT_LOAD) && vaddr >= p.vaddr && vaddr-p.vaddr <= p.memsz {
			return true
		}
	}
	return false
}

// tlsOffset returns the offset of a thread-local in the TLS segment. ok is false where the linker discarded it:
// then it is at offset 0, where a real one is too, and a symbol must tell.
func (b *nameBuilder) tlsOffset(off uint64, link []byte, name string) (_ uint64, ok bool) {
	for _, p := range b.m.im.progs {
		if p.typ != uint32(elf.PT_TLS) {
			continue
		}
		if off > p.memsz && off >= p.vaddr {
			off -= p.vaddr // gcc with -gsplit-dwarf writes an address
		}
		if off > p.memsz || off != 0 || !b.symtab {
			return off, off <= p.memsz
		}
		for _, s := range b.zeroTLS {
			base, _ := splitClone(s)
			if len(link) > 0 && base == string(link) || len(link) == 0 && strings.Contains(base, name) {
				return off, true
			}
		}
		return 0, false
	}
	return 0, false
}

// nameLocal gives a static the name of its function by its symbol: clang forgets the names of functions that it inlined
// everywhere, but not their statics.
func (b *nameBuilder) nameLocal(e *varEntry) {
	name, _, ok := demangled(b.locals[e.place.val])
	if !ok {
		return
	}
	segs := splitName(name)
	if len(segs) < 2 || segs[len(segs)-1] != e.name {
		return
	}
	for _, s := range segs[:len(segs)-1] {
		if text, ok := b.intern([]byte(withoutParams(s))); ok && text != "" {
			e.path = b.path(pathSeg{e.path, false, text})
		}
	}
}

// withoutParams cuts the parameters off a function's name.
func withoutParams(s string) string {
	for _, q := range []string{" const", " volatile", " &&", " &", " const"} {
		s = strings.TrimSuffix(s, q)
	}
	if !strings.HasSuffix(s, ")") {
		return s
	}
	depth := 0
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 && s[:i] != "operator" {
				return s[:i]
			}
		}
	}
	return s
}

// instance adds the arguments to the name of a variable template, which only its linkage name has.
func instance(name string, link []byte) string {
	full, _, ok := demangled(string(link))
	if !ok {
		return name
	}
	segs := splitName(full)
	if last := segs[len(segs)-1]; strings.HasPrefix(last, name+"<") {
		return last
	}
	return name
}

// nameThreadLocal gives a Rust thread_local! the name of the source: std keeps the value in a static of
// a closure of a constant in a module of that name.
func (b *nameBuilder) nameThreadLocal(e *varEntry) {
	switch e.name {
	case "__RUST_STD_INTERNAL_VAL", "VAL", "__KEY":
	default:
		return
	}
	p := e.path
	for p != 0 && (strings.HasPrefix(b.t.paths[p].name, "{") || strings.HasPrefix(b.t.paths[p].name, "__")) {
		p = b.t.paths[p].parent
	}
	if p != e.path && p != 0 {
		e.name, e.path = b.t.paths[p].name, b.t.paths[p].parent
	}
}

// readSymbols reads the symbols that variables without a location need.
func (b *nameBuilder) readSymbols() {
	wanted := map[string]bool{}
	for _, s := range b.scans {
		for i := range s.vars {
			if v := &s.vars[i]; v.external && (v.place.kind == placeNone || v.place.kind == placeConst && v.declared) {
				wanted[string(s.u.text(v.name))] = true
				wanted[string(s.u.text(v.link))] = true
				if v.link == 0 && s.u.lang == LangCPP {
					wanted[b.mangled(s, v)] = true
				}
			}
		}
	}
	b.syms, b.locals = map[string]elfSym{}, map[uint64]string{}
	for _, s := range b.scans {
		for i := range s.vars {
			if v := &s.vars[i]; v.local && v.place.kind == placeAddr && s.scopes[v.scope].name == 0 {
				b.locals[v.place.val] = ""
			}
		}
	}
	for _, im := range b.m.images() {
		for i := range im.sects {
			b.symtab = b.symtab || im.sects[i].typ == uint32(elf.SHT_SYMTAB)
		}
		im.eachSym(func(s elfSym) bool {
			if s.typ == uint8(elf.STT_TLS) && s.value == 0 && len(b.zeroTLS) < 64 {
				b.zeroTLS = append(b.zeroTLS, string(s.name))
			}
			if have, ok := b.locals[s.value]; ok && have == "" && s.typ == uint8(elf.STT_OBJECT) &&
				bytes.HasPrefix(s.name, []byte("_ZZ")) {
				b.locals[s.value] = string(s.name)
			}
			switch elf.SymType(s.typ) {
			case elf.STT_OBJECT, elf.STT_TLS, elf.STT_NOTYPE, elf.STT_COMMON:
			default:
				return true
			}
			if s.bind != uint8(elf.STB_LOCAL) && wanted[string(s.name)] {
				if _, ok := b.syms[string(s.name)]; !ok {
					b.syms[string(s.name)] = s
				}
			}
			return true
		})
	}
}

// symbolPlace finds the place of a variable that its unit only declares.
func (b *nameBuilder) symbolPlace(e *varEntry, link []byte) fixedPlace {
	name := string(link)
	switch {
	case name != "":
	case e.path == 0:
		name = e.name
	default:
		name = b.mangledPath(e.path, e.name)
	}
	s, ok := b.syms[name]
	switch {
	case !ok || name == "":
	case s.typ == uint8(elf.STT_TLS):
		return fixedPlace{kind: placeTLS, val: s.value}
	case b.m.im.holdsData(s.value):
		return fixedPlace{kind: placeAddr, val: s.value}
	}
	return fixedPlace{}
}

// mangled returns the Itanium name of a C++ variable in plain namespaces and classes, or "": clang leaves it out of
// declarations.
func (b *nameBuilder) mangled(s *nameScan, v *varDie) string {
	path := b.pathOf(s, v.scope, 0)
	if path == 0 {
		return ""
	}
	return b.mangledPath(path, string(s.u.text(v.name)))
}

func (b *nameBuilder) mangledPath(path int32, name string) string {
	out := strconv.Itoa(len(name)) + name
	std := false
	for n := 0; path != 0; path = b.t.paths[path].parent {
		p := &b.t.paths[path]
		if n++; n > 16 || strings.ContainsAny(p.name, "<>() ") || len(p.name) > 256 {
			return ""
		}
		if std = p.name == "std" && p.parent == 0; !std {
			out = strconv.Itoa(len(p.name)) + p.name + out
		} else if n == 1 {
			return "_ZSt" + out
		}
	}
	if std {
		return "_ZNSt" + out + "E"
	}
	return "_ZN" + out + "E"
}
