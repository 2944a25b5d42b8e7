package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Thing is what a collector.Ref is of: a frame, a scope of it, or a value with parts.
type Thing struct {
	Frame int
	Scope collector.ScopeKind // of a scope
	Expr  string              // of a value: what means it in its frame
	// of a part that no expression means: its place in what is shown of Expr, as "2.0.": each a position
	Path string
}

// View looks into one paused thread part by part. What it reads is as the thread stands at this moment. Not safe for
// concurrent use.
type View struct {
	p   *snapshot.Process
	th  *snapshot.Thread
	put func(Thing) collector.Ref
}

// NewView returns a view of a thread. put gives out the Refs of what it shows.
func NewView(p *snapshot.Process, th *snapshot.Thread, put func(Thing) collector.Ref) *View {
	return &View{p: p, th: th, put: put}
}

// Frames is collector.Viewer's.
func (v *View) Frames(from, n int) ([]collector.Frame, int) {
	pic := snapshot.New(v.p)
	stack, _ := pic.Stack(v.th)
	out := []collector.Frame{}
	for i := max(from, 0); i < len(stack.Frames) && (n <= 0 || len(out) < n); i++ {
		uf := &stack.Frames[i]
		f := pic.Frame(uf)
		one := collector.Frame{Ref: v.put(Thing{Frame: f.Index}), Index: f.Index, Function: f.Function, Module: uf.Module,
			User: pic.UserCode(uf), Inlined: f.Inlined,
			Location: collector.Location{File: f.File, Line: f.Line, Address: fmt.Sprintf("0x%x", uf.PC)}}
		switch {
		case f.Signal:
			one.Note = "the kernel called the signal handler above here"
		case f.FoundBy != "":
			one.Note = "found by " + f.FoundBy + ", so it may be wrong"
		}
		out = append(out, one)
	}
	return out, len(stack.Frames)
}

// in is the scene of a frame.
func (v *View) in(frame int) (*scene, error) {
	s := &scene{pic: snapshot.New(v.p), depth: 1}
	return s, s.enter(v.th, frame)
}

// Scopes is collector.Viewer's.
func (v *View) Scopes(t Thing) ([]collector.Scope, error) {
	if t.Scope != "" || t.Expr != "" {
		return nil, fault.New(fault.ValidationError, "Give the ref of a frame.", "the ref is of no frame")
	}
	s, err := v.in(t.Frame)
	if err != nil {
		return nil, err
	}
	var out []collector.Scope
	for _, kind := range []collector.ScopeKind{collector.ScopeArguments, collector.ScopeLocals, collector.ScopeRegisters,
		collector.ScopeGlobals} {
		if names := s.names(kind); len(names) > 0 {
			out = append(out, collector.Scope{Kind: kind, Ref: v.put(Thing{Frame: t.Frame, Scope: kind}), Count: len(names),
				Slow: kind == collector.ScopeGlobals})
		}
	}
	return out, nil
}

// shownRegisters are the general registers in the order in which they are shown.
var shownRegisters = []string{"$rip", "$rsp", "$rbp", "$rax", "$rbx", "$rcx", "$rdx", "$rsi", "$rdi", "$r8", "$r9",
	"$r10", "$r11", "$r12", "$r13", "$r14", "$r15"}

// names are those of a scope's variables. An outer variable that an inner one hides is there as name#2.
func (s *scene) names(kind collector.ScopeKind) (names []string) {
	switch kind {
	case collector.ScopeRegisters:
		return shownRegisters
	case collector.ScopeGlobals:
		if mods := s.modules(); len(mods) > 0 && !mods[0].InstalledApart() {
			names = slices.Clone(mods[0].VariableNames())
			slices.Sort(names)
		}
		return slices.Compact(names)
	}
	locals := slices.Clone(s.locals)
	sorting.By(locals, func(a, b localVariable) int { return b.Depth - a.Depth })
	seen := map[string]int{}
	for i := range locals {
		l := &locals[i]
		if l.Name == "" || l.Type == nil || !snapshot.Written(l) {
			continue
		}
		n := seen[l.Name]
		seen[l.Name]++
		if l.Param != (kind == collector.ScopeArguments) {
			continue
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%s%s%d", l.Name, hiddenMark, n+1))
			continue
		}
		names = append(names, l.Name)
	}
	return names
}

// hiddenMark is between a hidden variable's name and its number: no name has it.
const hiddenMark = "#"

// shownAtOnce is how many variables are shown where nobody says how many.
const shownAtOnce = value.MaxElems

// Variables is collector.Viewer's.
func (v *View) Variables(t Thing, from, n int) ([]collector.Variable, error) {
	s, err := v.in(t.Frame)
	if err != nil {
		return nil, err
	}
	if from = max(from, 0); n <= 0 {
		n = shownAtOnce
	}
	switch {
	case t.Scope != "":
		names := s.names(t.Scope)
		out := []collector.Variable{}
		for _, name := range names[min(from, len(names)):min(from+n, len(names))] {
			out = append(out, v.named(s, t.Frame, name))
		}
		return out, nil
	case t.Expr == "":
		return nil, fault.New(fault.ValidationError, "Ask for the scopes of a frame first.", "the ref is of a frame")
	}
	e, err := expr.New(t.Expr, s.language(), s)
	if err != nil {
		return nil, clientFault(err)
	}
	k := s.partsOf(t.Expr, e)
	if t.Path != "" || k.kind == partsShown {
		return v.shownParts(s, t, from, n)
	}
	out := []collector.Variable{}
	for i := from; i < k.count && i < from+n; i++ {
		name, src := k.part(i)
		out = append(out, v.variable(s, t.Frame, name, src))
	}
	return out, nil
}

