package native

import (
	"encoding/binary"
	"slices"

	"github.com/strobe-debug/strobe/internal/unwind"
)

// maxSigStacks bounds the stacks of one thread: more of them is no program's, but numbers that look like frames.
const maxSigStacks = 8

// eachStack gives look what read has of a thread's stack, from sp up, and then of those on which handlers of signals
// have interrupted it: where a handler has a stack of its own (sigaltstack), what the thread returns to behind it lies
// elsewhere. False: look said so, the first cannot be read, or there are too many. read returns nil where nothing is.
func (p *process) eachStack(sp uint64, read func(sp uint64) []byte, look func(b []byte) bool) bool {
	type span struct{ lo, hi uint64 }
	var done []span
	for todo := []uint64{sp}; len(todo) > 0; todo = todo[1:] {
		lo := todo[0] &^ 7
		if slices.ContainsFunc(done, func(s span) bool { return lo >= s.lo && lo < s.hi }) {
			continue
		}
		b := read(lo)
		if b == nil && len(done) > 0 {
			continue // it only looked like a frame
		}
		if b == nil || len(done) == maxSigStacks || !look(b) {
			return false
		}
		done = append(done, span{lo, lo + uint64(len(b))})
		todo = append(todo, p.interruptedAt(b)...)
	}
	return true
}

// interruptedAt returns the stack pointers, less what lies in use below them, of those whose handlers' frames are among
// the words of a stack.
func (p *process) interruptedAt(b []byte) (at []uint64) {
	const sp, cs = 21 * 8, 24 * 8 // in struct rt_sigframe
	le := binary.LittleEndian
	for off := 0; off+cs+2 <= len(b); off += 8 {
		if le.Uint16(b[off+cs:]) != code64 {
			continue
		}
		var code [unwind.SigreturnBytes]byte
		if p.mem.Read(le.Uint64(b[off:]), code[:]) == nil && unwind.IsSigreturn(code[:]) {
			at = append(at, le.Uint64(b[off+sp:])-redZone)
		}
	}
	return at
}
