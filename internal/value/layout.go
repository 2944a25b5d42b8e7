package value

import "github.com/strobe-debug/strobe/internal/secret"

// Class says how the bytes of a type read. The numbers are stored; append only.
type Class uint8

const (
	ClassVoid      Class = iota
	ClassInt             // two's complement, 1 to 16 bytes
	ClassUint            // 1 to 16 bytes
	ClassBool            // any non-zero byte is true
	ClassChar            // a character of Size 1, 2 or 4: Latin text unit, UTF-16 unit, UTF-32
	ClassFloat           // IEEE 754 of Size 2, 4, 8
	ClassX87             // 80-bit extended in the low 10 of Size bytes
	ClassQuad            // IEEE 754 binary128
	ClassComplex         // two Elem
	ClassEnum            // Enums over an integer of Size; Signed
	ClassPointer         // shown as "0x…", not followed
	ClassStructPtr       // a pointer or reference to an object: its contents where it was captured
	ClassCString         // a pointer to text that ends at a NUL
	ClassFuncPtr         // an address of code, shown with the function's name where known
	ClassRef             // a reference to something that is no object: shown as the pointee
	ClassStruct          // Fields
	ClassUnion           // Fields, all at once
	ClassTuple           // Fields without names: an array; with one field that field itself
	ClassVariant         // a Rust enum: Fields of all variants are in Variants, chosen by Discr
	ClassArray           // Count of Elem, contiguous
	ClassOpaque          // nothing is known but the name and size
	ClassMemberPtr       // a C++ pointer to data member: its offset, -1 for null
	ClassMethodPtr       // a C++ pointer to member function: {address or vtable offset, adjustment}
	ClassText            // Size bytes of characters: text up to the first NUL

	// Library types, of which a walk made a node of words at the object's address (Walk). Their bytes, elements and
	// pointees are in other nodes (ElemWalk), of Elem.
	ClassString // {length in characters of Elem, address}
	ClassSpan   // {count, address}: Elem after Elem
	ClassSeq    // {count, address of each Elem shown}
	ClassMap    // as ClassSeq; each Elem has a key and a value as its first two fields
	// {address or 0, a word for each of Fields}: the pointee; with Fields an object of it ("value") and them
	ClassBox
	ClassBits     // Count bits in Size bytes, as text
	ClassBitSpan  // {count, address}: bits, shown as an array of bools
	ClassCallable // {address of code, address of code that is meant if the first one says so}: a std::function
	ClassTypeOf   // {address of code}: a std::any, by the type in the name of its manager
	ClassDuration // Fields[0] ticks of Num/Den seconds; with Fields[1] as well: that many seconds and nanoseconds
	ClassTime     // as ClassDuration, since 1970-01-01 UTC
	// {count, address of a key, address of its value, …}: a map; Elem and Fields[0] are the types, ElemWalk and Num the
	// IDs
	ClassPairs
	// {number of a variant from 1, address}: an object of the variant, whose Type is a pointer to it; without Name the
	// object alone; with Values the word is a value of Type; Plain: the address of its type's description is behind them
	ClassDynamic
	// {number of a variant from 1}, at the part's address: an Elem that is Off bytes into an object of the variant, whose
	// walk ID is in Values
	ClassVirtual
	ClassVirtualBase // {address}: an Elem that is a part of the object, as near as it

	// What descriptions of types (package natvis) come to. A description's words are a node at the object's address, as
	// those of library types; the types below it lie in that node, and say which words are theirs by their offset.
	ClassVisual // Elem over the words (Walk), or over the object itself where Walk is 0
	ClassMine   // a part of the described object, Fields[0]
	ClassPlace  // {address}: an Elem there, in a node of its own (ElemWalk)
	ClassItems  // Fields as a struct's; what a choice leaves out is not shown
	// records of Elem in a node of words (Walk). How many there are is the word at Fields[0], or of a node of its own
	// (ElemWalk)
	ClassList
	ClassFormat        // text: for each of Fields its name, then if it has a type that
	ClassNumber        // Elem, a number, in base Count
	ClassGrid          // {Count dimensions, address}: nested arrays; Signed: the first dimension varies fastest
	ClassWide          // {address}: text of units of Elem, up to a NUL
	ClassAbsent        // nothing: left out of ClassItems
	ClassSocketAddress // {address, family}: what the address leads to, by its family
	ClassCalendar      // the numbers of Fields, by their names: a date, a time, an offset from UTC (calendar.go)
	ClassUUID          // 16 bytes
	ClassErrno         // the number of a system's error
	ClassBig           // {count, address}: an integer, lowest word first; Discr: its byte that is 1 if it is negative
	ClassRedacted      // a secret: not there, whatever the bytes
	numClasses
)

