package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Segment is a PT_LOAD entry.
type Segment struct {
	Vaddr  Addr
	Memsz  uint64
	Off    uint64 // in the file
	Filesz uint64
	Exec   bool
	Write  bool
}

type progHeader struct {
	typ, flags                uint32
	off, vaddr, filesz, memsz uint64
	align                     uint64
}

type sectHeader struct {
	name                   string
	typ                    uint32
	flags, addr, off, size uint64
	link                   uint32
	entsize                uint64
}

// image is one mapped ELF file.
type image struct {
	path    string
	data    []byte
	held    *mapping
	release func()
	modTime int64 // nanoseconds
	typ     elf.Type
	entry   uint64
	progs   []progHeader
	sects   []sectHeader
	damage  []string // what could not be read

	stash string // where unpacked sections are kept; "" for nowhere

	mu       sync.Mutex
	unpacked map[int]unpackedSect // decompressed sections by index
}

type unpackedSect struct {
	data []byte
	err  error
}

// maxHeaders bounds program and section headers; the ELF fields are 16 bits, the extended count is not.
const maxHeaders = 1 << 17

// openImage maps a program, shared library or debug file and reads its headers. Errors are faults.
func openImage(path string) (*image, error) { return openELF(path, false) }

// openDwo maps a .dwo file, which is a relocatable object.
func openDwo(path string) (*image, error) { return openELF(path, true) }

func openELF(path string, object bool) (*image, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, openFault(path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, openFault(path, err)
	}
	if st.Size() < 64 {
		return nil, notELF(path)
	}
	data, release, err := mapFile(f, st.Size())
	if err != nil {
		return nil, fault.New(fault.LaunchFailed, "Check that the file can be read.", "map %s: %w", path, err)
	}
	held := &mapping{data: data, unmap: release}
	release = held.free
	im := &image{path: path, data: data, held: held, release: release, modTime: st.ModTime().UnixNano()}
	runtime.AddCleanup(im, (*mapping).free, held) // of a build that nobody asks about any more
	if err := protect(func() error { return im.readHeaders(object) }); err != nil {
		release()
		return nil, err
	}
	return im, nil
}

func openFault(path string, err error) error {
	var other *plainfile.Error
	switch {
	case errors.As(err, &other):
		return fault.New(fault.LaunchFailed, "Give the path of an executable file.", "%w", err)
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.LaunchFailed, "Check the path; build the program first if it does not exist yet.",
			"open %s: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "Make the file readable for this user (chmod +r).", "open %s: %w", path, err)
	}
	return fault.New(fault.LaunchFailed, "Check the path.", "open %s: %w", path, err)
}

func notELF(path string) error {
	return fault.New(fault.LaunchFailed,
		"Give the path of a compiled ELF program, or of the interpreter that runs this file.",
		"%s is not an ELF file", path)
}

