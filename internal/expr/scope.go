package expr

import "github.com/strobe-debug/strobe/internal/symbol"

// PlaceKind says where a value is.
type PlaceKind uint8

const (
	PlaceMissing   PlaceKind = iota // optimized out here
	PlaceRegister                   // the value is in register Reg (DWARF number; 17 to 32 are xmm0 to xmm15)
	PlaceRegOffset                  // the value is in memory at register Reg + Off
	PlaceCFAOffset                  // in memory at CFA + Off
	PlaceFSOffset                   // in memory at FS base + Off: thread-locals
	PlaceAddress                    // in memory at Addr, plus the load bias of Module where that is not nil
	PlaceConst                      // Addr is the value itself, sign- or zero-extended as its type is
	PlacePieces                     // in parts: Pieces, in order from the first byte
	PlaceComputed                   // in memory at the address that Steps compute
	PlaceValue                      // Steps compute the value itself
	// the value is the address of the object that a walk program is over, plus Off; fragments only
	PlaceSelf
	PlaceWalk // the value is in register Reg of the walk program; fragments only
)

// Step is one step of a computation over a stack of 64-bit words.
type Step struct {
	Kind   StepKind
	Reg    int            // StepReg
	N      int64          // StepReg, StepFS: added; StepConst: the word; StepLoad: bytes
	ALU    uint32         // StepALU: ring.ALUAdd and so on
	Module *symbol.Module // StepConst: whose load bias is added, or nil
}

// StepKind says what a Step does.
type StepKind uint8

// The steps.
const (
	StepConst StepKind = iota // push N
	StepReg                   // push general register Reg + N
	StepFS                    // push the FS base + N
	StepLoad                  // replace an address by the N bytes there
	StepALU                   // replace two words by what ALU makes of them
)

// Place is where a named value is, and its type.
type Place struct {
	Kind   PlaceKind
	Reg    int
	Off    int64
	Addr   uint64
	Module *symbol.Module
	Steps  []Step
	Deref  bool // what is at the place is the address of the value
	Pieces []Piece
	Type   *symbol.Type // nil: an unsigned integer of 64 bits, for registers
	Made   *Type        // instead of Type: a type that the language made
}

// Piece is one part of a value that is not in one place, e.g. a &str in two registers.
type Piece struct {
	Place Place // any kind but Pieces; Type is not read
	Size  int64 // bytes
}

// Scope gives names a meaning at one point of a program: at a function's entry or exit, or anywhere for
// globals alone. It is used during Check only. A PlaceAddress has its Module, where there is one, even
// if that needs no load bias: it tells globals from the members of this. A PlaceRegister is for
// one end of a call: at an exit only the result's registers are right.
type Scope interface {
	// Lookup finds a parameter, local or global by the name as written: "x", "ns::x", "file.c::x",
	// "$return", "$rdi". "this" also gives bare members a meaning. Inner names come first. A name
	// that exists and was optimized out is a Place of kind PlaceMissing.
	Lookup(name string) (Place, bool)
	// Arg finds the i-th parameter, counted from 0 without "this" and "self" unless they are written.
	Arg(i int) (Place, bool)
	// TypeNamed finds a type by its name as written, qualified or not, without struct or const.
	TypeNamed(name string) (*symbol.Type, bool)
	// Near returns the names most like one that was not found, at most five, the best first.
	Near(name string) []string
}
