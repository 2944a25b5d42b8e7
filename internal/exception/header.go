package exception

import "github.com/strobe-debug/strobe/internal/emulate"

// The C++ runtime keeps a header in front of each thrown object. libsupc++ and libc++abi have the same fields at the
// same distance below the _Unwind_Exception, which itself is 32 bytes and followed by the object:
//
//	-96  referenceCount, 4 bytes   libsupc++
//	-88  referenceCount, 8 bytes   libc++abi; of a dependent exception: primaryException
//	-80  exceptionType             of libsupc++'s dependent exception: primaryException
//	-48  nextException             towards older ones whose handlers run
//	-40  handlerCount, 4 bytes     handlers that run; negative: and it was thrown again
//	 -8  adjustedPtr
//	  0  exception class, 8 bytes
//	 32  the object
//
// A dependent exception is one thrown by std::rethrow_exception: it refers to the object of another.
const (
	unwindBytes = 32
	exceptionAt = 80 // from the start of __cxa_exception to its _Unwind_Exception; of libc++abi 16 more

	classGNU   = 0x474e5543432b2b00 // "GNUCC++\0"
	classClang = 0x434c4e47432b2b00 // "CLNGC++\0"
	classRust  = 0x4d4f5a0052555354 // "MOZ\0RUST"
)

// header is an exception's header, read.
type header struct {
	unwind   uint64 // address of its _Unwind_Exception
	object   uint64
	typ      typeInfo
	handlers int32
}

// maxReferences is more than a program keeps of one exception: what is not below is no count.
const maxReferences = 1 << 20

// headerAt reads the header of the _Unwind_Exception at an address. False: there is none, or it was freed.
func (r *Reader) headerAt(unwind uint64) (h header, ok bool) {
	if unwind < 1<<16 || unwind%8 != 0 || unwind >= 1<<62 {
		return h, false
	}
	class, ok := r.word(unwind)
	if !ok || class&^1 != classGNU && class&^1 != classClang {
		return h, false
	}
	h.unwind, h.object = unwind, unwind+unwindBytes
	primary := unwind
	if class&1 != 0 {
		at := unwind - 80
		if class&^1 == classClang {
			at = unwind - 88
		}
		if h.object, ok = r.word(at); !ok {
			return h, false
		}
		primary = h.object - unwindBytes
	}
	if !r.referenced(primary, class&^1) {
		return h, false
	}
	ti, ok1 := r.word(primary - 80)
	count, ok3 := r.word32(unwind - 40)
	if !ok1 || !ok3 {
		return h, false
	}
	h.handlers = int32(count)
	h.typ, ok = r.typeAt(ti)
	return h, ok
}

// referenced reports whether the object is alive by its count of references.
func (r *Reader) referenced(unwind, class uint64) bool {
	if class == classGNU {
		n, ok := r.word32(unwind - 96)
		return ok && n > 0 && n < maxReferences
	}
	n, ok := r.word(unwind - 88)
	return ok && n > 0 && n < maxReferences
}

// near finds a header that a word of the program points to: its _Unwind_Exception, its start, its allocation, or its
// object.
func (r *Reader) near(w uint64) (header, bool) {
	if w < 1<<16 || w%8 != 0 || w >= 1<<47 {
		return header{}, false
	}
	for _, off := range [...]uint64{0, exceptionAt, exceptionAt + 16, -unwindBytes & (1<<64 - 1)} {
		if h, ok := r.headerAt(w + off); ok {
			return h, true
		}
	}
	return header{}, false
}

// newest is the header that caught refers to.
func (r *Reader) newest(caught uint64) (header, bool) {
	for _, off := range [...]uint64{exceptionAt, exceptionAt + 16} {
		if h, ok := r.headerAt(caught + off); ok {
			return h, true
		}
	}
	return header{}, false
}

// globals is __cxa_eh_globals of a thread.
type globals struct {
	caught   uint64 // address of the __cxa_exception of the newest exception whose handler runs, or 0
	uncaught uint32 // how many are in flight
}

// globals asks each C++ runtime in the process for its state of the thread.
func (r *Reader) globals(fsBase uint64) (all []globals) {
	if fsBase == 0 {
		return nil
	}
	r.machine(fsBase)
	if r.getters == nil {
		r.getters = []uint64{}
		for _, mod := range r.mods {
			if mod.Mod == nil {
				continue
			}
			if a, _, ok := mod.Mod.Symbol("__cxa_get_globals_fast"); ok {
				r.getters = append(r.getters, uint64(a)+mod.Bias)
			}
		}
	}
	seen := map[uint64]bool{0: true}
	for _, getter := range r.getters {
		var at uint64
		if r.call(fsBase, getter, func(_ *emulate.Machine, v uint64) { at = v }) != nil || seen[at] || at >= 1<<47 {
			continue
		}
		seen[at] = true
		caught, ok1 := r.word(at)
		uncaught, ok2 := r.word32(at + 8)
		if ok1 && ok2 {
			all = append(all, globals{caught, uncaught})
		}
	}
	return all
}
