package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

// Process is what a picture is taken of. Memory, modules and maps must not change while it is used.
type Process struct {
	PID     int
	Mem     unwind.Memory
	Modules []unwind.Module
	Maps    []Mapping // by Lo
	Project string    // directory of the user's source, or ""
	// Described are the user's descriptions of types; nil: none.
	Described *natvis.Set
	// Secrets are the names whose values are not shown; nil: all are.
	Secrets *secret.Names
	// Stub is unwind.Options.Stub.
	Stub func(pc uint64) (original uint64, in bool)
}

// Mapping is a range of memory.
type Mapping struct {
	Lo, Hi, Off       uint64
	Read, Write, Exec bool
	Path              string // "" for anonymous memory, "[stack]" and the like
}

// Thread is one thread at that moment.
type Thread struct {
	TID  int
	Name string
	Regs unwind.Regs
	XMM  *[16][16]byte // nil: not known
	// Behind: frames are asked for of the instruction that it has just run.
	Behind bool
	FS     uint64 // base of fs: the thread's TLS; 0: not known
	Skip   int    // inlined calls that begin where it stands and that it has not entered: its stack begins at their caller
}

// Picture reads stacks and values of one process. Not safe for concurrent use.
type Picture struct {
	*Process
	names map[uint64]string
}

// New returns a picture of a process.
func New(p *Process) *Picture { return &Picture{Process: p, names: map[uint64]string{}} }

// maxFrames bounds the frames of one stack that are read.
const maxFrames = 4096

// Stack walks one thread's stack. The unwinder is the stack's: Locals and Value of its frames.
func (p *Picture) Stack(th *Thread) (unwind.Stack, *unwind.Unwinder) {
	return p.walk(th, unwind.Options{})
}

// Innermost is Stack for the nearest frames alone: what the innermost one's values and condition take.
func (p *Picture) Innermost(th *Thread) (unwind.Stack, *unwind.Unwinder) {
	return p.walk(th, unwind.Options{Nearest: nearestFrames})
}

func (p *Picture) walk(th *Thread, o unwind.Options) (unwind.Stack, *unwind.Unwinder) {
	o.Stub, o.XMM, o.MaxFrames, o.TLS, o.Behind = p.Stub, th.XMM, maxFrames, p.tls(th), th.Behind
	u := unwind.New(p.Mem, p.Modules, o)
	s := u.Walk(th.Regs)
	if th.Skip > 0 && th.Skip < len(s.Frames) {
		s.Frames = s.Frames[th.Skip:]
		for i := range s.Frames {
			s.Frames[i].Index = i
		}
	}
	return s, u
}

// nearestFrames are walked for the innermost one's sake: what a parameter was at its entry its callers may know.
const nearestFrames = 8

// tls finds variables of the program's own TLS, which has a fixed place below the thread's base.
func (p *Picture) tls(th *Thread) func(m *symbol.Module, off uint64) (uint64, bool) {
	if th.FS == 0 {
		return nil
	}
	return func(m *symbol.Module, off uint64) (uint64, bool) {
		base, ok := m.TLSOffset()
		return th.FS + uint64(base) + off, ok
	}
}

// Frame describes a frame, without its values.
func (p *Picture) Frame(f *unwind.Frame) crash.Frame {
	out := crash.Frame{Index: f.Index, Function: f.Function, File: f.File, Line: f.Line, Inlined: f.Inlined,
		Signal: f.Signal}
	if f.Trust != unwind.TrustCFI {
		out.FoundBy = f.Trust.String()
	}
	if f.Line == 0 {
		out.Module = f.Module
		if !f.Signal {
			out.Address = crash.Address(f.PC)
			if f.Module != "" {
				out.Offset = hex(f.Offset)
			}
		}
	}
	return out
}

// Limits on the values of one frame and of one stack.
const (
	maxLocals      = 40
	maxFrameValues = 8 << 10  // bytes of JSON
	maxStackValues = 96 << 10 // bytes of JSON
	readShare      = 4        // times what is kept may be read
)

