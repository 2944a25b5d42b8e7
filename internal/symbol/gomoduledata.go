package symbol

import (
	"debug/elf"
	"encoding/binary"
)

// Words of the program's file where it has them, else 0.

func (im *image) wordAt(a uint64) uint64 {
	if b := im.at(a); len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (g *goRuntime) u64(a uint64) uint64 { return g.m.im.wordAt(a) }

func (g *goRuntime) u32(a uint64) uint32 {
	if b := g.m.im.at(a); len(b) >= 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (g *goRuntime) u16(a uint64) uint16 {
	if b := g.m.im.at(a); len(b) >= 2 {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (g *goRuntime) u8(a uint64) uint8 {
	if b := g.m.im.at(a); len(b) >= 1 {
		return b[0]
	}
	return 0
}

// goModuleData is where runtime.firstmoduledata is, which begins with the address of the table of functions; 0: it is
// not found, as in a program that may be loaded anywhere, whose addresses are put in then.
func (im *image) goModuleData(table uint64) uint64 {
	for i := range im.sects {
		s := &im.sects[i]
		if s.typ != uint32(elf.SHT_PROGBITS) || s.flags&uint64(elf.SHF_WRITE) == 0 {
			continue
		}
		b := im.raw(s)
		for o := 0; o+goModuleText+8 <= len(b); o += 8 {
			if binary.LittleEndian.Uint64(b[o:]) == table && im.isText(binary.LittleEndian.Uint64(b[o+goModuleText:])) {
				return s.addr + uint64(o)
			}
		}
	}
	return 0
}

// goTable is the section of the table of functions, -1 where there is none.
func (im *image) goTable() int { return max(im.find(".gopclntab"), im.find(".data.rel.ro.gopclntab")) }
