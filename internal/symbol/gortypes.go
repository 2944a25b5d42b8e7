package symbol

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// A Go program without debug information still has the descriptions of types that its runtime needs (internal/abi), and
// in them the methods that an interface may call, with their types and where their code is. Types are made of them as
// debug information would tell them. Names of parameters are not there.

// Words of runtime.moduledata; what follows moved by one in Go 1.26.
const (
	goModuleTypes = 296
	goModuleLinks = 352
)

// Parts of internal/abi's descriptions.
const (
	goTypeFlags = 20
	goTypeBody  = 48

	goUncommon  = 1 << 0 // flags: methods and the package's path follow
	goExtraStar = 1 << 1 // the name has one * too many
	goNamed     = 1 << 2

	goMethodBytes = 16
	goFieldBytes  = 24
)

// goBodies are how long descriptions are, by kind, without what follows.
var goBodies = map[reflect.Kind]uint64{reflect.Pointer: 56, reflect.Func: 56, reflect.Slice: 56, reflect.Array: 72,
	reflect.Chan: 64, reflect.Interface: 80, reflect.Struct: 80, reflect.Map: 88}

const goSwissMap = 112 // of Go 1.24 and later

// goRuntime are the descriptions of a module.
type goRuntime struct {
	m           *Module
	types, end  uint64
	text        uint64
	all         []uint64          // descriptions, in order
	methods     map[Addr]goMethod // by where their code is
	byName      map[string]uint64 // pointers to named types
	empty, full *Type             // interfaces without and with methods
	slots       int               // methods that were looked at
	mu          sync.Mutex
	made        map[uint64]*Type // by where their descriptions are
}

// goMethod is the type of a method, without the receiver, and the receiver's.
type goMethod struct{ receiver, function uint64 }

type goRuntimeKey struct{}

// goRuntime returns the descriptions of the module; there are none where they cannot be found.
func (m *Module) goRuntime() *goRuntime {
	return m.Memo(goRuntimeKey{}, func() any {
		g := &goRuntime{m: m, methods: map[Addr]goMethod{}, made: map[uint64]*Type{},
			byName: map[string]uint64{}}
		g.empty, g.full = g.words("runtime.eface", "_type"), g.words("runtime.iface", "tab")
		if m.Go {
			_ = m.guarded(func() error { // what is damaged is left out
				g.read()
				return nil
			})
		}
		return g
	}).(*goRuntime)
}

func (g *goRuntime) read() {
	table := g.m.im.goTable()
	if table < 0 {
		return
	}
	data := g.m.im.goModuleData(g.m.im.sects[table].addr)
	if data == 0 {
		return
	}
	g.types, g.end, g.text = g.u64(data+goModuleTypes), g.u64(data+goModuleTypes+8), g.u64(data+goModuleText)
	if g.end <= g.types {
		return
	}
	for _, links := range []uint64{data + goModuleLinks, data + goModuleLinks + 8} {
		at, n := g.u64(links), g.u64(links+8)
		if n == 0 || n != g.u64(links+16) || n > maxGoTypes || g.u64(at) == 0 && n > 2 {
			continue
		}
		var from []uint64
		for i := range n {
			from = append(from, g.types+uint64(g.u32(at+4*i)))
		}
		g.find(from)
		break
	}
	slices.Sort(g.all)
	for _, t := range g.all {
		if g.kind(t) == reflect.Pointer && g.u8(t+goTypeFlags)&goNamed == 0 {
			g.byName[g.typeName(t)] = t
		}
	}
}

// maxGoMethods bounds the methods that are looked at; the largest programs have some hundred thousand.
const maxGoMethods = 1 << 22

// find notes descriptions and all that they lead to.
func (g *goRuntime) find(todo []uint64) {
	seen := map[uint64]bool{}
	for len(todo) > 0 && len(seen) < maxGoTypes {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t < g.types || t+goTypeBytes > g.end || seen[t] {
			continue
		}
		seen[t] = true
		g.all = append(g.all, t)
		todo = append(append(todo, g.leadsTo(t)...), g.readMethods(t)...)
	}
}