// Flags of ClassString and ClassSpan in Count, and of ClassList.
const (
	InPlace = 1 // the two words are the value's own bytes
	AsMap   = 2 // of a list whose records are a key and a value
)

// ElemTooDeep as Type.Elem of a pointer says that what it leads to lies beyond the depth.
const ElemTooDeep = -2

// Walk IDs that every session has: without a program.
const (
	WalkText  = 1 // text up to a NUL
	WalkBytes = 2 // bytes
	WalkFirst = 3 // the first ID with a program
)

// Type is one node of a layout's type graph. Elem and the types of fields are indexes in
// Layout.Types.
type Type struct {
	Class    Class
	Signed   bool // enums: the underlying type is signed
	Name     string
	Size     uint32 // bytes
	Elem     int32  // arrays, complex, followed pointers; -1 for none
	Count    uint32 // arrays
	Fields   []TypeField
	Enums    []Enumerator
	Discr    TypeField // variants: the discriminant; Type -1 when there is one variant only
	Variants []Variant

	Walk     uint16 // pointers: ID of the pointee's node; library types: of their own; 0: not followed
	ElemWalk uint16 // library types: ID of the nodes of Elem
	Deeper   bool   // library types: each element counts as behind one pointer more, as it may hold the type again
	// variants: show the payload without the variant's name; one without payload is null. Pointers: may be null, as a
	// reference may not
	Plain    bool
	Num, Den int64 // durations
}

// TypeField is one member of a struct, union, tuple or variant.
type TypeField struct {
	Name    string
	Type    int32
	Off     uint32 // bytes from the start of the object
	BitOff  uint32 // bit-fields: bits from Off, little endian
	BitSize uint32 // 0: not a bit-field
}

// Enumerator is one name of an enum's value, in 64 bits of two's complement.
type Enumerator struct {
	Name  string
	Value int64
}

// Variant is one case of a Rust enum. A variant without Values is the default: the niche's owner.
type Variant struct {
	Name   string
	Values []uint64 // discriminants, as unsigned bytes of the discriminant's size
	Type   int32    // the payload's type (ClassStruct or ClassTuple; any if Plain, -1 for none)
	Off    uint32   // where it begins
}

// Piece is one run of a value's bytes: Size bytes at Off of a chunk, or constant bytes.
// The pieces of a field follow each other without gaps.
type Piece struct {
	Chunk int32 // index of the chunk; PieceConst or PieceMissing
	Off   uint32
	Size  uint32
	Const []byte // PieceConst: Size bytes
}

// Chunk numbers that are none.
const (
	PieceConst   = -1
	PieceMissing = -2 // this part was optimized out
)

// Field is a parameter or the result.
type Field struct {
	Name    string
	Type    int32
	Missing bool    // optimized out, or where it is cannot be known
	Pieces  []Piece // make Types[Type].Size bytes; Indirect: the 8 bytes of the address, to which Off is added
	Walk    uint16  // Indirect: ID of the object's node
	Off     int32
	Gather  int32 // 0, or the object's node is at GatherAddr(Gather), as it has no address

	Indirect bool
}

// Places that values are given which have no address, 4 GB each: where no program has memory. A wild pointer may be any
// other number, -1 as well.
const (
	gathered    = 1 << 31 // upper half of the address; then one place for each object that a plan takes from registers
	maxGathered = 1 << 12 // far more than a plan has operations

	OverlayAt = 0xffff_0000_0000_0000 // bytes that a reader was given
	LaidAt    = 0xfffe_0000_0000_0000 // locals that expressions read
)

// GatherAddr is the address of an object that is only in registers: one that no program has. n is above 0.
func GatherAddr(n int32) uint64 { return (gathered | uint64(uint32(n))) << 32 }

// MadeUp reports an address in one of these places.
func MadeUp(addr uint64) bool {
	n := addr >> 32
	return n > gathered && n <= gathered+maxGathered || n == OverlayAt>>32 || n == LaidAt>>32
}

// Part describes the chunk that one capture operation makes, padded to 8 bytes in the payload.
type Part struct {
	Eval bool // {u32 n, u32 status} before the Size bytes: what an expression came to, n bytes of it
	Size uint32
}

