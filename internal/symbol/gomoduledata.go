package symbol

import (
	"debug/elf"
	"encoding/binary"
)

// Words of the program's file where it has them, else 0.

func (g *goRuntime) u64(a uint64) uint64 {
	if b := g.m.im.at(a); len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

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
func (im *image) goModuleData() uint64 {
	table := max(im.find(".gopclntab"), im.find(".data.rel.ro.gopclntab"))
	if table < 0 {
		return 0
	}
	at := im.sects[table].addr
	for i := range im.sects {
		s := &im.sects[i]
		if s.typ != uint32(elf.SHT_PROGBITS) || s.flags&uint64(elf.SHF_WRITE) == 0 {
			continue
		}
		b := im.raw(s)
		for o := 0; o+goModuleLinks+32 <= len(b); o += 8 {
			if binary.LittleEndian.Uint64(b[o:]) == at && im.isText(binary.LittleEndian.Uint64(b[o+goModuleText:])) {
				return s.addr + uint64(o)
			}
		}
	}
	return 0
}
