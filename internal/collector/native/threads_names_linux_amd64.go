package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
	"golang.org/x/sys/unix"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// asked is the process for those who ask what its threads wait for. It finishes what the look found.
func (l *look) asked() *waits.Process {
	byThread := map[*waits.Thread]*seen{}
	for _, s := range l.seen {
		byThread[s.thread] = s
		s.thread.Entered = l.entered(s)
		s.thread.Syscall = s.callNumber()
	}
	return &waits.Process{
		Read: l.p.mem.Read, Root: l.view.Project,
		File: func(fd int) string {
			name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", l.p.pid, fd))
			if err != nil {
				return ""
			}
			return name
		},
		Alive:  l.alive,
		Exists: func(local int) bool { return existing(l.p.pid, local) },
		Lock:   l.fileLock,
		Parent: parentOf(l.p.pid),
		Name:   func(t *waits.Thread, a uint64) string { return l.nameOf(byThread[t], a) },
		Guards: func(t *waits.Thread) []waits.Guard { return l.guards(byThread[t]) },
		Stack:  func(t *waits.Thread, word uint64) bool { return l.mentions(byThread[t], word) },
	}
}

// alive reports whether a thread that was not looked at may be the one of that number: the process has threads that the
// look did not see, whatever they are called in its own namespace.
func (l *look) alive(int) bool {
	for _, tid := range listThreads(l.p.pid) {
		if !slices.ContainsFunc(l.seen, func(s *seen) bool { return s.thread.TID == tid }) {
			if st := taskState(l.p.pid, tid); st != 'Z' && st != 'X' && st != 0 {
				return true
			}
		}
	}
	return false
}

const sysRestart = 219 // restart_syscall: of a call with a time limit that a stop interrupted

// callNumber is the system call that the thread waits in, as the program made it.
func (s *seen) callNumber() int64 {
	nr := s.thread.Syscall
	if nr != sysRestart {
		return nr
	}
	const before = 32 // bytes of code in which the number is put into eax, right before the call
	var b [before]byte
	if s.p.mem.Read(s.pc-before, b[:]) == nil {
		for i := before - 7; i >= 0; i-- {
			if n := binary.LittleEndian.Uint32(b[i+1:]); b[i] == 0xb8 && n < 512 { // mov $n, %eax
				return int64(n)
			}
		}
	}
	// Through a function that takes the number: what called that one says it.
	names := []string{s.thread.Entered}
	for i := range min(len(s.thread.Frames), callFrames) {
		names = append(names, s.thread.Frames[i].Function)
	}
	const firstAddress = 1 << 16
	const private, bitset = 0x80, 9
	for _, name := range names {
		switch {
		case strings.Contains(name, "sleep") && s.thread.Args[0] < firstAddress:
			return unix.SYS_CLOCK_NANOSLEEP
		case strings.Contains(name, "sleep"):
			return unix.SYS_NANOSLEEP
		case strings.Contains(name, "poll"):
			return unix.SYS_POLL
		}
	}
	// Its arguments stay. Only calls with a time limit go on in this way: sleeps, waits for a futex, and poll.
	if a := &s.thread.Args; a[0] < 16 && a[1] <= 1 && a[2] >= firstAddress { // a clock, and a pointer to the time
		return unix.SYS_CLOCK_NANOSLEEP
	} else if a[0] >= firstAddress && (a[1] >= firstAddress || a[1] == 0 && a[3] == 0) {
		// The time, and where what is left of it goes; a futex would have its time there.
		return unix.SYS_NANOSLEEP
	} else if a[0] >= firstAddress && a[1] > 0 && a[1] < private && a[1] != bitset &&
		(a[2] < 1<<32 || int64(a[2]) == -1) { // some files, and milliseconds
		return unix.SYS_POLL
	}
	if op := s.thread.Args[1] & 0x7f &^ private; s.thread.Args[1] < firstAddress && (op == 0 || op == bitset) &&
		s.thread.Args[0]%4 == 0 && s.thread.Args[0] >= firstAddress {
		return unix.SYS_FUTEX
	}
	return nr
}

// callFrames is how many functions of a C library are between a system call and its caller.
const callFrames = 6

// entered names the function of the C library that the program's own code, or another library, called and that led to
// the wait: one that ends in a jump is on no stack, but the call names it.
func (l *look) entered(s *seen) string {
	if s.thread.State != waits.Waiting {
		return ""
	}
	for i := range s.stack.Frames {
		f := &s.stack.Frames[i]
		if i == 0 || f.Inlined || f.Signal || f.Module == s.stack.Frames[0].Module {
			continue
		}
		return l.called(f.PC)
	}
	return ""
}