// Values fills in a frame's arguments and locals, at most limit bytes of them, and returns how many bytes they took.
// depth is how many pointers are followed.
func (p *Picture) Values(u *unwind.Unwinder, f *unwind.Frame, out *crash.Frame, depth, limit int) int {
	limit = min(limit, maxFrameValues)
	r := capture.NewReader(p.Mem, depth, p.functionAt, p.Described, p.Secrets)
	size, skipped := 0, 0
	seen := map[string]int{}
	locals := u.Locals(f)
	// a name means the innermost of that name
	sorting.By(locals, func(a, b unwind.Local) int { return b.Depth - a.Depth })
	for i := range locals {
		l := &locals[i]
		if l.Name == "" || l.Type == nil || !Written(l) {
			continue
		}
		if len(out.Arguments)+len(out.Locals) >= maxLocals || size >= readShare*limit {
			skipped++
			continue
		}
		v := p.local(r, u, l, f)
		size += len(v.AppendJSON(nil)) + len(l.Name) + 4
		m := value.Member{Name: l.Name, Value: v}
		if n := seen[l.Name]; n > 0 {
			m.Name = fmt.Sprintf("%s#%d", l.Name, n+1)
		}
		seen[l.Name]++
		if l.Param {
			out.Arguments = append(out.Arguments, m)
		} else {
			out.Locals = append(out.Locals, m)
		}
	}
	if size > limit { // what is small stays whole, and what is large has equal parts of the rest
		all, _ := slices.Concat(out.Arguments, out.Locals).Fit(limit)
		k := min(len(out.Arguments), len(all))
		out.Arguments, out.Locals, size = all[:k:k], all[k:], limit
	}
	if skipped > 0 {
		out.Locals = append(out.Locals, value.Member{Name: "…", Value: value.NewText(fmt.Sprintf("+%d not shown", skipped))})
	}
	return size
}

// Written reports what is in the source: the compiler marks as its own also this, and in a lambda the variables that it
// captures.
func Written(l *unwind.Local) bool {
	return !l.Artificial || l.Name == "this" || !l.Param && !strings.HasPrefix(l.Name, "__")
}

// local reads one variable.
func (p *Picture) local(r *capture.Reader, u *unwind.Unwinder, l *unwind.Local, f *unwind.Frame) value.Value {
	if r.Secret(l.Name, l.Type, f.Language) {
		return value.Redacted
	}
	switch l.Place.Kind {
	case unwind.PlaceNone:
		if strings.HasPrefix(l.Place.Why, "optimized out") || l.Place.Why == "" {
			return value.OptimizedOut
		}
		return value.Unreadable
	case unwind.PlaceMemory:
		return r.Object(l.Type, f.Language, l.Place.Addr)
	case unwind.PlaceImplied:
		if to := l.Place.To; to != nil && to.Place.Kind != unwind.PlaceImplied && capture.ShowsPointee(l.Type, to.Type) {
			return p.local(r, u, to, f)
		}
		return value.OptimizedOut
	}
	st := l.Type.Strip()
	if st == nil || st.Size <= 0 || st.Size > maxRegisterValue {
		return value.OptimizedOut
	}
	b, complete := u.Value(l.Place, int(st.Size))
	if complete {
		return r.Bytes(l.Type, f.Language, b)
	}
	if gone := missing(l.Place, len(b)); slices.Contains(gone, false) {
		return r.Parts(l.Type, f.Language, b, gone)
	}
	return value.OptimizedOut
}

// missing says of each byte of a value whether it is lost.
func missing(at unwind.Place, n int) []bool {
	gone := make([]bool, n)
	from := int64(0)
	for i := range at.Pieces {
		piece := &at.Pieces[i]
		to := from + piece.Bits
		if piece.Kind == unwind.PlaceNone || piece.Kind == unwind.PlaceImplied {
			for k := from / 8; k < (to+7)/8 && k < int64(n); k++ {
				gone[k] = true
			}
		}
		from = to
	}
	for k := (from + 7) / 8; k < int64(n); k++ {
		gone[k] = true
	}
	return gone
}

// maxRegisterValue bounds values that are in registers and in pieces.
const maxRegisterValue = 4096

// functionAt names the function that begins at an address, "" if none does.
func (p *Picture) functionAt(addr uint64) string {
	if name, ok := p.names[addr]; ok {
		return name
	}
	name := ""
	for i := range p.Modules {
		m := &p.Modules[i]
		if addr < m.Lo || addr >= m.Hi {
			continue
		}
		if f, off, ok := m.Mod.Lookup(symbol.Addr(addr - m.Bias)); ok && off == 0 {
			name = f.Name
		}
	}
	p.names[addr] = name
	return name
}

// mapping returns what lies at an address.
func (p *Process) mapping(addr uint64) *Mapping {
	for i := range p.Maps {
		if addr >= p.Maps[i].Lo && addr < p.Maps[i].Hi {
			return &p.Maps[i]
		}
	}
	return nil
}

func hex(v uint64) string { return fmt.Sprintf("0x%x", v) }
