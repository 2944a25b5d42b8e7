package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// identity is what a core has of a mapped ELF file's first page: the kernel and gcore write it for this purpose.
type identity struct {
	header []byte // ELF header and program headers; nil: the page is not in the core
	id     string // build-id in hex, "" without one
}

const (
	maxHeaders = 128
	maxIDNote  = 4096
	maxID      = 64
)

// identify reads the ELF header of a file that is mapped at base.
func (c *core) identify(base uint64) (id identity) {
	le := binary.LittleEndian
	var h [64]byte
	if c.Read(base, h[:]) != nil || string(h[:4]) != elf.ELFMAG || h[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return id
	}
	off, size, n := le.Uint64(h[32:]), le.Uint16(h[54:]), int(le.Uint16(h[56:]))
	if off != 64 || size != 56 || n > maxHeaders {
		return id
	}
	id.header = make([]byte, 64+56*n)
	if c.Read(base, id.header) != nil {
		id.header = nil
		return id
	}
	for p := id.header[64:]; len(p) >= 56; p = p[56:] {
		at, filesz := le.Uint64(p[8:]), le.Uint64(p[32:])
		if elf.ProgType(le.Uint32(p)) != elf.PT_NOTE || filesz > maxIDNote {
			continue
		}
		b := make([]byte, filesz)
		if c.Read(base+at, b) == nil { // base is where offset 0 is, and the note is in the same page
			if found := buildID(b); found != "" {
				id.id = found
			}
		}
	}
	return id
}

// buildID finds NT_GNU_BUILD_ID among notes.
func buildID(b []byte) string {
	le := binary.LittleEndian
	for len(b) >= 12 {
		name, desc, typ := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		at := 12 + (name+3)&^3
		end := at + (desc+3)&^3
		if at+desc > uint64(len(b)) {
			return ""
		}
		if typ == 3 && bytes.HasPrefix(b[12:], []byte("GNU\x00")) && desc <= maxID {
			return hex.EncodeToString(b[at : at+desc])
		}
		if end > uint64(len(b)) {
			return ""
		}
		b = b[end:]
	}
	return ""
}

// sameness is what comparing a file with what was mapped gives.
type sameness int

const (
	unproven sameness = iota // the core does not have what tells
	same
	different
)

// compare tells whether a file is the one that was mapped, and if not, why in words.
func (id identity) compare(mod *symbol.Module) (sameness, string) {
	if id.header == nil {
		return unproven, "the core does not have the page that tells whether it is the same file"
	}
	if id.id != "" || mod.BuildID != "" {
		if id.id == mod.BuildID {
			return same, ""
		}
		return different, fmt.Sprintf("build-id %s, in the core %s", orNone(mod.BuildID), orNone(id.id))
	}
	f, err := plainfile.Open(mod.Path)
	if err != nil {
		return unproven, err.Error()
	}
	defer f.Close()
	b := make([]byte, len(id.header))
	if _, err := io.ReadFull(f, b); err != nil || !bytes.Equal(layout(b), layout(id.header)) {
		return different, "it has no build-id, and its ELF header is another one than in the core"
	}
	return same, ""
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

// layout is an ELF header without what strip changes: where the section headers are, and how many.
func layout(h []byte) []byte {
	h = bytes.Clone(h)
	if len(h) >= 64 {
		clear(h[40:48])
		clear(h[60:64])
	}
	return h
}

// changedAfter warns of a file that was written after the core and cannot prove that it is the one that ran.
func changedAfter(path string, core time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.ModTime().After(core.Add(time.Second))
}