// Shape describes a payload: GPRs 8-byte words, which are chunk 0, one chunk per part, and, if Nodes is set, what
// pointers led to: nodes, found by address and walk ID, up to the end or to the names of functions.
type Shape struct {
	GPRs  int
	Parts []Part
	Nodes bool
}

// Layout says how the payloads of one function read. Immutable once made; safe for concurrent use.
type Layout struct {
	OnEnter      Shape
	OnExit       Shape
	Args         []Field
	Ret          *Field  // nil: the function returns nothing
	Out          []Field // pointees of pointer arguments, read again at the exit
	EnterWatches []Field // by label
	ExitWatches  []Field
	Types        []Type
	Depth        int // how many pointers were followed, one behind the other

	Secrets *secret.Names // keys of maps whose values are not shown; nil: all are

	addresses bool
	tree      bool // payloads are trees: see NewTree
}

// WithAddresses returns a layout that shows of each object behind a pointer where it is, as its first member
// "$address".
func (l *Layout) WithAddresses() *Layout {
	out := *l
	out.addresses = true
	return &out
}

// ScalarRet reports whether the whole result is an integer, pointer, bool, enum or character of
// size bytes in the first word of an exit's payload, so that the collector can store it sign- or
// zero-extended in event.Ret and queries can compare that.
func (l *Layout) ScalarRet() (size int, signed, ok bool) {
	if l.Ret == nil || l.Ret.Missing || len(l.Ret.Pieces) != 1 {
		return 0, false, false
	}
	p := l.Ret.Pieces[0]
	if p.Chunk != 0 || p.Off != 0 || p.Size == 0 || p.Size > 8 || l.OnExit.GPRs == 0 {
		return 0, false, false
	}
	t := l.typ(l.Ret.Type)
	switch t.Class {
	case ClassInt:
		return int(p.Size), true, true
	case ClassUint, ClassBool, ClassPointer, ClassFuncPtr, ClassStructPtr, ClassCString, ClassRef:
		return int(p.Size), false, true
	case ClassChar:
		return int(p.Size), false, true
	case ClassEnum:
		return int(p.Size), t.Signed, true
	}
	return 0, false, false
}

// Normalize extends the low size bytes of a raw result word, as ScalarRet describes them.
func Normalize(ret int64, size int, signed bool) int64 {
	if size <= 0 || size >= 8 {
		return ret
	}
	shift := 64 - 8*uint(size)
	if signed {
		return ret << shift >> shift
	}
	return int64(uint64(ret) << shift >> shift)
}

var voidType = Type{Class: ClassOpaque, Name: "?", Elem: -1, Discr: TypeField{Type: -1}}

// typ returns the type of that index; an index that is none reads as an unknown type.
func (l *Layout) typ(i int32) *Type {
	if i < 0 || int(i) >= len(l.Types) {
		return &voidType
	}
	return &l.Types[i]
}

// differ reports a union that is not several views of one thing, as {x, y, z} and float[3] are: its members begin with
// scalars of different kinds or sizes.
func (l *Layout) differ(union *Type) bool {
	first := func(f TypeField) (Class, uint32, uint32) {
		t := l.typ(f.Type)
		for range maxNesting {
			switch {
			case (t.Class == ClassStruct || t.Class == ClassUnion) && len(t.Fields) > 0:
				f, t = t.Fields[0], l.typ(t.Fields[0].Type)
			case t.Class == ClassArray:
				t = l.typ(t.Elem)
			default:
				return t.Class, t.Size, f.BitSize
			}
		}
		return t.Class, t.Size, f.BitSize
	}
	for _, f := range union.Fields[min(1, len(union.Fields)):] {
		class, size, bits := first(f)
		if c, s, b := first(union.Fields[0]); c != class || s != size || b != bits {
			return true
		}
	}
	return false
}

// ArgIndex returns the position of the parameter that a path such as "p.x" begins with, and the
// rest of the path, for Value.Path. The longest parameter name wins.
func (l *Layout) ArgIndex(path string) (i int, rest string, ok bool) {
	best := -1
	for j := range l.Args {
		n := l.Args[j].Name
		if len(n) <= best || len(path) < len(n) || path[:len(n)] != n {
			continue
		}
		if r := path[len(n):]; r == "" || r[0] == '.' || r[0] == '[' {
			best, i, rest = len(n), j, r
		}
	}
	return i, rest, best >= 0
}
