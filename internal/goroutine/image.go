package goroutine

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Image is what the file of a Go program says of its functions. Immutable.
type Image struct {
	Version string // go1.26.3
	GoID    uint32 // where in a goroutine's g its ID is; the bounds of its stack are at 0 and 8
	Layout  Layout
	TLS     uint64 // where a thread has the g that it runs, from fs: a negative number

	marks map[string]mark
}

// mark is what sets a function apart from those that the compiler made of Go code.
type mark uint8

const (
	markAssembly mark = 1 << iota
	markAdded         // by the compiler: it makes one calling convention or method out of another
	markForeign       // C's: Go's linker took it in, and knows neither its lines nor its frames
	markOwn           // Go's, though its name could be C's
)

const flagAssembly = 4 // runtime.abi.FuncFlagAsm

// ReadImage reads it. fault.Unsupported is not told here: the error says what is not known.
func ReadImage(file io.ReaderAt) (*Image, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the program's file: %w", err)
	}
	info, err := buildinfo.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	img := &Image{Version: info.GoVersion, marks: map[string]mark{}}
	l := known(img.Version)
	if l == nil {
		d, err := f.DWARF()
		if err != nil {
			return nil, fmt.Errorf("the runtime of %s is not known: %w", img.Version, err)
		}
		if l, err = LayoutOf(d); err != nil {
			return nil, fmt.Errorf("the runtime of %s is not known: %w", img.Version, err)
		}
	}
	img.GoID, img.Layout, img.TLS = l.GID, *l, threadG(f)
	i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return strings.HasSuffix(s.Name, ".gopclntab") })
	if i < 0 || f.Sections[i].Size > maxTable {
		return nil, fmt.Errorf("it has no line table of %s that can be read", img.Version)
	}
	b, err := f.Sections[i].Data()
	if err != nil {
		return nil, fmt.Errorf("read the line table: %w", err)
	}
	t, err := newLineTable(b)
	if err != nil {
		return nil, err
	}
	for i := range t.n {
		fn, ok := t.function(i)
		if !ok {
			continue
		}
		m := mark(0)
		if fn.record[41]&flagAssembly != 0 {
			m |= markAssembly
		}
		if fn.kind() == t.wrapper && t.wrapper > 0 {
			m |= markAdded
		}
		if fn.field(4) == 0 && fn.field(5) == 0 { // pcsp, pcfile
			m |= markForeign
		} else if likeC(t.name(fn.field(1))) {
			m |= markOwn
		}
		if m != 0 {
			img.marks[t.name(fn.field(1))] |= m
		}
	}
	return img, nil
}

// Assembly reports a function that is written in assembly, which keeps to no rule of the compiler's.
func (i *Image) Assembly(name string) bool { return i.marks[name]&markAssembly != 0 }

// Foreign reports a function that no compiler of Go's made, by its symbol's name. What Go's linker took in its table
// has; of what another linker did the table has nothing.
func (i *Image) Foreign(symbol string) bool {
	m := i.marks[symbol]
	return m&markForeign != 0 || m&markOwn == 0 && likeC(symbol)
}

// likeC reports a name that a C function may have: nearly all of Go's have a package before a dot.
func likeC(symbol string) bool {
	first, rest, found := strings.Cut(symbol, ".")
	return !found || !strings.Contains(first, "/") && cClone.MatchString(rest)
}

// cClone is what C compilers put behind the name of a copy or a part of a function.
var cClone = regexp.MustCompile(`^(part|constprop|isra|cold|lto_priv)(\.(\d+|part|constprop|isra|cold|lto_priv))*$`)

// Added reports a function that the compiler put between a caller and what it calls.
func (i *Image) Added(name string) bool { return i.marks[name]&markAdded != 0 }

// threadG is where threads have their g. In a program with C code it is one of several variables that they have.
func threadG(f *elf.File) uint64 {
	own := uint64(8) // it alone, if symbols do not say more
	i := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_TLS })
	if i < 0 || f.Progs[i].Memsz <= own {
		return -own
	}
	symbols, _ := f.Symbols() //nolint:errcheck // it is stripped
	for _, s := range symbols {
		if s.Name == "runtime.tlsg" && elf.ST_TYPE(s.Info) == elf.STT_TLS {
			align := max(f.Progs[i].Align, 1)
			return s.Value - (f.Progs[i].Memsz+align-1)/align*align
		}
	}
	return -own
}
