package capture

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Memory is what a Reader reads. Read fills b from addr or returns an error; it need not be safe for concurrent use.
type Memory interface {
	Read(addr uint64, b []byte) error
}

// Reader reads values of any type where nothing of ours runs: of a thread that stands still, or of a core file. It
// follows pointers and knows libraries' types as captured calls do. Not safe for concurrent use.
type Reader struct {
	mem     Memory
	depth   int
	resolve func(addr uint64) string
	walks   *Walks
	known   int                  // programs of walks that ops has
	ops     map[uint16][]ring.Op // by ID
	forms   map[readerKey]*readerForm
	over    []byte // bytes that are in no memory, as if at overlayAt
}

type readerKey struct {
	t    *symbol.Type
	rust bool
}

// readerForm is a type's layout: one argument, whose address is the payload's first word.
type readerForm struct {
	lay  *value.Layout
	root ring.Op // of objects without a size, none
}

// NewReader returns a reader that follows depth pointers one behind the other. resolve names functions, own are the
// user's descriptions of types, secrets the names whose values are not shown; they may be nil.
func NewReader(mem Memory, depth int, resolve func(addr uint64) string, own *natvis.Set,
	secrets *secret.Names) *Reader {
	return &Reader{mem: mem, depth: depth, resolve: resolve, walks: NewWalks(own, secrets), ops: map[uint16][]ring.Op{},
		forms: map[readerKey]*readerForm{}}
}

// overlayAt is where a value is that has no address.
const overlayAt = value.OverlayAt

// Object returns the value of type t at an address.
func (r *Reader) Object(t *symbol.Type, lang symbol.Language, addr uint64) value.Value {
	f := r.form(t, lang)
	if f == nil {
		return value.TypeAt(t.String(), addr)
	}
	if f.root.Code != ring.OpRoot {
		v, _ := f.lay.EnterArg(nil, 0)
		return v
	}
	return r.show(f.lay, f.root, addr)
}

// show walks from the object at an address, and shows it by a layout.
func (r *Reader) show(lay *value.Layout, root ring.Op, addr uint64) value.Value {
	for _, w := range r.walks.Programs(r.known) {
		r.ops[w.ID] = w.Ops
		r.known++
	}
	a := &interp{read: r.read, walks: r.ops, depth: r.depth, most: ring.MaxPayload, seen: map[[2]uint64]bool{}, open: -1}
	a.p = binary.LittleEndian.AppendUint64(a.p, addr)
	a.copyNode(addr, uint64(root.Size), uint16(root.Slot)|uint16(root.Dst)<<8, 0)
	a.pad()
	a.walkAll()
	payload := a.p
	if r.resolve != nil {
		payload = lay.Annotate(payload, r.resolve)
	}
	v, ok := lay.EnterArg(payload, 0)
	if !ok {
		return value.Unreadable
	}
	return v
}

// Bytes returns the value of type t whose bytes are b, as of a variable in a register.
func (r *Reader) Bytes(t *symbol.Type, lang symbol.Language, b []byte) value.Value {
	r.over = b
	defer func() { r.over = nil }()
	return r.Object(t, lang, overlayAt)
}

// Parts is Bytes of a value of which some bytes are lost: what consists of them is shown as optimized out.
func (r *Reader) Parts(t *symbol.Type, lang symbol.Language, b []byte, gone []bool) value.Value {
	f := r.form(t, lang)
	if f == nil || len(f.lay.Args) != 1 {
		return value.OptimizedOut
	}
	arg := f.lay.Args[0]
	arg.Indirect, arg.Walk, arg.Off, arg.Pieces = false, 0, 0, nil
	arg.Gather = overlayAt >> 32 &^ (1 << 31) // what its walk finds belongs to what lies there
	for i := 0; i < len(b); {
		n := i + 1
		for n < len(b) && gone[n] == gone[i] {
			n++
		}
		piece := value.Piece{Chunk: value.PieceMissing, Size: uint32(n - i)}
		if !gone[i] {
			piece.Chunk, piece.Const = value.PieceConst, b[i:n]
		}
		arg.Pieces = append(arg.Pieces, piece)
		i = n
	}
	lay := *f.lay
	lay.Args = []value.Field{arg}
	r.over = b
	defer func() { r.over = nil }()
	return r.show(&lay, f.root, overlayAt)
}

// ShowsPointee reports whether a pointer is shown as what it leads to, which is of type to.
func ShowsPointee(t, to *symbol.Type) bool {
	if t == nil || to == nil {
		return false
	}
	p, e := t.Strip(), to.Strip()
	switch {
	case p == nil || e == nil || p.Elem() == nil || p.Elem().Strip() != e:
		return false
	case p.Kind == symbol.KindReference || p.Kind == symbol.KindRValueReference:
		return true
	}
	return p.Kind == symbol.KindPointer && (e.Kind == symbol.KindStruct || e.Kind == symbol.KindUnion)
}

// Formatted reports whether a type is shown in another way than by its members.
func (r *Reader) Formatted(t *symbol.Type, lang symbol.Language) bool {
	st := t.Strip()
	return st != nil && newTypeTable(lang, r.walks, formattersOf(lang)).formatter(st) != nil
}

// Secret reports a variable whose value is not to be shown.
func (r *Reader) Secret(name string, t *symbol.Type, lang symbol.Language) bool {
	return r.walks.secrets.Secret(name) && newTypeTable(lang, r.walks, formattersOf(lang)).secret(name, t)
}

// form returns how a type is read, nil for one without a size.
func (r *Reader) form(t *symbol.Type, lang symbol.Language) *readerForm {
	key := readerKey{t, lang == symbol.LangRust}
	if f, ok := r.forms[key]; ok {
		return f
	}
	var f *readerForm
	if st := t.Strip(); st != nil && sizeOf(st) == 0 { // nothing to read
		b := newBuilder(&symbol.Signature{Language: lang}, Options{Depth: r.depth, Walks: r.walks})
		b.enter.begin(0)
		b.exit.begin(0)
		b.argument("value", t, &home{})
		_, lay := b.close()
		f = &readerForm{lay: lay}
	} else if st != nil && sizeOf(st) > 0 {
		b := newBuilder(&symbol.Signature{Language: lang}, Options{Depth: r.depth, Walks: r.walks})
		b.enter.begin(1)
		b.lay.OnEnter.GPRs = 1
		b.exit.begin(0)
		b.argument("value", t, &home{indirect: true,
			places: []place{{source: source{kind: srcGPR, reg: argGPRs[0]}, size: 8}}})
		if len(b.enter.roots) == 1 {
			_, lay := b.close()
			f = &readerForm{lay: lay, root: b.enter.roots[0]}
		}
	}
	r.forms[key] = f
	return f
}

// read is the interpreter's memory: fewer than n bytes where the rest cannot be read.
func (r *Reader) read(addr uint64, n int) []byte {
	if addr>>32 == overlayAt>>32 {
		off := min(addr-overlayAt, uint64(len(r.over)))
		b := r.over[off:]
		return b[:min(n, len(b))]
	}
	b := make([]byte, n)
	for got := 0; got < n; {
		part := min(n-got, int(pageBytes-(addr+uint64(got))%pageBytes))
		if r.mem.Read(addr+uint64(got), b[got:got+part]) != nil {
			return b[:got]
		}
		got += part
	}
	return b
}

const pageBytes = 4096
