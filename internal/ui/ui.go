// Package ui owns what a user interface is to us: elements in a tree, the text by which a model reads them, names for
// them that stay, what came and went between two looks, and the hands that act on them and see whether it worked.
//
// It knows no toolkit and no window system. Those are behind four small interfaces, which package desktop fills in for
// the platform; service asks by a Panel, which stands for the interface of one session's processes.
//
// Invariants: what was not looked at is counted and said; the text of passwords is in no element; an action is done
// only where what was read afterwards says so.
package ui

import (
	"context"
	"image"
	"time"
)

// Rect is a place on the screen, in its points.
type Rect struct{ X, Y, W, H int }

// Center is the point to click.
func (r Rect) Center() (x, y int) { return r.X + r.W/2, r.Y + r.H/2 }

// Empty reports that nothing is in it.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Intersects reports whether they have a point in common.
func (r Rect) Intersects(o Rect) bool {
	return r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H
}

// States is what an element is just now.
type States uint32

// The states that matter to a reader.
const (
	Visible States = 1 << iota
	Focused
	Checked
	Selected
	Disabled
	Expanded
	Editable
	Pressed
	Modal
	Active
	Checkable
	Expandable
	Selectable
	MultiLine
	ReadOnly
	Indeterminate
	Focusable
	Busy
)

// Can is what may be done with an element by accessibility.
type Can uint16

// The powers of an element.
const (
	CanAct Can = 1 << iota
	CanValue
	CanText
	CanEdit
	CanSelect // one of its children
	CanPlace
	CanTable
)

// Value is the number that a slider or the like stands at.
type Value struct{ Now, Min, Max float64 }

// Node is one element.
type Node struct {
	ID     string // stable, e.g. btn#5c8a12
	Key    string // by which the platform finds it again
	Role   Role
	Name   string
	Text   string // its content, cut; passwords are Redacted
	Length int    // letters of the whole content
	States States
	Can    Can
	Rect   Rect
	Value  *Value
	PID    int

	Children []*Node
	Index    int // among its parent's children as the platform counts them
	Hidden   int // children that are not shown
	Beyond   int // rows that were not looked at for their number
	Mute     bool
	Parent   *Node
}

// Redacted stands for what a password field holds.
const Redacted = "<redacted>"

// Is reports whether all of the states hold.
func (n *Node) Is(s States) bool { return n.States&s == s }

// Has reports whether all of the powers are there.
func (n *Node) Has(c Can) bool { return n.Can&c == c }

// Walk calls f for the node and all below it, until f is false for a subtree.
func (n *Node) Walk(f func(*Node) bool) {
	if !f(n) {
		return
	}
	for _, c := range n.Children {
		c.Walk(f)
	}
}

// Window is the element's outermost one.
func (n *Node) Window() *Node {
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

// Look says what is to be looked at.
type Look struct {
	PIDs    []int
	All     bool          // also what is not shown
	Most    int           // elements; 0: MaxNodes
	Timeout time.Duration // 0: DefaultTimeout
}

// Bounds of a look.
const (
	MaxNodes       = 20_000
	DefaultTimeout = 2500 * time.Millisecond
)

// Tree is what a look has seen.
type Tree struct {
	Windows []*Node
	Nodes   int // elements in it
	Silent  int // that did not answer in time
	Cut     int // that were not looked at for their number
	// processes with windows that show nothing to accessibility
	Bare     []int
	Relative bool // places are told from windows' corners: where those are, nothing says
	Took     time.Duration
}

// Observer reads what is shown. Safe for concurrent use.
type Observer interface {
	// Look reads the windows of some processes.
	Look(ctx context.Context, l Look) (*Tree, error)
	// Again reads one element without what is below it; an error where it has gone.
	Again(ctx context.Context, n *Node) (*Node, error)
	// Children reads roles and names of what is directly below an element, also of what is not shown.
	Children(ctx context.Context, n *Node, most int) ([]*Node, error)
	// Changes has f called with the keys of elements that changed, and how; it must not wait.
	Changes(ctx context.Context, f func(key, how string)) error
}

// Hands act by accessibility. An error says that the toolkit refused, or has no such thing.
type Hands interface {
	Actions(ctx context.Context, n *Node) ([]string, error)
	Act(ctx context.Context, n *Node, action int) error
	SetValue(ctx context.Context, n *Node, v float64) error
	SetText(ctx context.Context, n *Node, text string) error
	Select(ctx context.Context, n *Node, child int) error
	Focus(ctx context.Context, n *Node) error
	Reveal(ctx context.Context, n *Node) error // scrolls until it shows
	ReadText(ctx context.Context, n *Node) (string, error)
	// Caret is where the next letter goes in a text, and what is selected of it, as one number each.
	Caret(ctx context.Context, n *Node) (at, selected int, err error)
}

// Input is a pointer and a keyboard.
type Input interface {
	Move(x, y int) error
	Button(button int, down bool) error
	Type(ctx context.Context, text string) error
	Chord(ctx context.Context, key string, modifiers []string) error
	Activate(ctx context.Context, n *Node) error // gives its window the keyboard, above others
	Restore() error                              // takes back what typing changed
}

// Buttons of a pointer, as Input knows them.
const (
	ButtonLeft  = 1
	ButtonRight = 3
	WheelUp     = 4
	WheelDown   = 5
	WheelLeft   = 6
	WheelRight  = 7
)

// Pictures takes pictures of what is shown.
type Pictures interface {
	// Picture is what an element's window shows in a rectangle of the screen, whatever covers it.
	Picture(ctx context.Context, n *Node, r Rect) (*image.RGBA, error)
	// Screen is what the screen shows there.
	Screen(ctx context.Context, r Rect) (*image.RGBA, error)
}

// Desktop is what a platform gives. Close ends its connections.
type Desktop interface {
	Observer
	Hands
	Input
	Pictures
	Gone() <-chan struct{} // closed when it has ended
	Close()
}
