package capture

import (
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// scope is what names mean at one end of a function's calls.
type scope struct {
	f       *symbol.Function
	sig     *symbol.Signature
	names   []string
	homes   []home
	modules []*symbol.Module
	exit    bool
	result  resultHome
}

var _ expr.Scope = (*scope)(nil)

// Lookup implements expr.Scope: parameters, then variables of the function, then those of the modules.
func (s *scope) Lookup(name string) (expr.Place, bool) {
	if name == "$return" {
		return s.returned()
	}
	for i, n := range s.names {
		if n == name {
			return s.param(i), true
		}
	}
	if p, ok := s.watchedRegister(name); ok {
		return p, true
	}
	code := symbol.Code{Function: s.f.Name, At: s.f.Low}
	if len(s.modules) > 0 {
		code.Module = s.modules[0]
	}
	return meant(&code, s.modules, name)
}

// meant is the place of the variable that a name means in code.
func meant(code *symbol.Code, modules []*symbol.Module, name string) (expr.Place, bool) {
	for _, v := range code.Meanings(modules, name) {
		if v.Gone {
			return expr.Place{Kind: expr.PlaceMissing, Type: v.Type}, true
		}
		if p, ok := variablePlace(v.Module, &v.Variable); ok {
			return p, true
		}
	}
	return expr.Place{}, false
}

func variablePlace(m *symbol.Module, v *symbol.Variable) (expr.Place, bool) {
	switch {
	case v.Const != nil && len(v.Const) <= 8:
		return expr.Place{Kind: expr.PlaceConst, Addr: wordOf(v.Const), Type: v.Type}, true
	case v.Const != nil:
		return expr.Place{}, false
	case v.TLS:
		off, ok := m.TLSOffset()
		return expr.Place{Kind: expr.PlaceFSOffset, Off: off + int64(v.Addr), Type: v.Type}, ok
	}
	return expr.Place{Kind: expr.PlaceAddress, Addr: uint64(v.Addr), Module: m, Type: v.Type}, true
}

func wordOf(b []byte) (w uint64) {
	for i, c := range b {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// param is where the i-th parameter is. At the exit its registers have been used for other things.
func (s *scope) param(i int) expr.Place {
	t := s.sig.Params[i].Type
	h := &s.homes[i]
	if s.exit || h.missing {
		return expr.Place{Kind: expr.PlaceMissing, Type: t}
	}
	return placeOf(h, t)
}

func placeOf(h *home, t *symbol.Type) expr.Place {
	p := expr.Place{Kind: expr.PlaceMissing, Type: t}
	switch {
	case len(h.places) == 0:
		return p
	case h.indirect:
		if at := h.places[0]; at.kind == srcGPR && at.off == 0 && len(h.places) == 1 {
			p.Kind, p.Reg, p.Off = expr.PlaceRegOffset, int(at.reg), int64(h.off)
		}
		return p
	case len(h.places) == 1:
		p = piecePlace(h.places[0])
		p.Type = t
		return p
	}
	p.Kind = expr.PlacePieces
	for _, at := range h.places {
		p.Pieces = append(p.Pieces, expr.Piece{Place: piecePlace(at), Size: int64(at.size)})
	}
	return p
}

func piecePlace(at place) expr.Place {
	switch {
	case at.kind == srcGPR && at.off == 0:
		return expr.Place{Kind: expr.PlaceRegister, Reg: int(at.reg)}
	case at.kind == srcXMM && at.off == 0:
		return expr.Place{Kind: expr.PlaceRegister, Reg: xmm0 + int(at.reg)}
	case at.kind == srcStack:
		return expr.Place{Kind: expr.PlaceCFAOffset, Off: int64(at.off)}
	case at.kind == srcConst && len(at.bytes) <= 8:
		return expr.Place{Kind: expr.PlaceConst, Addr: wordOf(at.bytes)}
	}
	return expr.Place{Kind: expr.PlaceMissing}
}

// returned is where the result is at the exit.
func (s *scope) returned() (expr.Place, bool) {
	t := s.sig.Return
	if t == nil {
		return expr.Place{}, false
	}
	switch {
	case !s.exit || s.result.missing || s.result.void || s.result.x87 > 0:
		return expr.Place{Kind: expr.PlaceMissing, Type: t}, true
	case s.result.memory:
		return expr.Place{Kind: expr.PlaceRegOffset, Reg: rax, Type: t}, true
	}
	return placeOf(&home{places: s.result.places}, t), true
}

// Arg implements expr.Scope.
func (s *scope) Arg(i int) (expr.Place, bool) {
	for k := range s.sig.Params {
		if s.sig.Params[k].Artificial || s.names[k] == "this" || s.names[k] == "self" {
			continue
		}
		if i--; i < 0 {
			return s.param(k), true
		}
	}
	return expr.Place{}, false
}

// TypeNamed implements expr.Scope.
func (s *scope) TypeNamed(name string) (*symbol.Type, bool) {
	for _, m := range s.modules {
		if ts := m.TypesNamed(name); len(ts) > 0 {
			return ts[0], true
		}
	}
	return nil, false
}

// maxNear is how many names a "did you mean" has.
const maxNear = 5

// Near implements expr.Scope.
func (s *scope) Near(name string) []string {
	names := append([]string{}, s.names...)
	for i, m := range s.modules {
		if i == 0 || !m.InstalledApart() {
			names = append(names, m.VariableNames()...)
		}
	}
	near := symbol.Suggest(names, name)
	return near[:min(len(near), maxNear)]
}
