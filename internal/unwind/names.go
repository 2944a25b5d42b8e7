package unwind

import "github.com/strobe-debug/strobe/internal/symbol"

// scopes returns the functions at a frame's address, innermost first; nil without debug information.
func (u *Unwinder) scopes(p *phys) []symbol.Scope {
	if p.mod < 0 {
		return nil
	}
	key := nameKey{p.mod, p.lookup()}
	if p.behind && key.pc > 0 {
		key.pc--
	}
	s, ok := u.names[key]
	if !ok {
		m := &u.mods[p.mod]
		s = m.Mod.InlinedAt(symbol.Addr(key.pc - m.Bias))
		u.names[key] = s
	}
	return s
}

// count is how many frames a frame is shown as.
func (u *Unwinder) count(p *phys) int { return max(1, len(u.scopes(p))) }

// expand appends a frame and the functions inlined into it.
func (u *Unwinder) expand(to []Frame, p *phys) []Frame {
	f := Frame{PC: p.show, CFA: p.cfa, Regs: p.regs, Signal: p.signal, Trust: p.trust, at: p}
	if p.mod < 0 {
		return append(to, f)
	}
	m := &u.mods[p.mod]
	f.Module, f.Offset = m.Mod.Path, p.show-m.Lo
	if fn, _, ok := m.Mod.Lookup(symbol.Addr(p.lookup() - m.Bias)); ok {
		f.Function, f.Raw, f.Offset = fn.Name, fn.Raw, p.show-uint64(fn.Low)-m.Bias
	}
	scopes := u.scopes(p)
	if len(scopes) == 0 {
		return append(to, f)
	}
	for i, s := range scopes {
		f.scope, f.Inlined, f.File, f.Line, f.Language = i, s.Inlined, s.File, s.Line, s.Language
		if s.Function != "" {
			f.Function, f.Raw = s.Function, s.Raw
		}
		to = append(to, f)
	}
	return to
}
