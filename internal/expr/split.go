package expr

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Leaf is a part of an expression that is read in the target: by a program that puts out one word, or, where
// Program is nil, register Reg, which programs cannot read.
type Leaf struct {
	Program *Program
	Reg     int // DWARF number
}

// Split is an expression that the agent cannot compute as a whole: it reads the leaves, and Finish computes
// the rest. Immutable; safe for concurrent use.
type Split struct {
	Leaves []Leaf
	rest   *Expr // with opLeaf where a leaf is read
	name   bool
}

// NeedsThreadName reports whether Finish reads the thread's name.
func (s *Split) NeedsThreadName() bool { return s.name }

// MaxLeaves bounds the values that one expression has read in the target.
const MaxLeaves = 16

// Split divides an expression for which Compile has no program: its largest parts that have one become
// leaves. The error is an *Error that says what can be done neither in the target nor afterwards: memory at an
// address that is only known afterwards, objects and text as a whole, and what takes too many steps.
func (e *Expr) Split() (*Split, error) {
	if e.val == nil {
		if e.addr == nil {
			return nil, unsupported(0, "Compare it, e.g. $threadName == \"main\".",
				"text that is in no variable cannot be read in the program")
		}
		return nil, unsupported(0, "Name the object without a condition, or one of its members.",
			"which %s it is cannot be computed in the program", e.typ)
	}
	s := &splitter{point: e.point, seen: map[*node]*node{}}
	val := s.node(e.val)
	switch {
	case s.err != nil:
		return nil, s.err
	case len(s.leaves) > MaxLeaves:
		return nil, unsupported(0, "Split it into several expressions.",
			"it reads %d values for what only the daemon can compute, more than %d", len(s.leaves), MaxLeaves)
	case s.steps > maxSteps:
		return nil, unsupported(0, "Split it into several expressions.", "it takes too many steps in the program")
	}
	return &Split{Leaves: s.leaves, rest: &Expr{Source: e.Source, typ: e.typ, val: val}, name: s.name}, nil
}

// Finish computes the word of the expression from those of its leaves, as Expr.Word does. valid tells which of
// them could be read: one that could not is an error only where it is needed. The error is an *EvalError.
func (s *Split) Finish(words []uint64, valid []bool, threadName string) (uint64, error) {
	return s.rest.Word(&Env{ThreadName: threadName, words: words, valid: valid})
}

type splitter struct {
	leaves []Leaf
	seen   map[*node]*node
	steps  int
	name   bool
	point  bool
	err    *Error
}

// node returns n with leaves for its parts that programs compute.
func (s *splitter) node(n *node) *node {
	if n == nil || s.err != nil || len(s.leaves) > 4*MaxLeaves {
		return n
	}
	if k := s.seen[n]; k != nil {
		return k
	}
	k := s.part(n)
	s.seen[n] = k
	return k
}

func (s *splitter) part(n *node) *node {
	switch {
	case n.op == opThreadName:
		s.name = true
		return n
	case n.isConst() || n.op == opFConst:
		return n
	}
	if n.op < opFConst {
		if p, steps, ok := program(n, false, s.point); ok {
			return s.leaf(Leaf{Program: p}, steps, n)
		}
	}
	switch n.op {
	case opReg:
		return s.leaf(Leaf{Reg: int(n.n)}, 0, n)
	case opConst, opCFA, opFS, opThread, opProcess, opLoad, opTextEq, opTextLen, opTextCmp:
		s.fail(n)
		return n
	}
	k := *n
	k.a, k.b, k.c = s.node(n.a), s.node(n.b), s.node(n.c)
	return &k
}

// leaf returns a node for a leaf; one that is read already is not read again.
func (s *splitter) leaf(l Leaf, steps int, n *node) *node {
	at := slices.IndexFunc(s.leaves, func(o Leaf) bool {
		if l.Program == nil || o.Program == nil {
			return l == o
		}
		return slices.Equal(l.Program.Ops, o.Program.Ops) && slices.Equal(l.Program.Relocs, o.Program.Relocs)
	})
	if at < 0 {
		at = len(s.leaves)
		s.leaves = append(s.leaves, l)
		s.steps += steps
	}
	return build(node{op: opLeaf, n: uint64(at), pos: n.pos})
}

// fail says why what n reads can be read neither now nor later.
func (s *splitter) fail(n *node) {
	s.err = &Error{Code: fault.Unsupported, Pos: n.pos}
	switch {
	case n.late():
		s.err.Msg = "what it reads depends on what only the daemon can compute: floats, or $threadName"
		s.err.Hint = "Use integers to say where, or read the values it is chosen from one by one."
	case n.op == opTextEq && len(n.text) > maxTextCompile:
		s.err.Msg = "the program compares text with at most 256 bytes"
		s.err.Hint = "Compare with a shorter text, or len(x)."
	default:
		s.err.Msg = "it takes more than can be done in the program at a call"
		s.err.Hint = "Split it into several expressions."
	}
}

// late reports whether n is computed from anything that programs do not have.
func (n *node) late() bool {
	if n == nil {
		return false
	}
	if n.op >= opFConst || n.op == opThreadName {
		return true
	}
	for _, t := range [...]*textRef{n.x, n.y} {
		if t != nil && (t.ptr.late() || t.count.late()) {
			return true
		}
	}
	return n.a.late() || n.b.late() || n.c.late()
}

// given returns the word of a leaf.
func (v *evaluator) given(n *node) (uint64, error) {
	if i := int(n.n); i < len(v.env.words) && i < len(v.env.valid) && v.env.valid[i] {
		return v.env.words[i], nil
	}
	return 0, &EvalError{Reason: Unreadable, Pos: n.pos, Msg: "it could not be read in the program"}
}
