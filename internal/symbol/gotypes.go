package symbol

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Attributes of Go's compiler.
const (
	atGoKind        = 0x2900 // reflect.Kind
	atGoRuntimeType = 0x2904 // where its description is in the program
)

// GoType is a type of a Go program that a value in an interface may be of.
type GoType struct {
	Name string // as in Go: *errors.errorString
	Type *Type
	// Key tells the type's description in the program's memory from all others of the module: its hash in the upper half,
	// and where its name is among the names in the lower one. Neither depends on where the module is loaded.
	Key  uint64
	Addr Addr // of the description
}

// Where a type's description has its parts: internal/abi.Type.
const (
	goTypeHash  = 16
	goTypeKind  = 23
	goKindMask  = 31
	goTypeName  = 40
	goTypeBytes = 48
)

// maxGoTypes bounds what is kept of a module; the largest programs have some fifty thousand.
const maxGoTypes = 1 << 17

type goTypesKey struct{}

type goNamesKey struct{}

// GoTypeNames are the names of types by where their descriptions are, and where the first begins and the last ends.
type GoTypeNames struct {
	Lo, Hi Addr
	Name   map[Addr]string
	Type   map[string]*Type // by name; those of dictionaries have none
}

// GoTypeNames returns those of the module; nothing where there is no debug information.
func (m *Module) GoTypeNames() *GoTypeNames {
	return m.Memo(goNamesKey{}, func() any {
		n := &GoTypeNames{Name: map[Addr]string{}, Type: map[string]*Type{}}
		if !m.Go {
			return n
		}
		for _, g := range (&Type{m: m}).GoTypes() {
			n.add(g.Addr, goTypeBytes, g.Name)
			n.Type[g.Name] = g.Type
		}
		return n
	}).(*GoTypeNames)
}

func (n *GoTypeNames) add(a, size Addr, name string) {
	if n.Lo == 0 || a < n.Lo {
		n.Lo = a
	}
	n.Hi = max(n.Hi, a+size)
	n.Name[a] = name
}

type goDictsKey struct{}

// GoDicts returns the dictionaries of instances of generic functions and types, as pkg..dict.Name[types], by where they
// are.
func (m *Module) GoDicts() *GoTypeNames {
	return m.Memo(goDictsKey{}, func() any {
		n := &GoTypeNames{Name: map[Addr]string{}}
		for _, im := range m.images() {
			im.eachSym(func(s elfSym) bool {
				if m.Go && bytes.Contains(s.name, []byte("..dict.")) {
					n.add(Addr(s.value), Addr(max(s.size, 1)), string(s.name))
				}
				return m.Go
			})
		}
		return n
	}).(*GoTypeNames)
}

// GoDictTypes are the types that the dictionary at an address is of; "": none is there.
func (m *Module) GoDictTypes(a Addr) string {
	_, types, _ := strings.Cut(m.GoDicts().Name[a], "[")
	return strings.TrimSuffix(types, "]")
}

// GoTypes returns the types of the module of t that values in interfaces may be of, by name. They are looked for once.
func (t *Type) GoTypes() []GoType {
	if t == nil || t.m == nil {
		return nil
	}
	m := t.m
	return m.Memo(goTypesKey{}, func() any {
		var all []GoType
		_ = m.guarded(func() error {
			all = m.findGoTypes()
			return nil
		})
		if len(all) == 0 { // without debug information
			g := m.goRuntime()
			_ = m.guarded(func() error { all = g.goTypes(); return nil })
		}
		return all
	}).([]GoType)
}

func (m *Module) findGoTypes() []GoType {
	d := m.dwarf()
	if d == nil {
		return nil
	}
	base := uint64(0) // newer versions say how far a description is from there, and not where it is
	for _, im := range m.images() {
		im.eachSym(func(s elfSym) bool {
			if string(s.name) == "runtime.types" {
				base = s.value
			}
			return base == 0
		})
	}
	var units []*unit
	for _, s := range d.secs {
		for _, u := range s.units {
			if u.lang == LangGo {
				units = append(units, u)
			}
		}
	}
	found := make([][]GoType, len(units))
	_ = parallelN(len(units), func(i int) { found[i] = d.goTypesOf(m, units[i], base) }) // damaged ones are left out
	all := slices.Concat(found...)
	sorting.By(all, func(a, b GoType) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name)) })
	all = slices.CompactFunc(all, func(a, b GoType) bool { return a.Key == b.Key })
	sorting.By(all, func(a, b GoType) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key)) })
	return all[:min(len(all), maxGoTypes)]
}