// leadsTo are the descriptions that one is made of.
func (g *goRuntime) leadsTo(t uint64) (to []uint64) {
	switch g.kind(t) {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		to = append(to, g.u64(t+goTypeBody))
	case reflect.Map:
		to = append(to, g.u64(t+goTypeBody), g.u64(t+goTypeBody+8))
	case reflect.Struct:
		for _, f := range g.fields(t) {
			to = append(to, f.typ)
		}
	case reflect.Func:
		in, out, _ := g.signature(t)
		to = slices.Concat(in, out)
	}
	return to
}

// readMethods notes the methods of a type that have code, and returns their types.
func (g *goRuntime) readMethods(t uint64) (types []uint64) {
	u := g.uncommon(t)
	if u == 0 {
		return nil
	}
	list := u + uint64(g.u32(u+8))
	for i := range uint64(g.u16(u + 4)) {
		if g.slots++; g.slots > maxGoMethods {
			break
		}
		m := list + goMethodBytes*i
		typ, code := int32(g.u32(m+4)), int32(g.u32(m+12)) // below 0: the linker has left it out
		if typ > 0 && code > 0 {
			m := goMethod{t, g.types + uint64(typ)}
			g.methods[Addr(g.text+uint64(code))] = m
			types = append(types, m.function)
		}
	}
	return types
}

func (g *goRuntime) kind(t uint64) reflect.Kind { return reflect.Kind(g.u8(t+goTypeKind) & goKindMask) }

// uncommon is where the methods of a type are told, 0 for one without.
func (g *goRuntime) uncommon(t uint64) uint64 {
	if g.u8(t+goTypeFlags)&goUncommon == 0 {
		return 0
	}
	body := goBodies[g.kind(t)]
	switch {
	case body == 0:
		body = goTypeBody
	case g.kind(t) == reflect.Map && g.swiss(t):
		body = goSwissMap
	}
	return t + body
}

// swiss reports whether a map is one of Go 1.24 and later, by the first member of what its slots are in.
func (g *goRuntime) swiss(t uint64) bool {
	fields := g.fields(g.u64(t + goTypeBody + 16))
	return len(fields) > 0 && fields[0].name == "ctrl"
}

type goField struct {
	name     string
	typ, off uint64
}

// maxGoMembers bounds members, parameters and the like of one type.
const maxGoMembers = 1000

func (g *goRuntime) fields(t uint64) (out []goField) {
	if g.kind(t) != reflect.Struct {
		return nil
	}
	at, n := g.u64(t+goTypeBody+8), g.u64(t+goTypeBody+16)
	for i := range min(n, maxGoMembers) {
		f := at + goFieldBytes*i
		out = append(out, goField{g.name(g.u64(f)), g.u64(f + 8), g.u64(f + 16)})
	}
	return out
}

// signature are the types of a function's parameters and results.
func (g *goRuntime) signature(t uint64) (in, out []uint64, variadic bool) {
	const variadicBit = 1 << 15
	nin, nout := uint64(g.u16(t+goTypeBody)), uint64(g.u16(t+goTypeBody+2))
	variadic, nout = nout&variadicBit != 0, nout&^variadicBit
	at := t + goBodies[reflect.Func]
	if g.u8(t+goTypeFlags)&goUncommon != 0 {
		at += 16
	}
	for i := range min(nin+nout, maxGoMembers) {
		p := g.u64(at + 8*i)
		if i < nin {
			in = append(in, p)
		} else {
			out = append(out, p)
		}
	}
	return in, out, variadic
}

// name is an abi.Name: a byte of flags, the length, the text.
func (g *goRuntime) name(a uint64) string {
	b := g.m.im.at(a)
	if len(b) < 2 {
		return ""
	}
	n, k := binary.Uvarint(b[1:min(len(b), 12)])
	if k <= 0 || n > maxGoMembers || uint64(len(b)) < 1+uint64(k)+n {
		return ""
	}
	return string(b[1+k : 1+k+int(n)])
}

// maxGoNameParts bounds the types that one name is made of: those of a damaged program may be made of themselves.
const maxGoNameParts = 64

// typeName is a type's name as debug information has it, with the whole path of its package.
func (g *goRuntime) typeName(t uint64) string {
	parts := maxGoNameParts
	return g.partName(t, &parts)
}