func (im *image) readHeaders(object bool) error {
	b := im.data
	if !bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
		return notELF(im.path)
	}
	const rebuild = "Build the program for 64-bit x86 (gcc -m64, --target x86_64-unknown-linux-gnu)."
	if elf.Class(b[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return fault.New(fault.Unsupported, rebuild, "%s is a 32-bit program", im.path)
	}
	if elf.Data(b[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return fault.New(fault.Unsupported, rebuild, "%s is a big-endian program", im.path)
	}
	le := binary.LittleEndian
	if m := elf.Machine(le.Uint16(b[18:])); m != elf.EM_X86_64 {
		return fault.New(fault.Unsupported, rebuild, "%s is a program for another machine (%s)", im.path, m)
	}
	im.typ = elf.Type(le.Uint16(b[16:]))
	if im.typ != elf.ET_EXEC && im.typ != elf.ET_DYN && !(object && im.typ == elf.ET_REL) {
		return fault.New(fault.LaunchFailed, "Link it into a program first.", "%s is not a program or shared library (%s)",
			im.path, im.typ)
	}
	im.entry = le.Uint64(b[24:])
	phoff, shoff := le.Uint64(b[32:]), le.Uint64(b[40:])
	if err := im.readProgs(phoff, uint64(le.Uint16(b[54:])), uint64(le.Uint16(b[56:]))); err != nil {
		return err
	}
	im.readSects(shoff, uint64(le.Uint16(b[58:])), uint64(le.Uint16(b[60:])), uint64(le.Uint16(b[62:])))
	return nil
}

func truncated(path string) error {
	return fault.New(fault.LaunchFailed, "Build or copy it again.",
		"%s is truncated or damaged: its program headers lie outside the file", path)
}

func (im *image) readProgs(off, size, num uint64) error {
	if num == 0 {
		return nil
	}
	if size < 56 || off > uint64(len(im.data)) || num*size > uint64(len(im.data))-off {
		return truncated(im.path)
	}
	for i := uint64(0); i < num; i++ {
		r := newReader(im.data, off+i*size)
		p := progHeader{typ: r.u32(), flags: r.u32(), off: r.u64(), vaddr: r.u64()}
		r.skip(8)
		p.filesz, p.memsz, p.align = r.u64(), r.u64(), r.u64()
		im.progs = append(im.progs, p)
	}
	return nil
}

func (im *image) readSects(off, size, num, names uint64) {
	if off == 0 {
		return
	}
	if size < 64 || off > uint64(len(im.data)) || uint64(len(im.data))-off < 64 {
		im.damage = append(im.damage, "the section headers lie outside the file: it is truncated")
		return
	}
	if num == 0 { // more than 0xff00 sections: the count is in the first header
		r := newReader(im.data, off+32)
		num = r.u64()
	}
	if names == uint64(elf.SHN_XINDEX) {
		r := newReader(im.data, off+40)
		names = uint64(r.u32())
	}
	if fit := (uint64(len(im.data)) - off) / size; num > fit {
		im.damage = append(im.damage, "the section headers lie outside the file: it is truncated")
		num = fit
	}
	num = min(num, maxHeaders)
	nameOff := make([]uint32, num)
	im.sects = make([]sectHeader, num)
	for i := range im.sects {
		r := newReader(im.data, off+uint64(i)*size)
		s := &im.sects[i]
		nameOff[i] = r.u32()
		s.typ, s.flags, s.addr, s.off, s.size = r.u32(), r.u64(), r.u64(), r.u64(), r.u64()
		s.link = r.u32()
		r.skip(12)
		s.entsize = r.u64()
	}
	if names >= num {
		return
	}
	strtab := im.raw(&im.sects[names])
	for i := range im.sects {
		im.sects[i].name = string(cstrAt(strtab, uint64(nameOff[i])))
	}
}

// raw returns a section's bytes in the file, cut at the file's end.
func (im *image) raw(s *sectHeader) []byte {
	if s.typ == uint32(elf.SHT_NOBITS) {
		return nil
	}
	return im.slice(s.off, s.size)
}

func (im *image) slice(off, size uint64) []byte {
	n := uint64(len(im.data))
	if off >= n {
		return nil
	}
	end := off + min(size, n-off)
	return im.data[off:end:end]
}

// find returns the index of the first section of that name, or -1.
func (im *image) find(name string) int {
	for i := range im.sects {
		if im.sects[i].name == name {
			return i
		}
	}
	return -1
}

// section returns the bytes of a section, decompressed. Absent: nil, nil.
// A name of the form .debug_x also finds .zdebug_x.
func (im *image) section(name string) ([]byte, error) {
	i := im.find(name)
	gnu := false
	if i < 0 && len(name) > 7 && name[:7] == ".debug_" {
		i, gnu = im.find(".z"+name[1:]), true
	}
	if i < 0 {
		return nil, nil
	}
	s := &im.sects[i]
	if s.typ == uint32(elf.SHT_NOBITS) {
		return nil, nil
	}
	if !gnu && s.flags&uint64(elf.SHF_COMPRESSED) == 0 {
		b := im.raw(s)
		if uint64(len(b)) < s.size {
			return b, fmt.Errorf("section %s is cut short: %d of %d bytes", name, len(b), s.size)
		}
		return b, nil
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	if u, ok := im.unpacked[i]; ok {
		return u.data, u.err
	}
	data, err := im.unpack(i, gnu)
	if err != nil {
		err = fmt.Errorf("decompress section %s: %w", name, err)
	}
	if im.unpacked == nil {
		im.unpacked = map[int]unpackedSect{}
	}
	im.unpacked[i] = unpackedSect{data, err}
	return data, err
}

// at returns the file bytes that are loaded at vaddr, up to the segment's end.
func (im *image) at(vaddr uint64) []byte {
	if p := im.segment(vaddr); p != nil {
		return im.slice(p.off+(vaddr-p.vaddr), p.filesz-(vaddr-p.vaddr))
	}
	return nil
}

// segment returns what is loaded at vaddr from the file, nil for nothing.
func (im *image) segment(vaddr uint64) *progHeader {
	for i := range im.progs {
		if p := &im.progs[i]; p.typ == uint32(elf.PT_LOAD) && vaddr >= p.vaddr && vaddr-p.vaddr < p.filesz {
			return p
		}
	}
	return nil
}

// buildID returns the GNU build-id as hex, or "".
func (im *image) buildID() string {
	for _, p := range im.progs {
		if p.typ == uint32(elf.PT_NOTE) {
			if id := noteBuildID(im.slice(p.off, p.filesz)); id != "" {
				return id
			}
		}
	}
	for i := range im.sects {
		if im.sects[i].typ == uint32(elf.SHT_NOTE) {
			if id := noteBuildID(im.raw(&im.sects[i])); id != "" {
				return id
			}
		}
	}
	return ""
}

func noteBuildID(b []byte) string {
	r := newReader(b, 0)
	for r.left() >= 12 && !r.bad {
		nameSize, descSize, typ := r.u32(), r.u32(), r.u32()
		name := r.bytes((uint64(nameSize) + 3) &^ 3)
		desc := r.bytes(uint64(descSize))
		if pad := (4 - uint64(descSize)%4) % 4; r.left() >= int(pad) {
			r.skip(pad)
		}
		const ntGNUBuildID = 3
		if typ == ntGNUBuildID && bytes.HasPrefix(name, []byte("GNU\x00")) && len(desc) > 0 && len(desc) <= 64 {
			return hex.EncodeToString(desc)
		}
	}
	return ""
}
