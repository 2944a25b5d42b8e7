package symbol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"os"
	"path/filepath"
)

// The cache file of an index, little-endian:
//
//	magic[8] "strbsym" + version | crc32c of all behind it (4) | length of all behind it (8)
//	string table: length (8), bytes      every string is an offset and a length in it
//	header, functions, fragments, functions without code, types: counted lists of fixed records
//
// A file that is shorter, longer, of another version or does not match its checksum is not read;
// the index is built anew and the file replaced.
const (
	cacheMagic   = "strbsym"
	cacheVersion = 7
	cacheHeader  = 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cacheKey names the cache file: the build-id, and a hash of what else the index depends on.
func (m *Module) cacheKey(o Options) string {
	h := fnv.New64a()
	ident := func(im *image) {
		fmt.Fprintf(h, "%s|%d|", im.buildID(), len(im.data))
		for i := range im.sects {
			s := &im.sects[i]
			fmt.Fprintf(h, "%s,%d,%d,%d;", s.name, s.addr, s.off, s.size)
		}
		if im.buildID() == "" {
			fmt.Fprintf(h, "%s|%d", absolute(im.path), im.modTime)
		}
	}
	fmt.Fprintf(h, "v%d|", cacheVersion)
	ident(m.im)
	if m.dbg != nil {
		ident(m.dbg)
	}
	fmt.Fprintf(h, "|%s", o.SymbolsPath)
	id := m.BuildID
	if id == "" {
		id = "no-build-id"
	}
	return fmt.Sprintf("%s-%016x", id, h.Sum64())
}

type cacheWriter struct {
	b       []byte
	strs    []byte
	offsets map[string]uint32
}

func (w *cacheWriter) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *cacheWriter) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

func (w *cacheWriter) str(s string) {
	off, ok := w.offsets[s]
	if !ok {
		off = uint32(len(w.strs))
		w.strs = append(w.strs, s...)
		w.offsets[s] = off
	}
	w.u32(off)
	w.u32(uint32(len(s)))
}

// The bits of a cached function.
const (
	cachedDWARF = 1 << iota
	cachedInlined
	cachedNoReturn
	cachedIfunc
	cachedFragment
	cachedGuessed
)

func (w *cacheWriter) functions(fs []Function) {
	w.u32(uint32(len(fs)))
	for i := range fs {
		f := &fs[i]
		var bits uint32
		for n, on := range [...]bool{f.HasDWARF, f.Inlined, f.NoReturn, f.Ifunc, f.Fragment, f.SizeGuessed} {
			if on {
				bits |= 1 << n
			}
		}
		w.u64(uint64(f.Low))
		w.u64(uint64(f.High))
		w.u64(uint64(f.die))
		w.u32(bits)
		w.u32(uint32(f.Line))
		w.str(f.Name)
		w.str(f.Raw)
		w.str(f.File)
		w.str(string(f.Language))
		w.u32(uint32(len(f.Aliases)))
		for _, a := range f.Aliases {
			w.str(a)
		}
	}
}

// encodeIndex returns the cache file of an index.
func encodeIndex(ix *index) ([]byte, error) {
	w := &cacheWriter{offsets: make(map[string]uint32, 2*len(ix.funcs))}
	w.b = make([]byte, 0, 80*len(ix.funcs)+40*len(ix.ghosts)+16*len(ix.types))
	dwarf := uint32(0)
	if ix.hasDWARF {
		dwarf = 1
	}
	w.u32(dwarf)
	w.str(ix.compiler)
	w.str(string(ix.language))
	w.functions(ix.funcs)
	w.functions(ix.frags)
	w.u32(uint32(len(ix.ghosts)))
	for _, g := range ix.ghosts {
		w.str(g.raw)
		w.str(g.file)
		w.u32(uint32(g.line))
		w.u32(uint32(g.reason))
	}
	w.u32(uint32(len(ix.types)))
	for _, t := range ix.types {
		w.u64(t.hash)
		w.u64(uint64(t.die))
	}
	if len(w.strs) > 1<<31 {
		return nil, errors.New("the names are too long together")
	}
	out := make([]byte, cacheHeader, cacheHeader+8+len(w.strs)+len(w.b))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(w.strs)))
	out = append(append(out, w.strs...), w.b...)
	copy(out, cacheMagic)
	out[7] = cacheVersion
	binary.LittleEndian.PutUint32(out[8:], crc32.Checksum(out[cacheHeader:], castagnoli))
	binary.LittleEndian.PutUint64(out[12:], uint64(len(out)-cacheHeader))
	return out, nil
}

