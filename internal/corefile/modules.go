package corefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// image is one ELF file as it was mapped.
type image struct {
	path    string // as the core names it
	deleted bool   // the file was gone when the core was written
	parts   []file
	exec    bool
	program bool // the program itself
	mod     *symbol.Module
	bias    uint64
	file    *os.File // the file that was mapped, provably: its bytes stand for memory that is not in the core; or nil
}

// prove opens the file for its bytes.
func (im *image) prove() {
	if f, err := plainfile.Open(im.mod.Path); err == nil {
		im.file = f
	}
}

func (im *image) close() {
	im.mod.Close()
	if im.file != nil {
		im.file.Close()
	}
}

func (im *image) lo() uint64 { return im.parts[0].lo }
func (im *image) hi() uint64 { return im.parts[len(im.parts)-1].hi }

// maxWarnings bounds the warnings of one core; what is left out is counted.
const maxWarnings = 20

// images groups the mapped files. A file that is mapped twice (two namespaces of the loader) is two.
func (c *core) images() []*image {
	var all []*image
	open := map[string]*image{}
	for _, f := range c.files {
		path, deleted := strings.CutSuffix(f.path, " (deleted)")
		im := open[f.path]
		if im == nil || f.off == 0 && im.parts[len(im.parts)-1].off > 0 {
			im = &image{path: path, deleted: deleted}
			open[f.path] = im
			all = append(all, im)
		}
		im.parts = append(im.parts, f)
		if s := c.segmentAt(f.lo); s == nil || s.exec {
			im.exec = true
		}
	}
	entry, ok := c.auxv[atEntry]
	if !ok {
		entry, ok = c.auxv[atPhdr]
	}
	var found []*image
	for _, im := range all {
		for _, f := range im.parts {
			im.program = im.program || ok && entry >= f.lo && entry < f.hi
		}
		if im.program || im.exec && strings.HasPrefix(im.path, "/") && !strings.HasPrefix(im.path, "/dev/") {
			found = append(found, im)
		}
	}
	return found
}

// base is where the file's first byte is mapped.
func (im *image) base() (uint64, bool) {
	for _, f := range im.parts {
		if f.off == 0 {
			return f.lo, true
		}
	}
	return 0, false
}

// place works out where a module was loaded.
func (im *image) place(mod *symbol.Module) bool {
	for _, f := range im.parts {
		for _, s := range mod.Segments() {
			if s.Off&^(pageBytes-1) == f.off {
				im.mod, im.bias = mod, f.lo-uint64(s.Vaddr)&^(pageBytes-1)
				return true
			}
		}
	}
	return false
}

// load finds the files of a core's modules. The program itself is given; with another one there is no answer.
func (x *Core) load(binary, symbols string) error {
	images := x.core.images()
	var program *image
	for _, im := range images {
		if im.program {
			program = im
		}
	}
	if program == nil { // no list of files, or no auxiliary vector
		x.warn("the core does not say which files were mapped where: libraries are not known")
		return x.alone(binary, symbols)
	}
	if err := x.loadProgram(program, binary, symbols); err != nil {
		return err
	}
	for _, im := range images {
		if im != program {
			x.loadLibrary(im, binary, symbols)
		}
	}
	for _, im := range images {
		if im.mod != nil {
			x.images = append(x.images, im)
		}
	}
	return nil
}

// alone loads the program where the core has no list of files: its entry point says where it was.
func (x *Core) alone(binary, symbols string) error {
	mod, err := x.files.open(binary, symbols)
	if err != nil {
		return err
	}
	im := &image{path: binary, program: true, mod: mod}
	if entry, ok := x.core.auxv[atEntry]; ok {
		im.bias = entry - uint64(mod.Entry)
	} else if mod.PIE {
		x.warn("the core does not say where the program was loaded: its functions have no names")
		return nil
	}
	for _, s := range mod.Segments() {
		lo := (im.bias + uint64(s.Vaddr)) &^ (pageBytes - 1)
		im.parts = append(im.parts, file{lo: lo, hi: lo + (s.Filesz+uint64(s.Vaddr)%pageBytes+pageBytes-1)&^(pageBytes-1),
			off: s.Off &^ (pageBytes - 1), path: binary})
	}
	if len(im.parts) > 0 {
		x.images = append(x.images, im)
	}
	return nil
}

