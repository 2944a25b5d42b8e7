package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Values whose names say that they are secrets are not read: no pointer of theirs is followed, and the bytes of those
// that lie in an object, a register or the caller's frame that is copied are zeros before the agent publishes the
// record. What has no name of its own, the elements of maps, is left to value.Layout.Redact.

// secret reports a parameter or member whose value is a secret: by its name, unless it can only be yes or no, or one of
// a few, or code.
func (tt *typeTable) secret(name string, t *symbol.Type) bool {
	names := tt.walks.secrets
	return names.Secret(name) && mayBeSecret(t) && (!names.Doubtful(name) || tt.textual(t, 0))
}

// textual reports a type whose values are texts or bytes, or have some that no member's name tells from others.
func (tt *typeTable) textual(t *symbol.Type, depth int) bool {
	t = t.Strip()
	switch {
	case t == nil || depth > 4:
		return true
	case t.Kind == symbol.KindPointer || t.Kind == symbol.KindReference || t.Kind == symbol.KindRValueReference ||
		t.Kind == symbol.KindArray:
		return t.Elem() == nil || tt.textual(t.Elem(), depth+1) || ofText(t.Elem().Strip())
	case t.Kind != symbol.KindStruct:
		return t.Kind == symbol.KindVoid
	case tt.formatter(t) == nil:
		return tt.textualFields(t, depth)
	}
	v, parts := value.Type{}, false
	tt.formatter(t).form(&form{T: t, V: &v, P: &prog{}, tt: tt, dry: true, part: func(e *symbol.Type, _ bool) {
		parts = parts || tt.textual(e, depth+1) || ofText(e.Strip())
	}})
	return parts || v.Class == value.ClassString
}

// textualFields is textual of what no formatter knows: a struct around one member, or a choice.
func (tt *typeTable) textualFields(t *symbol.Type, depth int) bool {
	fs := t.Fields()
	if vp := t.Variants(); vp != nil {
		for _, v := range vp.Variants {
			fs = append(slices.Clone(fs), v.Fields...)
		}
	} else if len(fs) != 1 {
		return false
	}
	return slices.ContainsFunc(fs, func(f symbol.Field) bool { return tt.textual(f.Type, depth+1) })
}

// ofText reports what many of are a text.
func ofText(t *symbol.Type) bool {
	return t != nil && t.Kind == symbol.KindBase && sizeOf(t) == 1 && t.Encoding != symbol.EncBool
}

func mayBeSecret(t *symbol.Type) bool {
	t = t.Strip()
	switch {
	case t == nil || t.Kind == symbol.KindEnum || t.Kind == symbol.KindVoid || t.Kind == symbol.KindFunction:
		return false
	case t.Kind == symbol.KindBase:
		return t.Encoding != symbol.EncBool
	case t.Kind == symbol.KindPointer:
		e := t.Elem().Strip()
		return e == nil || e.Kind != symbol.KindFunction
	}
	return true
}

// secretField is secret of a member. A base has the name of its class, and bits are flags.
func (tt *typeTable) secretField(f *symbol.Field) bool {
	return !f.Base && f.BitSize == 0 && f.Off >= 0 && !f.Static && tt.secret(f.Name, f.Type)
}

// secretUnion reports a union with a secret in it: any of its members shows the others' bytes.
func (tt *typeTable) secretUnion(t *symbol.Type) bool {
	if t.Kind != symbol.KindUnion || tt.walks.secrets == nil {
		return false
	}
	fs := t.Fields()
	for i := range fs {
		if tt.secretField(&fs[i]) {
			return true
		}
	}
	return false
}

// redacted is the form of a secret of type t.
func (tt *typeTable) redacted(t *symbol.Type) int32 {
	return tt.add(value.Type{Class: value.ClassRedacted, Size: size32(t.Strip()), Elem: -1,
		Discr: value.TypeField{Type: -1}})
}

// hasSecrets reports whether an object of a type has a secret among its bytes.
func (tt *typeTable) hasSecrets(t *symbol.Type) bool {
	if tt.walks.secrets == nil {
		return false
	}
	tt.needs(t)
	return tt.needed[t.Strip()].secrets
}

// byteRun is some of an object's bytes.
type byteRun struct{ off, size int64 }

// wipes emits what takes the secrets of a struct's own members, or of a variant's, out of its copy. keep is what tells
// variants apart: it may lie in a secret's bytes, where those have room.
func (tt *typeTable) wipes(p *prog, fs []symbol.Field, keep byteRun) {
	for i := range fs {
		if f := &fs[i]; tt.secretField(f) {
			for _, s := range (byteRun{f.Off, max(sizeOf(f.Type.Strip()), 0)}).without(keep) {
				p.Wipe(s.off, s.size)
			}
		}
	}
}

