package service

import (
	"context"
	"math"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Op is one operation as front ends see it.
type Op struct {
	Name    string // wire name, e.g. debug_launch
	Summary string // for a language model; paid for in every conversation
	Doc     string // for docs/tools.md

	ReadOnly    bool // changes nothing
	Destructive bool // may end a program or delete data
	Unlisted    bool // for programs that call it by its name: no model is shown it
	Pictures    bool // its answers may have a picture, which models are shown as one

	Params  reflect.Type      // struct; json tags are the wire names, jsonschema tags the descriptions
	Results []reflect.Type    // structs; the answer is one of them
	Fields  []Field           // what the struct cannot say about its fields
	Later   map[string]string // fields of the contract that this version refuses, with what to do instead

	adjust func(input *jsonschema.Schema) // last word on the schema; nil for none
	run    func(ctx context.Context, s *Service, params any) (any, error)
}

// Field limits one field of an operation's parameters. Every integer has one: a range is part of what it is.
type Field struct {
	Name     string // wire name; of nested fields a.b, of those of a list's elements, too
	Required bool
	Enum     []string
	Min, Max int64 // inclusive, of integers; 0 is in the range only where Min says so
	Default  any   // for docs and schema; the operation applies it
	Empty    bool  // of text: "" is a value

	Cut bool // what is over Max is cut to it, and the answer says so
}

// unbounded is Max where nothing but the type bounds a field: event ids, durations, counts.
const unbounded = math.MaxInt64

// maxPID is the kernel's own limit of process and thread ids.
const maxPID = 1 << 22

// New returns a pointer to fresh parameters.
func (op *Op) New() any { return reflect.New(op.Params).Interface() }

// Run checks params (what New returned, filled) and runs the operation.
func (op *Op) Run(ctx context.Context, s *Service, params any) (any, error) {
	if err := op.Check(params); err != nil {
		return nil, err
	}
	return op.run(ctx, s, params)
}

// Ops is the table of operations, in the order in which clients see them.
var Ops = []*Op{&launchOp, &traceOp, &queryOp, &breakpointOp, &continueOp, &sessionOp, &memoryOp, &testOp, &setupOp,
	&channelOp, &scenarioOp, &uiOp, &uiActionOp,
	&viewOp, &timelineOp}

// Find returns the operation of that name, or nil.
func Find(name string) *Op {
	for _, op := range Ops {
		if op.Name == name {
			return op
		}
	}
	return nil
}

// typed adapts an operation's function, which knows its parameters' type, to the table.
func typed[P, R any](f func(ctx context.Context, s *Service, p *P) (R, error)) func(context.Context, *Service,
	any) (any, error) {
	return func(ctx context.Context, s *Service, params any) (any, error) {
		r, err := f(ctx, s, params.(*P))
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}