func (g *goRuntime) partName(t uint64, parts *int) string {
	if *parts--; *parts < 0 {
		return "…"
	}
	inner := func(at uint64) string { return g.partName(g.u64(t+at), parts) }
	flags := g.u8(t + goTypeFlags)
	if flags&goNamed == 0 {
		switch g.kind(t) {
		case reflect.Pointer:
			return "*" + inner(goTypeBody)
		case reflect.Slice:
			return "[]" + inner(goTypeBody)
		case reflect.Map:
			return "map[" + inner(goTypeBody) + "]" + inner(goTypeBody+8)
		case reflect.Array:
			return fmt.Sprintf("[%d]%s", g.u64(t+goTypeBody+16), inner(goTypeBody))
		}
	}
	name := g.name(g.types + uint64(g.u32(t+goTypeName)))
	if flags&goExtraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	if u := g.uncommon(t); u != 0 && flags&goNamed != 0 {
		if path := g.name(g.types + uint64(g.u32(u))); path != "" && path != "go.shape" {
			_, own, ok := strings.Cut(name, ".") // pkg.Name[args]
			if at := strings.IndexByte(name, '['); ok && (at < 0 || at > strings.IndexByte(name, '.')) {
				name = path + "." + own
			}
		}
	}
	return name
}

// bounded is a size, a number or an offset that damage cannot make overflow.
func bounded(n uint64) int64 { return int64(min(n, 1<<40)) }

