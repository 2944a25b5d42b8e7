package symbol

// LocKind says what a Location holds.
type LocKind uint8

const (
	LocNone    LocKind = iota // no location attribute: optimized out
	LocExpr                   // one expression, valid in the whole function
	LocEntry                  // from a location list: the entry that covers the function's first byte
	LocMissing                // a location list with no entry for the first byte; Expr is the first one behind, or nil
	LocConst                  // DW_AT_const_value: Const
)

// Location says where a value is when a function's first instruction is about to run.
type Location struct {
	Kind  LocKind
	Expr  []byte // DWARF expression (LocExpr, LocEntry, LocMissing); do not change
	Lo    Addr   // LocEntry, LocMissing: the range that the expression is valid in
	Hi    Addr
	Const []byte // LocConst: little-endian bytes (8 for integer forms)
}

// Param is one formal parameter.
type Param struct {
	Name       string // "this" for the object; "" when unnamed
	Type       *Type
	Loc        Location
	Artificial bool // "this", in-charge and VTT parameters
	Result     bool // Go: a named result, listed with the parameters
}

// Captured is a variable of Go that a function has from the one that it was made in.
type Captured struct {
	Name string // "&n" for one that both change: then it is a pointer
	Type *Type
	Off  int64 // in what the function's value leads to
}

// Signature is a function's interface as DWARF describes its concrete instance.
type Signature struct {
	Params     []Param
	Captured   []Captured // Go: what a function within another one has of it
	Return     *Type      // nil for void; Go has Params with Result instead
	Variadic   bool
	Prototyped bool   // false only for C functions declared without a prototype
	Optimized  bool   // the unit looks optimised: locations are lists, or the producer says -O1 and up
	FrameBase  []byte // DW_AT_frame_base expression, if it is one
	Producer   string
	Language   Language
	Clone      string // compiler's clone suffix such as ".isra.0", ".constprop.1"; arguments or result may be gone
	Noreturn   bool
	Passing    Passing // of the subprogram: DW_AT_calling_convention when it is program-specific
	Unit       Version // DWARF version of the unit
	Bare       bool    // the unit has names and lines alone: parameters and result are not known, and may be there
}

// Version is a DWARF version number, 2 to 5.
type Version uint8
