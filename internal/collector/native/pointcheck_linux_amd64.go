package native

import (
	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// check reports what is wrong with a point's condition and message at one of its places.
func (pt *point) check(mod *symbol.Module, a symbol.Addr, mods []*symbol.Module) error {
	if pt.Condition == "" && pt.Message == "" {
		return nil
	}
	scope := &capture.LocalScope{Code: symbol.Code{Module: mod, At: a}, Modules: mods, Place: namedPlace}
	lang := symbol.Language(symbol.LangC)
	if scopes := mod.LocalsAt(a); len(scopes) > 0 {
		scope.Code.Function, scope.Locals, lang = scopes[0].Function, scopes[0].Locals, scopes[0].Language
	}
	if pt.Condition != "" {
		e, err := expr.New(pt.Condition, lang, scope)
		if err == nil {
			_, err = e.Condition()
		}
		if err != nil {
			return exprFault("condition", pt.Condition, err)
		}
	}
	if pt.Message == "" {
		return nil
	}
	segments, err := expr.ParseMessage(pt.Message, lang)
	if err != nil {
		return exprFault("message", pt.Message, err)
	}
	for _, s := range segments {
		if s.Expr == nil {
			continue
		}
		if _, err := expr.Check(s.Expr, scope); err != nil {
			return exprFault("message", pt.Message, err)
		}
	}
	return nil
}

// namedPlace stands for a variable's place, which is known when a thread is there.
func namedPlace(l *symbol.Local) expr.Place {
	if l.Loc.Kind == symbol.LocNone || l.Loc.Kind == symbol.LocMissing {
		return expr.Place{Kind: expr.PlaceMissing, Type: l.Type}
	}
	return expr.Place{Kind: expr.PlaceAddress, Type: l.Type}
}
