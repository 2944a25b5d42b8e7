package collector

import "context"

// The debugger's model: threads, their frames, the scopes of a frame, the variables of a scope, and their parts, each
// read when it is asked for. Nothing here is of one runtime.

// Ref names a frame or what has parts, until the thread that it is of goes on. 0 is none: there are no parts.
type Ref int64

// Thread is one thread of a target.
type Thread struct {
	PID    int    `json:"pid"`
	TID    int    `json:"threadId"`
	Name   string `json:"name,omitempty"`
	Paused bool   `json:"paused,omitempty"`
	Pause  int64  `json:"pause,omitempty"` // its Number, where it is paused
}

// Frame is one function on the stack of a paused thread, 0 the innermost.
type Frame struct {
	Ref      Ref    `json:"ref"`
	Index    int    `json:"frame"`
	Function string `json:"function,omitempty"`
	Location        // File, Line and Address
	Module   string `json:"module,omitempty"` // the file or package that its code is in
	User     bool   `json:"user,omitempty"`   // code of the user's, not of a library
	Inlined  bool   `json:"inlined,omitempty"`
	Note     string `json:"note,omitempty"` // e.g. that it is a guess
}

// ScopeKind says which variables a scope has.
type ScopeKind string

// The scopes. A runtime may have others.
const (
	ScopeArguments ScopeKind = "arguments"
	ScopeLocals    ScopeKind = "locals"
	ScopeRegisters ScopeKind = "registers"
	ScopeGlobals   ScopeKind = "globals"
)

// Scope is a group of a frame's variables.
type Scope struct {
	Kind  ScopeKind `json:"kind"`
	Ref   Ref       `json:"ref"`
	Count int       `json:"count"`          // variables
	Slow  bool      `json:"slow,omitempty"` // reading it takes a while: not unless somebody asks for it
}

// Variable is a variable, or a part of one.
type Variable struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value string `json:"value"`             // short, in one line
	Ref   Ref    `json:"ref,omitempty"`     // of its parts
	Count int    `json:"count,omitempty"`   // of them, -1: not known
	List  bool   `json:"list,omitempty"`    // they are elements that are numbered from 0
	Eval  string `json:"eval,omitempty"`    // an expression that means it in its frame; "": there is none
	Addr  string `json:"address,omitempty"` // "0x…" where it is in memory
	Fixed bool   `json:"fixed,omitempty"`   // it cannot be set
}

// Viewer is a Debugger whose paused threads can be looked into, part by part. A Ref of a thread that has gone on is
// NOT_PAUSED.
type Viewer interface {
	// LiveThreads lists the threads, the first of each process first.
	LiveThreads(ctx context.Context) ([]Thread, error)
	// Frames returns at most n frames of a paused thread, 0 all, from one on, and how many there are.
	Frames(ctx context.Context, thread, from, n int) (frames []Frame, total int, err error)
	// Scopes lists those of a frame, the nearest first.
	Scopes(ctx context.Context, frame Ref) ([]Scope, error)
	// Variables returns at most n variables of a scope, or parts of a variable, 0 as many as are shown at once, from
	// one on.
	Variables(ctx context.Context, of Ref, from, n int) ([]Variable, error)
}

// Evaluator is a Viewer that evaluates expressions and changes variables.
type Evaluator interface {
	// Evaluate evaluates an expression of the program's language in a frame.
	Evaluate(ctx context.Context, frame Ref, expression string) (Variable, error)
	// SetVariable gives a variable of a scope, or a part of a variable, a value, written as in the language, and
	// returns what is there then.
	SetVariable(ctx context.Context, of Ref, name, value string) (Variable, error)
	// SetExpression does it for what an expression means.
	SetExpression(ctx context.Context, frame Ref, expression, value string) (Variable, error)
}

// Refs gives out Refs for what a runtime shows of paused threads: owner is a pause, and one thing of it has one Ref.
// Not safe for concurrent use.
type Refs[O, T comparable] struct {
	last  Ref
	known map[Ref]owned[O, T]
	refs  map[owned[O, T]]Ref
	of    map[O][]Ref
}

type owned[O, T comparable] struct {
	owner O
	thing T
}

// Put returns the Ref of a thing.
func (r *Refs[O, T]) Put(owner O, thing T) Ref {
	k := owned[O, T]{owner, thing}
	if ref, ok := r.refs[k]; ok {
		return ref
	}
	if r.refs == nil {
		r.known, r.refs, r.of = map[Ref]owned[O, T]{}, map[owned[O, T]]Ref{}, map[O][]Ref{}
	}
	r.last++
	r.known[r.last], r.refs[k] = k, r.last
	r.of[owner] = append(r.of[owner], r.last)
	return r.last
}

// Get returns what a Ref is of. False: it never was, or its thread has gone on.
func (r *Refs[O, T]) Get(ref Ref) (owner O, thing T, ok bool) {
	k, ok := r.known[ref]
	return k.owner, k.thing, ok
}

// Drop forgets all of an owner.
func (r *Refs[O, T]) Drop(owner O) {
	for _, ref := range r.of[owner] {
		delete(r.refs, r.known[ref])
		delete(r.known, ref)
	}
	delete(r.of, owner)
}
