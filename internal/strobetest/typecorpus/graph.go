// Package typecorpus makes programs whose types lead to each other at random, and back to themselves: through
// containers, pointers, other types and templates.
//
// It stands beside sigcorpus, which is about how arguments are passed; tests only. A program builds objects of its
// types, calls functions with them, and prints of each call what must be shown of it, cut by the depth as the interface
// says. The same seed gives the same program.
package typecorpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

type kind uint8

const (
	kInt kind = iota
	kText
	kStruct   // graph.structs[n]
	kTemplate // an instance of template n with elem[0]
	kVector
	kList
	kDeque
	kSet // of T: C++ only by text
	kMap // by text
	kHash
	kOptional
	kVariant
	kPair
	kArray
	kUnique
	kShared
	kRaw
	kSlice // Box<[T]>
)

// container reports what has elements in memory of its own, which are no pointees.
func (k kind) container() bool {
	switch k {
	case kVector, kList, kDeque, kSet, kMap, kHash, kSlice:
		return true
	}
	return false
}

func (k kind) pointer() bool { return k == kUnique || k == kShared || k == kRaw }

// texpr is a type; the same one is there once.
type texpr struct {
	kind kind
	n    int
	elem *texpr
	id   int
}

// structure is a generated struct, or in Rust an enum.
type structure struct {
	name    string
	isEnum  bool
	members []*texpr
	deep    int // objects by value in each other
}

type graph struct {
	*rand.Rand
	structs   []*structure
	templates int
	exprs     []*texpr
	byKey     map[string]*texpr
	reach     map[*texpr]map[*texpr]bool
	rust      bool
}

// maxByValue keeps objects below what one copy takes.
const maxByValue = 4

func newGraph(seed uint64, n int, rust bool) *graph {
	g := &graph{Rand: rand.New(rand.NewPCG(seed, uint64(n))), byKey: map[string]*texpr{}, rust: rust,
		reach: map[*texpr]map[*texpr]bool{}}
	g.templates = 1 + n/10
	for i := range n {
		g.structs = append(g.structs, &structure{name: fmt.Sprintf("T%d", i), isEnum: rust && g.IntN(3) == 0})
	}
	for i := range n {
		s := g.structs[i]
		for range 1 + g.IntN(4) {
			s.members = append(s.members, g.member(i))
		}
		if g.IntN(3) > 0 || n == 1 {
			s.members = append(s.members, g.expr([]kind{kVector, kMap}[g.IntN(2)], 0, g.expr(kStruct, i, nil))) // itself
		}
		if !rust { // never trivial: how small ones are passed is another corpus's matter
			s.members = append(s.members, g.expr(kText, 0, nil))
		}
	}
	return g
}

func (g *graph) expr(k kind, n int, elem *texpr) *texpr {
	key := fmt.Sprint(k, n)
	if elem != nil {
		key += fmt.Sprint("/", elem.id)
	}
	if e, ok := g.byKey[key]; ok {
		return e
	}
	e := &texpr{kind: k, n: n, elem: elem, id: len(g.exprs)}
	g.exprs, g.byKey[key] = append(g.exprs, e), e
	return e
}

// named is a type that may not be complete yet: any struct, or a template of one.
func (g *graph) named() *texpr {
	s := g.expr(kStruct, g.IntN(len(g.structs)), nil)
	if g.IntN(5) == 0 {
		return g.expr(kTemplate, g.IntN(g.templates), s)
	}
	return s
}

// member is the type of a member of struct i.
func (g *graph) member(i int) *texpr {
	cpp := []kind{kVector, kVector, kList, kDeque, kMap, kUnique, kShared, kRaw, kInt, kText, kStruct, kOptional, kVariant,
		kPair, kArray}
	rust := []kind{kVector, kVector, kDeque, kMap, kHash, kSlice, kUnique, kShared, kInt, kText, kStruct, kOptional, kPair,
		kArray}
	k := cpp[g.IntN(len(cpp))]
	if g.rust {
		k = rust[g.IntN(len(rust))]
	}
	switch {
	case k == kInt || k == kText:
		return g.expr(k, 0, nil)
	case k == kStruct && i > 0:
		j := g.IntN(i)
		if d := g.structs[j].deep + 1; d <= maxByValue {
			g.structs[i].deep = max(g.structs[i].deep, d)
			return g.expr(kStruct, j, nil)
		}
	case k == kOptional || k == kVariant || k == kPair || k == kArray:
		return g.expr(k, 0, g.expr(kVector, 0, g.named()))
	case k.container() && g.IntN(4) == 0:
		return g.expr(k, 0, g.expr(kVector, 0, g.named()))
	case k.container() || k.pointer():
		return g.expr(k, 0, g.named())
	}
	return g.expr(kVector, 0, g.named())
}

// parts are what lies in an object of e, elements included.
func (g *graph) parts(e *texpr) []*texpr {
	switch {
	case e.kind == kStruct:
		return g.structs[e.n].members
	case e.kind == kTemplate: // { T* or none; vector of itself; vector of T }
		return []*texpr{g.expr(kVector, 0, e), g.expr(kVector, 0, e.elem)}
	case e.kind.pointer() || e.elem == nil:
		return nil
	}
	return []*texpr{e.elem}
}

// recursive reports whether the elements of a container may hold the container's type again.
func (g *graph) recursive(e *texpr) bool {
	if g.reach[e.elem] == nil {
		seen := map[*texpr]bool{e.elem: true}
		for todo := []*texpr{e.elem}; len(todo) > 0; {
			next := todo[0]
			todo = todo[1:]
			for _, p := range g.parts(next) {
				if !seen[p] {
					seen[p], todo = true, append(todo, p)
				}
			}
		}
		g.reach[e.elem] = seen
	}
	return g.reach[e.elem][e]
}

// all returns every type, those that members of templates have included.
func (g *graph) all() []*texpr {
	for i := 0; i < len(g.exprs); i++ {
		g.parts(g.exprs[i])
	}
	return g.exprs
}

// lines joins what each gives.
func lines[T any](of []T, each func(i int, v T) string) string {
	var b strings.Builder
	for i, v := range of {
		b.WriteString(each(i, v))
	}
	return b.String()
}
