package native

import (
	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// skips returns how many of the inlined calls that begin at a place of a point are behind it: it is in their caller.
func (pt *point) skips(mod *symbol.Module, a symbol.Addr) (skip int) {
	if pt.pat == nil && pt.line == 0 {
		return 0
	}
	scopes := mod.InlinedAt(a)
	starts := startsAt(mod, a, scopes)
	if pt.pat != nil {
		return starts
	}
	for n := 1; n <= starts; n++ {
		if scopes[n].Line == pt.line {
			skip = n
		}
	}
	return skip
}

// check reports what is wrong with a point's condition and message at one of its places.
func (pt *point) check(mod *symbol.Module, a symbol.Addr, mods []*symbol.Module) error {
	if pt.Condition == "" && pt.Message == "" {
		return nil
	}
	scope := &capture.LocalScope{Code: symbol.Code{Module: mod, At: a}, Modules: mods, Place: namedPlace}
	lang := symbol.Language(symbol.LangC)
	if scopes := mod.LocalsAt(a); len(scopes) > 0 {
		in := &scopes[min(pt.skips(mod, a), len(scopes)-1)]
		scope.Code.Function, scope.Locals, lang = in.Function, in.Locals, in.Language
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
			return exprFault("message", pt.Message, expr.Shifted(err, s.Pos))
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