// called names the function that the call before a return address went to, through the procedure linkage table or a
// pointer of the dynamic linker's.
func (l *look) called(ret uint64) string {
	var b [6]byte
	if l.p.mem.Read(ret-6, b[:]) != nil {
		return ""
	}
	slot := uint64(0)
	switch {
	case b[1] == 0xe8: // call rel32
		at := ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[2:]))))
		var plt [16]byte
		if l.p.mem.Read(at, plt[:]) != nil {
			return ""
		}
		i := bytes.Index(plt[:11], []byte{0xff, 0x25}) // jmp *slot(%rip)
		if i < 0 {
			return l.functionAt(at)
		}
		slot = at + uint64(i) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(plt[i+2:]))))
	case b[0] == 0xff && b[1] == 0x15: // call *slot(%rip)
		slot = ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[2:]))))
	default:
		return ""
	}
	var to [8]byte
	if l.p.mem.Read(slot, to[:]) != nil {
		return ""
	}
	return l.functionAt(le64(to[:]))
}

func (l *look) module(a uint64) *unwind.Module {
	for i := range l.view.Modules {
		if m := &l.view.Modules[i]; a >= m.Lo && a < m.Hi {
			return m
		}
	}
	return nil
}

func (l *look) functionAt(a uint64) string {
	if m := l.module(a); m != nil {
		if f, off, ok := m.Mod.Lookup(symbol.Addr(a - m.Bias)); ok && off == 0 {
			return f.Name
		}
	}
	return ""
}

// mentions reports whether a word is on a thread's stack.
func (l *look) mentions(s *seen, word uint64) bool {
	if s == nil || s.sp == 0 {
		return false
	}
	buf := make([]byte, stackBytes)
	lo, got := l.p.copyStack(s.sp, buf)
	if skip := s.sp - lo; uint64(len(got)) > skip {
		got = got[skip&^7:]
	}
	for ; len(got) >= 8; got = got[8:] {
		if le64(got) == word {
			return true
		}
	}
	return false
}

const (
	guardFrames = 24 // of the program's own, of one thread, whose variables are looked at
	nameFrames  = 8
)

// ownFrames calls fn for the first n frames of the program's own code, and for those of libraries between them, until
// it returns false.
func (l *look) ownFrames(s *seen, n int, fn func(f *unwind.Frame) bool) {
	for i := range s.stack.Frames {
		if i < len(s.thread.Frames) && s.thread.Frames[i].Library(l.view.Project) {
			continue
		}
		if n--; n < 0 || !fn(&s.stack.Frames[i]) {
			return
		}
	}
}

// guards finds Rust's lock guards among a thread's variables: each refers to its lock.
func (l *look) guards(s *seen) []waits.Guard {
	var out []waits.Guard
	if s == nil || s.by == nil {
		return nil
	}
	l.ownFrames(s, guardFrames, func(f *unwind.Frame) bool {
		for _, v := range s.by.Locals(f) {
			if g, ok := guardOf(s.by, &v); ok {
				out = append(out, g)
			}
		}
		return true
	})
	return out
}

// guardOf reads a lock guard. One whose reference to its lock was optimized out, as for a lock that is a global
// variable, still says that some lock of its kind is held.
func guardOf(u *unwind.Unwinder, v *unwind.Local) (g waits.Guard, ok bool) {
	if v.Type == nil || v.Place.Kind == unwind.PlaceNone {
		return g, false
	}
	t := v.Type.Strip()
	if t == nil || t.Kind != symbol.KindStruct || t.Size <= 0 || t.Size > 64 || !strings.Contains(t.Name, "Guard<") ||
		!lockName(t.Name) {
		return g, false
	}
	g.Read, g.RW = strings.Contains(t.Name, "Read"), strings.Contains(t.Name, "RwLock")
	b, complete := u.Value(v.Place, int(t.Size))
	for _, f := range t.Fields() {
		if f.Type == nil || f.Off+8 > t.Size || f.Off < 0 || f.Static {
			continue
		}
		p := f.Type.Strip()
		if p == nil || p.Kind != symbol.KindPointer && p.Kind != symbol.KindReference || p.Elem() == nil {
			continue
		}
		e := p.Elem().Strip()
		if e == nil || e.Size <= 0 || !lockName(e.Name) {
			continue
		}
		if !complete && !known(v.Place, f.Off*8, 64) {
			g.Anywhere = true
			return g, v.Place.Kind == unwind.PlacePieces
		}
		g.Lo = le64(b[f.Off:])
		g.Hi = g.Lo + uint64(e.Size)
		return g, g.Lo != 0
	}
	return g, false
}