// writeCache stores an index under dir/key.
func writeCache(dir, key string, ix *index) error {
	b, err := encodeIndex(ix)
	if err != nil {
		return err
	}
	return putFile(filepath.Join(dir, key), b)
}

// spareBytes are left to recordings, which share the disk with what is only kept to be faster.
const spareBytes = 16 << 20

// putFile makes a file of parts by renaming a complete one.
func putFile(path string, parts ...[]byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	size := uint64(spareBytes)
	for _, b := range parts {
		size += uint64(len(b))
	}
	if free := room(dir); free < size {
		return fmt.Errorf("only %d bytes are free on the disk of %s", free, dir)
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	for _, b := range parts {
		if err == nil {
			_, err = f.Write(b)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func readCache(path string) (*index, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decodeIndex(b)
}

// cacheReader reads records; strings are parts of one string, so that they cost no allocation each.
type cacheReader struct {
	reader
	strs string
}

func (r *cacheReader) str() string {
	off, n := uint64(r.u32()), uint64(r.u32())
	if off+n > uint64(len(r.strs)) {
		r.fail()
		return ""
	}
	return r.strs[off : off+n]
}

// count reads a list's length; size is the least bytes of one record.
func (r *cacheReader) count(size int) int {
	n := int(r.u32())
	if n > r.left()/size {
		r.fail()
		return 0
	}
	return n
}

func (r *cacheReader) functions() []Function {
	fs := make([]Function, r.count(68))
	for i := range fs {
		f := &fs[i]
		f.Low, f.High, f.die = Addr(r.u64()), Addr(r.u64()), dieRef(r.u64())
		bits := r.u32()
		f.HasDWARF, f.Inlined, f.NoReturn = bits&cachedDWARF != 0, bits&cachedInlined != 0, bits&cachedNoReturn != 0
		f.Ifunc, f.Fragment, f.SizeGuessed = bits&cachedIfunc != 0, bits&cachedFragment != 0, bits&cachedGuessed != 0
		f.Line = int(r.u32())
		f.Name, f.Raw, f.File, f.Language = r.str(), r.str(), r.str(), Language(r.str())
		if n := r.count(8); n > 0 {
			f.Aliases = make([]string, n)
			for j := range f.Aliases {
				f.Aliases[j] = r.str()
			}
		}
	}
	return fs
}

var errCache = errors.New("cache file is damaged or of another version")

func decodeIndex(b []byte) (*index, error) {
	if len(b) < cacheHeader+8 || string(b[:7]) != cacheMagic || b[7] != cacheVersion ||
		binary.LittleEndian.Uint64(b[12:]) != uint64(len(b)-cacheHeader) ||
		binary.LittleEndian.Uint32(b[8:]) != crc32.Checksum(b[cacheHeader:], castagnoli) {
		return nil, errCache
	}
	r := &cacheReader{reader: newReader(b, cacheHeader)}
	r.strs = string(r.bytes(r.u64()))
	ix := &index{}
	ix.hasDWARF = r.u32() != 0
	ix.compiler, ix.language = r.str(), Language(r.str())
	ix.funcs, ix.frags = r.functions(), r.functions()
	ix.ghosts = make([]ghost, r.count(24))
	for i := range ix.ghosts {
		ix.ghosts[i] = ghost{raw: r.str(), file: r.str(), line: int(r.u32()), reason: ghostReason(r.u32())}
	}
	ix.types = make([]typeRec, r.count(16))
	for i := range ix.types {
		ix.types[i] = typeRec{r.u64(), dieRef(r.u64())}
	}
	if r.bad {
		return nil, errCache
	}
	return ix, nil
}
