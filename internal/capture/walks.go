package capture

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

const walkText = value.WalkText

// Walks is a session's table of walk programs: what the agent does with the bytes of an object of a type, to capture
// what they lead to. Programs are made when a function needs them and never change. Safe for concurrent use.
type Walks struct {
	mu    sync.Mutex
	ids   map[walkKey]uint16
	next  int
	built map[uint16]bool
	ends  map[uint16]bool // of built
	wipes map[uint16]bool // of built
	list  []WalkProgram

	secrets   *secret.Names // whose values are not read
	own       *natvis.Set   // the user's descriptions of types
	changes   int           // of own
	viewForms sync.Map      // formKey to its *formatter
	made      sync.Map      // types that expressions made, by what they are: one for each

	goCases  sync.Map     // goCasesKey to []goCase
	dynTypes sync.Map     // dynKey to *dynTypes
	forms    sync.Map     // *symbol.Type to its *formatter: the name of a type is looked up once in a session
	virtuals sync.Map     // *symbol.Type to its *virtualClass
	needed   sync.Map     // *symbol.Type to its need
	derived  atomic.Int64 // forms made of derived classes

	contained containment

	// Types whose walks are there, to how many pointers behind an object of theirs: of objects that pointers lead to, and
	// of those that lie in others or are passed, whose own walk is their owner's.
	settled, filled map[*symbol.Type]int
}

// Own returns the user's descriptions of types.
func (w *Walks) Own() *natvis.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.own
}

// Generation changes when the user's descriptions do: what was compiled before shows values by those that held then.
func (w *Walks) Generation() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// Describe takes other descriptions from now on. Programs that are there stay. It must not be called while functions
// are compiled.
func (w *Walks) Describe(own *natvis.Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own.Is(own) {
		return
	}
	w.own = own
	w.changes++
	clear(w.ids)
	clear(w.settled)
	clear(w.filled)
	w.forms.Clear()
	w.viewForms.Clear()
	w.virtuals.Clear()
	w.needed.Clear()
}

// WalkProgram is one program. ID is what nodes that it walks are marked with.
type WalkProgram struct {
	ID    uint16
	Ops   []ring.Op
	Ends  bool // all that it makes lies one pointer deeper than what it walks
	Wipes bool // it takes secrets out of what it walks
}

// walkKey names what a walk is of: a type, as an object, an array of them, or what a library type's walk writes.
type walkKey struct {
	t    *symbol.Type
	what walkWhat
	part string // of a description: which view, which list
}

type walkWhat uint8

const (
	walkObject  walkWhat = iota // one object
	walkArray                   // objects that lie together
	walkWords                   // the words of a library type
	walkSeq                     // words: a count and addresses of objects
	walkSeqElem                 // one of these addresses
	walkVirtual                 // an object that is part of one of a derived class
	walkBase                    // where a virtual base is
)

// NewWalks returns an empty table. own are the user's descriptions of types, secrets the names whose values are not
// read; both may be nil.
func NewWalks(own *natvis.Set, secrets *secret.Names) *Walks {
	return &Walks{own: own, secrets: secrets, ids: map[walkKey]uint16{}, built: map[uint16]bool{}, ends: map[uint16]bool{},
		wipes: map[uint16]bool{}, next: value.WalkFirst, settled: map[*symbol.Type]int{}, filled: map[*symbol.Type]int{}}
}

// Programs returns the programs from the n-th on, in the order in which they were made. Every program that an earlier
// one names is there, or was not needed at the depths asked for so far.
func (w *Walks) Programs(n int) []WalkProgram {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list[min(n, len(w.list)):len(w.list):len(w.list)]
}

// id returns the ID of a walk, 0 if there are no more.
func (w *Walks) id(t *symbol.Type, what walkWhat) uint16 { return w.partID(t, what, "") }

// partID is id of a part of a description.
func (w *Walks) partID(t *symbol.Type, what walkWhat, part string) uint16 {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := walkKey{t, what, part}
	if id, ok := w.ids[k]; ok {
		return id
	}
	if w.next >= ring.MaxWalks {
		return 0
	}
	id := uint16(w.next)
	w.next++
	w.ids[k] = id
	return id
}

// publish adds programs, each once and all at the same time: types that contain themselves have programs that name each
// other.
func (w *Walks) publish(made []WalkProgram) {
	w.mu.Lock()
	defer w.mu.Unlock()
	made = slices.DeleteFunc(made, func(p WalkProgram) bool { return w.built[p.ID] })
	w.markEnds(made)
	w.markWipes(made)
	for _, p := range made {
		if !w.built[p.ID] {
			w.built[p.ID] = true
			w.list = append(w.list, p)
		}
	}
}

// settledAt reports that all walks are there that an object of type t needs where so many pointers behind it are
// followed.
func (w *Walks) settledAt(t *symbol.Type, level int) bool { return w.reaches(w.settled, t, level) }

// filledAt does so for an object that lies in another or is passed: its own walk aside.
func (w *Walks) filledAt(t *symbol.Type, level int) bool { return w.reaches(w.filled, t, level) }

func (w *Walks) reaches(of map[*symbol.Type]int, t *symbol.Type, level int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, ok := of[t.Strip()]
	return ok && to >= level
}

// settle notes types for settledAt and filledAt.
func (w *Walks) settle(made []pointee, filled []unmade) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note := func(in map[*symbol.Type]int, t *symbol.Type, level int) {
		if to, ok := in[t]; !ok || to < level {
			in[t] = level
		}
	}
	for i := range made {
		note(w.settled, made[i].t.Strip(), made[i].level)
	}
	for i := range filled {
		note(w.filled, filled[i].t, filled[i].level)
	}
}

// markEnds sets Ends: of programs that name each other until none is found that does not.
func (w *Walks) markEnds(made []WalkProgram) {
	for i := range made {
		made[i].Ends, w.ends[made[i].ID] = true, true
	}
	for again := true; again; {
		again = false
		for i := range made {
			if p := &made[i]; p.Ends && slices.ContainsFunc(p.Ops, w.stays) {
				p.Ends, w.ends[p.ID], again = false, false, true
			}
		}
	}
}

// markWipes sets Wipes: of programs that wipe, or run one that does for a part.
func (w *Walks) markWipes(made []WalkProgram) {
	for again := w.secrets != nil; again; {
		again = false
		for i := range made {
			p := &made[i]
			if !p.Wipes && slices.ContainsFunc(p.Ops, func(op ring.Op) bool {
				return op.Code == ring.WalkWipe || op.Code == ring.WalkSub && w.wipes[uint16(op.SrcOff)]
			}) {
				p.Wipes, w.wipes[p.ID], again = true, true, true
			}
		}
	}
}

// stays reports whether an operation may make something that is no pointer deeper. What a program that is not there
// would do is not known.
func (w *Walks) stays(op ring.Op) bool {
	switch op.Code {
	case ring.WalkFollow:
		return op.SrcOff&ring.FollowDeeper == 0
	case ring.WalkNode:
		return op.Off == 0
	case ring.WalkSub:
		return !w.ends[uint16(op.SrcOff)]
	case ring.WalkText, ring.WalkSpan, ring.WalkOpen, ring.WalkPush, ring.WalkClose, ring.WalkOut, ring.WalkWipe:
		return true
	}
	return false
}

func (w *Walks) defined(id uint16) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.built[id]
}