// goTypesOf reads the types at the top of a unit.
func (d *dwarfData) goTypesOf(m *Module, u *unit, base uint64) []GoType {
	var out []GoType
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	root := u.abbrevs.get(r.uleb())
	if root == nil || !root.children {
		return nil
	}
	root.skipAttrs(&r)
	for depth := 0; r.off < len(r.b) && !r.bad && len(out) < maxGoTypes; {
		off := r.off
		code := r.uleb()
		if code == 0 {
			if depth--; depth < 0 {
				break
			}
			continue
		}
		c := u.abbrevs.get(code)
		if c == nil {
			break
		}
		if _, isType := kindOfTag[c.tag]; depth == 0 && isType && c.tag != tagSubprogram {
			if g, ok := d.goType(m, u, c, &r, base); ok {
				g.Type = d.typeAt(m, u.ref(uint64(off)), 0)
				out = append(out, g)
			}
		} else {
			c.skipAttrs(&r)
		}
		if c.children {
			depth++
		}
	}
	return out
}

func (d *dwarfData) goType(m *Module, u *unit, c *abbrev, r *reader, base uint64) (g GoType, ok bool) {
	at, kind := uint64(0), uint64(0)
	for _, a := range c.attrs {
		switch a.name {
		case atName:
			g.Name = string(u.text(u.str(r, a.form)))
		case atGoRuntimeType:
			at = u.value(r, a).u
		case atGoKind:
			kind = u.value(r, a).u
		default:
			u.skip(r, a.form)
		}
	}
	if r.bad || at == 0 || g.Name == "" || strings.HasPrefix(g.Name, "go.shape.") {
		return g, false
	}
	for _, at := range []uint64{at, at + base} {
		b, err := m.BytesAt(Addr(at), goTypeBytes)
		if err == nil && uint64(b[goTypeKind]&goKindMask) == kind&goKindMask && kind != 0 {
			g.Addr = Addr(at)
			g.Key = uint64(binary.LittleEndian.Uint32(b[goTypeHash:]))<<32 | uint64(binary.LittleEndian.Uint32(b[goTypeName:]))
			return g, true
		}
	}
	return g, false
}

type goErrorsKey struct{}

// GoErrors are the names of the module's types that are errors, as far as their methods have code.
func (t *Type) GoErrors() map[string]bool {
	if t == nil || t.m == nil {
		return nil
	}
	return t.m.Memo(goErrorsKey{}, func() any {
		out := map[string]bool{}
		for i := range t.m.Functions() {
			name, ok := strings.CutSuffix(t.m.Functions()[i].Name, ".Error")
			if !ok {
				continue
			}
			if at := strings.LastIndex(name, ".(*"); at >= 0 { // pkg.(*T)
				name = "*" + name[:at+1] + strings.TrimSuffix(name[at+3:], ")")
			}
			out[name] = true
		}
		return out
	}).(map[string]bool)
}

type goModuleKey struct{}

// GoModule is the path of the main module of the program that has t, "" where it is not told.
func (t *Type) GoModule() string {
	if t == nil || t.m == nil {
		return ""
	}
	return t.m.Memo(goModuleKey{}, func() any {
		info, err := buildinfo.ReadFile(t.m.Path)
		if err != nil {
			return ""
		}
		return info.Main.Path
	}).(string)
}

// goMoved is a variable as the source has it: of one that lives in the heap debug information has a pointer, &name.
func goMoved(name string, t *Type) (string, *Type) {
	if p := t.Strip(); strings.HasPrefix(name, "&") && p != nil && p.Kind == KindPointer {
		return name[1:], MadeReference(p.Elem())
	}
	return name, t
}
