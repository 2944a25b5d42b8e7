// Package inspect owns the reading of single values of a process: variables, expressions and addresses, in a frame of
// one of its threads or without one.
//
// It stands beside the data path: debug_memory asks it, of core files and of live targets. What a process is comes from
// package snapshot, names and arithmetic from package expr, values of types from package capture.
//
// Invariants: it does no I/O of its own and writes nothing; every answer is bounded; what is wrong with one target is
// said of that target alone.
package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds of one answer.
const (
	DefaultDepth = 2
	MaxDepth     = 5
	MaxBytes     = 64 << 20 // of memory without a type, which callers do not show as a whole
	maxElems     = value.MaxElems
)

// Read reads the targets of a question. th is the thread whose frame gives locals and registers a meaning, nil for
// none. The error is for what is wrong with the question itself.
func Read(p *snapshot.Process, th *snapshot.Thread, q collector.Inspection) ([]collector.Reading, error) {
	s := &scene{pic: snapshot.New(p), depth: q.Depth}
	if s.depth < 1 || s.depth > MaxDepth {
		s.depth = DefaultDepth
	}
	if err := s.enter(th, q.Frame); err != nil {
		return nil, err
	}
	out := make([]collector.Reading, len(q.Targets))
	for i := range q.Targets {
		out[i] = s.read(&q.Targets[i])
	}
	return out, nil
}

// scene is a process with a frame in it.
type scene struct {
	pic    *snapshot.Picture
	depth  int
	th     *snapshot.Thread
	u      *unwind.Unwinder
	stack  unwind.Stack
	frame  *unwind.Frame // nil: none
	locals []unwind.Local
	laid   []laid
	holes  []hole
	over   []byte // values that are in no memory, as if at overlayAt
	reader *capture.Reader
}

// enter finds the frame.
func (s *scene) enter(th *snapshot.Thread, n int) error {
	s.th = th
	if th == nil {
		return nil
	}
	stack, u := s.pic.Stack(th)
	s.u, s.stack = u, stack
	if n < 0 {
		if len(stack.Frames) == 0 {
			return nil
		}
		s.frame = &stack.Frames[s.pic.Place(stack.Frames, false)]
	}
	for i := range stack.Frames {
		if stack.Frames[i].Index == n {
			s.frame = &stack.Frames[i]
		}
	}
	if s.frame == nil {
		return fault.New(fault.ValidationError, "debug_query with eventType crash shows the frames.",
			"thread %d has no frame %d, only %d frames", th.TID, n, len(stack.Frames))
	}
	s.locals = u.Locals(s.frame)
	return nil
}

func (s *scene) language() symbol.Language {
	if s.frame != nil && s.frame.Language != "" {
		return s.frame.Language
	}
	for i := range s.pic.Modules {
		if m := s.pic.Modules[i].Mod; m.Language != "" && m.HasDWARF {
			return m.Language
		}
	}
	return symbol.LangC
}

func (s *scene) read(t *collector.InspectTarget) collector.Reading {
	var r collector.Reading
	var err error
	switch {
	case t.Expr != "":
		r, err = s.eval(t.Expr)
	case t.Type == "":
		r, err = s.bytes(t.Address, t.Size)
	default:
		r, err = s.typed(t.Address, t.Type)
	}
	if err != nil {
		return collector.Reading{Err: clientFault(err)}
	}
	return r
}

// clientFault gives an expression's error its code.
func clientFault(err error) error {
	var check *expr.Error
	var eval *expr.EvalError
	switch {
	case errors.As(err, &check):
		return check.Fault()
	case errors.As(err, &eval) && eval.Reason == expr.Unreadable && isLaid(eval.Addr):
		return fault.New(fault.OptimizedOut, "Ask for its other members, or build with -O0 or -Og to see it.",
			"position %d: it was optimized out here", eval.Pos)
	case errors.As(err, &eval):
		return eval.Fault()
	}
	return err
}

func (s *scene) env() *expr.Env {
	e := &expr.Env{Memory: s, PID: s.pic.PID, Bias: func(m *symbol.Module) (uint64, bool) {
		for i := range s.pic.Modules {
			if s.pic.Modules[i].Mod == m {
				return s.pic.Modules[i].Bias, true
			}
		}
		return 0, false
	}}
	if s.th != nil {
		e.ThreadID, e.ThreadName, e.Frame = s.th.TID, s.th.Name, registers{s}
	}
	return e
}

