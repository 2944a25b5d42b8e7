package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// PointScope is what names mean at a place, and how to read them from the registers there.
type PointScope struct {
	LocalScope
	Language symbol.Language
	unclear  string // a variable that was asked for, and whose place is known only when a thread is there
}

// NewPointScope returns the scope of a link-time address: the variables of the innermost function there, be it an
// inlined one, but for the inlined calls of which skip say that they are not entered yet. modules are where globals are
// looked for.
func NewPointScope(m *symbol.Module, a symbol.Addr, skip int, modules []*symbol.Module) *PointScope {
	s := &PointScope{Language: symbol.LangC}
	s.Modules, s.Code = modules, symbol.Code{Module: m, At: a}
	var base symbol.Location
	if scopes := m.LocalsAt(a); len(scopes) > 0 {
		in := &scopes[min(skip, len(scopes)-1)]
		s.Code.Function, s.Locals, base = in.Function, in.Locals, in.FrameBase
		if in.Language != "" {
			s.Language = in.Language
		}
	}
	p := newPlacer(m, a, base)
	s.Place = func(l *symbol.Local) expr.Place {
		at, clear := p.place(l)
		if !clear {
			s.unclear = l.Name
			return expr.Place{Kind: expr.PlaceMissing, Type: l.Type}
		}
		return at
	}
	return s
}

// Point is a breakpoint's or logpoint's part that the agent does at one place.
type Point struct {
	Condition *ring.Program // puts out whether it holds; nil: always
	Plan      ring.Plan     // Enter and what belongs to it: the values of the message
	layout    *value.Layout
	message   []string // text; values stand between the parts, and behind the last
	finish    []Finish
}

// CompilePoint compiles a condition and a message for a place, with skip as NewPointScope has it. Where the agent
// cannot do it, why says so and the tracer has to decide; whether they have a meaning at all is not decided here.
func CompilePoint(m *symbol.Module, a symbol.Addr, skip int, condition, message string, o Options) (p *Point,
	why string) {
	s := NewPointScope(m, a, skip, o.Modules)
	p = &Point{}
	if condition != "" {
		if p.Condition, why = s.condition(condition); why != "" {
			return nil, why
		}
	}
	if message != "" {
		if why = s.message(p, message, o); why != "" {
			return nil, why
		}
	}
	return p, ""
}

// because says why the agent cannot do something.
func (s *PointScope) because(err error) string {
	if s.unclear != "" {
		return fmt.Sprintf("where %s is can be told only when a thread is there", s.unclear)
	}
	return err.Error()
}

func (s *PointScope) condition(src string) (*ring.Program, string) {
	e, err := expr.New(src, s.Language, s)
	if err == nil {
		e, err = e.Condition()
	}
	if err != nil {
		return nil, s.because(err)
	}
	c, ok := e.AtPoint().Compile()
	if !ok {
		return nil, "the condition computes with floats, $threadName or too much text for the program itself"
	}
	b := &builder{}
	b.program(c)
	return &b.plan.Programs[0], ""
}

// message plans what a message's values read.
func (s *PointScope) message(p *Point, src string, o Options) string {
	segments, err := expr.ParseMessage(src, s.Language)
	if err != nil {
		return err.Error()
	}
	b := newBuilder(&symbol.Signature{Language: s.Language}, o)
	b.enter.begin(0)
	b.exit.begin(0)
	text := ""
	var values []*expr.Expr
	for _, seg := range segments {
		if seg.Expr == nil {
			text += seg.Text
			continue
		}
		if NamesSecret(o.Walks.secrets, seg.Expr.Source, s.Language) {
			text += value.Redacted.Text()
			continue
		}
		e, err := expr.Check(seg.Expr, s)
		if err != nil {
			return s.because(err)
		}
		e = e.AtPoint()
		p.message, text = append(p.message, text), ""
		values = append(values, e)
		b.leafRegisters(e)
	}
	p.message = append(p.message, text)
	for i, e := range values {
		if err := b.read(&b.enter, &b.lay.EnterWatches, strconv.Itoa(i), e, false); err != nil {
			return err.Error()
		}
	}
	p.finish = b.finish
	p.Plan, p.layout = b.close()
	return ""
}

// leafRegisters records the vector registers from which the daemon computes a value: before all evaluations.
func (b *builder) leafRegisters(e *expr.Expr) {
	if _, ok := e.Compile(); ok {
		return
	}
	split, err := e.Split()
	if err != nil {
		return // said when it is read
	}
	for _, l := range split.Leaves {
		x := uint8(l.Reg - xmm0)
		if _, have := b.enter.xmms[x]; l.Program == nil && l.Reg >= xmm0 && !have {
			b.enter.xmms[x] = b.enter.fix(ring.Op{Code: ring.OpXMM, Src: x, Size: 8}, 8)
			b.plan.EnterVec = true
		}
	}
}

// maxMessagePart bounds one value in a message, in bytes.
const maxMessagePart = 1024

// Text is the message with the values of a record's payload. threadName is as for FinishRecord; resolve returns the
// name of the function at an address, or "".
func (p *Point) Text(payload []byte, threadName func() (string, bool), resolve func(addr uint64) string) string {
	if p.layout == nil {
		return strings.Join(p.message, "")
	}
	if p.finish != nil {
		payload = slices.Clone(payload)
		finish(p.finish, payload, false, threadName)
	}
	payload = p.layout.Annotate(payload, resolve)
	values := p.layout.WatchValues(payload, false)
	var b strings.Builder
	for i, text := range p.message {
		b.WriteString(text)
		if i == len(p.message)-1 {
			break
		}
		v, ok := values.Get(strconv.Itoa(i))
		switch {
		case !ok:
			v = value.Unreadable
			fallthrough
		case v.Kind() == value.Text || v.Kind() == value.Marker:
			b.WriteString(v.Text())
		default:
			b.WriteString(v.Short(maxMessagePart))
		}
	}
	return b.String()
}
