package symbol

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
)

// dwarfData is all debug information of a module, from all of its files.
type dwarfData struct {
	files []*dwarfFile
	secs  []*infoSec
	sigs  map[uint64]*unit // type units by signature

	sources *sources

	main     *dwarfFile
	problems []string
	release  []func()

	mu    sync.Mutex // guards types
	types map[dieRef]*Type

	code codeUnits
}

// maxProblems bounds the list that Module.Problems returns.
const maxProblems = 32

func (d *dwarfData) problem(format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, fmt.Sprintf(format, args...))
	}
}

// openDWARF reads the unit headers of im, and of the files that they name. beside is the module's
// own path, next to which .dwo and .dwp files are looked for. It returns nil when there is none.
func openDWARF(im *image, beside string, sources *sources) *dwarfData {
	d := &dwarfData{sigs: map[uint64]*unit{}, types: map[dieRef]*Type{}, sources: sources}
	f := d.addFile(im, false)
	if f == nil {
		return nil
	}
	d.main = f
	d.openAlt(f, beside)
	d.parse(f)
	d.openSplits(beside)
	for _, s := range d.secs {
		for _, u := range s.units {
			if u.kind == utType || u.kind == utSplitType {
				d.sigs[u.sig] = u
			}
		}
	}
	return d
}

func (d *dwarfData) close() {
	for _, f := range d.release {
		f()
	}
}

// addFile loads the sections of im. It returns nil when im has no .debug_info.
func (d *dwarfData) addFile(im *image, dwo bool) *dwarfFile {
	f := &dwarfFile{im: im, dwo: dwo, sources: d.sources}
	suffix := ""
	if dwo {
		suffix = ".dwo"
	}
	load := func(dst *[]byte, name string) func() {
		return func() {
			b, err := im.section(name + suffix)
			*dst = b
			if err != nil {
				d.mu.Lock()
				d.problem("%s: %v", im.path, err)
				d.mu.Unlock()
			}
		}
	}
	parallel([]func(){
		load(&f.info, ".debug_info"), load(&f.str, ".debug_str"), load(&f.types, ".debug_types"),
		load(&f.abbrev, ".debug_abbrev"), load(&f.strOff, ".debug_str_offsets"), load(&f.line, ".debug_line"),
		load(&f.rnglists, ".debug_rnglists"),
	})
	lazy := func(name string) func() []byte {
		return sync.OnceValue(func() (b []byte) {
			load(&b, name)()
			return b
		})
	}
	f.loc, f.loclists = lazy(".debug_loc"), lazy(".debug_loclists") // large, and for who asks where values are
	if len(f.info) == 0 && len(f.types) == 0 {
		return nil
	}
	if !dwo {
		load(&f.lineStr, ".debug_line_str")()
		load(&f.addr, ".debug_addr")()
		load(&f.ranges, ".debug_ranges")()
	}
	d.files = append(d.files, f)
	f.infos = len(d.secs)
	d.secs = append(d.secs, &infoSec{id: len(d.secs), data: f.info, file: f})
	if len(f.types) > 0 {
		d.secs = append(d.secs, &infoSec{id: len(d.secs), data: f.types, file: f, types: true})
	}
	return f
}

func (d *dwarfData) parse(f *dwarfFile) {
	for _, s := range d.secs {
		if s.file != f {
			continue
		}
		if err := s.parseUnits(); err != nil {
			d.problem("%s: debug information: %v", f.im.path, err)
		}
	}
}

// openAlt opens the supplementary file that dwz moved shared DIEs to.
func (d *dwarfData) openAlt(f *dwarfFile, beside string) {
	b, err := f.im.section(".gnu_debugaltlink")
	if err != nil || len(b) == 0 {
		return
	}
	name := string(cstrAt(b, 0))
	if name == "" {
		return
	}
	paths := []string{name}
	if !filepath.IsAbs(name) {
		paths = []string{filepath.Join(filepath.Dir(f.im.path), name), filepath.Join(filepath.Dir(beside), name)}
	}
	for _, p := range paths {
		im, err := openImage(p)
		if err != nil {
			continue
		}
		d.release = append(d.release, im.release)
		if alt := d.addFile(im, false); alt != nil {
			f.alt = alt
			d.parse(alt)
			return
		}
	}
	d.problem("%s: the supplementary debug file %s was not found: some types are unknown", f.im.path, name)
}