func lockName(name string) bool {
	return strings.Contains(name, "Mutex") || strings.Contains(name, "RwLock")
}

// known reports whether n bits of a value that is in pieces are in one that is there.
func known(p unwind.Place, off, n int64) bool {
	at := int64(0)
	for i := range p.Pieces {
		piece := &p.Pieces[i]
		if off >= at && off+n <= at+piece.Bits {
			return piece.Kind != unwind.PlaceNone
		}
		at += piece.Bits
	}
	return false
}

// nameOf names the variable at an address: a global one, or one that the waiting thread's functions know.
func (l *look) nameOf(s *seen, a uint64) string {
	if m := l.module(a); m != nil {
		name, start, ok := m.Mod.DataAt(symbol.Addr(a - m.Bias))
		if !ok {
			return ""
		}
		if of, guard := strings.CutPrefix(name, "guard variable for "); guard {
			return of
		}
		for _, v := range m.Mod.Variables(name) {
			if v.Addr == start && v.Type != nil && !v.TLS {
				return v.Name + memberPath(v.Type, int64(a-m.Bias)-int64(start), ".")
			}
		}
		return name
	}
	if s == nil || s.by == nil {
		return ""
	}
	name := ""
	l.ownFrames(s, nameFrames, func(f *unwind.Frame) bool {
		for _, v := range s.by.Locals(f) {
			if name = localName(s.by, &v, a); name != "" {
				return false
			}
		}
		return true
	})
	return name
}

// localName is how a variable leads to an address: by being there, or by pointing to what is there.
func localName(u *unwind.Unwinder, v *unwind.Local, a uint64) string {
	if v.Name == "" || v.Type == nil {
		return ""
	}
	t := v.Type.Strip()
	if t == nil || t.Size <= 0 {
		return ""
	}
	if v.Place.Kind == unwind.PlaceMemory && a >= v.Place.Addr && a-v.Place.Addr < uint64(t.Size) {
		return v.Name + memberPath(v.Type, int64(a-v.Place.Addr), ".")
	}
	if t.Kind != symbol.KindPointer && t.Kind != symbol.KindReference || t.Size != 8 || t.Elem() == nil {
		return ""
	}
	e := t.Elem().Strip()
	if e == nil || e.Size <= 0 || e.Kind != symbol.KindStruct && e.Kind != symbol.KindUnion {
		return ""
	}
	b, complete := u.Value(v.Place, 8)
	if !complete {
		return ""
	}
	to := le64(b)
	if a < to || a-to >= uint64(e.Size) {
		return ""
	}
	path := memberPath(t.Elem(), int64(a-to), "->")
	if path == "" {
		return "*" + v.Name
	}
	return v.Name + path
}

// memberPath says which member of a type is at an offset, down to a lock of a library: ".accounts[2].lock".
func memberPath(t *symbol.Type, off int64, sep string) string {
	var b strings.Builder
	const deepest = 8
	for range deepest {
		if t == nil || strings.HasPrefix(t.Name, "pthread_") || strings.HasPrefix(t.Name, "sem_t") {
			break
		}
		s := t.Strip()
		if s == nil || strings.HasPrefix(s.Name, "pthread_") {
			break
		}
		if q := s.QualifiedName(); strings.HasPrefix(q, "std::") || strings.HasPrefix(q, "core::") ||
			strings.HasPrefix(q, "parking_lot") || strings.HasPrefix(q, "lock_api") {
			break
		}
		if s.Kind == symbol.KindArray && s.Elem() != nil {
			n := s.Elem().Strip()
			if n == nil || n.Size <= 0 {
				break
			}
			fmt.Fprintf(&b, "[%d]", off/n.Size)
			t, off, sep = s.Elem(), off%n.Size, "."
			continue
		}
		if s.Kind != symbol.KindStruct {
			break
		}
		var in *symbol.Field
		for _, f := range s.Fields() {
			if f.Static || f.BitSize > 0 || f.Type == nil {
				continue
			}
			if ft := f.Type.Strip(); ft != nil && ft.Size > 0 && off >= f.Off && off-f.Off < ft.Size {
				in = &f
				break
			}
		}
		if in == nil {
			break
		}
		if in.Name != "" && !in.Base {
			b.WriteString(sep + in.Name)
			sep = "."
		}
		t, off = in.Type, off-in.Off
	}
	return b.String()
}
