package exception

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/symbol"

	"github.com/strobe-debug/strobe/internal/unwind"
)

// panicking recognizes a Rust panic on its way out of its function: what panicked is the first function that is not
// part of the machinery. The message is not on the stack in a form that is the same in all versions; it is on stderr.
func (r *Reader) panicking(stack *unwind.Stack) (*Exception, bool) {
	inside := false
	for i := range stack.Frames {
		f := &stack.Frames[i]
		if PanicMachinery(f.Function) {
			inside = inside || Panics(f.Function)
			continue
		}
		if inside {
			e := &Exception{State: Panic, Type: "panic", ThrowPoint: PlaceOf(stack.Frames[i:])}
			return e, true
		}
		if i > maxBefore {
			break
		}
	}
	return nil, false
}

// Panics reports whether a function of Rust's standard library is on the stack only while a panic is on its way.
func Panics(function string) bool {
	f := strings.TrimPrefix(strings.TrimLeft(function, "<"), "__rustc::")
	for _, p := range []string{"core::panicking::", "std::panicking::begin_panic", "std::panicking::panic_",
		"std::panicking::rust_panic",
		"std::panicking::default_hook", "rust_begin_unwind", "rust_panic", "__rust_start_panic", "panic_unwind::",
		"panic_abort::"} {
		if strings.HasPrefix(f, p) {
			return true
		}
	}
	return false
}

// CallsHook reports the function of Rust's standard library that calls a panic's hook.
func CallsHook(function string) bool {
	return function == "std::panicking::panic_with_hook" || function == "std::panicking::rust_panic_with_hook"
}

// maxBefore is how many frames of abort may stand before those of the panic.
const maxBefore = 16

// PanicMachinery reports whether a function is of Rust's standard library or runtime and leads from a panic to the
// unwinder, or to abort.
func PanicMachinery(function string) bool {
	f := strings.TrimLeft(function, "<")
	for _, p := range []string{"core::panicking::", "std::panicking::", "std::sys::backtrace::",
		"std::sys_common::backtrace::", "core::panic::", "std::panic::",
		"rust_begin_unwind", "__rustc::rust_begin_unwind", "rust_panic", "__rust_start_panic", "panic_unwind::",
		"panic_abort::", "__rustc::",
		"std::process::abort", "core::option::", "core::result::", "core::slice::index::", "core::str::", "core::cell::",
		"alloc::raw_vec::", "std::sys::", "std::rt::abort"} {
		if strings.HasPrefix(f, p) {
			return true
		}
	}
	return false
}

// PanicMessage is the message of a panic by its payload, a &mut dyn PanicPayload as the standard library's
// panic_with_hook gets it: the payload's own functions are run. "" where it has none that is text.
func (r *Reader) PanicMessage(data, vtable, fsBase uint64) string {
	r.machine(fsBase)
	asText, get := r.method(vtable, "::as_str", 6), r.method(vtable, "::get", 5)
	text := ""
	read := func(m *emulate.Machine, p uint64) {
		if n := m.Reg[emulate.RDX]; p != 0 && n <= maxMessage {
			b := make([]byte, n)
			if m.Read(p, b) == nil && utf8.Valid(b) {
				text = string(b)
			}
		}
	}
	if asText != 0 && r.call(fsBase, asText, read, data) == nil && text != "" {
		return text
	}
	if get == 0 {
		return ""
	}
	formatted := strings.Contains(r.functionAt(get), "FormatStringPayload")
	r.call(fsBase, get, func(m *emulate.Machine, any uint64) {
		if anyVtable := m.Reg[emulate.RDX]; formatted { // it has formatted the message into a String, and returns that
			text = ownedText(m, any)
		} else if any, err := m.Call(r.anyText(), any, anyVtable); err == nil {
			read(m, any)
		}
	}, data)
	return strings.TrimPrefix(text, noText)
}

