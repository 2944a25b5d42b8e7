package expr

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Syntax is an expression that was read and has no meaning yet.
type Syntax struct {
	Source   string
	Language symbol.Language
	root     *ast
}

type astKind uint8

const (
	astName   astKind = iota // text: a name, qualified or with $
	astInt                   // num, text: suffix, hex
	astFloat                 // float, text: suffix
	astChar                  // num, text: prefix
	astText                  // text
	astBool                  // num
	astNull                  //
	astMember                // a.text
	astIndex                 // a[b]
	astUnary                 // text a; text "not" is always logical
	astBinary                // a text b
	astCond                  // a ? b : c
	astCast                  // (typ)a
	astLen                   // len(a)
	astSize                  // sizeof(typ), or if that is none sizeof(a)
)

// ast is one node of the syntax tree. pos is the byte offset that errors about it name: of an
// operator or member its own, of all else its first byte.
type ast struct {
	kind    astKind
	pos     int
	start   int // first byte, of the leftmost operand
	end     int // behind the last byte
	text    string
	num     uint64
	float   float64
	hex     bool
	closed  bool // it stood in parentheses
	a, b, c *ast
	typ     *typeName
}

// typeName is a type as it was written.
type typeName struct {
	pos   int
	name  string    // "unsigned long", "ns::T<int>", without struct, class, union, enum, const
	ptrs  int       // how many * or & stand around it
	dims  []int64   // of an array of that
	outer int       // pointers to the array
	ref   bool      // Rust: it was written with one &
	of    *typeName // Rust: it is an array of dims[0] of that
	sure  bool      // it was written with a word that only types have, such as struct
}

// Names returns the variable names that the expression uses, specials such as $return included, each
// once, in the order of the source.
func (s *Syntax) Names() []string { return s.texts(astName) }

// Words is Names with those of members.
func (s *Syntax) Words() []string { return s.texts(astName, astMember) }

func (s *Syntax) texts(kinds ...astKind) []string {
	var out []string
	var walk func(n *ast)
	walk = func(n *ast) {
		if n == nil {
			return
		}
		if slices.Contains(kinds, n.kind) && !slices.Contains(out, n.text) {
			out = append(out, n.text)
		}
		walk(n.a)
		walk(n.b)
		walk(n.c)
	}
	walk(s.root)
	return out
}