// eval evaluates an expression and shows what it gives as captured calls would.
func (s *scene) eval(src string) (collector.Reading, error) {
	e, err := expr.New(src, s.language(), s)
	if err != nil {
		return collector.Reading{}, err
	}
	env := s.env()
	r, err := e.Eval(env)
	if err != nil {
		return collector.Reading{}, err
	}
	out := collector.Reading{Type: r.Type.String(), Value: r.Value}
	if r.InMemory && !isLaid(r.Addr) {
		out.Address = fmt.Sprintf("0x%x", r.Addr)
	}
	if capture.NamesSecret(s.pic.Secrets, src, s.language()) {
		out.Value = value.Redacted
		return out, nil
	}
	t := r.Type.Symbol()
	if t == nil || e.IsText() || !r.Object && r.Type.Kind() != expr.KindPointer {
		return out, nil
	}
	if s.reader == nil {
		s.reader = capture.NewReader(s, s.depth, s.functionAt, s.pic.Described, s.pic.Secrets)
	}
	if r.InMemory {
		if b, gone := s.holed(r.Addr, t); gone != nil {
			out.Value = s.reader.Parts(t, s.language(), b, gone)
		} else {
			out.Value = s.reader.Object(t, s.language(), r.Addr)
		}
		return out, nil
	}
	w, err := e.Word(env)
	if err == nil {
		out.Value = s.reader.Bytes(t, s.language(), binary.LittleEndian.AppendUint64(nil, w))
	}
	return out, err
}

// typed reads a value of a named type; T[n] is n of them, one behind the other.
func (s *scene) typed(addr uint64, name string) (collector.Reading, error) {
	if s.language() == symbol.LangRust {
		if t, ok := s.TypeNamed(strings.TrimSpace(name)); ok && t.Strip().Size > 0 { // &str, (u8, u32)
			return s.object(addr, t)
		}
		if strings.HasPrefix(strings.TrimSpace(name), "[") || strings.HasPrefix(strings.TrimSpace(name), "&") {
			return s.eval(fmt.Sprintf("*(0x%x as *const %s)", addr, name))
		}
	}
	base, rest, array := strings.Cut(strings.TrimSpace(name), "[")
	if !array || strings.Contains(rest, "[") || strings.ContainsAny(base, "(<;") || base == "" {
		src, err := pointerTo(name)
		if err != nil {
			return collector.Reading{}, err
		}
		return s.eval(fmt.Sprintf("*(%s)0x%x", src, addr))
	}
	n, err := arrayLength(name, rest)
	if err != nil {
		return collector.Reading{}, err
	}
	out := collector.Reading{Address: fmt.Sprintf("0x%x", addr), Type: name}
	if strings.TrimSpace(base) == "char" {
		b := make([]byte, min(n, maxChars))
		if s.Read(addr, b) == nil {
			out.Value = value.TextOf(b)
			return out, nil
		}
	}
	var elems []value.Value
	for i := range min(n, maxElems) {
		r, err := s.eval(fmt.Sprintf("((%s *)0x%x)[%d]", base, addr, i))
		if err != nil {
			return out, err
		}
		elems = append(elems, r.Value)
	}
	out.Value = value.NewArray(elems, n-len(elems))
	return out, nil
}

// object reads a value of a type of the program.
func (s *scene) object(addr uint64, t *symbol.Type) (collector.Reading, error) {
	if b := make([]byte, 1); s.Read(addr, b) != nil {
		return collector.Reading{}, fault.New(fault.ReadFailed, "Check the address.", "0x%x cannot be read", addr)
	}
	if s.reader == nil {
		s.reader = capture.NewReader(s, s.depth, s.functionAt, s.pic.Described, s.pic.Secrets)
	}
	return collector.Reading{Address: fmt.Sprintf("0x%x", addr), Type: t.String(),
		Value: s.reader.Object(t, s.language(), addr)}, nil
}

// pointerTo spells a pointer to a type that is named as C or Rust do: int[2][3], int (*)[3], [u8; 4].
func pointerTo(name string) (string, error) {
	bad := fault.New(fault.ValidationError, "Write it as int[16], int[2][3] or [u8; 4].", "type %q is not understood",
		name)
	base, dims := strings.TrimSpace(name), ""
	for strings.HasPrefix(base, "[") && strings.HasSuffix(base, "]") {
		i := strings.LastIndexByte(base, ';')
		if i < 0 {
			return "", bad
		}
		n := strings.TrimSpace(base[i+1 : len(base)-1])
		base, dims = strings.TrimSpace(base[1:i]), dims+"["+n+"]"
	}
	if i := strings.Index(base, "(*"); i >= 0 && dims == "" {
		return base[:i] + "(*" + base[i+1:], nil
	}
	if i := strings.IndexByte(base, '['); i >= 0 && dims == "" {
		base, dims = strings.TrimSpace(base[:i]), base[i:]
	}
	if dims == "" {
		return base + " *", nil
	}
	if base == "" || strings.Contains(dims, "[]") {
		return "", bad
	}
	return base + " (*)" + dims, nil
}

