package symbol

import (
	"bytes"
	"debug/elf"
)

// elfSym is one entry of a symbol table.
type elfSym struct {
	name  []byte // mapped
	value uint64
	size  uint64
	shndx uint16
	typ   uint8
	bind  uint8
}

// eachSym calls fn for every named, defined symbol of .symtab and .dynsym until it returns false.
func (im *image) eachSym(fn func(elfSym) bool) {
	for i := range im.sects {
		s := &im.sects[i]
		if s.typ != uint32(elf.SHT_SYMTAB) && s.typ != uint32(elf.SHT_DYNSYM) || s.link >= uint32(len(im.sects)) {
			continue
		}
		strtab := im.raw(&im.sects[s.link])
		b := im.raw(s)
		for len(b) >= elf.Sym64Size {
			r := reader{b: b}
			nameOff := r.u32()
			info := r.u8()
			r.skip(1)
			sym := elfSym{typ: info & 0xf, bind: info >> 4, shndx: r.u16(), value: r.u64(), size: r.u64()}
			b = b[elf.Sym64Size:]
			if sym.shndx == uint16(elf.SHN_UNDEF) || nameOff == 0 {
				continue
			}
			sym.name = cstrAt(strtab, uint64(nameOff))
			if i := bytes.IndexByte(sym.name, '@'); i > 0 { // a symbol version
				sym.name = sym.name[:i]
			}
			if len(sym.name) > 0 && !fn(sym) {
				return
			}
		}
	}
}

const sttGNUIfunc = 10

// funcSyms returns the function symbols of im that lie in the executable segments of text.
// Global symbols without a type in code sections count too: hand-written assembly often has no .type.
func (im *image) funcSyms(text *image) []elfSym {
	var out []elfSym
	im.eachSym(func(s elfSym) bool {
		switch {
		case s.typ == uint8(elf.STT_FUNC) || s.typ == sttGNUIfunc:
			if text.isText(s.value) {
				out = append(out, s)
			}
		case s.typ == uint8(elf.STT_NOTYPE) && s.bind != uint8(elf.STB_LOCAL):
			if text.inCodeSection(s.value) {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

func (im *image) inCodeSection(vaddr uint64) bool {
	for i := range im.sects {
		s := &im.sects[i]
		if s.flags&uint64(elf.SHF_EXECINSTR) != 0 && vaddr >= s.addr && vaddr-s.addr < s.size {
			return true
		}
	}
	return false
}

// isText reports whether vaddr lies in an executable segment's file bytes.
func (im *image) isText(vaddr uint64) bool {
	for i := range im.progs {
		p := &im.progs[i]
		if p.typ == uint32(elf.PT_LOAD) && p.flags&uint32(elf.PF_X) != 0 && vaddr >= p.vaddr && vaddr-p.vaddr < p.filesz {
			return true
		}
	}
	return false
}

// textEnd returns the end of the section, or else segment, that holds vaddr.
func (im *image) textEnd(vaddr uint64) uint64 {
	for i := range im.sects {
		s := &im.sects[i]
		if s.flags&uint64(elf.SHF_EXECINSTR) != 0 && vaddr >= s.addr && vaddr-s.addr < s.size {
			return s.addr + s.size
		}
	}
	for _, p := range im.progs {
		if p.typ == uint32(elf.PT_LOAD) && vaddr >= p.vaddr && vaddr-p.vaddr < p.filesz {
			return p.vaddr + p.filesz
		}
	}
	return vaddr
}

// symRank orders symbols at one address: the one to name the function by comes first.
func symRank(s *elfSym) int {
	rank := 0
	switch elf.SymBind(s.bind) {
	case elf.STB_GLOBAL:
		rank = 0
	case elf.STB_WEAK:
		rank = 2
	default:
		rank = 4
	}
	if s.size == 0 {
		rank++
	}
	if s.typ == uint8(elf.STT_NOTYPE) {
		rank += 8
	}
	return rank
}
