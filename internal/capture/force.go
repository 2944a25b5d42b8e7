package capture

import (
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Entry says where a function's arguments are when it is entered, and where its caller expects the result: for who
// wants to change them.
type Entry struct {
	sig    *symbol.Signature
	f      *symbol.Function
	names  []string
	homes  []home
	result resultHome
}

// EntryOf reads a function's entry.
func EntryOf(m *symbol.Module, f *symbol.Function) (*Entry, error) {
	if !f.HasDWARF {
		return nil, fmt.Errorf("%s has no debug information", f.Name)
	}
	sig, err := m.Signature(f)
	if err != nil {
		return nil, fmt.Errorf("read signature of %s: %w", f.Name, err)
	}
	if f.Language == symbol.LangGo {
		return goEntry(sig, f), nil
	}
	code, err := m.Code(f)
	if err != nil {
		return nil, fmt.Errorf("read code of %s: %w", f.Name, err)
	}
	sig.Optimized = looksOptimized(m, f, sig, code)
	promote(sig)
	var use usage
	if (needsProof(sig) || lostResult(sig.Clone)) && sig.Return != nil {
		use = usageOf(m, f, sig)
	}
	e := &Entry{f: f, sig: sig, names: paramNames(sig), result: locateResult(sig, f, code, &use)}
	e.homes, _ = locateParams(sig, f, code, e.result)
	return e, nil
}

// goEntry is EntryOf for a function of Go's.
func goEntry(sig *symbol.Signature, f *symbol.Function) *Entry {
	s := *sig
	params, results := goParams(sig)
	a := &goAssign{}
	e := &Entry{f: f, sig: &s}
	e.homes, _ = a.all(f, params)
	e.result.void = len(results) == 0
	s.Params, s.Return = params, nil
	if len(results) == 1 {
		h := a.results(results)[0]
		s.Return, e.result.places, e.result.missing = results[0].Type, h.places, h.missing
	} else {
		e.result.missing = true
	}
	e.names = paramNames(&s)
	return e
}

// Argument returns where a parameter is, by its name. ok is false where there is none of that name; the place is
// missing where it is not known.
func (e *Entry) Argument(name string) (at expr.Place, ok bool) {
	for i, n := range e.names {
		if n == name {
			return placeOf(&e.homes[i], e.sig.Params[i].Type), true
		}
	}
	return expr.Place{}, false
}

// Scope is what names mean at the entry, for conditions.
func (e *Entry) Scope(modules []*symbol.Module) (expr.Scope, symbol.Language) {
	return &scope{f: e.f, sig: e.sig, names: e.names, homes: e.homes, modules: modules}, e.sig.Language
}

// Names are the parameters' names, in order.
func (e *Entry) Names() []string { return e.names }

// Result returns the register that has the result, DWARF number 0 (rax) or 17 (xmm0), and its type; a nil type: the
// function returns nothing. The error says which results cannot be made up.
func (e *Entry) Result() (reg int, t *symbol.Type, err error) {
	r := e.result
	switch {
	case r.void:
		return 0, nil, nil
	case len(r.places) == 1 && !r.memory && !r.missing && r.x87 == 0 && r.places[0].kind == srcGPR &&
		r.places[0].reg == rax:
		return 0, e.sig.Return, nil
	case len(r.places) == 1 && !r.memory && !r.missing && r.x87 == 0 && r.places[0].kind == srcXMM && r.places[0].reg == 0:
		return xmm0, e.sig.Return, nil
	}
	if e.sig.Return == nil {
		return 0, nil, errors.New("it has several results")
	}
	return 0, nil, fmt.Errorf("a result of type %s is not in one register", e.sig.Return)
}