func (x *Core) loadProgram(im *image, binary, symbols string) error {
	mod, err := x.files.open(binary, symbols)
	if err != nil {
		return err
	}
	base, _ := im.base()
	how, why := x.core.identify(base).compare(mod)
	switch {
	case how == different:
		return fault.New(fault.ValidationError, x.otherProgram(im, mod), "%s is not the program that the core is of (%s): %s",
			binary, im.path, why)
	case how == unproven:
		x.warn(fmt.Sprintf("%s may not be the program that crashed: %s", binary, why))
	case mod.BuildID == "" && changedAfter(binary, x.written):
		x.warn(fmt.Sprintf("%s was written after the core and has no build-id: if it was built again, functions and lines "+
			"are wrong", binary))
		how = unproven
	}
	if !im.place(mod) {
		return fault.New(fault.ValidationError, "Give the program that crashed.", "%s was not mapped as the core says of %s",
			binary, im.path)
	}
	if how == same {
		im.prove()
	}
	return nil
}

// otherProgram says where the right program may be.
func (x *Core) otherProgram(im *image, given *symbol.Module) string {
	base, _ := im.base()
	id := x.core.identify(base)
	for _, path := range []string{im.path, filepath.Join(filepath.Dir(given.Path), filepath.Base(im.path))} {
		if path == given.Path {
			continue
		}
		if mod, err := x.files.open(path, ""); err == nil {
			if how, _ := id.compare(mod); how == same {
				return "Give " + path + ": it is the right one."
			}
		}
	}
	if filepath.Base(im.path) == filepath.Base(given.Path) {
		return "It was built again since: give the binary of that build, or build the same sources with the same flags, or " +
			"reproduce the crash with debug_launch."
	}
	return "Give the binary that crashed: " + im.path + "."
}

// loadLibrary looks for a library by its path, under symbols, and beside the program.
func (x *Core) loadLibrary(im *image, binary, symbols string) {
	base, ok := im.base()
	if !ok {
		return
	}
	id := x.core.identify(base)
	name := filepath.Base(im.path)
	paths := []string{im.path}
	if symbols != "" {
		paths = append(paths, filepath.Join(symbols, im.path), filepath.Join(symbols, name))
	}
	paths = append(paths, filepath.Join(filepath.Dir(binary), name))
	why, mine := "", ""
	for _, path := range paths {
		mod, err := x.files.open(path, symbols)
		if err != nil {
			if path == im.path && !errors.Is(err, os.ErrNotExist) {
				why = err.Error()
			}
			continue
		}
		how, words := id.compare(mod)
		if how == different {
			if why = fmt.Sprintf("%s is another version: %s", path, words); mine == "" {
				mine = why
			}
			continue
		}
		if !im.place(mod) {
			continue
		}
		if how == same {
			im.prove()
		} else if changedAfter(path, x.written) {
			x.warn(fmt.Sprintf("%s was written after the core: its functions may have wrong names", path))
		}
		return
	}
	if id.header == nil && !strings.Contains(name, ".so") { // data
		return
	}
	switch {
	case mine != "":
		why = mine
	case why == "" && im.deleted:
		why = "it was deleted or replaced before the crash"
	case why == "":
		why = "there is no such file"
	}
	x.warn(fmt.Sprintf("no symbols of %s: %s. Put the right file into a directory and give that as symbolsPath", im.path,
		why))
}

func (x *Core) warn(text string) {
	if len(x.warnings) < maxWarnings {
		x.warnings = append(x.warnings, text)
		return
	}
	x.unwarned++
}

// modules are the loaded files as unwinders know them, with the kernel's own.
func (x *Core) modules() []unwind.Module {
	var mods []unwind.Module
	if at := x.core.auxv[atVDSO]; at != 0 {
		if s := x.core.segmentAt(at); s != nil && s.filesz > 0 && s.filesz <= maxVDSO {
			b := make([]byte, s.filesz)
			if x.core.Read(s.lo, b) == nil {
				if mod, err := symbol.OpenBytes("[vdso]", b); err == nil {
					mods = append(mods, unwind.Module{Mod: mod, Bias: s.lo - vdsoBase(mod), Lo: s.lo, Hi: s.hi})
				}
			}
		}
	}
	for _, im := range x.images {
		mods = append(mods, unwind.Module{Mod: im.mod, Bias: im.bias, Lo: im.lo(), Hi: im.hi()})
	}
	return mods
}

const maxVDSO = 1 << 20

// vdsoBase is the address that the vDSO was linked at.
func vdsoBase(mod *symbol.Module) uint64 {
	for _, s := range mod.Segments() {
		if s.Off == 0 {
			return uint64(s.Vaddr)
		}
	}
	return 0
}