// typeOf makes a type of a description; what is no description is nothing that is known.
func (g *goRuntime) typeOf(t uint64) *Type {
	if t < g.types || t+goTypeBytes > g.end {
		return unknownType
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if made := g.made[t]; made != nil {
		return made
	}
	made := &Type{m: g.m, described: t, Name: g.typeName(t), Size: bounded(g.u64(t))}
	g.made[t] = made
	switch k := g.kind(t); k {
	case reflect.Bool:
		made.Kind, made.Encoding = KindBase, EncBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		made.Kind, made.Encoding = KindBase, EncSigned
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		made.Kind, made.Encoding = KindBase, EncUnsigned
	case reflect.Float32, reflect.Float64:
		made.Kind, made.Encoding = KindBase, EncFloat
	case reflect.Complex64, reflect.Complex128:
		made.Kind, made.Encoding = KindBase, EncComplex
	case reflect.Array:
		made.Kind, made.Count = KindArray, bounded(g.u64(t+goTypeBody+16))
	case reflect.Pointer, reflect.UnsafePointer, reflect.Chan, reflect.Map:
		made.Kind = KindPointer
	case reflect.Func:
		made.Kind = KindFunction
	case reflect.Interface:
		made.Kind, made.Name = KindTypedef, cmp.Or(made.Name, "interface {}")
	case reflect.String, reflect.Slice, reflect.Struct:
		made.Kind, made.Tag = KindStruct, "struct"
	default:
		made.Kind, made.Size = KindUnknown, -1
	}
	return made
}

// elem is what a made type leads to or is made of.
func (g *goRuntime) elem(t *Type) *Type {
	at := t.described
	switch g.kind(at) {
	case reflect.Pointer, reflect.Array:
		return g.typeOf(g.u64(at + goTypeBody))
	case reflect.Interface:
		if g.u64(at+goTypeBody+16) == 0 {
			return g.empty
		}
		return g.full
	case reflect.Chan:
		return goChanType
	case reflect.Map:
		return g.mapOf(at)
	}
	return nil
}

// What channels are, as far as it is read.
var (
	goWord     = MadeBase("uint64", EncUnsigned, 8)
	goChanType = MadeStruct("hchan<>", []Field{{Name: "qcount", Type: goWord}, {Name: "dataqsiz", Type: goWord, Off: 8},
		{Name: "closed", Type: MadeBase("uint32", EncUnsigned, 4), Off: 28}}, 96)
)

// words is what an interface is.
func (g *goRuntime) words(name, first string) *Type {
	p := MadePointer(nil)
	t := MadeStruct(name, []Field{{Name: first, Type: p}, {Name: "data", Type: p, Off: 8}}, 16)
	t.m = g.m // whose types it may hold
	return t
}

// mapOf is what a map leads to: internal/runtime/maps.Map, or before Go 1.24 runtime.hmap.
func (g *goRuntime) mapOf(at uint64) *Type {
	slots := g.typeOf(g.u64(at + goTypeBody + 16))
	byteType := MadeBase("uint8", EncUnsigned, 1)
	if g.swiss(at) {
		groups := MadeStruct("groupReference<>", []Field{{Name: "data", Type: MadePointer(slots)},
			{Name: "lengthMask", Type: goWord, Off: 8}}, 16)
		table := MadeStruct("table<>", []Field{{Name: "groups", Type: groups, Off: 16}}, 32)
		return MadeStruct("map<>", []Field{{Name: "used", Type: goWord},
			{Name: "dirPtr", Type: MadePointer(MadePointer(table)), Off: 16}, {Name: "dirLen", Type: goWord, Off: 24}}, 48)
	}
	renamed := map[string]string{"topbits": "tophash", "elems": "values"}
	fields := g.body(slots).fields
	for i := range fields {
		fields[i].Name = cmp.Or(renamed[fields[i].Name], fields[i].Name)
	}
	bucket := MadePointer(MadeStruct("bucket<>", fields, slots.Size))
	return MadeStruct("hash<>", []Field{{Name: "count", Type: goWord}, {Name: "flags", Type: byteType, Off: 8},
		{Name: "B", Type: byteType, Off: 9}, {Name: "buckets", Type: bucket, Off: 16},
		{Name: "oldbuckets", Type: bucket, Off: 24}}, 48)
}

// body are the members of a made type.
func (g *goRuntime) body(t *Type) (b typeBody) {
	at := t.described
	switch g.kind(at) {
	case reflect.String:
		b.fields = []Field{{Name: "str", Type: MadePointer(MadeBase("uint8", EncUnsigned, 1))},
			{Name: "len", Type: MadeBase("int", EncSigned, 8), Off: 8}}
	case reflect.Slice:
		n := MadeBase("int", EncSigned, 8)
		b.fields = []Field{{Name: "array", Type: MadePointer(g.typeOf(g.u64(at + goTypeBody)))},
			{Name: "len", Type: n, Off: 8}, {Name: "cap", Type: n, Off: 16}}
	case reflect.Struct:
		for _, f := range g.fields(at) {
			b.fields = append(b.fields, Field{Name: f.name, Type: g.typeOf(f.typ), Off: bounded(f.off)})
		}
	}
	return b
}

// methodSignature is the interface of a method that an interface may call, nil where none is known.
func (g *goRuntime) methodSignature(f *Function) *Signature {
	if strings.Contains(f.Name, "[") || strings.HasSuffix(f.Name, "-fm") { // with a dictionary; a method as a value
		return nil
	}
	m, ok := g.methods[f.Low]
	if !ok {
		return g.receiverOnly(f)
	}
	sig := &Signature{Language: LangGo, Optimized: true,
		Params: []Param{{Name: "recv", Type: g.typeOf(m.receiver), Loc: Location{Kind: LocMissing}}}}
	in, out, variadic := g.signature(m.function)
	sig.Variadic = variadic
	for i, p := range in {
		sig.Params = append(sig.Params, Param{Name: fmt.Sprintf("~p%d", i), Type: g.typeOf(p),
			Loc: Location{Kind: LocMissing}})
	}
	for i, r := range out {
		sig.Params = append(sig.Params, Param{Name: fmt.Sprintf("~r%d", i), Type: g.typeOf(r), Result: true,
			Loc: Location{Kind: LocMissing}})
	}
	return sig
}

// receiverOnly is what is known of a method by its name: that of a pointer has it first. What else it is given is not
// known, nor what it returns.
func (g *goRuntime) receiverOnly(f *Function) *Signature {
	path, rest, ok := strings.Cut(f.Name, ".(*")
	name, method, ok1 := strings.Cut(rest, ").")
	if !ok || !ok1 || strings.Contains(method, ".") { // a function within it has what it captured
		return nil
	}
	t := g.byName["*"+path+"."+name]
	if t == 0 {
		return nil
	}
	return &Signature{Language: LangGo, Optimized: true,
		Params: []Param{{Name: "recv", Type: g.typeOf(t), Loc: Location{Kind: LocMissing}}}}
}

// goTypes are the module's types that values in interfaces may be of, by name.
func (g *goRuntime) goTypes() (all []GoType) {
	for _, t := range g.all {
		one := GoType{Name: g.typeName(t), Type: g.typeOf(t), Addr: Addr(t),
			Key: uint64(g.u32(t+goTypeHash))<<32 | uint64(g.u32(t+goTypeName))}
		if one.Name != "" {
			all = append(all, one)
		}
	}
	sorting.By(all, func(a, b GoType) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key)) })
	return all
}
