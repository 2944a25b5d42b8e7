package ui

import (
	"fmt"
	"hash/fnv"
)

// names gives elements their ids. An element keeps its id while it is the same one; what is new gets the one that it
// would have had at the program's start, so that it is the same after a restart.
type names struct {
	given map[string]given // by Key
	taken map[string]string
	round int
}

type given struct {
	id    string
	path  uint64
	role  Role
	round int // in which it was seen last
}

func newNames() *names { return &names{given: map[string]given{}, taken: map[string]string{}} }

// forgetAfter is how many looks an element's id is kept that is not seen.
const forgetAfter = 50

// name gives every element of a tree its id.
func (s *names) name(t *Tree) {
	s.round++
	s.level(t.Windows, 0)
	for key, g := range s.given {
		if s.round-g.round > forgetAfter {
			delete(s.given, key)
			delete(s.taken, g.id)
		}
	}
}

func (s *names) level(nodes []*Node, above uint64) {
	equal := map[uint64]int{}
	for _, n := range nodes {
		h := pathOf(n, above, true)
		nth := equal[h]
		equal[h]++
		if nth > 0 {
			h = mix(h, fmt.Sprint(nth))
		}
		g, ok := s.given[n.Key]
		if !ok || g.role != n.Role {
			if ok {
				delete(s.taken, g.id)
			}
			g = given{id: s.free(n, h), path: below(n, h, above, nth), role: n.Role}
		}
		g.round = s.round
		s.given[n.Key], s.taken[g.id] = g, n.Key
		n.ID = g.id
		s.level(n.Children, g.path)
	}
}

// below is what the ids of an element's children begin with. A window's title tells of what is in it and changes with
// that: it is left out.
func below(n *Node, h, above uint64, nth int) uint64 {
	if n.Role != RoleWindow || n.Parent != nil {
		return h
	}
	return mix(pathOf(n, above, false), fmt.Sprint(nth))
}

// free is an id that no other element has.
func (s *names) free(n *Node, h uint64) string {
	role := n.Role.Short()
	if n.Role == RoleWindow && n.Parent != nil { // Qt's frames around other things
		role = "frm"
	}
	base := fmt.Sprintf("%s#%06x", role, h&0xffffff)
	id := base
	for i := 2; ; i++ {
		if owner, ok := s.taken[id]; !ok || owner == n.Key {
			return id
		}
		id = fmt.Sprintf("%s-%d", base, i)
	}
}

func pathOf(n *Node, above uint64, named bool) uint64 {
	h := mix(above, string(n.Role))
	if named {
		h = mix(h, n.Name)
	}
	return h
}

func mix(h uint64, s string) uint64 {
	f := fnv.New64a()
	fmt.Fprintf(f, "%x\x00%s", h, s)
	v := f.Sum64()
	return v ^ v>>29
}