// noText is what the standard library says of a payload that is no text.
const noText = "Box<dyn Any>"

// PayloadText is the text of a panic's payload, a Box<dyn Any>; "" where it is none.
func (r *Reader) PayloadText(data, vtable, fsBase uint64) (text string) {
	r.machine(fsBase)
	if fn := r.anyText(); fn != 0 {
		r.call(fsBase, fn, func(m *emulate.Machine, p uint64) {
			b := make([]byte, min(m.Reg[emulate.RDX], maxMessage))
			if m.Read(p, b) == nil && utf8.Valid(b) {
				text = string(b)
			}
		}, data, vtable)
	}
	return strings.TrimPrefix(text, noText)
}

// anyText is the address of std::panicking::payload_as_str, which newer versions of Rust have; 0: there is none.
func (ms *Modules) anyText() uint64 {
	if ms.asText == nil {
		ms.asText = new(uint64)
		for _, mod := range ms.mods {
			if mod.Mod == nil || mod.Mod.Language != symbol.LangRust {
				continue
			}
			fns := mod.Mod.Functions()
			if i := slices.IndexFunc(fns, func(f symbol.Function) bool {
				return f.Name == "std::panicking::payload_as_str"
			}); i >= 0 {
				*ms.asText = uint64(fns[i].Low) + mod.Bias
			}
		}
	}
	return *ms.asText
}

// ownedText reads a String: capacity, pointer and length stand in any order.
func ownedText(m *emulate.Machine, at uint64) string {
	var w [3]uint64
	for i := range w {
		w[i] = wordOf(m, at+uint64(8*i))
	}
	for i, p := range w {
		n := min(w[(i+1)%3], w[(i+2)%3])
		if p < 1<<16 || n > maxMessage {
			continue
		}
		b := make([]byte, n)
		if m.Read(p, b) == nil && utf8.Valid(b) {
			return string(b)
		}
	}
	return ""
}

func wordOf(m *emulate.Machine, at uint64) uint64 {
	var b [8]byte
	if m.Read(at, b[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// method finds a method in a trait object's vtable by the end of its name; else it is the one in the slot, if that has
// code without a name.
func (r *Reader) method(vtable uint64, suffix string, slot int) uint64 {
	const first, last = 3, 8 // behind drop, size and align
	for i := first; i <= last; i++ {
		fn, ok := r.word(vtable + uint64(8*i))
		if !ok {
			return 0
		}
		if strings.HasSuffix(r.functionAt(fn), suffix) {
			return fn
		}
	}
	if fn, ok := r.word(vtable + uint64(8*slot)); ok {
		if _, in := r.module(fn); in && r.functionAt(fn) == "" {
			return fn
		}
	}
	return 0
}

// functionAt names the function that starts at an address.
func (r *Reader) functionAt(addr uint64) string {
	if m, ok := r.module(addr); ok {
		if f := m.Mod.FunctionAt(symbol.Addr(addr - m.Bias)); f != nil {
			return f.Name
		}
	}
	return ""
}

// PanicPlace reads a core::panic::Location: the file as text, line and column. The file's path is as it was compiled.
func (r *Reader) PanicPlace(addr uint64) (*Place, bool) {
	p, ok1 := r.word(addr)
	n, ok2 := r.word(addr + 8)
	line, ok3 := r.word32(addr + 16)
	column, ok4 := r.word32(addr + 20)
	if !ok1 || !ok2 || !ok3 || !ok4 || n == 0 || n > 4096 || line == 0 || line > 1<<24 || column > 1<<20 {
		return nil, false
	}
	b := make([]byte, n)
	if r.machine(r.fsBase).Read(p, b) != nil || !utf8.Valid(b) {
		return nil, false
	}
	file := strings.TrimRight(string(b), "\x00")
	if !strings.HasSuffix(file, ".rs") {
		return nil, false
	}
	return &Place{File: file, Line: int(line)}, true
}
