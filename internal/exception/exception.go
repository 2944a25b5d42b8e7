// Package exception owns what is known of C++ exceptions and Rust panics in a program that stands still or is dead:
// which one is in flight in a thread, its type, what it says, and where it was thrown.
//
// It stands beside the data path: crash capture, core files and the native runtime's @exceptions ask it. It reads the
// C++ runtime's own structures (Itanium C++ ABI: exception handling), of libsupc++ and libc++abi, without debug
// information, and runs what() and the like in package emulate.
//
// Invariants: it does no I/O of its own and changes nothing in the program; memory may hold anything; every search is
// bounded. An exception that was caught is never said to be in flight.
package exception

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// States of an exception.
const (
	Uncaught  = "uncaught"  // no handler was found: std::terminate
	Terminate = "terminate" // it met a function that may not throw: std::terminate
	Unwinding = "unwinding" // on its way to its handler
	Handled   = "handled"   // a handler runs; only of BeingHandled
	Panic     = "panic"     // of Rust: on its way, or aborting
)

// Exception is one exception object. JSON leaves out what is not known.
type Exception struct {
	State      string     `json:"state,omitempty"`
	Type       string     `json:"type,omitempty"`    // demangled, the object's own class
	Message    string     `json:"message,omitempty"` // what() of std::exception's descendants; else the value in short
	Address    string     `json:"address,omitempty"` // of the thrown object, "0x…"
	ThrowPoint *Place     `json:"throwPoint,omitempty"`
	Nested     *Exception `json:"nested,omitempty"` // of std::nested_exception: what it was thrown in place of
	Note       string     `json:"note,omitempty"`   // what could not be found out, and why

	Object uint64 `json:"-"` // Address as a number
}

// Place is where something was thrown or caught.
type Place struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"` // where file is not known
	Via      string `json:"via,omitempty"`    // a function without debug information, called there, that threw
}

// Text is the exception in one line.
func (e *Exception) Text() string {
	s := e.Type
	if e.Message != "" {
		s = strings.TrimPrefix(s+": "+e.Message, ": ")
	}
	return s
}

// Modules is what does not change from one moment of a process to the next, and what was found out about it. It is not
// safe for concurrent use.
type Modules struct {
	mods    []unwind.Module
	natives map[uint64]string // what Machine.Replace is told; nil: not looked for yet
	code    map[uint64]*[pageSize]byte
	types   map[uint64]*typeInfo // of modules, by address
	spare   *emulate.Machine     // of the last reader
	asText  *uint64              // what anyText found; nil: not looked for yet
	getters []uint64             // addresses of __cxa_get_globals_fast; nil: not looked for yet
}

// NewModules makes a Modules of the files in a process's memory.
func NewModules(mods []unwind.Module) *Modules {
	return &Modules{mods: mods, code: map[uint64]*[pageSize]byte{}, types: map[uint64]*typeInfo{}}
}

// Reader reads exceptions of one process at one moment. It is not safe for concurrent use.
type Reader struct {
	*Modules
	text   textMemory
	m      *emulate.Machine // of fsBase
	fsBase uint64
}

// New makes a reader. mem is the process's memory; code of modules is read from their files, so that what was patched
// there does not matter.
func New(mem unwind.Memory, mods []unwind.Module) *Reader { return NewModules(mods).Reader(mem) }

// Reader makes a reader for this moment. The last one is not to be used any more.
func (ms *Modules) Reader(mem unwind.Memory) *Reader {
	return &Reader{Modules: ms, text: textMemory{mem, ms}}
}

// InFlight says which exception is in flight in a thread: thrown, and its handler does not run yet. stack is the
// thread's, fsBase its FS base (0: not known). False: none is, as far as can be known.
func InFlight(mem unwind.Memory, mods []unwind.Module, stack *unwind.Stack, fsBase uint64) (*Exception, bool) {
	return New(mem, mods).InFlight(stack, fsBase)
}

// machine is an emulator for a thread, with memory as the program has it.
func (r *Reader) machine(fsBase uint64) *emulate.Machine {
	if r.m != nil && r.fsBase == fsBase {
		return r.m
	}
	if r.spare == nil {
		r.spare = emulate.New(&r.text, fsBase, emulate.Limits{})
		for addr, name := range r.natives {
			r.spare.Replace(addr, name)
		}
	} else {
		r.spare.Reset(&r.text, fsBase)
	}
	r.m, r.fsBase = r.spare, fsBase
	return r.m
}

// call runs a function of the program. What it writes is forgotten, unless read is given: it sees it.
func (r *Reader) call(fsBase, fn uint64, read func(m *emulate.Machine, result uint64), args ...uint64) error {
	v, err := r.machine(fsBase).Call(fn, args...)
	if err != nil && r.natives == nil {
		r.findNatives(fsBase)
		r.m, r.spare = nil, nil
		v, err = r.machine(fsBase).Call(fn, args...)
	}
	if err == nil {
		read(r.m, v)
	}
	if err != nil || r.m.Changed() {
		r.m = nil
	}
	return err
}

// findNatives looks for functions that the emulator is better not to run: they use all that the CPU has, or the
// allocator.
func (r *Reader) findNatives(fsBase uint64) {
	r.natives = map[uint64]string{}
	for _, mod := range r.mods {
		if mod.Mod == nil {
			continue
		}
		for _, name := range emulate.Replaceable() {
			a, _, ok := mod.Mod.Symbol(name)
			if !ok {
				continue
			}
			at := uint64(a) + mod.Bias
			if mod.Mod.Indirect(name) {
				var err error
				if at, err = emulate.New(&r.text, fsBase, emulate.Limits{}).Call(at); err != nil {
					continue
				}
			}
			r.natives[at] = name
		}
		if mod.Mod.Language != symbol.LangRust {
			continue
		}
		for fns, i := mod.Mod.Functions(), 0; i < len(fns); i++ { // their linkage names have a hash
			if name, ok := strings.CutPrefix(fns[i].Name, "__rustc::"); ok && strings.HasPrefix(name, "__rust_") {
				r.natives[uint64(fns[i].Low)+mod.Bias] = name
			}
		}
	}
}

func (r *Reader) word(addr uint64) (uint64, bool) {
	var b [8]byte
	if r.machine(r.fsBase).Read(addr, b[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

func (r *Reader) word32(addr uint64) (uint32, bool) {
	var b [4]byte
	if r.machine(r.fsBase).Read(addr, b[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[:]), true
}

// module returns the module that has addr.
func (r *Reader) module(addr uint64) (unwind.Module, bool) {
	for _, m := range r.mods {
		if addr >= m.Lo && addr < m.Hi && m.Mod != nil {
			return m, true
		}
	}
	return unwind.Module{}, false
}

func hex(v uint64) string { return fmt.Sprintf("0x%x", v) }