// named is a variable of a scope.
func (v *View) named(s *scene, frame int, name string) collector.Variable {
	if hidden, _, is := strings.Cut(name, hiddenMark); is {
		return collector.Variable{Name: name, Value: "<hidden by the inner " + hidden + ">", Fixed: true}
	}
	out := v.variable(s, frame, name, name)
	if n, is := registerNames[name]; is {
		out.Type = "register"
		if w, ok := (registers{s}).Reg(n); ok {
			out.Value = fmt.Sprintf("0x%x", w)
		}
		out.Fixed = n == 16
	}
	return out
}

// Evaluate is collector.Evaluator's.
func (v *View) Evaluate(frame int, src string) (collector.Variable, error) {
	s, err := v.in(frame)
	if err != nil {
		return collector.Variable{}, err
	}
	if _, err := expr.New(src, s.language(), s); err != nil {
		return collector.Variable{}, clientFault(err)
	}
	out := v.variable(s, frame, src, src)
	if _, err := s.eval(src); err != nil {
		return collector.Variable{}, clientFault(err)
	}
	return out, nil
}

// Target is the expression for a variable of a scope, or a part of a value.
func (v *View) Target(t Thing, name string) (src string, err error) {
	s, err := v.in(t.Frame)
	if err != nil {
		return "", err
	}
	unknown := fault.New(fault.ValidationError, "Ask for the variables again; see their names there.",
		"there is no %q that could be set", name)
	if t.Scope != "" {
		if !slices.Contains(s.names(t.Scope), name) || strings.Contains(name, hiddenMark) {
			return "", unknown
		}
		return name, nil
	}
	if t.Expr == "" || t.Path != "" {
		return "", unknown
	}
	e, err := expr.New(t.Expr, s.language(), s)
	if err != nil {
		return "", clientFault(err)
	}
	k := s.partsOf(t.Expr, e)
	if k.kind == partsList {
		i, err := strconv.Atoi(strings.Trim(name, "[]"))
		if err != nil || i < 0 || i >= k.count {
			return "", unknown
		}
		_, src = k.part(i)
		return src, nil
	}
	for i := range k.count {
		if n, src := k.part(i); n == name && k.kind != partsShown {
			return src, nil
		}
	}
	return "", unknown
}

// variable describes what an expression means. What is wrong with it is its value.
func (v *View) variable(s *scene, frame int, name, src string) collector.Variable {
	out := collector.Variable{Name: name, Eval: src}
	e, err := expr.New(src, s.language(), s)
	if err != nil {
		return unreadable(out, err)
	}
	out.Type = e.Type().String()
	r, err := s.eval(src)
	if err != nil {
		return unreadable(out, err)
	}
	out.Value, out.Addr = r.Value.Short(shortValue), r.Address
	if e.Type().Kind() == expr.KindPointer && !e.IsText() {
		if w, err := e.Word(s.env()); err == nil {
			out.Value = pointerText(w, r.Value)
		}
	}
	k := s.partsOf(src, e)
	switch k.kind {
	case partsNone:
	case partsShown:
		if n, list := partsIn(r.Value); n != 0 {
			out.Ref, out.Count, out.List = v.put(Thing{Frame: frame, Expr: src}), n, list
		}
	default:
		if k.count > 0 {
			out.Ref, out.Count, out.List = v.put(Thing{Frame: frame, Expr: src}), k.count, k.kind == partsList
		}
	}
	return out
}

// shortValue bounds a variable's value.
const shortValue = 160

// pointerText is a pointer, with what it leads to where that is shown.
func pointerText(addr uint64, to value.Value) string {
	if addr == 0 {
		return "null"
	}
	at := fmt.Sprintf("0x%x", addr)
	if shown, is := to.Address(); is && shown == addr || to.Kind() == value.Marker {
		return at
	}
	return at + " " + to.Short(shortValue)
}

func unreadable(out collector.Variable, err error) collector.Variable {
	out.Fixed = true
	switch err = clientFault(err); fault.CodeOf(err) {
	case fault.OptimizedOut:
		out.Value = value.OptimizedOut.Text()
	case fault.ReadFailed:
		out.Value = value.Unreadable.Text()
	default:
		out.Value = "<" + fault.From(err).Msg + ">"
	}
	return out
}

// formatted reports a library's type, or one that a description knows.
func (s *scene) formatted(t *symbol.Type) bool {
	if s.reader == nil {
		s.reader = capture.NewReader(s, s.depth, s.functionAt, s.pic.Described, s.pic.Secrets)
	}
	return s.reader.Formatted(t, s.language())
}