func (s byteRun) without(k byteRun) (out []byteRun) {
	for _, part := range []byteRun{{s.off, min(s.off+s.size, k.off) - s.off},
		{max(s.off, k.off+k.size), s.off + s.size - max(s.off, k.off+k.size)}} {
		if k.size == 0 {
			return []byteRun{s}
		}
		if part.size > 0 {
			out = append(out, part)
		}
	}
	return out
}

// secretSpans are the bytes of secrets in an object of a type; all of it where there are too many, or where they are
// depends on its value.
func (tt *typeTable) secretSpans(t *symbol.Type) []byteRun {
	t = t.Strip()
	whole := []byteRun{{0, max(sizeOf(t), 0)}}
	var out []byteRun
	var look func(t *symbol.Type, off int64, depth int) bool
	look = func(t *symbol.Type, off int64, depth int) bool {
		t = t.Strip()
		switch {
		case !tt.hasSecrets(t):
			return true
		case depth > 20 || len(out) > maxWipes || t.Variants() != nil || tt.secretUnion(t):
			return false
		case t.Kind == symbol.KindArray:
			for i := range max(t.Count, 0) {
				if !look(t.Elem(), off+i*sizeOf(t.Elem().Strip()), depth+1) {
					return false
				}
			}
		}
		fs := t.Fields()
		for i := range fs {
			f := &fs[i]
			switch {
			case tt.secretField(f):
				out = append(out, byteRun{off + f.Off, max(sizeOf(f.Type.Strip()), 0)})
			case f.Static || f.Virtual || f.Off < 0 || f.BitSize > 0:
			case !look(f.Type, off+f.Off, depth+1):
				return false
			}
		}
		return true
	}
	if !look(t, 0, 0) || len(out) > maxWipes {
		return whole
	}
	return out
}

// maxWipes bounds the runs of bytes that are wiped of what one value has in registers.
const maxWipes = 32

// wipe takes bytes of a value, which lie where its pieces say, out of the record's fixed part.
func (s *side) wipe(pieces []value.Piece, spans []byteRun) {
	from := int64(0)
	for i := range pieces {
		p := &pieces[i]
		for _, sp := range spans {
			lo, hi := max(sp.off, from), min(sp.off+sp.size, from+int64(p.Size))
			if lo >= hi || p.Chunk < 0 || int(p.Chunk) >= len(s.starts) {
				continue
			}
			s.wiped = append(s.wiped, byteRun{int64(s.starts[p.Chunk]+p.Off) + lo - from, hi - lo})
		}
		from += int64(p.Size)
	}
}

// wipeOps are the operations for what is to be wiped: behind those that put it there, before any that leads on.
func (s *side) wipeOps() (ops []ring.Op) {
	sorting.By(s.wiped, func(a, b byteRun) int { return cmp.Compare(a.off, b.off) })
	for i := 0; i < len(s.wiped); {
		all := s.wiped[i]
		for i++; i < len(s.wiped) && s.wiped[i].off <= all.off+all.size; i++ {
			all.size = max(all.size, s.wiped[i].off+s.wiped[i].size-all.off)
		}
		ops = append(ops, ring.Op{Code: ring.OpWipe, SrcOff: uint32(all.off), Off: int32(all.size)})
	}
	return ops
}

// secretArgument adds a parameter that is a secret: what is copied of it with others is wiped.
func (b *builder) secretArgument(name string, t *symbol.Type, h *home) {
	var pieces []value.Piece
	if !h.missing && !h.indirect {
		for _, p := range h.places {
			pieces = append(pieces, b.piece(p))
		}
	}
	b.enter.wipe(pieces, []byteRun{{0, 1 << 30}})
	b.lay.Args = append(b.lay.Args, value.Field{Name: name, Type: b.types.redacted(t)})
}

// NamesSecret reports an expression of which a name, or a member's, says that it is a secret.
func NamesSecret(names *secret.Names, src string, lang symbol.Language) bool {
	if names == nil {
		return false
	}
	s, err := expr.Parse(src, lang)
	return err == nil && slices.ContainsFunc(s.Words(), names.Secret)
}

// secretWatch adds a watch of a secret.
func (b *builder) secretWatch(to *[]value.Field, label string) {
	*to = append(*to, value.Field{Name: label, Type: b.types.redacted(nil)})
}

// returnsSecret reports a function that is called as a secret, or as one that gets it.
func (tt *typeTable) returnsSecret(function string, t *symbol.Type) bool {
	if i := strings.IndexByte(function, '('); i > 0 {
		function = function[:i]
	}
	names, function := tt.walks.secrets, plainName(function)
	return t != nil && names.Result(function) && mayBeSecret(t) && (!names.Doubtful(function) || tt.textual(t, 0))
}