// maxSectionRefs is how many info sections a dieRef can tell apart.
const maxSectionRefs = 1 << 16

// openSplits finds the .dwo or .dwp content of every skeleton unit.
func (d *dwarfData) openSplits(beside string) {
	var skels []*unit
	for _, s := range d.secs {
		for _, u := range s.units {
			if u.dwoName != "" && s.file == d.main {
				skels = append(skels, u)
			}
		}
	}
	if len(skels) == 0 {
		return
	}
	missing := ""
	count := 0
	for _, u := range skels {
		if len(d.secs)+2 > maxSectionRefs || !d.openSplit(u, beside) {
			missing = u.dwoName
			count++
		}
	}
	if count > 0 {
		d.problem("%d of %d units have their debug information in .dwo files that were not found (%s): their functions "+
			"have no parameters and lines; keep the .dwo files where they were built",
			count, len(skels), missing)
	}
}

func (d *dwarfData) openSplit(u *unit, beside string) bool {
	paths := []string{u.dwoName}
	if !filepath.IsAbs(u.dwoName) {
		paths = []string{filepath.Join(u.compDir, u.dwoName), filepath.Join(filepath.Dir(beside), u.dwoName)}
	}
	paths = append(paths, filepath.Join(filepath.Dir(beside), filepath.Base(u.dwoName)))
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			continue
		}
		im, err := openDwo(p)
		if err != nil {
			d.problem("%s: %v", p, err)
			continue
		}
		f := d.addFile(im, true)
		if f == nil {
			im.release()
			continue
		}
		d.release = append(d.release, im.release)
		d.parse(f)
		if d.joinSplit(u, f) {
			return true
		}
		d.problem("%s: it was built at another time than the program", p)
	}
	return false
}

// joinSplit ties the skeleton to the unit of f with the same id, and f's type units to its tables.
func (d *dwarfData) joinSplit(skel *unit, f *dwarfFile) bool {
	found := false
	for _, s := range d.secs {
		if s.file != f {
			continue
		}
		for _, u := range s.units {
			switch {
			case u.kind == utType || u.kind == utSplitType:
				u.skel = skel
				if u.hasLine {
					continue
				}
			case u.dwoID == skel.dwoID && !found:
				found = true
				skel.split, u.skel = u, skel
			default:
				continue
			}
			if u.compDir == "" {
				u.compDir = skel.compDir
			}
			u.low, u.gnuRanges = skel.low, skel.gnuRanges
			u.stmtList, u.hasLine, u.lineFile = skel.stmtList, skel.hasLine, skel.lineFile
		}
	}
	return found
}

// unitOf returns the unit that holds a DIE, or nil.
func (d *dwarfData) unitOf(ref dieRef) *unit {
	if ref.sec() >= len(d.secs) {
		return nil
	}
	us := d.secs[ref.sec()].units
	i := sort.Search(len(us), func(i int) bool { return us[i].off > ref.off() }) - 1
	if i < 0 || ref.off() < us[i].dieOff || ref.off() >= us[i].end {
		return nil
	}
	return us[i]
}

// die returns a reader behind the abbreviation code of a DIE, with its shape; ab is nil when there is none.
func (d *dwarfData) die(ref dieRef) (u *unit, ab *abbrev, r reader) {
	u = d.unitOf(ref)
	if u == nil {
		return nil, nil, r
	}
	r = reader{b: u.sec.data[:u.end], off: int(ref.off())}
	ab = u.abbrevs.get(r.uleb())
	if r.bad {
		ab = nil
	}
	return u, ab, r
}
