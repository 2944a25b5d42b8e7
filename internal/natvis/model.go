// Package natvis owns descriptions of how types of libraries are shown, in the XML format of Visual Studio's .natvis
// files: the model, the reader of files, the matching of type names, the files that are in force, and the descriptions
// that are built in.
//
// It stands beside the data path: package capture asks it for the descriptions of a type by its name, and compiles
// their expressions with package expr. Nothing here knows a type or a process.
//
// Invariants: a File and a Set never change once made, and are safe for concurrent use. No file, however large or
// hostile, costs more than the limits in this package. What a file has that is not understood is a Problem with its
// line, never an error of the whole file unless it is no XML.
package natvis

import "strconv"

// File is one file of descriptions.
type File struct {
	Path       string
	Types      []*Type
	Intrinsics []Intrinsic // of all its types
	Problems   []Problem
}

// Problem is something of a file that is not understood.
type Problem struct {
	File string
	Line int
	What string
}

func (p Problem) String() string { return p.File + ":" + strconv.Itoa(p.Line) + ": " + p.What }

// Type is one description.
type Type struct {
	File  *File
	Line  int
	Names []Pattern // the first is Name, the others AlternativeTypes

	Priority    int // the higher ones are tried first
	Inheritable bool
	Views       Views

	Displays   []Display
	Strings    []Display // StringViews: each one expression
	Smart      []Display // SmartPointers: each one expression
	Expand     []Child
	HasExpand  bool
	Intrinsics []Intrinsic
}

// Views says in which views an element is shown.
type Views struct{ Include, Exclude []string }

// In reports whether an element is shown in a view; "" is the usual one.
func (v Views) In(view string) bool {
	if len(v.Include) > 0 && !contains(v.Include, view) {
		return false
	}
	return !contains(v.Exclude, view)
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// Display is a text with expressions in it, or one expression.
type Display struct {
	Line     int
	Cond     string // "": always
	Optional bool
	Views    Views
	Parts    []Part
}

// Part is text, or if Expr is not nil the value of an expression.
type Part struct {
	Text string
	Expr *Expr
}

// Expr is an expression and how its value is shown.
type Expr struct {
	Text   string
	Format Format
}

// Format is what stands behind an expression's last comma.
type Format struct {
	Size string // in [ ]: how many elements
	Spec string // d, x, s, su, …: "" none
	View string
	Raw  bool // nvo, !: without a description
}

// ChildKind says what a child of Expand is.
type ChildKind uint8

// The kinds.
const (
	Item ChildKind = iota
	Synthetic
	ExpandedItem
	ArrayItems
	IndexListItems
	LinkedListItems
	TreeItems
	CustomListItems
)

// Child is one element of Expand. Which fields count depends on its kind.
type Child struct {
	Kind     ChildKind
	Line     int
	Name     []Part // Item, Synthetic
	Cond     string
	Optional bool
	Views    Views

	Value   *Expr     // Item, ExpandedItem
	Shown   []Display // Synthetic: DisplayStrings
	Strings []Display // Synthetic: StringViews
	Expand  []Child   // Synthetic

	Sizes    []Conditional // lists
	Pointers []Conditional // ArrayItems: ValuePointer; IndexListItems: ValueNode
	Rank     string
	Backward bool // ArrayItems: the first dimension varies fastest

	Head, Next, Left, Right string // LinkedListItems, TreeItems
	Node                    *Expr  // their ValueNode
	NodeCond                string
	NodeName                []Part

	Vars []Variable // CustomListItems
	Code []Statement
}

// Conditional is an expression that counts if a condition holds.
type Conditional struct {
	Cond string
	Expr *Expr
}

// Variable is one of a CustomListItems.
type Variable struct {
	Line          int
	Name, Initial string
}

// StatementKind says what a statement of CustomListItems does.
type StatementKind uint8

// The statements.
const (
	Loop  StatementKind = iota // Body, as long as Cond holds
	If                         // Body, else Else
	Break                      // leaves the loop, if Cond holds
	Exec                       // Var = Expr, if Cond holds
	Emit                       // Item: Name and Value, if Cond holds
)

// Statement is one statement.
type Statement struct {
	Kind StatementKind
	Line int
	Cond string
	Body []Statement
	Else []Statement
	Var  string
	Expr string
	Name []Part
	Item *Expr
}

// Intrinsic is a function that expressions may call: it stands for its expression.
type Intrinsic struct {
	Line   int
	Name   string
	Params []string
	Expr   string
}
