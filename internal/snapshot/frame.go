package snapshot

import (
	"encoding/binary"
	"fmt"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

// FrameView evaluates expressions in one frame of a thread that stands still.
type FrameView struct {
	p     *Picture
	th    *Thread
	u     *unwind.Unwinder
	f     *unwind.Frame
	scope *capture.LocalScope
	bias  map[*symbol.Module]uint64
	depth int
}

// View returns a frame's view. depth is how many pointers are followed of values.
func (p *Picture) View(th *Thread, u *unwind.Unwinder, f *unwind.Frame, depth int) *FrameView {
	v := &FrameView{p: p, th: th, u: u, f: f, bias: map[*symbol.Module]uint64{}, depth: depth}
	locals := u.Locals(f)
	v.scope = &capture.LocalScope{Code: symbol.Code{Function: f.Function}}
	places := map[string]unwind.Place{}
	for i := range locals {
		v.scope.Locals = append(v.scope.Locals, locals[i].Local)
		places[localKey(&locals[i].Local)] = locals[i].Place
	}
	v.scope.Place = func(l *symbol.Local) expr.Place { return exprPlace(places[localKey(l)], l.Type) }
	for _, m := range p.Modules { // the frame's own first: a static means the one of its file
		if f.Module == m.Mod.Path {
			v.scope.Code.Module, v.scope.Code.At = m.Mod, symbol.Addr(f.PC-m.Bias)
			v.scope.Modules = append([]*symbol.Module{m.Mod}, v.scope.Modules...)
		} else {
			v.scope.Modules = append(v.scope.Modules, m.Mod)
		}
		v.bias[m.Mod] = m.Bias
	}
	return v
}

func localKey(l *symbol.Local) string { return fmt.Sprintf("%s|%d|%d", l.Name, l.Depth, l.Line) }

// exprPlace is a place that the unwinder computed, as expressions want it.
func exprPlace(at unwind.Place, t *symbol.Type) expr.Place {
	out := expr.Place{Kind: expr.PlaceMissing, Type: t}
	switch at.Kind {
	case unwind.PlaceMemory:
		out.Kind, out.Addr = expr.PlaceAddress, at.Addr
	case unwind.PlaceRegister:
		out.Kind, out.Reg = expr.PlaceRegister, at.Reg
	case unwind.PlaceConst:
		if len(at.Bytes) <= 8 {
			var b [8]byte
			copy(b[:], at.Bytes)
			out.Kind, out.Addr = expr.PlaceConst, binary.LittleEndian.Uint64(b[:])
		}
	case unwind.PlacePieces:
		out.Kind = expr.PlacePieces
		for _, piece := range at.Pieces {
			if piece.Bits%8 != 0 || piece.BitOff != 0 {
				return expr.Place{Kind: expr.PlaceMissing, Type: t}
			}
			out.Pieces = append(out.Pieces, expr.Piece{Place: exprPlace(piece.Place, nil), Size: piece.Bits / 8})
		}
	}
	return out
}

// frameRegs is a frame as expressions see it.
type frameRegs struct {
	f  *unwind.Frame
	th *Thread
}

func (r frameRegs) Reg(n int) (uint64, bool) {
	if n >= 17 && n < 33 && r.th.XMM != nil && r.f.Index == 0 {
		return binary.LittleEndian.Uint64(r.th.XMM[n-17][:]), true
	}
	return r.f.Regs.Get(n)
}
func (r frameRegs) CFA() (uint64, bool) { return r.f.CFA, r.f.CFA != 0 }
func (r frameRegs) FS() (uint64, bool)  { return r.th.FS, r.th.FS != 0 }

// Env is what expressions are evaluated in.
func (v *FrameView) Env() *expr.Env {
	return &expr.Env{Memory: v.p.Mem, Frame: frameRegs{v.f, v.th}, ThreadID: v.th.TID, PID: v.p.PID, ThreadName: v.th.Name,
		Bias: func(m *symbol.Module) (uint64, bool) { b, ok := v.bias[m]; return b, ok }}
}

// language is the frame's, for reading expressions.
func (v *FrameView) language() symbol.Language {
	if v.f.Language == "" {
		return symbol.LangC
	}
	return v.f.Language
}

// Truth evaluates a condition.
func (v *FrameView) Truth(src string) (bool, error) {
	e, err := expr.New(src, v.language(), v.scope)
	if err != nil {
		return false, err
	}
	return e.Truth(v.Env())
}

// Expr checks an expression in the frame.
func (v *FrameView) Expr(src string) (*expr.Expr, error) { return expr.New(src, v.language(), v.scope) }

// Value evaluates an expression: objects and what pointers lead to as captured calls show them.
func (v *FrameView) Value(src string) (value.Value, error) {
	e, err := v.Expr(src)
	if err != nil {
		return value.Value{}, err
	}
	if capture.NamesSecret(v.p.Secrets, src, v.language()) {
		return value.Redacted, nil
	}
	if t := e.Type().Symbol(); t != nil && e.InMemory() {
		addr, ok, err := e.Addr(v.Env())
		if err != nil {
			return value.Value{}, err
		}
		if ok {
			r := capture.NewReader(v.p.Mem, v.depth, v.p.functionAt, v.p.Described, v.p.Secrets)
			return r.Object(t, v.language(), addr), nil
		}
	}
	r, err := e.Eval(v.Env())
	if err != nil {
		return value.Value{}, err
	}
	return r.Value, nil
}

// Message fills in a logpoint's message.
func (v *FrameView) Message(src string) (string, error) {
	segments, err := expr.ParseMessage(src, v.language())
	if err != nil {
		return "", err
	}
	out := ""
	for _, s := range segments {
		if s.Expr == nil {
			out += s.Text
			continue
		}
		val, err := v.Value(s.Expr.Source)
		if err != nil {
			out += "<" + err.Error() + ">"
			continue
		}
		if val.Kind() == value.Text {
			out += val.Text()
		} else {
			out += val.Short(maxMessagePart)
		}
	}
	return out, nil
}

// maxMessagePart bounds one value in a logpoint's text.
const maxMessagePart = 1024
