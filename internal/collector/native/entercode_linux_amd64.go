package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
)

// What Inject maps: first the code of the new thread and of the call that starts it; then, in pages that can be
// written, results and texts, and the stack on which that call is made, so that it needs none of the thread's own.
//
//	code | results, texts | stack
const (
	entryCode  = 2 * pageBytes
	entryStack = 64 << 10
	entryWord  = 8
)

// entry is a script as bytes for a place.
type entry struct {
	code, data []byte
	call       uint64 // where the call begins that starts the thread
	end        uint64 // behind the instruction at its end, which stops
	stack      uint64 // its stack pointer
	size       uint64 // of all
}

var errScript = errors.New("the script has no place in a page")

// newEntry makes the code of a script that will stand at a place. errno is the function that tells where a thread has
// its errno, 0 where there is none: the call leaves that as it was.
func newEntry(s *collector.Script, find func(string) (uint64, bool), errno, at uint64) (*entry, error) {
	e := &entry{data: make([]byte, entryWord*len(s.Calls))}
	results := at + entryCode
	var a assembler
	text := func(t string) uint64 {
		where := results + uint64(len(e.data))
		e.data = append(append(e.data, t...), 0)
		return where
	}
	begins := make([]int, len(s.Calls)+1)
	jumps := map[int]int{} // where a distance stands, and the call that it leads to
	a.bytes(0x53)          // push rbx: the stack is aligned then
	a.load(regBX, results)
	for i, c := range s.Calls {
		begins[i] = a.Len()
		fn, ok := find(c.Function)
		if !ok {
			return nil, fmt.Errorf("there is no %s in it", c.Function)
		}
		if len(c.Args) > len(argRegs) {
			return nil, errScript
		}
		for n, arg := range c.Args {
			switch {
			case arg.Result > 0:
				a.loadResult(n, arg.Result-1)
			case arg.Text != "":
				a.load(argRegs[n], text(arg.Text))
			default:
				a.load(argRegs[n], uint64(arg.Number))
			}
		}
		a.call(fn)
		a.bytes(0x48, 0x89, 0x83) // mov [rbx+i*8], rax
		a.word32(uint32(i * entryWord))
		if c.Else != 0 {
			if !c.Int {
				a.bytes(0x48) // all of it
			}
			a.bytes(0x85, 0xc0) // test eax, eax
			a.bytes(0x0f, 0x84) // jz
			jumps[a.Len()] = min(c.Else, len(s.Calls))
			a.word32(0)
		}
	}
	begins[len(s.Calls)] = a.Len()
	a.bytes(0x5b, 0xc3) // pop rbx; ret
	for where, to := range jumps {
		binary.LittleEndian.PutUint32(a.Bytes()[where:], uint32(begins[to]-where-4))
	}
	for a.Len()%16 != 0 {
		a.bytes(0xcc)
	}
	start, ok := find(s.Start)
	if !ok {
		return nil, fmt.Errorf("there is no %s in it", s.Start)
	}
	e.call = at + uint64(a.Len())
	if errno != 0 {
		a.call(errno)
		a.bytes(0x48, 0x89, 0xc3, 0x44, 0x8b, 0x20) // mov rbx, rax; mov r12d, [rax]
	}
	a.load(argRegs[0], at)
	a.load(argRegs[1], 0)
	a.call(start)
	if errno != 0 {
		a.bytes(0x44, 0x89, 0x23) // mov [rbx], r12d
	}
	a.bytes(int3)
	e.code, e.end = a.Bytes(), at+uint64(a.Len())
	if len(e.code) > entryCode {
		return nil, errScript
	}
	data := (uint64(len(e.data)) + pageBytes - 1) &^ (pageBytes - 1)
	e.size = entryCode + data + entryStack
	e.stack = at + e.size - 64 // aligned, as before a call
	return e, nil
}

const regBX = 3

// argRegs are the registers of integer arguments, by their numbers in instructions.
var argRegs = [...]byte{7, 6, 2, 1, 8, 9} // rdi, rsi, rdx, rcx, r8, r9

// assembler writes the few instructions that this takes.
type assembler struct{ bytes.Buffer }

func (a *assembler) bytes(b ...byte) { a.Write(b) }

func (a *assembler) word32(v uint32) { a.Write(binary.LittleEndian.AppendUint32(nil, v)) }

// load is mov reg, v.
func (a *assembler) load(reg byte, v uint64) {
	a.bytes(0x48|reg>>3, 0xb8|reg&7)
	a.Write(binary.LittleEndian.AppendUint64(nil, v))
}

// loadResult is mov argument, [rbx+i*8].
func (a *assembler) loadResult(argument, i int) {
	reg := argRegs[argument]
	a.bytes(0x48|reg>>3<<2, 0x8b, 0x83|reg&7<<3)
	a.word32(uint32(i * entryWord))
}

// call is mov rax, fn; call rax.
func (a *assembler) call(fn uint64) {
	a.load(0, fn)
	a.bytes(0xff, 0xd0)
}