// arrayLength reads what follows the [ of a type's name.
func arrayLength(name, rest string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil || n < 1 || !strings.HasSuffix(rest, "]") {
		return 0, fault.New(fault.ValidationError, "Write it as int[16].", "type %q is not understood", name)
	}
	return n, nil
}

// maxChars bounds an array of characters that is read: of texts, an answer has less.
const maxChars = 64 << 10

// bytes reads memory without a type: as much as can be read.
func (s *scene) bytes(addr uint64, n int) (collector.Reading, error) {
	b := make([]byte, min(max(n, 1), MaxBytes))
	got := 0
	for got < len(b) {
		part := min(len(b)-got, 1<<20)
		for part > 0 && s.pic.Mem.Read(addr+uint64(got), b[got:got+part]) != nil {
			part /= 2
		}
		if part == 0 {
			break
		}
		got += part
	}
	out := collector.Reading{Address: fmt.Sprintf("0x%x", addr), Type: fmt.Sprintf("byte[%d]", got), Bytes: b[:got]}
	if got == 0 {
		return out, fault.New(fault.ReadFailed, "Nothing is mapped there, or it was not kept; see the variable that the "+
			"address came from.", "memory at 0x%x cannot be read", addr)
	}
	return out, nil
}

func (s *scene) functionAt(addr uint64) string {
	for i := range s.pic.Modules {
		m := &s.pic.Modules[i]
		if addr >= m.Lo && addr < m.Hi {
			if f, off, ok := m.Mod.Lookup(symbol.Addr(addr - m.Bias)); ok && off == 0 {
				return f.Name
			}
		}
	}
	return ""
}

// overlayAt is where values stand that are in registers or nowhere; package capture has its own such place.
const overlayAt = value.LaidAt

func isLaid(addr uint64) bool { return addr>>32 == overlayAt>>32 }

// Read implements expr.Memory and capture.Memory.
func (s *scene) Read(addr uint64, b []byte) error {
	if !isLaid(addr) {
		return s.pic.Mem.Read(addr, b)
	}
	off := addr - overlayAt
	if off > uint64(len(s.over)) || uint64(len(b)) > uint64(len(s.over))-off {
		return errNoMemory
	}
	for _, h := range s.holes {
		if addr < h.hi && addr+uint64(len(b)) > h.lo {
			return errOptimizedOut
		}
	}
	copy(b, s.over[off:])
	return nil
}

// holed returns a value of which parts are optimized out, and which of its bytes; nil if there are none.
func (s *scene) holed(addr uint64, t *symbol.Type) (b []byte, gone []bool) {
	st := t.Strip()
	if !isLaid(addr) || st == nil || st.Size <= 0 || addr-overlayAt+uint64(st.Size) > uint64(len(s.over)) {
		return nil, nil
	}
	end := addr + uint64(st.Size)
	for _, h := range s.holes {
		for at := max(h.lo, addr); at < min(h.hi, end); at++ {
			if gone == nil {
				gone = make([]bool, st.Size)
			}
			gone[at-addr] = true
		}
	}
	return s.over[addr-overlayAt:][:st.Size], gone
}

var errOptimizedOut = errors.New("read a value of which a part is optimized out")

var errNoMemory = errors.New("read a value that is in no memory: it ends before that")

// laid is a local variable that was put where expressions read it.
type laid struct {
	at    uint64
	place unwind.Place
}

// lay puts bytes where expressions can read them.
func (s *scene) lay(b []byte) uint64 {
	at := overlayAt + uint64(len(s.over))
	s.over = append(s.over, b...)
	s.over = append(s.over, make([]byte, 16-len(b)%16)...)
	return at
}

// registers are those of the frame.
type registers struct{ s *scene }

// Reg implements expr.Frame.
func (r registers) Reg(n int) (uint64, bool) {
	if r.s.frame == nil {
		return r.s.th.Regs.Get(n)
	}
	return r.s.frame.Regs.Get(n)
}

// CFA implements expr.Frame.
func (r registers) CFA() (uint64, bool) {
	if r.s.frame == nil {
		return 0, false
	}
	return r.s.frame.CFA, r.s.frame.CFA != 0
}

// FS implements expr.Frame.
func (r registers) FS() (uint64, bool) { return r.s.th.FS, r.s.th.FS != 0 }
