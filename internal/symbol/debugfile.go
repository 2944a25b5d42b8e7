package symbol

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// hasDWARF reports whether the file itself holds debug information.
func (im *image) hasDWARF() bool {
	for i := range im.sects {
		switch im.sects[i].name {
		case ".debug_info", ".zdebug_info":
			return im.sects[i].typ != shtNobits && im.sects[i].size > 0
		}
	}
	return false
}

const shtNobits = 8

// findDebugFile looks for the separate debug file of im: in o.SymbolsPath, then by .gnu_debuglink,
// then by build-id. It returns nil when there is none; problems tell of files that did not fit.
func findDebugFile(im *image, o Options) (dbg *image, problems []string) {
	id := im.buildID()
	try := func(path string, check func(*image) error) *image {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || sameFile(path, im.path) {
			return nil
		}
		d, err := openImage(path)
		if err != nil {
			problems = append(problems, fmt.Sprintf("debug file %s: %v", path, err))
			return nil
		}
		if o.CacheDir != "" {
			d.stash = filepath.Join(o.CacheDir, stashFolder)
		}
		if err := protect(func() error { return check(d) }); err != nil {
			d.release()
			problems = append(problems, fmt.Sprintf("debug file %s: %v", path, err))
			return nil
		}
		return d
	}
	byID := func(d *image) error {
		if got := d.buildID(); id != "" && got != "" && got != id {
			return fmt.Errorf("its build-id %s is not the program's %s", short(got), short(id))
		}
		if !d.hasDWARF() && d.find(".symtab") < 0 {
			return fmt.Errorf("it has neither debug information nor symbols")
		}
		return nil
	}
	for _, p := range symbolsCandidates(o.SymbolsPath, im.path, id) {
		if d := try(p, byID); d != nil {
			return d, problems
		}
	}
	if o.SymbolsPath != "" {
		if _, err := os.Stat(o.SymbolsPath); err != nil {
			problems = append(problems, fmt.Sprintf("symbolsPath %s: %v", o.SymbolsPath, err))
		}
	}
	if im.hasDWARF() {
		return nil, problems
	}
	dirs := o.DebugDirs
	if dirs == nil {
		dirs = []string{"/usr/lib/debug"}
	}
	name, crc, ok := im.debugLink()
	byCRC := func(d *image) error {
		if crc32.ChecksumIEEE(d.data) != crc {
			return fmt.Errorf("its checksum is not the one in the program: it belongs to another build")
		}
		return nil
	}
	if ok {
		for _, p := range linkCandidates(im.path, name, dirs) {
			if d := try(p, byCRC); d != nil {
				return d, problems
			}
		}
	}
	if len(id) > 2 {
		for _, g := range dirs {
			if d := try(filepath.Join(g, ".build-id", id[:2], id[2:]+".debug"), byID); d != nil {
				return d, problems
			}
		}
	}
	return nil, problems
}

// linkCandidates lists where the file of a .gnu_debuglink may be.
func linkCandidates(path, name string, dirs []string) []string {
	dir := filepath.Dir(absolute(path))
	out := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
	for _, g := range dirs {
		out = append(out, filepath.Join(g, dir, name))
	}
	return out
}

// debugLink reads .gnu_debuglink: a file name and the file's CRC.
func (im *image) debugLink() (name string, crc uint32, ok bool) {
	b, err := im.section(".gnu_debuglink")
	if err != nil || len(b) < 8 {
		return "", 0, false
	}
	r := newReader(b, 0)
	name = string(r.cstr())
	r.skip(uint64((4 - r.off%4) % 4))
	crc = r.u32()
	return name, crc, !r.bad && name != "" && !strings.ContainsRune(name, '/')
}

// maxSymbolFiles bounds the walk below a symbolsPath directory.
const maxSymbolFiles = 20000

// symbolsCandidates lists the files that symbolsPath may mean, the likeliest first.
func symbolsCandidates(symbolsPath, path, id string) []string {
	if symbolsPath == "" {
		return nil
	}
	st, err := os.Stat(symbolsPath)
	if err != nil {
		return nil
	}
	if !st.IsDir() {
		return []string{symbolsPath}
	}
	base := filepath.Base(path)
	names := []string{base + ".debug", base + ".dbg", base + ".sym", strings.TrimSuffix(base, filepath.Ext(base)) +
		".debug", base}
	var out []string
	if len(id) > 2 {
		out = append(out, filepath.Join(symbolsPath, ".build-id", id[:2], id[2:]+".debug"))
	}
	for _, n := range names {
		out = append(out, filepath.Join(symbolsPath, n))
	}
	seen := 0
	_ = filepath.WalkDir(symbolsPath, func(p string, e fs.DirEntry, err error) error {
		if seen++; seen > maxSymbolFiles {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() {
			return nil
		}
		for _, n := range names {
			if e.Name() == n || id != "" && strings.HasPrefix(e.Name(), id[2:]) {
				out = append(out, p)
				break
			}
		}
		return nil
	})
	return out
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func absolute(p string) string {
	if q, err := filepath.EvalSymlinks(p); err == nil {
		p = q
	}
	if q, err := filepath.Abs(p); err == nil {
		p = q
	}
	return p
}

func short(id string) string {
	if len(id) > 12 {
		return id[:12]
	}
	return id
}
